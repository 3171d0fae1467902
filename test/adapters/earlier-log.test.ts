import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createPostgresDialect } from '../../src/adapters/postgres/postgres-engine.js'
import type { SqlDialect } from '../../src/adapters/sql/dialect.js'
import { structuresOf } from '../../src/adapters/sql/structures.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { sqliteDialect } from '../../src/adapters/sqlite/sqlite-dialect.js'
import type { Change, CollectionPlan, StorageAdapter } from '../../src/core/storage.js'
import { newSchema, usePostgres } from '../support/postgres.js'

// CONTRACT.md §7, "Storage": a log that was made before changes were recorded with their caller

const postgres = usePostgres()

const plans: readonly CollectionPlan[] = [{ name: 'things', indexes: [], log: { omit: [], keep: 3_600_000 } }]

/** A storage, and how SQL runs on it. `prefix` is that of its tables. */
interface Place {
  readonly connect: (migrate?: boolean) => StorageAdapter
  readonly run: (sql: string) => Promise<unknown>
  readonly prefix: string
  /** Drops the column in which bytes are counted. */
  readonly counted: string
  /** The statement of an earlier version that records a change. */
  readonly record: string
  readonly dialect: SqlDialect
}

/** Leaves a storage as an earlier version has. */
async function takeBack({ run, prefix, dialect, counted }: Place): Promise<void> {
  const added = structuresOf(plans, dialect).filter(({ sql }) => sql[0]?.startsWith('ALTER TABLE'))
  expect(added).toHaveLength(3)
  const names = added.map(({ name }) => `'${name}'`).join(', ')
  await run(
    `ALTER TABLE ${prefix}_log DROP COLUMN caller; ALTER TABLE ${prefix}_log DROP COLUMN migration; ALTER TABLE ${prefix}${counted}; DELETE FROM ${prefix}_structures WHERE name IN (${names})`,
  )
}

const places: readonly (readonly [name: string, create: () => Place])[] = [
  [
    'SQLite',
    () => {
      const file = join(mkdtempSync(join(tmpdir(), 'collection-service-earlier-')), 'data.db')
      return {
        connect: () => createSqliteAdapter({ file }),
        async run(sql) {
          const database = new Database(file)
          database.exec(sql)
          database.close()
        },
        prefix: '',
        counted: '_log_head DROP COLUMN size',
        dialect: sqliteDialect,
        record: `INSERT INTO _log (write, time, collection, id, before, after) SELECT max(write) + 1, 1, 'things', 'late', NULL, '{"_id":"late","_version":1}' FROM _log`,
      }
    },
  ],
  [
    'PostgreSQL',
    () => {
      const schema = newSchema()
      return {
        connect: (migrate = true) =>
          createPostgresAdapter({ connectionString: postgres.url, schema, migrate }),
        async run(sql) {
          const client = new pg.Client({ connectionString: postgres.url })
          await client.connect()
          await client.query(sql)
          await client.end()
        },
        prefix: `${schema}.`,
        counted: '_log DROP COLUMN total',
        dialect: createPostgresDialect(schema),
        record: `INSERT INTO ${schema}._log (collection, id, after) VALUES ('things', 'late', '{"_id":"late","_version":1}')`,
      }
    },
  ],
]

async function readAll(adapter: StorageAdapter, after: string): Promise<readonly Change[]> {
  return (await adapter.changes?.(after, { limit: 100 }))?.changes ?? []
}

describe.each(places)('a log of an earlier version, in %s', (_, create) => {
  test('gets the column once, keeps what it has, and is written by that version as before', async () => {
    const place = create()
    const insert = (adapter: StorageAdapter, _id: string, by?: string) =>
      adapter.write([{ in: 'things', insert: { _id, _version: 1 } }], by === undefined ? {} : { by })
    const first = place.connect()
    await first.open(plans)
    const start = (await first.changes?.(null, { limit: 1 }))?.position ?? ''
    await insert(first, 'old', 'ann')
    await first.close()
    await takeBack(place)
    const adapters = [place.connect(), place.connect(), place.connect()]
    await Promise.all(adapters.map((adapter) => adapter.open(plans)))
    const [one = first, two = first] = adapters
    await insert(one, 'new', 'ben')
    await place.run(place.record)
    await insert(two, 'none')
    const changes = await readAll(two, start)
    expect(changes.map(({ id, by }) => [id, by])).toEqual([
      ['old', null],
      ['new', 'ben'],
      ['late', null],
      ['none', null],
    ])
    await Promise.all(adapters.map((adapter) => adapter.close()))
  })
})

test('a log of an earlier version, without migrate: the SQL that is missing is said, and is all', async () => {
  const [, create] = places[1] ?? []
  const place = create?.()
  if (!place) throw new Error('there is no PostgreSQL')
  const first = place.connect()
  await first.open(plans)
  await first.close()
  await takeBack(place)
  const refused = place.connect(false)
  const said = await refused.open(plans).then(
    () => '',
    (cause: Error) => cause.message,
  )
  await refused.close()
  const sql = said.slice(said.indexOf('CREATE SCHEMA'))
  expect(sql).toContain(`ALTER TABLE "${place.prefix.slice(0, -1)}"."_log" ADD COLUMN`)
  await place.run(sql)
  const adapter = place.connect(false)
  await adapter.open(plans)
  await adapter.close()
})
