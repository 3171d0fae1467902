import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { Connections } from '../../src/adapters/postgres/connection/lease.js'
import type { PoolSource } from '../../src/adapters/postgres/connection/pool.js'
import { MAX_PREPARED } from '../../src/adapters/postgres/connection/session.js'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { and, everything, type FieldRef, type Filter, isId, or } from '../../src/core/filter/filter.js'
import type { Pattern } from '../../src/core/filter/pattern/syntax/pattern.js'
import type { CollectionPlan, ListQuery, StorageAdapter, WriteStep } from '../../src/core/storage.js'
import { useCaches } from '../support/caches.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { until } from '../support/until.js'

const postgres = usePostgres()

const opened: { end(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.end()
})

const open = async (max?: number): Promise<{ pool: pg.Pool; adapter: StorageAdapter; schema: string }> => {
  const schema = newSchema()
  const pool = newPool({ connectionString: postgres.url, application_name: schema, ...(max && { max }) })
  const adapter = createPostgresAdapter({ pool, schema })
  opened.push(pool)
  await adapter.open(['slow', 'quick'].map((name): CollectionPlan => ({ name, indexes: [] })))
  await adapter.write([{ in: 'quick', insert: { _id: 'a', _version: 1 } }], {})
  return { pool, adapter, schema }
}

const newClient = async (): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  opened.push(client)
  return client
}

/** Makes every statement on a collection wait, until what is returned is called. */
async function lock(schema: string, collection = 'slow') {
  const [client, observer] = [await newClient(), await newClient()]
  await client.query(`BEGIN; LOCK TABLE ${schema}.c_${collection} IN ACCESS EXCLUSIVE MODE`)
  return {
    /** Connections of the pool whose statements wait. */
    async countWaiting(): Promise<number> {
      const text = `SELECT count(*)::int AS total FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`
      return (await observer.query(text, [schema])).rows[0].total
    },
    release: () => client.query('ROLLBACK'),
  }
}

const n: FieldRef = { path: 'n', type: 'integer', each: false }
const all: ListQuery = { filter: everything, sort: [], skip: 0, limit: null }

const drain = async (batches: AsyncIterable<unknown> | undefined): Promise<unknown[]> => {
  const found: unknown[] = []
  for await (const batch of batches ?? []) found.push(batch)
  return found
}

/** Reads that may be long, each of another kind. */
const longReads: readonly ((adapter: StorageAdapter, signal?: AbortSignal) => unknown)[] = [
  (adapter, signal) => adapter.list('slow', { ...all, ...(signal && { signal }) }),
  (adapter) => adapter.list('slow', { ...all, sort: [{ field: n, descending: false }], limit: 20 }),
  (adapter) => drain(adapter.stream?.('slow', all)),
  (adapter) => adapter.count('slow', everything, {}),
]

test('writes of much have half of the connections too', { timeout: 60_000 }, async () => {
  const { adapter, schema } = await open(4)
  const locked = await lock(schema)
  const large = (i: number) => ({ _id: `large${i}`, _version: 1, text: 'x'.repeat(100_000) })
  const many = (i: number) =>
    Array.from({ length: 2000 }, (_, j) => ({ in: 'slow', insert: { _id: `many${i}.${j}`, _version: 1 } }))
  const writing = Array.from({ length: 6 }, (_, i) =>
    adapter.write(i % 2 ? many(i) : [{ in: 'slow', insert: large(i) }], {}),
  )
  await until(async () => (await locked.countWaiting()) === 2)
  for (let i = 0; i < 10; i++) {
    const steps = [{ in: 'quick', insert: { _id: `small${i}`, _version: 1, text: 'x' } }]
    expect(await adapter.write(steps, {})).toEqual({ ok: true, removed: 0 })
  }
  expect(await locked.countWaiting()).toBe(2)
  await locked.release()
  expect((await Promise.all(writing)).every(({ ok }) => ok)).toBe(true)
})

test.each([
  [2, 1],
  [4, 3],
  [undefined, 7],
])(
  'writes leave a quarter of the connections to reads: of %s, they have %s',
  {
    timeout: 60_000,
  },
  async (max, most) => {
    const { adapter, schema } = await open(max)
    const locked = await lock(schema)
    const text = 'x'.repeat(100_000)
    const writes: readonly ((_id: string) => readonly WriteStep[])[] = [
      (_id) => [{ in: 'slow', remove: isId(_id) }],
      (_id) => [{ in: 'slow', insert: { _id, _version: 1 } }],
      (_id) => [{ in: 'slow', insert: { _id, _version: 1, text } }],
      (_id) => [
        { in: 'slow', insert: { _id, _version: 1 } },
        { in: 'slow', remove: isId('none') },
      ],
    ]
    const writing = Array.from({ length: 24 }, (_, i) =>
      adapter.write(writes[i % writes.length]?.(`slow${i}`) ?? [], {}),
    )
    await until(async () => (await locked.countWaiting()) === most)
    for (let i = 0; i < 10; i++)
      expect(await adapter.list('quick', { ...all, filter: isId('a') })).toHaveLength(1)
    expect(await locked.countWaiting()).toBe(most)
    await locked.release()
    expect((await Promise.all(writing)).every(({ ok }) => ok)).toBe(true)
  },
)

describe('reads that may be long', () => {
  test.each([
    [1, 1],
    [3, 1],
    [8, 4],
    [undefined, 5],
  ])('have half of the connections: of %s, %s', { timeout: 60_000 }, async (max, half) => {
    const { pool, adapter, schema } = await open(max)
    const locked = await lock(schema)
    const reading = Array.from({ length: 24 }, (_, i) => longReads[i % longReads.length]?.(adapter))
    await until(async () => (await locked.countWaiting()) === half)
    if (half > 1 || max !== 1) {
      // What is short passes them by.
      for (let i = 0; i < 20; i++) {
        expect(await adapter.list('quick', { ...all, filter: isId('a') })).toHaveLength(1)
        expect(await adapter.list('quick', { ...all, limit: 20 })).toHaveLength(1)
        const steps = [{ in: 'quick', remove: isId('none') }]
        expect(await adapter.write(steps, {})).toEqual({ ok: true, removed: 0 })
      }
    }
    expect(await locked.countWaiting()).toBe(half)
    expect(pool.waitingCount).toBe(0)
    await locked.release()
    const found = await Promise.all(reading)
    expect(found).toEqual(found.map((_, i) => (i % longReads.length === 3 ? 0 : [])))
  })

  test('do not keep waiting what an index answers', { timeout: 60_000 }, async () => {
    const { adapter, schema } = await open(4)
    const text: FieldRef = { path: 'text', type: 'string', each: false }
    const indexes = [
      { fields: [n], unique: false },
      { fields: [text, n], unique: false },
    ]
    await adapter.open([{ name: 'quick', indexes }])
    const insert = (_id: string, n: number) => ({
      in: 'quick',
      insert: { _id, _version: 1, n, text: `t${n % 2}` },
    })
    await adapter.write(
      Array.from({ length: 12_000 }, (_, i) => insert(`d${i}`, i)),
      {},
    )
    const locked = await lock(schema)
    const reading = Array.from({ length: 8 }, (_, i) => longReads[i % longReads.length]?.(adapter))
    await until(async () => (await locked.countWaiting()) === 2)
    const beyond = (value: number): Filter => ({ kind: 'gte', field: n, value })
    const is = (value: string): Filter => ({ kind: 'eq', field: text, value })
    const some: readonly (readonly [filter: Filter, total: number])[] = [
      [beyond(11_996), 4],
      [and([is('t1'), beyond(11_996)]), 2],
      [or([is('t5'), beyond(11_996)]), 4],
      [or([11, 12, 13].map((value) => ({ kind: 'eq', field: n, value }))), 3],
    ]
    for (const [filter, total] of some) {
      expect(await adapter.count('quick', filter, {})).toBe(total)
      for (const sort of [[], [{ field: text, descending: true }]]) {
        expect(await adapter.list('quick', { ...all, filter, sort })).toHaveLength(total)
        expect((await drain(adapter.stream?.('quick', { ...all, filter, sort }))).flat()).toHaveLength(total)
      }
    }
    // These look at more, and wait.
    const isPattern: Filter = { kind: 'match', field: text, pattern: { kind: 'set', ranges: [[48, 48]] } }
    const long = [
      adapter.count('quick', and([beyond(11_996), isPattern]), {}),
      adapter.count('quick', beyond(0), {}),
      adapter.list('quick', { ...all, filter: beyond(0) }),
    ]
    const done: unknown[] = []
    for (const one of long) void Promise.resolve(one).then((found) => done.push(found))
    await adapter.count('quick', beyond(11_996), {})
    expect(done).toEqual([])
    expect(await locked.countWaiting()).toBe(2)
    await locked.release()
    await Promise.all(reading)
    const [few, many, listed] = await Promise.all(long)
    expect([few, many]).toEqual([2, 12_000])
    expect(Array.isArray(listed)).toBe(true)
  })

  test('wait in a queue with an end', { timeout: 60_000 }, async () => {
    const { adapter, schema } = await open(2)
    const locked = await lock(schema)
    const aborting = new AbortController()
    const reading = Array.from({ length: 257 }, (_, i) =>
      Promise.resolve(longReads[0]?.(adapter, i > 0 ? aborting.signal : undefined)).catch(({ code }) => code),
    )
    await until(async () => (await locked.countWaiting()) === 1)
    await expect(adapter.list('slow', all)).rejects.toMatchObject({ code: 'overloaded' })
    // Those who leave make room.
    aborting.abort()
    const last = adapter.list('slow', all)
    expect(await Promise.all(reading.slice(1))).toEqual(reading.slice(1).map(() => 'storage_unavailable'))
    await locked.release()
    expect([await reading[0], await last]).toEqual([[], []])
  })

  test('are served in turn of their callers, and a full queue refuses who has most', {
    timeout: 60_000,
  }, async () => {
    const { adapter, schema } = await open(2)
    const locked = await lock(schema)
    const done: string[] = []
    const read = async (caller: string, name = caller): Promise<void> => {
      const found = await Promise.resolve(adapter.list('slow', { ...all, caller })).catch(({ code }) => code)
      done.push(found.length === 0 ? name : `${name} ${found}`)
    }
    const reading = [read('many', 'first')]
    await until(async () => (await locked.countWaiting()) === 1)
    reading.push(...Array.from({ length: 255 }, () => read('many')), read('many', 'last'))
    reading.push(read('few'), read('few'))
    await until(() => done.length === 2)
    expect(done).toEqual(['last overloaded', 'many overloaded'])
    await locked.release()
    await Promise.all(reading)
    expect(done.slice(2, 8)).toEqual(['first', 'few', 'many', 'few', 'many', 'many'])
  })

  test('give their place back when they are given up', { timeout: 60_000 }, async () => {
    const { adapter, schema } = await open(2)
    for (let round = 0; round < 3; round++) {
      const locked = await lock(schema)
      const aborting = new AbortController()
      const reading = Promise.resolve(longReads[0]?.(adapter, aborting.signal))
      await until(async () => (await locked.countWaiting()) === 1)
      aborting.abort()
      await expect(reading).rejects.toMatchObject({ code: 'storage_unavailable' })
      await until(async () => (await locked.countWaiting()) === 0)
      await locked.release()
    }
    expect(await adapter.list('slow', all)).toEqual([])
  })
})

test('a pattern on which PostgreSQL works for long is given up with its request', {
  timeout: 60_000,
}, async () => {
  const { adapter, schema } = await open()
  await adapter.write([{ in: 'slow', insert: { _id: 'a', _version: 1, text: 'ab'.repeat(50_000) } }], {})
  const some: Pattern = { kind: 'set', ranges: [[97, 98]] }
  const pattern: Pattern = {
    kind: 'sequence',
    parts: [
      { kind: 'repeat', part: { kind: 'repeat', part: some, min: 0, max: 200 }, min: 200, max: 200 },
      { kind: 'text', text: 'c' },
    ],
  }
  const text: FieldRef = { path: 'text', type: 'string', each: false }
  const observer = await newClient()
  const isBusy = async (): Promise<boolean> => {
    const busy = `SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND state = 'active'`
    return (await observer.query(busy, [schema])).rows.length > 0
  }
  const aborting = new AbortController()
  const filter: Filter = { kind: 'match', field: text, pattern }
  const counting = Promise.resolve(adapter.count('slow', filter, { signal: aborting.signal }))
  await until(isBusy)
  aborting.abort()
  await expect(counting).rejects.toMatchObject({ code: 'storage_unavailable' })
  await until(async () => !(await isBusy()))
})

describe('prepared statements', () => {
  useCaches()

  const createSource = (): PoolSource & { readonly pool: pg.Pool } => {
    const pool = newPool({ connectionString: postgres.url, max: 1 })
    opened.push(pool)
    return { pool, isOwn: true, end: () => pool.end() }
  }
  const listPrepared = 'SELECT name, statement FROM pg_prepared_statements WHERE $1'

  test('of a thousand shapes leave room for others', { timeout: 60_000 }, async () => {
    const source = createSource()
    const connections = new Connections(source)
    const ask = (text: string) => connections.use(async ({ run }) => (await run(text, [true])).rows, {})
    const connected = new Set<unknown>()
    source.pool.on('connect', (client) => connected.add(client))
    let most = 0
    for (let i = 0; i < 1000; i++) {
      for (let times = 0; times < 2; times++) await ask(`SELECT ${i} WHERE $1`)
      if (i % 50 === 0) most = Math.max(most, (await ask(listPrepared)).length)
    }
    expect(most).toBeGreaterThan(50)
    expect(most).toBeLessThanOrEqual(MAX_PREPARED)
    expect(connected.size).toBe(2)
    // What is asked often is prepared, whatever came before.
    for (let times = 0; times < 2; times++) await ask('SELECT 5 AS five WHERE $1')
    expect((await ask(listPrepared)).map(({ statement }) => statement)).toContain('SELECT 5 AS five WHERE $1')
  })

  test('are not made of what is asked once', { timeout: 60_000 }, async () => {
    const connections = new Connections(createSource())
    const ask = (text: string) => connections.use(async ({ run }) => (await run(text, [true])).rows, {})
    for (let i = 0; i < 1000; i++) await ask(`SELECT ${i} WHERE $1`)
    expect(await ask(listPrepared)).toEqual([])
  })

  // CONTRACT.md §10, "Poolers"
  test('that a pooler has not kept are sent again, and none is prepared from then on', async () => {
    const connections = new Connections(createSource())
    const ask = (text: string, values: readonly boolean[] = [true]) =>
      connections.use(async ({ run }) => (await run(text, values)).rows, {})
    for (let times = 0; times < 3; times++) await ask('SELECT 5 AS five WHERE $1')
    expect(await ask(listPrepared)).not.toEqual([])
    await ask('DEALLOCATE ALL', [])
    for (let times = 0; times < 3; times++) expect(await ask('SELECT 5 AS five WHERE $1')).toHaveLength(1)
    expect(await ask(listPrepared)).toEqual([])
  })
})

describe('a session that the server has closed because it was idle', () => {
  const insert = (i: number): WriteStep => ({ in: 'quick', insert: { _id: `new${i}`, _version: 1 } })

  /** Connections of which each answers its first statements as a server does that has closed the session before. */
  async function openClosing(closed: number): Promise<{ adapter: StorageAdapter; asked: string[] }> {
    const { pool, schema } = await open()
    const asked: string[] = []
    let left = 0
    const adapter = createPostgresAdapter({
      schema,
      pool: {
        waitingCount: 0,
        async connect() {
          const client = await pool.connect()
          return {
            async query(query) {
              asked.push(query.text)
              left -= 1
              if (left >= 0) throw Object.assign(new Error(), { severity: 'FATAL', code: '57P05' })
              return client.query({ text: query.text, values: query.values ?? [] })
            },
            on: (event, listener) => client.on(event, listener),
            removeListener: (event, listener) => client.removeListener(event, listener),
            release: (destroy) => client.release(destroy),
          }
        },
      },
    })
    await adapter.open([{ name: 'quick', indexes: [] }])
    asked.length = 0
    left = closed
    return { adapter, asked }
  }

  test.each<[what: string, steps: readonly WriteStep[]]>([
    ['a write of one statement', [insert(0)]],
    ['a write of several', [insert(0), insert(1)]],
  ])('has not run %s, which is sent again', async (_, steps) => {
    const { adapter } = await openClosing(2)
    expect(await adapter.write(steps, {})).toEqual({ ok: true, removed: 0 })
    expect(await adapter.list('quick', all)).toHaveLength(1 + steps.length)
  })

  test('has not run what was created together', async () => {
    const { adapter } = await openClosing(2)
    const creating = [0, 1, 2].map(async (i) => adapter.write([insert(i)], {}))
    expect(await Promise.all(creating)).toEqual(creating.map(() => ({ ok: true, removed: 0 })))
  })

  test('leaves nothing unknown, however often it happens', async () => {
    const { adapter, asked } = await openClosing(1000)
    await expect(adapter.write([insert(0)], {})).rejects.toMatchObject({ code: 'storage_unavailable' })
    expect(asked.length).toBeGreaterThan(1)
  })
})
