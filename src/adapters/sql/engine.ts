import type { Filter } from '../../filter/filter.js'
import type { SqlDialect, Statement } from './dialect.js'
import type { Statements } from './statements.js'

/** The differences between engines, except how they run statements. */
export interface SqlEngine {
  readonly dialect: SqlDialect
  readonly statements: Statements
  /**
   * The unique index or primary key that refused, as far as the engine names it; `undefined` for any other
   * error.
   */
  readonly takenBy: (thrown: unknown) => string | undefined
  /** Whether an error says that a value is too long for an index. */
  readonly isTooLong: (thrown: unknown) => boolean
}

/** A statement, and how to treat its rows. */
export interface Question extends Statement {
  /** Where the rows are documents of which not all match: the filter that decides. */
  readonly judged?: Filter
}

/** The result of a question. */
export interface Answer {
  /** The first column of each row; for judged documents, the `_id`s of the matches. */
  readonly rows: readonly unknown[]
  /** The number of rows that a write changed. */
  readonly changed: number
}

/**
 * Work that asks a database, question by question. It is written once; each engine runs it in its own way,
 * synchronously or with promises. An error of a statement is thrown into it.
 */
export type Asking<T> = Generator<Question, T, Answer>
