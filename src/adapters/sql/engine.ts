import type { Filter } from '../../core/filter/filter.js'
import type {
  CollectionPlan,
  LeftIndex,
  Listed,
  ListQuery,
  MaybePromise,
  Snapshot,
  WriteStep,
} from '../../core/storage.js'
import type { SqlDialect, Statement } from './dialect.js'
import type { Recording } from './log/recorder.js'
import type { Statements } from './statements.js'

/** A statement that inserts, or replaces, the documents of several steps. */
export interface JoinedSteps extends Statement {
  /** The number of documents that it must change. */
  readonly count: number
  /** The index of the first step after these documents. */
  readonly next: number
}

/** A search for the documents that may match a filter. The statement may return an `_id` more than once. */
export interface IdSearch {
  readonly ids: Statement
  /** Whether every document that the search finds matches the filter. */
  readonly isAnswered: boolean
}

/** Everything that differs between engines, except how they run statements. */
export interface SqlEngine {
  readonly dialect: SqlDialect
  readonly statements: Statements
  /**
   * The name of the violated unique index or primary key, empty if the engine does not report the name. `undefined`
   * for any other error.
   */
  readonly takenBy: (thrown: unknown) => string | undefined
  /**
   * Builds one statement for as many inserts, or as many replaces, as fit, beginning with step `from`. `undefined` if the
   * step is neither, or is the only replace. If the statement is rejected or changes another number of documents, the caller applies all steps
   * again, each by itself.
   */
  readonly join?:
    | ((
        steps: readonly WriteStep[],
        from: number,
        isSkipped: (place: number) => boolean,
      ) => JoinedSteps | undefined)
    | undefined
  /**
   * Whether documents of a collection may have many entries in tables of elements. Such documents are removed one by
   * one.
   */
  readonly isSpread?: ((collection: string) => boolean) | undefined
  /**
   * Returns the search in a table of elements for the documents that may match a filter, or `undefined` if no table
   * serves it.
   */
  readonly seek?: ((collection: string, filter: Filter) => IdSearch | undefined) | undefined
  /** Builds the statements that record the current write. Absent if none of its collections is logged. */
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
  /** If set, the rows are documents that may not all match this filter, and the result contains only the matches. */
  readonly judged?: Filter
}

/** The result of a query. */
export interface DatabaseResult {
  /** The first column of each row; with `judged`, the `_id`s of the documents that match. */
  readonly rows: readonly unknown[]
  /** The number of rows that a write changed. */
  readonly changed: number
}

/** Runs a query. Engines run it synchronously or with a promise. */
export type Ask = (query: DatabaseQuery) => MaybePromise<DatabaseResult>

/** Work that runs one query after another. */
export type DatabaseWork<T> = (ask: Ask) => MaybePromise<T>

/** Reads the documents of an existing database, which may lack some of the collections. */
export interface ExistingDocuments {
  /** Lists documents; none if the collection is missing. The filter must not contain patterns. */
  list(collection: string, query: ListQuery): Promise<Listed>
  /** See `StorageAdapter.snapshot`. */
  snapshot(): Promise<Snapshot>
  /** See `StorageAdapter.leftUnique`. */
  leftUnique(plans: readonly CollectionPlan[]): Promise<readonly LeftIndex[]>
  close(): Promise<void>
}
