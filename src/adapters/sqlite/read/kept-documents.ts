import type { WriteStep } from '../../../core/storage.js'
import { type CachedDocument, Generations } from '../../sql/read/generations.js'
import type { Connection } from '../connection/connection.js'
import { readDataVersion } from '../connection/data-version.js'

/**
 * A cache of documents, as they are in the file: this process evicts documents before it writes them, and all
 * documents after another process has written.
 */
export interface KeptDocuments {
  /** The documents of ids; `undefined` if one of them is not cached. */
  find(collection: string, ids: readonly unknown[]): readonly CachedDocument[] | undefined
  /** Caches a document unless it is large. */
  put(collection: string, kept: CachedDocument): CachedDocument
  /** Evicts the documents that steps are about to change. */
  forget(steps: readonly WriteStep[]): void
  /**
   * Whether no other process has written since the last call. If not, everything is evicted, and documents found or
   * read in between may belong to different snapshots.
   */
  isCurrent(): boolean
}

/** Creates the document cache of a connection. */
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
