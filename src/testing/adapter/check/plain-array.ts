import { compare, compileField } from '../../../filter/compare.js'
import { compileFilter } from '../../../filter/matches.js'
import type { ListQuery, SortKey, StorageAdapter, StoredDocument } from '../../../storage.js'
import { checkSame, isSame, printShort } from './check.js'
import { idsOf } from './documents.js'
import { printQuery } from './print-query.js'

/** The answer of an adapter, and the right one. */
export interface Mismatch {
  readonly what: string
  readonly expected: unknown
  readonly actual: unknown
}

function orderBy(sort: readonly SortKey[]): (a: StoredDocument, b: StoredDocument) => number {
  const keys = sort.map(({ field, descending }) => ({ sign: descending ? -1 : 1, read: compileField(field) }))
  return (a, b) => {
    for (const { sign, read } of keys) {
      const order = compare(read(a), read(b))
      if (order !== 0) return order * sign
    }
    return 0
  }
}

/** The right answer: a filter, a sort and a slice of a plain array. */
export function listPlainly(
  documents: readonly StoredDocument[],
  { filter, sort, skip, limit }: ListQuery,
): readonly StoredDocument[] {
  const matching = documents.filter(compileFilter(filter))
  return matching.sort(orderBy(sort)).slice(skip, limit === null ? undefined : skip + limit)
}

/**
 * How an answer differs from that of a plain array. Without a sort, any order is right, and any page of the
 * size.
 */
export function judgeList(
  documents: readonly StoredDocument[],
  query: ListQuery,
  answer: readonly StoredDocument[],
): Mismatch | undefined {
  const expected = idsOf(listPlainly(documents, query))
  const actual = idsOf(answer)
  if (query.sort.length > 0) {
    return isSame(actual, expected) ? undefined : { what: 'list', expected, actual }
  }
  const all = new Set(idsOf(documents.filter(compileFilter(query.filter))))
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
  if (!judgeList(documents, query, answer)) return
  const [expected, actual] = [listPlainly(documents, query), answer]
  // Of many documents, only the wrong ones are printed.
  const place = expected.findIndex(({ _id }, i) => _id !== actual[i]?._id)
  const at = place < 0 ? expected.length : place
  throw new Error(
    [
      `list of ${printQuery(query)}: ${actual.length} documents for ${expected.length}, another one at ${at}`,
      `  expected: ${printShort(expected[at])}`,
      `  actual:   ${printShort(actual[at])}`,
    ].join('\n'),
  )
}

/** Checks the count of a filter against a plain array. */
export async function checkCount(
  adapter: StorageAdapter,
  collection: string,
  documents: readonly StoredDocument[],
  { filter }: Pick<ListQuery, 'filter'>,
): Promise<void> {
  const expected = documents.filter(compileFilter(filter)).length
  const what = `count of ${printQuery({ filter })}`
  checkSame(await adapter.count(collection, filter, {}), expected, what)
}
