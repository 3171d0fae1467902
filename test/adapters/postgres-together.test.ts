import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { everything, type FieldRef, isId, or } from '../../src/core/filter/filter.js'
import type {
  CollectionPlan,
  ListQuery,
  StorageAdapter,
  StoredDocument,
  WriteStep,
} from '../../src/core/storage.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { useCaches } from '../support/caches.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { seedOf } from '../support/tier.js'
import { until } from '../support/until.js'
import { type Sent, watchPool } from '../support/watched-pool.js'

/** What arrives together is done together, and each is answered as if it had come alone. */

const ref = (path: string, type: FieldRef['type']): FieldRef => ({ path, type, each: false })
const n = ref('n', 'integer')
const [email, code] = [ref('email', 'string'), ref('code', 'string')]

const plan: CollectionPlan = {
  name: 'things',
  indexes: [
    { fields: [code], unique: true },
    { fields: [email], unique: true },
    { fields: [n], unique: false },
  ],
}

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

const documentOf = (i: number, more: object = {}): StoredDocument => ({
  _id: `id-${i}`,
  _version: 1,
  n: i,
  email: `${i}@example.com`,
  code: `code-${i}`,
  ...more,
})

const create = async (insert: StoredDocument, signal?: AbortSignal) =>
  adapter.write([{ in: 'things', insert }], signal ? { signal } : {})

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i)

const all: ListQuery = { filter: everything, sort: [], skip: 0, limit: null }

const storedIds = async (): Promise<readonly string[]> =>
  (await adapter.list('things', { ...all, sort: [{ field: n, descending: false }] })).map(({ _id }) => _id)

const done = { ok: true, removed: 0 }
const taken = (...fields: string[]) => ({ ok: false, step: 0, reason: 'unique', fields })

const inserts = (): readonly Sent[] => sent.filter(({ text }) => text.includes('INSERT INTO'))

/** Statements on the collection that wait for a lock. */
async function findWaiting(): Promise<readonly number[]> {
  const text = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`
  return (await client.query(text, [schema])).rows.map(({ pid }) => pid)
}

/** Makes every statement on the collection wait, until what is returned is called. */
async function lock(): Promise<() => Promise<void>> {
  const other = await pool.connect()
  await other.query(`BEGIN; LOCK TABLE ${schema}.c_things IN ACCESS EXCLUSIVE MODE`)
  const unlock = async (): Promise<void> => {
    if (!locks.delete(unlock)) return
    await other.query('ROLLBACK')
    other.release()
  }
  locks.add(unlock)
  return unlock
}

describe('creates that arrive together', () => {
  test('are one statement for each thirty-two', async () => {
    expect(await Promise.all(range(64).map((i) => create(documentOf(i))))).toEqual(range(64).map(() => done))
    expect(sent).toHaveLength(2)
    expect(await storedIds()).toEqual(range(64).map((i) => `id-${i}`))
  })

  test('are one statement each where they come one after another', async () => {
    for (const i of range(3)) expect(await create(documentOf(i))).toEqual(done)
    expect(sent).toHaveLength(3)
  })

  test('are answered as if they came one after another', async () => {
    await create(documentOf(0))
    const answers = await Promise.all([
      create(documentOf(1)),
      create(documentOf(2, { email: '0@example.com' })),
      create(documentOf(3, { email: '0@example.com', code: 'code-0' })),
      create(documentOf(4, { _id: 'id-0' })),
      create(documentOf(5, { email: '6@example.com' })),
      create(documentOf(6)),
      create(documentOf(7, { _id: 'id-1', code: 'code-1' })),
      create(documentOf(8)),
    ])
    expect(answers).toEqual([
      done,
      taken('email'),
      taken('code'),
      taken('_id'),
      done,
      taken('email'),
      taken('_id'),
      done,
    ])
    expect(await storedIds()).toEqual(['id-0', 'id-1', 'id-5', 'id-8'])
  })

  test('keep what they were given, whatever becomes of it', async () => {
    const documents = range(3).map((i) => ({ ...documentOf(i) }))
    const creating = documents.map((document) => create(document))
    for (const document of documents) Object.assign(document, { n: 99 })
    await Promise.all(creating)
    expect((await adapter.list('things', all)).map((document) => document.n).sort()).toEqual([0, 1, 2])
  })

  test('are done one by one where one of them makes the statement fail', async () => {
    const answers = await Promise.allSettled([
      create(documentOf(0)),
      create(documentOf(1, { text: '\u0000' })),
      create(documentOf(2)),
    ])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await storedIds()).toEqual(['id-0', 'id-2'])
  })

  test('do not wait for the value that one of them waits for', { timeout: 60_000 }, async () => {
    const other = await pool.connect()
    await other.query('BEGIN')
    await other.query(`INSERT INTO ${schema}.c_things VALUES ('other', $1)`, [{ email: '1@example.com' }])
    const [first, second, third] = range(3).map((i) => create(documentOf(i)))
    expect([await first, await third]).toEqual([done, done])
    await until(async () => (await findWaiting()).length === 1)
    await other.query('COMMIT')
    other.release()
    expect(await second).toEqual(taken('email'))
  })

  test('are all told when the connection is lost', { timeout: 60_000 }, async () => {
    const unlock = await lock()
    const creating = Promise.allSettled(range(5).map((i) => create(documentOf(i))))
    await until(async () => (await findWaiting()).length === 1)
    await client.query('SELECT pg_terminate_backend($1)', await findWaiting().then(([pid]) => [pid]))
    for (const answer of await creating)
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'outcome_unknown' } })
    await unlock()
    expect(await storedIds()).toEqual([])
  })

  test('go on when those who wait have left: they may be committing', { timeout: 60_000 }, async () => {
    // One that could be cancelled.
    adapter = createPostgresAdapter({ pool, schema })
    await adapter.open([plan])
    for (const stay of [true, false]) {
      const unlock = await lock()
      const [one, other] = [new AbortController(), new AbortController()]
      const first = create(documentOf(stay ? 0 : 2), one.signal)
      const second = create(documentOf(stay ? 1 : 3), other.signal)
      await until(async () => (await findWaiting()).length === 1)
      one.abort()
      await expect(first).rejects.toMatchObject({ code: 'outcome_unknown' })
      if (!stay) {
        other.abort()
        await expect(second).rejects.toMatchObject({ code: 'outcome_unknown' })
      }
      expect(await findWaiting()).toHaveLength(1)
      await unlock()
      if (stay) expect(await second).toEqual(done)
    }
    await until(async () => (await storedIds()).length === 4)
    expect(await storedIds()).toEqual(['id-0', 'id-1', 'id-2', 'id-3'])
  })

  test('are alone where they are large', async () => {
    const large = range(3).map((i) => documentOf(i, { text: 'x'.repeat(10_000) }))
    expect(await Promise.all(large.map((document) => create(document)))).toEqual([done, done, done])
    expect(inserts()).toHaveLength(3)
  })
})

describe('reads that arrive together', () => {
  beforeEach(async () => {
    await adapter.write(
      range(100).map((i) => ({ in: 'things', insert: documentOf(i) })),
      {},
    )
    sent.length = 0
  })

  const find = async (id: string) => adapter.list('things', { ...all, filter: isId(id), limit: 1 })
  const first = async (limit: number, descending: boolean) =>
    adapter.list('things', { ...all, sort: [{ field: n, descending }], limit, bytes: 2 ** 20 })

  test('of documents by _id are one statement', async () => {
    const ids = ['id-3', 'none', 'id-99', 'id-3', '"', '\\', '{}', 'NULL', '']
    const found = await Promise.all(ids.map(find))
    expect(found).toEqual(ids.map((id) => (/^id-/.test(id) ? [documentOf(Number(id.slice(3)))] : [])))
    expect(sent).toHaveLength(1)
    // What one caller does with a document is not seen by another.
    expect(found[0]?.[0]).not.toBe(found[3]?.[0])
  })

  test('of one page are read once', async () => {
    const found = await Promise.all(range(10).map(() => first(20, true)))
    expect(found).toEqual(range(10).map(() => range(20).map((i) => documentOf(99 - i))))
    expect(sent).toHaveLength(1)
  })

  test('of different pages are a statement for each', async () => {
    const found = await Promise.all([first(2, true), first(2, false), first(3, true), first(3, true)])
    expect(found.map(([document]) => document?.n)).toEqual([99, 0, 99, 99])
    expect(sent).toHaveLength(3)
  })

  test('leave a large document to who asks for it', async () => {
    // Random, so that it is stored as large as it is.
    const random = createRandom(seedOf(1))
    const text = range(2000)
      .map(() => random.next().toString(36))
      .join('')
    const large = documentOf(100, { text })
    await create(large)
    sent.length = 0
    expect(await Promise.all([find('id-100'), find('id-5')])).toEqual([[large], [documentOf(5)]])
    expect(sent).toHaveLength(2)
    expect(sent[0]?.size).toBeLessThan(1000)
  })

  test('are read one by one where one of them makes the statement fail', async () => {
    const [bad, good] = await Promise.allSettled([find('\u0000'), find('id-5')])
    expect(bad.status).toBe('rejected')
    expect(good).toEqual({ status: 'fulfilled', value: [documentOf(5)] })
  })

  test('go on while one of those who wait is left, and no longer', { timeout: 60_000 }, async () => {
    // One that can be cancelled.
    adapter = createPostgresAdapter({ pool, schema })
    await adapter.open([plan])
    for (const stay of [true, false]) {
      const unlock = await lock()
      const [one, other] = [new AbortController(), new AbortController()]
      const [first, second] = [one, other].map(async ({ signal }) =>
        adapter.list('things', { ...all, filter: isId('id-1'), limit: 1, signal }),
      )
      await until(async () => (await findWaiting()).length === 1)
      one.abort()
      await expect(first).rejects.toMatchObject({ code: 'storage_unavailable' })
      expect(await findWaiting()).toHaveLength(1)
      if (!stay) {
        other.abort()
        await expect(second).rejects.toMatchObject({ code: 'storage_unavailable' })
        await until(async () => (await findWaiting()).length === 0)
      }
      await unlock()
      if (stay) expect(await second).toEqual([documentOf(1)])
    }
  })

  test('fail together where the connection is lost, and lost again', { timeout: 60_000 }, async () => {
    const unlock = await lock()
    const finding = Promise.allSettled(range(5).map((i) => find(`id-${i}`)))
    let lost: unknown
    for (let times = 0; times < 2; times++) {
      await until(async () => ![undefined, lost].includes((await findWaiting())[0]))
      ;[lost] = await findWaiting()
      await client.query('SELECT pg_terminate_backend($1)', [lost])
    }
    for (const answer of await finding)
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'storage_unavailable' } })
    await unlock()
    expect(await find('id-1')).toEqual([documentOf(1)])
  })
})

describe('a write of many documents', () => {
  const write = async (documents: readonly StoredDocument[]) =>
    adapter.write(
      documents.map((insert) => ({ in: 'things', insert })),
      {},
    )

  test('is a few statements', async () => {
    expect(await write(range(1000).map((i) => documentOf(i)))).toEqual(done)
    expect(inserts().length).toBeLessThanOrEqual(2)
    expect(await storedIds()).toEqual(range(1000).map((i) => `id-${i}`))
  })

  test('names the first step that is refused, and its first index', async () => {
    await create(documentOf(1000))
    const documents = range(500).map((i) => documentOf(i))
    const refused = documents.with(300, documentOf(300, { code: 'code-7', email: '1000@example.com' }))
    expect(await write(refused)).toEqual({ ...taken('code'), step: 300 })
    expect(await write(documents.with(300, documentOf(300, { email: '7@example.com' })))).toEqual({
      ...taken('email'),
      step: 300,
    })
    expect(await write(documents.with(300, documentOf(300, { _id: 'id-7' })))).toEqual({
      ...taken('_id'),
      step: 300,
    })
    expect(await storedIds()).toEqual(['id-1000'])
  })

  test('with requirements in between is a few statements too', async () => {
    await create(documentOf(1000))
    sent.length = 0
    const require = { in: 'things', require: 'id-1000' }
    const steps = range(200).flatMap((i) => [require, { in: 'things', insert: documentOf(i) }])
    expect(await adapter.write(steps, {})).toEqual(done)
    expect(inserts()).toHaveLength(1)
    const missing = { in: 'things', require: 'none' }
    const more = [missing, { in: 'things', insert: documentOf(5000) }]
    expect(await adapter.write([{ in: 'things', insert: documentOf(4000) }, ...more], {})).toEqual({
      ok: false,
      step: 1,
      reason: 'missing',
    })
    expect(await adapter.count('things', everything, {})).toBe(201)
  })
})

describe('a write that names documents', () => {
  const others: CollectionPlan = { name: 'others', indexes: [] }
  const insert = (i: number) => ({ in: 'things', insert: documentOf(i) })
  const replace = (i: number, to: number) => ({
    in: 'things',
    replace: documentOf(i, { _version: to }),
    version: to - 1,
  })
  const require = (collection: string, i: number, version?: number) => ({
    in: collection,
    require: `id-${i}`,
    ...(version === undefined ? {} : { version }),
  })
  const remove = (...ids: readonly number[]) => ({
    in: 'things',
    remove: or(ids.map((i) => isId(`id-${i}`))),
  })

  test.each<[string, number, readonly WriteStep[]]>([
    ['one that is replaced', 1, [replace(0, 2)]],
    ['one that is removed', 1, [remove(0)]],
    ['many that are new', 3, range(100).map((i) => insert(100 + i))],
    ['one that is replaced, and one that is new', 4, [replace(0, 2), insert(100)]],
    ['one that is required', 4, [require('others', 0), insert(100)]],
    [
      'versions in other collections, and many that are new',
      4,
      [...[require('others', 0, 1), require('more', 0, 1)], ...range(100).map((i) => insert(100 + i))],
    ],
    ['a version, and one that is replaced', 4, [require('others', 0, 1), replace(0, 2)]],
    [
      'versions in between, of what the write changes',
      5,
      [
        ...[
          require('things', 0, 1),
          replace(0, 2),
          require('things', 0, 2),
          require('things', 1),
          insert(100),
        ],
        ...[require('things', 100, 1), require('others', 0)],
      ],
    ],
    [
      'versions behind the removal of others, and of those',
      7,
      [
        remove(0, 1),
        require('things', 2, 1),
        remove(2),
        require('things', 3, 1),
        insert(0),
        require('things', 0, 1),
      ],
    ],
    ['several that are replaced and removed', 5, [replace(0, 2), replace(1, 2), remove(2, 3)]],
  ])('asks so often for %s: %i', async (_, count, steps) => {
    await adapter.open([plan, others, { ...others, name: 'more' }])
    await adapter.write(
      ['things', 'others', 'more'].flatMap((name) =>
        range(4).map((i) => ({ in: name, insert: documentOf(i) })),
      ),
      {},
    )
    sent.length = 0
    expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
    expect(sent).toHaveLength(count)
  })

  test('bounds itself, and begins nothing more once it was given up', { timeout: 60_000 }, async () => {
    await create(documentOf(0))
    sent.length = 0
    await adapter.write([replace(0, 2), insert(1)], {})
    for (const limit of ['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'])
      expect(sent[0]?.text).toMatch(new RegExp(`^BEGIN .*SET LOCAL ${limit} = '\\d+s'`))
    const other = await pool.connect()
    await other.query(`BEGIN; SELECT FROM ${schema}.c_things WHERE _id = 'id-0' FOR UPDATE`)
    const aborting = new AbortController()
    const steps = [require('things', 0), insert(2), insert(3)]
    const writing = Promise.resolve(adapter.write(steps, { signal: aborting.signal }))
    await until(async () => (await findWaiting()).length === 1)
    aborting.abort()
    // What was not committed never is.
    await expect(writing).rejects.toMatchObject({ code: 'storage_unavailable' })
    expect(await findWaiting()).toHaveLength(1)
    sent.length = 0
    await other.query('ROLLBACK')
    other.release()
    await until(() => sent.length > 0)
    expect(sent.map(({ text }) => text)).toEqual(['ROLLBACK'])
    expect(await storedIds()).toEqual(['id-0', 'id-1'])
  })

  test('is not committed where it was given up at its last statement', { timeout: 60_000 }, async () => {
    await create(documentOf(0))
    const other = await pool.connect()
    await other.query(`BEGIN; INSERT INTO ${schema}.c_things VALUES ('id-1', '{}')`)
    const aborting = new AbortController()
    const writing = Promise.resolve(adapter.write([replace(0, 2), insert(1)], { signal: aborting.signal }))
    await until(async () => (await findWaiting()).length === 1)
    aborting.abort()
    await expect(writing).rejects.toMatchObject({ code: 'storage_unavailable' })
    sent.length = 0
    await other.query('ROLLBACK')
    other.release()
    await until(() => sent.length > 0)
    expect(sent.map(({ text }) => text)).toEqual(['ROLLBACK'])
    expect(await adapter.list('things', all)).toEqual([documentOf(0)])
  })

  test('sees the version that it has waited for', async () => {
    await create(documentOf(0))
    const other = await pool.connect()
    await other.query('BEGIN')
    await other.query(`UPDATE ${schema}.c_things SET document = document || '{"_version": 2}'`)
    const stale = adapter.write([require('things', 0, 1), insert(1)], {})
    const fresh = adapter.write([require('things', 0, 2), insert(2)], {})
    await until(async () => (await findWaiting()).length === 2)
    await other.query('COMMIT')
    other.release()
    expect(await stale).toEqual({ ok: false, step: 0, reason: 'changed' })
    expect(await fresh).toEqual(done)
  })
})

describe('a pool of its own', () => {
  test('is asked once for each read and create', async () => {
    const own = createPostgresAdapter({ connectionString: postgres.url, schema })
    await own.open([plan])
    const query = vi.spyOn(pg.Client.prototype, 'query')
    const page: ListQuery = { ...all, sort: [{ field: n, descending: true }], limit: 20, bytes: 2 ** 20 }
    for (const i of range(5)) {
      expect(await own.write([{ in: 'things', insert: documentOf(i, { text: 'ä"\\\n🙂' }) }], {})).toEqual(
        done,
      )
      const found = await own.list('things', { ...all, filter: isId(`id-${i}`), limit: 1 })
      expect(found).toEqual([documentOf(i, { text: 'ä"\\\n🙂' })])
      expect(await own.list('things', page)).toHaveLength(i + 1)
      expect(await own.count('things', everything, {})).toBe(i + 1)
    }
    expect(query).toHaveBeenCalledTimes(20)
    query.mockClear()
    await Promise.all(range(20).map((i) => own.list('things', { ...all, filter: isId(`id-${i}`), limit: 1 })))
    expect(query).toHaveBeenCalledTimes(1)
    query.mockRestore()
    await own.close()
  })
})
