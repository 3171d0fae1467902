import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import * as hosts from '../support/postgres.js'
import { isLong } from '../support/tier.js'
import { until } from '../support/until.js'
import { watchPool } from '../support/watched-pool.js'
import { useOwnPostgres } from './support/own-postgres.js'
import * as proxies from './support/proxy.js'
import type { Answered, Service } from './support/service.js'
import * as services from './support/service.js'
import type { Store } from './support/stores.js'

/** Connections that are lost, hang, run out, or are somebody else's. */

services.expectNoFaults()
const postgres = useOwnPostgres()
const { newSchema } = hosts

// A test that fails leaves nothing open, for which the next one would wait.
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const newPool: typeof hosts.newPool = (options) => {
  const pool = hosts.newPool(options)
  ends.push(() => pool.ended || pool.end())
  return pool
}

const startProxy: typeof proxies.startProxy = async (to) => {
  const proxy = await proxies.startProxy(to)
  ends.push(() => proxy.end())
  return proxy
}

const openService: typeof services.openService = (...given) => {
  const service = services.openService(...given)
  ends.push(() => service.handler.close())
  return service
}

const newStore = (): Store & { readonly engine: 'postgres' } => ({
  engine: 'postgres',
  options: { connectionString: postgres.url, schema: newSchema() },
})

// The server knows of a connection for a moment after it was closed.
beforeEach(() => until(async () => (await postgres.countConnections()) === 0, 'those before are closed'))

const clients = new Set<pg.Client>()
afterEach(async () => {
  await Promise.all([...clients].map((client) => client.end()))
  clients.clear()
})

async function connect(): Promise<pg.Client> {
  const client = await postgres.connect()
  clients.add(client)
  return client
}

/** Makes every statement on a table wait, or in another mode every write, until what is returned is called. */
async function lock(
  store: { readonly options: { readonly schema: string } },
  table = 'c_things',
  mode = 'ACCESS EXCLUSIVE',
) {
  const client = await connect()
  await client.query(`BEGIN; LOCK TABLE ${store.options.schema}.${table} IN ${mode} MODE`)
  return async (): Promise<void> => void (await client.query('ROLLBACK'))
}

const isWaiting = "state = 'active' AND wait_event_type = 'Lock'"

const terminate = (condition: string): Promise<unknown> =>
  postgres.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'collection-service' AND ${condition}`,
  )

const unavailable = { status: 503, code: 'storage_unavailable', retryAfter: '1' }
const unknown = { status: 503, code: 'outcome_unknown' }

/**
 * What is answered to requests that the server keeps waiting. The clock of deadlines stands still until as many
 * statements wait as shall, and is then put forward.
 */
async function answersAtDeadline(
  seconds: number,
  waiting: number,
  send: () => Promise<Answered[]>,
): Promise<Answered[]> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const answers = send()
    await until(async () => (await postgres.countConnections(isWaiting)) === waiting, 'all wait')
    vi.advanceTimersByTime(seconds * 1000)
    return await answers
  } finally {
    vi.useRealTimers()
  }
}

async function sendMany(service: Service, times: number, line: string, body?: unknown): Promise<Answered[]> {
  return Promise.all(Array.from({ length: times }, () => service.send(line, body)))
}

describe('a connection that is closed by the server', () => {
  test('while nobody uses it, is replaced', { timeout: 60_000 }, async () => {
    const service = openService(newStore())
    await sendMany(service, 10, 'GET /things')
    for (let round = 0; round < 3; round++) {
      expect(await postgres.countConnections()).toBeGreaterThan(0)
      await terminate('true')
      await until(async () => (await postgres.countConnections()) === 0, 'the connections are closed')
      expect(await sendMany(service, 10, 'GET /things')).toMatchObject(
        Array.from({ length: 10 }, () => ({ status: 200 })),
      )
    }
    expect((await service.send('POST /things', {})).status).toBe(201)
    await service.handler.close()
  })

  test('while statements run, costs a write, and not the first time a read', {
    timeout: 60_000,
  }, async () => {
    const store = newStore()
    const service = openService(store)
    await service.ready()
    const unlock = await lock(store)
    const isOneWaiting = async (): Promise<boolean> => (await postgres.countConnections(isWaiting)) === 1
    const reading = service.send('GET /things')
    const writing = service.send('POST /things', { code: 'a' })
    await until(async () => (await postgres.countConnections(isWaiting)) === 2, 'both wait')
    await terminate(isWaiting)
    expect(await writing).toMatchObject(unknown)
    await until(isOneWaiting, 'the read is tried once more')
    await terminate(isWaiting)
    expect(await reading).toMatchObject(unavailable)
    const last = service.send('GET /things')
    await until(isOneWaiting, 'it waits')
    await terminate(isWaiting)
    await until(isOneWaiting, 'it is tried once more')
    await unlock()
    expect(await last).toMatchObject({ status: 200, body: [] })
    expect((await service.send('POST /things', { code: 'a' })).status).toBe(201)
    await service.handler.close()
  })

  test('in a write of several steps, leaves nothing of it', { timeout: 60_000 }, async () => {
    const store = newStore()
    const service = openService(store)
    await service.ready()
    const unlock = await lock(store, 'c__sessions')
    const account = { email: 'ann@example.com', password: 'correct horse' }
    const registering = service.send('POST /auth/register', account)
    await until(async () => (await postgres.countConnections(isWaiting)) === 1, 'it waits')
    await terminate(isWaiting)
    expect((await registering).status).toBe(503)
    await unlock()
    expect((await service.send('POST /auth/register', account)).status).toBe(201)
    await service.handler.close()
  })
})

describe('a statement that hangs', () => {
  test('is given up at the deadline, cancelled where it reads, and leaves the pool usable', {
    timeout: 60_000,
  }, async () => {
    // Over a pool without a limit of its own, a lock is waited for as long as it takes.
    const pool = newPool({ connectionString: postgres.url, application_name: 'collection-service' })
    const options = { pool, schema: newSchema() }
    const service = openService(createPostgresAdapter(options), { requestSeconds: 2 })
    await service.ready()
    const unlock = await lock({ options })
    const answers = await answersAtDeadline(2, 3, () =>
      Promise.all([
        service.send('GET /things'),
        service.send('GET /things/count'),
        service.send('POST /things', { code: 'a' }),
      ]),
    )
    expect(answers).toMatchObject([unavailable, unavailable, unknown])
    await until(async () => (await postgres.countConnections(isWaiting)) === 1, 'reads are cancelled')
    await unlock()
    // The write ends by itself.
    await until(async () => (await service.send('GET /things')).body.length === 1, 'it is done')
    expect((await service.send('POST /things', { code: 'a' })).status).toBe(409)
    expect((await service.send('POST /things', { code: 'b' })).status).toBe(201)
    await service.handler.close()
    await pool.end()
  })

  test.each([
    ['ten at a time', 10, 10],
    ['all at once', 100, 1],
  ])('100 times, %s, costs no connection', { timeout: 60_000 }, async (_, width, rounds) => {
    const store = newStore()
    const service = openService(store, { requestSeconds: 2 })
    await service.ready()
    const unlock = await lock(store)
    let most = 0
    for (let round = 0; round < rounds; round++) {
      // Lists have half of the connections.
      const answers = await answersAtDeadline(2, 5, () => sendMany(service, width, 'GET /things'))
      for (const answer of answers) expect(answer).toMatchObject({ status: 503, retryAfter: '1' })
      most = Math.max(most, await postgres.countConnections())
      await until(async () => (await postgres.countConnections(isWaiting)) === 0, 'all are cancelled')
    }
    expect(most).toBeLessThanOrEqual(10)
    await unlock()
    await until(async () => {
      const answers = await sendMany(service, 20, 'GET /things')
      return answers.every(({ status }) => status === 200)
    }, 'all are answered')
    expect(await postgres.countConnections()).toBeLessThanOrEqual(10)
    await service.handler.close()
  })

  test('under clients that go on asking, is cancelled too', { timeout: 60_000 }, async () => {
    const store = newStore()
    const service = openService(store, { requestSeconds: 0.25 })
    await service.ready()
    const unlock = await lock(store)
    const end = performance.now() + (isLong ? 10_000 : 2000)
    let most = 0
    const client = async (): Promise<void> => {
      while (performance.now() < end) expect((await service.send('GET /things')).status).toBe(503)
    }
    const watch = async (): Promise<void> => {
      while (performance.now() < end) {
        most = Math.max(most, await postgres.countConnections())
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
    await Promise.all([...Array.from({ length: 30 }, client), watch()])
    await until(async () => (await postgres.countConnections(isWaiting)) === 0, 'all are cancelled')
    expect(most).toBeLessThanOrEqual(20)
    await unlock()
    await until(async () => (await service.send('GET /things')).status === 200, 'it answers')
    await service.handler.close()
  })
})

// CONTRACT.md §10, "Cancelling"
test('a lock that nobody gives back keeps no write for ever: nothing is written, and the connections are free', {
  timeout: 60_000,
}, async () => {
  const permissions = { '*': true } as const
  const schema = { code: { type: 'string', unique: true }, n: { type: 'integer' } } as const
  const open = (): readonly [ReturnType<typeof newStore>, Service] => {
    const store = newStore()
    return [
      store,
      openService(store, { requestSeconds: 60 }, { collections: { things: { schema, permissions } } }),
    ]
  }
  const idOf = async (service: Service): Promise<string> =>
    (await service.send('POST /things', { n: 0 })).body._id
  const batchOf = (...operations: readonly object[]): object => ({ operations })

  // A table of which all writes wait, and in another one a document and a value.
  const [[table, tableService], [rows, rowsService]] = [open(), open()]
  const [locked, held] = [await idOf(tableService), await idOf(rowsService)]
  const unlock = await lock(table, 'c_things', 'EXCLUSIVE')
  const holder = await connect()
  const name = `${rows.options.schema}.c_things`
  await holder.query(`BEGIN; SELECT FROM ${name} FOR UPDATE`)
  await holder.query(`INSERT INTO ${name} VALUES ('other', '{"_id":"other","_version":1,"code":"a"}')`)

  const answers = await Promise.all([
    ...Array.from({ length: 3 }, () => tableService.send('POST /things', { n: 1 })),
    tableService.send('POST /things', { n: 1, code: 'x'.repeat(1000) }),
    tableService.send(`PATCH /things/${locked}`, { n: 2 }),
    tableService.send(`DELETE /things/${locked}`),
    tableService.send('POST /things/bulk', { documents: [{ n: 3 }, { n: 4 }] }),
    ...Array.from({ length: 2 }, () => rowsService.send('POST /things', { code: 'a' })),
    rowsService.send(`PATCH /things/${held}`, { n: 2 }),
    rowsService.send(`PUT /things/${held}`, { n: 3 }),
    rowsService.send(`DELETE /things/${held}`),
    rowsService.send(
      'POST /_batch',
      batchOf({ method: 'POST', path: '/things', body: {} }, { method: 'DELETE', path: `/things/${held}` }),
    ),
  ])
  for (const answer of answers) expect(answer).toMatchObject(unavailable)
  await until(async () => (await postgres.countConnections("state <> 'idle'")) === 0, 'all are free')
  expect((await rowsService.send('POST /things', { code: 'b' })).status).toBe(201)

  await unlock()
  await holder.query('ROLLBACK')
  expect((await tableService.send('GET /things')).body).toMatchObject([{ _id: locked, n: 0 }])
  expect((await rowsService.send('GET /things?sort[_id]=asc')).body).toMatchObject([
    { _id: held, n: 0 },
    { code: 'b' },
  ])
  expect((await tableService.send(`PATCH /things/${locked}`, { n: 5 })).status).toBe(200)
  expect((await rowsService.send('POST /things', { code: 'a' })).status).toBe(201)
  expect((await rowsService.send(`DELETE /things/${held}`)).status).toBe(204)
  await Promise.all([tableService.handler.close(), rowsService.handler.close()])
})

describe('a server that takes no writes any more', () => {
  test.each([
    ['our own', (schema: string) => createPostgresAdapter({ connectionString: postgres.url, schema })],
    [
      "a host's",
      (schema: string) => {
        const pool = newPool({ connectionString: postgres.url, application_name: 'collection-service' })
        return createPostgresAdapter({ pool, schema })
      },
    ],
  ])('costs the connections of %s pool', { timeout: 60_000 }, async (_, createAdapter) => {
    const service = openService(createAdapter(newSchema()))
    expect((await service.send('POST /things', {})).status).toBe(201)
    const pids = async () =>
      (await postgres.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'collection-service'"))
        .map(({ pid }) => pid)
        .sort()
    // The comparison of stored documents, in the background, may have one too.
    const before = await pids()
    expect(before).not.toEqual([])
    const setReadOnly = async (setting: string): Promise<void> => {
      await postgres.query(`ALTER SYSTEM SET default_transaction_read_only = ${setting}`)
      await postgres.query('SELECT pg_reload_conf()')
      await until(async () => {
        const [row] = await postgres.query('SHOW default_transaction_read_only')
        return row?.default_transaction_read_only === setting
      }, 'the setting holds')
    }
    await setReadOnly('on')
    await until(async () => (await service.send('POST /things', {})).status === 503, 'it is refused')
    expect(await service.send('POST /things', {})).toMatchObject(unavailable)
    await setReadOnly('off')
    await until(async () => (await service.send('POST /things', {})).status === 201, 'it is written')
    expect(await pids()).not.toEqual(expect.arrayContaining(before))
    await service.handler.close()
  })
})

describe('a network that swallows everything', () => {
  /** A service on a pool that can be looked into, all of whose connections are there. */
  async function openThrough(connectionString: string, max: number) {
    const pool = newPool({ connectionString, max })
    const adapter = createPostgresAdapter({ pool, schema: newSchema() })
    const service = openService(adapter, { requestSeconds: 1 })
    await service.ready()
    await Promise.all(Array.from({ length: max }, () => pool.query('SELECT pg_sleep(0.1)')))
    expect([pool.totalCount, pool.idleCount]).toEqual([max, max])
    pool.options.connectionTimeoutMillis = 1000
    return { pool, service }
  }

  test('is told at the deadline; new connections work when it is back', { timeout: 60_000 }, async () => {
    const proxy = await startProxy(postgres.url)
    const { pool, service } = await openThrough(proxy.url, 10)
    proxy.swallow(true)
    for (let round = 0; round < 3; round++) {
      for (const answer of await sendMany(service, 20, 'GET /things'))
        expect(answer).toMatchObject({ status: 503, retryAfter: '1' })
    }
    proxy.swallow(false)
    // The old connections stay dead, and nobody says so.
    await until(async () => {
      const answers = await sendMany(service, 10, 'GET /things')
      return answers.every(({ status }) => status === 200)
    }, 'all requests are answered again')
    await proxy.end()
    await service.handler.close()
    await pool.end()
  })

  test('keeps no connection for itself', { timeout: 60_000 }, async () => {
    const proxy = await startProxy(postgres.url)
    const { pool, service } = await openThrough(proxy.url, 4)
    proxy.swallow(true)
    for (let round = 0; round < 2; round++)
      expect(await service.send('GET /things')).toMatchObject(unavailable)
    // One that was not sent yet is known not to have happened.
    const { code } = await service.send('POST /things', { code: 'a' })
    expect(['outcome_unknown', 'storage_unavailable']).toContain(code)
    proxy.swallow(false)
    await until(async () => (await service.send('GET /things')).status === 200, 'it answers')
    // Also those on which others were to be cancelled.
    await until(() => pool.totalCount === pool.idleCount, 'every connection is given back')
    await proxy.end()
    await service.handler.close()
    await pool.end()
  })

  test('and then resets every connection, ends nothing', { timeout: 60_000 }, async () => {
    const proxy = await startProxy(postgres.url)
    const store: Store = {
      engine: 'postgres',
      options: { connectionString: proxy.url, schema: newSchema() },
    }
    const service = openService(store, { requestSeconds: 2 })
    for (const { status } of await sendMany(service, 10, 'GET /things')) expect(status).toBe(200)
    proxy.swallow(true)
    // Few enough that the pool has connections left on which to cancel.
    const answers = await Promise.all([
      ...Array.from({ length: 3 }, () => service.send('GET /things')),
      service.send('POST /things', {}),
    ])
    const codes = answers.map(({ code }) => code)
    expect(codes.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => 'storage_unavailable'))
    // One that was not sent yet is known not to have happened.
    expect(['outcome_unknown', 'storage_unavailable']).toContain(codes[3])
    proxy.reset()
    proxy.swallow(false)
    await until(async () => (await service.send('GET /things')).status === 200, 'it answers')
    await proxy.end()
    await service.handler.close()
  })
})

test('a server that takes no writes is asked over new connections as soon as it has said so', {
  timeout: 60_000,
}, async () => {
  const service = openService(newStore())
  expect((await service.send('POST /things', {})).status).toBe(201)
  const client = await connect()
  // It holds for connections that are new.
  await client.query('ALTER DATABASE postgres SET default_transaction_read_only = on')
  await terminate('true')
  await until(async () => (await postgres.countConnections()) === 0, 'the connections are closed')
  for (const { status } of await sendMany(service, 10, 'GET /things')) expect(status).toBe(200)
  expect(await service.send('POST /things', {})).toMatchObject(unavailable)
  for (const { status } of await sendMany(service, 10, 'GET /things')) expect(status).toBe(200)
  await client.query('ALTER DATABASE postgres RESET default_transaction_read_only')
  expect((await service.send('POST /things', {})).status).toBe(201)
  await service.handler.close()
})

describe("a host's pool", () => {
  test('is used as it is, and not ended', { timeout: 60_000 }, async () => {
    const pool = newPool({ connectionString: postgres.url, max: 1, application_name: 'the host' })
    const schema = newSchema()
    const service = openService(createPostgresAdapter({ pool, schema }))
    expect((await service.send('POST /things', { code: 'a' })).status).toBe(201)
    expect((await service.send('POST /things', { code: 'a' })).status).toBe(409)
    expect((await service.send('GET /things?q[code]=a')).body).toHaveLength(1)
    expect(await postgres.countConnections()).toBe(0)
    await service.handler.close()
    expect(pool.ended).toBe(false)
    // Nothing of ours stays on its connections: no prepared statement, transaction, or listener.
    const client = await pool.connect()
    expect((await client.query('SELECT name FROM pg_prepared_statements')).rows).toEqual([])
    const { rows } = await client.query('SELECT now() = statement_timestamp() AS is_outside')
    expect(rows).toEqual([{ is_outside: true }])
    expect(client.listenerCount('error')).toBe(0)
    client.release()
    await pool.end()
  })
})

describe('opening', () => {
  test('an unchanged configuration asks five questions, for the record, and for the layout and structures before and after it, and writes its line', {
    timeout: 60_000,
  }, async () => {
    const schema = newSchema()
    const pool = newPool({ connectionString: postgres.url })
    await openService(createPostgresAdapter({ pool, schema })).handler.ready()
    const watched = watchPool(pool)
    await openService(createPostgresAdapter({ pool: watched.pool, schema })).handler.ready()
    const askedFor = (part: string) => watched.sent.filter(({ text }) => text.includes(part)).length
    const opening = ['pg_attribute', '_structures"']
    const line = ['BEGIN', 'DELETE', 'INSERT', 'COMMIT']
    expect(watched.sent.slice(0, 9).map(({ text }) => text)).toEqual(
      [...opening, ...line, 'c__schema', ...opening].map((part) => expect.stringContaining(part)),
    )
    await openService(createPostgresAdapter({ pool: watched.pool, schema, migrate: false })).handler.ready()
    const reads = watched.sent.filter(({ text }) => /^SELECT.*c__schema/s.test(text))
    expect([askedFor('pg_attribute'), reads.length]).toEqual([4, 2])
    // The comparison of stored documents, in the background, reads the structures too.
    expect(askedFor('_structures"')).toBeLessThanOrEqual(6)
    await pool.end()
  })

  test('without migrate says what SQL is missing, and that SQL is enough', { timeout: 60_000 }, async () => {
    const options = { connectionString: postgres.url, schema: newSchema(), migrate: false }
    const service = openService(createPostgresAdapter(options))
    const said = await service.ready().then(
      () => '',
      (cause: Error) => cause.message,
    )
    expect(said).toContain('migrate')
    expect(await service.send('GET /things')).toMatchObject(unavailable)
    await service.handler.close()
    expect(await postgres.query('SELECT to_regnamespace($1) AS schema', [options.schema])).toEqual([
      { schema: null },
    ])

    const sql = said.slice(said.indexOf('CREATE SCHEMA'))
    const client = await connect()
    await client.query(sql)
    const second = openService(createPostgresAdapter(options))
    await second.ready()
    expect((await second.send('POST /things', { code: 'a' })).status).toBe(201)
    expect((await second.send('POST /things', { code: 'a' })).status).toBe(409)
    await second.handler.close()
  })

  /** A user of the database, and the URL with which it connects. */
  async function createRole(): Promise<{ name: string; url: string }> {
    const name = `role_${newSchema()}`
    await postgres.query(`CREATE ROLE ${name} LOGIN PASSWORD 'secret'`)
    const url = new URL(postgres.url)
    url.username = name
    url.password = 'secret'
    return { name, url: url.href }
  }

  test.each([
    ['to create a schema', () => []],
    [
      'on anything in the schema',
      (schema: string, role: string) => [`GRANT USAGE ON SCHEMA ${schema} TO ${role}`],
    ],
    [
      'on the tables of documents',
      (schema: string, role: string) => [
        `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
        `GRANT SELECT ON ${schema}._structures TO ${role}`,
      ],
    ],
  ])('without the rights %s is refused', { timeout: 60_000 }, async (_, grantsOf) => {
    const schema = newSchema()
    const role = await createRole()
    const grants = grantsOf(schema, role.name)
    if (grants.length > 0) {
      const owner = openService(createPostgresAdapter({ connectionString: postgres.url, schema }))
      await owner.ready()
      await owner.handler.close()
    }
    for (const grant of grants) await postgres.query(grant)
    const service = openService(createPostgresAdapter({ connectionString: role.url, schema }))
    await expect(service.ready()).rejects.toMatchObject({ code: 'unusable_storage' })
    expect(await service.send('GET /things')).toMatchObject(unavailable)
    await service.handler.close()
  })

  test('with a wrong password, or a database that is not there, is refused', {
    timeout: 60_000,
  }, async () => {
    const wrongPassword = new URL(postgres.url)
    wrongPassword.password = 'wrong'
    const noDatabase = new URL(postgres.url)
    noDatabase.pathname = '/nowhere'
    for (const { href } of [wrongPassword, noDatabase]) {
      const service = openService(createPostgresAdapter({ connectionString: href }))
      await expect(service.ready()).rejects.toMatchObject({ code: 'storage_unavailable' })
      expect(await service.send('GET /things')).toMatchObject(unavailable)
      await service.handler.close()
    }
  })
})
