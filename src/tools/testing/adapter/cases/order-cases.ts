import type { Filter } from '../../../../core/filter/filter.js'
import type { SortKey, StorageAdapter } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import {
  allOf,
  anyOf,
  by,
  documentOf,
  eq,
  fieldOf,
  ID,
  insertAll,
  notOf,
  planOf,
  present,
  queryOf,
} from '../check/documents.js'
import { edgeDocuments } from '../check/edge-documents.js'
import { scalarTypes } from '../check/edge-values.js'
import { checkCount, checkList } from '../check/plain-array.js'
import { rangesBehind } from '../check/ranges-behind.js'
import { adapterCase } from '../check/with-adapter.js'

const typeOrders = scalarTypes.map(
  (type): AdapterCase =>
    adapterCase(
      `order: ${type}, ascending and descending`,
      [planOf('edges', [false, fieldOf('v', type)])],
      async (adapter) => {
        await insertAll(adapter, 'edges', edgeDocuments)
        for (const path of ['v', 'a.b', 'a', 'a.b.b', 'x', 'x.y']) {
          for (const [first, last] of DIRECTIONS) {
            const sort = [by(fieldOf(path, type), first), by(ID, last)]
            await checkList(adapter, 'edges', edgeDocuments, queryOf({ sort }))
          }
        }
      },
    ),
)

const DIRECTIONS = [
  [false, false],
  [false, true],
  [true, false],
  [true, true],
] as const

const S = fieldOf('s', 'string')
const N = fieldOf('n', 'number')
const B = fieldOf('b', 'boolean')
const X = fieldOf('o.x', 'integer')

/** Documents with only a few different values, so that many documents are equal in their sort keys. */
const tied = Array.from({ length: 60 }, (_, i) =>
  documentOf(`${'zYxW'[i % 4] ?? ''}${(i * 37) % 60}`, {
    s: ['a', 'B', 'b', null, 1][i % 5],
    n: [1, 2, '1', 10][i % 4],
    ...(i % 3 === 0 ? {} : { b: i % 2 === 0 }),
    o: i % 7 === 0 ? [] : { x: [1, 1.5, 0, -1][i % 4] },
  }),
)

const plan = planOf('tied', [false, S], [false, S, N], [false, N, B])

const SORTS: readonly (readonly SortKey[])[] = [
  [by(ID)],
  [by(ID, true)],
  ...[S, N, B, X].flatMap((field) =>
    [false, true].map((descending) => [by(field, descending), by(ID, descending)]),
  ),
  [by(S), by(N, true), by(ID)],
  [by(S, true), by(N), by(ID, true)],
  [by(S), by(N), by(ID)],
  [by(S, true), by(N, true), by(ID, true)],
  [by(B, true), by(S), by(X, true), by(ID)],
  [by(X), by(B), by(S, true), by(ID, true)],
]

const FILTERS: readonly Filter[] = [
  allOf(),
  eq(S, 'b'),
  { kind: 'gt', field: N, value: 1 },
  notOf(present(S)),
  anyOf(eq(B, true), { kind: 'lt', field: S, value: 'b' }),
]

const PAGES = [0, 1, 7, 59, 60, 1000, Number.MAX_SAFE_INTEGER].flatMap((skip) =>
  [0, 1, 10, 60, 1000, Number.MAX_SAFE_INTEGER, null].map((limit) => ({ skip, limit })),
)

const tiedCase = (name: string, run: (adapter: StorageAdapter) => Promise<void>): AdapterCase =>
  adapterCase(`order: ${name}`, [plan], async (adapter) => {
    await insertAll(adapter, 'tied', tied)
    await run(adapter)
  })

/** Cases for the order of lists and for their pages. */
export const orderCases: readonly AdapterCase[] = [
  ...typeOrders,
  tiedCase('several keys, mixed directions, ties by _id', async (adapter) => {
    for (const sort of SORTS) {
      for (const filter of FILTERS) await checkList(adapter, 'tied', tied, queryOf({ filter, sort }))
    }
  }),
  tiedCase('skip and limit', async (adapter) => {
    const sorts = [[by(ID)], [by(S), by(ID)], [by(S, true), by(N), by(ID)], []]
    for (const filter of FILTERS.slice(0, 3)) {
      for (const sort of sorts) {
        for (const page of PAGES) await checkList(adapter, 'tied', tied, queryOf({ filter, sort, ...page }))
      }
      await checkCount(adapter, 'tied', tied, { filter })
    }
  }),
  tiedCase('pages by key', async (adapter) => {
    for (const sort of SORTS) {
      const filters = tied.filter((_, i) => i % 7 === 0).flatMap((document) => rangesBehind(sort, document))
      for (const filter of filters) {
        await checkList(adapter, 'tied', tied, queryOf({ filter, sort, limit: 5 }))
        await checkCount(adapter, 'tied', tied, { filter })
      }
    }
  }),
  tiedCase('none asked for', async (adapter) => {
    for (const filter of FILTERS) await checkList(adapter, 'tied', tied, queryOf({ filter, sort: [] }))
  }),
]
