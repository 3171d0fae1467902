import type { WriteStep } from '../../../storage.js'
import { type CachedDocument, Generations } from '../../sql/read/generations.js'
import type { Connection } from '../connection/connection.js'
import { readDataVersion } from '../connection/data-version.js'

/**
 * Documents that were read. They stand as they are in the file: what this process writes is forgotten before it is
 * written, and everything once another process has written.
 */
export interface KeptDocuments {
  /** The documents of ids; `undefined` where one of them is not kept. */
  find(collection: string, ids: readonly unknown[]): readonly CachedDocument[] | undefined
  /** Keeps a document unless it is large. */
  put(collection: string, kept: CachedDocument): CachedDocument
  /** Forgets what steps are about to change. */
  forget(steps: readonly WriteStep[]): void
  /**
   * Whether nobody else has written since it last said so. If not, everything is forgotten, and what was got or read
   * in between may be of different moments.
   */
  isCurrent(): boolean
}

/** Creates the documents that are kept of the file of a connection. */
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
