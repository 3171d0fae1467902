import type { StoredDocument } from '../../../core/storage.js'

/** A document, the bytes of its text, and those that it takes in memory. */
export interface CachedDocument {
  readonly document: StoredDocument
  readonly size: number
  readonly held: number
}

/** The most bytes in memory of cached documents, and the most bytes of the text of one. */
const MAX_BYTES = 64 * 2 ** 20
const MAX_SIZE = 2 ** 16

/** The approximate bytes of an object or an array, of a value in it, and of a text besides its characters. */
const BYTES = { object: 64, value: 16, text: 16 }

/** The approximate bytes of a value in memory: for many small ones, twenty times those of its text. */
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
 * A cache of documents, limited by bytes, in two generations: documents used since the last rotation, and older ones.
 * A document unused for a whole generation is evicted.
 */
export class Generations<K extends CachedDocument> {
  #young: Collections<K> = new Map()
  #old: Collections<K> = new Map()
  #bytes = 0

  /** Finds documents of a collection by their `_id`. */
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
