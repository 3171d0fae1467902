import type pg from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  createPostgresAdapter,
  type PostgresAdapterOptions,
} from '../../src/adapters/postgres/postgres-adapter.js'
import type { Config, Consumer } from '../../src/index.js'
import { readStream } from '../support/event-streams.js'
import { newPool, newSchema } from '../support/postgres.js'
import { createTestService, type TestService } from '../support/service.js'
import { until } from '../support/until.js'
import { useOwnPostgres } from './support/own-postgres.js'
import { startProxy } from './support/proxy.js'
import { expectNoFaults } from './support/service.js'

// CONTRACT.md §10, "Timeouts"

/** Connections that stay open and say nothing more, under work that has no deadline of a request. */

vi.mock('../../src/adapters/postgres/connection/timers.js', async (original) => ({
  ...(await original<object>()),
  SILENCE: 1000,
  LEAVE: 1000,
}))

expectNoFaults()
const postgres = useOwnPostgres()

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
      },
      permissions: { '*': { create: true }, owner: { read: true } },
    },
    things: {
      changes: true,
      schema: { n: { type: 'integer' } },
      permissions: { '*': { read: true, create: true, update: true } },
    },
  },
  limits: { requestSeconds: 60 },
} satisfies Config

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

type Place = Pick<PostgresAdapterOptions, 'connectionString' | 'pool'>

const openProxy = async () => {
  const proxy = await startProxy(postgres.url)
  ends.push(() => proxy.end())
  return proxy
}

/** A pool on which statements are sent as they are, never under a name. */
const openPool = (connectionString: string): pg.Pool => {
  const pool = newPool({ connectionString })
  ends.push(async () => pool.ended || pool.end())
  return pool
}

/** A consumer that remembers the `n` of what it was told of. */
function remember() {
  const told: unknown[] = []
  const consumer: Consumer = {
    collections: ['things'],
    handle: ({ after }) => void told.push(after?.n),
  }
  return { told, consumers: { counting: consumer } }
}

const open = (
  place: Place,
  schema: string,
  options: { readonly consumers?: Record<string, Consumer>; readonly config?: Config } = {},
): TestService => {
  const { config: configured = config, ...others } = options
  const service = createTestService(configured, {
    adapter: createPostgresAdapter({ ...place, schema }),
    ...others,
  })
  ends.push(() => service.handler.close())
  return service
}

/** Another process, with connections of its own, that writes. */
const openWriter = (schema: string) => {
  const service = open({ connectionString: postgres.url }, schema)
  let n = 0
  return async (): Promise<number> => {
    n += 1
    expect((await service.send('POST /things', { body: { n } })).status).toBe(201)
    return n
  }
}

/** A stream of changes; `undefined` where the storage cannot be reached. */
const listen = async (service: TestService, token?: string) => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await service.handler(new Request('http://service.test/things/changes', { headers }))
  if (response.status === 503) return undefined
  expect(response.status).toBe(200)
  return readStream(response)
}

const account = { email: 'ann@example.com', password: 'correct horse' }

describe('a connection that is silent', { timeout: 60_000 }, () => {
  test('ends no consumer that reads over it', async () => {
    const [proxy, schema] = [await openProxy(), newSchema()]
    const { told, consumers } = remember()
    await open({ connectionString: proxy.url }, schema, { consumers }).handler.ready()
    const write = openWriter(schema)
    const first = await write()
    await until(() => told.includes(first), 'it is told')
    proxy.silence()
    const second = await write()
    await until(() => told.includes(second), 'it is told again', 30)
  })

  test('ends no consumer that raises its lease over it', async () => {
    const [proxy, schema] = [await openProxy(), newSchema()]
    const { told, consumers } = remember()
    await open({ pool: openPool(proxy.url) }, schema, { consumers }).handler.ready()
    const write = openWriter(schema)
    const readLease = async (): Promise<number> => {
      const text = `SELECT document ->> 'lease' AS lease FROM ${schema}.c__consumers`
      return Number((await postgres.query(text))[0]?.lease)
    }
    const first = await write()
    await until(() => told.includes(first), 'it is told')
    proxy.silenceAt(/"holder":"/)
    await write()
    await until(() => !proxy.isAwaited, 'it is silent')
    const before = await readLease()
    await until(async () => (await readLease()) > before, 'it is raised', 30)
    expect(told).toEqual([1, 2])
  })

  test('ends no stream of changes, and keeps no other from beginning', async () => {
    const [proxy, schema] = [await openProxy(), newSchema()]
    const service = open({ connectionString: proxy.url }, schema)
    const stream = await listen(service)
    const write = openWriter(schema)
    await write()
    await stream?.until(2)
    proxy.silence()
    await write()
    await until(async () => (await listen(service)) !== undefined, 'another begins', 30)
    const events = await stream?.until(3)
    expect(events?.map(({ event }) => event)).toEqual(['reset', 'enter', 'enter'])
  })

  test('ends no stream beside one whose session is looked at over it', async () => {
    const [proxy, schema] = [await openProxy(), newSchema()]
    const service = open({ pool: openPool(proxy.url) }, schema)
    const { token } = await service.register(account)
    const stream = await listen(service)
    // First the request is told who asks, then the stream, which nobody else ends.
    proxy.silenceAt(/_sessions/, 2)
    expect(await listen(service, token)).toBe(undefined)
    expect(proxy.isAwaited).toBe(false)
    await openWriter(schema)()
    await until(async () => (await listen(service, token)) !== undefined, 'another begins', 30)
    const events = await stream?.until(2)
    expect(events?.map(({ event }) => event)).toEqual(['reset', 'enter'])
  })

  test.each([
    ['what is there', /has_table_privilege/],
    ['for the tables', /BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle/],
    ['for an index', /CREATE INDEX CONCURRENTLY/],
  ])('ends no start that asks %s over it', async (_, text) => {
    const [proxy, schema] = [await openProxy(), newSchema()]
    const { things } = config.collections
    const indexed = { things: { ...things, schema: { n: { type: 'integer', index: true } } } } as const
    // An index of a table that is there is built by itself.
    const before = { config: { collections: { things } } }
    if (text.source.includes('INDEX'))
      await open({ connectionString: postgres.url }, schema, before).handler.ready()
    proxy.silenceAt(text)
    const service = open({ connectionString: proxy.url }, schema, { config: { collections: indexed } })
    await expect(service.handler.ready()).rejects.toMatchObject({ code: 'storage_unavailable' })
    await until(
      () =>
        service.handler.ready().then(
          () => true,
          () => false,
        ),
      'it is open',
      60,
    )
    expect((await service.send('GET /things')).status).toBe(200)
  })

  test.each([
    ['reads the log', /written AS MATERIALIZED/],
    ['raises a lease', /"holder":"/],
    ['looks at a session', /_sessions/],
  ])('keeps no service from closing that %s over it', async (_, text) => {
    const [proxy, schema] = [await openProxy(), newSchema()]
    const { consumers } = remember()
    const short = { ...config, limits: { requestSeconds: 1 } }
    const pool = openPool(proxy.url)
    const service = open({ pool }, schema, { consumers, config: short })
    // Over the same storage, with the time that a loaded machine needs.
    const { token } = await open({ connectionString: postgres.url }, schema).register(account)
    const stream = await listen(service, token)
    await stream?.until(1)
    proxy.silenceAt(text)
    await openWriter(schema)()
    await until(() => !proxy.isAwaited, 'it is silent')
    await service.handler.close()
    await pool.end()
    expect(pool.totalCount).toBe(0)
  })

  test('keeps no service from closing that starts over it', async () => {
    const proxy = await openProxy()
    proxy.silenceAt(/BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle/)
    const short = { ...config, limits: { requestSeconds: 0.1 } }
    const service = open({ connectionString: proxy.url }, newSchema(), { config: short })
    const starting = service.handler.ready().catch(({ code }) => code)
    await until(() => !proxy.isAwaited, 'it is silent')
    await service.handler.close()
    expect(await starting).toBe('storage_unavailable')
  })
})

describe('what takes long, and goes on,', { timeout: 60_000 }, () => {
  /** Makes others wait for a table, until what is returned is called. */
  const lock = async (schema: string, mode: string): Promise<() => Promise<unknown>> => {
    const client = await postgres.connect()
    ends.push(() => client.end())
    await client.query(`BEGIN; LOCK TABLE ${schema}.c_things IN ${mode} MODE`)
    return () => client.query('ROLLBACK')
  }
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 4000))

  test('is not broken off where it builds an index', async () => {
    const schema = newSchema()
    const { things } = config.collections
    const before = open({ connectionString: postgres.url }, schema, { config: { collections: { things } } })
    await before.handler.ready()
    const unlock = await lock(schema, 'ROW EXCLUSIVE')
    const indexed = { ...things, schema: { n: { type: 'integer', index: true } } } as const
    const after = open({ connectionString: postgres.url }, schema, {
      config: { collections: { things: indexed } },
    })
    const starting = after.handler.ready()
    await pause()
    await unlock()
    await starting
  })

  test('is not broken off where its request has the time', async () => {
    const schema = newSchema()
    const service = open({ connectionString: postgres.url }, schema)
    await service.handler.ready()
    const unlock = await lock(schema, 'ACCESS EXCLUSIVE')
    const answers = Promise.all([service.send('GET /things'), service.send('GET /things/count')])
    await pause()
    await unlock()
    expect((await answers).map(({ status }) => status)).toEqual([200, 200])
  })
})
