import type { Field } from '../../fields/field-type.js'

/** The requirement that a filter of the configuration sets on one field. */
export interface Demand {
  readonly path: string
  /** Whether the field is an array. The condition is then true if at least one element meets it. */
  readonly isList: boolean
  /**
   * The required value. `value`: one fixed value; `caller`: one value of the caller; `values`: one of a list; `claim`:
   * one of a claim's values; `present`: any value; `other`: all other conditions.
   */
  readonly kind: 'value' | 'caller' | 'values' | 'claim' | 'present' | 'other'
  /** The operator and the operand as they are written in the configuration. */
  readonly operator: string
  readonly operand: unknown
  /** The variable, if the condition compares with one. */
  readonly variable?: string
  /** The only values that the field may have, if the configuration lists them. */
  readonly literals?: readonly unknown[]
}

/**
 * The alternative ways in which a document can match a filter. Each way is a list of requirements that the document
 * meets together. If there are more than 64 ways, the result is one way without requirements. Only warnings and
 * findings use this.
 */
export type Ways = readonly (readonly Demand[])[]

/** The result if everything matches, or if the analysis does not know which documents match. */
export const ANY_WAY: Ways = [[]]

/** The maximum number of ways that are analysed; if there are more, the result is `ANY_WAY`. */
const MAX_WAYS = 64

/** Returns the ways of a condition that requires that a field is present. */
export const presentWays = ({ path, items }: Field): Ways => [
  [{ path, isList: items !== null, kind: 'present', operator: '$exists', operand: true }],
]

/** Joins the ways of several filters by `and` or `or`. */
export function joinWays(all: readonly Ways[], by: 'and' | 'or'): Ways {
  let joined: Ways = by === 'or' ? all.flat() : ANY_WAY
  if (by === 'and') {
    for (const ways of all) {
      if (joined.length * ways.length > MAX_WAYS) return ANY_WAY
      joined = joined.flatMap((way) => ways.map((other) => [...way, ...other]))
    }
  }
  return joined.length > MAX_WAYS ? ANY_WAY : joined
}
