import type { Listed, ListQuery } from '../../storage.js'

/** Reads the documents of a database, whatever is missing there. */
export interface ExistingDocuments {
  /** A list; empty for a collection that is missing. Its filter has no patterns. */
  list(collection: string, query: ListQuery): Promise<Listed>
  close(): Promise<void>
}
