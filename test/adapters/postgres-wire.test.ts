import pg from 'pg'
import { afterEach, expect, test, vi } from 'vitest'
import { HostPools } from '../../src/adapters/postgres/connection/hosts.js'
import { Connections } from '../../src/adapters/postgres/connection/lease.js'
import type { DatabaseSession } from '../../src/adapters/postgres/connection/session.js'
import { useCaches } from '../support/caches.js'
import { usePostgres } from '../support/postgres.js'

/** The parts of `pg` that are not in its documentation, and what the adapter does with them. */

// A statement is prepared when a cache remembers its first use.
useCaches()

const postgres = usePostgres()

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** The methods of a connection that send messages, and the names of its prepared statements. */
interface Wire {
  readonly parsedStatements: { readonly [name: string]: string }
  readonly stream: object
  parse(statement: { readonly text: string }): void
  bind(values: object): void
  execute(): void
  sync(): void
}

const wireOf = ({ client }: DatabaseSession): Wire =>
  (client as unknown as { readonly connection: Wire }).connection

/** Runs work on a session of the adapter's own pool. */
async function onSession<T>(work: (session: DatabaseSession) => Promise<T>): Promise<T> {
  const connections = new Connections(new HostPools({ urls: [postgres.url], mustTakeWrites: false }, pg))
  ends.push(() => connections.close())
  return connections.use(work, {})
}

test('a client has what queries, cancellations and lost connections use', async () => {
  await onSession(async (session) => {
    expect(session.client).toMatchObject({ processID: expect.any(Number), secretKey: expect.any(Number) })
    const method = expect.any(Function)
    expect(wireOf(session)).toMatchObject({
      parsedStatements: {},
      stream: { cork: method, uncork: method, destroy: method, remotePort: expect.any(Number) },
      ...{ parse: method, bind: method, execute: method, sync: method },
    })
  })
})

test('rows are those of a query of pg, as text', async () => {
  const text = `SELECT $1::text AS a, $2::float8 AS b, $3::boolean AS c, $4::text[] AS d, NULL AS e FROM generate_series(1, 2)`
  const values = ['ä"\\\n🙂', 0.1, true, ['a', '"\\{},', 'NULL', '']] as const
  await onSession(async ({ client, readRows, run }) => {
    const types = { getTypeParser: () => (value: unknown) => value }
    const query = { text, values: [...values], rowMode: 'array', types }
    const { rows } = (await client.query(query)) as pg.QueryArrayResult
    expect(await readRows(text, values)).toEqual(rows)
    expect(rows).toEqual([rows[0], rows[0]])
    expect(await readRows('SELECT $1::text WHERE FALSE', [''])).toEqual([])
    expect((await run(text, values)).rows[0]).toMatchObject({ a: values[0], d: values[3], e: null })
  })
})

test('a write and the limit of its waits for locks are sent together', async () => {
  await onSession(async (session) => {
    const wire = wireOf(session)
    const [parse, sync] = [vi.spyOn(wire, 'parse'), vi.spyOn(wire, 'sync')]
    const text = `SELECT current_setting('lock_timeout'), $1::text`
    expect(await session.write(text, ['a'], 1234)).toEqual({ rows: [['1234ms', 'a']], rowCount: 1 })
    expect([parse, sync].map(({ mock }) => mock.calls.length)).toEqual([2, 1])
    expect(await session.readRows(text, ['b'])).toEqual([['0', 'b']])
  })
})

test('a statement that comes again is prepared, and parsed once more', async () => {
  await onSession(async (session) => {
    const parse = vi.spyOn(wireOf(session), 'parse')
    const text = 'SELECT $1::text AS repeated'
    for (const value of ['a', 'b', 'c', 'd']) expect(await session.readRows(text, [value])).toEqual([[value]])
    expect(parse).toHaveBeenCalledTimes(2)
    expect(Object.values(wireOf(session).parsedStatements)).toContain(text)
  })
})

test('a statement that fails rejects, and the next one runs', async () => {
  await onSession(async ({ readRows, write }) => {
    for (const ask of [readRows, write])
      await expect(ask('SELECT 1 / $1::integer', [0])).rejects.toMatchObject({ code: '22012' })
    expect(await write('SELECT 1 / $1::integer', [1])).toEqual({ rows: [['1']], rowCount: 1 })
  })
})
