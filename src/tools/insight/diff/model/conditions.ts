import type { Field } from '../../../../core/fields/field-type.js'
import { normalise } from '../../../../core/fields/schema/normalise.js'
import { compare, holdsType } from '../../../../core/filter/compare.js'
import type { FieldRef, Filter, Leaf, Scalar } from '../../../../core/filter/filter.js'
import { compileFilter } from '../../../../core/filter/matches.js'
import { isObject } from '../../../../core/json/own-properties.js'
import { buildCondition, ConditionFault, elementOf } from '../../../../core/query/condition.js'
import { operatorOf } from '../../../../core/query/operators.js'
import { isVariable } from '../../../../core/query/variable.js'
import type { BoundParts, Where } from '../../../../core/query/where.js'
import type { JsonObject, OperatorName } from '../../../../core/types.js'
import { ALWAYS, type Diagram, type Logic, NEVER } from '../solver/logic.js'
import { isList, isOpaque, type Value } from '../solver/variable.js'
import {
  always,
  type Cases,
  overCases,
  type Source,
  type Sources,
  sourceOfVariable,
  type VariableSource,
} from './sources.js'
import { createVerdicts } from './verdicts.js'

/** Returns the condition under which a document matches a filter that has no variables. */
function filterHolds(logic: Logic, filter: Filter, sources: Sources): Diagram {
  const path = onlyPathOf(filter)
  if (typeof path === 'string') return passes(logic, sources(path), testOf(filter, path))
  switch (filter.kind) {
    case 'and':
      return logic.and(...filter.filters.map((part) => filterHolds(logic, part, sources)))
    case 'or':
      return logic.or(...filter.filters.map((part) => filterHolds(logic, part, sources)))
    case 'not':
      return logic.not(filterHolds(logic, filter.filter, sources))
    case 'present':
    case 'match':
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return leafHolds(logic, filter, sources)
    default:
      return filter satisfies never
  }
}

/** Returns the condition under which a leaf of a filter is true. A leaf on the elements of a list becomes an atom. */
function leafHolds(logic: Logic, leaf: Leaf, sources: Sources): Diagram {
  const { path, each } = leaf.field
  const holds = testOf(leaf, path)
  if (!each || leaf.kind === 'present') return passes(logic, sources(path), holds)
  return overCases(logic, sources(path), (source) =>
    source.kind === 'fixed'
      ? toDiagram(holds(source.value))
      : logic.atom({ kind: 'some', on: source.key, test: testElementOf(leaf) }),
  )
}

/** Returns the condition under which a value passes a test. `cases` are the possible sources of the value. */
const passes = (logic: Logic, cases: Cases, holds: TestValue): Diagram =>
  overCases(logic, cases, (source) =>
    source.kind === 'fixed'
      ? toDiagram(holds(source.value))
      : logic.test(source.key, (value) => holds(plainOf(value))),
  )

/** Converts a known result to a diagram. */
export const toDiagram = (holds: boolean): Diagram => (holds ? ALWAYS : NEVER)

/** Tests the value at the only path of a filter. */
type TestValue = (value: unknown) => boolean

const tests = new WeakMap<Filter, TestValue>()

/** Returns a test of a filter on a single value. Caches the results, because the same values are tested often. */
function testOf(filter: Filter, path: string): TestValue {
  const known = tests.get(filter)
  if (known) return known
  const holds = compileFilter(filter)
  const verdicts = new Map<unknown, boolean>()
  const test: TestValue = (value) => {
    const verdict = verdicts.get(value) ?? holds(documentWith(path, value))
    if (typeof value !== 'object') verdicts.set(value, verdict)
    return verdict
  }
  tests.set(filter, test)
  return test
}

const elementTests = new WeakMap<Filter, (element: Scalar) => boolean>()

/** Returns a test of whether an element of a list meets a leaf. */
function testElementOf(leaf: Leaf): (element: Scalar) => boolean {
  const known = elementTests.get(leaf)
  if (known) return known
  const one: Leaf = { ...leaf, field: { ...leaf.field, each: false } }
  const test = testOf(one, leaf.field.path)
  elementTests.set(leaf, test)
  return test
}

const onlyPaths = new WeakMap<Filter, string | null>()

/** Returns the path of a filter if it has only one path and tests only single values; otherwise `null`. */
function onlyPathOf(filter: Filter): string | null {
  const known = onlyPaths.get(filter)
  if (known !== undefined) return known
  const paths = new Set(
    leavesOf(filter).map(({ field, kind }) => (field.each && kind !== 'present' ? null : field.path)),
  )
  const [path] = paths
  const only = paths.size === 1 && typeof path === 'string' ? path : null
  onlyPaths.set(filter, only)
  return only
}

/** Returns all leaves of a filter. */
export function leavesOf(filter: Filter): readonly Leaf[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.filters.flatMap(leavesOf)
    case 'not':
      return leavesOf(filter.filter)
    case 'present':
    case 'match':
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return [filter]
    default:
      return filter satisfies never
  }
}

/** Converts a value to its form in a document. A list loses its elements. */
function plainOf(value: Value): unknown {
  if (isList(value)) return []
  if (isOpaque(value)) return value.sample ?? undefined
  return value
}

/** Creates a document that contains one value. */
export function documentWith(path: string, value: unknown): JsonObject {
  if (value === undefined) return {}
  const names = path.split('.')
  let inner: unknown = value
  for (const name of names.reverse()) inner = { [name]: inner }
  return isObject(inner) ? inner : {}
}

/** Returns the condition under which a document whose values have these sources meets a `where` or a `check`. */
export function whereHolds(logic: Logic, where: Where, sources: Sources): Diagram {
  if (where.kind === 'fixed') return filterHolds(logic, where.filter, sources)
  return partsHold(logic, where.parts, sources)
}

function partsHold(logic: Logic, parts: BoundParts, sources: Sources): Diagram {
  switch (parts.kind) {
    case 'and':
      return logic.and(...parts.wheres.map((where) => whereHolds(logic, where, sources)))
    case 'or':
      return logic.or(...parts.wheres.map((where) => whereHolds(logic, where, sources)))
    case 'condition':
      return conditionHolds(logic, parts, sources)
    default:
      return parts satisfies never
  }
}

type ConditionPart = Extract<BoundParts, { readonly kind: 'condition' }>

/**
 * Returns the condition under which a comparison with a value of the caller, or with the time, is true. The comparison
 * is false if that value has the wrong type for the field.
 */
function conditionHolds(
  logic: Logic,
  { field, operator, operand }: ConditionPart,
  sources: Sources,
): Diagram {
  const { ref } = field
  if (!ref) return NEVER
  const isList = operatorOf(operator).operand === 'list'
  const others = findOthers(operand)
  const fitting = logic.and(
    ...others.map((other) => fits(logic, field, isList && Array.isArray(operand) ? '$eq' : operator, other)),
  )
  if (fitting === NEVER || (!isList && others.length === 0)) return NEVER
  const isNegated = operator === '$ne' || operator === '$nin'
  const holds = overCases(logic, sources(ref.path), (source) => {
    const compared = { field, ref, source }
    if (!isList) {
      const [other] = others
      const kind = operator === '$ne' ? 'eq' : KINDS[operator]
      return kind === undefined || !other ? NEVER : comparisonHolds(logic, compared, kind, other)
    }
    if (!Array.isArray(operand)) return logic.or(...others.map((list) => isInList(logic, compared, list)))
    const written = operand.filter((one) => !isVariable(one))
    return logic.or(
      written.length > 0
        ? filterHolds(logic, buildCondition(field, '$in', written), () => always(source))
        : NEVER,
      ...others.map((other) => comparisonHolds(logic, compared, 'eq', other)),
    )
  })
  return logic.and(fitting, isNegated ? logic.not(holds) : holds)
}

/** Returns the sources of the variables in an operand. */
const findOthers = (operand: unknown): readonly VariableSource[] =>
  [operand].flat().filter(isVariable).map(sourceOfVariable)

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

interface ComparedField {
  readonly field: Field
  readonly ref: FieldRef
  readonly source: Source
}

/** Returns the condition under which a caller's value has a type that the field and the operator accept. */
const fits = (logic: Logic, field: Field, operator: OperatorName, { key }: VariableSource): Diagram =>
  logic.test(key, (value) => canTake(field, operator, formOf(value)))

/** Returns one value that represents all values of the same type. */
export const formOf = (value: Value): unknown => {
  if (isList(value)) return value.of === null ? [] : [SAMPLES[value.of]]
  return isOpaque(value) ? value.sample : value
}

const SAMPLES = { string: '2026-01-01T00:00:00.000Z', number: 1, boolean: true } as const

/** Cached, because validation errors are expensive to create. */
const remember = createVerdicts<Field>()

const canTake = (field: Field, operator: OperatorName, value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  remember(field, operator + JSON.stringify(value), () => tryCondition(field, operator, value))

function tryCondition(field: Field, operator: OperatorName, value: unknown): boolean {
  try {
    buildCondition(field, operator, value)
    return true
  } catch (thrown) {
    if (thrown instanceof ConditionFault) return false
    throw thrown
  }
}

/** Returns how a field normalises a caller's value to compare it. Fields that normalise alike have the same `name`. */
function howOf(field: Field): { readonly read: (value: Scalar) => Scalar; readonly name: string } {
  const element = elementOf(field)
  const read = (value: Scalar): Scalar => normalise(element, value) as Scalar
  return { read, name: JSON.stringify(element.definition) }
}

/** Returns the condition under which the value of a field is in a list of the caller. */
function isInList(logic: Logic, { field, ref, source }: ComparedField, list: VariableSource): Diagram {
  const { read, name } = howOf(field)
  if (source.kind === 'fixed') {
    const values = [source.value].flat()
    return logic.atom({ kind: 'some', on: list.key, test: (element) => values.includes(read(element)) })
  }
  if (ref.each) return logic.atom({ kind: 'overlap', on: source.key, other: list.key, read }, name)
  const test = (element: Scalar, value: Scalar): boolean => read(element) === value
  return logic.atom({ kind: 'some of', on: list.key, other: source.key, test }, `is ${name}`)
}

function comparisonHolds(
  logic: Logic,
  { field, ref, source }: ComparedField,
  kind: 'eq' | 'lt' | 'lte' | 'gt' | 'gte',
  other: VariableSource,
): Diagram {
  const { read, name: how } = howOf(field)
  const holds = holdsType(ref.type)
  const isMet = MEETS[kind]
  const test = (value: unknown, bound: Value): boolean =>
    typeof bound === typeof value && holds(value) && isMet(compare(value as Scalar, read(bound as Scalar)))
  if (source.kind === 'fixed') {
    const values = [source.value].flat()
    return logic.test(other.key, (bound) => values.some((value) => test(value, bound)))
  }
  const name = `${kind} ${how}`
  if (ref.each) return logic.atom({ kind: 'some of', on: source.key, other: other.key, test }, name)
  const testPlain = (value: Value, bound: Value): boolean => test(plainOf(value), bound)
  return logic.atom({ kind: 'compare', on: source.key, other: other.key, test: testPlain }, name)
}
