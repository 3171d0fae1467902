import { requireOptions, wholeNumber } from '../../../options.js'
import type { CollectionPlan, ListQuery, StorageAdapter } from '../../../storage.js'
import type { TestStorage } from '../adapter-case.js'
import { printShort } from '../check/check.js'
import type { Mismatch } from '../check/plain-array.js'
import { printQuery } from '../check/print-query.js'
import { withAdapter } from '../check/with-adapter.js'
import { createCoverageCounter, type FuzzCoverage } from './coverage.js'
import { documentsOf, judgeQuery, judgeStore } from './judge-store.js'
import { createRandom } from './random.js'
import { drawQuery } from './random-query.js'
import { drawStore, type FieldedStore, type RandomStore } from './random-store.js'
import { drawWrites, NOBODY } from './random-write.js'
import { type FailingCase, shrink } from './shrink.js'

/** The extent of a fuzzer run. The same options give the same queries. */
export interface FuzzOptions {
  /** Default 1. Store `i` of a run is the first of a run with the seed `seed + i`. */
  readonly seed?: number
  /** Default 20. */
  readonly stores?: number
  /** Queries of each store. Default 100. */
  readonly queries?: number
}

/** The number of stores that share one storage, each in its own collection. */
const BATCH = 50
/** The share of filters that are also counted. */
const COUNTED = 0.25
const MAX_SHRINKING = 1500
const ANY_WHOLE = wholeNumber(0, Number.MAX_SAFE_INTEGER)

/** Derives the seed of the writes. */
const WRITES = 0x5eed

interface Round {
  readonly seed: number
  readonly collection: string
  readonly store: FieldedStore & RandomStore
}

const planOf = (name: string, { indexes }: RandomStore): CollectionPlan => ({ name, indexes })

/**
 * Compares the answers to random writes and queries of random documents with those of a plain array. Rejects with the
 * smallest failing case that it finds, and the seed that reproduces it.
 *
 * @example
 * ```ts
 * await fuzzAdapter(createStorage, { seed: 7, stores: 50 })
 * ```
 */
export async function fuzzAdapter(
  createStorage: () => Promise<TestStorage>,
  options: FuzzOptions = {},
): Promise<FuzzCoverage> {
  requireOptions(options, { seed: ANY_WHOLE, stores: ANY_WHOLE, queries: ANY_WHOLE })
  const { seed = 1, stores = 20, queries = 100 } = options
  const coverage = createCoverageCounter()
  for (let first = 0; first < stores; first += BATCH) {
    const rounds = Array.from({ length: Math.min(BATCH, stores - first) }, (_, i): Round => {
      const own = seed + first + i
      const store = drawStore(createRandom(own))
      // A separate generator, so that the store of a seed does not depend on its writes.
      const writes = drawWrites(createRandom(own ^ WRITES), documentsOf(store))
      return { seed: own, collection: `s${i}`, store: { ...store, writes } }
    })
    const storage = await createStorage()
    try {
      const plans = rounds.map(({ collection, store }) => planOf(collection, store))
      await withAdapter(storage, plans, async (adapter) => {
        for (const round of rounds) await runRound(adapter, round, queries, coverage)
      })
    } finally {
      await storage.destroy?.()
    }
  }
  return coverage.total()
}

async function runRound(
  adapter: StorageAdapter,
  { seed, collection, store }: Round,
  queries: number,
  coverage: ReturnType<typeof createCoverageCounter>,
): Promise<void> {
  // A separate generator, so that the store of a seed does not depend on the queries.
  const random = createRandom(~seed)
  const documents = documentsOf(store)
  const fail = async (query: ListQuery | undefined): Promise<never> => {
    throw new Error(await describeSmallest(adapter, { store, query }, seed))
  }
  coverage.addStore()
  if (await judgeStore(adapter, collection, store)) return fail(undefined)
  for (let i = 0; i < queries; i++) {
    const query = drawQuery(random, { fields: store.fields, documents })
    coverage.addQuery(documents, query)
    const question = { documents, query, alsoCounts: random.chance(COUNTED) }
    if (await judgeQuery(adapter, collection, question)) return fail(query)
  }
}

/** Evaluates cases one after another, each store in its own collection. */
function createJudge(
  adapter: StorageAdapter,
  prefix: string,
): (failing: FailingCase) => Promise<Mismatch | undefined> {
  let written: RandomStore | undefined
  let storeMismatch: Mismatch | undefined
  let collections = 0
  return async ({ store, query }) => {
    if (store !== written) {
      collections += 1
      await adapter.open([planOf(`${prefix}-${collections}`, store)])
      storeMismatch = await judgeStore(adapter, `${prefix}-${collections}`, store)
      written = store
    }
    if (storeMismatch) return query ? undefined : storeMismatch
    const question = query && { documents: documentsOf(store), query, alsoCounts: true }
    return question && judgeQuery(adapter, `${prefix}-${collections}`, question)
  }
}

async function describeSmallest(
  adapter: StorageAdapter,
  failing: FailingCase,
  seed: number,
): Promise<string> {
  const judge = createJudge(adapter, `smaller-${Math.abs(seed)}`)
  const smallest = await shrink(
    failing,
    async (candidate) => (await judge(candidate)) !== undefined,
    MAX_SHRINKING,
  )
  const mismatch = await judge(smallest)
  const { store, query } = smallest
  const changed = store.lives.filter(({ before }) => before)
  return [
    `the adapter differs from a plain array: ${mismatch?.what ?? 'but not when asked again'}`,
    `  seed:      ${seed}, stores: 1`,
    `  indexes:   ${printShort(store.indexes)}`,
    ...documentsOf(store).map((document) => `  document:  ${printShort(document)}`),
    ...changed.map(({ before }) => `  once held: ${printShort(before)}`),
    ...store.writes.map((steps) => `  write:     ${printShort([...steps, { require: NOBODY }])}`),
    ...(query ? [`  query:     ${printQuery(query)}`, `  as JSON:   ${printShort(query)}`] : []),
    `  expected:  ${printShort(mismatch?.expected)}`,
    `  actual:    ${printShort(mismatch?.actual)}`,
  ].join('\n')
}
