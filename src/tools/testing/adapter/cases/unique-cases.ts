import type { FieldRef } from '../../../../core/filter/filter.js'
import type { CollectionPlan, StorageAdapter, WriteResult } from '../../../../core/storage.js'
import type { JsonObject } from '../../../../core/types.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite, done, rejected, removing, stepsIn } from '../check/check-write.js'
import { checkStored, documentOf, eq, fieldOf, ID, planOf } from '../check/documents.js'
import { adapterCase } from '../check/with-adapter.js'

const inThings = stepsIn('things')

const S = fieldOf('s', 'string')
const N = fieldOf('n', 'number')
const B = fieldOf('b', 'boolean')

/** The result of a write that is rejected because another document has the same values. */
const taken = (...fields: readonly FieldRef[]): WriteResult => ({
  ok: false,
  step: 0,
  reason: 'unique',
  fields: fields.map(({ path }) => path),
})

const uniqueCase = (
  name: string,
  plans: readonly CollectionPlan[],
  run: (adapter: StorageAdapter) => Promise<void>,
): AdapterCase => adapterCase(`unique: ${name}`, plans, run)

/** Cases for when a value counts as taken, and when it is free again. */
export const uniqueCases: readonly AdapterCase[] = [
  uniqueCase('the _id comes before every index', [planOf('things', [true, S])], async (adapter) => {
    await checkWrite(adapter, [inThings.insert(documentOf('1', { s: 'a' }))], done)
    await checkWrite(adapter, [inThings.insert(documentOf('1', { s: 'a' }))], taken(ID))
  }),

  uniqueCase(
    'a replace is bound like an insert',
    [planOf('things', [true, S], [true, N, B])],
    async (adapter) => {
      const one = { _id: '1', s: 'a', n: 1, b: true }
      const two = { _id: '2', s: 'b', n: 2, b: true }
      for (const document of [one, two]) {
        await checkWrite(adapter, [inThings.insert({ ...document, _version: 1 })], done)
      }
      const replace = (changes: JsonObject, version: number, expected: WriteResult): Promise<void> =>
        checkWrite(
          adapter,
          [inThings.replace({ ...two, ...changes, _id: '2', _version: version + 1 }, version)],
          expected,
        )
      await replace({ s: 'a' }, 1, taken(S))
      await replace({ n: 1 }, 1, taken(N, B))
      await replace({ s: 'a', n: 1 }, 1, taken(S))
      // The version is checked first.
      await replace({ s: 'a' }, 7, rejected(0, 'changed'))
      await replace({ note: 'its own values stay its own' }, 1, done)
      await replace({ s: 'c' }, 2, done)
      await checkWrite(adapter, [inThings.insert(documentOf('3', { s: 'b' }))], done)
      await replace({ s: 'b' }, 3, taken(S))
      await replace({ s: null, n: null }, 3, done)
      await checkWrite(adapter, [inThings.insert(documentOf('4', { s: 'c', n: 2, b: true }))], done)
    },
  ),

  uniqueCase(
    'what is taken is judged behind the steps before',
    [planOf('things', [true, S], [true, N])],
    async (adapter) => {
      const first = documentOf('1', { s: 'a', n: 1 })
      const two = inThings.insert(documentOf('2', { s: 'b', n: 2 }))
      await checkWrite(adapter, [inThings.insert(first), two], done)
      const third = inThings.insert(documentOf('3', { s: 'a', n: 2 }))
      const free = inThings.replace({ ...first, s: 'c', _version: 2 }, 1)
      const remove = inThings.remove(eq(ID, '1'))
      const again = inThings.insert(documentOf('1', { s: 'a', n: 2 }))
      const take = inThings.insert(documentOf('4', { s: 'd', n: 4 }))
      const both = inThings.insert(documentOf('5', { s: 'd', n: 2 }))
      const refused = (field: FieldRef): WriteResult => rejected(1, 'unique', field.path)
      await checkWrite(adapter, [third], taken(S))
      await checkWrite(adapter, [free, third], refused(N))
      await checkWrite(adapter, [remove, again], refused(N))
      await checkWrite(adapter, [take, both], refused(S))
    },
  ),

  uniqueCase(
    'a removed document sets its values free',
    [planOf('things', [true, S], [true, N])],
    async (adapter) => {
      for (const id of ['1', '2', '3']) {
        await checkWrite(adapter, [inThings.insert(documentOf(id, { s: 'a', n: 1 }))], done)
        await checkWrite(adapter, [inThings.remove(eq(S, 'a'))], removing(1))
      }
    },
  ),

  uniqueCase(
    'collections do not bind each other',
    [planOf('a', [true, fieldOf('b_c', 'string')]), planOf('a_b', [true, fieldOf('c', 'string')])],
    async (adapter) => {
      const insert = documentOf('1', { b_c: 'x', c: 'x' })
      for (const name of ['a', 'a_b']) await checkWrite(adapter, [{ in: name, insert }], done)
      const other = documentOf('2', { b_c: 'x' })
      await checkWrite(adapter, [{ in: 'a', insert: other }], taken(fieldOf('b_c', 'string')))
      await checkWrite(adapter, [{ in: 'a_b', insert: other }], done)
    },
  ),
]

const I = fieldOf('i', 'integer')
const T = fieldOf('t', 'timestamp')

/** The properties of a document to insert in a write of its own, and the expected result. */
type Insertion = readonly [properties: JsonObject, expected: WriteResult]

/**
 * Creates a case that inserts documents into `things`, which has unique indexes. Rejected inserts must not store
 * anything.
 */
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
      await checkWrite(adapter, [inThings.insert(insert)], expected)
      if (expected.ok) kept.push(insert)
    }
    await checkStored(adapter, 'things', kept, 'after all inserts')
  })
}

const DAY = '2026-11-20T08:00:00.000Z'

/** Strings that are different, but that some databases treat as equal. */
// biome-ignore format: a table
const DIFFERENT_TEXTS = [
  '', ' ', 'a', 'A', 'a ', ' a', '\u00e9', 'e\u0301', 'e', '\u00df', 'ss', 'SS', '\u{1f600}', '\u{1f601}', '\uffff',
  'a\n', 'a%', 'a_', '1', '1.0', '01', 'null', "'", '"',
]

/** Cases for which values count as equal. */
export const uniqueValueCases: readonly AdapterCase[] = [
  insertCase(
    'one field',
    [[S]],
    [
      [{ s: 'a' }, done],
      [{ s: 'a' }, taken(S)],
      [{ s: 'b', n: 1 }, done],
      [{ s: 'a', n: 2 }, taken(S)],
    ],
  ),

  insertCase(
    'texts that look alike differ',
    [[S]],
    [
      ...DIFFERENT_TEXTS.map((s): Insertion => [{ s }, done]),
      ...DIFFERENT_TEXTS.map((s): Insertion => [{ s }, taken(S)]),
    ],
  ),

  insertCase(
    'long texts that differ late differ',
    [[S]],
    [
      [{ s: `${'x'.repeat(1023)}a` }, done],
      [{ s: `${'x'.repeat(1023)}b` }, done],
      [{ s: `${'x'.repeat(1023)}a` }, taken(S)],
      [{ s: '\u{1f600}'.repeat(256) }, done],
      [{ s: '\u{1f600}'.repeat(256) }, taken(S)],
    ],
  ),

  insertCase(
    'missing values do not bind',
    [[S]],
    [
      [{}, done],
      [{}, done],
      [{ s: null }, done],
      [{ s: null }, done],
      [{ n: 1 }, done],
    ],
  ),

  insertCase(
    'values of another type do not bind',
    [[S], [I], [B], [T]],
    [
      [{ s: 0, i: '0', b: 0, t: 'today' }, done],
      [{ s: 0, i: '0', b: 0, t: 'today' }, done],
      [{ s: '0', i: 0, b: false, t: DAY }, done],
      [{ s: '0' }, taken(S)],
      [{ i: 0 }, taken(I)],
      [{ b: false }, taken(B)],
      [{ t: DAY }, taken(T)],
      [{ s: false, i: 0.5, b: 'false', t: '2026-11-20T08:00:00Z' }, done],
      [{ s: false, i: 0.5, b: 'false', t: '2026-11-20T08:00:00Z' }, done],
      [{ s: ['0'], i: [0], b: {}, t: [DAY] }, done],
      [{ s: ['0'], i: [0], b: {}, t: [DAY] }, done],
    ],
  ),

  insertCase(
    'numbers that are nearly the same differ',
    [[N]],
    [
      ...[0, Number.MIN_VALUE, 0.3, 0.1 + 0.2, 1, 1.5, 2 ** 53 - 1, 2 ** 53 - 2, -1, 1e-7].flatMap((n) => [
        [{ n }, done] as const,
        [{ n }, taken(N)] as const,
      ]),
    ],
  ),

  insertCase(
    'several fields together',
    [[S, N]],
    [
      [{ s: 'a', n: 1 }, done],
      [{ s: 'a', n: 1 }, taken(S, N)],
      [{ s: 'a', n: 2 }, done],
      [{ s: 'b', n: 1 }, done],
      [{ s: 'a' }, done],
      [{ s: 'a' }, done],
      [{ n: 1, s: null }, done],
      [{ n: 1, s: null }, done],
      [{ s: 'a', n: '1' }, done],
      [{ s: 'a', n: '1' }, done],
      [{ s: 'b', n: 1, b: true }, taken(S, N)],
    ],
  ),

  insertCase(
    'values that read the same when joined differ',
    [[S, fieldOf('s2', 'string')]],
    [
      [{ s: 'a', s2: 'b,c' }, done],
      [{ s: 'a,b', s2: 'c' }, done],
      [{ s: 'a","b', s2: '' }, done],
      [{ s: 'a', s2: 'b","' }, done],
      [{ s: '', s2: 'ab' }, done],
      [{ s: 'ab', s2: '' }, done],
      [{ s: 'a,b', s2: 'c' }, taken(S, fieldOf('s2', 'string'))],
    ],
  ),

  insertCase(
    'the first index of the plan that is taken is named',
    [[S], [N, B], [N], [I]],
    [
      [{ s: 'a', n: 1, b: true, i: 1 }, done],
      [{ s: 'a', n: 1, b: true, i: 1 }, taken(S)],
      [{ s: 'b', n: 1, b: true, i: 1 }, taken(N, B)],
      [{ s: 'b', n: 1, b: false, i: 1 }, taken(N)],
      [{ s: 'b', n: 2, b: true, i: 1 }, taken(I)],
      [{ i: 1, n: 1 }, taken(N)],
      [{ s: 'b', n: 2, b: true, i: 2 }, done],
      // These values belong to two different documents.
      [{ s: 'b', n: 1 }, taken(S)],
      [{ i: 2, n: 1 }, taken(N)],
      [{ i: 1, s: 'b' }, taken(S)],
    ],
  ),

  insertCase(
    'the order of the plan, not of names',
    [[I], [B], [S]],
    [
      [{ s: 'a', b: true, i: 1 }, done],
      [{ s: 'a', b: true, i: 1 }, taken(I)],
      [{ s: 'a', b: true, i: 2 }, taken(B)],
    ],
  ),
]
