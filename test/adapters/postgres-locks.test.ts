import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import type { Config } from '../../src/index.js'
import { type Paused, pausePool } from '../support/pausing-pool.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { createTestService, type TestService } from '../support/service.js'
import { until } from '../support/until.js'

// CONTRACT.md §10, "Locks"

/** A write that has not ended makes only those wait that are about the same documents. */

const permissions = { '*': true } as const
const text = { type: 'string' } as const
const refer = (onDelete?: 'cascade' | 'unset') =>
  ({ type: 'reference', collection: 'teams', ...(onDelete && { onDelete }) }) as const

const config = {
  collections: {
    users: {
      schema: {
        email: { ...text, unique: true, required: true },
        password: { type: 'hash', required: true },
      },
      permissions: { ...permissions, owner: true },
    },
    teams: { schema: { name: { ...text, unique: true }, area: text }, permissions, changes: true },
    held: {
      schema: { team: refer(), parent: { type: 'reference', collection: 'held' }, n: { type: 'integer' } },
      permissions,
      changes: true,
    },
    bound: { schema: { team: refer('cascade'), n: { type: 'integer' } }, permissions },
    loose: { schema: { team: refer('unset'), n: { type: 'integer' } }, permissions },
    alike: {
      schema: { area: text, team: { ...refer(), match: { area: 'area' } } },
      permissions,
    },
  },
} satisfies Config

const postgres = usePostgres()
const schema = newSchema()
let pool: pg.Pool
let observer: pg.Client
let service: TestService
let pauseNext: () => Promise<Paused>

beforeAll(async () => {
  pool = newPool({ connectionString: postgres.url, max: 20, application_name: schema })
  observer = new pg.Client({ connectionString: postgres.url })
  await observer.connect()
  const pausing = pausePool(pool)
  pauseNext = pausing.pauseNext
  const adapter = createPostgresAdapter({ pool: pausing.pool, schema })
  service = createTestService(config, { adapter })
  await service.handler.ready()
})

afterAll(async () => {
  await service.handler.close()
  await observer.query(`DROP SCHEMA ${schema} CASCADE`)
  await observer.end()
  await pool.end()
})

let serial = 0

async function create(path: string, body: object): Promise<string> {
  const { status, body: document } = await service.send(`POST ${path}`, { body })
  expect(status).toBe(201)
  return document._id
}

/** Documents of their own for each test. */
interface World {
  readonly team: string
  readonly held: string
  readonly bound: string
  readonly loose: string
  readonly alike: string
}

async function createWorld(): Promise<World> {
  const team = await create('/teams', { name: `team ${serial++}`, area: 'north' })
  const [held, bound, loose] = ['held', 'bound', 'loose'] as const
  return {
    team,
    held: await create(`/${held}`, { n: 1 }),
    bound: await create(`/${bound}`, { team }),
    loose: await create(`/${loose}`, { team }),
    alike: await create('/alike', { area: 'north' }),
  }
}

type Line = readonly [line: string, body?: object]

const operation = ([line, body]: Line) => {
  const [method, path] = line.split(' ')
  return { method, path, ...(body && { body }) }
}

const batch = (...lines: readonly Line[]): Line => ['POST /_batch', { operations: lines.map(operation) }]

/** Writes of several steps, each of which looks for what it does not name, or names much. */
const WRITES: readonly (readonly [what: string, write: (world: World) => Line])[] = [
  ['a delete with all that refers to it', ({ team }) => [`DELETE /teams/${team}`]],
  ['a change with which others must agree', ({ team }) => [`PATCH /teams/${team}`, { area: 'south' }]],
  ['a new reference', ({ team, held }) => [`PATCH /held/${held}`, { team }]],
  ['a reference that agrees', ({ team, alike }) => [`PATCH /alike/${alike}`, { team }]],
  ['many documents', ({ team }) => ['POST /held/bulk', { documents: [{ team }, { team }, { n: 1 }] }]],
  [
    'a batch that deletes',
    ({ team, held, bound }) =>
      batch([`GET /held/${held}`], [`DELETE /bound/${bound}`], [`DELETE /teams/${team}`]),
  ],
]

const send = async ([line, body]: Line): Promise<number> =>
  (await service.send(line, body ? { body } : {})).status

/** How many of the service wait for a process. Elsewhere on the server, a building of an index waits for all writes. */
async function countWaiting({ process }: Paused): Promise<number> {
  const text =
    'SELECT count(*)::int AS total FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE application_name = $2 AND NOT granted AND $1 = ANY(pg_blocking_pids(pid))'
  return (await observer.query(text, [process, schema])).rows[0].total
}

/** The locks of whole tables that a process has. */
async function findTableLocks({ process }: Paused): Promise<readonly string[]> {
  const text = `SELECT DISTINCT mode FROM pg_locks WHERE pid = $1 AND locktype = 'relation' AND granted`
  return (await observer.query(text, [process])).rows.map(({ mode }) => mode)
}

/** The most that ever waited for a paused write while others were sent. */
async function watch(paused: Paused, sending: Promise<unknown>): Promise<number> {
  let isOver = false
  const over = sending.finally(() => {
    isOver = true
  })
  let most = 0
  while (!isOver) most = Math.max(most, await countWaiting(paused))
  await over
  return most
}

describe.each(WRITES)('%s, not committed yet,', (_, write) => {
  test('makes no other write wait', async () => {
    const [world, ...others] = await Promise.all(Array.from({ length: WRITES.length + 1 }, createWorld))
    if (!world) throw new Error('there is no world')
    const pausing = pauseNext()
    const writing = send(write(world))
    const paused = await pausing
    const account = { email: `${serial++}@example.com`, password: 'correct horse' }
    const requests: readonly Line[] = [
      ...WRITES.flatMap(([, one], i) => (others[i] ? [one(others[i])] : [])),
      ...['held', 'bound', 'loose'].map((name): Line => [`POST /${name}`, { n: 1 }]),
      ['POST /teams', { name: `new ${serial++}` }],
      ['POST /auth/register', account],
    ]
    let statuses: readonly number[] = []
    const sending = Promise.all(requests.map(send)).then((all) => {
      statuses = all
    })
    expect(await watch(paused, sending)).toBe(0)
    expect(statuses.filter((status) => status >= 300)).toEqual([])
    const allowed = ['AccessShareLock', 'RowShareLock', 'RowExclusiveLock']
    const modes = await findTableLocks(paused)
    expect(modes).toContain('RowExclusiveLock')
    expect(modes.filter((mode) => !allowed.includes(mode))).toEqual([])
    paused.release()
    expect(await writing).toBeLessThan(300)
  })
})

test('who wants the same document waits, and is counted', async () => {
  const { team, held } = await createWorld()
  const pausing = pauseNext()
  const deleting = send([`DELETE /teams/${team}`])
  const paused = await pausing
  const referring = send([`PATCH /held/${held}`, { team }])
  await until(async () => (await countWaiting(paused)) === 1)
  paused.release()
  expect([await deleting, await referring]).toEqual([204, 400])
})

test('of two that get the same parent, in their own collection, none waits', async () => {
  const { held: parent } = await createWorld()
  const [one, other] = [await createWorld(), await createWorld()]
  const pausing = pauseNext()
  const first = send([`PATCH /held/${one.held}`, { parent }])
  const paused = await pausing
  expect(await watch(paused, send([`PATCH /held/${other.held}`, { parent }]))).toBe(0)
  paused.release()
  expect(await first).toBe(200)
})
