import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { everything, ID } from '../../src/filter/filter.js'
import type { ListQuery, StoredDocument, WriteStep } from '../../src/storage.js'
import { startPostgres } from '../support/start-postgres.mjs'
import { until } from '../support/until.js'

const sort = [{ field: ID, descending: false }]
const query: ListQuery = { filter: everything, sort, skip: 0, limit: 100, bytes: 2 ** 20 }
const documentOf = (text: string, version: number): StoredDocument => ({ _id: 'id', _version: version, text })

async function succeeds(work: () => unknown): Promise<boolean> {
  try {
    await work()
    return true
  } catch {
    return false
  }
}

test('where a crash takes back a commit that did not wait for the disk, nobody reads it afterwards', async () => {
  const settings = { synchronous_commit: 'off', wal_writer_delay: '10s', autovacuum: 'off' }
  const server = await startPostgres({ settings })
  const pool = new pg.Pool({ connectionString: server.url }).on('error', () => {})
  const adapter = createPostgresAdapter({ connectionString: server.url })
  onTestFinished(async () => {
    await adapter.close()
    await pool.end()
    await server.destroy()
  })
  await adapter.open([{ name: 'things', indexes: [] }])
  const read = async () => {
    const [document] = await adapter.list('things', query)
    return document?.text
  }
  const stampOf = async () => {
    const { rows } = await pool.query('SELECT xmin::text FROM collection_service.things')
    return rows[0]?.xmin
  }
  await adapter.write([{ in: 'things', insert: documentOf('first', 1) }], {})
  for (let i = 0; i < 3; i++) await read()
  await pool.query('CHECKPOINT')
  await adapter.write([{ in: 'things', replace: documentOf('lost', 2), version: 1 }], {})
  expect(await read()).toBe('lost')
  const lost = await stampOf()

  const client = (await pool.connect()).on('error', () => {})
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  process.kill(rows[0].pid, 'SIGKILL')
  await new Promise((resolve) => client.once('end', resolve))
  client.release(true)
  await until(() => succeeds(() => pool.query('SELECT')))

  expect(await stampOf()).not.toBe(lost)
  const replacing: WriteStep = { in: 'things', replace: documentOf('new', 2), version: 1 }
  await until(() => succeeds(() => adapter.write([replacing], {})))
  expect(await stampOf()).toBe(lost)
  expect(await read()).toBe('new')
})
