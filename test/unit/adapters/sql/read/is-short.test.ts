import { describe, expect, test } from 'vitest'
import { isShort } from '../../../../../src/adapters/sql/read/is-short.js'
import {
  and,
  everything,
  type FieldRef,
  type Filter,
  isId,
  not,
  nothing,
  or,
} from '../../../../../src/core/filter/filter.js'
import { rangesAfter } from '../../../../../src/core/query/paging/cursor.js'
import type { IndexPlan, SortKey } from '../../../../../src/core/storage.js'

const ref = (path: string, type: FieldRef['type'] = 'string', each = false): FieldRef => ({
  path,
  type,
  each,
})
const [id, email, group, n, other] = ['_id', 'email', 'group', 'n', 'other'].map((path) => ref(path)) as [
  FieldRef,
  FieldRef,
  FieldRef,
  FieldRef,
  FieldRef,
]
const tags = ref('tags', 'string', true)

const indexes: readonly IndexPlan[] = [
  { fields: [email], unique: true },
  { fields: [n], unique: false },
  { fields: [group, n], unique: false },
]

const is = (field: FieldRef, value = 'x'): Filter => ({ kind: 'eq', field, value })
const above = (field: FieldRef, value = 'x'): Filter => ({ kind: 'gt', field, value })
const matching = (field: FieldRef): Filter => ({
  kind: 'match',
  field,
  pattern: { kind: 'text', text: 'x' },
})
const ids = (count: number): Filter => or(Array.from({ length: count }, (_, i) => isId(`${i}`)))
const by = (...fields: readonly FieldRef[]): readonly SortKey[] =>
  fields.map((field) => ({ field, descending: false }))
const down = (...fields: readonly FieldRef[]): readonly SortKey[] =>
  fields.map((field) => ({ field, descending: true }))

type Case = readonly [
  what: string,
  filter: Filter,
  sort?: readonly SortKey[],
  limit?: number | null,
  skip?: number,
]

const short: readonly Case[] = [
  ['an id', isId('a'), [], null],
  ['an id that must be more', and([isId('a'), is(other)]), [], null],
  ['some ids', ids(256), by(other, id), null],
  ['a unique value', is(email), [], null],
  ['an id or a unique value', or([isId('a'), and([is(email), is(other)])]), [], null],
  ['nothing', nothing, [], null],
  ['the first by id', everything, by(id)],
  ['any first', everything],
  ['the first by an index', everything, by(n, id)],
  ['the last by an index', everything, down(n, id)],
  ['an equality', is(group)],
  ['an equality in the order of the next field', is(group), down(n, id)],
  ['one of several values', or([is(n, 'a'), is(n, 'b')])],
  [
    'one of several values, in the order of the next field',
    or([is(group, 'a'), is(group, 'b')]),
    down(n, id),
  ],
  ['alternatives, each in order', or([is(group), above(n)]), by(n, id)],
  ['two equalities, in order', and([is(n), is(group)]), by(id)],
  ['a range in its order', and([above(n), { kind: 'lt', field: n, value: 'z' }]), by(n, id)],
  ['a range behind an equality', and([is(group), above(n)]), by(n, id)],
  ['what has no value', not({ kind: 'present', field: n }), by(n, id)],
  ['a few behind some', everything, by(n, id), 100, 156],
  ...rangesAfter(by(group, n, id), { values: ['a', 'b', 'c'], passed: 0 }).map(
    (range, i): Case => [`a later page: range ${i}`, range, by(group, n, id)],
  ),
]

const long: readonly Case[] = [
  ['everything', everything, [], null],
  ['many ids', ids(257), [], null],
  ['a pattern, even of one document', and([isId('a'), matching(other)]), [], 1],
  ['a pattern inside', and([isId('a'), not(or([is(n), matching(other)]))]), [], 1],
  ['what no index knows', is(other), by(id)],
  ['what no index knows, in the order of one', is(other), by(n, id)],
  ['an equality without an end', is(n), [], null],
  ['an order without an index', everything, by(other, id)],
  ['an order that goes both ways', everything, [...by(n), ...down(id)]],
  ['a range in the order of another field', above(email), by(n, id)],
  ['an order that only begins like an index', everything, by(group, id)],
  ['a range beside the order', above(n), by(id)],
  ['a range of the second field', above(n), by(group, n, id)],
  [
    'one of too many values, in order',
    or(Array.from({ length: 65 }, (_, i) => is(group, `${i}`))),
    by(n, id),
  ],
  ['alternatives without an order', or([is(group), above(n)])],
  ['alternatives of which one has no index', or([is(group), is(other)]), by(n, id)],
  ['another value', not(is(n)), by(n, id)],
  ['an element', is(tags)],
  ['an id in another sense', is({ ...id, each: true })],
  ['a page far behind', everything, by(id), 20, 1000],
  ['a large page', everything, by(id), 500],
]

const ask = ([, filter, sort = [], limit = 20, skip = 0]: Case): boolean =>
  isShort(indexes, { filter, sort, limit, skip })

describe('a read is short', () => {
  test.each(short.map((one) => [one[0], one] as const))('of %s', (_, one) => expect(ask(one)).toBe(true))
})

describe('a read may be long', () => {
  test.each(long.map((one) => [one[0], one] as const))('of %s', (_, one) => expect(ask(one)).toBe(false))
})
