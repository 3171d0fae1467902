import type { Scalar } from '../../../../core/filter/filter.js'

/** Represents a list in the domain of a variable. The elements of the list are found separately. */
export interface ListMark {
  /** The type of the elements; `null` for the empty list. */
  readonly of: 'string' | 'number' | 'boolean' | null
  /** Whether the list must have at least one element. */
  readonly hasElement: boolean
}

/** Represents a value whose content no condition examines. `sample` is an example of such a value. */
export interface Opaque {
  readonly sample: unknown
}

/** A possible value of a variable; `undefined` means that the value is missing. */
export type Value = Scalar | ListMark | Opaque | undefined

/** An input of the decision: a field of the document, of the body or of the caller, or the time. */
export interface Variable {
  readonly key: string
  /** The values that conditions distinguish. The most natural value comes first. */
  readonly values: readonly Value[]
  /** The possible elements of a list in this variable. */
  readonly elements: readonly Scalar[]
  /** Whether a list in this variable must have at least one element. Default: false. */
  readonly hasElement?: boolean | undefined
  /** The key of the object around the value; `null` if there is none. A missing object makes the value missing too. */
  readonly parent: string | null
  /** Whether the value always exists if the object around it exists. Default: false. */
  readonly fills?: boolean
}

export const isList = (value: Value): value is ListMark => typeof value === 'object' && 'of' in value

export const isOpaque = (value: Value): value is Opaque => typeof value === 'object' && 'sample' in value

/** Returns a value if it can be compared; `undefined` for all other values. */
export const scalarOf = (value: Value): Scalar | undefined => (typeof value === 'object' ? undefined : value)

/**
 * An elementary condition.
 * - `test`: on the value of one variable.
 * - `compare`: on the values of two variables.
 * - `some`: on the elements of a list; true if one passes the test.
 * - `some of`: as `some`, but the test also gets the value of a second variable.
 * - `overlap`: true if two lists have a common element.
 * - `same`: true if a list equals a second list, or a fixed one.
 */
export type Atom =
  | { readonly kind: 'test'; readonly on: string; readonly test: (value: Value) => boolean }
  | {
      readonly kind: 'compare'
      readonly on: string
      readonly other: string
      readonly test: (value: Value, other: Value) => boolean
    }
  | { readonly kind: 'some'; readonly on: string; readonly test: (element: Scalar) => boolean }
  | {
      readonly kind: 'some of'
      readonly on: string
      readonly other: string
      readonly test: (element: Scalar, other: Scalar) => boolean
    }
  | {
      readonly kind: 'overlap'
      readonly on: string
      readonly other: string
      /** Converts an element of the list `other` before it is compared. */
      readonly read: (other: Scalar) => Scalar
    }
  | { readonly kind: 'same'; readonly on: string; readonly other: string | readonly Scalar[] }

/** A value for each variable, and the elements of each list. */
export interface Model {
  readonly values: ReadonlyMap<string, Value>
  readonly lists: ReadonlyMap<string, readonly Scalar[]>
}

/** The variables of a search, by key. */
export type Variables = ReadonlyMap<string, Variable>

/** Returns the keys of an atom's variables. */
export const keysOf = (atom: Atom): readonly string[] =>
  'other' in atom && typeof atom.other === 'string' ? [atom.on, atom.other] : [atom.on]
