import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type pg from 'pg'
import { expect } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { everything, type FieldRef } from '../../src/core/filter/filter.js'
import type { CollectionPlan, StorageAdapter } from '../../src/core/storage.js'
import { until } from './until.js'

/** An empty schema of PostgreSQL, and what opens it. */
export interface LayoutPlace {
  readonly client: pg.Client
  readonly schema: string
  connect(migrate?: boolean): StorageAdapter
}

type Law = (place: LayoutPlace) => Promise<void>

const email: FieldRef = { path: 'email', type: 'string', each: false }
const tags: FieldRef = { path: 'tags', type: 'string', each: true }
const users: CollectionPlan = { name: 'users', indexes: [{ fields: [email], unique: true }] }
const planOf = (name: string): CollectionPlan => ({ name, indexes: [{ fields: [tags], unique: false }] })
const logged: CollectionPlan = { ...planOf('Notes'), log: { omit: [], keep: 1000 } }

/** The table of structures, as versions up to 0.2 create it. */
export const createFormerRecords = (schema: string): string =>
  `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}._structures (position integer GENERATED ALWAYS AS IDENTITY, name text NOT NULL, collection text NOT NULL, bound text NOT NULL)`

/** What version 0.2 prints for `users` with `migrate: false`, and a document. */
const createFormerUsers = (schema: string): string =>
  `${createFormerRecords(schema)};
CREATE TABLE ${schema}.users (_id text COLLATE "C" NOT NULL CONSTRAINT "_key_65a1697df0e1514d02cadd14" PRIMARY KEY, document jsonb NOT NULL);
INSERT INTO ${schema}._structures (name, collection, bound) VALUES ('_table_6f012cd17f9dcdac10fcd733', 'users', 'null');
CREATE UNIQUE INDEX "_unique_c6f245017f34aacd16669d53" ON ${schema}.users ((CASE jsonb_typeof(document -> 'email') WHEN 'string' THEN (document -> 'email' #>> '{}') COLLATE "C" END));
INSERT INTO ${schema}._structures (name, collection, bound) VALUES ('_unique_c6f245017f34aacd16669d53', 'users', '[{"path":"email","type":"string","each":false}]');
CREATE INDEX "_index_9203f59e933347a0360b8586" ON ${schema}.users ((CASE jsonb_typeof(document -> 'email') WHEN 'string' THEN (document -> 'email' #>> '{}') COLLATE "C" END) ASC NULLS FIRST, _id);
INSERT INTO ${schema}._structures (name, collection, bound) VALUES ('_index_9203f59e933347a0360b8586', 'users', 'null');
INSERT INTO ${schema}.users VALUES ('ann', '{"_id": "ann", "_version": 1, "email": "a@example.com"}')`

/** What each version up to 0.2 selects when it opens a schema. */
const selectAsFormer = (schema: string): string => `SELECT name, collection FROM ${schema}._structures`

/** The tables of a schema, but not those of elements, whose names are digests. */
const listTables = async ({ client, schema }: LayoutPlace): Promise<readonly string[]> => {
  const text = `SELECT relname::text AS name FROM pg_class WHERE relnamespace = to_regnamespace('${schema}') AND relkind = 'r' AND relname <> '_structures_lease' AND NOT starts_with(relname, '_elements_') ORDER BY relname COLLATE "C"`
  return (await client.query(text)).rows.map(({ name }) => name)
}

/** The tables of a file of SQLite that was opened with these plans. */
async function listTablesOfSqlite(plans: readonly CollectionPlan[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'collection-service-layout-'))
  try {
    const file = join(folder, 'data.db')
    const adapter = createSqliteAdapter({ file })
    await adapter.open(plans)
    await adapter.close()
    const database = new Database(file)
    const text = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_elements\\_%' ESCAPE '\\' ORDER BY name`
    const names = database.prepare(text).pluck().all() as string[]
    database.close()
    return names
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function open(place: LayoutPlace, plans: readonly CollectionPlan[], migrate = true) {
  const adapter = place.connect(migrate)
  await adapter.open(plans)
  return adapter
}

const failToOpen = async (place: LayoutPlace, plans: readonly CollectionPlan[], migrate = true) =>
  open(place, plans, migrate).then(
    () => expect.fail('it was opened'),
    (thrown: Error & { readonly code?: string }) => thrown,
  )

/** Each collection has the documents that were written to it, and no others. */
async function expectOwnTables(adapter: StorageAdapter, names: readonly string[]): Promise<void> {
  for (const [i, name] of names.entries()) {
    const insert = { _id: `id${i}`, _version: 1, tags: [name] }
    expect(await adapter.write([{ in: name, insert }], {})).toMatchObject({ ok: true })
  }
  const query = { filter: everything, sort: [], skip: 0, limit: null }
  for (const [i, name] of names.entries())
    expect((await adapter.list(name, query)).map(({ _id }) => _id)).toEqual([`id${i}`])
}

/** Names that differ by case only, and names of internal tables without their first character. */
const NAMES = ['notes', 'Notes', 'nOtes', 'NOTES', 'c_notes', 'log', 'log_head', 'structures', 'a-b']
const LONG = ['a', 'b', 'B'].map((end) => `${'Long-name'.repeat(6)}_of_half${end}`)

/** Starts while another process creates the schema, as a version up to 0.2 or the present one does. */
async function openWhile(place: LayoutPlace, statements: string): Promise<readonly string[]> {
  const { client, schema } = place
  const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  await client.query('BEGIN')
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `collection-service ${schema}`,
  ])
  const opening = [open(place, [users]), open(place, [users, logged])]
  await until(async () => (await client.query(waiting)).rowCount === opening.length, 'both wait')
  await client.query(statements)
  await client.query('COMMIT')
  await Promise.all(opening)
  return listTables(place)
}

/** What holds of the names in a schema (CONTRACT.md §7, "Storage"), by the name of the law. */
export const LAYOUT_LAWS = {
  'a new schema has the tables that a file of SQLite has': async (place) => {
    const plans = [users, logged, ...NAMES.filter((name) => name !== 'Notes').map(planOf)]
    await open(place, plans)
    const tables = await listTables(place)
    expect(tables).toEqual(await listTablesOfSqlite(plans))
    expect(tables).toEqual(expect.arrayContaining(['_log', '_structures', 'c_log', 'c_notes:0', 'c_users']))
  },

  'each collection of a new schema has a table of its own': async (place) => {
    await expectOwnTables(await open(place, NAMES.map(planOf)), NAMES)
  },

  'each collection of a former schema has a table of its own': async (place) => {
    await place.client.query(createFormerRecords(place.schema))
    await expectOwnTables(await open(place, NAMES.map(planOf)), NAMES)
    expect(await listTables(place)).toEqual([...NAMES, '_structures'].sort())
  },

  'names that are too long for PostgreSQL stay apart': async (place) => {
    await expectOwnTables(await open(place, LONG.map(planOf)), LONG)
    for (const name of await listTables(place)) expect(name).toMatch(/^(?:c_.{44}~[0-9a-f]{16}|_structures)$/)
  },

  'a schema of version 0.2 keeps its names, documents and uniqueness': async (place) => {
    await place.client.query(createFormerUsers(place.schema))
    const [asked, created] = [await open(place, [users], false), await open(place, [users, logged])]
    expect(await listTables(place)).toEqual(['Notes', '_log', '_log_head', '_structures', 'users'])
    await expectOwnTables(created, ['Notes'])
    const twin = { _id: 'bob', _version: 1, email: 'a@example.com' }
    for (const adapter of [asked, created]) {
      expect(await adapter.count('users', everything, {})).toBe(1)
      expect(await adapter.write([{ in: 'users', insert: twin }], {})).toMatchObject({ fields: ['email'] })
    }
    expect((await place.client.query(selectAsFormer(place.schema))).rows).toContainEqual({
      name: expect.stringMatching(/^_table_/),
      collection: 'Notes',
    })
  },

  'a start that finds a part of a former schema completes it': async (place) => {
    await place.client.query(createFormerRecords(place.schema))
    await open(place, [users])
    await open(place, [users, planOf('Notes')])
    expect(await listTables(place)).toEqual(['Notes', '_structures', 'users'])
  },

  'a start that finds a part of a new schema completes it': async (place) => {
    await open(place, [])
    await open(place, [users])
    await open(place, [users, planOf('Notes')])
    expect(await listTables(place)).toEqual(['_structures', 'c_notes:0', 'c_users'])
  },

  'starts that wait for one of version 0.2 use its layout': async (place) => {
    const tables = await openWhile(place, createFormerRecords(place.schema))
    expect(tables).toEqual(['Notes', '_log', '_log_head', '_structures', 'users'])
  },

  'starts that wait for each other use one layout': async (place) => {
    const tables = await openWhile(place, 'SELECT')
    expect(tables).toEqual(['_log', '_log_head', '_structures', 'c_notes:0', 'c_users'])
  },

  'a version up to 0.2 fails in a new schema, before it creates a table': async (place) => {
    await open(place, [users])
    await expect(place.client.query(selectAsFormer(place.schema))).rejects.toMatchObject({ code: '42703' })
  },

  'a new schema that is renamed by hand has the former layout': async (place) => {
    const { client, schema } = place
    const first = await open(place, [users, logged])
    await expectOwnTables(first, ['users', 'Notes'])
    await first.close()
    await client.query(
      `ALTER TABLE ${schema}.c_users RENAME TO users; ALTER TABLE ${schema}."c_notes:0" RENAME TO "Notes"; ALTER TABLE ${schema}._structures RENAME of_collection TO collection`,
    )
    const again = await open(place, [users, logged], false)
    const insert = { _id: 'more', _version: 1, tags: ['Notes'] }
    expect(await again.write([{ in: 'Notes', insert }], {})).toMatchObject({ ok: true })
    expect(await again.count('Notes', { kind: 'eq', field: tags, value: 'Notes' }, {})).toBe(2)
  },

  'a later layout is not opened': async (place) => {
    await open(place, [users])
    await place.client.query(`ALTER TABLE ${place.schema}._structures RENAME of_collection TO later`)
    for (const migrate of [true, false]) {
      const { code, message } = await failToOpen(place, [users], migrate)
      expect([code, message]).toEqual(['unusable_storage', expect.stringContaining('later version')])
    }
    expect(await listTables(place)).toEqual(['_structures', 'c_users'])
  },

  'a former table whose record is lost is named, and nothing starts empty': async (place) => {
    const { client, schema } = place
    await client.query(`${createFormerUsers(schema)}; DROP TABLE ${schema}._structures`)
    const { code, message } = await failToOpen(place, [users])
    expect([code, message]).toEqual(['unusable_storage', expect.stringContaining(`"${schema}"."users"`)])
    expect(await listTables(place)).not.toContain('c_users')
  },

  'without migrate, a new schema can be created by the SQL that is printed': async (place) => {
    const plans = [users, logged]
    const { message } = await failToOpen(place, plans, false)
    expect(await listTables(place)).toEqual([])
    await place.client.query(message.slice(message.indexOf('CREATE SCHEMA')))
    await expectOwnTables(await open(place, plans, false), ['users', 'Notes'])
    expect(await listTables(place)).toEqual(['_log', '_log_head', '_structures', 'c_notes:0', 'c_users'])
  },

  'without migrate, a former schema is completed by the SQL that is printed': async (place) => {
    await place.client.query(createFormerUsers(place.schema))
    const plans = [users, logged]
    const { message } = await failToOpen(place, plans, false)
    await place.client.query(message.slice(message.indexOf('CREATE SCHEMA')))
    await expectOwnTables(await open(place, plans, false), ['Notes'])
    expect(await listTables(place)).toEqual(['Notes', '_log', '_log_head', '_structures', 'users'])
  },
} as const satisfies { readonly [name: string]: Law }
