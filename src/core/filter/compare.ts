import { compareText } from '../json/compare-text.js'
import { compilePath } from '../json/own-properties.js'
import type { Counted } from '../slices.js'
import type { JsonObject } from '../types.js'
import type { ComparableType, FieldRef, Scalar, ValueType } from './filter.js'

/** One sort key. */
export interface OrderKey {
  readonly field: FieldRef
  readonly descending: boolean
}

/**
 * Compares two items; returns a negative number, zero or a positive number. Subtracts its steps from `slice`.
 */
export type CompareItems<T> = Counted<[a: T, b: T], number>

/** Compiles an order (CONTRACT.md §3.6). `readers[i]` returns an item's value for the `i`th sort key. */
export function compileOrder<T>(
  sort: readonly { readonly descending: boolean }[],
  readers: readonly ((item: T) => Ordered)[],
): CompareItems<T> {
  const signs = sort.map(({ descending }) => (descending ? -1 : 1))
  return (a, b, slice) => {
    for (let i = 0; i < readers.length; i++) {
      const read = readers[i]
      if (!read) break
      const [x, y] = [read(a), read(b)]
      slice.left -= costOf(x, y)
      const order = compare(x, y)
      if (order !== 0) return order * (signs[i] ?? 1)
    }
    return 0
  }
}

/** Compiles the order of documents. A stored value that is not of its field's type counts as missing. */
export const compileDocumentOrder = (sort: readonly OrderKey[]): CompareItems<JsonObject> =>
  compileOrder(
    sort,
    sort.map(({ field }) => compileField(field)),
  )

/** Returns the number of steps of a comparison. Two long strings may have to be read to the end. */
const costOf = (a: Ordered, b: Ordered): number =>
  typeof a === 'string' && typeof b === 'string' ? 2 + (Math.min(a.length, b.length) >> 5) : 2

/** A value that has an order; `undefined` represents a missing value. */
export type Ordered = string | number | boolean | undefined

const CANONICAL_TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const HOLDS: { readonly [type in ValueType]: (value: unknown) => boolean } = {
  string: (value) => typeof value === 'string',
  timestamp: (value) => typeof value === 'string' && value.length === 24 && CANONICAL_TIMESTAMP.test(value),
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  array: (value) => Array.isArray(value),
  json: (value) => value !== undefined && value !== null,
}

/** Returns the test whether a stored value is of a declared type. A value that fails counts as missing. */
export const holdsType = (type: ValueType): ((value: unknown) => boolean) => HOLDS[type]

/**
 * Compiles a field to a getter. It returns `undefined` if the value is missing or not of the field's type.
 *
 * @example
 * ```ts
 * const read = compileField({ path: 'author.name', type: 'string', each: false })
 * read({ author: { name: 'Ann' } }) // 'Ann'
 * ```
 */
export function compileField({ path, type }: FieldRef): (document: JsonObject) => Ordered {
  const read = compilePath(path)
  const holds = holdsType(type)
  return (document) => {
    const value = read(document)
    return holds(value) ? (value as Ordered) : undefined
  }
}

const JS_TYPES: {
  readonly [type in ValueType]: type extends ComparableType ? 'string' | 'number' | 'boolean' : null
} = {
  string: 'string',
  timestamp: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  object: null,
  array: null,
  json: null,
}

/** Whether values of a type can be compared and ordered. */
export const isComparable = (type: ValueType): type is ComparableType => JS_TYPES[type] !== null

/** Whether values of a declared type can be compared with this value. */
export const canHold = (type: ValueType, value: Scalar): boolean => JS_TYPES[type] === typeof value

/** The types of values, in their order. */
const RANKS: readonly string[] = ['undefined', 'boolean', 'number', 'string']

/**
 * Compares two values in a total order: missing, false, true, numbers, then strings by code point. Returns a
 * negative number, zero or a positive number.
 *
 * @example
 * ```ts
 * compare(2, 10) // negative
 * ```
 */
export function compare(a: Ordered, b: Ordered): number {
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : compareText(a, b)
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  return RANKS.indexOf(typeof a) - RANKS.indexOf(typeof b)
}

/**
 * Returns the first index from `from` to `end` for which `isBefore` is false, or `end` if there is none. All indexes for
 * which it is true come first, so a binary search finds it.
 */
export function findPlace(from: number, end: number, isBefore: (place: number) => boolean): number {
  let low = from
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
