import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import type { FieldRef, Filter } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'

/** The names that a caller may read in some document of a collection. */
export interface ReadableNames {
  /** The field at a path, if some grant of the caller shows it. */
  find(path: string): Field | undefined
  /** All readable paths, for suggestions. */
  paths(): readonly string[]
}

/** The fields of a collection as one caller sees them. */
export interface Readable extends ReadableNames {
  /** A cache key of the members below: equal keys mean equal answers. Absent if there is none. */
  readonly key?: number
  /** Whether every grant of the caller shows a field. */
  isShownAlways(field: Field): boolean
  /** Makes a condition false if the caller may not read its field. The condition must be false for a missing value. */
  guard(filter: Filter, field: FieldRef): Filter
  /** Reads the patterns of a query. */
  readonly parsePattern: ParsePattern
}

/** Reads the parameters of a query. It reports an error and continues with the next parameter. */
export interface QueryReading {
  readonly readable: Readable
  readonly faults: Fault[]
  /** The field that a parameter names. */
  find(parameter: string, path: string): Field | undefined
  /** The operands that replace an operand of a condition on a field. */
  spellings(field: Field): (operand: unknown) => readonly unknown[]
  /** The result of `compile`, or `fallback` if it throws a `ConditionFault`. */
  attempt<T>(parameter: string, fallback: T, compile: () => T): T
}
