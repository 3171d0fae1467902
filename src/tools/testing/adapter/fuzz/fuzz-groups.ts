import { everything } from '../../../../core/filter/filter.js'
import type { AggregateQuery, StorageAdapter, StoredDocument } from '../../../../core/storage.js'
import type { TestStorage } from '../adapter-case.js'
import { printShort } from '../check/check.js'
import { insertAll } from '../check/documents.js'
import type { Mismatch } from '../check/plain-array.js'
import { judgeGroups } from '../check/plain-groups.js'
import { withAdapter } from '../check/with-adapter.js'
import { documentsOf, type FuzzOptions } from './fuzz-adapter.js'
import { createRandom } from './random.js'
import { drawGroups } from './random-groups.js'
import { drawStore } from './random-store.js'

/** The number of stores that share one storage, each in its own collection. */
const BATCH = 25

/** Combined with the seed of a store, gives the seed of its queries. */
const GROUPS = 0x96095

/** Runs a query for groups. Returns how its answer differs from that of a plain array. */
async function judge(
  adapter: StorageAdapter,
  collection: string,
  documents: readonly StoredDocument[],
  query: AggregateQuery,
): Promise<Mismatch | undefined> {
  try {
    const answer = await adapter.aggregate?.(collection, query)
    return answer && judgeGroups(documents, query, answer)
  } catch (thrown) {
    return { what: 'groups', expected: 'an answer', actual: `rejected: ${String(thrown)}` }
  }
}

function* smaller(query: AggregateQuery): Iterable<AggregateQuery> {
  for (const list of ['by', 'measures'] as const)
    for (let i = 0; i < query[list].length; i++) yield { ...query, [list]: query[list].toSpliced(i, 1) }
  if (query.filter !== everything) yield { ...query, filter: everything }
  for (const list of ['by', 'measures'] as const)
    for (const [i, one] of query[list].entries())
      if (one.shown !== everything)
        yield {
          ...query,
          [list]: query[list].map((other, k) => (k === i ? { ...one, shown: everything } : other)),
        }
}

/** Returns the smallest query that still has a wrong answer. */
async function shrink(
  query: AggregateQuery,
  fails: (query: AggregateQuery) => Promise<boolean>,
): Promise<AggregateQuery> {
  for (const one of smaller(query)) if (await fails(one)) return shrink(one, fails)
  return query
}

/**
 * Compares the groups of an adapter with those of a plain array. If they differ, rejects with the smallest query that
 * was found, and with the seed that reproduces it. An adapter without `aggregate` passes.
 */
export async function fuzzGroups(
  createStorage: () => Promise<TestStorage>,
  { seed = 1, stores = 20, queries = 20 }: FuzzOptions = {},
): Promise<void> {
  for (let first = 0; first < stores; first += BATCH) {
    const rounds = Array.from({ length: Math.min(BATCH, stores - first) }, (_, i) => {
      const own = seed + first + i
      return { own, collection: `g${i}`, store: drawStore(createRandom(own)) }
    })
    const storage = await createStorage()
    try {
      const plans = rounds.map(({ collection, store }) => ({ name: collection, indexes: store.indexes }))
      await withAdapter(storage, plans, async (adapter) => {
        for (const { own, collection, store } of rounds) {
          const documents = documentsOf(store)
          await insertAll(adapter, collection, documents)
          const random = createRandom(own ^ GROUPS)
          for (let i = 0; i < queries; i++) {
            const query = drawGroups(random, { fields: store.fields, documents })
            if (!(await judge(adapter, collection, documents, query))) continue
            const fails = async (one: AggregateQuery): Promise<boolean> =>
              (await judge(adapter, collection, documents, one)) !== undefined
            const least = await shrink(query, fails)
            const mismatch = await judge(adapter, collection, documents, least)
            throw new Error(
              [
                `the adapter groups otherwise than a plain array, seed: ${own}, stores: 1`,
                `  indexes:   ${printShort(store.indexes)}`,
                ...documents.map((document) => `  document:  ${printShort(document)}`),
                `  query:     ${printShort(least)}`,
                `  expected:  ${printShort(mismatch?.expected)}`,
                `  actual:    ${printShort(mismatch?.actual)}`,
              ].join('\n'),
            )
          }
        }
      })
    } finally {
      await storage.destroy?.()
    }
  }
}
