import { ANY_WAY, type Demand, joinWays, type Ways } from '../claims/query/demands.js'
import { compileFields } from '../fields/compile-fields.js'
import type { Field } from '../fields/field-type.js'
import { suggest } from '../fields/schema/names.js'
import { and, everything, type Filter, isEverything, nothing, or } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import { isObject } from '../json/own-properties.js'
import type { ConfigReport } from '../json/report.js'
import type { JsonObject, OperatorName } from '../types.js'
import {
  buildCondition,
  ConditionFault,
  elementOf,
  isOperator,
  OPERATORS,
  OPTIONS,
  takes,
  unknownOperator,
} from './condition.js'
import {
  type Binding,
  bindValue,
  claimIn,
  findVariables,
  isVariable,
  type JudgeVariable,
  NOW,
} from './variable.js'

/** Receives the variables of a condition that is false for every document. */
type OnLack = (variables: readonly string[]) => void

/** A filter in the configuration: fixed, or bound to the caller and the time in each request. */
export type Where =
  | { readonly kind: 'fixed'; readonly filter: Filter; readonly ways: Ways }
  | {
      readonly kind: 'bound'
      /** All variables on which the filter depends. */
      readonly variables: readonly string[]
      /**
       * Returns the filter for one request. Calls `onLack` with the variables of each condition that is false because
       * the caller lacks a value, or because a claim is cut off.
       */
      readonly bind: (binding: Binding, onLack?: OnLack) => Filter
      readonly ways: Ways
      /** The compiled parts, for an analysis without a caller. */
      readonly parts: BoundParts
    }

/** The parts of a filter that contains variables: filters combined by `and` or `or`, or one condition. */
export type BoundParts =
  | { readonly kind: 'and' | 'or'; readonly wheres: readonly Where[] }
  | {
      readonly kind: 'condition'
      readonly field: Field
      readonly operator: OperatorName
      readonly operand: unknown
    }

/** The filter of a rule that has no `where`. */
export const ANYWHERE: Where = { kind: 'fixed', filter: everything, ways: ANY_WAY }

/** Whether a `where` matches every document. */
export const isAnywhere = (where: Where): boolean => where.kind === 'fixed' && isEverything(where.filter)

/** Returns the filter of a `where` for one caller and time. */
export const bindWhere = (where: Where, binding: Binding, onLack?: OnLack): Filter =>
  where.kind === 'fixed' ? where.filter : where.bind(binding, onLack)

/** Combines two `where`s: both must match. */
export const narrowWhere = (where: Where, other: Where): Where => join([other, where], 'and')

/** The fields, variables and claims that a `where` can name. */
export interface WhereScope {
  readonly paths: ReadonlyMap<string, Field>
  readonly judgeVariable: JudgeVariable
  readonly claims: { has(name: string): boolean }
  readonly parsePattern: ParsePattern
  /** Whether the type of the values at a path is unknown, because the definition of the field has a fault. */
  readonly isUnsure: (path: string) => boolean
}

/** Parses a filter in the JSON form of the query language (CONTRACT.md §5). */
export function parseWhere(where: JsonObject, scope: WhereScope, report: ConfigReport): Where {
  const parts = Object.entries(where).map(([name, condition]) => {
    const place = report.at(name)
    if (name === '$or' || name === '$and') return parseGroups(name, condition, scope, place)
    const field = scope.paths.get(name)
    const isUnsure = scope.isUnsure(name)
    if (!field && !isUnsure) {
      const known = [...scope.paths.keys()]
      place.fault(`is not a field of this collection${suggest(name, known)}`)
    }
    return parseField(field && !isUnsure ? [field] : STAND_INS, condition, scope, place)
  })
  return join(parts, 'and')
}

const COMBINE = { and, or }

/** Combines several `where`s. The result is fixed if all of them are fixed. */
function join(parts: readonly Where[], by: 'and' | 'or'): Where {
  const combine = COMBINE[by]
  const fixed = parts.flatMap((part) => (part.kind === 'fixed' ? [part.filter] : []))
  const ways = joinWays(
    parts.map((part) => part.ways),
    by,
  )
  if (fixed.length === parts.length) return { kind: 'fixed', filter: combine(fixed), ways }
  return {
    kind: 'bound',
    variables: parts.flatMap((part) => (part.kind === 'bound' ? part.variables : [])),
    bind: (binding, onLack) => combine(parts.map((part) => bindWhere(part, binding, onLack))),
    ways,
    parts: { kind: by, wheres: parts },
  }
}

function parseGroups(name: '$or' | '$and', groups: unknown, scope: WhereScope, report: ConfigReport): Where {
  if (!Array.isArray(groups) || groups.length === 0) {
    report.fault('must be an array of at least one filter')
    return ANYWHERE
  }
  const parts = Array.from(groups, (group: unknown, i) => {
    if (isObject(group)) return parseWhere(group, scope, report.at(i))
    // The check of the configuration's shape reports `undefined`.
    if (group === undefined) return ANYWHERE
    report.at(i).fault('must be a filter')
    return ANYWHERE
  })
  return join(parts, name === '$or' ? 'or' : 'and')
}

/**
 * Fields that replace a field of unknown type. A condition that none of them accepts is wrong for every type.
 */
const STAND_INS: readonly Field[] = compileFields({
  string: { type: 'string' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
})

/** Parses the conditions on one field. `fields` contains the field, or `STAND_INS` if its type is unknown. */
function parseField(
  fields: readonly Field[],
  condition: unknown,
  scope: WhereScope,
  report: ConfigReport,
): Where {
  if (!isObject(condition))
    return parseCondition(fields, { operator: '$eq', operand: condition }, scope, report)
  const options = condition[OPTIONS]
  const hasPattern = Object.keys(condition).some((operator) => takes(operator, 'pattern'))
  if (options !== undefined && !(hasPattern && options === 'i')) {
    report.at(OPTIONS).fault('must be "i", and is only allowed together with $regex')
  }
  const operators = Object.entries(condition).filter(([operator]) => operator !== OPTIONS)
  if (operators.length === 0) report.fault('must contain an operator, such as "$gt"')
  const parts = operators.map(([operator, operand]) =>
    parseCondition(fields, { operator, operand, ignoreCase: options === 'i' }, scope, report.at(operator)),
  )
  return join(parts, 'and')
}

interface OperatorCondition {
  readonly operator: string
  readonly operand: unknown
  readonly ignoreCase?: boolean
}

/** Returns the ways of one condition. */
function waysOf(
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

function parseCondition(
  fields: readonly Field[],
  { operator, operand, ignoreCase }: OperatorCondition,
  scope: WhereScope,
  report: ConfigReport,
): Where {
  const messages = isOperator(operator)
    ? judgeCondition(fields, operator, operand, scope.judgeVariable)
    : [unknownOperator(operator).message]
  for (const message of messages) report.fault(message)
  const [field] = fields
  if (messages.length > 0 || !field || fields.length > 1 || !isOperator(operator)) return ANYWHERE
  const variables = variablesOf(operator, operand)
  const ways = waysOf(field, operator, operand, (variable) => claimIn(scope.claims, variable) !== undefined)
  if (variables.length === 0) {
    const filter = buildCondition(field, operator, operand, { ignoreCase, parse: scope.parsePattern })
    return { kind: 'fixed', filter, ways }
  }
  const bind = (binding: Binding, onLack?: OnLack): Filter => {
    const filter = bindCondition(field, operator, operand, binding)
    if (!filter) onLack?.(variables)
    return filter ?? nothing
  }
  return { kind: 'bound', variables, bind, ways, parts: { kind: 'condition', field, operator, operand } }
}

const isList = (operator: OperatorName): boolean => takes(operator, 'list')

/** Returns the variables in an operand. A pattern has none, because its dollars mean the end of the text. */
const variablesOf = (operator: OperatorName, operand: unknown): readonly string[] =>
  takes(operator, 'pattern') ? [] : findVariables(operand)

/** Returns every error in a condition: in its variables, and in the elements of its list. */
function judgeCondition(
  fields: readonly Field[],
  operator: OperatorName,
  operand: unknown,
  judgeVariable: JudgeVariable,
): readonly string[] {
  const form = isList(operator) && !Array.isArray(operand) ? 'list' : 'single'
  const elements = fields.map(elementOf).filter(({ fieldType }) => fieldType.isScalar)
  const ofVariables = variablesOf(operator, operand).flatMap(
    (variable) => judgeVariable(variable, form, elements) ?? [],
  )
  const parts: readonly unknown[] =
    isList(operator) && Array.isArray(operand) && operand.length > 0
      ? operand.map((part) => [part])
      : [operand]
  const ofParts = parts.flatMap((part) => {
    const faults = fields.map((field) => findFault(() => tryCondition(field, operator, part)))
    const [first] = faults
    return first !== undefined && !faults.includes(undefined) ? [first] : []
  })
  return [...new Set([...ofVariables, ...ofParts])]
}

function findFault(attempt: () => void): string | undefined {
  try {
    attempt()
    return undefined
  } catch (thrown) {
    if (thrown instanceof ConditionFault) return thrown.message
    throw thrown
  }
}

/** Throws if the field cannot accept an operand for any caller, which is an error in the configuration. */
function tryCondition(field: Field, operator: OperatorName, operand: unknown): void {
  if (variablesOf(operator, operand).length === 0) {
    buildCondition(field, operator, operand)
    return
  }
  const value: unknown = isList(operator) && Array.isArray(operand) ? operand[0] : operand
  if (typeof value !== 'string') throw new ConditionFault('wrong_type', 'must be a single value')
  buildCondition(field, '$in', [])
  // The operators for order need a type that has an order, even if the operand is a variable.
  const { operand: kind } = OPERATORS[operator]
  if (kind === 'flag') throw new ConditionFault('wrong_type', 'must be true or false')
  if (kind === 'ordered' && !elementOf(field).fieldType.isOrdered) buildCondition(field, operator, true)
}

/**
 * Builds the filter of a condition for one caller; `undefined` if a variable has no value, or one that does
 * not fit.
 */
function bindCondition(
  field: Field,
  operator: OperatorName,
  operand: unknown,
  binding: Binding,
): Filter | undefined {
  // An incomplete claim can prove that a value is in the claim, but not that a value is missing from it.
  const bound = bindValue(operand, binding, operator === '$in' ? 'some' : 'all')
  if (bound === undefined) return undefined
  try {
    return buildCondition(field, operator, bound.value)
  } catch (thrown) {
    if (thrown instanceof ConditionFault) return undefined
    throw thrown
  }
}
