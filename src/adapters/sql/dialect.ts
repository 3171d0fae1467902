import type { ComparableType, FieldRef, Scalar } from '../../filter/filter.js'
import type { Pattern } from '../../filter/pattern/syntax/pattern.js'

/** What a parameter of a statement holds; a list only where a dialect binds one. */
export type Value = Scalar | readonly Scalar[]

/** Adds a value to the parameters of a statement and returns how the statement names it. */
export type Bind = (value: Value) => string

/** What stands at a place, as JSON tells it. */
export type PresentKind = 'array' | 'object' | 'any'

/** What engines write differently. Names and values are always quoted or bound, never pasted. */
export interface SqlDialect {
  /** How a statement names the parameter at a place, counted from 1, for a value. */
  readonly parameter: (place: number, value: Value) => string
  /** The table of a collection. */
  readonly table: (collection: string) => string
  /** The type of the column `_id`, given a name for its constraint, and that of `document`. */
  readonly columns: { readonly id: (constraint: string) => string; readonly document: string }
  /** Where structures are written down, and the column that orders them as they were created. */
  readonly structures: { readonly table: string; readonly order: string }
  /** How a statement asks for a document as JSON text. */
  readonly documentText: string
  /** A parameter that holds JSON text, as the column `document` has it. */
  readonly toDocument: (text: string) => string
  /** How rows are kept from being removed until the transaction is over: `most` in one SELECT, and what that ends in. */
  readonly hold: { readonly most: number; readonly ending: string }
  /** The value at a place of the column `document`, in parentheses; NULL where it is missing or of another type than declared. */
  readonly value: (field: FieldRef) => string
  /** Whether there is a value of a type that can be compared, so that an index can seek. */
  readonly hasValue: (field: FieldRef, type: ComparableType) => string
  /** Whether there is an array, an object, or anything at a place: never NULL. */
  readonly isPresent: (path: string, kind: PresentKind) => string
  /** Whether any element of the array at a place satisfies a condition on its typed value: never NULL. */
  readonly hasElement: (field: FieldRef, condition: (value: string) => string) => string
  /** Whether a text contains a match; `undefined` where the engine cannot say it identically. */
  readonly match: (text: string, pattern: Pattern, bind: Bind) => string | undefined
  /** Whether a value is one of several of one type, which are one parameter: however many, it is one statement. */
  readonly isOneOf: (value: string, values: readonly Scalar[], bind: Bind) => string
  /** One key of an order in which missing values come first ascending, last descending. */
  readonly order: (field: FieldRef, descending: boolean) => string
  /** Where an index holds no more than so many texts of 1,024 bytes: how it holds more, in a unique one. */
  readonly manyTexts: { readonly max: number; readonly digest: (value: string) => string } | null
  readonly limit: (skip: number, limit: number | null, bind: Bind) => string
}

/** Where it is written down which structures there are; no collection has a name that begins like this. */
export const STRUCTURES = '_structures'

/** A statement with the values that it names. */
export interface Statement {
  readonly text: string
  readonly values: readonly Value[]
}

/** Quotes a name as the SQL standard says, which both engines follow. */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
