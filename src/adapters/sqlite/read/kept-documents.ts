import type { StoredDocument, WriteStep } from '../../../core/storage.js'
import { type Connection, readDataVersion } from '../connection/connection.js'

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

/** The maximum memory for all cached documents, and the maximum JSON text of one of them, in bytes. */
const MAX_BYTES = 64 * 2 ** 20
const MAX_SIZE = 2 ** 16

/** Documents by collection and `_id`. */
type Collections = Map<string, Map<unknown, CachedDocument>>

/**
 * A cache of documents that equal those in the file. Documents are evicted before this process writes them, and all are
 * evicted after another process has written. The cache has two generations. When the young generation is full, it
 * replaces the old generation, which is evicted. Each use of a document in the old generation also adds it to the young
 * generation.
 */
export class KeptDocuments {
  readonly #connection: Connection
  #version: unknown
  #young: Collections = new Map()
  #old: Collections = new Map()
  #bytes = 0

  constructor(connection: Connection) {
    this.#connection = connection
    this.#version = readDataVersion(connection)
  }

  /** Returns the documents with these ids, or `undefined` if one of them is not cached. */
  find(collection: string, ids: readonly unknown[]): readonly CachedDocument[] | undefined {
    const [recent, earlier] = [this.#young.get(collection), this.#old.get(collection)]
    const found: CachedDocument[] = []
    for (const id of ids) {
      const known = recent?.get(id)
      const kept = known ?? earlier?.get(id)
      if (!kept) return undefined
      if (!known) this.#add(collection, kept)
      found.push(kept)
    }
    return found
  }

  /** Caches a document unless it is large, and returns it. */
  put(collection: string, kept: CachedDocument): CachedDocument {
    if (kept.size <= MAX_SIZE) this.#add(collection, kept)
    return kept
  }

  /** Evicts the documents that the steps are about to change. */
  forget(steps: readonly WriteStep[]): void {
    for (const step of steps) {
      const written = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
      for (const generation of [this.#young, this.#old]) {
        if (written) generation.get(step.in)?.delete(written._id)
        else if ('remove' in step) generation.delete(step.in)
      }
    }
  }

  /**
   * Whether no other process has written since the last call. If one has, all documents are evicted, and the documents
   * that the caller has found or read since that call may come from different snapshots.
   */
  isCurrent(): boolean {
    const before = this.#version
    this.#version = readDataVersion(this.#connection)
    if (this.#version === before) return true
    this.#young = new Map()
    this.#old = new Map()
    this.#bytes = 0
    return false
  }

  #add(collection: string, kept: CachedDocument): void {
    if (this.#bytes > MAX_BYTES / 2) {
      this.#old = this.#young
      this.#young = new Map()
      this.#bytes = 0
    }
    this.#bytes += kept.held
    const some = this.#young.get(collection) ?? new Map<unknown, CachedDocument>()
    this.#young.set(collection, some.set(kept.document._id, kept))
  }
}
