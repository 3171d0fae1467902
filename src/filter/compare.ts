import { compareText } from '../json/compare-text.js'
import { compilePath } from '../json/own-properties.js'
import type { JsonObject } from '../types.js'
import type { ComparableType, FieldRef, Scalar, ValueType } from './filter.js'

/** A value that has an order; `undefined` is a missing one. */
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

/** The test of whether a stored value is of a declared type; a value that is not counts as missing. */
export const holdsType = (type: ValueType): ((value: unknown) => boolean) => HOLDS[type]

/**
 * Compiles a field to a getter of its value; `undefined` for a missing value and for one of another type.
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

/** Whether values of a declared type can be compared with this one. */
export const canHold = (type: ValueType, value: Scalar): boolean => JS_TYPES[type] === typeof value

const rank = (value: Ordered): number => {
  switch (typeof value) {
    case 'undefined':
      return 0
    case 'boolean':
      return 1
    case 'number':
      return 2
    default:
      return 3
  }
}

/**
 * Compares two values in their total order: missing, false, true, numbers, strings by code point. Negative,
 * zero or positive.
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
  return rank(a) - rank(b)
}
