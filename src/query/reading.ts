import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import type { Filter, Leaf } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'

/** The fields of a collection as one caller sees them: what a query may name, and what of it hides where. */
export interface Readable {
  /** The field at a path, if some grant of the caller shows it. */
  find(path: string): Field | undefined
  /** Whether every grant of the caller shows it. */
  isShownAlways(field: Field): boolean
  /** The condition, false where the caller may not read its field. */
  guard(leaf: Leaf): Filter
  /** Reads the patterns of a query. */
  readonly parsePattern: ParsePattern
  /** For suggestions. */
  readonly paths: readonly string[]
}

/** What the parameters of a query are read with. A fault is noted, and what comes behind it is read all the same. */
export interface Reading {
  readonly readable: Readable
  readonly faults: readonly Fault[]
  /** The field that a parameter names. */
  find(parameter: string, path: string): Field | undefined
  /** What `compile` makes of a parameter, or `fallback` where it throws a `ConditionFault`. */
  attempt<T>(parameter: string, fallback: T, compile: () => T): T
}
