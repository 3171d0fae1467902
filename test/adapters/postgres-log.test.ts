import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { everything, isId } from '../../src/core/filter/filter.js'
import type { CollectionPlan, StorageAdapter, StoredDocument, WriteStep } from '../../src/core/storage.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { type Sent, watchPool } from '../support/watched-pool.js'

/** What the log costs in statements, and what only PostgreSQL has of it. */

const log = { omit: [], keep: 3_600_000 }
const plans: readonly CollectionPlan[] = [
  { name: 'logged', indexes: [], log },
  { name: 'plain', indexes: [] },
]

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
  await adapter.open(plans)
  sent = watched.sent
  sent.length = 0
})

afterEach(async () => {
  await adapter.close()
  await client.query(`DROP SCHEMA ${schema} CASCADE`)
})

const documentOf = (i: number, _version = 1): StoredDocument => ({ _id: `id-${i}`, _version, n: i })

const write = async (steps: readonly WriteStep[]) => adapter.write(steps, {})

const insert = (name: string, i: number): WriteStep => ({ in: name, insert: documentOf(i) })

/** How many statements some work takes. */
async function count(work: () => Promise<unknown>): Promise<number> {
  sent.length = 0
  await work()
  return sent.length
}

const range = (length: number): readonly number[] => Array.from({ length }, (_, i) => i)

const works: readonly (readonly [
  what: string,
  statements: number,
  work: (name: string) => Promise<unknown>,
])[] = [
  ['a create', 1, (name) => write([insert(name, 1)])],
  [
    'a large create',
    1,
    (name) => write([{ in: name, insert: { ...documentOf(1), text: 'x'.repeat(9000) } }]),
  ],
  ['creates that arrive together', 2, (name) => Promise.all(range(64).map((i) => write([insert(name, i)])))],
  ['creates in one write', 3, (name) => write(range(64).map((i) => insert(name, i)))],
  ['a replace', 1, (name) => write([{ in: name, replace: documentOf(0, 2), version: 1 }])],
  ['a remove', 1, (name) => write([{ in: name, remove: isId('id-0'), expect: 1 }])],
  ['a remove of all', 3, (name) => write([{ in: name, remove: everything }])],
]

describe.each(works)('%s', (_, statements, work) => {
  test('takes as many statements with a log as without', async () => {
    for (const { name } of plans) {
      if (statements === 1) await write([insert(name, 0)])
      expect(await count(() => work(name))).toBe(statements)
    }
  })

  test('names the log only where there is one', async () => {
    await work('plain')
    expect(sent.filter(({ text }) => text.includes('_log'))).toEqual([])
  })
})

/** Reads the log from a position on. */
async function read(after: string | null) {
  const page = await adapter.changes?.(after, { limit: 100 })
  if (!page) throw new Error('there is no log')
  return page
}

test('who looks and finds nothing takes one statement', async () => {
  const { position } = await read(null)
  await write([insert('plain', 1)])
  expect(await count(() => read(position))).toBe(1)
})

test('a change that commits late comes behind those that were read', async () => {
  const { position } = await read(null)
  const other = await pool.connect()
  await other.query(`BEGIN; INSERT INTO ${schema}._log (collection, id) VALUES ('logged', 'late')`)
  await write([insert('logged', 1)])
  const early = await read(position)
  expect(early.changes.map(({ id }) => id)).toEqual(['id-1'])
  await other.query('COMMIT')
  other.release()
  await write([insert('logged', 2)])
  expect((await read(early.position)).changes.map(({ id }) => id)).toEqual(['late', 'id-2'])
  expect((await read(position)).changes.map(({ id }) => id)).toEqual(['id-1', 'late', 'id-2'])
})

test('a reader does not wait for another that gives positions', async () => {
  const { position } = await read(null)
  await write([insert('logged', 1)])
  const other = await pool.connect()
  await other.query(`BEGIN; SELECT FROM ${schema}._log_head FOR UPDATE`)
  expect(await read(position)).toMatchObject({ changes: [], more: true, gap: false })
  // Nor does a writer.
  await write([insert('logged', 2)])
  await other.query('ROLLBACK')
  other.release()
  expect((await read(position)).changes.map(({ id }) => id)).toEqual(['id-1', 'id-2'])
})

test.each([4996, 4998, 5000])(
  'behind %d changes without a position those of one write stay together',
  async (many) => {
    const { position } = await read(null)
    const others = `INSERT INTO ${schema}._log (collection, id) SELECT 'plain', 'other-' || i FROM generate_series(1, $1) AS i`
    await client.query(others, [many])
    await write([3, 1, 4, 2].map((i) => insert('logged', i)))
    const seen: string[] = []
    for (let at = position, more = true; more; ) {
      const page = await read(at)
      seen.push(...page.changes.map(({ id }) => id))
      ;[at, more] = [page.position, page.more]
    }
    expect(seen.length).toBe(many + 4)
    expect(seen.slice(-4)).toEqual(['id-1', 'id-2', 'id-3', 'id-4'])
  },
)

test('on another timeline changes of the last minute come again', async () => {
  const start = await read(null)
  await write([insert('logged', 1)])
  await write([insert('logged', 2)])
  await client.query(`UPDATE ${schema}._log SET time = time - interval '1 hour' WHERE id = 'id-1'`)
  const { position, changes } = await read(start.position)
  expect(changes.map(({ id }) => id)).toEqual(['id-1', 'id-2'])
  const [name, [, place], time] = JSON.parse(position)
  const moved = await read(JSON.stringify([name, ['FFFFFFFF', place], time]))
  expect([moved.gap, moved.changes.map(({ id }) => id)]).toEqual([true, ['id-2']])
  expect((await read(moved.position)).gap).toBe(false)
})

test('what nobody reads gets positions by those who write, and goes', async () => {
  await client.query(`ALTER TABLE ${schema}._log ALTER COLUMN time SET DEFAULT now() - interval '2 hours'`)
  const numbers = async () =>
    (await client.query(`SELECT last::int, dropped::int FROM ${schema}._log_head`)).rows[0]
  // Behind a write, in a turn of its own; the next one does what this one left.
  for (let round = 0; round < 40; round++) {
    await write(range(500).map((i) => insert('logged', 500 * round + i)))
    const { last, dropped } = await numbers()
    if (last > 500 && dropped > 0) return
  }
  throw new Error(`nothing went: ${JSON.stringify(await numbers())}`)
})

test('closing waits for what a write left to be done behind it', async () => {
  const other = await pool.connect()
  try {
    await other.query(`BEGIN; LOCK TABLE ${schema}._log_head`)
    await write(range(500).map((i) => insert('logged', i)))
    let isClosed = false
    const closing = adapter.close().then(() => {
      isClosed = true
    })
    // Who numbers the changes waits for the table that is locked.
    await client.query('SELECT pg_sleep(0.1)')
    expect(isClosed).toBe(false)
    await other.query('ROLLBACK')
    await closing
    expect((await client.query(`SELECT last::int FROM ${schema}._log_head`)).rows).toEqual([{ last: 500 }])
  } finally {
    other.release(true)
  }
})

// CONTRACT.md §10, "Cancelling"
test('no transaction that holds locks keeps them for ever, even if one is stopped in the middle of it', async () => {
  const watched = watchPool(pool)
  const own = newSchema()
  const stopped = createPostgresAdapter({ pool: watched.pool, schema: own })
  await stopped.open(plans)
  await stopped.write([insert('logged', 1), insert('logged', 2)], {})
  await stopped.changes?.(null, { limit: 1 })
  // An index of a table that is there takes a lease.
  await stopped.open([
    {
      name: 'logged',
      log,
      indexes: [{ fields: [{ path: 'n', type: 'integer', each: false }], unique: false }],
    },
  ])
  await stopped.close()
  await client.query(`DROP SCHEMA ${own} CASCADE`)
  const begun = watched.sent.map(({ text }) => text).filter((text) => text.startsWith('BEGIN'))
  const bound = begun.filter((text) => text.includes(`idle_in_transaction_session_timeout = '20s'`))
  expect(bound).toEqual(begun)
  // The tables, the write, the head of the log, and the lease.
  expect(new Set(watched.sent.map(({ text }) => /_lease|_log_head|CREATE TABLE/.exec(text)?.[0])).size).toBe(
    4,
  )
})
