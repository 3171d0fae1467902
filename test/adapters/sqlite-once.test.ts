import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { everything, type FieldRef, type Filter, ID } from '../../src/core/filter/filter.js'
import type { ListQuery, StorageAdapter, StoredDocument } from '../../src/core/storage.js'
import { createCountedSqlite } from '../support/counted-sqlite.js'

// CONTRACT.md §6, "Speed": what a list or a count has looked at, it does not look at again.

const ref = (path: string, type: FieldRef['type'] = 'integer'): FieldRef => ({ path, type, each: false })
const [N, M] = [ref('n'), ref('m')]

const SIZE = 4000
const documents: readonly StoredDocument[] = Array.from({ length: SIZE }, (_, i) => ({
  _id: `id-${String((i * 7919) % SIZE).padStart(4, '0')}`,
  _version: 1,
  n: (i * 31) % SIZE,
  m: (i * 17) % SIZE,
}))

const { adapter, countRows } = createCountedSqlite()

beforeAll(async () => {
  await adapter.open([{ name: 'things', indexes: [{ fields: [N], unique: false }] }])
  await adapter.write(
    documents.map((insert) => ({ in: 'things', insert })),
    {},
  )
})
afterAll(() => adapter.close())

const by = (...fields: readonly FieldRef[]) => fields.map((field) => ({ field, descending: false }))
const above = (field: FieldRef, value: number): Filter => ({ kind: 'gt', field, value })
const sorted = (key: 'n' | 'm') => documents.toSorted((a, b) => Number(a[key]) - Number(b[key]))
const idsOf = (found: readonly StoredDocument[]): readonly string[] => found.map(({ _id }) => _id)

/** The rows of an index that an attempt can look at before the list goes on elsewhere, which passes over them. */
const ATTEMPT = 300

async function list(parts: Partial<ListQuery>, other: StorageAdapter = adapter) {
  const query: ListQuery = { filter: everything, sort: [], skip: 0, limit: null, ...parts }
  let found: readonly StoredDocument[] = []
  const rows = await countRows(async () => {
    found = await other.list('things', query)
  })
  return { found: idsOf(found), rows }
}

describe('a list that is long', () => {
  test('is sorted, and no document is read again', async () => {
    const { found, rows } = await list({ sort: by(M, ID), limit: 50 })
    expect(found).toEqual(idsOf(sorted('m').slice(0, 50)))
    // Each piece of the collection is measured and read.
    expect(rows).toBe(2 * SIZE)
  })

  test('is walked in the order of an index', async () => {
    const { found, rows } = await list({ filter: above(M, SIZE - 11), sort: by(N, ID), limit: 2000 })
    expect(found).toEqual(idsOf(sorted('n').filter(({ m }) => Number(m) > SIZE - 11)))
    expect(rows).toBeLessThanOrEqual(SIZE + ATTEMPT)
  })

  test('is counted', async () => {
    const rows = await countRows(async () =>
      expect(await adapter.count('things', above(M, 9), {})).toBe(SIZE - 10),
    )
    expect(rows).toBe(2 * SIZE)
  })
})

test('a list that goes on elsewhere is of one moment', async () => {
  const reading = list({ filter: above(M, SIZE - 11), sort: by(N, ID), limit: 2000 })
  const former = sorted('n').filter(({ m }) => Number(m) > SIZE - 11)
  const last = former.at(-1)
  if (!last) throw new Error('there is a last one')
  const written = adapter.write([{ in: 'things', remove: { kind: 'eq', field: ID, value: last._id } }], {})
  expect((await reading).found).toEqual(idsOf(former))
  expect(await written).toMatchObject({ ok: true })
})
