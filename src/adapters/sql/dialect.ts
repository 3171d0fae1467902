import type { ComparableType, FieldRef, Filter, Scalar } from '../../core/filter/filter.js'
import type { Pattern } from '../../core/filter/pattern/syntax/pattern.js'

/** The value of a parameter. Only some dialects can bind a list. */
export type Value = Scalar | readonly Scalar[]

/** Adds a value to the parameters of a statement and returns its placeholder. */
export type Bind = (value: Value) => string

/** The JSON type that a value must have to count as present. */
export type PresentKind = 'array' | 'object' | 'any'

/** The kinds of use that a step makes of a document that it names, from the weakest lock to the strongest. */
export const USES = ['require', 'require state', 'replace', 'remove'] as const

export type LockUse = (typeof USES)[number]

/** An index over the elements of an array: one of its fields has `each`. `name` is the name of its table. */
export interface ElementsIndex {
  readonly name: string
  readonly collection: string
  readonly fields: readonly FieldRef[]
}

/** The options for compiling a statement. */
export interface CompileOptions {
  /** Whether to omit patterns from the SQL. The statement is then not exact, and the caller evaluates the patterns. */
  readonly skipPatterns?: boolean
  /**
   * Whether each alternative of a filter may be a separate search, whose results are combined. True for statements that
   * return all matches, and for statements without an order.
   */
  readonly mayJoin?: boolean
  /**
   * Whether the statement may wait for locked rows. It then also checks its condition on the content that the rows
   * have after the wait.
   */
  readonly mayWait?: boolean
}

/** The SQL of a filter that uses tables of elements. It selects exactly the documents that match. */
interface SoughtFilter {
  /** The condition on the documents. */
  readonly where: string
  /** A FROM and a WHERE clause that return exactly one row per match. Absent if no such clauses exist. */
  readonly each?: string
}

/** The parts of SQL that differ between engines. Names are always quoted, and values are always quoted or bound. */
export interface SqlDialect {
  /** Returns the placeholder of a parameter. `place` counts from 1. */
  readonly parameter: (place: number, value: Value) => string
  /** The end of the advice "give the service …": a schema or a file for this service alone, and its option. */
  readonly ownPlace: string
  /** The table of a collection. */
  readonly table: (collection: string) => string
  /** A table of the adapter itself, such as the log. */
  readonly ownTable: (name: string) => string
  /** The type of the column `_id`, with the name of its constraint, and the type of the column `document`. */
  readonly columns: { readonly id: (constraint: string) => string; readonly document: string }
  /**
   * The table that records structures. `order`: its column that shows the order of their creation. `owner`: its column
   * with the collection of a structure, known when the database is open.
   */
  readonly structures: { readonly table: string; readonly order: string; readonly owner: () => string }
  /** The statements that create the log. Each is recorded as a separate structure. */
  readonly log: readonly string[]
  /** The statement that gives the log a new name, up to its WHERE clause. */
  readonly newLog: string
  /** The column to select for a document as JSON text. */
  readonly documentText: string
  /** Converts a parameter of JSON text to the type of the column `document`. */
  readonly toDocument: (text: string) => string
  /**
   * How to lock rows until the transaction ends. `endings`: for each use of a row, the clause that ends the SELECT; a
   * use without an ending needs no lock. `most`: the maximum number of rows that one statement locks; `null` if one
   * statement locks all rows of a write.
   */
  readonly hold: { readonly most: number | null; readonly endings: { readonly [use in LockUse]?: string } }
  /** Builds the statement that removes the rows that `search` selects and locks. Absent if the engine locks no rows. */
  readonly removeFound?: (table: string, search: string) => string
  /** Builds an expression for a JSON array of values, as text. */
  readonly toArray: (values: readonly string[]) => string
  /**
   * An expression for the version of a stored document, for use in `toArray`. With the expression that `value` builds,
   * some engines would print fewer digits.
   */
  readonly storedVersion: string
  /**
   * Builds an expression in parentheses for the value of a field in the column `document`. It is NULL if the value is
   * missing or has another type.
   */
  readonly value: (field: FieldRef) => string
  /** Builds the condition that a field has a value of a comparable type, in a form for which an index can be used. */
  readonly hasValue: (field: FieldRef, type: ComparableType) => string
  /** Builds the condition that a path has an array, an object or any value. The result is never NULL. */
  readonly isPresent: (path: string, kind: PresentKind) => string
  /** Builds the condition that at least one element of an array satisfies `condition`. The result is never NULL. */
  readonly hasElement: (field: FieldRef, condition: (value: string) => string) => string
  /**
   * Builds the condition that a string, which is the value of a field or an element, contains a match of a pattern.
   * Returns `undefined` if the engine cannot express the pattern.
   */
  readonly match: (text: string, pattern: Pattern, bind: Bind, field: FieldRef) => string | undefined
  /**
   * Builds the condition that a value equals one of several values of one type. These are bound as a single parameter,
   * so that the text of the statement does not depend on their number.
   */
  readonly isOneOf: (value: string, values: readonly Scalar[], bind: Bind) => string
  /**
   * Builds one key of an ORDER BY clause. Missing values come first in ascending order, and last in descending order.
   */
  readonly order: (field: FieldRef, descending: boolean) => string
  /**
   * The limits of one index entry: `texts` is the maximum number of strings of 1,024 bytes, `fields` of all fields.
   * `digest` shortens the strings of a unique index that would exceed the limits. `null` if the engine has no limits.
   */
  readonly entries: {
    readonly texts: number
    readonly fields: number
    readonly digest: (value: string) => string
  } | null
  /**
   * Builds the last key of a unique index that also serves reads. For a document that lacks one of the fields, the key
   * is the `_id`, so that such documents never conflict; for all other documents, it is a constant string. The index is
   * therefore in the order of the fields, then of `_id`. Absent if reads use a separate index.
   */
  readonly idOfLacking?: (fields: readonly FieldRef[]) => string
  /**
   * Builds the statements that create and fill the table of an index of elements, and keep it up to date with every
   * write. The table has one entry per document and distinct element of the field with `each`.
   */
  readonly elements: (index: ElementsIndex) => readonly string[]
  /**
   * Builds the SQL of a filter, with tables of elements for the parts that they answer. Returns `undefined` if they
   * answer no part. If the statement waits for a locked row, this SQL does not see the new content of the row.
   */
  readonly seek?: (
    collection: string,
    filter: Filter,
    bind: Bind,
    options: CompileOptions,
  ) => SoughtFilter | undefined
  readonly limit: (skip: number, limit: number | null, bind: Bind) => string
  /** The maximum number of conditions in one pair of parentheses. Default: 50. */
  readonly longestChain?: number
  /**
   * Returns a text that distinguishes the expressions of an index from those that the engine's first dialect has for the
   * same fields, or `undefined` if they are equal. Default: equal.
   */
  readonly formOf?: (fields: readonly FieldRef[]) => string | undefined
}

/** The table that records structures. The names of collections never begin with an underscore. */
export const STRUCTURES = '_structures'

/** A statement and the values of its parameters. */
export interface Statement {
  readonly text: string
  readonly values: readonly Value[]
}

/** Quotes a name as in the SQL standard, which both engines follow. */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
