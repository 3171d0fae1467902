import { type ComparisonKind, type FieldRef, type Filter, not, or, type Scalar } from '../filter/filter.js'
import type { Pattern } from '../filter/pattern/syntax/pattern.js'
import type { OperatorName } from '../types.js'

/** The types of operands, in stored form. `null` represents a missing value. */
interface Operands {
  readonly scalar: Scalar | null
  readonly ordered: Scalar
  readonly list: readonly (Scalar | null)[]
  readonly pattern: Pattern
  readonly flag: boolean
}

interface OperatorOn<K extends keyof Operands> {
  readonly operand: K
  /**
   * The meaning of a repeated operator: `any` (one value must match), `all` (every value must match) or
   * `refused` (an error).
   */
  readonly repeated: 'any' | 'all' | 'refused'
  readonly toFilter: (field: FieldRef, operand: Operands[K]) => Filter
}

/** The kind of operand and the meaning of an operator (CONTRACT.md §3.3). */
export type Operator = { readonly [K in keyof Operands]: OperatorOn<K> }[keyof Operands]

const equals = (field: FieldRef, value: Scalar | null): Filter =>
  value === null ? not({ kind: 'present', field }) : { kind: 'eq', field, value }

const equalsAny = (field: FieldRef, values: readonly (Scalar | null)[]): Filter =>
  or(values.map((value) => equals(field, value)))

const compares = (kind: ComparisonKind): OperatorOn<'ordered'> => ({
  operand: 'ordered',
  repeated: 'refused',
  toFilter: (field, value) => ({ kind, field, value }),
})

const OPERATORS = {
  $eq: { operand: 'scalar', repeated: 'any', toFilter: equals },
  $ne: { operand: 'scalar', repeated: 'all', toFilter: (field, value) => not(equals(field, value)) },
  $gt: compares('gt'),
  $gte: compares('gte'),
  $lt: compares('lt'),
  $lte: compares('lte'),
  $in: { operand: 'list', repeated: 'refused', toFilter: equalsAny },
  $nin: { operand: 'list', repeated: 'refused', toFilter: (field, values) => not(equalsAny(field, values)) },
  $regex: {
    operand: 'pattern',
    repeated: 'any',
    toFilter: (field, pattern) => ({ kind: 'match', field, pattern }),
  },
  $exists: {
    operand: 'flag',
    repeated: 'refused',
    toFilter: (field, isThere) => (isThere ? { kind: 'present', field } : not({ kind: 'present', field })),
  },
} satisfies { readonly [name in OperatorName]: Operator }

/** The names of all operators. */
export const OPERATOR_NAMES: readonly string[] = Object.keys(OPERATORS)

/** The options of the `$regex` on the same field. They are not a condition by themselves. */
export const OPTIONS = '$options'

/** The operator with whole filters, of which at least one must match. */
export const OR = '$or'

/** Whether this is the name of an operator. */
export const isOperator = (name: string): name is OperatorName => Object.hasOwn(OPERATORS, name)

/** Returns the operator with a name. */
export const operatorOf = (name: OperatorName): Operator => OPERATORS[name]

/** Whether this is the name of an operator with this kind of operand. */
export const takes = (name: string, operand: keyof Operands): boolean =>
  isOperator(name) && OPERATORS[name].operand === operand
