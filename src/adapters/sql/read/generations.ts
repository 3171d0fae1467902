import type { StoredDocument } from '../../../core/storage.js'

/** A cached document. `size`: the bytes of its JSON text. `held`: the approximate bytes that it takes in memory. */
export interface CachedDocument {
  readonly document: StoredDocument
  readonly size: number
  readonly held: number
}

/** The maximum memory for all cached documents, and the maximum JSON text of one of them, in bytes. */
const MAX_BYTES = 64 * 2 ** 20
const MAX_SIZE = 2 ** 16

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

/** Documents by collection and `_id`. */
type Collections<K> = Map<string, Map<unknown, K>>

/**
 * A cache of documents in two generations. When the young generation is full, it replaces the old generation, which is
 * evicted. Each use of a document in the old generation also adds it to the young generation.
 */
export class Generations<K extends CachedDocument> {
  #young: Collections<K> = new Map()
  #old: Collections<K> = new Map()
  #bytes = 0

  /** Returns a function that finds the cached documents of a collection by their `_id`. */
  finder(collection: string): (id: unknown) => K | undefined {
    const [recent, earlier] = [this.#young.get(collection), this.#old.get(collection)]
    return (id) => {
      const known = recent?.get(id)
      if (known) return known
      const kept = earlier?.get(id)
      if (kept) this.#add(collection, kept)
      return kept
    }
  }

  /** Caches a document unless it is large. */
  keep(collection: string, kept: K): K {
    if (kept.size <= MAX_SIZE) this.#add(collection, kept)
    return kept
  }

  forget(collection: string, id: unknown): void {
    for (const generation of [this.#young, this.#old]) generation.get(collection)?.delete(id)
  }

  forgetAll(collection: string): void {
    for (const generation of [this.#young, this.#old]) generation.delete(collection)
  }

  #add(collection: string, kept: K): void {
    if (this.#bytes > MAX_BYTES / 2) {
      this.#old = this.#young
      this.#young = new Map()
      this.#bytes = 0
    }
    this.#bytes += kept.held
    const some = this.#young.get(collection) ?? new Map<unknown, K>()
    this.#young.set(collection, some.set(kept.document._id, kept))
  }
}
