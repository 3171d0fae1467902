import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { newSchema } from '../support/postgres.js'
import { startPostgres, type TestPostgres } from '../support/start-postgres.mjs'
import { until } from '../support/until.js'
import { FAULTS, type Load, startLoad } from './support/load.js'
import { startProxy } from './support/proxy.js'
import { digestOf, expectNoFaults, openService, readStore, type Service } from './support/service.js'
import type { Store } from './support/stores.js'

/** A leader that dies or is cut off, and its standby, which takes over (CONTRACT.md §10, "Several hosts"). */

expectNoFaults()

const CLIENTS = 20

const servers = new Set<TestPostgres>()
afterEach(async () => {
  await Promise.all([...servers].map((server) => server.destroy()))
  servers.clear()
})

/** Runs a statement on a connection of its own. */
async function query(url: string, text: string): Promise<readonly { readonly [column: string]: unknown }[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** A leader that acknowledges what its standby has too. */
async function startPair(): Promise<{ readonly leader: TestPostgres; readonly standby: TestPostgres }> {
  const leader = await startPostgres({ settings: { synchronous_standby_names: 'standby' } })
  servers.add(leader)
  const { port } = new URL(leader.url)
  const source = `host=127.0.0.1 port=${port} user=postgres password=postgres application_name=standby`
  await leader.stop()
  const settings = { primary_conninfo: source, hot_standby: 'on' }
  const standby = await startPostgres({ copyOf: leader.folder, settings })
  servers.add(standby)
  await leader.start()
  await until(async () => {
    const [row] = await query(leader.url, 'SELECT sync_state FROM pg_stat_replication')
    return row?.sync_state === 'sync'
  }, 'the standby follows')
  return { leader, standby }
}

/** The connection string of several servers. */
function joinHosts(...urls: readonly string[]): string {
  const [first = '', ...others] = urls
  const hosts = [first, ...others].map((url) => new URL(url).host)
  return first.replace(new URL(first).host, hosts.join(','))
}

const newStore = (connectionString: string): Store & { readonly engine: 'postgres' } => ({
  engine: 'postgres',
  options: { connectionString, schema: newSchema() },
})

const promote = (standby: TestPostgres): Promise<unknown> => query(standby.url, 'SELECT pg_promote()')

async function untilBusy(load: Load): Promise<void> {
  const enough = load.acknowledged.size + 100
  await until(() => load.acknowledged.size >= enough, '100 documents have been created')
}

const unavailable = { status: 503, code: 'storage_unavailable', retryAfter: '1' }

const create = (service: Service, code: string) =>
  service.send('POST /things', { code, text: code, digest: digestOf(code) })

/** The new leader holds what was acknowledged, and nothing that was refused. */
async function checkStore(store: Store, load: Load): Promise<void> {
  const codes = new Set((await readStore(store, 'things')).map(({ code }) => String(code)))
  expect([...load.acknowledged].filter((code) => !codes.has(code))).toEqual([])
  expect([...load.refused].filter((code) => codes.has(code))).toEqual([])
}

describe('a leader that dies under load', () => {
  test('costs no acknowledged write; requests go on at its standby', { timeout: 90_000 }, async () => {
    const { leader, standby } = await startPair()
    const store = newStore(joinHosts(standby.url, leader.url))
    const service = openService(store)
    const load = startLoad(service, CLIENTS)
    await untilBusy(load)
    expect(Object.keys(load.takeAnswers()).sort()).toEqual(['200', '201'])
    leader.kill()
    await until(async () => (await create(service, `probe-${Math.random()}`)).status === 503, 'it is missed')
    expect(await create(service, 'none')).toMatchObject(unavailable)
    expect(await service.send('GET /things')).toMatchObject(unavailable)
    await promote(standby)
    await untilBusy(load)
    await load.stop()
    expect([...FAULTS, '200', '201']).toEqual(expect.arrayContaining(Object.keys(load.takeAnswers())))
    await checkStore(store, load)
    expect((await create(service, 'none')).status).toBe(201)
    await service.handler.close()
  })
})

describe('a leader that is cut off', () => {
  test('is left for the standby that took over, also when it is back', { timeout: 90_000 }, async () => {
    const { leader, standby } = await startPair()
    const proxy = await startProxy(leader.url)
    const { options } = newStore(joinHosts(proxy.url, standby.url))
    const service = openService(createPostgresAdapter(options))
    expect((await create(service, 'before')).status).toBe(201)
    const load = startLoad(service, CLIENTS)
    await untilBusy(load)
    proxy.swallow(true)
    await promote(standby)
    // Nobody closes the connections to the old leader: what waits there is broken off.
    await untilBusy(load)
    await load.stop()
    proxy.swallow(false)
    // Both believe that they lead.
    const [row] = await query(proxy.url, 'SELECT pg_is_in_recovery() AS follows')
    expect(row).toEqual({ follows: false })
    const other = openService(createPostgresAdapter(options))
    const acknowledged = new Set(load.acknowledged)
    // Who finds the leader late says so, and is asked again.
    for (const one of [service, other])
      await until(async () => {
        const code = `late-${Math.random()}`
        const { status } = await create(one, code)
        if (status === 201) acknowledged.add(code)
        return status === 201
      }, 'a document is created')
    const left = { engine: 'postgres', options: { ...options, connectionString: standby.url } } as const
    await checkStore(left, { ...load, acknowledged })
    await service.handler.close()
    await other.handler.close()
    await proxy.end()
  })
})
