import { and, everything, type Filter, isEverything, nothing, or } from '../filter/filter.js'
import { isObject } from '../filter/read-path.js'
import { type Field, traitsOf } from '../schema/field.js'
import { suggest, toPointerPart } from '../schema/names.js'
import type { JsonObject } from '../types.js'
import {
  buildCondition,
  ConditionFault,
  elementOf,
  isOperator,
  OPTIONS,
  type OperatorName,
  operatorOf,
  unknownOperator,
} from './condition.js'
import { type Binding, bindValue, findVariables, isVariable, type JudgeVariable, NOW } from './variable.js'

/** A filter of the configuration: fixed, or one that becomes a filter for a caller and a time. */
export type Where =
  | { readonly kind: 'fixed'; readonly filter: Filter }
  | { readonly kind: 'bound'; readonly bind: (binding: Binding) => Filter }

/** The `where` of a rule without one. */
export const ANYWHERE: Where = { kind: 'fixed', filter: everything }

export const isAnywhere = (where: Where): boolean => where.kind === 'fixed' && isEverything(where.filter)

/** The filter that a `where` is for a caller and a time. */
export const bindWhere = (where: Where, binding: Binding): Filter =>
  where.kind === 'fixed' ? where.filter : where.bind(binding)

/** What is wrong with a `where`, and at which place in it. */
export interface WhereFault {
  readonly path: string
  readonly message: string
}

/** What the names in a `where` are looked up in. */
export interface WhereScope {
  readonly paths: ReadonlyMap<string, Field>
  readonly judgeVariable: JudgeVariable
}

/** Parses a filter in the words of the query language as JSON (contract §5), adding what is wrong to `faults`. */
export function parseWhere(where: JsonObject, scope: WhereScope, at: string, faults: WhereFault[]): Where {
  const parts = Object.entries(where).map(([name, condition]) => {
    const place = at + toPointerPart(name)
    if (name === '$or' || name === '$and') return parseGroups(name, condition, scope, place, faults)
    const field = scope.paths.get(name)
    if (field) return parseField(field, condition, scope, place, faults)
    faults.push({
      path: place,
      message: `there is no such field to compare${suggest(name, [...scope.paths.keys()])}`,
    })
    return ANYWHERE
  })
  return join(parts, and)
}

/** One `where` of several: fixed if all of them are. */
function join(parts: readonly Where[], combine: (filters: readonly Filter[]) => Filter): Where {
  const fixed = parts.flatMap((part) => (part.kind === 'fixed' ? [part.filter] : []))
  if (fixed.length === parts.length) return { kind: 'fixed', filter: combine(fixed) }
  return { kind: 'bound', bind: (binding) => combine(parts.map((part) => bindWhere(part, binding))) }
}

function parseGroups(
  name: '$or' | '$and',
  groups: unknown,
  scope: WhereScope,
  at: string,
  faults: WhereFault[],
): Where {
  if (!Array.isArray(groups) || groups.length === 0 || !groups.every(isObject)) {
    faults.push({ path: at, message: 'must be an array of at least one filter' })
    return ANYWHERE
  }
  const parts = groups.map((group: JsonObject, i) => parseWhere(group, scope, at + toPointerPart(i), faults))
  return join(parts, name === '$or' ? or : and)
}

function parseField(
  field: Field,
  condition: unknown,
  scope: WhereScope,
  at: string,
  faults: WhereFault[],
): Where {
  if (!isObject(condition)) return parseCondition(field, '$eq', condition, false, scope, at, faults)
  const options = condition[OPTIONS]
  if (options !== undefined && (options !== 'i' || condition.$regex === undefined)) {
    faults.push({ path: at + toPointerPart(OPTIONS), message: 'must be "i", beside a $regex' })
  }
  const operators = Object.entries(condition).filter(([operator]) => operator !== OPTIONS)
  if (operators.length === 0) faults.push({ path: at, message: 'names no operator' })
  const parts = operators.map(([operator, operand]) =>
    parseCondition(field, operator, operand, options === 'i', scope, at + toPointerPart(operator), faults),
  )
  return join(parts, and)
}

function parseCondition(
  field: Field,
  operator: string,
  operand: unknown,
  ignoreCase: boolean,
  scope: WhereScope,
  at: string,
  faults: WhereFault[],
): Where {
  try {
    if (!isOperator(operator)) throw unknownOperator(operator)
    // A pattern is text: a dollar in it is the end of the text.
    const variables = operator === '$regex' ? [] : findVariables(operand)
    if (variables.length === 0) {
      return { kind: 'fixed', filter: buildCondition(field, operator, operand, ignoreCase) }
    }
    const form = isList(operator) && !Array.isArray(operand) ? 'list' : 'single'
    for (const variable of variables) {
      const reason = scope.judgeVariable(variable, form)
      if (reason !== undefined) throw new ConditionFault('unknown_field', reason)
    }
    checkWithSamples(field, operator, operand)
    return { kind: 'bound', bind: (binding) => bindCondition(field, operator, operand, binding) }
  } catch (thrown) {
    if (!(thrown instanceof ConditionFault)) throw thrown
    faults.push({ path: at, message: thrown.message })
    return ANYWHERE
  }
}

const isList = (operator: OperatorName): boolean => operatorOf(operator).operand === 'list'

/** What the field never takes is a fault of the configuration, whatever the caller holds. */
function checkWithSamples(field: Field, operator: OperatorName, operand: unknown): void {
  const elements = isVariable(operand) ? [] : isList(operator) && Array.isArray(operand) ? operand : undefined
  if (elements === undefined) throw new ConditionFault('wrong_type', 'must be a single value')
  const known = [operand, ...elements].flatMap((value) =>
    value === NOW ? [A_TIME] : isVariable(value) ? [] : [value],
  )
  buildCondition(field, '$in', isList(operator) ? known.filter((value) => value !== operand) : known)
  // What is not ordered is not ordered for anybody.
  const { operand: kind } = operatorOf(operator)
  if (kind === 'flag') throw new ConditionFault('wrong_type', 'must be true or false')
  if (kind === 'ordered' && !traitsOf(elementOf(field).type).isOrdered) buildCondition(field, operator, true)
}

const A_TIME = '2026-01-01T00:00:00.000Z'

/** A comparison with what the caller lacks, or holds in a form that the field cannot take, is false. */
function bindCondition(field: Field, operator: OperatorName, operand: unknown, binding: Binding): Filter {
  const bound = bindValue(operand, binding)
  if (bound === undefined) return nothing
  try {
    return buildCondition(field, operator, bound.value)
  } catch (thrown) {
    if (thrown instanceof ConditionFault) return nothing
    throw thrown
  }
}
