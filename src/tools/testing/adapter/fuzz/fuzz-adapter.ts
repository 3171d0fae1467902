import { everything, type Filter } from '../../../../core/filter/filter.js'
import { compileFilter } from '../../../../core/filter/matches.js'
import { requireOptions, wholeNumber } from '../../../../core/options.js'
import type {
  CollectionPlan,
  ListQuery,
  StorageAdapter,
  StoredDocument,
  WriteResult,
  WriteStep,
} from '../../../../core/storage.js'
import type { MaybePromise } from '../../../../core/types.js'
import type { TestStorage } from '../adapter-case.js'
import { isSame, printShort } from '../check/check.js'
import { plainResult } from '../check/check-write.js'
import { eq, ID, notOf, queryOf } from '../check/documents.js'
import { judgeList, listPlainly, type Mismatch } from '../check/plain-array.js'
import { applyPlainly } from '../check/plain-write.js'
import { printQuery } from '../check/print-query.js'
import { withAdapter } from '../check/with-adapter.js'
import { createRandom } from './random.js'
import { drawQuery } from './random-query.js'
import {
  drawStore,
  drawWrites,
  type FieldedStore,
  type Life,
  NOBODY,
  type RandomStore,
} from './random-store.js'

/** The coverage of a run of the fuzzer. */
export interface FuzzCoverage {
  readonly stores: number
  readonly queries: number
  /** The share of queries whose answer is neither empty nor the whole store. */
  readonly nonTrivial: number
  /**
   * The number of conditions and sort keys for each operator and type, named like `lt integer`, `eq string[]` (on
   * elements) or `sort number`.
   */
  readonly conditions: { readonly [operatorAndType: string]: number }
}

interface CoverageCounter {
  addStore(): void
  addQuery(documents: readonly StoredDocument[], query: ListQuery): void
  total(): FuzzCoverage
}

function* namesOf(filter: Filter): Iterable<string> {
  switch (filter.kind) {
    case 'and':
    case 'or':
      for (const part of filter.filters) yield* namesOf(part)
      break
    case 'not':
      yield* namesOf(filter.filter)
      break
    default:
      yield `${filter.kind} ${filter.field.type}${filter.field.each ? '[]' : ''}`
  }
}

function createCoverageCounter(): CoverageCounter {
  const conditions = new Map<string, number>()
  let [stores, queries, nonTrivial] = [0, 0, 0]
  return {
    addStore() {
      stores += 1
    },
    addQuery(documents, query) {
      queries += 1
      const found = documents.filter(compileFilter(query.filter)).length
      if (found < documents.length && listPlainly(documents, query).length > 0) nonTrivial += 1
      const sorts = query.sort.map(({ field }) => `sort ${field.type}`)
      for (const name of [...namesOf(query.filter), ...sorts])
        conditions.set(name, (conditions.get(name) ?? 0) + 1)
    },
    total: () => ({
      stores,
      queries,
      nonTrivial: queries === 0 ? 0 : nonTrivial / queries,
      conditions: Object.fromEntries([...conditions].sort()),
    }),
  }
}

/** A store, and the query with a wrong answer, or `undefined` if the stored documents themselves are wrong. */
interface FailingCase {
  readonly store: RandomStore
  readonly query: ListQuery | undefined
}

const without = <T>(values: readonly T[], start: number, count = 1): readonly T[] => [
  ...values.slice(0, start),
  ...values.slice(start + count),
]

function* smallerFilters(filter: Filter): Iterable<Filter> {
  if (filter.kind === 'and' || filter.kind === 'or') {
    const { kind, filters } = filter
    yield* filters
    for (let i = 0; i < filters.length; i++) yield { kind, filters: without(filters, i) }
    for (const [i, part] of filters.entries()) {
      for (const smaller of smallerFilters(part)) yield { kind, filters: filters.with(i, smaller) }
    }
  } else if (filter.kind === 'not') {
    yield filter.filter
    for (const smaller of smallerFilters(filter.filter)) yield notOf(smaller)
  } else if (filter.kind === 'match') {
    const { pattern } = filter
    if (pattern.kind === 'sequence' || pattern.kind === 'choice') {
      for (const part of pattern.parts) yield { ...filter, pattern: part }
      for (let i = 0; i < pattern.parts.length; i++) {
        yield { ...filter, pattern: { ...pattern, parts: without(pattern.parts, i) } }
      }
    } else if (pattern.kind === 'repeat') yield { ...filter, pattern: pattern.part }
  }
}

function* smallerQueries(query: ListQuery): Iterable<ListQuery> {
  for (const skip of [0, Math.floor(query.skip / 2), query.skip - 1]) {
    if (skip >= 0 && skip < query.skip) yield { ...query, skip }
  }
  if (query.limit !== null) yield { ...query, limit: null }
  // The last key, `_id`, is kept, because it makes the order unambiguous.
  for (let i = 0; i < query.sort.length - 1; i++) yield { ...query, sort: without(query.sort, i) }
  const { filter } = query
  if (filter.kind !== 'and' || filter.filters.length > 0) yield { ...query, filter: everything }
  for (const smaller of smallerFilters(filter)) yield { ...query, filter: smaller }
}

function* smallerPages(query: ListQuery): Iterable<ListQuery> {
  if (query.skip > 0) yield { ...query, skip: query.skip - 1 }
  if (query.limit !== null && query.limit > 1) yield { ...query, limit: query.limit - 1 }
}

function* smallerLives(lives: readonly Life[]): Iterable<readonly Life[]> {
  for (let size = Math.ceil(lives.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < lives.length; start += size) yield without(lives, start, size)
  }
  for (const [i, { before, document }] of lives.entries()) {
    if (before && document) yield lives.with(i, { document: { ...document, _version: 1 } })
  }
  const names = new Set(
    lives.flatMap((life) => [life.before, life.document].flatMap((held) => Object.keys(held ?? {}))),
  )
  for (const name of names) {
    if (!name.startsWith('_')) yield lives.map((life) => dropProperty(life, name))
  }
  for (const [i, life] of lives.entries()) {
    for (const name of Object.keys({ ...life.before, ...life.document })) {
      if (!name.startsWith('_')) yield lives.with(i, dropProperty(life, name))
    }
  }
}

function dropProperty({ before, document }: Life, name: string): Life {
  const drop = (held: NonNullable<Life['document']>): NonNullable<Life['document']> => {
    const { _id, _version, ...others } = held
    return {
      ...Object.fromEntries(Object.entries(others).filter(([other]) => other !== name)),
      _id,
      _version,
    }
  }
  return { ...(before ? { before: drop(before) } : {}), ...(document ? { document: drop(document) } : {}) }
}

function* smallerCases({ store, query }: FailingCase): Iterable<FailingCase> {
  // Queries come first, because trying another query is cheaper than writing another store.
  if (query) for (const smaller of smallerQueries(query)) yield { store, query: smaller }
  for (const lives of smallerLives(store.lives)) yield { store: { ...store, lives }, query }
  // If a document is removed, `skip` or `limit` may have to decrease by one so that the page still shows the same
  // mistake.
  for (const moved of query ? smallerPages(query) : []) {
    for (let i = 0; i < store.lives.length; i++) {
      yield { store: { ...store, lives: without(store.lives, i) }, query: moved }
    }
  }
  for (const [i, steps] of store.writes.entries()) {
    yield { store: { ...store, writes: without(store.writes, i) }, query }
    for (let j = 0; j < steps.length; j++)
      yield { store: { ...store, writes: store.writes.with(i, without(steps, j)) }, query }
  }
  for (let i = 0; i < store.indexes.length; i++) {
    yield { store: { ...store, indexes: without(store.indexes, i) }, query }
  }
}

/**
 * The size of a case. `skip` counts by its value and not by its length in characters, so that a smaller `skip` makes a
 * smaller case.
 */
const sizeOf = ({ store, query }: FailingCase): number =>
  JSON.stringify({ ...store, filter: query?.filter, sort: query?.sort, limit: query?.limit ?? 0 }).length +
  Math.min(query?.skip ?? 0, 1e6)

/** Reduces a failing case as long as a smaller case also fails, in at most `maxTries` tries. */
async function shrink(
  failing: FailingCase,
  fails: (candidate: FailingCase) => Promise<boolean>,
  maxTries: number,
): Promise<FailingCase> {
  let [smallest, tries] = [failing, 0]
  for (let found = true; found; ) {
    found = false
    for (const candidate of smallerCases(smallest)) {
      // Without this condition, simpler filters with longer texts could lead to an endless loop.
      if (sizeOf(candidate) >= sizeOf(smallest) && candidate.query?.filter !== everything) continue
      if (tries >= maxTries) return smallest
      tries += 1
      if (!(await fails(candidate))) continue
      smallest = candidate
      found = true
      break
    }
  }
  return smallest
}

/** Returns the documents that a store has after all its writes. */
export const documentsOf = ({ lives }: Pick<RandomStore, 'lives'>): readonly StoredDocument[] =>
  lives.flatMap(({ document }) => document ?? [])

function secondStep(collection: string, { before, document }: Life): readonly WriteStep[] {
  if (!document) return before ? [{ in: collection, remove: eq(ID, before._id), expect: 1 }] : []
  return [
    before
      ? { in: collection, replace: document, version: before._version }
      : { in: collection, insert: document },
  ]
}

const describeThrown = (thrown: unknown): string =>
  `rejected: ${thrown instanceof Error ? thrown.message : String(thrown)}`

/** Returns the result of an operation, or the message of its rejection. */
async function observe<T>(
  operation: () => MaybePromise<T>,
): Promise<{ readonly value: T } | { readonly failure: string }> {
  try {
    return { value: await operation() }
  } catch (thrown) {
    return { failure: describeThrown(thrown) }
  }
}

/** Returns the expected result of a write in which a step must fail. */
function refusePlainly(documents: readonly StoredDocument[], steps: readonly WriteStep[]): WriteResult {
  const left = new Map(documents.map((document) => [document._id, document]))
  for (const [i, step] of steps.entries()) {
    const reason = applyPlainly(left, step)
    if (reason) return { ok: false, step: i, reason, ...(reason === 'unique' ? { fields: ['_id'] } : {}) }
  }
  throw new Error('no step of a write is rejected, although one must be')
}

/** Writes a store into an open, empty collection, and checks the results and the stored documents. */
async function judgeStore(
  adapter: StorageAdapter,
  collection: string,
  store: RandomStore,
): Promise<Mismatch | undefined> {
  const first = store.lives.flatMap(({ before }): WriteStep[] =>
    before ? [{ in: collection, insert: before }] : [],
  )
  const second = store.lives.flatMap((life) => secondStep(collection, life))
  const removed = store.lives.filter(({ before, document }) => before && !document).length
  for (const [steps, expected] of [
    [first, { ok: true, removed: 0 }],
    [second, { ok: true, removed }],
  ] as const) {
    const actual = await observe(() => adapter.write(steps, {}))
    if (!('value' in actual) || !isSame(actual.value, expected)) {
      return { what: 'write', expected, actual: 'value' in actual ? actual.value : actual.failure }
    }
  }
  for (const steps of store.writes) {
    const placed = [...steps, { in: '', require: NOBODY }].map((step) => ({ ...step, in: collection }))
    const expected = refusePlainly(documentsOf(store), placed)
    const actual = await observe(() => adapter.write(placed, {}))
    if (!('value' in actual) || !isSame(plainResult(actual.value), expected))
      return { what: 'write', expected, actual: 'value' in actual ? actual.value : actual.failure }
  }
  const all = listPlainly(documentsOf(store), queryOf())
  const actual = await observe(() => adapter.list(collection, queryOf()))
  if ('value' in actual && isSame(actual.value, all)) return undefined
  return { what: 'all documents', expected: all, actual: 'value' in actual ? actual.value : actual.failure }
}

/** A query, and the documents of its collection. With `alsoCounts`, the count is checked too. */
interface JudgedQuery {
  readonly documents: readonly StoredDocument[]
  readonly query: ListQuery
  readonly alsoCounts: boolean
}

/** Runs a query on a collection, and checks its answer. */
async function judgeQuery(
  adapter: StorageAdapter,
  collection: string,
  { documents, query, alsoCounts }: JudgedQuery,
): Promise<Mismatch | undefined> {
  const answer = await observe(() => adapter.list(collection, query))
  if ('failure' in answer) return { what: 'list', expected: 'an answer', actual: answer.failure }
  const mismatch = judgeList(documents, query, answer.value)
  if (mismatch || !alsoCounts) return mismatch
  const expected = documents.filter(compileFilter(query.filter)).length
  const count = await observe(() => adapter.count(collection, query.filter, {}))
  if ('value' in count && count.value === expected) return undefined
  return { what: 'count', expected, actual: 'value' in count ? count.value : count.failure }
}

/** The extent of a fuzzer run. Runs with the same options make the same queries. */
export interface FuzzOptions {
  /**
   * The seed of the first store. Store `i` of a run equals the first store of a run with the seed `seed + i`. Default:
   * 1.
   */
  readonly seed?: number
  /** The number of stores. Default: 20. */
  readonly stores?: number
  /** The number of queries of each store. Default: 100. */
  readonly queries?: number
}

/** The number of stores that share one storage, each in its own collection. */
const BATCH = 50
/** The share of filters whose count is also checked. */
const COUNTED = 0.25
const MAX_SHRINKING = 1500
const ANY_WHOLE = wholeNumber(0, Number.MAX_SAFE_INTEGER)

/** Combined with the seed of a store, gives the seed of its writes. */
const WRITES = 0x5eed

interface Round {
  readonly seed: number
  readonly collection: string
  readonly store: FieldedStore & RandomStore
}

const planOf = (name: string, { indexes }: RandomStore): CollectionPlan => ({ name, indexes })

/**
 * Compares an adapter with a plain array: random writes and queries of random documents must have the same results. If
 * they do not, rejects with the smallest failing case that was found, and with the seed that reproduces it.
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
      // The writes have a separate generator, so that the documents of a seed do not depend on how writes are drawn.
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
  // The queries have a separate generator, so that the documents of a seed do not depend on how queries are drawn.
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

/** Returns a function that evaluates cases. Each store is written into its own collection. */
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
    `the adapter differs from a plain array: ${mismatch?.what ?? '(the difference did not occur again when the case was repeated)'}`,
    `  seed:      ${seed}, stores: 1`,
    `  indexes:   ${printShort(store.indexes)}`,
    ...documentsOf(store).map((document) => `  document:  ${printShort(document)}`),
    ...changed.map(({ before }) => `  earlier:   ${printShort(before)}`),
    ...store.writes.map((steps) => `  write:     ${printShort([...steps, { require: NOBODY }])}`),
    ...(query ? [`  query:     ${printQuery(query)}`, `  as JSON:   ${printShort(query)}`] : []),
    `  expected:  ${printShort(mismatch?.expected)}`,
    `  actual:    ${printShort(mismatch?.actual)}`,
  ].join('\n')
}
