import { compileFilter } from '../../../filter/matches.js'
import type { ListQuery, StorageAdapter, StoredDocument, WriteStep } from '../../../storage.js'
import type { MaybePromise } from '../../../types.js'
import { isSame } from '../check/check.js'
import { plainResult } from '../check/check-write.js'
import { eq, ID, queryOf } from '../check/documents.js'
import { judgeList, listPlainly, type Mismatch } from '../check/plain-array.js'
import { refusePlainly } from '../check/plain-write.js'
import type { Life, RandomStore } from './random-store.js'
import { NOBODY } from './random-write.js'

/** The final documents of a store. */
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

/** The result of an operation, or its rejection. */
async function observe<T>(
  operation: () => MaybePromise<T>,
): Promise<{ readonly value: T } | { readonly failure: string }> {
  try {
    return { value: await operation() }
  } catch (thrown) {
    return { failure: describeThrown(thrown) }
  }
}

/** Writes a store into an open, empty collection, and checks the stored documents. */
export async function judgeStore(
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

/** A query, and the documents of its collection. */
interface JudgedQuery {
  readonly documents: readonly StoredDocument[]
  readonly query: ListQuery
  readonly alsoCounts: boolean
}

/** Runs one query on a collection, and checks the answer. */
export async function judgeQuery(
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
