import type { JsonObject } from '../types.js'

/** `\u001f`: no character takes more. */
const MAX_ESCAPED = 6
/** `-1.2345678901234567e-100`, with room to spare. */
const MAX_NUMBER = 32

/** The most bytes that the JSON of a value can have, computed without writing it. */
export function boundBytes(value: unknown): number {
  if (typeof value === 'string') return value.length * MAX_ESCAPED + 2
  if (typeof value !== 'object' || value === null) return MAX_NUMBER
  let bytes = 2
  if (Array.isArray(value)) {
    for (const element of value) bytes += boundBytes(element) + 1
    return bytes
  }
  for (const name of Object.keys(value)) {
    bytes += name.length * MAX_ESCAPED + 4 + boundBytes((value as JsonObject)[name])
  }
  return bytes
}
