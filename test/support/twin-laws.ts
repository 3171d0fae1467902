import { expect } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { readStream, told, watchLog } from './event-streams.js'
import fc from './fast-check.js'
import { buildElsewhere } from './stored-elsewhere.js'
import { seedOf } from './tier.js'
import { followingOf } from './walk.js'
import { type Answer, openSide, type WriteSource } from './write-laws.js'
import type { WriteRequest, WriteWorld } from './write-worlds.js'

type Json = { readonly [name: string]: unknown }

/** What twins have been asked, by kind. */
export interface SeenTwins {
  asked: number
  written: number
  batches: number
  pages: number
  events: number
}

/** How many of a world's requests are sent: each world has more of them than a law needs. */
const MOST = 12

/** What is random in an event: the `_id`s of documents that a request has made. */
const nameEvents = (events: readonly (readonly [string, unknown])[], known: ReadonlySet<unknown>): unknown =>
  events.map(([event, data]) => {
    const { _id } = data as Json
    return [event, known.has(_id) ? data : { ...(data as Json), _id: 'new' }]
  })

/** Returns the target of the next page, if an answer has one. */
const findNext = (target: string, { comparable }: Answer): string | undefined =>
  followingOf(target, { headers: new Headers(JSON.parse(comparable)[1]) })

/** Reads of everything that a world's fields allow: lists in pages, counts, aggregates, expanded references. */
function readsOf({ config, requests }: WriteWorld): readonly string[] {
  const names = Object.keys(config.collections.things.schema)
  const ids = [...new Set(requests.flatMap(({ line }) => /\/things\/[\w-]+$/.exec(line)?.[0] ?? []))]
  const at = (i: number): string => names[i % names.length] ?? '_id'
  const [first, second, third] = [requests.length, ids.length, names.length].map((n, i) => at(n * (i + 3)))
  return [
    `/things?limit=1&sort[${first}]=1`,
    `/things?limit=1&sort[${second}]=desc&sort[createdBy]=1`,
    `/things?q[${third}][$exists]=true&project=${first}`,
    `/things?q[o.a][$gte]=a&sort[o.k]=1&limit=1`,
    `/things?expand=${JSON.stringify(['r', 'createdBy'])}`,
    `/things/count?q[${second}][$ne]=a`,
    `/things/aggregate?by[${first}]=value&by[t]=value`,
    `/things/aggregate?by[${third}]=value&sum=n&min=t&max=${second}&sort[$count]=-1`,
    `/things/aggregate?by[o.a]=value&q[${second}][$exists]=true`,
    ...ids.slice(0, 2),
    '/people',
    '/',
  ]
}

/**
 * One meaning (CONTRACT.md §1, "Stored names"): a service whose collections and fields are stored under other names, and its
 * twin that stores the same under its own, give the same answers, pages, events and errors. Throws on a counterexample.
 */
export async function checkTwins(
  runs: number,
  { worlds }: Pick<WriteSource, 'worlds'>,
  first = 7,
): Promise<SeenTwins> {
  const seen: SeenTwins = { asked: 0, written: 0, batches: 0, pages: 0, events: 0 }
  await fc.assert(
    fc.asyncProperty(worlds, async (drawn) => {
      const world = withChanges(drawn)
      const [store] = world.pair
      const known = new Set(Object.values(store).flatMap((all) => all.map(({ _id }) => _id)))
      const logs = [createMemoryAdapter(), createMemoryAdapter()].map(watchLog)
      const [one, other] = logs.map(
        ({ adapter }) =>
          () =>
            adapter,
      )
      const sides = await Promise.all([
        openSide(world, store, one ? { createAdapter: one } : {}),
        openSide(world, store, buildElsewhere(other)),
      ])
      try {
        for (const side of sides) await side.reset()
        const responses = await Promise.all(sides.map((side) => side.watch('/things/changes')))
        expect(responses[1]?.status).toBe(responses[0]?.status)
        const streams = responses.flatMap((response) => (response.ok ? [readStream(response)] : []))
        for (const stream of streams) await stream.until(1)
        for (const { begin } of logs) await begin()
        const compare = async (request: WriteRequest): Promise<Answer> => {
          const [here, there] = await Promise.all(sides.map((side) => side.ask(request)))
          if (!here || here.comparable !== there?.comparable)
            expect({ request, answer: there?.comparable }).toEqual({ request, answer: here?.comparable })
          seen.asked += 1
          return here as Answer
        }
        for (const request of world.requests.slice(0, MOST)) {
          const { status } = await compare(request)
          if (request.operations) seen.batches += 1
          if (status >= 300) continue
          seen.written += 1
          // What is new has another `_id` on each side.
          if (!/^P(?:ATCH|UT)/.test(request.line)) for (const side of sides) await side.reset()
        }
        for (const path of readsOf(world))
          for (let next: string | undefined = path, pages = 0; next !== undefined && pages < 5; pages += 1) {
            const answer: Answer = await compare({ line: `GET ${next}` })
            next = answer.status === 200 ? findNext(next, answer) : undefined
            if (next !== undefined) seen.pages += 1
          }
        // If a stream has ended, nobody reads the log.
        for (const [i, stream] of streams.entries()) await Promise.race([logs[i]?.quiet(), stream.ended])
        await new Promise((resolve) => setImmediate(resolve))
        for (const stream of streams) await stream.close()
        const events = streams.map((stream) => told(stream.events))
        const [here, there] = events.map((some) => nameEvents(some, known))
        expect(there).toEqual(here)
        seen.events += (events[0]?.length ?? 1) - 1
      } finally {
        await Promise.all(sides.map((side) => side.close()))
      }
    }),
    { seed: seedOf(first), endOnFailure: true, numRuns: runs },
  )
  return seen
}

/** The same world, in which things have streams. */
function withChanges(world: WriteWorld): WriteWorld {
  const { things } = world.config.collections
  const collections = { ...world.config.collections, things: { ...things, changes: true } }
  return { ...world, config: { ...world.config, collections } }
}
