import type { StoredDocument } from '../../../../core/storage.js'
import { documentOf } from './documents.js'
import { anyValues, scalars } from './edge-values.js'

/** Ids whose order by code point differs from that of a dictionary and from that of insertion. */
const idOf = (i: number): string => `${'bAaB-_Z0'[i % 8] ?? ''}${(i * 7919) % 1000}`

/** The values along a path, also where the path ends early. */
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
 * Documents with every edge value at the top (`v`), nested (`a.b`), as an element (`l`, `a.l`), inside an element
 * (`m`), and with other values in the same positions.
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
