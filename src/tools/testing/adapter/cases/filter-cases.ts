import {
  type ComparisonKind,
  everything,
  type FieldRef,
  type Filter,
  nothing,
  type Scalar,
} from '../../../../core/filter/filter.js'
import type { StorageAdapter } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { allOf, anyOf, eq, fieldOf, ID, insertAll, notOf, planOf, present } from '../check/documents.js'
import { edgeDocuments } from '../check/edge-documents.js'
import { operandsOf, scalars, scalarTypes, valueTypes } from '../check/edge-values.js'
import { checkFound } from '../check/plain-array.js'
import { withAdapter } from '../check/with-adapter.js'

const KINDS = Object.keys({ eq: 1, lt: 1, lte: 1, gt: 1, gte: 1 } satisfies {
  readonly [kind in ComparisonKind]: 1
}) as readonly ComparisonKind[]

/** Checks the matches of a filter and of its negation. */
async function checkFilter(adapter: StorageAdapter, filter: Filter): Promise<void> {
  await checkFound(adapter, 'edges', edgeDocuments, filter)
  await checkFound(adapter, 'edges', edgeDocuments, notOf(filter))
}

/** Creates a case that runs filters on the documents with edge values. The field `indexed` has an index. */
const filterCase = (name: string, indexed: FieldRef, filters: readonly Filter[]): AdapterCase => ({
  name,
  run: (storage) =>
    withAdapter(storage, [planOf('edges', [false, indexed])], async (adapter) => {
      await insertAll(adapter, 'edges', edgeDocuments)
      for (const filter of filters) await checkFilter(adapter, filter)
    }),
})

const comparisons = scalarTypes.flatMap((type) =>
  KINDS.flatMap((kind) => {
    // An equality with a value of another type is allowed. It is always false.
    const operands: readonly Scalar[] = kind === 'eq' ? scalars : operandsOf(type)
    const at = (...fields: readonly FieldRef[]): readonly Filter[] => compareEach(kind, fields, operands)
    const indexed = fieldOf('v', type)
    return [
      filterCase(`filter: ${kind} on ${type}`, indexed, at(indexed, fieldOf('a.b', type))),
      filterCase(
        `filter: ${kind} on any element of ${type}`,
        indexed,
        at(fieldOf('l', type, true), fieldOf('a.l', type, true)),
      ),
      filterCase(
        `filter: ${kind} inside any element on ${type}`,
        indexed,
        at({ ...fieldOf('m', type, true), inside: 'x' }, { ...fieldOf('m', type, true), inside: 'o.y' }),
      ),
    ]
  }),
)

const presences = valueTypes.map((type) => {
  const places = ['v', 'a', 'l', 'a.b', 'a.l', 'a.b.b', 'x', 'x.y', 'v.x']
  const plain = places.map((path): Filter => present(fieldOf(path, type)))
  const each = places.map((path): Filter => present(fieldOf(path, type, true)))
  const isScalar = scalarTypes.some((scalar) => scalar === type)
  return filterCase(`filter: present on ${type}`, fieldOf('v', isScalar ? type : 'string'), [
    ...plain,
    ...each,
  ])
})

const V = fieldOf('v', 'string')
const N = fieldOf('a.b', 'number')
const isA = eq(V, 'a')
const isOne = eq(N, 1)
const isMissing: Filter = notOf(present(V))

/** Wraps a filter in this many `not`s. */
const negate = (filter: Filter, times: number): Filter =>
  times === 0 ? filter : negate(notOf(filter), times - 1)

const TREES: readonly Filter[] = [
  everything,
  nothing,
  allOf(isA),
  anyOf(isA),
  allOf(isA, everything),
  allOf(isA, nothing),
  anyOf(isA, nothing),
  anyOf(isA, everything),
  allOf(anyOf(isA, isOne, isMissing), notOf(isA)),
  allOf(isA, eq(V, 'b')),
  allOf(isA, isA),
  anyOf(eq(V, 'a'), eq(V, 'A'), eq(V, 'a'), eq(V, 1)),
  anyOf(notOf(isA), notOf(isOne)),
  allOf({ kind: 'gte', field: V, value: 'a' }, { kind: 'lt', field: V, value: 'b' }),
  allOf({ kind: 'gt', field: V, value: 'b' }, { kind: 'lt', field: V, value: 'a' }),
  allOf({ kind: 'gt', field: V, value: 'A' }, { kind: 'gt', field: V, value: 'a' }),
  allOf(isMissing, { kind: 'lt', field: N, value: 10 }),
  // Each condition on an array is evaluated separately, so two different elements may satisfy the two conditions.
  allOf(
    { kind: 'gt', field: fieldOf('l', 'number', true), value: 1 },
    { kind: 'lt', field: fieldOf('l', 'number', true), value: 1 },
  ),
  negate(isA, 31),
  negate(anyOf(negate(isA, 1), negate(isOne, 3), negate(isMissing, 2)), 3),
  { kind: 'or', filters: scalars.map((value) => eq(V, value)) },
  { kind: 'and', filters: scalars.map((value) => negate(eq(V, value), 1)) },
  { kind: 'or', filters: edgeDocuments.map(({ _id }) => eq(ID, _id)) },
]

/**
 * The number of values in a long list. It exceeds the number of parameters that a PostgreSQL statement can have,
 * because callers may send lists of any length.
 */
const MANY = 70_000
const manyOf = (field: FieldRef): Filter => ({
  kind: 'or',
  filters: Array.from({ length: MANY }, (_, i) => eq(field, i === MANY / 2 ? 'a' : `value ${i}`)),
})

const ids = edgeDocuments.filter((_, i) => i % 9 === 0).map(({ _id }) => _id)
const byId = [...ids, 'no such id', '', "'"].flatMap((value) =>
  KINDS.map((kind): Filter => ({ kind, field: ID, value })),
)

/** Cases for the meaning of every operator with every type, value and path. */
export const filterCases: readonly AdapterCase[] = [
  ...comparisons,
  ...presences,
  filterCase('filter: and, or, not', V, TREES),
  filterCase('filter: one of many values', V, [manyOf(V), manyOf(fieldOf('l', 'string', true))]),
  filterCase('filter: _id', V, [...byId, eq(ID, 1), present(ID)]),
]

/** Returns a comparison of each field with each value. */
function compareEach(
  kind: (typeof KINDS)[number],
  fields: readonly FieldRef[],
  values: readonly Scalar[],
): readonly Filter[] {
  return values.flatMap((value) => fields.map((field): Filter => ({ kind, field, value })))
}
