import type { Field } from '../../../fields/field-type.js'
import { compare, holdsType } from '../../../filter/compare.js'
import type { FieldRef, Scalar } from '../../../filter/filter.js'
import { buildCondition, ConditionFault } from '../../../query/condition.js'
import { operatorOf } from '../../../query/operators.js'
import { isVariable } from '../../../query/variable.js'
import type { BoundParts, Where } from '../../../query/where.js'
import type { OperatorName } from '../../../types.js'
import type { Ask } from '../solver/explore.js'
import { isList, isOpaque, type Value } from '../solver/variable.js'
import { filterHolds, leafHolds, plainOf } from './filters.js'
import { type Source, type Sources, sourceOfVariable } from './sources.js'

/** Whether a condition holds for a document of which only the sources of its values are known. */
export function whereHolds(ask: Ask, where: Where, sources: Sources): boolean {
  if (where.kind === 'fixed') return filterHolds(ask, where.filter, sources)
  return partsHold(ask, where.parts, sources)
}

function partsHold(ask: Ask, parts: BoundParts, sources: Sources): boolean {
  switch (parts.kind) {
    case 'and':
      return parts.wheres.every((where) => whereHolds(ask, where, sources))
    case 'or':
      return parts.wheres.some((where) => whereHolds(ask, where, sources))
    case 'condition':
      return conditionHolds(ask, parts, sources)
    default:
      return parts satisfies never
  }
}

type Condition = Extract<BoundParts, { readonly kind: 'condition' }>

/** A condition that names what a caller has, or the time: false wherever that does not fit. */
function conditionHolds(ask: Ask, { field, operator, operand }: Condition, sources: Sources): boolean {
  const { ref } = field
  if (!ref) return false
  const source = sources(ref.path)
  const { operand: form } = operatorOf(operator)
  if (form === 'list') {
    const isIn = Array.isArray(operand)
      ? isAmong(ask, { field, ref, source }, operand)
      : isVariable(operand) && isInList(ask, { field, ref, source }, sourceOfVariable(operand))
    return isIn !== undefined && (operator === '$nin' ? !isIn : isIn)
  }
  if (!isVariable(operand)) return false
  const other = sourceOfVariable(operand)
  if (!fits(ask, field, operator, other)) return false
  const kind = operator === '$ne' ? 'eq' : KINDS[operator]
  const holds = kind !== undefined && comparisonHolds(ask, { ref, source }, kind, other)
  return operator === '$ne' ? !holds : holds
}

const KINDS: { readonly [operator in OperatorName]?: 'eq' | 'lt' | 'lte' | 'gt' | 'gte' } = {
  $eq: 'eq',
  $gt: 'gt',
  $gte: 'gte',
  $lt: 'lt',
  $lte: 'lte',
}

const MEETS = {
  eq: (order: number) => order === 0,
  lt: (order: number) => order < 0,
  lte: (order: number) => order <= 0,
  gt: (order: number) => order > 0,
  gte: (order: number) => order >= 0,
} as const

interface Compared {
  readonly ref: FieldRef
  readonly source: Source
}

/** Whether a value of the caller has a form that the field and the operator can take. */
function fits(ask: Ask, field: Field, operator: OperatorName, source: Source): boolean {
  if (source.kind === 'fixed') return canTake(field, operator, source.value)
  return ask({ kind: 'test', on: source.key, test: (value) => canTake(field, operator, formOf(value)) })
}

/** A value that stands for all of its form. */
const formOf = (value: Value): unknown => {
  if (isList(value)) return value.of === null ? [] : [SAMPLES[value.of]]
  return isOpaque(value) ? value.sample : value
}

const SAMPLES = { string: '2026-01-01T00:00:00.000Z', number: 1, boolean: true } as const

/** What was found before: a fault is dear to make. */
const taken = new WeakMap<Field, Map<string, boolean>>()

function canTake(field: Field, operator: OperatorName, value: unknown): boolean {
  if (value === undefined || value === null) return false
  const known = taken.get(field) ?? new Map<string, boolean>()
  taken.set(field, known)
  const key = operator + JSON.stringify(value)
  const decided = known.get(key) ?? tryCondition(field, operator, value)
  known.set(key, decided)
  return decided
}

function tryCondition(field: Field, operator: OperatorName, value: unknown): boolean {
  try {
    buildCondition(field, operator, value)
    return true
  } catch (thrown) {
    if (thrown instanceof ConditionFault) return false
    throw thrown
  }
}

/** Whether a value is among some that are written, some of them variables; `undefined` where one does not fit. */
function isAmong(
  ask: Ask,
  { field, ref, source }: Compared & { readonly field: Field },
  operands: readonly unknown[],
): boolean | undefined {
  const others = operands.map((operand) =>
    isVariable(operand) ? sourceOfVariable(operand) : ({ kind: 'fixed', value: operand } as const),
  )
  const variables = others.filter(({ kind }) => kind === 'variable')
  if (!variables.every((other) => fits(ask, field, '$eq', other))) return undefined
  const written = operands.filter((operand) => !isVariable(operand))
  if (written.length > 0 && filterHolds(ask, buildCondition(field, '$in', written), () => source)) return true
  return variables.some((other) => comparisonHolds(ask, { ref, source }, 'eq', other))
}

/** Whether a value is in a list of the caller; `undefined` where there is no such list. */
function isInList(
  ask: Ask,
  { field, ref, source }: Compared & { readonly field: Field },
  list: Source,
): boolean | undefined {
  if (list.kind === 'fixed' || !fits(ask, field, '$in', list)) return undefined
  if (source.kind === 'fixed') {
    const values = [source.value].flat()
    return values.some((value) => ask({ kind: 'some', on: list.key, test: (element) => element === value }))
  }
  if (ref.each) return ask({ kind: 'overlap', on: source.key, other: list.key })
  return ask({
    kind: 'some of',
    on: list.key,
    other: source.key,
    test: (element, value) => element === value,
  })
}

function comparisonHolds(
  ask: Ask,
  { ref, source }: Compared,
  kind: 'eq' | 'lt' | 'lte' | 'gt' | 'gte',
  other: Source,
): boolean {
  if (other.kind === 'fixed')
    return leafHolds(ask, { kind, field: ref, value: other.value as Scalar }, () => source)
  const holds = holdsType(ref.type)
  const isMet = MEETS[kind]
  const test = (value: unknown, bound: Value): boolean =>
    typeof bound === typeof value && holds(value) && isMet(compare(value as Scalar, bound as Scalar))
  if (source.kind === 'fixed') {
    const values = [source.value].flat()
    return ask({ kind: 'test', on: other.key, test: (bound) => values.some((value) => test(value, bound)) })
  }
  if (ref.each) return ask({ kind: 'some of', on: source.key, other: other.key, test })
  return ask({
    kind: 'compare',
    on: source.key,
    other: other.key,
    test: (value, bound) => test(plainOf(value), bound),
  })
}
