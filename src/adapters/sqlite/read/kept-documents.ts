import type { WriteStep } from '../../../core/storage.js'
import { type CachedDocument, Generations } from '../../sql/read/generations.js'
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
