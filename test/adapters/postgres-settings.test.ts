import pg from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import type { StorageAdapter } from '../../src/core/storage.js'
import { testAdapter } from '../../src/tools/testing/index.js'
import { readStream } from '../support/event-streams.js'
import { useHostileDatabase } from '../support/hostile-database.js'
import { newPool, newSchema } from '../support/postgres.js'
import { createTestService, type TestService } from '../support/service.js'
import { isQuick, seedOf } from '../support/tier.js'

// CONTRACT.md §7, "Storage"

vi.mock('../../src/tools/testing/adapter/check/edge-values.js', async (original) => {
  const { fewerOperands } = await import('../support/fewer-operands.js')
  return fewerOperands(await original(), 2)
})

/** What the settings of a database, a role or a file say about sessions changes no answer. */

const config = {
  limits: { bulk: 100 },
  collections: {
    teams: {
      schema: { name: { type: 'string', unique: true }, size: { type: 'integer' } },
      permissions: { '*': true },
    },
    members: {
      changes: true,
      schema: {
        team: { type: 'reference', collection: 'teams', onDelete: 'cascade' },
        joined: { type: 'timestamp' },
        share: { type: 'number' },
      },
      permissions: { '*': true },
    },
  },
} as const

const opened: TestService[] = []
const pools: pg.Pool[] = []
afterEach(async () => {
  for (const { handler } of opened.splice(0)) await handler.close()
  for (const pool of pools.splice(0)) await pool.end()
})

const open = (adapter: StorageAdapter): TestService => {
  const service = createTestService(config, { adapter })
  opened.push(service)
  return service
}

const openPool = (url: string): pg.Pool => {
  const pool = newPool({ connectionString: url })
  pools.push(pool)
  return pool
}

type Open = (url: string) => StorageAdapter

const ADAPTERS: readonly (readonly [name: string, open: Open])[] = [
  ['its own pool', (url) => createPostgresAdapter({ connectionString: url, schema: newSchema() })],
  ["a host's pool", (url) => createPostgresAdapter({ pool: openPool(url), schema: newSchema() })],
]

/** Each way to write and to read, beside what changes tell. */
async function useService(adapter: StorageAdapter): Promise<void> {
  const { send, handler } = open(adapter)
  const statusOf = async (line: string, body?: unknown): Promise<number> =>
    (await send(line, body === undefined ? {} : { body })).status
  const create = async (path: string, body: object) => (await send(`POST /${path}`, { body })).body
  const stream = readStream(await handler(new Request('http://localhost/members/changes')))
  const team = await create('teams', { name: 'a\\b\'"', size: 2 ** 53 - 1 })
  const other = await create('teams', { name: 'other' })
  const member = await create('members', {
    team: team._id,
    joined: '2026-02-01T03:04:05.678Z',
    share: 0.1 + 0.2,
  })
  const batch = [
    { method: 'GET', path: `/members/${member._id}` },
    { method: 'PATCH', path: `/members/${member._id}`, body: { share: 1 / 3 } },
    { method: 'PUT', path: `/teams/${team._id}`, body: { name: 'renamed', size: 7 } },
    { method: 'DELETE', path: `/teams/${other._id}` },
  ]
  const { status, body } = await send('POST /_batch', { body: { operations: batch } })
  expect([status, body.results?.map((one: { status: number }) => one.status)]).toEqual([
    200,
    [200, 200, 200, 204],
  ])
  expect((await send(`GET /members/${member._id}`)).body).toMatchObject({
    share: 1 / 3,
    joined: '2026-02-01T03:04:05.678Z',
  })
  expect(
    (await send('GET /members?q[share][$lt]=0.34&q[joined][$gte]=2026-02-01T03:04:05.678Z')).body,
  ).toHaveLength(1)
  expect((await send('POST /teams', { body: { name: 'renamed' } })).body.code).toBe('unique_violation')
  const documents = Array.from({ length: 60 }, (_, i) => ({ team: team._id, share: i / 7 }))
  expect(await statusOf('POST /members/bulk', { documents })).toBe(201)
  const racing = Array.from({ length: 12 }, (_, i) => statusOf(`PATCH /teams/${team._id}`, { size: i }))
  expect(await Promise.all(racing)).toEqual(racing.map(() => 200))
  expect(await statusOf(`DELETE /teams/${team._id}`)).toBe(204)
  expect((await send('GET /members/count')).body).toEqual({ total: 0 })
  const events = (await stream.until(2 + 61 + 61)).map(({ event }) => event)
  await stream.close()
  const named = (name: string): number => events.filter((event) => event === name).length
  expect(['reset', 'enter', 'change', 'leave'].map(named)).toEqual([1, 61, 1, 61])
}

describe.each(['read committed', 'repeatable read', 'serializable'])(
  'transactions that are %s',
  (isolation) => {
    const database = useHostileDatabase(`hostile_${isolation.replace(' ', '_')}`, isolation)

    test.each(ADAPTERS)('are used through %s', { timeout: 60_000 }, async (_, openAdapter) => {
      await useService(openAdapter(database.url))
    })

    test('do not keep processes from starting together', { timeout: 60_000 }, async () => {
      const schema = newSchema()
      const services = Array.from({ length: 5 }, () =>
        open(createPostgresAdapter({ connectionString: database.url, schema })),
      )
      await Promise.all(services.map(({ handler }) => handler.ready()))
      for (const { send } of services) expect((await send('POST /teams', { body: {} })).status).toBe(201)
      const { _id } = (await services[0]?.send('POST /teams', { body: {} }))?.body ?? {}
      const racing = services.flatMap(({ send }) =>
        [0, 1, 2].map((size) => send(`PATCH /teams/${_id}`, { body: { size } })),
      )
      expect((await Promise.all(racing)).map(({ status }) => status)).toEqual(racing.map(() => 200))
    })
  },
)

describe('what a host reads otherwise', () => {
  const database = useHostileDatabase('hostile_types', 'read committed')
  const { types } = pg
  const kept = Object.values(types.builtins).map((oid) => [oid, types.getTypeParser(oid)] as const)
  afterEach(() => {
    for (const [oid, parse] of kept) types.setTypeParser(oid, parse)
  })

  test.each(ADAPTERS)('is not read through %s', { timeout: 60_000 }, async (_, openAdapter) => {
    const { TEXT, ...others } = types.builtins
    for (const oid of Object.values(others)) types.setTypeParser(oid, (text) => ({ parsed: text }))
    types.setTypeParser(types.builtins.INT8, BigInt)
    await useService(openAdapter(database.url))
  })
})

// `npm test` runs the kit on one PostgreSQL.
if (!isQuick)
  describe('the kit', () => {
    const database = useHostileDatabase('hostile_kit', 'serializable')
    testAdapter({
      test: (name, run) => test(name, { timeout: 300_000 }, run),
      async createStorage() {
        const schema = newSchema()
        return {
          connect: () => createPostgresAdapter({ connectionString: database.url, schema }),
          destroy: async () => {},
        }
      },
      fuzz: { stores: 4, queries: 50, seed: seedOf(1) },
    })
  })
