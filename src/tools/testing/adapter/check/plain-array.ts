import { compare, compileField } from '../../../../core/filter/compare.js'
import type { Filter } from '../../../../core/filter/filter.js'
import { compileFilter } from '../../../../core/filter/matches.js'
import type { ListQuery, SortKey, StorageAdapter, StoredDocument } from '../../../../core/storage.js'
import { checkSame, isSame, printShort } from './check.js'
import { idsOf, queryOf } from './documents.js'
import { printQuery } from './print-query.js'

/** A wrong answer of an adapter, and the right one. */
export interface Mismatch {
  readonly what: string
  readonly expected: unknown
  readonly actual: unknown
}

/** Sorts documents. Reads the sort keys of each document only once. */
function sortPlainly(
  documents: readonly StoredDocument[],
  sort: readonly SortKey[],
): readonly StoredDocument[] {
  const keys = sort.map(({ field, descending }) => ({ sign: descending ? -1 : 1, read: compileField(field) }))
  const rows = documents.map((document) => ({ document, values: keys.map(({ read }) => read(document)) }))
  rows.sort((a, b) => {
    for (const [i, { sign }] of keys.entries()) {
      const order = compare(a.values[i], b.values[i])
      if (order !== 0) return order * sign
    }
    return 0
  })
  return rows.map(({ document }) => document)
}

const pageOf = (sorted: readonly StoredDocument[], { skip, limit }: ListQuery): readonly StoredDocument[] =>
  sorted.slice(skip, limit === null ? undefined : skip + limit)

/** Returns the right answer to a query: a filtered, sorted and sliced plain array. */
export function listPlainly(
  documents: readonly StoredDocument[],
  query: ListQuery,
): readonly StoredDocument[] {
  return pageOf(sortPlainly(documents.filter(compileFilter(query.filter)), query.sort), query)
}

/**
 * Returns how an answer differs from the right one, or `undefined` if it is right. If the query does not sort, any
 * order is right, and any page of the right length.
 */
export const judgeList = (
  documents: readonly StoredDocument[],
  query: ListQuery,
  answer: readonly StoredDocument[],
): Mismatch | undefined => judgePage(documents.filter(compileFilter(query.filter)), query, answer)

/** Like `judgeList`, but receives only the documents that match. */
function judgePage(
  matching: readonly StoredDocument[],
  query: ListQuery,
  answer: readonly StoredDocument[],
): Mismatch | undefined {
  const expected = idsOf(pageOf(sortPlainly(matching, query.sort), query))
  const actual = idsOf(answer)
  if (query.sort.length > 0) {
    return isSame(actual, expected) ? undefined : { what: 'list', expected, actual }
  }
  const all = new Set(idsOf(matching))
  const isFine =
    actual.length === expected.length &&
    new Set(actual).size === actual.length &&
    actual.every((id) => all.has(id))
  return isFine ? undefined : { what: 'list, in any order', expected, actual }
}

/** Checks the list of a query against a plain array. */
export async function checkList(
  adapter: StorageAdapter,
  collection: string,
  documents: readonly StoredDocument[],
  query: ListQuery,
): Promise<void> {
  const answer = await adapter.list(collection, query)
  if (judgeList(documents, query, answer)) throw describeList(listPlainly(documents, query), query, answer)
}

function describeList(
  expected: readonly StoredDocument[],
  query: ListQuery,
  actual: readonly StoredDocument[],
): Error {
  // There may be many documents, so only the first difference is printed.
  const place = expected.findIndex(({ _id }, i) => _id !== actual[i]?._id)
  const at = place < 0 ? expected.length : place
  return new Error(
    [
      `list of ${printQuery(query)}: returned ${actual.length} documents, expected ${expected.length}; the first difference is at index ${at}`,
      `  expected: ${printShort(expected[at])}`,
      `  actual:   ${printShort(actual[at])}`,
    ].join('\n'),
  )
}

/** Checks the list of a filter, in the order of ids, and its count against a plain array. */
export async function checkFound(
  adapter: StorageAdapter,
  collection: string,
  documents: readonly StoredDocument[],
  filter: Filter,
): Promise<void> {
  const matching = documents.filter(compileFilter(filter))
  const query = queryOf({ filter })
  const answer = await adapter.list(collection, query)
  if (judgePage(matching, query, answer)) throw describeList(sortPlainly(matching, query.sort), query, answer)
  checkTotal(await adapter.count(collection, filter, {}), matching.length, filter)
}

const checkTotal = (actual: number, expected: number, filter: Filter): void =>
  checkSame(actual, expected, () => `count of ${printQuery({ filter })}`)

/** Checks the count of a filter against a plain array. */
export async function checkCount(
  adapter: StorageAdapter,
  collection: string,
  documents: readonly StoredDocument[],
  { filter }: Pick<ListQuery, 'filter'>,
): Promise<void> {
  const expected = documents.filter(compileFilter(filter)).length
  checkTotal(await adapter.count(collection, filter, {}), expected, filter)
}
