import { expect } from 'vitest'
import { withoutCaches } from './caches.js'
import fc from './fast-check.js'
import {
  ask,
  type Create,
  type CreateAdapter,
  countable,
  fill,
  openWorld,
  plain,
  type Source,
  senderOf,
  walk,
  withQueries,
} from './laws.js'
import { seedOf } from './tier.js'
import { raiseIds, writeQuery } from './worlds.js'
import { openSide, type WriteSource } from './write-laws.js'

/** What is checked, over which storage, of which build. */
export interface CacheCheck {
  readonly runs: number
  readonly createAdapter: CreateAdapter
  readonly create?: Create
}

const parametersOf = (numRuns: number) => ({ seed: seedOf(1), endOnFailure: true, numRuns })

/** The caches keep most things from the second time on: the third is the first that meets what was kept. */
const TIMES = 3

/** What is asked of a list by those who read it: the queries that are asked again and again. */
const requestsOf = (queries: readonly Parameters<typeof writeQuery>[0][]): readonly string[] => [
  ...queries.map((query) => `GET /things?${writeQuery(query)}`),
  ...queries.map((query) => `GET /things/count?${writeQuery(countable(query))}`),
]

/**
 * Whatever is read, again and again, before and after all documents were written anew: a service answers as one without
 * caches, byte for byte. Throws on a counterexample; resolves with the number of requests whose answer has changed.
 */
export async function checkCachedReads(
  { runs, createAdapter, create }: CacheCheck,
  source: Source,
): Promise<{ readonly asked: number; readonly changed: number }> {
  const seen = { asked: 0, changed: 0 }
  const worlds = withQueries({ minLength: 8, maxLength: 8 }, source).chain(([world, queries]) =>
    fc.tuple(fc.constant(world), fc.constant(queries), source.disguise(world)),
  )
  await fc.assert(
    fc.asyncProperty(worlds, async ([world, queries, disguised]) => {
      const { documents } = world
      const sender = senderOf(world)
      const open = () => openWorld(world, disguised, create, createAdapter)
      const [kept, bare] = [await open(), await withoutCaches(open)]
      const ids = documents.slice(0, 3).map(({ _id }, i) => (i % 2 ? raiseIds(String(_id)) : String(_id)))
      const requests = [...requestsOf(queries), ...ids.map((id) => `GET /things/${id}`), 'GET /people']
      const before = new Map<string, string>()
      const compareAll = async (): Promise<void> => {
        for (const request of requests) {
          const [expected = ''] = await withoutCaches(() => ask([bare], request, sender))
          for (let i = 0; i < TIMES; i++) {
            const [answer] = await ask([kept], request, sender)
            if (answer !== expected) expect(answer, request).toBe(expected)
          }
          if (before.get(request) !== undefined && before.get(request) !== expected) seen.changed += 1
          before.set(request, expected)
          seen.asked += 1
        }
        for (const query of queries.slice(0, 2)) {
          const first = `/things?${writeQuery({ ...query, skip: 0, limit: 2 })}`
          const expected = await withoutCaches(() => walk(bare, first, sender))
          expect(await walk(kept, first, sender), first).toEqual(expected)
        }
      }
      await compareAll()
      const others = { ...plain(world), documents: documents.slice(1) }
      for (const stored of [others, plain(world)]) {
        await fill(kept.adapter, stored, true)
        await withoutCaches(() => fill(bare.adapter, stored, true))
        await compareAll()
      }
      await Promise.all([kept, bare].map(({ handler }) => handler.close()))
    }),
    parametersOf(runs),
  )
  return seen
}

/** What is read between writes. */
const READS = ['/things', '/things/count'].map((path) => ({ line: `GET ${path}` }))

/**
 * Whatever is written, by all writers, with reads in between: a service gives the same answers, and leaves the same, as
 * one without caches. Throws on a counterexample.
 */
export async function checkCachedWrites(
  { runs, createAdapter, create }: CacheCheck,
  { worlds }: Pick<WriteSource, 'worlds'>,
): Promise<{ readonly asked: number; readonly written: number }> {
  const seen = { asked: 0, written: 0 }
  const building = { createAdapter, ...(create ? { create } : {}) }
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const [store] = world.pair
      const open = () => openSide(world, store, building)
      const [kept, bare] = [await open(), await withoutCaches(open)]
      const reset = async (): Promise<void> => {
        await kept.reset()
        await withoutCaches(() => bare.reset())
      }
      await reset()
      for (const request of world.requests) {
        for (const one of [...READS, request, ...READS, ...READS]) {
          const expected = await withoutCaches(() => bare.ask(one))
          const answer = await kept.ask(one)
          // What is new has another `_id` on each side.
          if (one === request || !/^POST/.test(request.line))
            expect({ request, one, answer }).toEqual({ request, one, answer: expected })
          if (one !== request) continue
          seen.asked += 1
          if (answer.status < 300) seen.written += 1
        }
        if (!/^P(?:ATCH|UT)/.test(request.line)) await reset()
      }
      await kept.close()
      await bare.close()
    }),
    parametersOf(runs),
  )
  return seen
}
