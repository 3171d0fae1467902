import { bounds } from '../bounds.js'
import { ServiceError } from '../errors.js'
import { countBytes } from '../json/bytes.js'
import { thaw } from '../json/own-properties.js'
import type { JsonObject } from '../types.js'

/** Limits the total bytes of JSON that a piece of work may produce. */
export interface ByteBudget {
  /**
   * Counts a value and returns an upper bound of its bytes. Throws `document_too_large` if the total exceeds the
   * budget.
   */
  take(value: object | string): number
}

/**
 * Creates a budget of `most` bytes. Bytes are counted exactly only if the upper bound is large or exceeds the budget.
 */
export function createByteBudget(most: number, detail: string): ByteBudget {
  /** The values that have not been counted exactly yet. */
  let rough: (object | string)[] = []
  let bound = 0
  let counted = 0
  return {
    take(value) {
      const own = boundBytes(value)
      rough.push(value)
      bound += own
      if (bound <= bounds.countedBytes && counted + bound <= most) return own
      for (const one of rough) counted += countBytes(typeof one === 'string' ? one : JSON.stringify(one))
      rough = []
      bound = 0
      if (counted > most) throw new ServiceError('document_too_large', detail)
      return own
    },
  }
}

/** The maximum number of bytes of a character in JSON, as in `\u001f`. */
const MAX_ESCAPED = 6
/** The maximum number of bytes of a number in JSON, such as `-1.2345678901234567e-100`, with a margin. */
const MAX_NUMBER = 32

/** Returns an upper bound of the bytes of a value's JSON, without serializing the value. */
export function boundBytes(value: unknown): number {
  if (typeof value === 'string') return value.length * MAX_ESCAPED + 2
  if (typeof value !== 'object' || value === null) return MAX_NUMBER
  let bytes = 2
  if (Array.isArray(value)) {
    for (const element of thaw(value)) bytes += boundBytes(element) + 1
    return bytes
  }
  // Unlike `Object.keys`, the loop creates no list. It may include inherited properties, which only raise the bound.
  for (const name in value) {
    bytes += name.length * MAX_ESCAPED + 4 + boundBytes((value as JsonObject)[name])
  }
  return bytes
}
