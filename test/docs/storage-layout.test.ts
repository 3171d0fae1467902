import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { seedWhenEmpty } from '../../src/core/start/seed-when-empty.js'
import { createCollectionService, type StorageAdapter } from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { readPages } from './read-pages.js'

// docs/storage-layout.md, held against both engines.

const root = new URL('../../', import.meta.url)
const [page = { text: '', blocks: [] }] = await readPages(root, ['docs/storage-layout.md'])
const readJson = async (path: string) => JSON.parse(await readFile(new URL(path, root), 'utf8'))
const config = await readJson('examples/guide/config.json')
const documents = await readJson('examples/guide/documents.json')

/** The statements that the page gives to a program, in its order. */
const statementsOf = (program: string): readonly string[] =>
  page.blocks
    .flatMap(({ text }) => text.split('\n'))
    .filter((line) => line.startsWith(`${program} `))
    .map((line) => /"(.*)"$/.exec(line)?.[1] ?? '')

const [ROLE = '', WEEK_IN_POSTGRES = ''] = statementsOf('psql')
const [STATUSES = '', AGENTS = '', DAYS = '', WEEK_IN_SQLITE = ''] = statementsOf('sqlite3')

/** The rows of a table of the page, as lists of the texts of their cells. */
const rowsBelow = (head: string): readonly (readonly string[])[] => {
  const [, table = ''] = page.text.split(`\n| ${head}`)
  const [body = ''] = table.split('\n\n')
  return body
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').slice(1, -1))
}

const namesIn = (cell = ''): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

/** Serves the help desk on a storage, stores its documents, and closes it. */
async function fill(adapter: StorageAdapter): Promise<void> {
  const logged = { ...config, collections: { ...config.collections, helpDesk: config.collections.articles } }
  const seeding = seedWhenEmpty(adapter, documents)
  const options = { hasher: createTestHasher(), logger: {} }
  const handler = createCollectionService(logged, seeding.adapter, options)
  await handler.ready()
  expect(seeding.finish()).toBe('stored')
  await handler.close()
}

interface Engine {
  readonly query: (text: string) => Promise<readonly { readonly [column: string]: unknown }[]>
  readonly week: string
}

const postgres = usePostgres()
const folder = mkdtempSync(join(tmpdir(), 'collection-service-reports-'))
const schema = newSchema()
const role = `reports_${process.pid}`
let database: InstanceType<typeof Database>
let client: pg.Client

/** A statement of the page, in the schema and for the role of this test. */
const here = (text: string): string =>
  text.replaceAll('collection_service', schema).replaceAll('reports', role)

beforeAll(async () => {
  const file = join(folder, 'app.db')
  await fill(createSqliteAdapter({ file }))
  database = new Database(file, { readonly: true })
  await fill(createPostgresAdapter({ connectionString: postgres.url, schema }))
  client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(here(ROLE))
  await client.query(`SET search_path = ${schema}; SET default_transaction_read_only = on`)
}, 60_000)
afterAll(async () => {
  database.close()
  rmSync(folder, { recursive: true })
  await client.query(
    `BEGIN READ WRITE; DROP SCHEMA ${schema} CASCADE; DROP OWNED BY ${role}; DROP ROLE ${role}; COMMIT`,
  )
  await client.end()
})

const engines: readonly (readonly [name: string, engine: Engine])[] = [
  ['SQLite', { query: async (text) => database.prepare(text).all() as never, week: WEEK_IN_SQLITE }],
  ['PostgreSQL', { query: async (text) => (await client.query(here(text))).rows, week: WEEK_IN_POSTGRES }],
]

describe.each(engines)('the queries of the page on %s', (name, { query, week }) => {
  const rowsOf = async (text: string) => (await query(text)).map((row) => Object.values(row).map(String))

  test('count by a value, over a reference, and by day', async () => {
    expect(await rowsOf(STATUSES)).toEqual([
      ['open', '1'],
      ['solved', '1'],
      ['waiting', '1'],
    ])
    expect(await rowsOf(AGENTS)).toEqual([['Abe', '1']])
    const [[day = '', total] = [], ...others] = await rowsOf(DAYS)
    expect([day, total, others]).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d$/), '3', []])
  })

  test('average the present week', async () => {
    const [[mean] = []] = await rowsOf(week)
    expect(Number(mean)).toBe(2)
  })

  test('find the values as the page describes them', async () => {
    const [row] = await query(
      `SELECT document ->> 'createdAt' AS at, document ->> 'isPublished' AS yes, document ->> 'missing' AS missing FROM c_articles ORDER BY document ->> 'title' LIMIT 1`,
    )
    expect(row).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      yes: name === 'SQLite' ? 1 : 'true',
      missing: null,
    })
  })
})

test('the role of the page reads its table, and no other', async () => {
  await client.query(`SET ROLE ${role}`)
  try {
    expect((await client.query(here(WEEK_IN_POSTGRES))).rows).toHaveLength(1)
    await expect(client.query('SELECT FROM c_users')).rejects.toMatchObject({ code: '42501' })
    await expect(client.query('DELETE FROM c_tickets')).rejects.toThrow()
  } finally {
    await client.query('RESET ROLE')
  }
})

/** The tables and their columns, sorted. */
async function readColumns(engine: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows =
    engine === 'SQLite'
      ? (database
          .prepare(
            `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
          )
          .all() as { table: string; column: string }[])
      : (
          await client.query(
            `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns WHERE table_schema = '${schema}'`,
          )
        ).rows
  const tables = new Map<string, string[]>()
  for (const { table, column } of rows) tables.set(table, [...(tables.get(table) ?? []), column].sort())
  return tables
}

test('both engines have the tables that the page names, and their columns', async () => {
  const [sqlite, postgres] = [await readColumns('SQLite'), await readColumns('PostgreSQL')]
  expect([...sqlite.keys()].sort()).toEqual([...postgres.keys()].sort())
  const collections = [...Object.keys(config.collections).map((name) => `c_${name}`), 'c_helpdesk:4']
  const named = rowsBelow('table | contents |').flatMap(([cell]) => namesIn(cell))
  expect(named).toContain('c_tickets')
  expect([...sqlite.keys()].filter((table) => ![...collections, ...named].includes(table))).toEqual([])
  expect([...sqlite.keys()]).toEqual(expect.arrayContaining(collections))
  for (const [table, columns] of sqlite)
    if (table.startsWith('c_'))
      expect([table, columns, postgres.get(table)]).toEqual([table, ['_id', 'document'], ['_id', 'document']])

  const described = rowsBelow('column of `_log` |')
  const columnsOf = (place: number) =>
    described.flatMap(([names, ...types]) => (types[place]?.trim() ? namesIn(names) : [])).sort()
  expect([sqlite.get('_log'), postgres.get('_log')]).toEqual([columnsOf(0), columnsOf(1)])
})
