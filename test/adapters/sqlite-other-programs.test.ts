import { describe, expect, test } from 'vitest'
import { createLibsqlAdapter, type LibsqlClient } from '../../src/adapters/sqlite/programs/libsql.js'
import {
  createSqliteWasmAdapter,
  type SqliteWasmDatabase,
} from '../../src/adapters/sqlite/programs/sqlite-wasm.js'
import { everything } from '../../src/core/filter/filter.js'
import type { StorageAdapter, WriteStep } from '../../src/index.js'
import { useFile } from '../support/opened-files.js'
import { createLibsqlClient, createWasmDatabase } from '../support/other-programs.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §7, "Storage"

const { path, keep } = useFile()

const ALL = { filter: everything, sort: [], skip: 0, limit: null }
const PLANS = [
  { name: 'things', indexes: [{ fields: [{ path: 's', type: 'string', each: false }], unique: true }] },
] as const
const insert = (_id: string, s: string): WriteStep => ({ in: 'things', insert: { _id, _version: 1, s } })
const ONE = insert('1', 'one')
const readIds = async (adapter: StorageAdapter): Promise<readonly string[]> =>
  [...(await adapter.list('things', ALL))].map(({ _id }) => _id)

const createConfig = (limits: object = {}) => ({
  collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': true } } },
  limits,
})

describe('libSQL', () => {
  type Batch = LibsqlClient['batch']

  /** Opens an adapter of a server whose batches pass through `during`. */
  async function open(during: (send: () => ReturnType<Batch>, mode: string) => ReturnType<Batch>) {
    const client = keep(createLibsqlClient(path()))
    const sound = createLibsqlAdapter(client)
    await sound.open(PLANS)
    const batch: Batch = (statements, mode) => during(() => client.batch(statements, mode), mode)
    return { sound, adapter: createLibsqlAdapter({ ...client, batch }) }
  }

  test.each([
    ['before', []],
    ['after', ['1']],
  ])(
    'a connection that is lost %s the commit leaves the outcome unknown, and nothing is repeated',
    async (when, ids) => {
      let writes = 0
      const { adapter, sound } = await open(async (send, mode) => {
        if (mode === 'write') writes += 1
        if (when === 'after') await send()
        throw new TypeError('fetch failed')
      })
      await expect(adapter.write([ONE], {})).rejects.toMatchObject({ code: 'outcome_unknown' })
      expect(writes).toBe(1)
      expect(await readIds(sound)).toEqual(ids)
      await expect(adapter.list('things', ALL)).rejects.toMatchObject({ code: 'storage_unavailable' })
    },
  )

  test.each([
    ['SQLITE_BUSY', 'storage_unavailable'],
    ['SQLITE_FULL', 'storage_unavailable'],
    ['SQLITE_READONLY', 'storage_unavailable'],
    ['SQLITE_TOOBIG', 'document_too_large'],
    ['TRANSACTION_TIMEOUT', 'storage_unavailable'],
    ['SQLITE_IOERR', 'outcome_unknown'],
    ['SERVER_ERROR', 'outcome_unknown'],
  ])('a write that fails with %s is a %s', async (name, code) => {
    const { adapter } = await open(async () => {
      throw Object.assign(new Error(`${name}: rejected`), { code: name })
    })
    await expect(adapter.write([ONE], {})).rejects.toMatchObject({ code })
  })

  test('only a program that writes asks for a transaction that writes', async () => {
    const modes: string[] = []
    const { adapter } = await open((send, mode) => {
      modes.push(mode)
      return send()
    })
    await adapter.write([ONE], {})
    expect(await readIds(adapter)).toEqual(['1'])
    expect(modes).toEqual(['write', 'read'])
  })

  test('integers may be read as bigints or as texts', async () => {
    const client = keep(createLibsqlClient(path()))
    const texts = createLibsqlAdapter({
      ...client,
      async batch(statements, mode) {
        const convert = (value: unknown): unknown => (typeof value === 'number' ? String(value) : value)
        const results = await client.batch(statements, mode)
        return results.map((result) => ({ ...result, rows: result.rows.map((row) => [convert(row[0])]) }))
      },
    })
    await texts.open(PLANS)
    await texts.write([ONE], {})
    expect(await texts.count('things', everything, {})).toBe(1)
  })

  test('a file keeps a write-ahead log, and one that cannot is unavailable', async () => {
    const texts: string[] = []
    const client = keep(createLibsqlClient(path()))
    const execute = async (text: string): Promise<void> => void texts.push(text)
    await createLibsqlAdapter({ ...client, protocol: 'file', execute }).open(PLANS)
    expect(texts).toEqual(['PRAGMA journal_mode = WAL'])
    const broken = createLibsqlAdapter({
      ...client,
      protocol: 'file',
      execute: () => Promise.reject(new Error('SQLITE_BUSY: database is locked')),
    })
    await expect(broken.open(PLANS)).rejects.toMatchObject({ code: 'storage_unavailable' })
  })

  test('limits.documentBytes is at most 2400000', () => {
    const create = (documentBytes: number) => () =>
      createTestService(createConfig({ documentBytes }), {
        adapter: createLibsqlAdapter(keep(createLibsqlClient(path()))),
      })
    expect(create(2_400_000)).not.toThrow()
    expect(create(2_400_001)).toThrow('must be at most 2400000 with this storage')
  })
})

describe("SQLite's WebAssembly", () => {
  /** Opens an adapter of a database in which `during` runs before each statement. */
  async function open(during: (text: string) => void = () => {}) {
    const database = keep(createWasmDatabase(path()))
    const adapter = createSqliteWasmAdapter({
      ...database,
      exec(options: Parameters<SqliteWasmDatabase['exec']>[0]) {
        during(options.sql)
        return database.exec(options)
      },
    })
    await adapter.open(PLANS)
    return { adapter, database }
  }

  test('a write takes effect as a whole or not at all', async () => {
    const { adapter } = await open()
    expect(await adapter.write([ONE, insert('2', 'two')], {})).toEqual({ ok: true, removed: 0 })
    const taken = await adapter.write([insert('3', 'three'), insert('4', 'one')], {})
    expect(taken).toEqual({ ok: false, step: 1, reason: 'unique', fields: ['s'] })
    expect(await readIds(adapter)).toEqual(['1', '2'])
  })

  test('an error that has rolled the transaction back is not hidden', async () => {
    const { adapter, database } = await open((text) => {
      if (!text.includes('"c_things"') || !text.startsWith('INSERT')) return
      database.exec({ sql: 'ROLLBACK', rowMode: 0, returnValue: 'resultRows' })
      throw new Error('SQLITE_FULL: database or disk is full')
    })
    await expect(adapter.write([ONE], {})).rejects.toMatchObject({ code: 'storage_unavailable' })
    expect(await readIds(adapter)).toEqual([])
  })

  test('if only the commit fails, the outcome of a write is unknown', async () => {
    let isFailing = false
    const { adapter } = await open((text) => {
      if (isFailing && text === 'COMMIT') throw new Error('SQLITE_IOERR: disk I/O error')
    })
    isFailing = true
    await expect(adapter.write([ONE], {})).rejects.toMatchObject({ code: 'outcome_unknown' })
    isFailing = false
    expect(await readIds(adapter)).toEqual([])
  })

  test('a service answers, and an adapter finds what an earlier one has written', async () => {
    const database = keep(createWasmDatabase(path()))
    const create = () => createTestService(createConfig(), { adapter: createSqliteWasmAdapter(database) })
    expect((await create().send('POST /notes', { body: { text: 'kept' } })).status).toBe(201)
    expect((await create().send('GET /notes')).body).toMatchObject([{ text: 'kept' }])
  })
})
