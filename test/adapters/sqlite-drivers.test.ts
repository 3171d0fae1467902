import { mkdir, mkdtemp, rm, rmdir, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SqliteDriver } from '../../src/adapters/sqlite/drivers/driver.js'
import { nameError } from '../../src/adapters/sqlite/drivers/sqlite-error.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { ConfigError } from '../../src/index.js'
import { createStrictDriver } from '../support/strict-driver.js'

// CONTRACT.md §7, "Storage"

let folder = ''
beforeEach(async () => {
  vi.resetModules()
  folder = await mkdtemp(join(tmpdir(), 'collection-service-drivers-'))
})
afterEach(async () => {
  vi.doUnmock('better-sqlite3')
  vi.restoreAllMocks()
  await rm(folder, { recursive: true, force: true })
})

/** The modules of a runtime, by name, in place of those of this one. */
const provide = (modules: { readonly [name: string]: unknown }): void => {
  vi.spyOn(process, 'getBuiltinModule').mockImplementation((name: string) => modules[name] as never)
}

const withoutPackage = (): void => {
  vi.doMock('better-sqlite3', () => {
    throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  })
}

/** Loads a driver with modules that have loaded none before. */
const load = async (name?: 'node:sqlite'): Promise<SqliteDriver> =>
  (await import('../../src/adapters/sqlite/drivers/load-driver.js')).loadDriver(name)

/** What was asked of a module, and a module like `node:sqlite`, with a version of SQLite. */
function createModule(version: string) {
  const asked: unknown[] = []
  class DatabaseSync {
    constructor(...args: readonly unknown[]) {
      asked.push(args)
    }
    prepare(text: string) {
      if (text === 'BEGIN') throw Object.assign(new Error('database is locked'), { errcode: 261 })
      return { setReturnArrays() {}, get: () => ({ version }) }
    }
    close() {}
  }
  return { asked, module: { DatabaseSync } }
}

describe('a library is chosen', () => {
  test('from the package if it is installed, although the runtime has one', async () => {
    provide({ 'node:sqlite': createModule('3.53.0').module })
    const driver = await load()
    expect([driver.name, driver.version]).toEqual(['better-sqlite3', expect.stringMatching(/^3\.\d+\.\d+$/)])
  })

  test.each([
    ['is missing', withoutPackage],
    [
      'was built for another runtime',
      () =>
        vi.doMock('better-sqlite3', () => ({
          default: class {
            constructor() {
              throw Object.assign(new Error('NODE_MODULE_VERSION 115'), { code: 'ERR_DLOPEN_FAILED' })
            }
          },
        })),
    ],
  ])('from the runtime if the package %s', async (_, prepare) => {
    prepare()
    provide({ 'node:sqlite': createModule('3.51.3').module })
    expect((await load()).name).toBe('node:sqlite')
  })

  test('by its name', async () => {
    provide({ 'node:sqlite': createModule('3.51.3').module })
    expect((await load('node:sqlite')).name).toBe('node:sqlite')
  })

  test.each(['3.51.2', '3.50.4'])('never with SQLite %s, which can corrupt a file', async (version) => {
    withoutPackage()
    provide({ 'node:sqlite': createModule(version).module })
    await expect(load()).rejects.toThrow(version)
  })

  test('that a runtime has, or the error names both ways to get one', async () => {
    withoutPackage()
    provide({})
    const { createSqliteAdapter } = await import('../../src/adapters/sqlite/sqlite-adapter.js')
    const adapter = createSqliteAdapter({ file: join(folder, 'data.db') })
    const thrown: unknown = await adapter.open([]).catch((cause: unknown) => cause)
    expect(thrown).toMatchObject({ name: 'ConfigError', code: 'invalid_config' })
    expect(String(thrown)).toMatch(/npm install better-sqlite3.*Node 24.*Deno.*Bun/)
  })

  test.each(['sqlite', 'libsql', '', 1, null])('but not by the name %j', (driver) => {
    expect(() => createSqliteAdapter({ file: ':memory:', driver: driver as never })).toThrow(ConfigError)
  })

  test('by the option, and it stores documents', async () => {
    const adapter = createSqliteAdapter({ file: join(folder, 'data.db'), driver: 'better-sqlite3' })
    await adapter.open([{ name: 'notes', indexes: [] }])
    const written = await adapter.write([{ in: 'notes', insert: { _id: 'a', _version: 1 } }], {})
    expect(written).toEqual({ ok: true, removed: 0 })
    await adapter.close()
  })
})

describe('node:sqlite', () => {
  test.each([
    ['create', false, /^\/.*\/file:a\.db$/],
    ['read', true, /^\/.*\/file:a\.db$/],
    // Otherwise the module would create a missing file.
    ['write', false, /^file:\/\/\/.*\/file:a\.db\?mode=rw$/],
  ] as const)(
    'opens a file to %s, never as the URI that its name looks like',
    async (mode, readOnly, path) => {
      const { asked, module } = createModule('3.53.0')
      provide({ 'node:sqlite': module })
      const driver = await load('node:sqlite')
      driver.open('file:a.db', { mode, patience: 20 })
      expect(asked.at(-1)).toEqual([expect.stringMatching(path), { readOnly, timeout: 20 }])
    },
  )

  test('reports errors by their names', async () => {
    provide({ 'node:sqlite': createModule('3.53.0').module })
    const session = (await load('node:sqlite')).open('a.db', { mode: 'create', patience: 20 })
    expect(() => session.prepare('BEGIN')).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }))
  })
})

test.each([
  [5, 'SQLITE_BUSY'],
  [261, 'SQLITE_BUSY'],
  [6, 'SQLITE_LOCKED'],
  [8, 'SQLITE_READONLY'],
  [1032, 'SQLITE_READONLY'],
  [778, 'SQLITE_IOERR'],
  [11, 'SQLITE_CORRUPT'],
  [13, 'SQLITE_FULL'],
  [14, 'SQLITE_CANTOPEN'],
  [26, 'SQLITE_NOTADB'],
  [1555, 'SQLITE_CONSTRAINT_PRIMARYKEY'],
  [2067, 'SQLITE_CONSTRAINT_UNIQUE'],
  [1299, 'SQLITE_CONSTRAINT'],
])('the error code %i of SQLite is %s', (number, code) => {
  const thrown = new Error('it failed')
  expect(nameError(thrown, number)).toMatchObject({ code, message: 'it failed' })
})

test.each([undefined, '5', 200])('the number %j is no code of SQLite', (number) => {
  const thrown = new Error('it failed')
  expect(nameError(thrown, number)).toBe(thrown)
})

describe('the driver with which the kit runs', () => {
  const open = async () => {
    const driver = createStrictDriver(await load())
    const session = driver.open(join(folder, 'data.db'), { mode: 'create', patience: 20 })
    session.prepare('CREATE TABLE notes (text TEXT)').run([])
    return session
  }

  test.each([[true], [undefined], [null], [new Date(0)], [1n], [Number.NaN]])(
    'binds no %s',
    async (value) => {
      const session = await open()
      const insert = session.prepare('INSERT INTO notes VALUES (?)')
      expect(() => insert.run([value as never])).toThrow(TypeError)
      expect(insert.run(['text'])).toBe(1)
      session.close()
    },
  )

  test.each([
    ['two statements', 'SELECT 1; SELECT 2', []],
    ['too few values', 'SELECT ?, ?', [1]],
    ['too many values', 'SELECT ?', [1, 2]],
  ])('takes no %s', async (_, text, values) => {
    const session = await open()
    expect(() => session.prepare(text).all(values)).toThrow()
    session.close()
  })
})

/** A driver whose sessions cannot copy in steps, and report each statement that is finished. */
async function loadPlain(onFinished = (): void => {}): Promise<SqliteDriver> {
  const real = await load()
  return {
    ...real,
    open(file, options) {
      const session = real.open(file, options)
      return {
        get isInTransaction() {
          return session.isInTransaction
        },
        prepare(text) {
          const statement = session.prepare(text)
          return {
            all: (values) => statement.all(values),
            first: (values) => statement.first(values),
            rows: (values) => statement.rows(values),
            iterate: (values) => statement.iterate(values),
            run: (values) => statement.run(values),
            finish: onFinished,
          }
        },
        close: () => session.close(),
      }
    },
  }
}

const importConnection = async () => import('../../src/adapters/sqlite/connection/connection.js')

test('two libraries never have one file open in a process, under any of its names', async () => {
  const { openWriter } = await importConnection()
  const driver = await load()
  const other: SqliteDriver = { ...driver, name: 'node:sqlite' }
  const [file, link] = [join(folder, 'data.db'), join(folder, 'link.db')]
  const first = await openWriter(file, { driver })
  const second = await openWriter(file, { driver })
  await symlink(file, link)
  const refused = { name: 'ConfigError', code: 'invalid_config' }
  await expect(openWriter(link, { driver: other })).rejects.toMatchObject(refused)
  first.close()
  await expect(openWriter(file, { driver: other })).rejects.toMatchObject(refused)
  second.close()
  const third = await openWriter(file, { driver: other })
  await expect(openWriter(link, { driver })).rejects.toMatchObject(refused)
  third.close()
})

test('a file that cannot be opened is open with no library', async () => {
  const { openWriter } = await importConnection()
  const driver = await load()
  const file = join(folder, 'data.db')
  await mkdir(file)
  await expect(openWriter(file, { driver })).rejects.toMatchObject({ code: 'SQLITE_CANTOPEN' })
  await rmdir(file)
  const other = await openWriter(file, { driver: { ...driver, name: 'node:sqlite' } })
  other.close()
})

test('a statement that is evicted is finished', async () => {
  const { openWriter } = await importConnection()
  let finished = 0
  const driver = await loadPlain(() => {
    finished += 1
  })
  const connection = await openWriter(join(folder, 'data.db'), { driver })
  for (let n = 0; n < 256; n += 1) expect(connection.first(`SELECT ${n}`, [])).toBe(n)
  const before = finished
  for (let n = 256; n < 300; n += 1) expect(connection.first(`SELECT ${n}`, [])).toBe(n)
  expect(finished - before).toBe(300 - 256)
  connection.close()
})

test('a file is copied by a driver that cannot copy in steps', async () => {
  const { openReader, openWriter } = await importConnection()
  const driver = await loadPlain()
  const writer = await openWriter(join(folder, 'data.db'), { driver })
  writer.execute('CREATE TABLE notes (text TEXT)')
  writer.run('INSERT INTO notes VALUES (?)', ['a'])
  const reader = await openReader(join(folder, 'data.db'), { driver })
  reader.first('PRAGMA query_only = ON', [])
  const steps: unknown[] = []
  await reader.copyTo(join(folder, 'copy.db'), (...step) => void steps.push(step))
  writer.run('INSERT INTO notes VALUES (?)', ['b'])
  for (const one of [reader, writer]) one.close()
  const { size } = await stat(join(folder, 'copy.db'))
  expect(steps).toEqual([[size, size]])
  const copy = new BetterSqlite3(join(folder, 'copy.db'), { readonly: true })
  expect(copy.prepare('SELECT text FROM notes').all()).toEqual([{ text: 'a' }])
  copy.close()
})
