import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { type FieldRef, type Filter, or } from '../../src/core/filter/filter.js'
import type { CollectionPlan, LinkedList, StorageAdapter, StoredDocument } from '../../src/core/storage.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { type Sent, watchPool } from '../support/watched-pool.js'

// CONTRACT.md §5, "Claims over claims": a claim and those that it uses are read in one trip, by indexes.

const ref = (path: string): FieldRef => ({ path, type: 'string', each: false })
const [user, company] = [ref('user'), ref('company')]

const plans: readonly CollectionPlan[] = ['agents', 'members'].map((name) => ({
  name,
  indexes: [user, company].map((field) => ({ fields: [field], unique: false })),
}))

const SIZE = 5000
const documents: readonly StoredDocument[] = Array.from({ length: SIZE }, (_, i) => ({
  _id: `id-${i}`,
  _version: 1,
  user: `u${i % 1000}`,
  company: `c${i % 1250}`,
}))

const is = (field: FieldRef, value: string): Filter => ({ kind: 'eq', field, value })

/** The members of two companies, and what an agent is. */
const LISTS: readonly LinkedList[] = [
  { in: 'members', filter: or(['c1', 'c2'].map((value) => is(company, value))), limit: 1001 },
  { in: 'agents', filter: is(user, 'u7'), limit: 1001 },
]

const postgres = usePostgres()
let pool: pg.Pool
let schema: string
let adapter: StorageAdapter
let sent: Sent[]

beforeAll(async () => {
  pool = newPool({ connectionString: postgres.url })
  schema = newSchema()
  const watched = watchPool(pool)
  ;({ sent } = watched)
  adapter = createPostgresAdapter({ pool: watched.pool, schema })
  await adapter.open(plans)
  for (const { name } of plans)
    await adapter.write(
      documents.map((insert) => ({ in: name, insert })),
      {},
    )
  await pool.query('ANALYZE')
})

afterAll(async () => {
  await adapter.close()
  await pool.query(`DROP SCHEMA ${schema} CASCADE`)
  await pool.end()
})

const read = async (lists: readonly LinkedList[]) => {
  sent.length = 0
  return (await adapter.listTogether?.(lists, {})) ?? []
}

const idsOf = (list: readonly StoredDocument[] | undefined): readonly string[] | undefined =>
  list?.map(({ _id }) => _id).sort()

describe('lists that are read together', () => {
  test('are one statement', async () => {
    const [members, agents] = await read(LISTS)
    expect(idsOf(members)).toEqual(
      ['id-1', 'id-2', 'id-1251', 'id-1252', 'id-2501', 'id-2502', 'id-3751', 'id-3752'].sort(),
    )
    expect(idsOf(agents)).toEqual(['id-1007', 'id-2007', 'id-3007', 'id-4007', 'id-7'])
    expect(sent).toHaveLength(1)
  })

  test('are found by indexes', async () => {
    await read(LISTS)
    const [{ text = '', values = [] } = {}] = sent
    const { rows } = await pool.query({ text: `EXPLAIN ${text}`, values: [...values] })
    const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
    expect(plan).not.toContain('Seq Scan')
    expect(plan.match(/Index Scan/g)?.length).toBeGreaterThanOrEqual(2)
  })

  test('are one statement for each, where they are asked for one after another', async () => {
    sent.length = 0
    for (const { in: name, filter, limit } of LISTS)
      await adapter.list(name, { filter, sort: [], skip: 0, limit })
    expect(sent).toHaveLength(2)
  })
})
