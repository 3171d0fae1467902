import type { Field } from '../../../../core/fields/field-type.js'
import { normalise } from '../../../../core/fields/schema/normalise.js'
import type { FieldRef, Filter, Leaf, Scalar } from '../../../../core/filter/filter.js'
import { compileFilter } from '../../../../core/filter/matches.js'
import { isObject, readOwn } from '../../../../core/json/own-properties.js'
import { buildCondition, ConditionFault, elementOf } from '../../../../core/query/condition.js'
import { isVariable } from '../../../../core/query/variable.js'
import type { BoundParts, Where } from '../../../../core/query/where.js'
import type { JsonObject, OperatorName } from '../../../../core/types.js'
import { ALWAYS, type Diagram, type Logic, NEVER } from '../solver/logic.js'
import { isList, isOpaque, scalarOf, type Value } from '../solver/variable.js'
import {
  always,
  type Cases,
  overCases,
  type Source,
  type Sources,
  sourceOfVariable,
  type VariableSource,
} from './sources.js'

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

const elementTests = new WeakMap<Filter, TestValue>()

/** Returns a test of whether an element of a list meets a leaf. */
function testElementOf(leaf: Leaf): TestValue {
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

/** Returns the paths of the fields that a condition names. */
export function pathsOf(where: Where): readonly string[] {
  if (where.kind === 'fixed') return leavesOf(where.filter).map(({ field }) => field.path)
  return where.parts.kind === 'condition' ? [where.parts.field.path] : where.parts.wheres.flatMap(pathsOf)
}

/** Converts a value to its form in a document. A list loses its elements. */
function plainOf(value: Value): unknown {
  if (isList(value)) return []
  if (isOpaque(value)) return value.sample ?? undefined
  return value
}

/** Creates a document that contains one value. */
export const documentWith = (path: string, value: unknown): JsonObject =>
  value === undefined ? {} : put({}, path.split('.'), value)

/** Returns an object with a value at a path. Values on the path that are no objects are replaced. */
export function put(target: unknown, [name = '', ...rest]: readonly string[], value: unknown): JsonObject {
  const object = isObject(target) ? target : {}
  return { ...object, [name]: rest.length === 0 ? value : put(readOwn(object, name), rest, value) }
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
  const others = [operand].flat().filter(isVariable).map(sourceOfVariable)
  if (!ref || others.length === 0) return NEVER
  const positive = POSITIVE[operator] ?? operator
  const isListed = Array.isArray(operand)
  // Each element of a list is compared by itself.
  const single = isListed ? '$eq' : operator
  const fits = others.map(({ key }) =>
    logic.test(key, (value) => conditionOf(field, single, formOf(value)) !== undefined),
  )
  const holds = overCases(logic, sources(ref.path), (source) => {
    const compared = { field, ref, source }
    if (!isListed)
      return logic.or(
        ...others.map((other) =>
          positive === '$in' ? isInList(logic, compared, other) : compares(logic, compared, positive, other),
        ),
      )
    const written = operand.filter((one) => !isVariable(one))
    const isWritten =
      written.length > 0
        ? filterHolds(logic, buildCondition(field, '$in', written), () => always(source))
        : NEVER
    return logic.or(isWritten, ...others.map((other) => compares(logic, compared, '$eq', other)))
  })
  return logic.and(...fits, positive === operator ? holds : logic.not(holds))
}

const POSITIVE: { readonly [operator in OperatorName]?: OperatorName } = { $ne: '$eq', $nin: '$in' }

/** Returns one value that represents all values of the same type. */
export const formOf = (value: Value): unknown => {
  if (isList(value)) return value.of === null ? [] : [SAMPLES[value.of]]
  return isOpaque(value) ? value.sample : value
}

const SAMPLES = { string: '2026-01-01T00:00:00.000Z', number: 1, boolean: true } as const

const conditions = new WeakMap<Field, Map<string, TestValue | undefined>>()

/**
 * Returns the condition of a comparison with an operand; `undefined` if the field or the operator does not accept it.
 * Caches the results, because validation errors are expensive to create.
 */
function conditionOf(field: Field, operator: OperatorName, operand: unknown): TestValue | undefined {
  const known = conditions.get(field) ?? new Map<string, TestValue | undefined>()
  conditions.set(field, known)
  const key = operator + JSON.stringify(operand)
  if (!known.has(key)) known.set(key, compileCondition(field, operator, operand))
  return known.get(key)
}

function compileCondition(field: Field, operator: OperatorName, operand: unknown): TestValue | undefined {
  if (operand === undefined || operand === null) return undefined
  try {
    const filter = buildCondition(field, operator, operand)
    return 'field' in filter ? testElementOf(filter) : () => false
  } catch (thrown) {
    if (thrown instanceof ConditionFault) return undefined
    throw thrown
  }
}

interface ComparedField {
  readonly field: Field
  readonly ref: FieldRef
  readonly source: Source
}

/** Fields with elements of the same definition are compared alike. */
const nameOf = (field: Field): string => JSON.stringify(elementOf(field).definition)

/** Returns the condition under which the value of a field is in a list of the caller. */
function isInList(logic: Logic, { field, ref, source }: ComparedField, list: VariableSource): Diagram {
  const test = (element: Scalar, value: unknown): boolean =>
    conditionOf(field, '$eq', element)?.(value) ?? false
  const on = list.key
  if (source.kind === 'fixed') {
    const values = [source.value].flat()
    return logic.atom({ kind: 'some', on, test: (element) => values.some((value) => test(element, value)) })
  }
  const { key } = source
  if (!ref.each) return logic.atom({ kind: 'some of', on, other: key, test }, `is ${nameOf(field)}`)
  const read = (value: Scalar): Scalar => normalise(elementOf(field), value) as Scalar
  return logic.atom({ kind: 'overlap', on: key, other: on, read }, nameOf(field))
}

/** Returns the condition under which a comparison of a field with a single value of the caller is true. */
function compares(
  logic: Logic,
  { field, ref, source }: ComparedField,
  operator: OperatorName,
  { key: other }: VariableSource,
): Diagram {
  const test = (value: unknown, bound: Value): boolean =>
    scalarOf(bound) !== undefined && conditionOf(field, operator, bound)?.(value) === true
  if (source.kind === 'fixed') {
    const values = [source.value].flat()
    return logic.test(other, (bound) => values.some((value) => test(value, bound)))
  }
  const { key: on } = source
  const name = `${operator} ${nameOf(field)}`
  if (ref.each) return logic.atom({ kind: 'some of', on, other, test }, name)
  const testPlain = (value: Value, bound: Value): boolean => test(plainOf(value), bound)
  return logic.atom({ kind: 'compare', on, other, test: testPlain }, name)
}
