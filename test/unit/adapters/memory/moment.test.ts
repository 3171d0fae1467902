import { beforeAll, describe, expect, test } from 'vitest'
import {
  and,
  everything,
  type FieldRef,
  type Filter,
  ID,
  isId,
  or,
} from '../../../../src/core/filter/filter.js'
import type { SortKey } from '../../../../src/core/storage.js'
import { createMemoryAdapter, type StorageAdapter } from '../../../../src/index.js'

const COUNT = 20_000
const N: FieldRef = { path: 'n', type: 'integer', each: false }
const GROUP: FieldRef = { path: 'group', type: 'integer', each: false }
const FREE: FieldRef = { path: 'free', type: 'integer', each: false }

const idOf = (i: number): string => `d${String(i).padStart(6, '0')}`
const insert = (i: number) => ({
  in: 'things',
  insert: { _id: idOf(i), _version: 1, n: i, free: i, group: i % 4 },
})
const inGroup = (value: number): Filter => ({ kind: 'eq', field: GROUP, value })

const long: Filter = {
  kind: 'or',
  filters: Array.from({ length: 30 }, (_, i): Filter => ({ kind: 'gte', field: FREE, value: 30 - i })),
}

const WAYS: readonly (readonly [name: string, filter: Filter, sort: readonly SortKey[]])[] = [
  ['in no order', long, []],
  ['in the order of an index', long, [{ field: ID, descending: false }]],
  ['backwards', long, [{ field: N, descending: true }]],
  [
    'over a range',
    { kind: 'and', filters: [{ kind: 'gt', field: N, value: 100 }, long] },
    [{ field: N, descending: false }],
  ],
  [
    'merged from ranges',
    and([or([inGroup(0), inGroup(2)]), long]),
    [N, ID].map((field) => ({ field, descending: true })),
  ],
  [
    'merged from alternatives that share documents',
    and([or([inGroup(1), { kind: 'lt', field: N, value: 5000 }]), long]),
    [N, ID].map((field) => ({ field, descending: false })),
  ],
  ['of alternatives, in no order', and([or([inGroup(1), { kind: 'lt', field: N, value: 5000 }]), long]), []],
  ['in an order without an index', long, [{ field: FREE, descending: true }]],
  ['of everything', everything, [{ field: FREE, descending: false }]],
]

describe('a long answer is what one moment held', () => {
  let adapter: StorageAdapter
  beforeAll(async () => {
    adapter = createMemoryAdapter()
    await adapter.open([
      { name: 'things', indexes: [[N], [GROUP, N]].map((fields) => ({ fields, unique: false })) },
    ])
    await adapter.write(
      Array.from({ length: COUNT }, (_, i) => insert(i)),
      {},
    )
  })

  test.each(WAYS)('%s', async (_, filter, sort) => {
    const query = { filter, sort, skip: 0, limit: null }
    const before = await adapter.list('things', query)
    const [listing, counting] = [adapter.list('things', query), adapter.count('things', filter, {})]
    expect(listing).toBeInstanceOf(Promise)
    // In the middle of it.
    const [first, last] = [before[0], before.at(-1)]
    if (!first || !last) throw new Error('there are documents')
    const steps = [
      { in: 'things', remove: isId(first._id) },
      { in: 'things', replace: { ...last, _version: 2, n: -1, free: -1 }, version: 1 },
      insert(COUNT + 1),
    ]
    expect(await adapter.write(steps, {})).toEqual({ ok: true, removed: 1 })
    expect(await listing).toEqual(before)
    expect(typeof counting === 'number' ? counting : await counting).toBeGreaterThanOrEqual(before.length - 1)
    await adapter.write(
      [
        { in: 'things', insert: first },
        { in: 'things', remove: isId(last._id) },
        { in: 'things', insert: last },
        { in: 'things', remove: isId(idOf(COUNT + 1)) },
      ],
      {},
    )
  })

  test('a page from an index comes without a promise', () => {
    const page = adapter.list('things', {
      filter: everything,
      sort: [N, ID].map((field) => ({ field, descending: true })),
      skip: 0,
      limit: 20,
    })
    expect(page).not.toBeInstanceOf(Promise)
  })

  test('a list that is told to stop ends', async () => {
    const query = {
      filter: long,
      sort: [],
      skip: 0,
      limit: null,
      signal: AbortSignal.abort(new Error('gone')),
    }
    await expect(adapter.list('things', query)).rejects.toThrow('gone')
  })
})
