import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { readExistingDatabase } from '../../src/adapters/postgres/read-existing.js'
import { everything } from '../../src/core/filter/filter.js'
import type { StorageAdapter } from '../../src/core/storage.js'
import { createMemoryAdapter } from '../../src/index.js'
import { adapterCases, runCase } from '../../src/tools/testing/index.js'
import { dump, load } from '../../src/tools/transfer/index.js'
import { createFormerRecords, LAYOUT_LAWS, type LayoutPlace } from '../support/layout-laws.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { rounds } from '../support/tier.js'

// CONTRACT.md §7, "Storage", and §10, "Starting": the names of tables in a schema.

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
  await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
})

const connect = (migrate = true): StorageAdapter => {
  const adapter = createPostgresAdapter({ connectionString: postgres.url, schema, migrate })
  opened.push(adapter)
  return adapter
}

test.each(Object.entries(LAYOUT_LAWS))('%s', (_, check) => check({ client, schema, connect } as LayoutPlace))

test.each([
  ['a new', ''],
  ['a former', 'former'],
])('%s schema is read without its adapter', async (_, layout) => {
  if (layout === 'former') await client.query(createFormerRecords(schema))
  const adapter = connect()
  await adapter.open([{ name: 'Notes', indexes: [] }])
  await adapter.write([{ in: 'Notes', insert: { _id: 'a', _version: 1 } }], {})
  const documents = await readExistingDatabase(postgres.url, schema)
  const query = { filter: everything, sort: [], skip: 0, limit: null }
  expect(await documents.list('Notes', query)).toEqual([{ _id: 'a', _version: 1 }])
  expect(await documents.list('others', query)).toEqual([])
  await documents.close()
})

test.each([
  ['a new', ''],
  ['a former', 'former'],
])('%s schema is dumped with and without its adapter, and loaded', async (_, layout) => {
  if (layout === 'former') await client.query(createFormerRecords(schema))
  const collection = { changes: true, schema: { n: { type: 'integer', unique: true } } }
  const config = { collections: { Notes: collection, structures: collection } }
  const adapter = connect()
  const end = { documents: 600, sha256: expect.any(String) }
  const source = createMemoryAdapter()
  await source.open(Object.keys(config.collections).map((name) => ({ name, indexes: [] })))
  for (const name of Object.keys(config.collections))
    await source.write(
      Array.from({ length: 600 }, (_, n) => ({ in: name, insert: { _id: `${1000 + n}`, _version: 2, n } })),
      {},
    )
  const dumpOf = async (storage: Pick<StorageAdapter, 'snapshot'>): Promise<string> => {
    const texts: string[] = []
    const { undeclared } = await dump(config, storage, (text) => void texts.push(text))
    expect(undeclared).toEqual([])
    return texts.join('')
  }
  const text = await dumpOf(source)
  const { collections, written } = await load(config, adapter, [text])
  expect([collections, written]).toEqual([{ Notes: end, structures: end }, 1200])
  const { rows } = await client.query(
    `SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('${schema}') AND relname = 'Notes'`,
  )
  expect(rows).toHaveLength(layout === 'former' ? 1 : 0)
  const documents = await readExistingDatabase(postgres.url, schema)
  const inOrderOfKeys = (dumped: string) => dumped.split('\n').map((line) => line && JSON.parse(line))
  for (const storage of [adapter, documents])
    expect(inOrderOfKeys(await dumpOf(storage))).toEqual(inOrderOfKeys(text))
  // Without its records, the layout is unknown: the dump must not be empty.
  await client.query(`DROP TABLE ${schema}._structures`)
  await expect(dumpOf(documents)).rejects.toThrow('none of the collections of the configuration')
  await documents.close()
})

/** Cases whose statements differ only in conditions, which name no table. */
const OF_CONDITIONS = /^(?:filter|pattern|order):/

describe('a former schema passes the kit of adapters', () => {
  const cases = adapterCases.filter(({ name }) => !OF_CONDITIONS.test(name))
  test.each(cases.map((one) => [one.name, one] as const))(
    '%s',
    (_, one) =>
      runCase(one, async () => {
        const own = newSchema()
        await client.query(createFormerRecords(own))
        return {
          connect: () => createPostgresAdapter({ connectionString: postgres.url, schema: own }),
          destroy: async () => void (await client.query(`DROP SCHEMA ${own} CASCADE`)),
        }
      }),
    rounds(300_000, 3_600_000),
  )
})
