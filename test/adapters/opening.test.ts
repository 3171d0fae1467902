import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import type { StorageAdapter } from '../../src/index.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §7, "Storage"

const config = {
  collections: {
    users: { schema: { email: { type: 'string', unique: true } }, permissions: { '*': true } },
  },
} as const

interface Failure {
  readonly code: unknown
  /** What the error and its causes say. */
  readonly said: string
  /** The code that a client is told, and its whole answer. */
  readonly told: unknown
  readonly text: string
}

const messagesOf = (thrown: unknown): string =>
  thrown instanceof Error ? `${thrown.message} ${messagesOf(thrown.cause)}` : ''

async function failToOpen(adapter: StorageAdapter): Promise<Failure> {
  const { handler, send } = createTestService(config, { adapter })
  const thrown = await handler.ready().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  const { status, body, text } = await send('GET /users', { mayFail: true })
  await handler.close()
  return {
    code: (thrown as { readonly code?: unknown } | undefined)?.code,
    said: messagesOf(thrown),
    told: [status, body.code],
    text,
  }
}

/** The operator is told what is wrong; a client is told nothing of it. */
function expectNamed({ code, said, told, text }: Failure, expected: string, names: readonly string[]): void {
  expect([code, told]).toEqual([expected, [503, 'storage_unavailable']])
  for (const name of names) {
    expect(said).toContain(name)
    expect(text).not.toContain(name)
  }
}

describe('SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'collection-service-opening-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const placeOf = (name: string): string => join(folder, name)
  const create = (name: string, ...statements: readonly string[]): void => {
    const database = new Database(placeOf(name))
    for (const statement of statements) database.exec(statement)
    database.close()
  }

  test.each<[what: string, name: string, make: (name: string) => void]>([
    ['a folder', 'folder', (name) => void mkdirSync(placeOf(name))],
    ['a file in a folder that is missing', join('missing', 'data.db'), () => {}],
    [
      'a file that is no database',
      'text.db',
      (name) => writeFileSync(placeOf(name), 'no database '.repeat(99)),
    ],
  ])('%s cannot be opened, and the error names it', async (_, name, make) => {
    make(name)
    expectNamed(await failToOpen(createSqliteAdapter({ file: placeOf(name) })), 'storage_unavailable', [
      placeOf(name),
    ])
  })

  test.each<[what: string, statement: string, table: string]>([
    ['a table', 'CREATE TABLE c_users (id INTEGER)', '"c_users"'],
    ['a view', 'CREATE VIEW c_users AS SELECT 1 AS id', '"c_users"'],
    ['a table of structures', 'CREATE TABLE _structures (id INTEGER)', '"_structures"'],
  ])('%s of another application is named', async (what, statement, table) => {
    const name = `${what}.db`
    create(name, statement)
    expectNamed(await failToOpen(createSqliteAdapter({ file: placeOf(name) })), 'unusable_storage', [
      table,
      '`file`',
    ])
  })

  test('another encoding is named', async () => {
    create('utf16.db', "PRAGMA encoding = 'UTF-16'", 'CREATE TABLE theirs (id INTEGER)')
    const failure = await failToOpen(createSqliteAdapter({ file: placeOf('utf16.db') }))
    expectNamed(failure, 'unusable_storage', [placeOf('utf16.db'), 'UTF-8'])
  })
})

describe('PostgreSQL', () => {
  const postgres = usePostgres()
  const role = `weak_${process.pid}`
  const [database, latin] = [`open_${process.pid}`, `latin_${process.pid}`]
  let client: pg.Client
  const urlOf = (parts: { user?: string; password?: string; database?: string } = {}): string => {
    const url = new URL(postgres.url)
    url.username = parts.user ?? url.username
    url.password = parts.password ?? url.password
    url.pathname = `/${parts.database ?? database}`
    return url.href
  }
  const ask = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await client.query(statement)
  }
  const open = (schema: string, connectionString = urlOf(), migrate = true): StorageAdapter =>
    createPostgresAdapter({ connectionString, schema, migrate })
  const asWeak = (): string => urlOf({ user: role, password: role })

  beforeAll(async () => {
    const admin = new pg.Client({ connectionString: postgres.url })
    await admin.connect()
    await admin.query(`CREATE DATABASE ${database}`)
    await admin.query(
      `CREATE DATABASE ${latin} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'`,
    )
    await admin.end()
    client = new pg.Client({ connectionString: urlOf() })
    await client.connect()
    await ask(`CREATE ROLE ${role} LOGIN PASSWORD '${role}'`)
  })
  afterAll(async () => {
    await ask(`DROP OWNED BY ${role}`, `DROP ROLE ${role}`)
    await client.end()
    const admin = new pg.Client({ connectionString: postgres.url })
    await admin.connect()
    for (const name of [database, latin]) await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await admin.end()
  })

  test.each<[what: string, statement: string, name: string]>([
    ['a table', 'CREATE TABLE %.c_users (id bigint)', 'c_users'],
    ['a view', 'CREATE VIEW %.c_users AS SELECT 1 AS id', 'c_users'],
    ['a sequence', 'CREATE SEQUENCE %.c_users', 'c_users'],
    ['a type', 'CREATE TYPE %.c_users AS ENUM ()', 'c_users'],
    ['a table of structures', 'CREATE TABLE %._structures (id bigint)', '_structures'],
  ])('%s of another application is named, with its schema', async (_, statement, name) => {
    const schema = newSchema()
    await ask(`CREATE SCHEMA ${schema}`, statement.replace('%', schema))
    expectNamed(await failToOpen(open(schema)), 'unusable_storage', [`"${schema}"."${name}"`, '`schema`'])
  })

  test('a role that may not create the schema is named, with what it needs', async () => {
    const schema = newSchema()
    const names = [role, `"${schema}"`, database, 'CREATE SCHEMA', 'GRANT']
    expectNamed(await failToOpen(open(schema, asWeak())), 'unusable_storage', names)
  })

  test.each<[what: string, grants: readonly string[]]>([
    ['may not use the schema', []],
    ['may not create tables in the schema', ['GRANT USAGE ON SCHEMA % TO &']],
    [
      'may not read what is recorded there',
      ['CREATE TABLE %._structures (name text, collection text, bound text)', 'GRANT ALL ON SCHEMA % TO &'],
    ],
  ])('a role that %s is named, with what it needs', async (_, grants) => {
    const schema = newSchema()
    await ask(
      `CREATE SCHEMA ${schema}`,
      ...grants.map((grant) => grant.replace('%', schema).replace('&', role)),
    )
    const names = [role, `"${schema}"`, database]
    expectNamed(await failToOpen(open(schema, asWeak())), 'unusable_storage', names)
  })

  test('a role that does not own the tables to which the configuration adds is named', async () => {
    const schema = newSchema()
    const first = createTestService(
      { collections: { users: { schema: {}, permissions: {} } } },
      { adapter: open(schema) },
    )
    await first.handler.ready()
    await first.handler.close()
    await ask(
      `GRANT ALL ON SCHEMA ${schema} TO ${role}`,
      `GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    )
    const names = [role, `"${schema}"`, database, 'owner']
    expectNamed(await failToOpen(open(schema, asWeak())), 'unusable_storage', names)
  })

  test('tables that may not be read are named', async () => {
    const schema = newSchema()
    const first = createTestService(config, { adapter: open(schema) })
    await first.handler.ready()
    await first.handler.close()
    await ask(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`, `GRANT ALL ON ${schema}._structures TO ${role}`)
    // The table of the record is the first one.
    for (const migrate of [true, false])
      expectNamed(await failToOpen(open(schema, asWeak(), migrate)), 'unusable_storage', [schema, '_schema'])
  })

  test('without `migrate`, what is missing is named', async () => {
    const schema = newSchema()
    const failure = await failToOpen(open(schema, urlOf(), false))
    expectNamed(failure, 'unusable_storage', [`"${schema}"."c_users"`])
  })

  test('another encoding is named', async () => {
    const failure = await failToOpen(open(newSchema(), urlOf({ database: latin })))
    expectNamed(failure, 'unusable_storage', ['SQL_ASCII', 'UTF8'])
  })

  test.each<[what: string, url: () => string, names: () => readonly string[]]>([
    ['a database that is missing', () => urlOf({ database: 'nowhere' }), () => ['nowhere']],
    ['a wrong password', () => urlOf({ user: role, password: 'wrong' }), () => [role]],
  ])('%s is named', async (_, url, names) => {
    expectNamed(await failToOpen(open(newSchema(), url())), 'storage_unavailable', names())
  })

  test.each([
    ['one host', (host: string) => host],
    ['a list of hosts', (host: string) => `127.0.0.1:1,${host}`],
  ])('a URL of %s without a password takes it from PGPASSWORD, as it is', async (_, listHosts) => {
    const schema = newSchema()
    // In a URL, these characters would need to be percent-encoded.
    const password = 'a%41@b:c/d?e#f'
    await ask(`CREATE SCHEMA ${schema}`, `GRANT ALL ON SCHEMA ${schema} TO ${role}`)
    await ask(`ALTER ROLE ${role} PASSWORD '${password}'`)
    const url = `postgres://${role}@${listHosts(new URL(postgres.url).host)}/${database}`
    try {
      vi.stubEnv('PGPASSWORD', 'wrong')
      expectNamed(await failToOpen(open(schema, url)), 'storage_unavailable', [role])
      vi.stubEnv('PGPASSWORD', password)
      const { handler, send } = createTestService(config, { adapter: open(schema, url) })
      expect((await send('POST /users', { body: { email: 'ann@b.co' } })).status).toBe(201)
      await handler.close()
    } finally {
      vi.unstubAllEnvs()
      await ask(`ALTER ROLE ${role} PASSWORD '${role}'`)
    }
  })

  test('a role that may not connect is named', async () => {
    await ask(`REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC`)
    const failure = await failToOpen(open(newSchema(), asWeak()))
    await ask(`GRANT CONNECT ON DATABASE ${database} TO PUBLIC`)
    expectNamed(failure, 'storage_unavailable', [database, 'CONNECT'])
  })

  test('a server that takes no writes is told from one that does not answer', async () => {
    await ask(
      `ALTER ROLE ${role} SET default_transaction_read_only = on`,
      `GRANT CREATE ON DATABASE ${database} TO ${role}`,
    )
    const failure = await failToOpen(open(newSchema(), asWeak()))
    await ask(`ALTER ROLE ${role} RESET ALL`, `REVOKE CREATE ON DATABASE ${database} FROM ${role}`)
    expectNamed(failure, 'storage_unavailable', ['standby'])
  })
})
