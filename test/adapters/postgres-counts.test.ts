import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { everything } from '../../src/core/filter/filter.js'
import type { ListQuery, StorageAdapter } from '../../src/core/storage.js'
import { useCaches } from '../support/caches.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { documentsTo, insert, N, ref } from '../support/things.js'
import { until } from '../support/until.js'
import { type Sent, watchPool } from '../support/watched-pool.js'

/** Counts that arrive together are one statement, and each is answered as if it had come alone. */

const text = ref('text', 'string')
const plan = { name: 'things', indexes: [{ fields: [N], unique: false }] }
const others = { name: 'others', indexes: [] }

// Reads are combined by their plan, which a cache holds.
useCaches()

const postgres = usePostgres()
let pool: pg.Pool
let client: pg.Client
let schema: string
let sent: Sent[]
let adapter: StorageAdapter

beforeAll(async () => {
  pool = newPool({ connectionString: postgres.url })
  client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
})

afterAll(async () => {
  await client.end()
  await pool.end()
})

beforeEach(async () => {
  schema = newSchema()
  const watched = watchPool(pool)
  adapter = createPostgresAdapter({ pool: watched.pool, schema })
  await adapter.open([plan])
  await adapter.write(documentsTo(100).map(insert), {})
  sent = watched.sent
  sent.length = 0
})

/** The locks that are held: a failed test leaves its own, which would block the `DROP SCHEMA`. */
const locks = new Set<() => Promise<void>>()

afterEach(async () => {
  for (const unlock of locks) await unlock()
  await adapter.close()
  await client.query(`DROP SCHEMA ${schema} CASCADE`)
})

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i)

const nextTurn = async () => new Promise((resolve) => setImmediate(resolve))
const pause = async (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** A list that may take long. */
const query: ListQuery = {
  filter: { kind: 'gte', field: ref('m', 'integer'), value: 0 },
  sort: [],
  skip: 0,
  limit: 5,
}

/** Statements that wait for a lock. */
async function findWaiting(): Promise<readonly number[]> {
  const text = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`
  return (await client.query(text, [schema])).rows.map(({ pid }) => pid)
}

/** Makes every statement on a collection wait, until what is returned is called. */
async function lock(collection = 'things'): Promise<() => Promise<void>> {
  const other = await pool.connect()
  await other.query(`BEGIN; LOCK TABLE ${schema}.c_${collection} IN ACCESS EXCLUSIVE MODE`)
  const unlock = async (): Promise<void> => {
    if (!locks.delete(unlock)) return
    await other.query('ROLLBACK')
    other.release()
  }
  locks.add(unlock)
  return unlock
}

const countFrom = async (value: number, of = adapter) =>
  of.count('things', { kind: 'gte', field: N, value }, {})
const countOf = async (value: string) => adapter.count('things', { kind: 'eq', field: text, value }, {})

test('are one statement for each four', async () => {
  expect(await Promise.all(range(10).map((i) => countFrom(i)))).toEqual(range(10).map((i) => 100 - i))
  expect(sent).toHaveLength(3)
})

test('are a statement each where they come one after another', async () => {
  for (const i of range(3)) expect(await countFrom(i)).toBe(100 - i)
  expect(sent).toHaveLength(3)
})

test('of the same are counted once', async () => {
  expect(await Promise.all([5, 7, 5, 5].map((i) => countFrom(i)))).toEqual([95, 93, 95, 95])
  expect(sent.map(({ values }) => values)).toEqual([[5, 7]])
})

test('of any texts are those of each alone', async () => {
  const texts = ['text 3', '"', "'", '\\', '{}', 'NULL', '', 'text 99']
  expect(await Promise.all(texts.map(countOf))).toEqual([1, 0, 0, 0, 0, 0, 0, 1])
  expect(sent).toHaveLength(2)
})

test('by different conditions are a statement for each', async () => {
  expect(await Promise.all([countFrom(90), countOf('text 3'), countFrom(80)])).toEqual([10, 1, 20])
  expect(sent).toHaveLength(2)
})

test('are counted one by one where one of them makes the statement fail', async () => {
  const [bad, good] = await Promise.allSettled([countOf('\u0000'), countOf('text 5')])
  expect(bad.status).toBe('rejected')
  expect(good).toEqual({ status: 'fulfilled', value: 1 })
})

test('are given up when they take long, and counted one by one for a while', async () => {
  // One that can be cancelled.
  const other = createPostgresAdapter({ pool, schema })
  await other.open([plan])
  const unlock = await lock()
  const counting = Promise.all(range(3).map((i) => countFrom(i, other)))
  await until(async () => (await findWaiting()).length === 1)
  await until(async () => (await findWaiting()).length === 3)
  const more = Promise.all([countFrom(3, other), countFrom(4, other)])
  await until(async () => (await findWaiting()).length > 3)
  await pause(200)
  expect(await findWaiting()).toHaveLength(5)
  await unlock()
  expect(await counting).toEqual([100, 99, 98])
  expect(await more).toEqual([97, 96])
})

test('wait for a connection as long as it takes, in their place', { timeout: 60_000 }, async () => {
  const small = newPool({ connectionString: postgres.url, max: 2 })
  const other = createPostgresAdapter({ pool: small, schema })
  await other.open([plan, others])
  const unlock = await lock('others')
  const done: string[] = []
  const note = async (name: string, work: unknown) => {
    await work
    done.push(name)
  }
  const all = [note('first', other.list('others', query))]
  await until(async () => (await findWaiting()).length === 1)
  // No index answers them, so they wait with what may be long.
  const field = ref('m', 'integer')
  const counts = range(3).map((value) => other.count('things', { kind: 'gte', field, value }, {}))
  all.push(...counts.map((count, i) => note(`count ${i}`, count)))
  // They are asked for at the end of the turn.
  await nextTurn()
  all.push(note('last', other.list('things', query)))
  await pause(900)
  await unlock()
  await Promise.all(all)
  expect(done).toEqual(['first', 'count 0', 'count 1', 'count 2', 'last'])
  await other.close()
  await small.end()
})

test('are not given up where many wait for a connection', { timeout: 60_000 }, async () => {
  const small = newPool({ connectionString: postgres.url, max: 4 })
  const other = createPostgresAdapter({ pool: small, schema })
  await other.open([plan, others])
  const [unlock, unlockOthers] = [await lock(), await lock('others')]
  const counting = Promise.all(range(4).map((i) => countFrom(i, other)))
  await until(async () => (await findWaiting()).length === 1)
  const lists = Promise.allSettled(range(400).map(async () => other.list('others', query)))
  await nextTurn()
  await unlock()
  expect(await counting).toEqual([100, 99, 98, 97])
  await unlockOthers()
  expect((await lists).some(({ status }) => status === 'rejected')).toBe(true)
  await other.close()
  await small.end()
})

test('go on together while the adapter closes', { timeout: 60_000 }, async () => {
  const other = createPostgresAdapter({ connectionString: postgres.url, schema })
  await other.open([plan])
  const unlock = await lock()
  const counting = Promise.all(range(4).map((i) => countFrom(i, other)))
  await until(async () => (await findWaiting()).length === 1)
  const closing = other.close()
  await pause(900)
  await unlock()
  expect(await counting).toEqual([100, 99, 98, 97])
  await closing
})

test('go on together where nobody can cancel them', { timeout: 60_000 }, async () => {
  const unlock = await lock()
  const counting = Promise.all(range(4).map((i) => countFrom(i)))
  await until(async () => (await findWaiting()).length === 1)
  await pause(900)
  expect(await findWaiting()).toHaveLength(1)
  await unlock()
  expect(await counting).toEqual([100, 99, 98, 97])
})

test('are cancelled under the clock of a test, too', { timeout: 60_000 }, async () => {
  const other = createPostgresAdapter({ pool, schema })
  await other.open([plan])
  const unlock = await lock()
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const leaving = new AbortController()
  const left = (async () => other.count('things', everything, { signal: leaving.signal }))()
  await until(async () => (await findWaiting()).length === 1)
  leaving.abort()
  await expect(left).rejects.toMatchObject({ code: 'storage_unavailable' })
  await until(async () => (await findWaiting()).length === 0)
  await unlock()
})

test('are given up for one who leaves, and go on for others', { timeout: 60_000 }, async () => {
  const other = createPostgresAdapter({ pool, schema })
  await other.open([plan])
  const unlock = await lock()
  const leaving = new AbortController()
  const filter = { kind: 'gte', field: N, value: 3 } as const
  const left = (async () => other.count('things', filter, { signal: leaving.signal }))()
  const stays = countFrom(4, other)
  await until(async () => (await findWaiting()).length === 1)
  leaving.abort()
  await expect(left).rejects.toMatchObject({ code: 'storage_unavailable' })
  await until(async () => (await findWaiting()).length === 1)
  await unlock()
  expect(await stays).toBe(96)
})
