import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import type { FieldRef, Filter } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'

/** The fields that a caller may read in at least one document of a collection. */
export interface ReadableNames {
  /** Returns the field at a path, if at least one grant of the caller shows it. */
  find(path: string): Field | undefined
  /** Returns all readable paths, for suggestions. */
  paths(): readonly string[]
}

/** The fields that a caller may read in the collections to which references lead. */
export interface Following {
  /** Returns the collection to which a field refers; `undefined` if the caller may not follow the field. */
  targetOf(field: Field): string | undefined
  /** Returns the fields that the caller may read in a collection; `null` if there are none. */
  readable(collection: string): ReadableNames | null
}

/** The fields of a collection that one caller may read. */
export interface Readable extends ReadableNames {
  /**
   * A cache key for the results of the members below: equal keys mean equal results. Missing if the results
   * cannot be cached.
   */
  readonly key?: number
  /** Whether every grant of the caller shows a field. */
  isShownAlways(field: Field): boolean
  /**
   * Makes a condition false for documents in which the caller may not read its field. The condition must
   * already be false for a missing value. Absent if the caller may read every field of every document.
   */
  readonly guard?: ((filter: Filter, field: FieldRef) => Filter) | undefined
  /** Parses the patterns of a query. */
  readonly parsePattern: ParsePattern
}

/** Reads the parameters of a query. Continues after a fault, so that all faults are reported. */
export interface QueryReading {
  readonly readable: Readable
  readonly following: Following
  readonly faults: Fault[]
  /** Returns the field that a parameter names. */
  find(parameter: string, path: string): Field | undefined
  /** Returns the result of `compile`, or `fallback` if `compile` throws a `ConditionFault`. */
  attempt<T>(parameter: string, fallback: T, compile: () => T): T
}
