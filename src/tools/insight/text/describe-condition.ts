import { isObject } from '../../../core/json/own-properties.js'
import { isOperator, takes } from '../../../core/query/condition.js'
import { isVariable } from '../../../core/query/variable.js'
import { toPrintable } from '../../../core/start/printable.js'
import type { JsonObject, WhereConfig } from '../../../core/types.js'
import { SIGNS } from './signs.js'

/** A condition of the configuration in readable form. */
type ReadableCondition =
  | string
  | { readonly kind: 'and' | 'or'; readonly parts: readonly ReadableCondition[] }

/**
 * Describes a valid condition of the configuration on one line, such as `status = "published" and views ≥ 10`.
 * Variables have no quotation marks. Characters that move the cursor are escaped.
 */
export const describeCondition = (where: WhereConfig): string => print(readFilter(where))

/** Describes the names and values that a rule forces, on one line. */
export const describeForced = (set: JsonObject): string =>
  Object.entries(set)
    .map(([name, value]) => `${name} := ${describeValue(value)}`)
    .join(', ')

/** Describes a value of the configuration as JSON. Variables have no quotation marks. */
export function describeValue(value: unknown): string {
  if (isVariable(value) && PLAIN.test(value)) return value
  if (Array.isArray(value)) return `[${value.map(describeValue).join(', ')}]`
  if (!isObject(value)) return toPrintable(JSON.stringify(value))
  const members = Object.entries(value).map(([name, inner]) => `${quote(name)}: ${describeValue(inner)}`)
  return members.length > 0 ? `{ ${members.join(', ')} }` : '{}'
}

/** Variables that can be printed without quotation marks. The fields of a host's callers may have any name. */
const PLAIN = /^\$(?:now|user(?:\.\w+)+)$/

const quote = (text: string): string => toPrintable(JSON.stringify(text))

function readFilter(where: WhereConfig): ReadableCondition {
  const parts = Object.entries(where).flatMap(([name, condition]): readonly ReadableCondition[] => {
    if (name !== '$or' && name !== '$and') return readField(name, condition)
    const groups = Array.isArray(condition) ? condition.filter(isObject) : []
    return [join(name === '$or' ? 'or' : 'and', groups.map(readFilter))]
  })
  return join('and', parts)
}

/** Joins conditions without unnecessary brackets. */
function join(kind: 'and' | 'or', parts: readonly ReadableCondition[]): ReadableCondition {
  const flat = parts.flatMap((part) => (typeof part !== 'string' && part.kind === kind ? part.parts : [part]))
  const [first, ...others] = flat
  return first !== undefined && others.length === 0 ? first : { kind, parts: flat }
}

function print(reading: ReadableCondition): string {
  if (typeof reading === 'string') return reading
  if (reading.parts.length === 0) return 'anything'
  return reading.parts
    .map((part) => (typeof part === 'string' || part.parts.length === 0 ? print(part) : `(${print(part)})`))
    .join(` ${reading.kind} `)
}

function readField(path: string, condition: unknown): readonly string[] {
  if (!isObject(condition)) return [describeComparison(path, '$eq', condition)]
  const end = condition.$options === 'i' ? ' ignoring case' : ''
  return Object.entries(condition).flatMap(([operator, operand]) => {
    if (operator === '$options') return []
    const said = describeComparison(path, operator, operand)
    return [takes(operator, 'pattern') ? said + end : said]
  })
}

function describeComparison(path: string, operator: string, operand: unknown): string {
  const isAbsent = (operator === '$eq' && operand === null) || (operator === '$exists' && operand === false)
  if (isAbsent) return `${path} is missing`
  if (operator === '$exists' || (operator === '$ne' && operand === null)) return `${path} exists`
  // In a pattern, `$` means the end of the string, so `$user` is not a variable there.
  const value = takes(operator, 'pattern') ? quote(String(operand)) : describeValue(operand)
  return `${path} ${isOperator(operator) ? SIGNS[operator] : operator} ${value}`
}
