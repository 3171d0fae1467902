import type { StoredDocument } from '../../../core/storage.js'
import type { Statement } from '../dialect.js'

/** The table of all changes, and the table of the log's state. */
export const LOG = '_log'
export const LOG_HEAD = '_log_head'

/**
 * Builds the statements that change a logged collection and record the changes. The last statement in each list returns
 * the number of changed documents.
 */
export interface Recorder {
  insert(document: StoredDocument): readonly Statement[]
  replace(document: StoredDocument, version: number): readonly Statement[]
  /** `removal` is the statement that deletes the matches of a filter. */
  remove(removal: Statement): readonly Statement[]
}

/** The statements that record one write. */
export interface Recording {
  /** Returns the recorder of a collection, or `undefined` if the collection is not logged. */
  of(collection: string): Recorder | undefined
  /** Deletes the records of documents that existed neither before nor after the write. */
  readonly forget: Statement
}

/** Prints the caller of a write as a parameter: a JSON list, which is empty if there is no caller. */
export const printBy = (by: string | null): string => JSON.stringify(by === null ? [] : [by])
