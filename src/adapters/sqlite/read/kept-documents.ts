import type { WriteStep } from '../../../core/storage.js'
import type { CachedDocument } from '../../sql/read/cached-document.js'
import type { Connection } from '../connection/connection.js'
import { readDataVersion } from '../connection/data-version.js'

/**
 * A cache of documents that equal those in the file. Documents are evicted before this process writes them, and all are
 * evicted after another process has written.
 */
export interface KeptDocuments {
  /** Returns the documents with these ids, or `undefined` if one of them is not cached. */
  find(collection: string, ids: readonly unknown[]): readonly CachedDocument[] | undefined
  /** Caches a document unless it is too large, and returns it. */
  put(collection: string, kept: CachedDocument): CachedDocument
  /** Evicts the documents that the steps are about to change. */
  forget(steps: readonly WriteStep[]): void
  /**
   * Whether no other process has written since the last call. If one has, all documents are evicted, and the documents
   * that the caller has found or read since that call may come from different snapshots.
   */
  isCurrent(): boolean
}

/** The maximum memory for all cached documents, and the maximum JSON text of one of them, in bytes. */
const MAX_BYTES = 64 * 2 ** 20
const MAX_SIZE = 2 ** 16

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

export function createKeptDocuments(connection: Connection): KeptDocuments {
  let version = readDataVersion(connection)
  let documents = new Generations<CachedDocument>()

  return {
    find(collection, ids) {
      const find = documents.finder(collection)
      const found: CachedDocument[] = []
      for (const id of ids) {
        const kept = find(id)
        if (!kept) return undefined
        found.push(kept)
      }
      return found
    },
    put: (collection, kept) => documents.keep(collection, kept),
    forget(steps) {
      for (const step of steps) {
        const written = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
        if (written) documents.forget(step.in, written._id)
        else if ('remove' in step) documents.forgetAll(step.in)
      }
    },
    isCurrent() {
      const before = version
      version = readDataVersion(connection)
      if (version === before) return true
      documents = new Generations()
      return false
    },
  }
}
