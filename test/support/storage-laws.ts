import { expect } from 'vitest'
import fc from './fast-check.js'
import { ask, countable, openWorld, plain, type Source, senderOf, walk, withQueries } from './laws.js'
import { seedOf } from './tier.js'
import { raiseIds, writeQuery } from './worlds.js'
import { type Building, openSide, type WriteSource } from './write-laws.js'
import type { Store } from './write-worlds.js'

type Json = { readonly [name: string]: unknown }

const parametersOf = (numRuns: number) => ({ seed: seedOf(5), endOnFailure: true, numRuns })

/** What is different between the storages, the first of which is the measure. */
function expectSame(asked: unknown, [first, ...others]: readonly unknown[]): void {
  for (const other of others) expect({ asked, answer: other }).toEqual({ asked, answer: first })
}

/** What is made begins with a random version, most of which are beyond this. */
const FIRST = 1e6

/** What a store holds, but for what is random in documents that a request has made. */
const comparable = (store: Store, known: ReadonlySet<unknown>, forgotten?: string): unknown =>
  Object.values(store).map((documents: readonly Json[]) =>
    documents
      .map((one) => ({
        ...one,
        _id: known.has(one._id) ? one._id : 'new',
        _version: Number(one._version) < FIRST ? one._version : 'first',
      }))
      .map(
        (one): Json =>
          Object.fromEntries(
            Object.entries(one)
              .filter(([name]) => name !== forgotten)
              .sort(([a], [b]) => (a < b ? -1 : 1)),
          ),
      )
      .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
  )

/**
 * One meaning (CONTRACT.md §1): whatever is written, by all writers, every side gives the same answer and holds the
 * same afterwards. Throws on a counterexample; resolves with how many requests were answered, and have written.
 */
export async function checkSameWrites(
  runs: number,
  { worlds }: Pick<WriteSource, 'worlds'>,
  sides: readonly Building[],
): Promise<{ readonly asked: number; readonly written: number }> {
  const seen = { asked: 0, written: 0 }
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const [store] = world.pair
      const known = new Set(Object.values(store).flatMap((all: readonly Json[]) => all.map(({ _id }) => _id)))
      const opened = await Promise.all(sides.map((side) => openSide(world, store, side)))
      const reset = (): Promise<unknown> => Promise.all(opened.map((side) => side.reset()))
      await reset()
      for (const request of world.requests) {
        const before = await opened[0]?.read()
        const answers = await Promise.all(opened.map((side) => side.ask(request)))
        const stores = await Promise.all(opened.map((side) => side.read()))
        const ofAll = (pick: (i: number) => boolean, forgotten?: string) =>
          answers.flatMap((answer, i) =>
            pick(i) ? [{ answer, left: comparable(stores[i] as Store, known, forgotten) }] : [],
          )
        const isElsewhere = (i: number): boolean => sides[i]?.isElsewhere === true
        expectSame(
          { before, request },
          ofAll((i) => !isElsewhere(i)),
        )
        // A plain value under the name of a secret is the value of no field, so it has no stored name.
        expectSame(
          { before, request },
          ofAll((i) => i === 0 || isElsewhere(i), 'pin'),
        )
        seen.asked += 1
        if ((answers[0]?.status ?? 0) >= 300) continue
        seen.written += 1
        // What is new has another `_id` in every storage.
        if (!/^P(?:ATCH|UT)/.test(request.line)) await reset()
      }
      await Promise.all(opened.map((side) => side.close()))
    }),
    parametersOf(runs),
  )
  return seen
}

/** One meaning: whatever is read, every storage gives the same answer, headers and refusals included. */
export async function checkSameReads(
  runs: number,
  source: Source,
  sides: readonly Building[],
): Promise<{ readonly asked: number }> {
  const seen = { asked: 0 }
  await fc.assert(
    fc.asyncProperty(withQueries({ minLength: 12, maxLength: 12 }, source), async ([world, queries]) => {
      const { documents } = world
      const sender = senderOf(world)
      const services = await Promise.all(
        sides.map(({ create, createAdapter }) => openWorld(world, plain(world), create, createAdapter)),
      )
      const requests = [
        ...queries.map((query) => `GET /things?${writeQuery(query)}`),
        ...queries.map((query) => `GET /things/count?${writeQuery(countable(query))}`),
        ...documents.slice(0, 3).map(({ _id }, i) => `GET /things/${i % 2 ? raiseIds(String(_id)) : _id}`),
      ]
      for (const request of requests) expectSame(request, await ask(services, request, sender))
      for (const query of queries.slice(0, 3)) {
        const first = `/things?${writeQuery({ ...query, skip: 0, limit: 2 })}`
        expectSame(first, await Promise.all(services.map((service) => walk(service, first, sender))))
      }
      seen.asked += requests.length
      await Promise.all(services.map(({ handler }) => handler.close()))
    }),
    parametersOf(runs),
  )
  return seen
}
