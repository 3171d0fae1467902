import type { Filter, Leaf, Scalar } from '../../../filter/filter.js'
import { compileFilter } from '../../../filter/matches.js'
import { isObject } from '../../../json/own-properties.js'
import type { JsonObject } from '../../../types.js'
import type { Ask } from '../solver/explore.js'
import { isList, isOpaque, type Value } from '../solver/variable.js'
import type { Sources } from './sources.js'

/** Whether a filter without variables holds. What asks for one single value is one atom. */
export function filterHolds(ask: Ask, filter: Filter, sources: Sources): boolean {
  const path = onlyPathOf(filter)
  if (typeof path === 'string') {
    const source = sources(path)
    const holds = testOf(filter, path)
    if (source.kind === 'fixed') return holds(source.value)
    return ask({ kind: 'test', on: source.key, test: (value) => holds(plainOf(value)) })
  }
  switch (filter.kind) {
    case 'and':
      return filter.filters.every((part) => filterHolds(ask, part, sources))
    case 'or':
      return filter.filters.some((part) => filterHolds(ask, part, sources))
    case 'not':
      return !filterHolds(ask, filter.filter, sources)
    case 'present':
    case 'match':
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return leafHolds(ask, filter, sources)
    default:
      return filter satisfies never
  }
}

/** Whether a leaf holds; one that looks at elements is an atom about them. */
export function leafHolds(ask: Ask, leaf: Leaf, sources: Sources): boolean {
  const { path, each } = leaf.field
  const source = sources(path)
  const holds = testOf(leaf, path)
  if (source.kind === 'fixed') return holds(source.value)
  if (!each || leaf.kind === 'present')
    return ask({ kind: 'test', on: source.key, test: (value) => holds(plainOf(value)) })
  const ofElement = testElementOf(leaf)
  return ask({ kind: 'some', on: source.key, test: ofElement })
}

/** Tests a value at the one path that a filter asks for. */
type TestValue = (value: unknown) => boolean

const tests = new WeakMap<Filter, TestValue>()

/** What a filter says of single values, remembered: the same ones are asked for again and again. */
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

/** What a leaf says of a list that has one element. */
function testElementOf(leaf: Leaf): (element: Scalar) => boolean {
  const known = elementTests.get(leaf)
  if (known) return known
  const one: Leaf = { ...leaf, field: { ...leaf.field, each: false } }
  const test = testOf(one, leaf.field.path)
  elementTests.set(leaf, test)
  return test
}

const onlyPaths = new WeakMap<Filter, string | null>()

/** The one path that a filter asks for, where its values are single ones; else `null`. */
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
