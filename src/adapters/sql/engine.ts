import type { Filter } from '../../core/filter/filter.js'
import type { Listed, ListQuery, WriteStep } from '../../core/storage.js'
import type { SqlDialect, Statement } from './dialect.js'
import type { Recording } from './log/recorder.js'
import type { Statements } from './statements.js'

/** A statement that inserts the documents of several steps. */
export interface Inserts extends Statement {
  /** The place after the last of them. */
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
  /** The violated unique index or primary key, as far as the engine names it; `undefined` for any other error. */
  readonly takenBy: (thrown: unknown) => string | undefined
  /**
   * Writes a statement for as many inserts from a place on as fit. If it is rejected, the steps are applied again one
   * by one.
   */
  readonly insertMany?:
    | ((steps: readonly WriteStep[], from: number, isSkipped: (place: number) => boolean) => Inserts)
    | undefined
  /** Whether documents of a collection may have many entries of elements: they are then removed one by one. */
  readonly isSpread?: ((collection: string) => boolean) | undefined
  /** Finds the ids that a table of elements yields for a filter; `undefined` if none serves it. */
  readonly seek?: ((collection: string, filter: Filter) => IdSearch | undefined) | undefined
  /** Records the current write; absent if none of its collections is logged. */
  readonly recording?: Recording | undefined
  /** Whether an error says that the name of a new table or index is taken. */
  readonly isExisting: (thrown: unknown) => boolean
  /** Whether an error says that a table lacks a column. */
  readonly lacksColumn: (thrown: unknown) => boolean
  /** Whether an error says that a value is too long for an index. */
  readonly isTooLong: (thrown: unknown) => boolean
}

/** A statement, and how to treat its rows. */
export interface DatabaseQuery extends Statement {
  /** The filter that decides, if the rows are documents that may not all match. */
  readonly judged?: Filter
}

/** The result of a query. */
export interface DatabaseResult {
  /** The first column of each row; with `judged`, the `_id`s of the matches. */
  readonly rows: readonly unknown[]
  /** The number of rows that a write changed. */
  readonly changed: number
}

/**
 * Work that queries a database step by step. It is written once; each engine runs it synchronously or with promises.
 * An error of a statement is thrown into the generator.
 */
export type DatabaseWork<T> = Generator<DatabaseQuery, T, DatabaseResult>

/** Reads the documents of a database, even if collections are missing there. */
export interface ExistingDocuments {
  /** A list; empty for a collection that is missing. Its filter has no patterns. */
  list(collection: string, query: ListQuery): Promise<Listed>
  close(): Promise<void>
}
