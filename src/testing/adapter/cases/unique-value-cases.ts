import type { FieldRef } from '../../../filter/filter.js'
import type { WriteResult } from '../../../storage.js'
import type { JsonObject } from '../../../types.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite } from '../check/check-write.js'
import { checkStored, documentOf, fieldOf, planOf } from '../check/documents.js'
import { stored, taken, uniqueCase } from './unique-cases.js'

const S = fieldOf('s', 'string')
const N = fieldOf('n', 'number')
const I = fieldOf('i', 'integer')
const B = fieldOf('b', 'boolean')
const T = fieldOf('t', 'timestamp')

/** Inserts, each in its own write. */
type Insertion = readonly [properties: JsonObject, expected: WriteResult]

/** A case of inserts into a collection `things` with unique indexes; rejected inserts must not store anything. */
const insertCase = (
  name: string,
  indexes: readonly (readonly FieldRef[])[],
  insertions: readonly Insertion[],
): AdapterCase => {
  const plan = planOf('things', ...indexes.map((fields) => [true, ...fields] as const))
  return uniqueCase(name, [plan], async (adapter) => {
    const kept = []
    for (const [i, [properties, expected]] of insertions.entries()) {
      const insert = documentOf(`d${String(i).padStart(3, '0')}`, properties)
      await checkWrite(adapter, [{ in: 'things', insert }], expected)
      if (expected.ok) kept.push(insert)
    }
    await checkStored(adapter, 'things', kept, 'after all inserts')
  })
}

const DAY = '2026-11-20T08:00:00.000Z'

/** Texts that some engine treats as equal. */
// biome-ignore format: a table
const DIFFERENT_TEXTS = [
  '', ' ', 'a', 'A', 'a ', ' a', '\u00e9', 'e\u0301', 'e', '\u00df', 'ss', 'SS', '\u{1f600}', '\u{1f601}', '\uffff',
  'a\n', 'a%', 'a_', '1', '1.0', '01', 'null', "'", '"',
]

/** Values that must not occur twice. */
export const uniqueValueCases: readonly AdapterCase[] = [
  insertCase(
    'one field',
    [[S]],
    [
      [{ s: 'a' }, stored],
      [{ s: 'a' }, taken(S)],
      [{ s: 'b', n: 1 }, stored],
      [{ s: 'a', n: 2 }, taken(S)],
    ],
  ),

  insertCase(
    'texts that look alike differ',
    [[S]],
    [
      ...DIFFERENT_TEXTS.map((s): Insertion => [{ s }, stored]),
      ...DIFFERENT_TEXTS.map((s): Insertion => [{ s }, taken(S)]),
    ],
  ),

  insertCase(
    'long texts that differ late differ',
    [[S]],
    [
      [{ s: `${'x'.repeat(1023)}a` }, stored],
      [{ s: `${'x'.repeat(1023)}b` }, stored],
      [{ s: `${'x'.repeat(1023)}a` }, taken(S)],
      [{ s: '\u{1f600}'.repeat(256) }, stored],
      [{ s: '\u{1f600}'.repeat(256) }, taken(S)],
    ],
  ),

  insertCase(
    'missing values do not bind',
    [[S]],
    [
      [{}, stored],
      [{}, stored],
      [{ s: null }, stored],
      [{ s: null }, stored],
      [{ n: 1 }, stored],
    ],
  ),

  insertCase(
    'values of another type do not bind',
    [[S], [I], [B], [T]],
    [
      [{ s: 0, i: '0', b: 0, t: 'today' }, stored],
      [{ s: 0, i: '0', b: 0, t: 'today' }, stored],
      [{ s: '0', i: 0, b: false, t: DAY }, stored],
      [{ s: '0' }, taken(S)],
      [{ i: 0 }, taken(I)],
      [{ b: false }, taken(B)],
      [{ t: DAY }, taken(T)],
      [{ s: false, i: 0.5, b: 'false', t: '2026-11-20T08:00:00Z' }, stored],
      [{ s: false, i: 0.5, b: 'false', t: '2026-11-20T08:00:00Z' }, stored],
      [{ s: ['0'], i: [0], b: {}, t: [DAY] }, stored],
      [{ s: ['0'], i: [0], b: {}, t: [DAY] }, stored],
    ],
  ),

  insertCase(
    'numbers that are nearly the same differ',
    [[N]],
    [
      ...[0, Number.MIN_VALUE, 0.3, 0.1 + 0.2, 1, 1.5, 2 ** 53 - 1, 2 ** 53 - 2, -1, 1e-7].flatMap((n) => [
        [{ n }, stored] as const,
        [{ n }, taken(N)] as const,
      ]),
    ],
  ),

  insertCase(
    'several fields together',
    [[S, N]],
    [
      [{ s: 'a', n: 1 }, stored],
      [{ s: 'a', n: 1 }, taken(S, N)],
      [{ s: 'a', n: 2 }, stored],
      [{ s: 'b', n: 1 }, stored],
      [{ s: 'a' }, stored],
      [{ s: 'a' }, stored],
      [{ n: 1, s: null }, stored],
      [{ n: 1, s: null }, stored],
      [{ s: 'a', n: '1' }, stored],
      [{ s: 'a', n: '1' }, stored],
      [{ s: 'b', n: 1, b: true }, taken(S, N)],
    ],
  ),

  insertCase(
    'values that read the same when joined differ',
    [[S, fieldOf('s2', 'string')]],
    [
      [{ s: 'a', s2: 'b,c' }, stored],
      [{ s: 'a,b', s2: 'c' }, stored],
      [{ s: 'a","b', s2: '' }, stored],
      [{ s: 'a', s2: 'b","' }, stored],
      [{ s: '', s2: 'ab' }, stored],
      [{ s: 'ab', s2: '' }, stored],
      [{ s: 'a,b', s2: 'c' }, taken(S, fieldOf('s2', 'string'))],
    ],
  ),

  insertCase(
    'the first index of the plan that is taken is named',
    [[S], [N, B], [N], [I]],
    [
      [{ s: 'a', n: 1, b: true, i: 1 }, stored],
      [{ s: 'a', n: 1, b: true, i: 1 }, taken(S)],
      [{ s: 'b', n: 1, b: true, i: 1 }, taken(N, B)],
      [{ s: 'b', n: 1, b: false, i: 1 }, taken(N)],
      [{ s: 'b', n: 2, b: true, i: 1 }, taken(I)],
      [{ i: 1, n: 1 }, taken(N)],
      [{ s: 'b', n: 2, b: true, i: 2 }, stored],
      // The values of two other documents.
      [{ s: 'b', n: 1 }, taken(S)],
      [{ i: 2, n: 1 }, taken(N)],
      [{ i: 1, s: 'b' }, taken(S)],
    ],
  ),

  insertCase(
    'the order of the plan, not of names',
    [[I], [B], [S]],
    [
      [{ s: 'a', b: true, i: 1 }, stored],
      [{ s: 'a', b: true, i: 1 }, taken(I)],
      [{ s: 'a', b: true, i: 2 }, taken(B)],
    ],
  ),
]
