import type { Field } from '../fields/field-type.js'
import { suggest } from '../fields/schema/names.js'
import { type ComparisonKind, type FieldRef, type Filter, not, or, type Scalar } from '../filter/filter.js'
import { type ParsePattern, parsePattern } from '../filter/pattern/parse-pattern.js'
import type { Pattern } from '../filter/pattern/syntax/pattern.js'
import { PatternFault } from '../filter/pattern/syntax/read-syntax.js'
import { isUnderflow } from '../json/domain.js'
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

/** The operators by name. */
export const OPERATORS: { readonly [name in OperatorName]: Operator } = {
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
}

/** The names of all operators. */
export const OPERATOR_NAMES: readonly string[] = Object.keys(OPERATORS)

/** The options of the `$regex` on the same field. They are not a condition by themselves. */
export const OPTIONS = '$options'

/** The operator with whole filters, of which at least one must match. */
export const OR = '$or'

/** Whether this is the name of an operator. */
export const isOperator = (name: string): name is OperatorName => Object.hasOwn(OPERATORS, name)

/** Whether this is the name of an operator with this kind of operand. */
export const takes = (name: string, operand: keyof Operands): boolean =>
  isOperator(name) && OPERATORS[name].operand === operand

/** The reason why something is not a condition on a field. The message is for the author of the condition. */
export class ConditionFault extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Creates the error for an unknown operator. */
export const unknownOperator = (name: string): ConditionFault =>
  new ConditionFault(
    'unknown_operator',
    `there is no operator ${JSON.stringify(name.slice(0, 32))}${suggest(name, [...OPERATOR_NAMES, OPTIONS])}`,
  )

/** Returns the field whose values a condition compares: the items of an array, or else the field itself. */
export const elementOf = (field: Field): Field => field.items ?? field

/** How to parse a pattern. `parse` may use a cache. */
export interface PatternOptions {
  readonly ignoreCase?: boolean | undefined
  readonly parse?: ParsePattern
}

/**
 * Builds the filter of one condition from a JSON operand (CONTRACT.md §3.2 to §3.4). Strings are normalised
 * as the field declares. Throws `ConditionFault` for an operand that the field or the operator does not
 * accept.
 */
export function buildCondition(
  field: Field,
  name: OperatorName,
  operand: unknown,
  patterns: PatternOptions = {},
): Filter {
  const { ref } = field
  if (!ref) throw new ConditionFault('unknown_field', 'a hash cannot be used in a query')
  const operator = OPERATORS[name]
  switch (operator.operand) {
    case 'scalar':
      return operator.toFilter(ref, toScalar(field, operand))
    case 'ordered':
      return operator.toFilter(ref, toBound(field, operand))
    case 'list':
      return operator.toFilter(ref, toList(field, operand))
    case 'pattern':
      return operator.toFilter(ref, toPattern(field, operand, patterns))
    case 'flag':
      return operator.toFilter(ref, toFlag(operand))
    default:
      return operator satisfies never
  }
}

/** Returns the type of the values that a condition compares: the type of the field or of its elements. */
function scalarTypeOf(field: Field) {
  const { fieldType } = elementOf(field)
  if (fieldType.isScalar) return fieldType
  throw new ConditionFault('wrong_operator', `a field of type ${field.type} can only be tested with $exists`)
}

/** Converts an operand to the stored form of the element's type; `null` stays `null`. */
function toScalar(field: Field, operand: unknown): Scalar | null {
  const fieldType = scalarTypeOf(field)
  if (operand === null) return null
  if (typeof operand !== 'string' && typeof operand !== 'number' && typeof operand !== 'boolean') {
    throw new ConditionFault('wrong_type', 'must be a single value: a string, a number, true, false or null')
  }
  const element = elementOf(field)
  const fault = fieldType.judgeOperand(operand)
  if (fault === undefined) return element.normalise(operand) as Scalar
  if (fault !== 'type') throw new ConditionFault(...fault)
  throw new ConditionFault(
    'wrong_type',
    `the field contains ${element.type} values, but the given value is a ${typeof operand}`,
  )
}

function toBound(field: Field, operand: unknown): Scalar {
  if (!scalarTypeOf(field).isOrdered) {
    throw new ConditionFault('wrong_operator', `${elementOf(field).type} values have no order`)
  }
  const value = toScalar(field, operand)
  if (value === null)
    throw new ConditionFault('wrong_type', 'null has no order: use $exists to find missing values')
  return value
}

function toList(field: Field, operand: unknown): readonly (Scalar | null)[] {
  scalarTypeOf(field)
  if (!Array.isArray(operand)) throw new ConditionFault('wrong_type', 'must be an array of single values')
  return operand.map((element) => toScalar(field, element))
}

function toPattern(
  field: Field,
  operand: unknown,
  { ignoreCase = false, parse = parsePattern }: PatternOptions,
): Pattern {
  if (!scalarTypeOf(field).holdsText) {
    throw new ConditionFault('wrong_operator', 'patterns are only allowed on fields that contain strings')
  }
  if (typeof operand !== 'string') throw new ConditionFault('wrong_type', 'must be a pattern, as a string')
  try {
    return parse(operand, { ignoreCase })
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

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Whether a value of a list operator is a JSON array. Any other string is a single value. */
export const isArrayText = (text: string): boolean => text.startsWith('[')

/** Parses the values of an operator. All single values of a list form one operand. Throws `ConditionFault`. */
export const readOperands = (
  field: Field,
  operator: OperatorName,
  texts: readonly string[],
): readonly unknown[] =>
  OPERATORS[operator].operand === 'list' && !texts.some(isArrayText)
    ? [texts.map((text) => readScalar(field, text))]
    : texts.map((text) => readOperand(field, operator, text))

/**
 * Parses a value in a query (CONTRACT.md §3.1). A value that begins with `"`, `[` or `{` must be JSON. For
 * fields that contain strings, any other value except `null` is a string.
 */
function readOperand(field: Field, operator: OperatorName, text: string): unknown {
  const { operand } = OPERATORS[operator]
  switch (operand) {
    case 'flag':
      if (text !== 'true' && text !== 'false') throw new ConditionFault('wrong_type', 'must be true or false')
      return text === 'true'
    case 'list': {
      const list = readJson(text, 'must be an array in JSON, like ["a","b"]')
      if (Array.isArray(list) && list.includes(0)) refuseUnderflows(text)
      return list
    }
    case 'pattern':
      return text.startsWith('"') ? readJson(text) : text
    case 'scalar':
    case 'ordered':
      return readScalar(field, text)
    default:
      return operand satisfies never
  }
}

function readScalar(field: Field, text: string): unknown {
  if (/^["[{]/.test(text)) return readJson(text)
  if (text === 'null') return null
  if (elementOf(field).fieldType.holdsText) return text
  if (text === 'true' || text === 'false') return text === 'true'
  if (!JSON_NUMBER.test(text)) return text
  const value = Number(text)
  if (isUnderflow(text)) refuseUnderflow()
  return value
}

/** Rejects a number that is not zero but was read as zero, because the condition would compare with zero. */
function refuseUnderflow(): never {
  throw new ConditionFault('out_of_range', 'is too close to zero')
}

/** Applies `refuseUnderflow` to each number of a list. `text` is the JSON of the list. */
function refuseUnderflows(text: string): void {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/g, '')
  for (const [number] of bare.matchAll(/-?\d[\d.eE+-]*/g)) if (isUnderflow(number)) refuseUnderflow()
}

function readJson(text: string, otherwise = 'begins like JSON but is not valid JSON'): unknown {
  try {
    // `JSON.parse` would ignore whitespace around a value.
    if (text === text.trim()) return JSON.parse(text)
  } catch {}
  throw new ConditionFault('malformed', otherwise)
}
