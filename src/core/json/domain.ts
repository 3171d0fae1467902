import { everySliced, inOneSlice, type Slices } from '../slices.js'
import type { MaybePromise } from '../types.js'
import { isPlainObject } from './own-properties.js'
import { type BodyReport, createReport } from './report.js'

/** Whether every storage engine keeps a string unchanged: it contains no NUL and no lone surrogate. */
export const isStorableText = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/**
 * Whether every storage engine reads back a number as it was written: it is finite, and exact if it is an
 * integer.
 */
export const isStorableNumber = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))

/** Whether a number, given as written, is not zero but so close to zero that it would be read as zero. */
export const isUnderflow = (number: string): boolean => Number(number) === 0 && /^-?[0.]*[1-9]/.test(number)

/** The maximum number of levels of nesting; the body itself is the first level (CONTRACT.md §4). */
export const MAX_DEPTH = 32

/**
 * Reports the values that storage cannot keep: strings and numbers that `isStorableText` or
 * `isStorableNumber` rejects, and values from the host application that are not plain JSON. Stops when the
 * report is full. Returns whether the report still has room.
 */
export const findUnstorable = (value: unknown, report: BodyReport): boolean =>
  inOneSlice((slices) => searchUnstorable(value, report, slices))

/** Whether storage keeps a value unchanged. */
export const isStorable = (value: unknown): boolean => findUnstorable(value, FULL)

const FULL: BodyReport = createReport(() => false)

/** Does the same as `findUnstorable`, in slices. */
export function searchUnstorable(
  value: unknown,
  report: BodyReport,
  slices: Slices,
  depth = 1,
): MaybePromise<boolean> {
  if (typeof value !== 'object' || value === null) return judgeScalar(value, () => report)
  if (depth > MAX_DEPTH) return report.fault('too_deep', `is nested more than ${MAX_DEPTH} levels deep`)
  const isArray = Array.isArray(value)
  if (!isArray && !isPlainObject(value)) return report.fault(...NO_JSON)
  // Most values are valid scalars. For those, no report for their position is created.
  const judge = (inner: unknown, name: string | number): MaybePromise<boolean> => {
    slices.left -= stepsToRead(inner)
    return typeof inner === 'object' && inner !== null
      ? searchUnstorable(inner, report.at(name), slices, depth + 1)
      : judgeScalar(inner, () => report.at(name))
  }
  return isArray
    ? everySliced(slices, value, judge)
    : everySliced(slices, Object.keys(value), (name) => judgeName(name, report) && judge(value[name], name))
}

const reportNothing = (): BodyReport => FULL

/** Whether a value is a scalar that storage keeps unchanged. */
export const isStorableScalar = (value: unknown): boolean =>
  (typeof value !== 'object' || value === null) && judgeScalar(value, reportNothing)

/** Returns the number of steps (see `Slice`) for visiting a value without the values inside it. */
export const stepsToRead = (value: unknown): number => (typeof value === 'string' ? 3 + value.length / 64 : 3)

function judgeScalar(value: unknown, report: () => BodyReport): boolean {
  switch (typeof value) {
    case 'string':
      return isStorableText(value) || report().fault(...UNSTORABLE_TEXT)
    case 'number':
      return isStorableNumber(value) || report().fault(...OUT_OF_RANGE)
    case 'boolean':
      return true
    default:
      return value === null || report().fault(...NO_JSON)
  }
}

function judgeName(name: string, report: BodyReport): boolean {
  if (name === '__proto__' && !report.at(name).fault('forbidden_name', 'is a forbidden name')) return false
  return isStorableText(name) || report.fault(...UNSTORABLE_TEXT)
}

const OUT_OF_RANGE = [
  'number_out_of_range',
  'must be finite, must not be closer to zero than 5e-324 and, if it is an integer, must be between −(2^53−1) and 2^53−1',
] as const

const NO_JSON = ['not_json', 'must be plain JSON'] as const

const UNSTORABLE_TEXT = ['invalid_text', 'must not contain NUL or a lone surrogate'] as const
