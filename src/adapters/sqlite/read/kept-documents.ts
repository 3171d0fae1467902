import type { StoredDocument, WriteStep } from '../../../storage.js'
import type { Connection } from '../connection/connection.js'

/** A document, and the bytes of its text. */
export interface Kept {
  readonly document: StoredDocument
  readonly size: number
}

/**
 * Documents that were read. They stand as they are in the file: what this process writes is forgotten before it is
 * written, and everything once another process has written.
 */
export interface KeptDocuments {
  /** The documents of ids; `undefined` where one of them is not kept. */
  find(collection: string, ids: readonly unknown[]): readonly Kept[] | undefined
  /** Keeps a document unless it is large. */
  put(collection: string, kept: Kept): Kept
  /** Forgets what steps are about to change. */
  forget(steps: readonly WriteStep[]): void
  /**
   * Whether nobody else has written since it last said so. If not, everything is forgotten, and what was got or read
   * in between may be of different moments.
   */
  isCurrent(): boolean
}

/** The most bytes of documents that are kept, and of one. */
const MAX_BYTES = 64 * 2 ** 20
const MAX_SIZE = 2 ** 16

/** By collection and `_id`. */
type Collections = Map<string, Map<unknown, Kept>>

/** Creates the documents that are kept of the file of a connection. */
export function createKeptDocuments(connection: Connection): KeptDocuments {
  // The number changes with each commit of another connection.
  const readVersion = (): unknown => connection.first('PRAGMA data_version', [])
  let version = readVersion()
  /** Those that were used since the last change of generations; what was not used for a whole one is forgotten. */
  let young: Collections = new Map()
  let old: Collections = new Map()
  let bytes = 0

  const keep = (collection: string, kept: Kept): void => {
    if (bytes > MAX_BYTES / 2) {
      old = young
      young = new Map()
      bytes = 0
    }
    bytes += kept.size
    const some = young.get(collection) ?? new Map<unknown, Kept>()
    young.set(collection, some.set(kept.document._id, kept))
  }
  return {
    find(collection, ids) {
      const [recent, earlier] = [young.get(collection), old.get(collection)]
      const found: Kept[] = []
      for (const id of ids) {
        const known = recent?.get(id)
        const kept = known ?? earlier?.get(id)
        if (!kept) return undefined
        if (!known) keep(collection, kept)
        found.push(kept)
      }
      return found
    },
    put(collection, kept) {
      if (kept.size <= MAX_SIZE) keep(collection, kept)
      return kept
    },
    forget(steps) {
      for (const step of steps) {
        const written = 'insert' in step ? step.insert : 'replace' in step ? step.replace : undefined
        for (const generation of [young, old]) {
          if (written) generation.get(step.in)?.delete(written._id)
          else if ('remove' in step) generation.delete(step.in)
        }
      }
    },
    isCurrent() {
      const before = version
      version = readVersion()
      if (version === before) return true
      young = new Map()
      old = new Map()
      bytes = 0
      return false
    },
  }
}
