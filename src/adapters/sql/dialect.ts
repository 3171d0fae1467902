import type { ComparableType, FieldRef, Filter, Scalar } from '../../core/filter/filter.js'
import type { Pattern } from '../../core/filter/pattern/syntax/pattern.js'

/** The value of a parameter; a list only in dialects that bind one. */
export type Value = Scalar | readonly Scalar[]

/** Adds a value to the parameters of a statement and returns its placeholder. */
export type Bind = (value: Value) => string

/** The JSON type at a place. */
export type PresentKind = 'array' | 'object' | 'any'

/** The uses of a document that a write names, from the weakest required lock to the strongest. */
export const USES = ['require', 'require state', 'replace', 'remove'] as const

export type LockUse = (typeof USES)[number]

/** An index that has one field with `each`, and the name of its table. */
export interface ElementsIndex {
  readonly name: string
  readonly collection: string
  readonly fields: readonly FieldRef[]
}

/** How to compile a statement. */
export interface CompileOptions {
  /** Whether patterns are left to the caller: the statement is then not exact. */
  readonly skipPatterns?: boolean
  /** Whether all matches are wanted, in no order: alternatives can then be found one by one, and joined. */
  readonly mayJoin?: boolean
  /** Whether the statement may wait for rows. It then also checks the condition on their new content. */
  readonly mayWait?: boolean
}

/** A filter that indexes of elements answer exactly. */
export interface SoughtFilter {
  /** The condition. */
  readonly where: string
  /** A FROM and a WHERE clause with exactly one row per match, if there are such. */
  readonly each?: string
}

/** The parts of SQL that differ between engines. Names and values are always quoted or bound, never concatenated. */
export interface SqlDialect {
  /** The placeholder of the parameter at a place, counted from 1. */
  readonly parameter: (place: number, value: Value) => string
  /** How a service can have a database for itself, with the option that names it. */
  readonly ownPlace: string
  /** The table of a collection. */
  readonly table: (collection: string) => string
  /** The type of the column `_id`, with the name of its constraint, and that of `document`. */
  readonly columns: { readonly id: (constraint: string) => string; readonly document: string }
  /** The table that records structures, and the column with the order of their creation. */
  readonly structures: { readonly table: string; readonly order: string }
  /** The statements that create the log; each is a structure of its own. */
  readonly log: readonly string[]
  /** The beginning of the statement that renames the log. */
  readonly newLog: string
  /** The columns of a stored document. */
  readonly stored: string
  /** Selects a document as JSON text. */
  readonly documentText: string
  /** Converts a parameter of JSON text to the type of the column `document`. */
  readonly toDocument: (text: string) => string
  /**
   * Locks rows until the transaction ends. The ending of a SELECT is the lock for the strongest use of its rows; rows
   * of a use without an ending need no lock. `most`: the most rows of one statement; `null` if one statement locks
   * all rows of a write.
   */
  readonly hold: { readonly most: number | null; readonly endings: { readonly [use in LockUse]?: string } }
  /** Removes the rows of a search, which ends in the lock of the use `remove`; absent if the engine locks no rows. */
  readonly removeFound?: (table: string, search: string) => string
  /** Builds a JSON array of values, as text. */
  readonly toArray: (values: readonly string[]) => string
  /** The version of a stored document, for `toArray`: some engines would print the bare number with fewer digits. */
  readonly storedVersion: string
  /** The value at a place of the column `document`, in parentheses; NULL if it is missing or of another type. */
  readonly value: (field: FieldRef) => string
  /** Whether a place has a value of a comparable type, in a form that an index can seek. */
  readonly hasValue: (field: FieldRef, type: ComparableType) => string
  /** Whether a place has an array, an object, or any value: never NULL. */
  readonly isPresent: (path: string, kind: PresentKind) => string
  /** Whether any element of the array at a place satisfies a condition on its typed value: never NULL. */
  readonly hasElement: (field: FieldRef, condition: (value: string) => string) => string
  /**
   * Whether a text at a place, or an element there, contains a match; `undefined` if the engine cannot express the
   * same pattern.
   */
  readonly match: (text: string, pattern: Pattern, bind: Bind, field: FieldRef) => string | undefined
  /**
   * Whether a value is one of several of one type. They are one parameter, so their number does not change the
   * statement.
   */
  readonly isOneOf: (value: string, values: readonly Scalar[], bind: Bind) => string
  /** One key of an order in which missing values are first ascending, last descending. */
  readonly order: (field: FieldRef, descending: boolean) => string
  /**
   * The most texts of 1,024 bytes in an index entry, the most fields of an entry, and how a unique index digests
   * larger values. `null` for no limit.
   */
  readonly entries: {
    readonly texts: number
    readonly fields: number
    readonly digest: (value: string) => string
  } | null
  /**
   * The last key of a unique index that reads use too: the `_id` of a document that lacks one of the fields, and a
   * constant text for all others, whose values differ. So the index has the order of the fields and `_id`. Absent if
   * reads use a separate index.
   */
  readonly idOfLacking?: (fields: readonly FieldRef[]) => string
  /**
   * The statements that create a table with one entry per document and distinct element of the one field with `each`,
   * fill it, and keep it up to date with every write.
   */
  readonly elements: (index: ElementsIndex) => readonly string[]
  /**
   * Writes a filter so that tables of elements answer parts of it; `undefined` if they answer none. The condition
   * does not see new content of rows for which a statement waits.
   */
  readonly seek?: (
    collection: string,
    filter: Filter,
    bind: Bind,
    options: CompileOptions,
  ) => SoughtFilter | undefined
  readonly limit: (skip: number, limit: number | null, bind: Bind) => string
}

/** The table that records structures; no collection has a name that begins like this. */
export const STRUCTURES = '_structures'

/** A statement with its values. */
export interface Statement {
  readonly text: string
  readonly values: readonly Value[]
}

/** Quotes a name as in the SQL standard, which both engines follow. */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
