import { everything, type Scalar } from '../../../../core/filter/filter.js'
import type {
  Aggregated,
  AggregateQuery,
  Cut,
  GroupPart,
  Key,
  Measure,
  StorageAdapter,
  StoredDocument,
} from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { check, checkSame, printShort } from '../check/check.js'
import { documentOf, eq, fieldOf, ID, insertAll, planOf } from '../check/documents.js'
import { judgeGroups } from '../check/plain-groups.js'
import { adapterCase, pairCase } from '../check/with-adapter.js'

const N = fieldOf('n', 'number')
const S = fieldOf('s', 'string')
const B = fieldOf('b', 'boolean')
const T = fieldOf('t', 'timestamp')
const TAGS = fieldOf('tags', 'string', true)

const part = (field: GroupPart['field'], cut: Cut = 'value', shown = everything): GroupPart => ({
  field,
  shown,
  cut,
})
const measure = (field: Measure['field'], takes: Measure['takes'], shown = everything): Measure => ({
  field,
  shown,
  takes,
})
const groupsOf = (parts: Partial<AggregateQuery>): AggregateQuery => ({
  filter: everything,
  by: [],
  measures: [],
  limit: 1_000_000,
  characters: 1_000_000,
  ...parts,
})

type Aggregate = (query: AggregateQuery) => Promise<Aggregated>

/** Creates a case for groups. `aggregate` is optional, so adapters without it pass. */
const groupCase = (
  name: string,
  documents: readonly StoredDocument[],
  run: (aggregate: Aggregate, documents: readonly StoredDocument[]) => Promise<void>,
): AdapterCase =>
  adapterCase(`groups: ${name}`, [planOf('many', [false, N], [false, S])], async (adapter) => {
    if (!adapter.aggregate) return
    await insertAll(adapter, 'many', documents)
    await run(aggregateOf(adapter), documents)
  })

const aggregateOf =
  (adapter: StorageAdapter): Aggregate =>
  async (query) =>
    (await adapter.aggregate?.('many', query)) ?? { groups: [], isCut: false }

/** Checks the groups of a query: the number of documents of each key, and everything else by a plain array. */
async function checkGroups(
  aggregate: Aggregate,
  documents: readonly StoredDocument[],
  query: AggregateQuery,
  counts: readonly (readonly [...key: Key[], count: number])[],
): Promise<void> {
  const answer = await aggregate(query)
  const found = new Map<string, number>()
  for (const { key, count } of answer.groups)
    found.set(JSON.stringify(key), (found.get(JSON.stringify(key)) ?? 0) + count)
  const expected = counts.map((one) => [JSON.stringify(one.slice(0, -1)), one.at(-1)])
  checkSame(Object.fromEntries(found), Object.fromEntries(expected), 'documents of each group')
  const mismatch = judgeGroups(documents, query, answer)
  check(
    mismatch === undefined,
    `${mismatch?.what}\n  expected: ${printShort(mismatch?.expected)}\n  actual:   ${printShort(mismatch?.actual)}`,
  )
}

const numbered = (numbers: readonly (number | string | null)[]): readonly StoredDocument[] =>
  numbers.map((n, i) => documentOf(`id${i}`, { n, s: i % 2 === 0 ? 'even' : 'odd' }))

/** Numbers whose sum depends on the order if it is a sum of doubles, or of fewer digits than a double has. */
const EXACT = [0.1, 0.2, 1e22, -1e22, 9007199254740992, 0.30000000000000004, 5e-324, 1.5e300, -1.5e300]

const DAYS = ['0001-01-01T00:00:00.000Z', '0099-12-31T23:59:59.999Z', '2024-02-29T23:30:00.000Z']

/** Strings in the order of code points, which is neither that of UTF-16 nor that of a language. */
const STRINGS = ['', 'B', 'a', 'ä', '\uffff', '\u{10000}']

const NOTHING: readonly (readonly [...key: Key[], count: number])[] = [[null, 3]]

/** Documents of which each has a part of one total. */
const SHARES = Array.from({ length: 1500 }, (_, i) =>
  documentOf(`id${String(i).padStart(4, '0')}`, { n: 10, s: `${i % 3}` }),
)

/** The number of moves of the case of one moment. */
const MOVES = 40

/** Cases for groups of documents. */
export const groupCases: readonly AdapterCase[] = [
  groupCase(
    'sums are exact, in each order',
    numbered([...EXACT, ...EXACT, 'a', null]),
    async (aggregate, all) => {
      const measures = [measure(N, ['sum', 'min', 'max'])]
      await checkGroups(aggregate, all, groupsOf({ measures }), [[20]])
      await checkGroups(aggregate, all, groupsOf({ by: [part(S)], measures }), [
        ['even', 10],
        ['odd', 10],
      ])
    },
  ),
  groupCase(
    'values of another type are no values',
    [
      documentOf('1', { n: '1', s: 1 }),
      documentOf('2', { n: null, s: true }),
      documentOf('3', { n: [1], s: { a: 1 } }),
    ],
    async (aggregate, all) => {
      const measures = [measure(N, ['sum', 'min', 'max']), measure(S, ['min', 'max'])]
      for (const field of [N, S, B, T])
        await checkGroups(aggregate, all, groupsOf({ by: [part(field)], measures }), NOTHING)
    },
  ),
  groupCase('−0 is the key 0', numbered([0, -0, 1]), async (aggregate, all) =>
    checkGroups(aggregate, all, groupsOf({ by: [part(N)] }), [
      [0, 2],
      [1, 1],
    ]),
  ),
  groupCase(
    'strings are compared by code point',
    STRINGS.map((s, i) => documentOf(`id${i}`, { s })),
    async (aggregate, all) => {
      const measures = [measure(S, ['min', 'max'])]
      await checkGroups(aggregate, all, groupsOf({ measures }), [[6]])
      await checkGroups(aggregate, all, groupsOf({ by: [part(S, ['B', 'ä', '\u{10000}'])], measures }), [
        [null, 1],
        ['B', 2],
        ['ä', 2],
        ['\u{10000}', 1],
      ])
    },
  ),
  groupCase(
    'a document is in the group of each distinct element',
    [
      documentOf('1', { tags: ['a', 'b', 'a'], n: 1 }),
      documentOf('2', { tags: ['b', 7, null], n: 2 }),
      documentOf('3', { tags: [], n: 3 }),
      documentOf('4', { tags: [7], n: 4 }),
      documentOf('5', { tags: 'a', n: 5 }),
      documentOf('6', { n: 6 }),
    ],
    async (aggregate, all) => {
      const measures = [measure(N, ['sum'])]
      await checkGroups(aggregate, all, groupsOf({ by: [part(TAGS)], measures }), [
        ['a', 1],
        ['b', 2],
        [null, 2],
      ])
    },
  ),
  groupCase(
    'intervals begin in UTC, from the first year on',
    DAYS.map((t, i) => documentOf(`id${i}`, { t })),
    async (aggregate, all) => {
      const begins: { readonly [cut in 'hour' | 'day' | 'month' | 'year']: readonly string[] } = {
        hour: ['0001-01-01T00', '0099-12-31T23', '2024-02-29T23'],
        day: ['0001-01-01T00', '0099-12-31T00', '2024-02-29T00'],
        month: ['0001-01-01T00', '0099-12-01T00', '2024-02-01T00'],
        year: ['0001-01-01T00', '0099-01-01T00', '2024-01-01T00'],
      }
      for (const cut of ['hour', 'day', 'month', 'year'] as const)
        await checkGroups(
          aggregate,
          all,
          groupsOf({ by: [part(T, cut)] }),
          begins[cut].map((begin) => [`${begin}:00:00.000Z`, 1]),
        )
    },
  ),
  groupCase(
    'a hidden value is in the group null, and in no measure',
    numbered([1, 2, 3, 4]),
    async (aggregate, all) => {
      const shown = eq(S, 'odd')
      await checkGroups(
        aggregate,
        all,
        groupsOf({
          by: [part(N, [2, 3] as readonly Scalar[], shown), part(S)],
          measures: [measure(N, ['sum', 'min', 'max'], shown), measure(ID, ['max'], eq(S, 'even'))],
        }),
        [
          [null, 'even', 2],
          [2, 'odd', 1],
          [3, 'odd', 1],
        ],
      )
    },
  ),
  groupCase(
    'as many keys as the limit are complete, and one more is none too few',
    numbered(Array.from({ length: 700 }, (_, i) => i)),
    async (aggregate, all) => {
      for (const limit of [700, 699, 1]) {
        const query = groupsOf({ by: [part(N)], measures: [measure(N, ['max'])], limit })
        const answer = await aggregate(query)
        check(limit < 700 || !answer.isCut, 'the answer is cut, although the keys are as many as the limit')
        const keys = new Set(answer.groups.map(({ key }) => JSON.stringify(key)))
        check(
          keys.size > limit || !answer.isCut,
          `a cut answer has ${keys.size} keys, and the limit is ${limit}`,
        )
        checkSame(judgeGroups(all, query, answer), undefined, `limit ${limit}`)
      }
    },
  ),
  pairCase('groups: all numbers are of one moment', [planOf('many', [false, S])], async (first, second) => {
    if (!first.aggregate) return
    await insertAll(first, 'many', SHARES)
    const move = async (): Promise<void> => {
      const now = SHARES.map((one) => ({ ...one, n: 10 }))
      const moved = (at: number, by: number): StoredDocument => {
        const one = now[at] as StoredDocument & { readonly n: number }
        const later = { ...one, n: one.n + by, _version: one._version + 1 }
        now[at] = later
        return later
      }
      for (let i = 0; i < MOVES; i++) {
        const steps = [moved(i, -1), moved(SHARES.length - 1 - i, 1)].map((replace) => ({
          in: 'many',
          replace,
          version: replace._version - 1,
        }))
        check((await second.write(steps, {})).ok, 'a write of two documents was rejected')
      }
    }
    const aggregate = aggregateOf(first)
    const moving = move()
    let isOver = false
    moving.then(
      () => {
        isOver = true
      },
      () => {
        isOver = true
      },
    )
    for (let rounds = 0; !isOver || rounds === 0; rounds++) {
      const { groups } = await aggregate(groupsOf({ by: [part(S)], measures: [measure(N, ['sum'])] }))
      const total = groups.reduce((sum, { sums }) => sum + Number(sums[0]?.decimal), 0)
      checkSame(total, 10 * SHARES.length, 'the total, of which writes move a part to another document')
    }
    await moving
  }),
]
