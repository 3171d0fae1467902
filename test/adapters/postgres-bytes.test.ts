import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { and, everything, type FieldRef, type Filter, isId, or } from '../../src/core/filter/filter.js'
import type { CollectionPlan, ListQuery, StorageAdapter, StoredDocument } from '../../src/core/storage.js'
import { useCaches } from '../support/caches.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { type Sent, watchPool } from '../support/watched-pool.js'

const ref = (path: string, type: FieldRef['type']): FieldRef => ({ path, type, each: false })
const text = ref('text', 'string')
const n = ref('n', 'integer')
const byN = [{ field: n, descending: false }]

const plan: CollectionPlan = { name: 'things', indexes: [{ fields: [n], unique: false }] }

/** Text that does not become smaller where it is stored. */
const noise = (length: number): string =>
  Array.from({ length }, (_, i) => String.fromCharCode(33 + ((i * i * 7919 + i * 104_729) % 90))).join('')

const SIZES = [0, 10, 1000, 3000, 30_000, 180_000]

/** Documents of every size, in an order that mixes them; half of them are stored small, whatever their size. */
const documents: readonly StoredDocument[] = Array.from({ length: 60 }, (_, i) => {
  const size = SIZES[(i * 7) % SIZES.length] ?? 0
  return {
    _id: `id-${(i * 37) % 60}`,
    _version: 1,
    n: i,
    // What is one character in JSON and three hundred in PostgreSQL's words for it.
    odd: i % 5 === 0 ? Array.from({ length: 50 }, () => 1e308) : [],
    text: i % 2 === 0 ? 'x'.repeat(size) : noise(size),
  }
})

const isText = (pattern: Extract<Filter, { kind: 'match' }>['pattern']): Filter => ({
  kind: 'match',
  field: text,
  pattern,
})

const x: Filter = isText({ kind: 'text', text: 'x' })

/** What PostgreSQL has no words for, so that the core has to read. */
const unsayable: Filter = isText({ kind: 'repeat', part: { kind: 'text', text: 'x' }, min: 256, max: null })

const sizeOf = (listed: readonly StoredDocument[]): number =>
  listed.reduce((sum, document) => sum + Buffer.byteLength(JSON.stringify(document)), 0)

const postgres = usePostgres()
const schema = newSchema()
let pool: pg.Pool
let sent: Sent[]
let adapter: StorageAdapter

beforeAll(async () => {
  pool = newPool({ connectionString: postgres.url })
  const watched = watchPool(pool)
  sent = watched.sent
  adapter = createPostgresAdapter({ pool: watched.pool, schema })
  await adapter.open([plan])
  await adapter.write(
    documents.map((insert) => ({ in: 'things', insert })),
    {},
  )
})

afterAll(async () => {
  await adapter.close()
  await pool.end()
})

const filters: readonly (readonly [what: string, filter: Filter])[] = [
  ['everything', everything],
  ['ids', or(documents.slice(10, 40).map(({ _id }) => isId(_id)))],
  ['a pattern', x],
  ['what the core has to match', unsayable],
  ['what the core has to match, of ids', and([or(documents.map(({ _id }) => isId(_id))), unsayable])],
]

const pages: readonly (readonly [skip: number, limit: number | null])[] = [
  [0, null],
  [0, 1],
  [0, 21],
  [5, 1000],
  [50, 50],
]

describe.each(filters)('a list of %s', (_, filter) => {
  test.each(pages)('from %s, at most %s, is complete in however few bytes', async (skip, limit) => {
    for (const sort of [byN, [...byN, { field: ref('_id', 'string'), descending: false }]]) {
      const query: ListQuery = { filter, sort, skip, limit }
      const whole = await adapter.list('things', query)
      expect('rest' in whole).toBe(false)
      for (const bytes of [1, 2000, 100_000, 2 ** 20, 2 ** 24]) {
        const listed = await adapter.list('things', { ...query, bytes })
        expect([...listed.map(({ _id }) => _id), ...(listed.rest ?? [])]).toEqual(whole.map(({ _id }) => _id))
        expect([...listed]).toEqual(whole.slice(0, listed.length))
        expect(listed.length).toBeGreaterThanOrEqual(Math.min(1, whole.length))
        if (listed.length > 1) expect(sizeOf(listed)).toBeLessThanOrEqual(bytes)
        if (sizeOf(whole) <= bytes / 100) expect(listed.rest).toBeUndefined()
      }
    }
  })

  test('is streamed in batches of one MiB, or of one document', async () => {
    const query: ListQuery = { filter, sort: byN, skip: 0, limit: null }
    const whole = await adapter.list('things', query)
    const batches: (readonly StoredDocument[])[] = []
    for await (const batch of adapter.stream?.('things', query) ?? []) batches.push(batch)
    expect(batches.flat()).toEqual([...whole])
    for (const batch of batches) if (batch.length > 1) expect(sizeOf(batch)).toBeLessThanOrEqual(2 ** 20)
  })

  test('is counted', async () => {
    const whole = await adapter.list('things', { filter, sort: [], skip: 0, limit: null })
    expect(await adapter.count('things', filter, {})).toBe(whole.length)
  })
})

describe('what comes from the server', () => {
  // A page too large for one statement is remembered with its plan.
  useCaches()

  const watch = async (work: () => unknown): Promise<readonly Sent[]> => {
    sent.length = 0
    await work()
    return sent.splice(0)
  }

  test('is one statement for a page of small documents', async () => {
    const small: Filter = {
      kind: 'or',
      filters: documents.filter(({ text }) => `${text}`.length < 3000).map(({ _id }) => isId(_id)),
    }
    const query = { filter: small, sort: byN, skip: 0, limit: 21, bytes: 2 ** 24 }
    expect(await watch(() => adapter.list('things', query))).toHaveLength(1)
    expect(await watch(() => adapter.list('things', { ...query, limit: 1 }))).toHaveLength(1)
    expect(await watch(() => adapter.list('things', { ...query, limit: 51 }))).toHaveLength(1)
  })

  test('is one statement for a page of many small documents; one that is too large is not tried each time', async () => {
    const read = async (from: number, to: number): Promise<number> => {
      const filter = and([
        { kind: 'gte', field: n, value: from },
        { kind: 'lt', field: n, value: to },
      ])
      const query = { filter, sort: byN, skip: 0, limit: 1501, bytes: 2 ** 20 }
      const statements = await watch(async () => {
        const listed = await adapter.list('things', query)
        expect(listed).toEqual(documents.slice(from, to))
      })
      return statements.length
    }
    const [small, large] = [() => read(1, 3), () => read(3, 5)]
    expect([await small(), await small(), await large()]).toEqual([1, 1, 2])
    for (let i = 0; i < 15; i++) expect(await large()).toBe(1)
    expect([await large(), await small()]).toEqual([2, 1])
  })

  test('is never more than the bytes that were asked for, or one document', async () => {
    for (const bytes of [1, 100_000, 2 ** 20]) {
      const query = { filter: everything, sort: byN, skip: 0, limit: null, bytes }
      for (const { size } of await watch(() => adapter.list('things', query)))
        expect(size).toBeLessThanOrEqual(Math.max(bytes, 320_000) + 2000)
    }
  })

  test('is never more than one MiB where the core reads, or streams', async () => {
    const works = [
      () => adapter.count('things', unsayable, {}),
      () => adapter.list('things', { filter: unsayable, sort: byN, skip: 0, limit: null }),
      async () => {
        const query = { filter: everything, sort: byN, skip: 0, limit: null }
        for await (const _ of adapter.stream?.('things', query) ?? []);
      },
    ]
    for (const work of works) {
      const statements = await watch(work)
      expect(statements.length).toBeGreaterThan(3)
      for (const { size } of statements) expect(size).toBeLessThanOrEqual(2 ** 20 + 2000)
    }
  })

  test('is one statement with one value for ten thousand ids', async () => {
    const ids = Array.from({ length: 10_000 }, (_, i) => isId(`id-${i}`))
    const query = { filter: or(ids), sort: [], skip: 0, limit: null, bytes: 2 ** 24 }
    const statements = await watch(async () => expect(await adapter.list('things', query)).toHaveLength(60))
    expect(statements).toHaveLength(1)
    expect(statements[0]?.values).toHaveLength(2)
  })

  test('is a handful of statements for a write that requires ten thousand documents', async () => {
    const insert = (_id: string) => ({ in: 'things', insert: { _id, _version: 1 } })
    await pool.query(
      `INSERT INTO ${schema}.c_things SELECT 'new-' || i, '{"_version": 1}' FROM generate_series(0, 9999) AS i`,
    )
    const requires = Array.from({ length: 10_000 }, (_, i) => ({ in: 'things', require: `new-${i}` }))
    const statements = await watch(async () => {
      expect(await adapter.write([...requires, insert('more')], {})).toEqual({ ok: true, removed: 0 })
    })
    expect(statements.length).toBeLessThanOrEqual(4)
  })
})

describe('documents that a write requires', () => {
  const insert = (_id: string) => ({ in: 'things', insert: { _id, _version: 1 } })
  const require = (id: string) => ({ in: 'things', require: id })
  const remove = (id: string) => ({ in: 'things', remove: isId(id) })

  test.each([
    ['the first that is missing is named', [require('id-1'), require('no'), require('none')], 1],
    ['what is wrong before is named first', [require('id-1'), insert('id-2'), require('no')], 1],
    ['what is wrong behind is not', [require('no'), insert('id-2')], 0],
    ['a removed one is missing', [require('id-3'), remove('id-3'), require('id-3')], 2],
    ['one that is never there is missing behind a removal', [remove('id-3'), require('no')], 1],
  ])('%s', async (_, steps, step) => {
    expect(await adapter.write(steps, {})).toMatchObject({ ok: false, step })
    expect(await adapter.count('things', isId('id-3'), {})).toBe(1)
  })

  test('one that was inserted before is there', async () => {
    const steps = [insert('fresh'), require('fresh'), require('id-1'), remove('fresh')]
    expect(await adapter.write(steps, {})).toEqual({ ok: true, removed: 1 })
  })
})
