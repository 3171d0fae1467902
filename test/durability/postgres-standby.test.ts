import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Config } from '../../src/index.js'
import { newSchema } from '../support/postgres.js'
import { startPostgres, type TestPostgres } from '../support/start-postgres.mjs'
import { until } from '../support/until.js'
import { expectNoFaults, openService } from './support/service.js'

// CONTRACT.md §10, "Cancelling"

/** A leader that acknowledges nothing before its standby has it. */

expectNoFaults()

let servers: { readonly leading: TestPostgres; readonly following: TestPostgres }
let leader: pg.Client
let standby: pg.Client
let receiver: number | undefined

const connect = async (connectionString: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Starts two servers, of which the second follows the first. */
async function startServers(): Promise<typeof servers> {
  const leading = await startPostgres()
  await leading.stop()
  const { hostname, port } = new URL(leading.url)
  const settings = {
    primary_conninfo: `host=${hostname} port=${port} user=postgres password=postgres`,
  }
  const following = await startPostgres({ copyOf: leading.folder, settings })
  await leading.start()
  return { leading, following }
}

/** Changes a setting of the leader. */
async function set(name: string, value: string): Promise<void> {
  await leader.query(`ALTER SYSTEM SET ${name} = '${value}'`)
  await leader.query('SELECT pg_reload_conf()')
  await until(async () => (await leader.query(`SHOW ${name}`)).rows[0][name] === value, 'it is set')
}

beforeAll(async () => {
  servers = await startServers()
  leader = await connect(servers.leading.url)
  standby = await connect(servers.following.url)
  const following = `SELECT FROM pg_stat_replication WHERE state = 'streaming'`
  await until(async () => (await leader.query(following)).rows.length === 1, 'the standby follows')
  await set('synchronous_standby_names', '*')
  const isSynchronous = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`
  await until(async () => (await leader.query(isSynchronous)).rows.length === 1, 'the standby is waited for')
})

afterAll(async () => {
  resume()
  await leader.end()
  await standby.end()
  await servers.following.destroy()
  await servers.leading.destroy()
})

/** Stops what the standby receives with: nothing more gets there. */
async function pause(): Promise<void> {
  receiver = (await standby.query('SELECT pid FROM pg_stat_wal_receiver')).rows[0].pid
  process.kill(Number(receiver), 'SIGSTOP')
}

function resume(): void {
  if (receiver !== undefined) process.kill(receiver, 'SIGCONT')
  receiver = undefined
}

const permissions = { '*': true } as const
const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
      },
      permissions,
    },
    things: { schema: { n: { type: 'integer' } }, permissions },
    held: { schema: { thing: { type: 'reference', collection: 'things' } }, permissions },
  },
} satisfies Config

test('is never overtaken: what waits for the standby is told as unknown in time, and seen by nobody', {
  timeout: 120_000,
}, async () => {
  const schema = newSchema()
  const store = { engine: 'postgres', options: { connectionString: servers.leading.url, schema } } as const
  const service = openService(store, { requestSeconds: 5 }, config)
  const idOf = async (): Promise<string> => (await service.send('POST /things', { n: 0 })).body._id
  const [changed, deleted, named] = [await idOf(), await idOf(), await idOf()]
  await service.send('GET /things')
  const before = (await service.send('GET /things')).body
  expect(before).toHaveLength(3)

  const writes: readonly (readonly [line: string, body?: unknown])[] = [
    ['POST /things', { n: 1 }],
    [`PATCH /things/${changed}`, { n: 2 }],
    [`DELETE /things/${deleted}`],
    ['POST /held', { thing: named }],
    [
      'POST /_batch',
      {
        operations: [
          { method: 'POST', path: '/things', body: { n: 3 } },
          { method: 'GET', path: `/things/${named}` },
        ],
      },
    ],
    ['POST /auth/register', { email: 'ann@example.com', password: 'correct horse' }],
  ]
  /** How many wait for the standby, and have done so for some time. */
  const countWaiting = async (milliseconds: number): Promise<number> =>
    (
      await leader.query(
        `SELECT count(*)::int AS total FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND clock_timestamp() - query_start > interval '${milliseconds} milliseconds'`,
      )
    ).rows[0].total

  // A limit for statements is not one for the commit behind them.
  await set('statement_timeout', '1s')
  await pause()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const writing = Promise.all(writes.map(([line, body]) => service.send(line, body)))
    await until(async () => (await countWaiting(1300)) === writes.length, 'all wait for the standby')
    vi.advanceTimersByTime(5000)
    for (const answer of await writing) expect(answer).toMatchObject({ status: 503, code: 'outcome_unknown' })
  } finally {
    vi.useRealTimers()
  }
  // Who would cancel them would do it now.
  await until(async () => (await countWaiting(2600)) === writes.length, 'all still wait', 20)
  expect((await service.send('GET /things')).body).toEqual(before)
  expect((await service.send('GET /held')).body).toEqual([])
  const present = `SELECT count(*)::int AS total FROM ${schema}`
  const countThere = async (client: pg.Client) =>
    (await client.query(`${present}.c_things WHERE document ->> 'n' = '1'`)).rows[0].total
  expect(await countThere(leader)).toBe(0)

  resume()
  await until(async () => (await countWaiting(0)) === 0, 'none waits')
  const things: readonly { _id: string; n: number }[] = (await service.send('GET /things')).body
  expect(things.map(({ n }) => n).sort()).toEqual([0, 1, 2, 3])
  expect(things.map(({ _id }) => _id)).not.toContain(deleted)
  expect((await service.send('GET /held')).body).toHaveLength(1)
  await until(async () => (await countThere(standby)) === 1, 'the standby has it')
  await service.handler.close()
})

test.each(['notice', 'error'])(
  'is not taken for done where others cancel what waits for the standby, and clients hear of a %s',
  {
    timeout: 120_000,
  },
  async (level) => {
    await set('client_min_messages', level)
    const schema = newSchema()
    const store = { engine: 'postgres', options: { connectionString: servers.leading.url, schema } } as const
    const service = openService(store, {}, config)
    const { _id } = (await service.send('POST /things', { n: 0 })).body
    const writes: readonly (readonly [line: string, body?: unknown])[] = [
      ['POST /things', { n: 1 }],
      [`PATCH /things/${_id}`, { n: 2 }],
      ['POST /held', { thing: _id }],
    ]
    const waiting = `pg_stat_activity WHERE wait_event = 'SyncRep'`
    for (const [line, body] of writes) {
      await pause()
      const writing = service.send(line, body)
      await until(async () => (await leader.query(`SELECT FROM ${waiting}`)).rows.length === 1, 'it waits')
      await leader.query(`SELECT pg_cancel_backend(pid) FROM ${waiting}`)
      expect(await writing).toMatchObject({ status: 503, code: 'outcome_unknown' })
      resume()
    }
    // The connections are as good as before.
    expect((await service.send('POST /things', { n: 3 })).status).toBe(201)
    await service.handler.close()
  },
)
