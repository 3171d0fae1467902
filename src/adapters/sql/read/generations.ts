import type { StoredDocument } from '../../../storage.js'

/** A document, and the bytes of its text. */
export interface Kept {
  readonly document: StoredDocument
  readonly size: number
}

/** The most bytes of documents that are kept, and of one. */
const MAX_BYTES = 64 * 2 ** 20
const MAX_SIZE = 2 ** 16

/** By collection and `_id`. */
type Collections<K> = Map<string, Map<unknown, K>>

/**
 * Documents that were read, up to some bytes, in two generations: those that were used since the last change of
 * generations, and others. What is not used for a whole one is forgotten.
 */
export class Generations<K extends Kept> {
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

  /** Keeps a document unless it is large. */
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
    this.#bytes += kept.size
    const some = this.#young.get(collection) ?? new Map<unknown, K>()
    this.#young.set(collection, some.set(kept.document._id, kept))
  }
}
