import { describe, expect, test } from 'vitest'
import {
  and,
  everything,
  type FieldRef,
  type Filter,
  ID,
  not,
  or,
  type Scalar,
} from '../../../src/filter/filter.js'
import { isOrderIndexed, splitAlternatives, splitRanges, useIndex } from '../../../src/filter/index-order.js'
import type { OrderKey } from '../../../src/filter/order.js'

const ref = (path: string, each = false): FieldRef => ({ path, type: 'string', each })
const [group, n, other] = [ref('group'), ref('n'), ref('other')]
const indexes = [
  { fields: [n] },
  { fields: [group, n] },
  { fields: [ref('third'), n] },
  { fields: [group, ref('last')] },
]

const is = (field: FieldRef, value: Scalar = 'x'): Filter => ({ kind: 'eq', field, value })
const isMissing = (field: FieldRef): Filter => not({ kind: 'present', field })
const up = (...fields: readonly FieldRef[]): readonly OrderKey[] =>
  fields.map((field) => ({ field, descending: false }))
const down = (...fields: readonly FieldRef[]): readonly OrderKey[] =>
  fields.map((field) => ({ field, descending: true }))

type Case = readonly [what: string, filter: Filter, sort: readonly OrderKey[]]

const indexed: readonly Case[] = [
  ['by id', everything, up(ID)],
  ['by id, descending', is(other), down(ID)],
  ['by an index', everything, up(n, ID)],
  ['by two fields', everything, down(group, n, ID)],
  ['behind an equality', is(group), up(n, ID)],
  ['behind all fields', and([is(group), is(n)]), up(ID)],
  ['by what an equality fixes', is(other), up(other, n, ID)],
  ['by what an equality fixes, in another direction', is(group), [...up(group), ...down(n, ID)]],
  ['of one document', is(ID), up(ID)],
  ['behind one of several values', or([is(group, 'a'), is(group, 'b')]), up(n, ID)],
  ['by several values, then behind each', or([is(group, 'a'), is(group, 'b')]), up(group, n, ID)],
  [
    'by several values, then behind each, backwards',
    or([is(group, 'a'), is(group, 'b')]),
    down(group, n, ID),
  ],
  ['behind either of two equalities', or([is(group), is(ref('third'))]), up(n, ID)],
  ['of missing values, among the others', isMissing(group), up(group, n, ID)],
]

const sorted: readonly Case[] = [
  ['by a field without an index', everything, up(other, ID)],
  ['by the first of two fields', everything, up(group, ID)],
  ['by the second of two fields, then the first', everything, up(n, group, ID)],
  ['in both directions', everything, [...up(n), ...down(ID)]],
  ['behind one of several values', or([is(group, 'a'), is(group, 'b')]), up(n, other, ID)],
  ['behind each of several values, then by them', or([is(group, 'a'), is(group, 'b')]), up(n, group, ID)],
  [
    'by several values, and backwards behind each',
    or([is(group, 'a'), is(group, 'b')]),
    [...up(group), ...down(n, ID)],
  ],
  [
    'behind one of too many values',
    or(Array.from({ length: 65 }, (_, i) => is(group, `${i}`))),
    up(ref('last'), ID),
  ],
  ['behind either of two equalities, one without an index', or([is(group), is(other)]), up(n, other, ID)],
  ['behind missing values', isMissing(other), up(other, n, ID)],
  ['behind an element', is(ref('group', true)), up(other, n, ID)],
  ['behind a value of another type', is(other, 5), up(other, n, ID)],
]

describe('an index gives an order', () => {
  test.each(indexed)('%s', (_, filter, sort) => expect(isOrderIndexed(indexes, filter, sort)).toBe(true))
})

describe('no index gives an order', () => {
  test.each(sorted)('%s', (_, filter, sort) => expect(isOrderIndexed(indexes, filter, sort)).toBe(false))
})

describe('a part of an index', () => {
  const columns = [group, n, ID]
  const [above, atLeast, below, present] = (['gt', 'gte', 'lt', 'present'] as const).map(
    (kind): Filter => (kind === 'present' ? { kind, field: n } : { kind, field: n, value: 'x' }),
  ) as [Filter, Filter, Filter, Filter]

  test('is bounded by the first condition of each side', () => {
    const use = useIndex(columns, [present, is(group), atLeast, above, below], [])
    expect(use).toEqual({ fixing: [is(group)], lower: atLeast, upper: below, order: [], rangeOrder: [] })
  })

  test('begins where values are present', () => {
    const use = useIndex(columns, [isMissing(group), present], down(n, ID))
    expect(use).toEqual({
      fixing: [isMissing(group)],
      lower: present,
      upper: undefined,
      order: down(n, ID),
      rangeOrder: down(n, ID),
    })
  })

  test('of several values has no order behind them', () => {
    const few = or([is(group, 'a'), is(group, 'b')])
    expect(useIndex(columns, [few], up(n, ID))).toMatchObject({ fixing: [few], order: undefined })
    expect(useIndex(columns, [few, is(ID)], up(ID))).toMatchObject({ fixing: [few], order: [] })
  })

  test('is that of an equality, wherever it is asked for', () => {
    const few = or([is(group, 'a'), is(group, 'b')])
    expect(useIndex(columns, [few, is(group, 'a')], up(n, ID))).toMatchObject({
      fixing: [is(group, 'a')],
      order: up(n, ID),
    })
  })

  test('is a range for each of several values, all in the order behind them', () => {
    const few = or([is(group, 'a'), is(group, 'b')])
    const use = useIndex(columns, [few, atLeast], up(group, n, ID))
    expect(use).toMatchObject({ order: undefined, rangeOrder: up(n, ID) })
    expect(splitRanges(use)).toEqual(
      ['a', 'b'].map((value) => ({ ...use, fixing: [is(group, value)], order: up(n, ID) })),
    )
    expect(splitRanges(use, 1)).toBe(undefined)
  })

  test('is one range for a value that a list has twice', () =>
    expect(splitRanges(useIndex(columns, [or([is(group), is(group)])], up(n, ID)))).toHaveLength(1))
})

describe('alternatives', () => {
  test('are all conditions each, in their places', () => {
    const [a, b, mine] = [is(group, 'a'), is(group, 'b'), and([is(n), is(ref('third'))])]
    expect(splitAlternatives([is(other), or([a, mine, b]), is(ID)])).toEqual([
      [
        { all: [is(other), or([a, b]), is(ID)], own: [or([a, b])] },
        { all: [is(other), is(n), is(ref('third')), is(ID)], own: [is(n), is(ref('third'))] },
      ],
    ])
  })

  test.each([everything, is(group), or([is(group, 'a'), is(group, 'b')])])('are absent in %j', (filter) =>
    expect(splitAlternatives([filter])).toEqual([]),
  )
})
