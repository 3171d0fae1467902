/** A value that is bound. Engines differ in what they make of all others, such as booleans, dates and `undefined`. */
export type Bound = string | number

/**
 * A prepared statement, a single one. Its values are those of its `?`, in order. While it iterates, it does nothing
 * else.
 */
export interface SqliteStatement {
  /** Returns the first column of every row. */
  all(values: readonly Bound[]): readonly unknown[]
  /** Returns the first column of the first row, or `undefined` if there is none. */
  first(values: readonly Bound[]): unknown
  /** Returns all columns of every row. */
  rows(values: readonly Bound[]): readonly (readonly unknown[])[]
  /** Iterates over the first column of every row. Until the iteration ends, the session must not write. */
  iterate(values: readonly Bound[]): IterableIterator<unknown>
  /** Runs a statement that returns no rows. Returns the number of changed rows, without those that triggers change. */
  run(values: readonly Bound[]): number
  /** Frees the statement, which is not used again. */
  finish(): void
}

/** A connection to a database file. Statements fail with an error whose `code` is the name that SQLite gives it. */
export interface SqliteSession {
  readonly isInTransaction: boolean
  prepare(text: string): SqliteStatement
  /**
   * Copies the file to a new file. The session has an open transaction, whose moment the copy has. `onStep` is called
   * between steps, with the pages that are copied and those of the file. If it throws, the copy ends. Absent if the
   * library cannot copy in steps.
   */
  copyTo?(file: string, onStep: (copied: number, all: number) => void): Promise<void>
  close(): void
}

/** How a file is opened. `create`: for writing, and created if it is missing. */
export type OpenMode = 'create' | 'write' | 'read'

/** The name of the package, or of the module of the runtime, that contains SQLite. */
export type DriverName = 'better-sqlite3' | 'node:sqlite' | 'bun:sqlite'

/** An SQLite library that runs in this thread. */
export interface SqliteDriver {
  readonly name: DriverName
  /** The version of SQLite. */
  readonly version: string
  /** How to get a later version of SQLite. It completes the sentence "use 3.51.3 or later: …". */
  readonly update: string
  /** Opens a file. A statement waits at most `patience` milliseconds for other connections. */
  open(file: string, options: { readonly mode: OpenMode; readonly patience: number }): SqliteSession
}

/** The number of pages of one step of a copy. A step takes some milliseconds. */
export const COPIED = 1024
