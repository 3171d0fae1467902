import Database from 'better-sqlite3'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Connection } from '../../src/adapters/sqlite/connection/connection.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach } from '../support/storages.js'

/** A commit that fails is of unknown outcome only where nobody knows it (CONTRACT.md §6, "Problems"). */

const opened = closeAfterEach()

async function open() {
  const config = {
    collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': true } } },
  }
  const service = createTestService(config, { adapter: createSqliteAdapter({ file: ':memory:' }) })
  opened.push(service)
  await service.handler.ready()
  return service
}

/** What a statement does in place of itself. */
type Stead = (run: (sql: string) => void) => void

/** Lets statements fail, each once. */
function disturb(steads: { readonly [sql: string]: Stead }): void {
  const left = new Map(Object.entries(steads))
  const { execute } = Connection.prototype
  vi.spyOn(Connection.prototype, 'execute').mockImplementation(function (this: Connection, sql) {
    const stead = left.get(sql)
    left.delete(sql)
    if (!stead) return execute.call(this, sql)
    stead((other) => execute.call(this, other))
  })
}

const fail = (code: string) => (): never => {
  throw new Database.SqliteError('it failed', code)
}

/** As SQLite does where the disk is full: the transaction is over before its error is there. */
const endAndFail =
  (code: string): Stead =>
  (run) => {
    run('ROLLBACK')
    fail(code)()
  }

describe('a commit that fails', () => {
  afterEach(() => void vi.restoreAllMocks())

  test.each<[string, { readonly [sql: string]: Stead }, string]>([
    ['because the disk is full', { COMMIT: endAndFail('SQLITE_FULL') }, 'storage_unavailable'],
    ['because others read', { COMMIT: fail('SQLITE_BUSY') }, 'storage_unavailable'],
    [
      'and cannot be taken back',
      { COMMIT: fail('SQLITE_BUSY'), ROLLBACK: fail('SQLITE_IOERR') },
      'outcome_unknown',
    ],
    ['because the disk does', { COMMIT: fail('SQLITE_IOERR_FSYNC') }, 'outcome_unknown'],
    ['because the disk does, and is over', { COMMIT: endAndFail('SQLITE_IOERR_WRITE') }, 'outcome_unknown'],
  ])('%s', async (_, steads, code) => {
    const service = await open()
    const create = (text: string) => service.send('POST /notes', { body: { text }, mayFail: true })
    expect((await create('before')).status).toBe(201)
    disturb(steads)
    // They share the transaction.
    const sent = await Promise.all([create('one'), create('two')])
    for (const { status, body, headers } of sent) {
      expect([status, body.code]).toEqual([503, code])
      expect(headers.has('retry-after')).toBe(code === 'storage_unavailable')
    }
    expect((await create('behind')).status).toBe(201)
    expect(await service.list('/notes?sort[text]=1', 'text')).toEqual(['before', 'behind'])
  })
})
