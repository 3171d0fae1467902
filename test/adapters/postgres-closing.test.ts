import type pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { type HostList, HostPools } from '../../src/adapters/postgres/connection/hosts.js'
import { Connections } from '../../src/adapters/postgres/connection/lease.js'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { everything } from '../../src/core/filter/filter.js'
import type { CollectionPlan } from '../../src/core/storage.js'
import { type PausingPg, pausePg } from '../support/pausing-pg.js'
import { holdPool } from '../support/pausing-pool.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { until } from '../support/until.js'

/** The end of an adapter comes while its connections are opened. */

const postgres = usePostgres()

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

interface Opened {
  readonly pausing: PausingPg
  readonly connections: Connections
  /** Asks over a connection of its own. */
  ask(text?: string): Promise<string>
}

function open(hosts: Partial<HostList> = {}): Opened {
  const pausing = pausePg()
  const list = { urls: [postgres.url], mustTakeWrites: false, ...hosts }
  const connections = new Connections(new HostPools(list, pausing))
  const ask = (text = 'SELECT 1'): Promise<string> =>
    connections
      .use(({ run }) => run(text), {})
      .then(
        () => 'done',
        ({ code }) => String(code),
      )
  return { pausing, connections, ask }
}

/** Another name for the same server. */
const otherUrl = (): string => {
  const url = new URL(postgres.url)
  url.searchParams.set('fallback_application_name', 'other')
  return url.href
}

const several = (): Partial<HostList> => ({ urls: [postgres.url, otherUrl()], mustTakeWrites: true })

/** What a server that takes no writes refuses. */
const READ_ONLY = 'BEGIN READ ONLY; CREATE TABLE none_such ()'

/** A port on which nothing listens. */
const nowhere = 'postgres://postgres@127.0.0.1:1/postgres'

/** What is under way is let go on once the end has begun. */
async function closeAround(
  { pausing, connections, ask }: Opened,
  held: readonly { release(): void }[],
): Promise<void> {
  let isClosed = false
  const closing = connections.close().then(() => {
    isClosed = true
  })
  expect(isClosed).toBe(false)
  pausing.hold(Number.POSITIVE_INFINITY)
  for (const one of held) one.release()
  await closing
  expect(pausing.open()).toEqual([])
  const { length } = pausing.clients
  expect(await ask()).toBe('storage_unavailable')
  expect(pausing.clients).toHaveLength(length)
}

describe('what is open or being opened at the end is closed before it is over', () => {
  test('a connection that somebody waits for', async () => {
    const opened = open()
    opened.pausing.hold()
    const asking = opened.ask()
    await closeAround(opened, await opened.pausing.held(1))
    expect(await asking).toBe('done')
  })

  test('connections that came too late to be used', async () => {
    const opened = open()
    opened.pausing.hold(1)
    const asking = Array.from({ length: 4 }, () => opened.ask())
    const held = await opened.pausing.held(3)
    expect(await Promise.all(asking)).toEqual(asking.map(() => 'done'))
    expect(opened.pausing.open()).toHaveLength(1)
    await closeAround(opened, held)
  })

  test('connections that nobody uses', async () => {
    const opened = open()
    await Promise.all(Array.from({ length: 4 }, () => opened.ask('SELECT pg_sleep(0.05)')))
    expect(opened.pausing.open()).toHaveLength(4)
    await closeAround(opened, [])
  })

  test('a connection that is in use', async () => {
    const opened = open()
    const asking = opened.ask('SELECT pg_sleep(0.2)')
    await closeAround(opened, [])
    expect(await asking).toBe('done')
  })

  test('connections to a server that has said that it takes no writes', async () => {
    const opened = open()
    const reading = opened.ask('SELECT pg_sleep(0.2)')
    expect(await opened.ask(READ_ONLY)).not.toBe('done')
    await closeAround(opened, [])
    expect(await reading).toBe('done')
  })
})

// CONTRACT.md §10, "Several hosts"
test('a connection to a server that takes no writes is not used, though it was still being opened', async () => {
  const { pausing, connections, ask } = open()
  pausing.hold(1)
  const first = ask('SELECT pg_sleep(0.05)')
  const used: unknown[] = []
  const second = connections.use(async ({ client, run }) => {
    used.push(client)
    await run(used.length === 1 ? READ_ONLY : 'SELECT 1')
  }, {})
  const [held] = await pausing.held(1)
  await first
  await until(() => used.length === 1, 'it has failed')
  pausing.hold(Number.POSITIVE_INFINITY)
  held?.release()
  await second
  expect(used.map((client) => pausing.clients.indexOf(client as pg.Client))).toEqual([0, 2])
  await connections.close()
})

describe('while a host that takes writes is looked for', () => {
  test.each([1, 2])('of which %s are asked', async (count) => {
    const opened = open(several())
    opened.pausing.hold(2 - count)
    const asking = opened.ask()
    await closeAround(opened, await opened.pausing.held(count))
    expect(['done', 'storage_unavailable']).toContain(await asking)
  })

  test('and the first connection to it is opened', async () => {
    const opened = open(several())
    opened.pausing.hold(2)
    const asking = opened.ask()
    await closeAround(opened, await opened.pausing.held(1))
    expect(await asking).toBe('done')
  })

  test('and none is found', async () => {
    const opened = open({ urls: [nowhere], mustTakeWrites: true })
    opened.pausing.hold(1)
    const asking = opened.ask()
    // The second look.
    await closeAround(opened, await opened.pausing.held(1))
    expect(await asking).toBe('storage_unavailable')
  })
})

const PLANS: readonly CollectionPlan[] = [{ name: 'things', indexes: [] }]

describe('an adapter that is closed while it is opened', () => {
  test.each([0, 1, 2])(
    'over a pool of the host, at the connection after %s others, asks for no more',
    async (after) => {
      const pool = newPool({ connectionString: postgres.url })
      ends.push(() => pool.end())
      const held = holdPool(pool)
      const adapter = createPostgresAdapter({ pool: held.pool, schema: newSchema() })
      const holding = held.hold(after)
      const opening = adapter.open(PLANS).then(
        () => 'done',
        ({ code }) => code,
      )
      const release = await holding
      const closing = adapter.close()
      release()
      await closing
      expect(pool.totalCount).toBe(pool.idleCount)
      const count = held.count()
      expect(['done', 'storage_unavailable']).toContain(await opening)
      await expect((async () => adapter.count('things', everything, {}))()).rejects.toMatchObject({
        code: 'storage_unavailable',
      })
      expect(held.count()).toBe(count)
      await adapter.open(PLANS)
      expect(await adapter.count('things', everything, {})).toBe(0)
      await adapter.close()
    },
  )

  test.each([
    ['SQLite', () => createSqliteAdapter({ file: ':memory:' })],
    ['PostgreSQL', () => createPostgresAdapter({ connectionString: postgres.url, schema: newSchema() })],
  ])('at once, stays closed: %s', async (_, create) => {
    const adapter = create()
    const opening = Promise.allSettled([adapter.open(PLANS)])
    await Promise.all([adapter.close(), adapter.close()])
    await opening
    await expect((async () => adapter.count('things', everything, {}))()).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    await adapter.open(PLANS)
    expect(await adapter.count('things', everything, {})).toBe(0)
    await adapter.close()
  })
})
