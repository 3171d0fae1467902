import type { Filter } from '../../filter/filter.js'
import type { SqlDialect, Statement } from './dialect.js'
import type { Statements } from './statements.js'

/** What engines differ in, beside how they run statements. */
export interface SqlEngine {
  readonly dialect: SqlDialect
  readonly statements: Statements
  /** The unique index or primary key that refused, as far as the engine names it; `undefined` for any other fault. */
  readonly takenBy: (thrown: unknown) => string | undefined
  /** Whether a value is too long for an index. */
  readonly isTooLong: (thrown: unknown) => boolean
}

/** A statement, and what becomes of its rows. */
export interface Question extends Statement {
  /** Where the rows are documents of which more are given than match: the filter that is asked of them. */
  readonly judged?: Filter
}

export interface Answer {
  /** The first column of each row; of documents that were judged, the `_id`s of those that match. */
  readonly rows: readonly unknown[]
  /** How many rows a write changed. */
  readonly changed: number
}

/**
 * Work that asks a database, question by question: written once, and driven by each engine in its own way, at once or
 * with promises. What a statement throws is thrown into it.
 */
export type Asking<T> = Generator<Question, T, Answer>
