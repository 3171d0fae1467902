import type { Field } from '../../fields/field-type.js'
import { findVariables, isVariable, NOW } from '../../query/variable.js'

/** The comparison that a condition of the configuration makes on a field. */
export interface Demand {
  readonly path: string
  /** Whether the field is an array: then some element meets the condition. */
  readonly isList: boolean
  /**
   * `value`: one value; `caller`: one of the caller's own; `values`: one of a list; `claim`: one of a claim's;
   * `present`: any; `other`: everything else.
   */
  readonly kind: 'value' | 'caller' | 'values' | 'claim' | 'present' | 'other'
  /** The condition as it is written. */
  readonly operator: string
  readonly operand: unknown
  /** The variable, if the condition compares with one. */
  readonly variable?: string
  /** The only values that the field may have, if the configuration lists them. */
  readonly literals?: readonly unknown[]
}

/**
 * The ways in which a document can match: in each of them, it meets all of these. Beyond 64 ways the result is unknown:
 * one way without demands. Used only by warnings and findings.
 */
export type Ways = readonly (readonly Demand[])[]

/** Everything matches, or the analysis does not know which documents match. */
export const ANY_WAY: Ways = [[]]

/** Beyond this number, the result is `ANY_WAY`. */
const MAX_WAYS = 64

/** The ways of a condition that requires a field to be present. */
export const presentWays = ({ path, items }: Field): Ways => [
  [{ path, isList: items !== null, kind: 'present', operator: '$exists', operand: true }],
]

/** The ways of several filters, joined. */
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

/** The ways of one condition. */
export function waysOf(
  { path, items }: Field,
  operator: string,
  operand: unknown,
  isClaim: (variable: string) => boolean,
): Ways {
  const variable = isVariable(operand) ? { variable: operand } : {}
  const values = operator === '$eq' ? [operand] : operator === '$in' && Array.isArray(operand) ? operand : []
  const areLiterals = values.length > 0 && findVariables(values).length === 0
  const literals = areLiterals ? { literals: values } : {}
  const written = { operator, operand }
  const kind = kindOf(operator, operand, isClaim)
  return [[{ path, isList: items !== null, kind, ...written, ...variable, ...literals }]]
}

function kindOf(operator: string, operand: unknown, isClaim: (variable: string) => boolean): Demand['kind'] {
  if (operator === '$in') return isVariable(operand) && isClaim(operand) ? 'claim' : 'values'
  if (operator === '$exists' && operand === true) return 'present'
  if (operator !== '$eq' || operand === null) return 'other'
  return isVariable(operand) && operand !== NOW ? 'caller' : 'value'
}
