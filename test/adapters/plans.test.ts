import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createPostgresDialect } from '../../src/adapters/postgres/postgres-engine.js'
import { writeSmall } from '../../src/adapters/postgres/read/batch.js'
import { mergeRanges } from '../../src/adapters/postgres/read/merge-ranges.js'
import { writeAll, writeFirst, writeJoined, writeList } from '../../src/adapters/postgres/read/page.js'
import type { Statement, Value } from '../../src/adapters/sql/dialect.js'
import { createStatements, type Statements } from '../../src/adapters/sql/statements.js'
import { structuresOf } from '../../src/adapters/sql/structures.js'
import { choosePath, type ReadPath, readIndexesOf } from '../../src/adapters/sqlite/read/read-path.js'
import {
  countAllStatement,
  countStatement,
  idsStatement,
  type Prefilter,
  pageStatement,
  rangeStatement,
  scanStatement,
  walkStatement,
} from '../../src/adapters/sqlite/read/read-statements.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { sqliteDialect } from '../../src/adapters/sqlite/sqlite-dialect.js'
import { and, everything, type FieldRef, type Filter, type Scalar } from '../../src/core/filter/filter.js'
import { rangesAfter } from '../../src/core/query/paging/cursor.js'
import type { CollectionPlan, SortKey, StorageAdapter, StoredDocument } from '../../src/core/storage.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { drawQuery } from '../../src/tools/testing/adapter/fuzz/random-query.js'
import { drawStore } from '../../src/tools/testing/adapter/fuzz/random-store.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { seedOf } from '../support/tier.js'

// CONTRACT.md §1, "Collections", §6, "Speed"

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
  ...(i % 89 === 1 ? {} : { email: `u${i}@example.com` }),
  group: i % 100,
  // Some lack it: missing values have their place in the order too.
  ...(i % 97 === 0 ? {} : { n: (i * 7919) % SIZE }),
  at: new Date(Date.UTC(2026, 0, 1) + i * 1000).toISOString(),
  done: i % 2 === 0,
}))

const asking =
  (...conditions: readonly Filter[]) =>
  (): Prefilter => ({ conditions })

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
  // No other document has the same value.
  ...laterPages('by a unique field', by([fields.email, 1], [fields._id, 1]), [
    'u5@example.com',
    'id-000005',
  ]).slice(1),
  ...laterPages('by a unique field, descending', by([fields.email, -1], [fields._id, -1]), [
    'u5@example.com',
    'id-000005',
  ]).slice(1),
  ...laterPages('by a unique field, among missing values', by([fields.email, 1], [fields._id, 1]), [
    null,
    'id-000005',
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
  const indexes = readIndexesOf(plan)
  let folder = ''
  let database: Database.Database

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collection-service-plans-'))
    const adapter = createSqliteAdapter({ file: join(folder, 'data.db') })
    await fill(adapter)
    await adapter.close()
    database = new Database(join(folder, 'data.db'))
  })

  afterAll(async () => {
    database.close()
    await rm(folder, { recursive: true, force: true })
  })

  const stored = (value: Value) => (typeof value === 'boolean' ? Number(value) : value)

  const planOf = ({ text, values }: Statement, of = database): string =>
    of
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
      .all(...values.map(stored))
      .map(({ detail }) => detail)
      .join('\n')

  const countUpTo = (path: ReadPath, most: number): number => {
    const { text, values } = countStatement('things', path, most)
    return Number(database.prepare(text).pluck().get(values.map(stored)))
  }

  const choose = (filter: Filter, sort: readonly SortKey[], limit: number | null = 21): ReadPath =>
    choosePath(indexes, { filter, sort, limit }, countUpTo)

  const lacking: Filter = { kind: 'not', filter: { kind: 'present', field: fields.email } }

  test.each([
    ...lists,
    ['what lacks a unique field', lacking, by([fields._id, 1])] as const,
    ...laterPages('of what lacks a unique field', by([fields._id, -1]), ['id-010000']).map(
      ([what, range, sort]) => [what, and([lacking, range]), sort] as const,
    ),
  ])('%s uses an index and sorts nothing', (_, filter, sort) => {
    const path = choose(filter, sort)
    expect(path).toMatchObject({ rest: [], isOrdered: true })
    const plan = planOf(pageStatement('things', path, { skip: 0, limit: 21, cap: 1024 }))
    expect(plan).toMatch(/USING (?:COVERING )?INDEX/)
    expect(plan).not.toMatch(/TEMP B-TREE/)
    // An order alone is walked; what is fixed or bounded is sought.
    if (filter !== everything) expect(plan).toMatch(/^SEARCH /)
    const ids = planOf(idsStatement('things', path, { skip: 0, limit: 21 }))
    // A unique index has the `_id` only of what lacks its fields.
    const isHeld = path.binds === undefined || path.bounds.some(({ kind }) => kind === 'not')
    expect(ids).toMatch(isHeld ? /^\w+ c_things USING COVERING INDEX/ : /^\w+ c_things USING INDEX/)
    expect(ids).not.toMatch(/TEMP B-TREE/)
  })

  test('a limit never decides how a statement runs, so that it is prepared once', () => {
    const path = choose(is('eq', fields.n, 5), [])
    const page = { skip: 1, limit: 2, cap: 3 }
    for (const { text } of [
      pageStatement('things', path, page),
      idsStatement('things', path, page),
      countStatement('things', path, 5),
      { text: rangeStatement('things') },
    ])
      expect(text).not.toMatch(/(?:LIMIT|OFFSET) \?(?! \+ 0)/)
  })

  test('any number of ids is one parameter and sought', () => {
    const [few, many] = [2, 10_000].map((count) =>
      walkStatement('things', choose(ids(count), []), asking(), 'document'),
    )
    expect(many?.text).toBe(few?.text)
    expect(planOf(many ?? { text: '', values: [] })).toMatch(/^SEARCH .*INDEX/)
  })

  test.each(lists)('%s is walked in its order, without an end too', (_, filter, sort) => {
    const extra = is('gt', ref('unindexed', 'number'), 5)
    const path = choose(and([filter, extra]), sort, null)
    expect(path).toMatchObject({ rest: [extra], isOrdered: true })
    const plan = planOf(walkStatement('things', path, asking(extra), 'document'))
    expect(plan).toMatch(filter === everything ? /^SCAN .*INDEX/ : /^SEARCH .*INDEX/)
    expect(plan).not.toMatch(/TEMP B-TREE/)
  })

  test.each(counts)('counting %s reads a range of an index, without the documents', (_, filter) => {
    const path = choose(filter, [], null)
    expect(path.rest).toEqual([])
    for (const statement of [countStatement('things', path, 5), countAllStatement('things', path)])
      expect(planOf(statement)).toMatch(/SEARCH .*COVERING INDEX/)
    expect(planOf(walkStatement('things', path, asking(), 'match'))).toMatch(/^SEARCH .*COVERING INDEX/)
  })

  test('what no index answers is read by ranges of places', () => {
    const filter = is('gt', ref('unindexed', 'number'), 5)
    expect(choose(filter, []).index).toBeNull()
    const { text, before, after } = scanStatement('things', [filter], 'document')
    const places = [...before, 0, SIZE, ...after]
    expect(planOf({ text, values: places })).toMatch(/^SEARCH .*rowid>\? AND rowid<\?/)
  })

  test('a range of few is sorted, of many left for an index that gives the order', () => {
    const newest = by([fields.at, -1], [fields._id, -1])
    expect(choose(is('eq', fields.n, 5), newest).isOrdered).toBe(false)
    const half = and([{ kind: 'eq', field: fields.done, value: true }])
    expect(choose(half, newest)).toMatchObject({ isOrdered: true, bounds: [], rest: [half] })
    expect(choose(half, newest, null)).toMatchObject({ isOrdered: false, bounds: [half], rest: [] })
  })

  test('whatever is asked, what is said to come in order is not sorted', () => {
    const empty = new Database(':memory:')
    let ordered = 0
    for (let seed = 1; seed <= 150; seed++) {
      const random = createRandom(seedOf(seed))
      const { fields, indexes: planned } = drawStore(random)
      const name = `drawn${seed}`
      const drawn: CollectionPlan = { name, indexes: planned }
      for (const { sql } of structuresOf([drawn], sqliteDialect)) empty.exec(sql.join(';'))
      for (let i = 0; i < 10; i++) {
        const query = drawQuery(random, { fields, documents: [] })
        const path = choosePath(readIndexesOf(drawn), query, () => 0)
        if (!path.isOrdered || path.index === null) continue
        ordered += 1
        const found = planOf(walkStatement(name, path, asking(), 'document'), empty)
        // Ranges of a unique index are merged by the `_id` as well, which it contains only for documents that lack a field.
        const isByIdToo = path.ranges?.some(({ binds, fixed }) => binds && fixed < binds.length) ?? false
        expect(found).not.toMatch(isByIdToo ? /TEMP B-TREE(?! FOR LAST TERM)/ : /TEMP B-TREE/)
        if (path.ranges) expect(found).not.toMatch(/SCAN c_/)
        else expect(found).toMatch(path.bounds.length > 0 ? /^SEARCH .*INDEX/ : /^SCAN .*INDEX/)
      }
    }
    expect(ordered).toBeGreaterThan(100)
    empty.close()
  })

  test('what is looked up by ids or unique values is known to be little', () => {
    expect(choose(is('eq', fields._id, 'x'), by([fields.at, 1], [fields._id, 1]))).toMatchObject({ most: 1 })
    expect(choose(is('eq', fields.email, 'x'), [])).toMatchObject({ most: 1 })
    const ids = ['a', 'b', 'c'].map((id) => is('eq', fields._id, id))
    const some = and([{ kind: 'or', filters: ids }, is('eq', fields.group, 5)])
    expect(choose(some, [])).toMatchObject({ most: 3 })
    // Uniqueness does not bind what is missing.
    const missing: Filter = { kind: 'not', filter: { kind: 'present', field: fields.email } }
    expect(choose(missing, [])).toMatchObject({ most: Number.POSITIVE_INFINITY, rest: [] })
  })
})

describe('PostgreSQL', () => {
  const postgres = usePostgres()
  const schema = newSchema()
  const dialect = createPostgresDialect(schema)
  const statements: Statements = createStatements(dialect)
  let client: pg.Client

  beforeAll(async () => {
    const adapter = createPostgresAdapter({ connectionString: postgres.url, schema })
    await fill(adapter)
    await adapter.close()
    client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    await client.query(`ANALYZE ${schema}.c_things`)
  })

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
    const joined = createStatements({ ...dialect, parameter: (place) => `asked.v${place}` })
    const { text } = joined.page('things', { filter, sort, skip: 0, limit: 21 })
    const columns = page.values.map((value) => [value as Scalar])
    const written: Statement[] = [
      ...[writeAll(page.text), writeList(page.text, '65536', '2048'), writeFirst(page.text, '65536')].map(
        (text) => ({ text, values: page.values }),
      ),
      writeSmall(page, 2 ** 20),
      // Only queries without lists are read for several at once.
      ...(page.values.some((value) => typeof value === 'object')
        ? []
        : [{ text: writeJoined(writeList(text, '65536', '2048'), page.values), values: columns }]),
    ]
    for (const statement of written) {
      const plan = await planOf(statement)
      expect(plan).toMatch(/Index/)
      expect(plan).not.toMatch(/Sort|Seq Scan/)
      if (filter !== everything) expect(plan).toMatch(/Index Cond/)
    }
  })

  /** The entries of indexes that a page looks at. */
  async function countEntries({ text, values }: Statement): Promise<number> {
    const { rows } = await client.query({
      text: `EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF) ${writeFirst(text, '65536')}`,
      values: [...values],
    })
    const plan = JSON.stringify(rows[0]?.['QUERY PLAN'])
    expect(plan).not.toMatch(/Seq Scan|Bitmap/)
    const scans = plan.matchAll(
      /"Node Type":"Index (?:Only )?Scan"[^{}[\]]*?"Actual Rows":([\d.]+),"Actual Loops":(\d+)/g,
    )
    return [...scans].reduce((total, [, entries, loops]) => total + Number(entries) * Number(loops), 0)
  }

  test.each([2, 3, 64])(
    'a page of %i values in an order takes as much of each as fits on it',
    async (size) => {
      const filter: Filter = {
        kind: 'or',
        filters: Array.from({ length: size }, (_, i) => is('eq', fields.group, i)),
      }
      const query = { filter, sort: by([fields.n, -1], [fields._id, -1]), skip: 10, limit: 11 }
      const page = mergeRanges(dialect, plan.indexes, 'things', query)
      if (!page) throw new Error('the ranges are not merged')
      expect(await countEntries(page)).toBe(size * 21)
    },
  )

  test('the text of a page of several values does not name them', () => {
    const [few, many] = [2, 60].map((size) => {
      const filters = Array.from({ length: size }, (_, i) => is('eq', fields.group, i))
      const sort = by([fields.n, 1], [fields._id, 1])
      return mergeRanges(dialect, plan.indexes, 'things', {
        filter: { kind: 'or', filters },
        sort,
        skip: 0,
        limit: 21,
      })
    })
    expect(many?.text).toBe(few?.text)
  })

  /** Of values and of a bound, alternatives: some documents meet both. */
  const either = (size: number, skip: number) => {
    const groups = Array.from({ length: size }, (_, i) => is('eq', fields.group, i))
    const filter: Filter = { kind: 'or', filters: [...groups, is('gte', fields.n, 10_000)] }
    return mergeRanges(dialect, plan.indexes, 'things', {
      filter,
      sort: by([fields.n, -1], [fields._id, -1]),
      skip,
      limit: 11,
    })
  }

  test('a page of alternatives takes as much of each as fits on it, each document once', async () => {
    const page = either(3, 10)
    if (!page) throw new Error('the alternatives are not merged')
    expect(await countEntries(page)).toBe(4 * 21)
    const { rows } = await client.query({ text: page.text, values: [...page.values] })
    const found = documents
      .filter(({ group, n }) => Number(group) < 3 || Number(n) >= 10_000)
      .toSorted((a, b) => Number(b.n ?? -1) - Number(a.n ?? -1) || (a._id < b._id ? 1 : -1))
    expect(rows.map(({ _id }) => _id)).toEqual(found.slice(10, 21).map(({ _id }) => _id))
  })

  test('the text of a page of alternatives does not name their values', () =>
    expect(either(60, 0)?.text).toBe(either(2, 0)?.text))

  test('what lies beyond a page is never written as text', async () => {
    const page = statements.page('things', { filter: everything, sort: [], skip: 0, limit: 5000 })
    const { rows } = await client.query({
      text: `EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF) ${writeFirst(page.text, '10000')}`,
      values: [...page.values],
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
  /** A text that cannot be compressed. */
  const long = (seed: string): string => {
    let state = seed.charCodeAt(0)
    const draw = (): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return state >>> 16
    }
    return Array.from({ length: 1024 }, () => String.fromCharCode(33 + (draw() % 90))).join('')
  }

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

  test('holds in PostgreSQL beside many other fields', async () => {
    const adapter = createPostgresAdapter({ connectionString: postgres.url, schema: newSchema() })
    const times = Array.from({ length: 28 }, (_, i) => ref(`t${i}`, 'timestamp'))
    const fields = [...times, ref('x'), ref('y')]
    await adapter.open([
      {
        name: 'things',
        indexes: [
          { fields, unique: true },
          { fields: fields.toReversed(), unique: false },
        ],
      },
    ])
    const present = Object.fromEntries(times.map(({ path }) => [path, '2026-01-01T00:00:00.000Z']))
    const document = { ...present, _version: 1, x: long('a'), y: long('b') }
    const store = (_id: string, changes: object = {}) =>
      adapter.write([{ in: 'things', insert: { ...document, ...changes, _id } }], {})
    expect(await store('1')).toEqual({ ok: true, removed: 0 })
    expect(await store('2')).toMatchObject({ reason: 'unique' })
    expect(await store('3', { t27: '2026-01-01T00:00:00.001Z' })).toEqual({ ok: true, removed: 0 })
    await adapter.close()
  })
})
