import type { StoredDocument } from '../../../core/storage.js'

/** A cached document. `size`: the bytes of its JSON text. `held`: the approximate bytes that it takes in memory. */
export interface CachedDocument {
  readonly document: StoredDocument
  readonly size: number
  readonly held: number
}

/**
 * The approximate bytes of memory of an object or an array, of each value in it, and of a string in addition to its
 * characters.
 */
const BYTES = { object: 64, value: 16, text: 16 }

/**
 * Estimates the bytes that a value takes in memory: up to twenty times the bytes of its JSON text if it has many
 * small parts.
 */
export function measure(value: unknown): number {
  if (typeof value === 'string') return BYTES.text + value.length
  if (typeof value !== 'object' || value === null) return 0
  let bytes = BYTES.object
  for (const inner of Object.values(value)) bytes += BYTES.value + measure(inner)
  return bytes
}
