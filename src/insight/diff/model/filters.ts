import type { Filter, Leaf, Scalar } from '../../../filter/filter.js'
import { compileFilter } from '../../../filter/matches.js'
import { isObject } from '../../../json/own-properties.js'
import type { JsonObject } from '../../../types.js'
import { ALWAYS, type Diagram, NEVER } from '../solver/diagrams.js'
import type { Logic } from '../solver/logic.js'
import { isList, isOpaque, type Value } from '../solver/variable.js'
import { type Cases, overCases, type Sources } from './sources.js'

/** Holds if a filter without variables is met. A filter over one single value is one test. */
export function filterHolds(logic: Logic, filter: Filter, sources: Sources): Diagram {
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

/** Holds if a leaf is met; a leaf over elements is an atom about them. */
export function leafHolds(logic: Logic, leaf: Leaf, sources: Sources): Diagram {
  const { path, each } = leaf.field
  const holds = testOf(leaf, path)
  if (!each || leaf.kind === 'present') return passes(logic, sources(path), holds)
  return overCases(logic, sources(path), (source) =>
    source.kind === 'fixed'
      ? toDiagram(holds(source.value))
      : logic.atom({ kind: 'some', on: source.key, test: testElementOf(leaf) }),
  )
}

/** Holds if a value passes a test, whichever its source. */
const passes = (logic: Logic, cases: Cases, holds: TestValue): Diagram =>
  overCases(logic, cases, (source) =>
    source.kind === 'fixed'
      ? toDiagram(holds(source.value))
      : logic.test(source.key, (value) => holds(plainOf(value))),
  )

/** A known answer as a diagram. */
export const toDiagram = (holds: boolean): Diagram => (holds ? ALWAYS : NEVER)

/** Tests the value at the one path of a filter. */
type TestValue = (value: unknown) => boolean

const tests = new WeakMap<Filter, TestValue>()

/** The results of a filter for single values, cached: the same values come again and again. */
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

/** The result of a leaf for a list with one element. */
function testElementOf(leaf: Leaf): (element: Scalar) => boolean {
  const known = elementTests.get(leaf)
  if (known) return known
  const one: Leaf = { ...leaf, field: { ...leaf.field, each: false } }
  const test = testOf(one, leaf.field.path)
  elementTests.set(leaf, test)
  return test
}

const onlyPaths = new WeakMap<Filter, string | null>()

/** The one path of a filter, if its values are single ones; else `null`. */
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

/** All leaves of a filter. */
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

/** A value as a document would hold it. */
export function plainOf(value: Value): unknown {
  if (isList(value)) return []
  if (isOpaque(value)) return value.sample ?? undefined
  return value
}

/** A document with one value. */
export function documentWith(path: string, value: unknown): JsonObject {
  if (value === undefined) return {}
  const names = path.split('.')
  let inner: unknown = value
  for (const name of names.reverse()) inner = { [name]: inner }
  return isObject(inner) ? inner : {}
}
