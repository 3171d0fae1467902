import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { PostgresPool } from '../../src/adapters/postgres/connection/pool.js'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { everything, type Filter, ID, isId } from '../../src/filter/filter.js'
import { createMemoryAdapter } from '../../src/index.js'
import type { ListQuery, StorageAdapter, WriteStep } from '../../src/storage.js'
import { createRandom } from '../../src/testing/adapter/fuzz/random.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { documentOf, documentsTo, idOf, insert, isFrozen, N, remove, replace } from '../support/things.js'
import { type Sent, watchPool } from '../support/watched-pool.js'

/** Documents of lists that were read stay in memory, and are never other than those in the database. */

const plans = [{ name: 'things', indexes: [{ fields: [N], unique: false }] }]
const byNumber = [N, ID].map((field) => ({ field, descending: false }))
const query: ListQuery = { filter: everything, sort: byNumber, skip: 0, limit: 100, bytes: 2 ** 20 }

const postgres = usePostgres()
let pool: pg.Pool
let sent: Sent[]
/** Gives the statement that is sent in the place of another. */
let before: (text: string) => Promise<string> | string
let adapter: StorageAdapter
let schema: string

const hooked = (inner: PostgresPool): PostgresPool => ({
  get waitingCount() {
    return inner.waitingCount
  },
  async connect() {
    const client = await inner.connect()
    return {
      async query(asked) {
        return client.query({ ...asked, text: await before(asked.text) })
      },
      on: (event, listener) => client.on(event, listener),
      removeListener: (event, listener) => client.removeListener(event, listener),
      release: (destroy) => client.release(destroy),
    }
  },
})

const open = async (): Promise<StorageAdapter> => {
  const watched = watchPool(pool)
  sent = watched.sent
  const opened = createPostgresAdapter({ pool: hooked(watched.pool), schema })
  await opened.open(plans)
  return opened
}

beforeAll(() => {
  pool = newPool({ connectionString: postgres.url })
})

beforeEach(async () => {
  before = (text) => text
  schema = newSchema()
  adapter = await open()
  await adapter.write(documentsTo(60).map(insert), {})
})

afterEach(() => adapter.close())

afterAll(() => pool.end())

const list = async (of = adapter) => of.list('things', query)
/** From the second reading on, the documents of a list are kept. */
const readTwice = async () => {
  await list()
  return list()
}
/** The number of statements of some work. */
const statementsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const from = sent.length
  await work()
  return sent.length - from
}
/** Makes a change past the adapter. */
const byHand = (text: string, values: readonly unknown[] = []) =>
  pool.query(text.replaceAll('things', `"${schema}"."things"`), [...values])

describe('what was read', () => {
  test('is not read again, and nobody can change it', async () => {
    const first = await readTwice()
    const from = sent.length
    const again = await list()
    expect(again).toHaveLength(60)
    expect(again.every((document, i) => document === first[i])).toBe(true)
    expect(isFrozen([...again])).toBe(false)
    expect(again.every(isFrozen)).toBe(true)
    expect(sent.slice(from).map(({ size }) => size < 2000)).toEqual([true])
  })

  test('is read again where it is another: only that, and with it what is new', async () => {
    const first = await readTwice()
    await adapter.write([replace(documentOf(3, 33, 2)), insert(documentOf(70, 70))], {})
    const from = sent.length
    const again = await list()
    expect(again).toEqual(
      [...first.filter(({ _id }) => _id !== idOf(3)), documentOf(3, 33, 2), documentOf(70, 70)].sort(
        (a, b) => Number(a.n) - Number(b.n) || (a._id < b._id ? -1 : 1),
      ),
    )
    expect(again[0]).toBe(first[0])
    expect(sent.slice(from).map(({ size }) => size < 2000)).toEqual([true, true])
    expect(await statementsOf(list)).toBe(1)
  })

  test('is another once somebody has changed it by hand, whatever its version', async () => {
    await readTwice()
    await byHand('UPDATE things SET document = $1 WHERE _id = $2', [documentOf(0, 0.5), idOf(0)])
    expect((await list())[0]).toEqual(documentOf(0, 0.5))
    await byHand('DELETE FROM things WHERE _id = $1', [idOf(0)])
    expect((await list())[0]).toEqual(documentOf(1, 1))
    await byHand('INSERT INTO things VALUES ($1, $2)', [idOf(0), documentOf(0, 0.7)])
    expect((await list())[0]).toEqual(documentOf(0, 0.7))
  })

  test('is another once its table was emptied and filled again', async () => {
    await readTwice()
    await adapter.write([remove(everything)], {})
    expect(await list()).toEqual([])
    await adapter.write(
      Array.from({ length: 60 }, (_, i) => insert(documentOf(i, 100 - i))),
      {},
    )
    expect((await list()).map(({ n }) => n)).toEqual(Array.from({ length: 60 }, (_, i) => 41 + i))
  })

  test('is the same after its table was written anew as it is', async () => {
    const first = await readTwice()
    await byHand('VACUUM FULL things')
    const again = await list()
    expect(again.every((document, i) => document === first[i])).toBe(true)
  })

  test.each([
    ['is changed', `UPDATE things SET document = document || '{"n":1000}' WHERE _id = $1`],
    ['is removed', 'DELETE FROM things WHERE _id = $1'],
  ])('is of one moment, though one that is missing %s before it is read, with another', async (_, change) => {
    await readTwice()
    await adapter.write([replace(documentOf(3, 33, 2))], {})
    before = async (text) => {
      if (!text.includes('unnest')) return text
      before = (text) => text
      const other = `UPDATE things SET document = document || '{"n":1000}' WHERE _id = $2`
      await byHand(`WITH one AS (${change} RETURNING 1) ${other}`, [idOf(3), idOf(4)])
      return text
    }
    const again = await list()
    expect(again.find(({ _id }) => _id === idOf(4))?.n).toBe(1000)
    expect(again.find(({ _id }) => _id === idOf(3))?.n ?? 1000).toBe(1000)
    expect(await list()).toEqual(again)
  })
})

test('of a list that was read once, or changes each time, little more is asked than itself', async () => {
  expect(await statementsOf(list)).toBe(1)
  const changed = async (): Promise<number> => {
    await byHand("UPDATE things SET document = document || '{}'")
    return statementsOf(list)
  }
  // Eight times it is looked for in vain.
  for (let round = 0; round < 8; round++) expect(await changed()).toBe(2)
  for (let round = 0; round < 64; round++) expect(await changed()).toBe(1)
  expect(await changed()).toBe(2)
  expect(sent.some(({ text }) => text.includes('unnest'))).toBe(false)
})

test('two writers never see what is past', async () => {
  const other = await open()
  const model = createMemoryAdapter()
  await model.open(plans)
  await model.write((await list()).map(insert), {})
  const random = createRandom(7)
  const versions = new Map<number, number>()
  for (let round = 0; round < 300; round++) {
    const writer = random.pick([adapter, other])
    const i = random.integer(0, 70)
    const version = (versions.get(i) ?? 1) + 1
    const step = random.pick<WriteStep>([
      insert(documentOf(i, random.integer(0, 9), version)),
      { in: 'things', replace: documentOf(i, random.integer(0, 9), version), version: version - 1 },
      remove(isId(idOf(i))),
    ])
    const result = await writer.write([step], {})
    expect(await model.write([step], {})).toEqual(result)
    if (result.ok && !('remove' in step)) versions.set(i, version)
    const filter = random.pick<Filter>([everything, { kind: 'gt', field: N, value: random.integer(0, 9) }])
    const parts = { ...query, filter, limit: random.pick([40, 100]) }
    const expected = await model.list('things', parts)
    for (const reader of [adapter, other]) expect(await reader.list('things', parts)).toEqual(expected)
  }
  await other.close()
})

describe('another server', () => {
  const other = (text: string): string =>
    text.replaceAll('pg_postmaster_start_time()', "timestamptz '2001-01-01'")

  test('has other documents, whatever their stamps', async () => {
    const first = await readTwice()
    before = other
    expect(await statementsOf(list)).toBe(2)
    const again = await list()
    expect(again).toEqual([...first])
    expect(again.some((document) => first.includes(document))).toBe(false)
  })

  test('does not give what the first one lacks', async () => {
    await readTwice()
    await adapter.write([replace(documentOf(3, 33, 2))], {})
    before = (text) => (text.includes('unnest') ? other(text) : text)
    expect(await statementsOf(list)).toBe(3)
  })
})
