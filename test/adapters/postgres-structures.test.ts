import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { everything, type FieldRef } from '../../src/core/filter/filter.js'
import type { CollectionPlan, IndexPlan, StorageAdapter } from '../../src/core/storage.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { isLong } from '../support/tier.js'
import { until } from '../support/until.js'

// CONTRACT.md §10, "Starting"

/** Tables and indexes are made once, by however many start at the same time, and nobody who writes waits for it. */

const SIZE = isLong ? 100_000 : 2000
const MANY = 20

const postgres = usePostgres()
let client: pg.Client
let schema: string
let opened: StorageAdapter[]

beforeAll(async () => {
  client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
})
afterAll(() => client.end())

beforeEach(() => {
  schema = newSchema()
  opened = []
})
afterEach(async () => {
  for (const adapter of opened) await adapter.close()
  await client.query(`DROP SCHEMA ${schema} CASCADE`)
})

const connect = (migrate = true): StorageAdapter => {
  const adapter = createPostgresAdapter({ connectionString: postgres.url, schema, migrate })
  opened.push(adapter)
  return adapter
}

const s: FieldRef = { path: 's', type: 'string', each: false }
const n: FieldRef = { path: 'n', type: 'integer', each: false }

const planOf = (...indexes: readonly IndexPlan[]): readonly CollectionPlan[] => [
  { name: 'things', indexes, log: { omit: [], keep: 1000 } },
  { name: 'others', indexes: [{ fields: [n], unique: false }] },
]
const bare = planOf()
const sought = [
  { fields: [n], unique: false },
  { fields: [n, s], unique: false },
]
const more = planOf({ fields: [s], unique: true }, ...sought)
/** The same, but nothing is unique. */
const loose = planOf({ fields: [s], unique: false }, ...sought)

/** A text that hardly gets shorter where it is compressed. */
const long = (seed: number, length = 3000): string =>
  Array.from({ length }, (_, i) => String.fromCharCode(33 + ((i * i * seed + i * 7919) % 900))).join('')

const range = (length: number): readonly number[] => Array.from({ length }, (_, i) => i)

const openMany = (plans: readonly CollectionPlan[]): Promise<unknown> =>
  Promise.all(range(MANY).map(async () => connect().open(plans)))

/** A store with documents, and who serves it. */
async function openFilled(plans = bare): Promise<StorageAdapter> {
  const adapter = connect()
  await adapter.open(plans)
  await client.query(
    `INSERT INTO ${schema}.c_things SELECT 'id' || i, jsonb_build_object('_id', 'id' || i, '_version', 1, 's', 's' || i, 'n', i) FROM generate_series(1, ${SIZE}) AS i`,
  )
  return adapter
}

interface Found {
  readonly name: string
  /** Of an index. */
  readonly valid: boolean | null
}

/** The structures as they are recorded, with what the server says of them. */
const findRecorded = async (): Promise<readonly Found[]> =>
  (
    await client.query(
      `SELECT name, (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('${schema}.' || quote_ident(name))) AS valid FROM ${schema}._structures ORDER BY position`,
    )
  ).rows

/** The names of the indexes of things. */
const findIndexes = async (): Promise<readonly string[]> =>
  (
    await client.query(
      `SELECT indexname AS name FROM pg_indexes WHERE schemaname = $1 AND tablename = 'c_things'`,
      [schema],
    )
  ).rows.map(({ name }) => name)

/** Each structure is recorded once and valid, and nothing else is there. */
async function expectOneSet(indexes: number): Promise<void> {
  const recorded = await findRecorded()
  const names = recorded.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => name.startsWith('building'))).toEqual([])
  expect(recorded.filter(({ valid }) => valid === false)).toEqual([])
  const built = await findIndexes()
  expect(built.filter((name) => names.includes(name))).toHaveLength(indexes)
  // That of the key is made with the table.
  expect(built).toHaveLength(indexes + 1)
}

test(`${MANY} that start at once on an empty schema make one set of structures`, async () => {
  await openMany(more)
  await expectOneSet(4)
})

test(`${MANY} that start at once add indexes to ${SIZE} documents while another writes`, {
  timeout: 300_000,
}, async () => {
  const serving = await openFilled()
  let isOver = false
  let written = 0
  const writing = Promise.all(
    range(4).map(async (worker) => {
      for (let i = 0; !isOver; i++) {
        const insert = { _id: `new${worker}-${i}`, _version: 1, s: `new${worker}-${i}`, n: i }
        expect(await serving.write([{ in: 'things', insert }], {})).toEqual({ ok: true, removed: 0 })
        written += 1
      }
    }),
  )
  await openMany(more)
  isOver = true
  await writing
  await expectOneSet(4)
  expect(await serving.count('things', everything, {})).toBe(SIZE + written)
})

describe('an index that is being built', () => {
  test('makes nobody wait who writes, and its values count as soon as they bind', async () => {
    const serving = await openFilled(loose)
    const old = new pg.Client({ connectionString: postgres.url })
    await old.connect()
    // Who has seen the documents before is waited for.
    await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
    const opening = Promise.all([connect().open(more), connect().open(more)])
    const isBinding = async (): Promise<boolean> =>
      (
        await client.query(
          `SELECT FROM pg_index WHERE indrelid = '${schema}.c_things'::regclass AND indisunique AND indisready AND NOT indisvalid`,
        )
      ).rows.length > 0
    await until(isBinding)
    const insert = (i: number) =>
      serving.write([{ in: 'things', insert: { _id: `x${i}`, _version: 1, s: 'x' } }], {})
    expect(await insert(1)).toEqual({ ok: true, removed: 0 })
    expect(await insert(2)).toEqual({ ok: false, step: 0, reason: 'unique', fields: ['s'] })
    expect(await isBinding()).toBe(true)
    await old.query('COMMIT')
    await old.end()
    await opening
    await expectOneSet(4)
  })

  test('over documents that are not unique is taken back, and names its fields', async () => {
    const serving = await openFilled()
    await serving.write([{ in: 'things', insert: { _id: 'twin', _version: 1, s: 's1' } }], {})
    const before = await findRecorded()
    const reason = expect.objectContaining({
      code: 'unusable_storage',
      message: expect.stringContaining('the same s'),
    })
    const outcomes = await Promise.allSettled(range(2).map(async () => connect().open(more)))
    expect(outcomes).toEqual(range(2).map(() => ({ status: 'rejected', reason })))
    expect(await findRecorded()).toEqual(before)
    expect(await findIndexes()).toHaveLength(1)
    await client.query(`DELETE FROM ${schema}.c_things WHERE _id = 'twin'`)
    await connect().open(more)
    await expectOneSet(4)
  })

  test('over texts that are too long leaves nothing unique', async () => {
    const serving = await openFilled()
    await serving.write([{ in: 'things', insert: { _id: 'long', _version: 1, s: long(31), n: -1 } }], {})
    const twice = planOf({ fields: [n], unique: true }, { fields: [s], unique: true })
    await expect(connect().open(twice)).rejects.toThrow(
      'documents of things have strings in s that are too long',
    )
    const twin = { _id: 'twin', _version: 1, s: 'new', n: -1 }
    expect(await serving.write([{ in: 'things', insert: twin }], {})).toEqual({ ok: true, removed: 0 })
  })

  test('was left behind by somebody who died: it is made anew', async () => {
    await openFilled()
    await connect().open(more)
    const [first, second] = (await findRecorded()).filter(({ valid }) => valid)
    await client.query(
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${schema}.${first?.name}'::regclass`,
    )
    await client.query(`UPDATE ${schema}._structures SET name = 'building ' || name WHERE name = $1`, [
      second?.name,
    ])
    await client.query(
      `UPDATE ${schema}._structures_lease SET holder = 'gone', until = clock_timestamp() + interval '500 milliseconds'`,
    )
    const { rows } = await client.query(`SELECT until FROM ${schema}._structures_lease`)
    await openMany(more)
    expect(Date.now()).toBeGreaterThan(rows[0].until.getTime())
    await expectOneSet(4)
  })
})

test('without migrate, what is said of tables that are there can be run while others write', async () => {
  await openFilled()
  const said = await connect(false)
    .open(more)
    .then(
      () => '',
      (cause: Error) => cause.message,
    )
  const sql = said.slice(said.indexOf('CREATE SCHEMA')).split(';\n')
  expect(sql.filter((text) => /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY/.test(text))).toHaveLength(4)
  for (const text of sql) await client.query(text)
  await connect(false).open(more)
  await expectOneSet(4)
})

describe('an index that no plan of this process asks for', () => {
  const insert = (_id: string, s: string) => [{ in: 'things', insert: { _id, _version: 1, s, n: 7 } }]
  const twin = { ok: false, step: 0, reason: 'unique', fields: ['s'] }
  const done = { ok: true, removed: 0 }

  test.each([3000, 20_000])(
    'refuses no text of %i characters, and what is unique stays so',
    async (length) => {
      const other = connect()
      await other.open(more)
      const serving = connect()
      await serving.open(bare)
      const before = (await findRecorded()).length
      const writes = range(5).map(async (i) => serving.write(insert(`long${i}`, long(31 + i, length)), {}))
      expect(await Promise.all(writes)).toEqual(range(5).map(() => done))
      for (const adapter of [serving, other]) {
        expect(await adapter.write(insert('again', long(33, length)), {})).toEqual(twin)
        const filter = { kind: 'eq', field: s, value: long(33, length) } as const
        expect(await adapter.list('things', { filter, sort: [], skip: 0, limit: null })).toHaveLength(1)
      }
      // Those over s, and over n and s, are gone; digests bind instead of the unique one, and that of n stays.
      expect(await findIndexes()).toHaveLength(3)
      expect(await findRecorded()).toHaveLength(before - 2)
    },
  )

  test('goes while others write, also when the one that needed it gone has left', async () => {
    const filled = await openFilled()
    await connect().open(more)
    const old = new pg.Client({ connectionString: postgres.url })
    await old.connect()
    await old.query(`BEGIN; SELECT FROM ${schema}.c_things LIMIT 1`)
    const leaving = new AbortController()
    const writing = filled.write(insert('long', long(31)), { signal: leaving.signal })
    const isGoing = async (): Promise<boolean> =>
      (
        await client.query(
          `SELECT FROM pg_stat_activity WHERE query ~ 'DROP INDEX CONCURRENTLY.*${schema}' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`,
        )
      ).rows.length > 0
    // The digests come first, and wait for nobody who only reads.
    await until(isGoing)
    expect(await filled.write(insert('short', 'new'), {})).toEqual(done)
    leaving.abort()
    await expect(writing).rejects.toMatchObject({ code: 'storage_unavailable' })
    await old.query('COMMIT')
    await old.end()
    await until(async () => (await findIndexes()).length === 3)
    expect(await filled.write(insert('long', long(31)), {})).toEqual(done)
    expect(await filled.write(insert('again', 'new'), {})).toEqual(twin)
  })

  test('stays without migrate', async () => {
    await connect().open(more)
    const serving = connect(false)
    await serving.open(bare)
    await expect(serving.write(insert('long', long(31)), {})).rejects.toMatchObject({ code: '54000' })
    await expectOneSet(4)
  })
})
