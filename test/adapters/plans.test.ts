import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeAll, writeFirst, writeSmall } from '../../src/adapters/postgres/page.js'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createPostgresDialect, parameterOf } from '../../src/adapters/postgres/postgres-dialect.js'
import type { Statement } from '../../src/adapters/sql/dialect.js'
import { createStatements, type Statements } from '../../src/adapters/sql/statements.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { sqliteDialect } from '../../src/adapters/sqlite/sqlite-dialect.js'
import { and, everything, type FieldRef, type Filter } from '../../src/filter/filter.js'
import { rangesAfter } from '../../src/query/cursor.js'
import type { CollectionPlan, SortKey, StorageAdapter, StoredDocument } from '../../src/storage.js'
import { newSchema, usePostgres } from '../support/postgres.js'

const ref = (path: string, type: FieldRef['type'] = 'string'): FieldRef => ({ path, type, each: false })

const fields = {
  _id: ref('_id'),
  email: ref('email'),
  group: ref('group', 'integer'),
  n: ref('n', 'number'),
  at: ref('at', 'timestamp'),
  done: ref('done', 'boolean'),
}

const plan: CollectionPlan = {
  name: 'things',
  indexes: [
    { fields: [fields.email], unique: true },
    { fields: [fields.n], unique: false },
    { fields: [fields.at], unique: false },
    { fields: [fields.group, fields.n], unique: false },
    { fields: [fields.done], unique: false },
  ],
}

const SIZE = 20_000

const documents: readonly StoredDocument[] = Array.from({ length: SIZE }, (_, i) => ({
  _id: `id-${String(i).padStart(6, '0')}`,
  _version: 1,
  email: `u${i}@example.com`,
  group: i % 100,
  // Some lack it: missing values have their place in the order too.
  ...(i % 97 === 0 ? {} : { n: (i * 7919) % SIZE }),
  at: new Date(Date.UTC(2026, 0, 1) + i * 1000).toISOString(),
  done: i % 2 === 0,
}))

const is = (kind: 'eq' | 'lt' | 'lte' | 'gt' | 'gte', field: FieldRef, value: string | number): Filter => ({
  kind,
  field,
  value,
})

const by = (...keys: readonly (readonly [FieldRef, 1 | -1])[]): readonly SortKey[] =>
  keys.map(([field, direction]) => ({ field, descending: direction === -1 }))

const ids = (count: number): Filter => ({
  kind: 'or',
  filters: documents.slice(0, count).map(({ _id }) => is('eq', fields._id, _id)),
})

/** Queries that must cost what their answer costs, however many documents there are. */
const lists: readonly (readonly [what: string, filter: Filter, sort: readonly SortKey[]])[] = [
  ['an id', is('eq', fields._id, 'id-000005'), []],
  ['a unique value', is('eq', fields.email, 'u5@example.com'), []],
  ['an indexed value', is('eq', fields.n, 5), []],
  ['several ids', ids(2), []],
  ['the first page by id', everything, by([fields._id, 1])],
  ['the first page, ascending', everything, by([fields.n, 1], [fields._id, 1])],
  ['the first page, descending', everything, by([fields.n, -1], [fields._id, -1])],
  ['the newest', everything, by([fields.at, -1], [fields._id, -1])],
  ['the first by a unique field', everything, by([fields.email, 1], [fields._id, 1])],
  [
    'an equality in the order of the next field',
    is('eq', fields.group, 5),
    by([fields.n, -1], [fields._id, -1]),
  ],
  ['a range in its order', is('gte', fields.n, 19_000), by([fields.n, 1], [fields._id, 1])],
  ...laterPages('by id', by([fields._id, 1]), ['id-010000']),
  ...laterPages('ascending', by([fields.n, 1], [fields._id, 1]), [10_000, 'id-010001']),
  ...laterPages('descending', by([fields.n, -1], [fields._id, -1]), [10_000, 'id-010001']),
  ...laterPages('ascending, among missing values', by([fields.n, 1], [fields._id, 1]), [null, 'id-010000']),
  ...laterPages('descending, among missing values', by([fields.n, -1], [fields._id, -1]), [
    null,
    'id-010000',
  ]),
  ...laterPages('by two fields', by([fields.group, 1], [fields.n, 1], [fields._id, 1]), [
    50,
    9950,
    'id-010050',
  ]),
  ...laterPages('of many equals', by([fields.done, 1], [fields._id, 1]), [true, 'id-010000']),
]

function laterPages(
  what: string,
  sort: readonly SortKey[],
  values: readonly (string | number | boolean | null)[],
): readonly (readonly [string, Filter, readonly SortKey[]])[] {
  return rangesAfter(sort, { values, passed: 0 }).map((range, i) => [
    `a later page, ${what}: range ${i + 1}`,
    range,
    sort,
  ])
}

const counts: readonly (readonly [what: string, filter: Filter])[] = [
  ['a narrow range', and([is('gte', fields.n, 100), is('lt', fields.n, 200)])],
  ['an equality', is('eq', fields.group, 5)],
  ['a time', is('gt', fields.at, '2026-01-01T05:30:00.000Z')],
]

async function fill(adapter: StorageAdapter): Promise<void> {
  await adapter.open([plan])
  for (let i = 0; i < SIZE; i += 2000) {
    const steps = documents.slice(i, i + 2000).map((insert) => ({ in: 'things', insert }))
    expect(await adapter.write(steps, {})).toEqual({ ok: true, removed: 0 })
  }
}

describe('SQLite', () => {
  const statements: Statements = createStatements(sqliteDialect, () => '?')
  let folder = ''
  let database: Database.Database

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collection-service-plans-'))
    const adapter = createSqliteAdapter({ file: join(folder, 'data.db') })
    await fill(adapter)
    await adapter.close()
    database = new Database(join(folder, 'data.db'))
  }, 60_000)

  afterAll(async () => {
    database.close()
    await rm(folder, { recursive: true, force: true })
  })

  const planOf = ({ text, values }: Statement): string =>
    database
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
      .all(...values.map((value) => (typeof value === 'boolean' ? Number(value) : value)))
      .map(({ detail }) => detail)
      .join('\n')

  test.each(lists)('%s uses an index and sorts nothing', (_, filter, sort) => {
    const plan = planOf(statements.list('things', { filter, sort, skip: 0, limit: 21 }))
    expect(plan).toMatch(/USING (?:COVERING )?INDEX/)
    expect(plan).not.toMatch(/TEMP B-TREE/)
    // An order alone is walked; what is fixed or bounded is sought.
    if (filter !== everything) expect(plan).toMatch(/^SEARCH /)
  })

  test('any number of ids is one parameter and sought', () => {
    const [few, many] = [2, 10_000].map((count) =>
      statements.list('things', { filter: ids(count), sort: [], skip: 0, limit: null }),
    )
    expect(many?.text).toBe(few?.text)
    expect(planOf(many ?? { text: '', values: [] })).toMatch(/^SEARCH .*INDEX/)
  })

  test.each(counts)('counting %s reads a range of an index', (_, filter) => {
    expect(planOf(statements.count('things', filter))).toMatch(/^SEARCH .*INDEX/)
  })
})

describe('PostgreSQL', () => {
  const postgres = usePostgres()
  const schema = newSchema()
  const statements: Statements = createStatements(createPostgresDialect(schema), parameterOf)
  let client: pg.Client

  beforeAll(async () => {
    const adapter = createPostgresAdapter({ connectionString: postgres.url, schema })
    await fill(adapter)
    await adapter.close()
    client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    await client.query(`ANALYZE ${schema}.things`)
  }, 60_000)

  afterAll(async () => {
    await client.query(`DROP SCHEMA ${schema} CASCADE`)
    await client.end()
  })

  const planOf = async ({ text, values }: Statement): Promise<string> => {
    const { rows } = await client.query({ text: `EXPLAIN ${text}`, values: [...values] })
    return rows.map((row) => String(row['QUERY PLAN'])).join('\n')
  }

  test.each(lists)('%s uses an index and sorts nothing', async (_, filter, sort) => {
    const page = statements.page('things', { filter, sort, skip: 0, limit: 21 })
    const written = [writeAll(page), writeSmall(page, 2 ** 20), writeFirst(page, 2 ** 24)]
    for (const statement of written) {
      const plan = await planOf(statement)
      expect(plan).toMatch(/Index/)
      expect(plan).not.toMatch(/Sort|Seq Scan/)
      if (filter !== everything) expect(plan).toMatch(/Index Cond/)
    }
  })

  test('what lies beyond a page is never written as text', async () => {
    const page = statements.page('things', { filter: everything, sort: [], skip: 0, limit: 5000 })
    const { text, values } = writeFirst(page, 10_000)
    const { rows } = await client.query({
      text: `EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF) ${text}`,
      values: [...values],
    })
    const counts = JSON.stringify(rows[0]?.['QUERY PLAN']).matchAll(
      /"Node Type":"(WindowAgg|Limit)"[^{}[\]]*?"Actual Rows":([\d.]+)/g,
    )
    const summed = [...counts].map(([, , count]) => Number(count))
    // The numbers of all rows, of those that were summed up, and the one beyond.
    expect(summed.filter((count) => count >= 5000).length).toBeLessThanOrEqual(2)
    expect(summed.some((count) => count > 1 && count < 200)).toBe(true)
  })

  test('any number of ids is one parameter and sought', async () => {
    const [few, many] = [2, 10_000].map((count) =>
      statements.page('things', { filter: ids(count), sort: [], skip: 0, limit: null }),
    )
    expect(many?.text).toBe(few?.text)
    expect(await planOf(few ?? { text: '', values: [] })).toMatch(/Index Cond/)
  })

  test.each(counts)('counting %s reads a range of an index', async (_, filter) => {
    const plan = await planOf(statements.count('things', filter))
    expect(plan).toMatch(/Index Cond/)
    expect(plan).not.toMatch(/Seq Scan/)
  })
})

describe('an index over texts that are too long for one entry', () => {
  const postgres = usePostgres()
  const texts = ['x', 'y', 'z'].map((path) => ref(path))
  const long = (seed: string): string =>
    Array.from({ length: 1024 }, (_, i) =>
      String.fromCharCode(33 + ((i * 7919 + seed.charCodeAt(0) * (i + 3)) % 90)),
    ).join('')

  test.each(['SQLite', 'PostgreSQL'])('holds in %s all the same', async (engine) => {
    const adapter =
      engine === 'SQLite'
        ? createSqliteAdapter({ file: ':memory:' })
        : createPostgresAdapter({ connectionString: postgres.url, schema: newSchema() })
    await adapter.open([
      {
        name: 'things',
        indexes: [
          { fields: texts, unique: true },
          { fields: texts, unique: false },
        ],
      },
    ])
    const document = { _version: 1, x: long('a'), y: long('b'), z: long('c') }
    const store = (_id: string, changes: object = {}) =>
      adapter.write([{ in: 'things', insert: { ...document, ...changes, _id } }], {})
    expect(await store('1')).toEqual({ ok: true, removed: 0 })
    expect(await store('2', { z: long('d') })).toEqual({ ok: true, removed: 0 })
    expect(await store('3')).toMatchObject({ reason: 'unique', fields: ['x', 'y', 'z'] })
    expect(await store('4', { z: 5 })).toEqual({ ok: true, removed: 0 })
    expect(await store('5', { z: 5 })).toEqual({ ok: true, removed: 0 })
    // The digests of these are taken of bytes, in which a backslash and what lies beyond ASCII are no trap.
    const odd = { x: '\\', y: '\\x41', z: '\u{1f600}\\134' }
    expect(await store('6', odd)).toEqual({ ok: true, removed: 0 })
    expect(await store('7', { ...odd, y: 'A' })).toEqual({ ok: true, removed: 0 })
    expect(await store('8', { ...odd, x: '\\\\' })).toEqual({ ok: true, removed: 0 })
    expect(await store('9', odd)).toMatchObject({ reason: 'unique', fields: ['x', 'y', 'z'] })
    // Two texts of one MD5 digest, found by Marc Stevens in 2024.
    const twin = 'TEXTCOLLBYfGiJUETHQ4hAcKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak'
    expect(await store('10', { x: twin })).toEqual({ ok: true, removed: 0 })
    expect(await store('11', { x: twin.replace('hAc', 'hEc') })).toEqual({ ok: true, removed: 0 })
    await adapter.close()
  })
})
