import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMemoryStorage } from '../../src/adapters/memory/memory-adapter.js'
import { createRows, type Rows } from '../../src/adapters/memory/rows.js'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { noteStructure } from '../../src/adapters/sql/create-structures.js'
import { STRUCTURES } from '../../src/adapters/sql/dialect.js'
import { writeStatement } from '../../src/adapters/sql/statements.js'
import { isIndex, isOfElements, structuresOf } from '../../src/adapters/sql/structures.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { sqliteDialect } from '../../src/adapters/sqlite/sqlite-dialect.js'
import type { CollectionPlan } from '../../src/core/storage.js'
import type { StorageAdapter } from '../../src/index.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { checkRanges, RANGED } from '../support/range-laws.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §7, "Storage": which indexes are made.

const text = { type: 'string' } as const
const unique = { type: 'string', unique: true } as const
const post = { type: 'reference', collection: 'posts' } as const

/** What a collection declares, and how many indexes it has beside that of `_id`: on SQLite, on PostgreSQL, and in memory. */
const CASES: readonly (readonly [
  what: string,
  declared: { readonly schema: object; readonly indexes?: readonly object[]; readonly permissions?: object },
  counts: readonly [sqlite: number, postgres: number, memory: number],
])[] = [
  ['nothing but createdAt', { schema: { text } }, [1, 1, 1]],
  ['a unique field', { schema: { code: unique } }, [2, 3, 2]],
  [
    'a unique field that is declared again',
    { schema: { code: { ...unique, index: true } }, indexes: [{ fields: ['code'] }] },
    [2, 3, 2],
  ],
  [
    'two fields that are unique together',
    { schema: { post, text }, indexes: [{ fields: ['post', 'text'], unique: true }, { fields: ['post'] }] },
    [3, 4, 3],
  ],
  [
    // The order of `_id` is another one than that of the longer index.
    'a reference, and an index that begins with it',
    { schema: { post }, indexes: [{ fields: ['post', 'createdAt'] }] },
    [3, 3, 3],
  ],
  [
    'createdBy, which an owner reads by, declared too',
    { schema: { text }, indexes: [{ fields: ['createdBy'] }], permissions: { owner: { read: true } } },
    [2, 2, 2],
  ],
]

const postgres = usePostgres()

const configOf = (declared: object) => ({
  collections: {
    posts: { schema: { text }, permissions: {} },
    things: { permissions: {}, ...declared },
  },
})

const openService = async (declared: object, adapter: StorageAdapter): Promise<void> => {
  const { handler } = createTestService(configOf(declared), { adapter })
  await handler.ready()
  await handler.close()
}

const newFile = (): string => join(mkdtempSync(join(tmpdir(), 'collection-service-indexes-')), 'data.db')

const indexesOf = (file: string): readonly string[] => {
  const database = new Database(file, { readonly: true })
  const sql =
    "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'c_things' AND sql IS NOT NULL"
  const names = database.prepare<unknown[], string>(`${sql} ORDER BY name`).pluck().all()
  database.close()
  return names
}

describe('the indexes of a collection', () => {
  let client: pg.Client
  beforeAll(async () => {
    client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
  })
  afterAll(() => client.end())

  test.each(CASES)('%s', async (_, declared, counts) => {
    const file = newFile()
    await openService(declared, createSqliteAdapter({ file }))
    const onSqlite = indexesOf(file).length

    const schema = newSchema()
    await openService(declared, createPostgresAdapter({ connectionString: postgres.url, schema }))
    const { rows } = await client.query(
      `SELECT count(*)::int AS total FROM pg_indexes WHERE schemaname = $1 AND tablename = 'c_things' AND indexname NOT LIKE '\\_key\\_%'`,
      [schema],
    )
    await client.query(`DROP SCHEMA ${schema} CASCADE`)

    const made = new Map<string, Rows>()
    const memory = createMemoryStorage({}, (database, name) => {
      const all = createRows(database, name)
      made.set(name, all)
      return all
    })
    await openService(declared, memory)
    const inMemory = (made.get('things')?.sorted.length ?? 0) - 1
    expect([onSqlite, rows[0]?.total, inMemory]).toEqual(counts)
  })
})

describe('a file of SQLite in which a unique index and one for reads are there', () => {
  const { idOfLacking: _, ...formerDialect } = sqliteDialect

  /** A new file with the structures of earlier versions. */
  const createFormer = (plan: CollectionPlan): string => {
    const file = newFile()
    const database = new Database(file)
    database.exec(
      `CREATE TABLE ${STRUCTURES} (name TEXT NOT NULL PRIMARY KEY, collection TEXT NOT NULL, bound TEXT NOT NULL)`,
    )
    for (const structure of structuresOf([plan], formerDialect)) {
      database.exec(structure.sql.join(';'))
      const noted = writeStatement(sqliteDialect, (bind) => noteStructure(sqliteDialect, structure, bind))
      database.prepare(noted.text).run(...noted.values)
    }
    database.close()
    return file
  }
  const namesOf = (plan: CollectionPlan, dialect = sqliteDialect): readonly string[] =>
    structuresOf([plan], dialect)
      .filter((one) => isIndex(one) && !isOfElements(one))
      .map(({ name }) => name)
      .sort()

  test('keeps both, makes no other, and answers the same', async () => {
    const file = createFormer(RANGED)
    const adapter = createSqliteAdapter({ file })
    await checkRanges(adapter, 150)
    const taken = { _id: 'other', _version: 1, code: 'c14' }
    expect(await adapter.write([{ in: 'things', insert: taken }], {})).toMatchObject({
      ok: false,
      reason: 'unique',
      fields: ['code'],
    })
    await adapter.close()
    expect(indexesOf(file)).toEqual(namesOf(RANGED, formerDialect))
  })

  test('gets the new one where one of them was dropped', async () => {
    const file = createFormer(RANGED)
    const [lost] = structuresOf([RANGED], formerDialect).filter(({ unique }) => unique)
    const database = new Database(file)
    database.exec(`DROP INDEX ${lost?.name}`)
    database.prepare(`DELETE FROM ${STRUCTURES} WHERE name = ?`).run(lost?.name)
    database.close()
    const adapter = createSqliteAdapter({ file })
    await checkRanges(adapter, 50)
    await adapter.close()
    const former = namesOf(RANGED, formerDialect).filter((name) => name !== lost?.name)
    const [made] = structuresOf([RANGED], sqliteDialect).filter(({ unique }) => unique)
    expect(indexesOf(file)).toEqual([...former, made?.name].sort())
  })
})
