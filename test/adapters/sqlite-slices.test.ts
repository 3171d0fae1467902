import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { everything, type FieldRef, type Filter, ID, isId } from '../../src/core/filter/filter.js'
import { parsePattern } from '../../src/core/filter/pattern/parse-pattern.js'
import type { ListQuery, StorageAdapter, StoredDocument, WriteStep } from '../../src/core/storage.js'

/** No read and no write takes the process for long: counted in turns of the event loop, never in time. */

const ref = (path: string, type: FieldRef['type'], each = false): FieldRef => ({ path, type, each })
const N = ref('n', 'number')
const M = ref('m', 'number')
const S = ref('s', 'string')
const TAGS = ref('tags', 'string', true)

const SIZE = 30_000

const documents: readonly StoredDocument[] = Array.from({ length: SIZE }, (_, i) => ({
  _id: `id-${String(i).padStart(6, '0')}`,
  _version: 1,
  n: (i * 7919) % SIZE,
  m: (i * 31) % 1009,
  s: `text ${i % 17}`,
  tags: ['a', `t${i % 50}`],
}))

let folder = ''
let file = ''
let adapter: StorageAdapter

const plans = [{ name: 'things', indexes: [{ fields: [N], unique: false }] }]

const insertOf = (document: StoredDocument): WriteStep => ({ in: 'things', insert: document })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-slices-'))
  file = join(folder, 'data.db')
  adapter = createSqliteAdapter({ file })
  await adapter.open(plans)
  for (let i = 0; i < SIZE; i += 5000) await adapter.write(documents.slice(i, i + 5000).map(insertOf), {})
})

afterAll(async () => {
  await adapter.close()
  await rm(folder, { recursive: true, force: true })
})

const queryOf = (parts: Partial<ListQuery>): ListQuery => ({
  filter: everything,
  sort: [],
  skip: 0,
  limit: null,
  ...parts,
})
const by = (...fields: readonly FieldRef[]) => fields.map((field) => ({ field, descending: false }))

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Work under way, with the turns that everything else has had meanwhile. */
function watch<T>(work: T | Promise<T>) {
  const seen = { turns: 0, isOver: false, work: Promise.resolve(work) }
  const end = (): void => {
    seen.isOver = true
  }
  seen.work.then(end, end)
  const count = async (): Promise<void> => {
    while (!seen.isOver) {
      await turn()
      seen.turns += 1
    }
  }
  void count()
  return seen
}

async function turnsOf(work: unknown): Promise<number> {
  const seen = watch(work)
  await seen.work
  return seen.turns
}

const sixty: Filter = {
  kind: 'or',
  filters: Array.from({ length: 60 }, (_, i): Filter => ({ kind: 'lt', field: M, value: -i - 1 })),
}
const pattern: Filter = {
  kind: 'match',
  field: S,
  pattern: parsePattern('9[0-9]+$', { ignoreCase: false }),
}
const long = queryOf({ sort: by(M, ID) })

/** What looks at every document: each takes some 2 µs at least, and a turn 10 ms at most. */
const LEAST_TURNS = 3

describe('what no index answers', () => {
  test.each<[what: string, read: () => unknown]>([
    ['sixty conditions', () => adapter.list('things', queryOf({ filter: sixty, limit: 20 }))],
    ['sixty conditions, counted', () => adapter.count('things', sixty, {})],
    ['a pattern', () => adapter.list('things', queryOf({ filter: pattern, limit: 20 }))],
    ['a pattern, counted', () => adapter.count('things', pattern, {})],
    ['an order', () => adapter.list('things', long)],
    ['the first few of an order', () => adapter.list('things', queryOf({ sort: by(M, ID), limit: 20 }))],
    [
      'late ones of an order',
      () => adapter.list('things', queryOf({ sort: by(M, ID), skip: 20_000, limit: 9 })),
    ],
    [
      'a condition in the order of an index',
      () => adapter.list('things', queryOf({ filter: sixty, sort: by(N, ID), limit: 20 })),
    ],
    ['everything', () => adapter.list('things', queryOf({ sort: by(ID) }))],
    ['a condition on elements', () => adapter.count('things', { kind: 'eq', field: TAGS, value: 'x' }, {})],
    [
      'what a write refuses',
      () => adapter.write([{ in: 'things', refuse: { kind: 'eq', field: TAGS, value: 'x' } }], {}),
    ],
  ])('lets others have their turns: %s', async (_, read) => {
    expect(await turnsOf(read())).toBeGreaterThanOrEqual(LEAST_TURNS)
  })

  test('is what one moment held, and hinders no write', async () => {
    const listing = watch(adapter.list('things', long))
    await turn()
    const [first, second] = documents
    const added = { _id: 'id-new', _version: 1, m: 1 }
    const changes: readonly WriteStep[] = [
      { in: 'things', remove: isId(first?._id ?? '') },
      { in: 'things', replace: { _id: second?._id ?? '', _version: 2, m: -1 }, version: 1 },
      insertOf(added),
    ]
    expect(await adapter.write(changes, {})).toEqual({ ok: true, removed: 1 })
    expect(listing.isOver).toBe(false)
    const listed = await listing.work
    expect(listed).toHaveLength(SIZE)
    expect(new Map(listed.map((document) => [document._id, document])).get(second?._id ?? '')).toEqual(second)
    expect(await adapter.count('things', { kind: 'gt', field: M, value: -2 }, {})).toBe(SIZE)
    const back: readonly WriteStep[] = [
      { in: 'things', remove: isId(added._id) },
      { in: 'things', remove: isId(second?._id ?? '') },
      ...documents.slice(0, 2).map(insertOf),
    ]
    expect(await adapter.write(back, {})).toMatchObject({ ok: true })
  })

  test('holds up no read that an index answers, twenty at once', async () => {
    const all = Array.from({ length: 20 }, () => watch(adapter.count('things', sixty, {})))
    for (let i = 0; i < 10; i++) {
      await turn()
      const found = adapter.list('things', queryOf({ filter: isId('id-000007'), limit: 1 }))
      expect(found).toEqual([documents[7]])
    }
    expect(await Promise.all(all.map(({ work }) => work))).toEqual(all.map(() => 0))
  })

  test('ends when it is aborted, under way or waiting, and leaves its connection to others', async () => {
    for (let round = 0; round < 3; round++) {
      const controllers = Array.from({ length: 12 }, () => new AbortController())
      const all = controllers.map(({ signal }) => adapter.list('things', { ...long, signal }))
      await turn()
      for (const controller of controllers) controller.abort()
      const ends = await Promise.allSettled(all)
      expect(ends.map(({ status }) => status)).toEqual(all.map(() => 'rejected'))
    }
    expect(await adapter.list('things', long)).toHaveLength(SIZE)
  })

  test('is over before the adapter is closed', async () => {
    const other = createSqliteAdapter({ file })
    await other.open(plans)
    const listing = other.list('things', long)
    await other.close()
    expect(await listing).toHaveLength(SIZE)
  })
})

describe('what an index answers', () => {
  test.each<[what: string, read: () => unknown]>([
    ['a document', () => adapter.list('things', queryOf({ filter: isId('id-000007'), limit: 1 }))],
    ['a page', () => adapter.list('things', queryOf({ sort: by(N, ID), limit: 500 }))],
    [
      'a range',
      () => adapter.list('things', queryOf({ filter: { kind: 'gt', field: N, value: 9 }, limit: 20 })),
    ],
    ['a count', () => adapter.count('things', { kind: 'gt', field: N, value: 10_000 }, {})],
    ['a count of everything', () => adapter.count('things', everything, {})],
  ])('comes at once: %s', (_, read) => expect(read()).not.toBeInstanceOf(Promise))
})

describe('a long write', () => {
  const many = Array.from({ length: 10_000 }, (_, i): WriteStep => insertOf({ _id: `new-${i}`, _version: 1 }))
  const undo: WriteStep = { in: 'things', remove: { kind: 'gte', field: ID, value: 'new-' } }

  test('lets others have their turns, and shows them nothing before it is over', async () => {
    const writing = watch(adapter.write(many, {}))
    let looked = 0
    while (!writing.isOver) {
      const found = await adapter.count('things', { kind: 'gte', field: ID, value: 'new-' }, {})
      if (!writing.isOver) expect(found).toBe(0)
      looked += 1
      await turn()
    }
    expect(looked).toBeGreaterThan(LEAST_TURNS)
    expect(await writing.work).toEqual({ ok: true, removed: 0 })
    expect(await adapter.write([undo], {})).toEqual({ ok: true, removed: many.length })
  })

  test('does not stand in the way of opening once more', async () => {
    const writing = adapter.write(many, {})
    await turn()
    await adapter.open([...plans, { name: 'others', indexes: [] }])
    expect(await writing).toMatchObject({ ok: true })
    expect(await adapter.write([undo], {})).toMatchObject({ removed: many.length })
  })

  test('names the step of the id that is missing, of many', async () => {
    const steps = documents.slice(0, 10_000).map(({ _id }): WriteStep => ({ in: 'things', require: _id }))
    expect(await adapter.write(steps, {})).toEqual({ ok: true, removed: 0 })
    const broken = steps.map((step, i) =>
      i === 7777 || i === 9000 ? { in: 'things', require: 'nobody' } : step,
    )
    expect(await adapter.write(broken, {})).toEqual({ ok: false, step: 7777, reason: 'missing' })
  })
})

describe('what a write refuses, where no index answers it', () => {
  const refuse = (value: string): WriteStep => ({ in: 'things', refuse: { kind: 'eq', field: TAGS, value } })
  const found = { ok: false, step: 0, reason: 'found' }
  const remove = (_id: string) => adapter.write([{ in: 'things', remove: isId(_id) }], {})

  test('is found', async () => {
    expect(await adapter.write([refuse('t7')], {})).toEqual(found)
    expect(await adapter.write([refuse('t77')], {})).toEqual({ ok: true, removed: 0 })
  })

  test('is found where it is written by the same write, or removed by it', async () => {
    const own = insertOf({ _id: 'own', _version: 1, tags: ['own'] })
    expect(await adapter.write([own, refuse('own')], {})).toEqual({ ...found, step: 1 })
    expect(await adapter.write([own], {})).toMatchObject({ ok: true })
    const gone = { in: 'things', remove: isId('own') }
    expect(await adapter.write([gone, refuse('own')], {})).toEqual({ ok: true, removed: 1 })
  })

  test('is found where it came while it was looked for', async () => {
    const refusing = watch(adapter.write([refuse('late')], {}))
    await turn()
    await adapter.write([insertOf({ _id: 'late', _version: 1, tags: ['late'] })], {})
    expect(refusing.isOver).toBe(false)
    expect(await refusing.work).toEqual(found)
    await remove('late')
  })

  test('is found where another process wrote it meanwhile', async () => {
    const other = new Database(file)
    const refusing = watch(adapter.write([refuse('foreign')], {}))
    await turn()
    other
      .prepare('INSERT INTO c_things (_id, document) VALUES (?, ?)')
      .run('foreign', JSON.stringify({ _id: 'foreign', _version: 1, tags: ['foreign'] }))
    other.close()
    expect(refusing.isOver).toBe(false)
    expect(await refusing.work).toEqual(found)
    await remove('foreign')
  })

  test('is not found where it was replaced while it was looked for', async () => {
    await adapter.write([insertOf({ _id: 'early', _version: 1, tags: ['early'] })], {})
    const refusing = watch(adapter.write([refuse('early')], {}))
    await turn()
    await adapter.write([{ in: 'things', replace: { _id: 'early', _version: 2 }, version: 1 }], {})
    expect(refusing.isOver).toBe(false)
    expect(await refusing.work).toEqual({ ok: true, removed: 0 })
    await remove('early')
  })
})

describe('a write of documents with many elements', () => {
  const ids = Array.from({ length: 200 }, (_, i) => `full-${i}`)
  const arrays = [{ name: 'arrays', indexes: [{ fields: [TAGS], unique: false }] }]
  const fill = (): Promise<unknown> => {
    const steps = ids.map((_id, i): WriteStep => {
      const tags = Array.from({ length: 500 }, (_, place) => `t${(i + place * 7) % 4000}`)
      return { in: 'arrays', insert: { _id, _version: 1, tags: [...tags, 'all'] } }
    })
    return Promise.resolve(adapter.write(steps, {}))
  }
  const named: Filter = { kind: 'or', filters: ids.map(isId) }

  test.each<[what: string, remove: Filter]>([
    ['by their ids', named],
    ['by an element', { kind: 'eq', field: TAGS, value: 'all' }],
  ])('lets others have their turns, also where it removes them %s', async (_, remove) => {
    await adapter.open(arrays)
    expect(await turnsOf(fill())).toBeGreaterThanOrEqual(20)
    const removing = watch(adapter.write([{ in: 'arrays', remove }], {}))
    expect(await removing.work).toEqual({ ok: true, removed: ids.length })
    expect(removing.turns).toBeGreaterThanOrEqual(20)
  })
})

test('a write that waits for another process is known not to have happened once its caller has left', async () => {
  const other = new Database(file)
  other.exec('BEGIN IMMEDIATE')
  const leaving = new AbortController()
  const late = insertOf({ _id: 'late', _version: 1 })
  const writing = adapter.write([late], { signal: leaving.signal })
  for (let turns = 0; turns < 3; turns++) await turn()
  leaving.abort()
  await expect(writing).rejects.toMatchObject({ code: 'storage_unavailable' })
  other.exec('ROLLBACK')
  other.close()
  expect(await adapter.write([{ in: 'things', refuse: isId('late') }], {})).toEqual({ ok: true, removed: 0 })
})

describe('large documents', () => {
  test('are streamed some at a time, none twice', async () => {
    const large = createSqliteAdapter({ file: ':memory:' })
    await large.open([{ name: 'things', indexes: [] }])
    const sizes = Array.from({ length: 40 }, (_, i) => (i % 5 === 0 ? 2_000_000 : 200_000))
    for (const [i, size] of sizes.entries())
      await large.write([insertOf({ _id: `id-${100 + i}`, _version: 1, m: -i, s: 'x'.repeat(size) })], {})
    const ids: string[] = []
    for await (const batch of large.stream?.('things', long) ?? []) {
      const bytes = batch.reduce((sum, document) => sum + JSON.stringify(document).length, 0)
      expect(batch.length === 1 || bytes <= 2 ** 20).toBe(true)
      ids.push(...batch.map(({ _id }) => _id))
    }
    expect(ids).toEqual(sizes.map((_, i) => `id-${100 + i}`).reverse())
    await large.close()
  })
})
