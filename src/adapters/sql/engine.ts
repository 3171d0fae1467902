import type { Filter } from '../../filter/filter.js'
import type { Listed, ListQuery, WriteStep } from '../../storage.js'
import type { SqlDialect, Statement } from './dialect.js'
import type { Recording } from './log/recorder.js'
import type { Statements } from './statements.js'

/** A statement that inserts the documents of several steps. */
export interface Inserts extends Statement {
  /** The place behind the last of them. */
  readonly next: number
}

/** A statement that selects ids, some perhaps more than once. */
export interface IdSearch {
  readonly ids: Statement
  /** Whether all of them match. */
  readonly isAnswered: boolean
}

/** The differences between engines, except how they run statements. */
export interface SqlEngine {
  readonly dialect: SqlDialect
  readonly statements: Statements
  /**
   * The unique index or primary key that refused, as far as the engine names it; `undefined` for any other
   * error.
   */
  readonly takenBy: (thrown: unknown) => string | undefined
  /**
   * Writes a statement for as many inserts from a place on as fit; where it is refused, the steps are applied
   * again one by one.
   */
  readonly insertMany?:
    | ((steps: readonly WriteStep[], from: number, isSkipped: (place: number) => boolean) => Inserts)
    | undefined
  /** Whether a document of a collection has entries of elements, perhaps many: documents are then removed one by one. */
  readonly isSpread?: ((collection: string) => boolean) | undefined
  /** Finds the ids of the documents that a table of elements gives for a filter; `undefined` where none serves it. */
  readonly seek?: ((collection: string, filter: Filter) => IdSearch | undefined) | undefined
  /** Records the write that is applied; absent where none of its collections is logged. */
  readonly recording?: Recording | undefined
  /** Whether an error says that something of the name of a new table or index is there already. */
  readonly isExisting: (thrown: unknown) => boolean
  /** Whether an error says that a table lacks a column. */
  readonly lacksColumn: (thrown: unknown) => boolean
  /** Whether an error says that a value is too long for an index. */
  readonly isTooLong: (thrown: unknown) => boolean
}

/** A statement, and how to treat its rows. */
export interface DatabaseQuery extends Statement {
  /** Where the rows are documents of which not all match: the filter that decides. */
  readonly judged?: Filter
}

/** The result of a question. */
export interface DatabaseResult {
  /** The first column of each row; for judged documents, the `_id`s of the matches. */
  readonly rows: readonly unknown[]
  /** The number of rows that a write changed. */
  readonly changed: number
}

/**
 * Work that asks a database, question by question. It is written once; each engine runs it in its own way,
 * synchronously or with promises. An error of a statement is thrown into it.
 */
export type DatabaseWork<T> = Generator<DatabaseQuery, T, DatabaseResult>

/** Reads the documents of a database, whatever is missing there. */
export interface ExistingDocuments {
  /** A list; empty for a collection that is missing. Its filter has no patterns. */
  list(collection: string, query: ListQuery): Promise<Listed>
  close(): Promise<void>
}
