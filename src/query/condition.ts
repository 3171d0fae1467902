import { and, type FieldRef, type Filter, not, or, type Scalar } from '../filter/filter.js'
import { PatternFault, parsePattern } from '../filter/pattern/parse-pattern.js'
import { isStorableNumber, isStorableText } from '../json/domain.js'
import { type Field, traitsOf } from '../schema/field.js'
import { suggest } from '../schema/names.js'
import { normalise } from '../schema/normalise.js'
import { parseTimestamp } from '../schema/timestamp.js'

/** Why something is no condition on a field. The message is for whoever wrote the condition. */
export class ConditionFault extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** What an operator takes and how repeating it in a query string joins its values (CONTRACT.md §3.3). */
interface Operator {
  readonly operand: 'scalar' | 'ordered' | 'list' | 'pattern' | 'flag'
  /** Repeated: `any` value is enough, `all` must hold, or it may not be repeated. */
  readonly repeated: 'any' | 'all' | 'refused'
}

const OPERATORS = {
  $eq: { operand: 'scalar', repeated: 'any' },
  $ne: { operand: 'scalar', repeated: 'all' },
  $gt: { operand: 'ordered', repeated: 'refused' },
  $gte: { operand: 'ordered', repeated: 'refused' },
  $lt: { operand: 'ordered', repeated: 'refused' },
  $lte: { operand: 'ordered', repeated: 'refused' },
  $in: { operand: 'list', repeated: 'refused' },
  $nin: { operand: 'list', repeated: 'refused' },
  $regex: { operand: 'pattern', repeated: 'any' },
  $exists: { operand: 'flag', repeated: 'refused' },
} as const satisfies { readonly [name: string]: Operator }

export type OperatorName = keyof typeof OPERATORS

/** Modifies `$regex` on the same field; no condition of its own. */
export const OPTIONS = '$options'

/** Joins whole filters, of which one must hold. */
export const OR = '$or'

export const isOperator = (name: string): name is OperatorName => Object.hasOwn(OPERATORS, name)

export const operatorOf = (name: OperatorName): Operator => OPERATORS[name]

export const unknownOperator = (name: string): ConditionFault =>
  new ConditionFault(
    'unknown_operator',
    `there is no operator ${JSON.stringify(name.slice(0, 32))}${suggest(name, [...Object.keys(OPERATORS), OPTIONS])}`,
  )

/** The field whose values a condition is about: an array's items, else the field itself. */
export const elementOf = (field: Field): Field => field.items ?? field

/** True where a condition may compare: a scalar, or an array of scalars. */
const isComparable = (field: Field): boolean => traitsOf(elementOf(field).type).isScalar

/**
 * Builds the filter of one condition from an operand that is already JSON (CONTRACT.md §3.2 to §3.4). Strings are
 * normalised as the field declares. Throws `ConditionFault` for an operand that the field or operator cannot take.
 */
export function buildCondition(
  field: Field,
  operator: OperatorName,
  operand: unknown,
  ignoreCase = false,
): Filter {
  const ref = refOf(field)
  if (operator !== '$exists' && !isComparable(field)) {
    throw new ConditionFault('wrong_operator', `a field of type ${field.type} takes only $exists`)
  }
  switch (operator) {
    case '$eq':
      return equals(ref, toScalar(field, operand))
    case '$ne':
      return not(equals(ref, toScalar(field, operand)))
    case '$in':
      return or(toList(field, operand).map((value) => equals(ref, value)))
    case '$nin':
      return not(or(toList(field, operand).map((value) => equals(ref, value))))
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte':
      return { kind: ORDERINGS[operator], field: ref, value: toBound(field, operand) }
    case '$regex':
      return { kind: 'match', field: ref, pattern: toPattern(field, operand, ignoreCase) }
    case '$exists':
      return toFlag(operand) ? { kind: 'present', field: ref } : not({ kind: 'present', field: ref })
    default:
      return operator satisfies never
  }
}

/** Joins the filters of a repeated operator. */
export const joinRepeated = (operator: OperatorName, filters: readonly Filter[]): Filter =>
  OPERATORS[operator].repeated === 'any' ? or(filters) : and(filters)

const ORDERINGS = { $gt: 'gt', $gte: 'gte', $lt: 'lt', $lte: 'lte' } as const

const equals = (field: FieldRef, value: Scalar | null): Filter =>
  value === null ? not({ kind: 'present', field }) : { kind: 'eq', field, value }

function refOf(field: Field): FieldRef {
  if (!field.ref) throw new ConditionFault('unknown_field', 'a hash is never compared')
  return field.ref
}

/** A scalar of the element's type in its stored form, or `null`. */
function toScalar(field: Field, operand: unknown): Scalar | null {
  if (operand === null) return null
  const element = elementOf(field)
  const { type } = element
  switch (typeof operand) {
    case 'string': {
      if (!traitsOf(type).holdsText) break
      if (!isStorableText(operand))
        throw new ConditionFault('invalid_text', 'must not contain NUL or a lone surrogate')
      if (type === 'timestamp' && parseTimestamp(operand) === undefined) {
        throw new ConditionFault('wrong_type', 'must be an RFC 3339 date-time or date')
      }
      return normalise(element, operand) as string
    }
    case 'number':
      if (type !== 'number' && type !== 'integer') break
      if (!isStorableNumber(operand)) {
        throw new ConditionFault('out_of_range', 'must be finite, and between ±(2^53−1) where it is whole')
      }
      if (type === 'integer' && !Number.isInteger(operand)) break
      return normalise(element, operand) as number
    case 'boolean':
      if (type === 'boolean') return operand
      break
    default:
      throw new ConditionFault(
        'wrong_type',
        'must be a single value: a string, a number, true, false or null',
      )
  }
  throw new ConditionFault('wrong_type', `the field holds ${type} values, never this ${typeof operand}`)
}

function toBound(field: Field, operand: unknown): Scalar {
  const { type } = elementOf(field)
  if (!traitsOf(type).isOrdered) throw new ConditionFault('wrong_operator', `${type} values are not ordered`)
  const value = toScalar(field, operand)
  if (value === null) throw new ConditionFault('wrong_type', 'null is neither above nor below anything')
  return value
}

function toList(field: Field, operand: unknown): readonly (Scalar | null)[] {
  if (!Array.isArray(operand)) throw new ConditionFault('wrong_type', 'must be an array of single values')
  return operand.map((element) => toScalar(field, element))
}

function toPattern(field: Field, operand: unknown, ignoreCase: boolean) {
  if (!traitsOf(elementOf(field).type).holdsText) {
    throw new ConditionFault('wrong_operator', 'patterns apply to fields that hold strings')
  }
  if (typeof operand !== 'string') throw new ConditionFault('wrong_type', 'must be a pattern, as a string')
  try {
    return parsePattern(operand, { ignoreCase })
  } catch (thrown) {
    if (thrown instanceof PatternFault)
      throw new ConditionFault('invalid_pattern', `the pattern ${thrown.message}`)
    throw thrown
  }
}

function toFlag(operand: unknown): boolean {
  if (typeof operand !== 'boolean') throw new ConditionFault('wrong_type', 'must be true or false')
  return operand
}
