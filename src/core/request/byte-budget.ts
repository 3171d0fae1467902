import { bounds } from '../bounds.js'
import { ServiceError } from '../errors.js'
import { countBytes } from '../fields/schema/json-schema.js'
import { thaw } from '../json/own-properties.js'
import type { JsonObject } from '../types.js'

/** Counts the bytes of JSON that a piece of work may take in total. */
export interface ByteBudget {
  /** Returns an upper bound of the value's bytes. Throws `document_too_large` beyond the budget. */
  take(value: object | string): number
}

/** Creates a budget. Bytes are counted exactly only for large values, or if the upper bound exceeds the budget. */
export function createByteBudget(most: number, detail: string): ByteBudget {
  /** Values that were not yet counted exactly. */
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

/** `\u001f`: no character takes more. */
const MAX_ESCAPED = 6
/** `-1.2345678901234567e-100`, with a margin. */
const MAX_NUMBER = 32

/** An upper bound of the bytes of a value's JSON, computed without serializing it. */
export function boundBytes(value: unknown): number {
  if (typeof value === 'string') return value.length * MAX_ESCAPED + 2
  if (typeof value !== 'object' || value === null) return MAX_NUMBER
  let bytes = 2
  if (Array.isArray(value)) {
    for (const element of thaw(value)) bytes += boundBytes(element) + 1
    return bytes
  }
  // Inherited properties would only raise the bound.
  for (const name in value) {
    bytes += name.length * MAX_ESCAPED + 4 + boundBytes((value as JsonObject)[name])
  }
  return bytes
}
