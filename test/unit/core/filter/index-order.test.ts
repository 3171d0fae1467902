import { describe, expect, test } from 'vitest'
import type { OrderKey } from '../../../../src/core/filter/compare.js'
import {
  and,
  everything,
  type FieldRef,
  type Filter,
  ID,
  not,
  or,
  type Scalar,
} from '../../../../src/core/filter/filter.js'
import {
  isOrderIndexed,
  isRange,
  splitAlternatives,
  splitRanges,
  useIndex,
} from '../../../../src/core/filter/index-order.js'

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
    expect(use).toEqual({
      fixing: [is(group)],
      lower: atLeast,
      upper: below,
      order: [],
      rangeOrder: [],
      overlaps: false,
    })
  })

  test('begins where values are present', () => {
    const use = useIndex(columns, [isMissing(group), present], down(n, ID))
    expect(use).toEqual({
      fixing: [isMissing(group)],
      lower: present,
      upper: undefined,
      order: down(n, ID),
      rangeOrder: down(n, ID),
      overlaps: false,
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
    expect(use && splitRanges(use)).toEqual(
      ['a', 'b'].map((value) => ({ ...use, fixing: [is(group, value)], order: up(n, ID) })),
    )
    expect(use && splitRanges(use, 1)).toBe(undefined)
  })

  test('is one range for a value that a list has twice', () => {
    const use = useIndex(columns, [or([is(group), is(group)])], up(n, ID))
    expect(use && splitRanges(use)).toHaveLength(1)
  })
})

describe('an index of array elements', () => {
  const [tag, inside] = [ref('tags', true), { ...ref('parts', true), inside: 'of' }]
  const columns = [group, tag, n, ID]
  const few = or([is(tag, 'a'), is(tag, 'b')])

  test.each<[what: string, Filter]>([
    ['no condition', everything],
    ['a condition on another field', is(group)],
    ['a bound of elements', { kind: 'gt', field: tag, value: 'a' }],
    ['elements that are there', { kind: 'present', field: tag }],
    ['elements that are missing', isMissing(tag)],
    ['an equality on a field of the same path', is(ref('tags'))],
    ['an equality on elements of another type', is({ ...tag, type: 'timestamp' })],
    ['an equality on what is inside elements', is({ ...tag, inside: 'of' })],
    ['a value of another type', is(tag, 5)],
    ['no element', not(is(tag))],
    ['a list with another field', or([is(tag), is(other)])],
  ])('gives nothing for %s', (_, filter) => {
    expect(useIndex([tag, ID], [filter], [])).toBe(undefined)
    expect(useIndex(columns, [is(group), filter], up(n, ID))).toBe(undefined)
    expect(isOrderIndexed([{ fields: [tag, other] }], filter, up(other, ID))).toBe(false)
  })

  test('gives nothing behind a field that no condition fixes', () =>
    expect(useIndex(columns, [is(tag)], [])).toBe(undefined))

  test('is a range for one element, in the order behind it', () => {
    const use = useIndex(columns, [is(tag), is(group)], down(n, ID))
    expect(use).toMatchObject({ fixing: [is(group), is(tag)], order: down(n, ID), overlaps: false })
    expect(isOrderIndexed([{ fields: [tag, other] }], is(tag), down(other, ID))).toBe(true)
    expect(isOrderIndexed([{ fields: [tag, other] }], is(tag), up(n, ID))).toBe(false)
  })

  test('is a range for each of several elements, in which documents may be twice', () => {
    const use = useIndex(columns, [few, is(group)], up(n, ID))
    expect(use).toMatchObject({ fixing: [is(group), few], order: undefined, overlaps: true })
    expect(use && splitRanges(use)).toMatchObject([
      { fixing: [is(group), is(tag, 'a')], order: up(n, ID) },
      { fixing: [is(group), is(tag, 'b')], order: up(n, ID) },
    ])
    expect(isOrderIndexed([{ fields: [tag, n] }], few, up(n, ID))).toBe(true)
    expect(useIndex(columns, [or([is(group, 'a'), is(group, 'b')]), is(tag)], [])).toMatchObject({
      overlaps: false,
    })
  })

  test('leaves another equality on an element to be met', () => {
    expect(useIndex([tag, n, ID], [is(tag, 'a'), is(tag, 'b')], [])?.fixing).toEqual([is(tag, 'a')])
    expect(isRange(is(tag, 'b'), tag)).toBe(false)
  })

  test('is one of what is inside elements', () =>
    expect(useIndex([inside, ID], [is(ref('parts', true)), is(inside)], up(ID))).toMatchObject({
      fixing: [is(inside)],
      order: up(ID),
    }))

  test('orders nothing by elements', () => {
    expect(useIndex([tag, n, ID], [is(tag)], up(tag, n, ID))?.order).toBe(undefined)
    expect(isOrderIndexed([{ fields: [tag, n] }], is(tag), up(tag, n, ID))).toBe(false)
  })
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
