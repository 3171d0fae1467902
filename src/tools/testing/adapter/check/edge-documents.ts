import type { StoredDocument } from '../../../../core/storage.js'
import { documentOf } from './documents.js'
import { anyValues, scalars } from './edge-values.js'

/**
 * Returns an id. The order of these ids by code points differs from their alphabetical order and from the order of
 * insertion.
 */
const idOf = (i: number): string => `${'bAaB-_Z0'[i % 8] ?? ''}${(i * 7919) % 1000}`

/** Documents whose values lie along the tested paths, including paths that end early. */
const PLACES: readonly object[] = [
  {},
  { v: null, a: null, l: null },
  { a: {}, l: {} },
  { a: [] },
  { a: 'a', l: 'a' },
  { a: 1, l: 1 },
  { a: [{ b: 'a' }], l: [['a'], [1]] },
  { a: [{ b: 1 }, { b: true }] },
  { a: { 'b.c': 'a', B: 'a' }, V: 'a', L: ['a'] },
  { 'a.b': 'a' },
  { a: { b: { b: 'a' } } },
  { m: [null, 'a', 1, ['a'], { x: null }, {}, { o: 'a' }, { o: [{ y: 'a' }] }] },
  { m: { x: 'a' }, l: '["a"]' },
  { m: ['{"x":"a"}'] },
]

const LISTS: readonly (readonly unknown[])[] = [
  scalars,
  [...scalars].reverse().filter((_, i) => i % 3 > 0),
  [null, {}, [], { b: 'a' }, ['a', 1, true]],
  ['a', 1, true, null, {}, ['b']],
  ['b', 'b', 'b'],
  [0, '0', false, ''],
  [1.5, '1.5', 2],
]

/**
 * Documents that have every edge value at the top level (`v`), nested (`a.b`), as an array element (`l`, `a.l`) and
 * inside an array element (`m`), and documents that have other kinds of values there.
 */
export const edgeDocuments: readonly StoredDocument[] = [
  ...anyValues.map((value) => ({
    v: value,
    a: { b: value, l: [value] },
    l: [value],
    m: [{ x: value, o: { y: value } }],
  })),
  ...LISTS.map((list) => ({ l: list, a: { l: list }, m: list.map((x) => ({ x })) })),
  ...PLACES,
].map((properties, i) => documentOf(idOf(i), { ...properties }))
