import { compileField, holdsType } from '../../filter/compare.js'
import { and, type FieldRef, type Filter, not, type Scalar } from '../../filter/filter.js'
import { decodeBase64url, encodeText } from '../../json/base64url.js'
import { isStorableNumber, isStorableText } from '../../json/domain.js'
import type { SortKey, StoredDocument } from '../../storage.js'
import { ConditionFault } from '../condition.js'

/**
 * A position in a sorted list: the sort values of the document before it, with `null` for a missing value.
 */
export interface Cursor {
  readonly values: readonly (Scalar | null)[]
  /** The number of documents before the position, on all earlier pages. */
  readonly passed: number
}

/** Creates the cursor for the position after a document. */
export const placeOf = (sort: readonly SortKey[], document: StoredDocument, passed: number): Cursor => ({
  values: sort.map(({ field }) => compileField(field)(document) ?? null),
  passed,
})

/** Creates the cursor for the position after a document, encoded as a string for a URL. */
export function writeCursor(sort: readonly SortKey[], document: StoredDocument, passed: number): string {
  const { values } = placeOf(sort, document, passed)
  return encodeText(JSON.stringify([nameOf(sort), values, passed]))
}

/**
 * Decodes a cursor of this sort order. Throws `ConditionFault` for a cursor of another order and for any
 * other string.
 */
export function readCursor(sort: readonly SortKey[], text: string): Cursor {
  const parts = parse(text)
  const [order, values, passed] = Array.isArray(parts) && parts.length === 3 ? parts : []
  if (!Array.isArray(values) || !Number.isSafeInteger(passed) || passed < 0) throw malformedCursor()
  if (order !== nameOf(sort))
    throw new ConditionFault(
      'wrong_cursor',
      'is a cursor of another sort order: use it with the sort of the request that returned it',
    )
  if (values.length !== sort.length || !values.every(isValue) || values.at(-1) === null)
    throw malformedCursor()
  if (!sort.every(({ field }, i) => values[i] === null || holdsType(field.type)(values[i])))
    throw malformedCursor()
  return { values, passed }
}

/** Creates the error for a string that is not a cursor. */
export const malformedCursor = (): ConditionFault =>
  new ConditionFault('malformed', 'is not a valid cursor: copy the value of Next-Cursor unchanged')

function parse(text: string): unknown {
  const bytes = decodeBase64url(text)
  if (!bytes) throw malformedCursor()
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw malformedCursor()
  }
}

const isValue = (value: unknown): value is Scalar | null =>
  value === null ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && isStorableNumber(value)) ||
  (typeof value === 'string' && isStorableText(value))

const nameOf = (sort: readonly SortKey[]): string =>
  sort.map(({ field, descending }) => (descending ? '-' : '+') + field.path).join()

/**
 * Returns the filters for the documents after a position (CONTRACT.md §3.7), as disjoint ranges in sorted
 * order. Each range fixes the first keys and bounds the next key, so that an index can seek even if many
 * documents have the same values for the first keys.
 */
export function rangesAfter(sort: readonly SortKey[], { values }: Cursor): readonly Filter[] {
  const ranges: Filter[] = []
  for (let depth = sort.length - 1; depth >= 0; depth--) {
    const key = sort[depth]
    const same = sort.slice(0, depth).map(({ field }, i) => isSame(field, values[i] ?? null))
    if (key) ranges.push(...findBehind(key, values[depth] ?? null).map((range) => and([...same, range])))
  }
  return ranges
}

const isMissing = (field: FieldRef): Filter => not({ kind: 'present', field })

const isSame = (field: FieldRef, value: Scalar | null): Filter =>
  value === null ? isMissing(field) : { kind: 'eq', field, value }

/**
 * Returns the ranges after a value of one key. Missing values come first in ascending order and last in
 * descending order.
 */
function findBehind({ field, descending }: SortKey, value: Scalar | null): readonly Filter[] {
  if (value === null) return descending ? [] : [{ kind: 'present', field }]
  if (!descending) return [{ kind: 'gt', field, value }]
  const below: Filter = { kind: 'lt', field, value }
  // An `_id` is never missing.
  return field.path === '_id' ? [below] : [below, isMissing(field)]
}
