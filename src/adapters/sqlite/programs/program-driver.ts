import type { MaybePromise } from '../../../core/storage.js'

/** A value that is bound. Engines differ in what they make of all others, such as booleans, dates and `undefined`. */
export type ProgramValue = string | number

/** A statement of a program. Its values are those of `?1`, `?2` and so on. */
export interface ProgramStatement {
  readonly text: string
  readonly values: readonly ProgramValue[]
  /** The number of rows that it must return or change. With another number, its program is rolled back. */
  readonly expect?: number
}

/** The result of a statement: the first column of each row, and the number of rows that it changed. */
export interface ProgramResult {
  readonly rows: readonly unknown[]
  readonly changes: number
}

/**
 * Why a program was rolled back. `taken`: a unique index rejected a statement. `full`: there is no space left. `large`:
 * a value or a row is too large. `broken`: the file cannot be used. `failed`: a statement is wrong. `unknown`: the
 * connection was lost, or the disk failed, so the program may have taken effect.
 */
export type RollbackReason = 'taken' | 'busy' | 'full' | 'large' | 'broken' | 'failed' | 'unknown'

/** The outcome of a program. `expected`: the statement with this index returned or changed another number of rows. */
export type ProgramOutcome =
  | { readonly ok: true; readonly results: readonly ProgramResult[] }
  | { readonly ok: false; readonly reason: 'expected'; readonly statement: number }
  | { readonly ok: false; readonly reason: RollbackReason; readonly cause: unknown }

/** The limits of an engine for one statement. The service evaluates what no statement within the limits can. */
export interface ProgramLimits {
  /** The maximum number of values. */
  readonly parameters: number
  /** The maximum size of the text, in bytes. */
  readonly statementBytes: number
  /** The maximum depth of an expression. */
  readonly depth: number
  /** The maximum size of a document of which a row of the log has two versions, in bytes. */
  readonly documentBytes: number
}

/** An SQLite engine that gives no interactive transaction, only programs: lists of statements. */
export interface ProgramDriver {
  readonly limits: ProgramLimits
  /** Whether programs of other processes may change the database. */
  readonly isShared: boolean
  /** Runs statements that only read, all as of one moment. */
  read(statements: readonly ProgramStatement[]): MaybePromise<readonly ProgramResult[]>
  /** Runs a program as a whole or not at all. A result is durable. Does not throw, and does not reject. */
  write(program: readonly ProgramStatement[]): MaybePromise<ProgramOutcome>
}

/** Whether a statement only returns rows. */
export const isRead = ({ text }: ProgramStatement): boolean => text.startsWith('SELECT')
