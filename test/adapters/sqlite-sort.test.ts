import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createHeldKeys,
  FirstInOrder,
  HELD,
  type MatchingDocument,
} from '../../src/adapters/sqlite/read/read-list.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { compare } from '../../src/core/filter/compare.js'
import { type FieldRef, ID } from '../../src/core/filter/filter.js'
import { inOneSlice } from '../../src/core/slices.js'
import type { SortKey, StorageAdapter, StoredDocument, WriteStep } from '../../src/core/storage.js'

/** Texts that are ordered by more of them than is held in memory. */

const TEXT: FieldRef = { path: 'text', type: 'string', each: false }
const GROUP: FieldRef = { path: 'group', type: 'number', each: false }

/** Before and at the end of what is held: below, within and beyond the surrogates, and halves of a character. */
const CHARACTERS = ['', '\u0000', 'a', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '😁', '\u{10ffff}', '\ud83d']

const LONG = 5000

const texts: readonly (string | undefined)[] = [
  undefined,
  '',
  ...[HELD - 2, HELD - 1, HELD, HELD + 1, LONG].flatMap((length) =>
    ['x', 'é', '😀'].flatMap((filling) => {
      const beginning = filling.repeat(length).slice(0, length)
      return CHARACTERS.flatMap((end) => [`${beginning}${end}`, `${beginning}${end}${'y'.repeat(HELD)}`])
    }),
  ),
]

// Far from their order, and every text twice.
const documents: readonly StoredDocument[] = [...texts, ...texts].map((_, i, all) => {
  const text = all[(i * 7919) % all.length]
  return {
    _id: `id-${String((i * 31) % 1000).padStart(4, '0')}`,
    _version: 1,
    group: 1,
    ...(text === undefined ? {} : { text }),
  }
})

const insertOf = (document: StoredDocument): WriteStep => ({ in: 'things', insert: document })

function sorted(all: readonly StoredDocument[], descending: boolean): readonly string[] {
  const sign = descending ? -1 : 1
  const textOf = ({ text }: StoredDocument) => (typeof text === 'string' ? text : undefined)
  return all
    .toSorted((a, b) => sign * compare(textOf(a), textOf(b)) || compare(a._id, b._id))
    .map(({ _id }) => _id)
}

const sortBy = (descending: boolean): readonly SortKey[] => [
  { field: TEXT, descending },
  { field: ID, descending: false },
]

const idOf = (one: MatchingDocument | string): string => (typeof one === 'string' ? one : one.document._id)

let adapter: StorageAdapter

beforeAll(async () => {
  adapter = createSqliteAdapter({ file: ':memory:' })
  await adapter.open([{ name: 'things', indexes: [{ fields: [GROUP], unique: false }] }])
  expect(await adapter.write(documents.map(insertOf), {})).toMatchObject({ ok: true })
})
afterAll(() => adapter.close())

describe.each([
  ['ascending', false],
  ['descending', true],
])('%s', (_, descending) => {
  test.each([
    ['all', 0, null],
    ['a page', 100, 100],
    ['the first', 0, 1],
  ])('%s, in the order of whole texts', async (_, skip, limit) => {
    const parts = { sort: sortBy(descending), skip, limit }
    const expected = sorted(documents, descending).slice(skip, limit === null ? undefined : skip + limit)
    for (const filter of [
      { kind: 'and', filters: [] },
      { kind: 'eq', field: GROUP, value: 1 },
    ] as const) {
      const listed = await adapter.list('things', { filter, ...parts })
      expect(listed.map(({ _id }) => _id)).toEqual(expected)
    }
  })

  test('while more is dropped than is held, and none of it is long', () => {
    const many = Array.from({ length: 3000 }, (_, i) => ({
      _id: `id-${String((i * 7919) % 3000).padStart(4, '0')}`,
      _version: 1,
      text: `${'x'.repeat(LONG)}${(i * 104_729) % 613}`,
    }))
    const byId = new Map(many.map((document) => [document._id, document]))
    let reads = 0
    const keys = createHeldKeys(sortBy(descending), (id) => {
      reads += 1
      return byId.get(id) ?? { _id: id, _version: 0 }
    })
    const count = 100
    const ids = inOneSlice((slices) => {
      const first = new FirstInOrder(keys, count, slices)
      for (const document of many) first.add({ document, text: JSON.stringify(document) })
      return first.finish()
    })
    expect(ids.map(idOf)).toEqual(sorted(many, descending).slice(0, count))
    expect(reads).toBeGreaterThan(0)
    const held = keys.columns.flat().map((value) => (typeof value === 'string' ? value.length : 0))
    expect(Math.max(...held)).toBe(HELD)
    expect(keys.ids.length).toBeLessThanOrEqual(1025)
  })
})

test('texts that differ in their beginnings are not read again', () => {
  const keys = createHeldKeys(sortBy(false), () => expect.unreachable())
  const ids = inOneSlice((slices) => {
    const first = new FirstInOrder(keys, Number.POSITIVE_INFINITY, slices)
    for (const i of [3, 1, 2, 0]) {
      const document = { _id: `${i}`, _version: 1, text: `${i}`.padEnd(LONG, 'x') }
      first.add({ document, text: JSON.stringify(document) })
    }
    return first.finish()
  })
  expect(ids.map(idOf)).toEqual(['0', '1', '2', '3'])
})

test('of documents that are large together, ids are held', () => {
  const keys = createHeldKeys([{ field: ID, descending: true }], () => expect.unreachable())
  const found = inOneSlice((slices) => {
    const first = new FirstInOrder(keys, 3, slices)
    for (let i = 0; i < 2000; i++) {
      const document = { _id: `${10_000 + i}`, _version: 1 }
      first.add({ document, text: 'x'.repeat(i === 0 ? 2 ** 20 : 2 ** 19) })
    }
    return first.finish()
  })
  expect(found.map(idOf)).toEqual(['11999', '11998', '11997'])
  expect(found.map((one) => typeof one)).toContain('string')
})
