import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { everything } from '../../src/core/filter/filter.js'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach } from '../support/storages.js'
import { watchPool } from '../support/watched-pool.js'

// CONTRACT.md §2, "Batch"

/** How often a batch asks the storage. */

const postgres = usePostgres()
const opened = closeAfterEach()
let pool: pg.Pool

beforeAll(() => {
  pool = newPool({ connectionString: postgres.url })
})

afterAll(() => pool.end())

const things = {
  schema: { code: { type: 'string', unique: true }, n: { type: 'integer', index: true } },
  permissions: { '*': { create: true }, user: { create: true } },
}

const users = {
  schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } },
}

const creates = {
  operations: Array.from({ length: 100 }, (_, n) => ({
    method: 'POST',
    path: '/things',
    body: { code: `code-${n}`, n },
  })),
}

/** Sends a batch of creates, by a user of the service where it keeps accounts. */
async function createMany(adapter: StorageAdapter, config: object, before: () => void): Promise<void> {
  const service = createTestService({ ...config }, { adapter })
  opened.push(service)
  await service.handler.ready()
  const account =
    'auth' in config ? await service.register({ email: 'ann@example.com', password: 'correct horse' }) : {}
  before()
  const { status, body } = await service.send('POST /_batch', { ...account, body: creates })
  expect([status, body.results?.length]).toEqual([200, 100])
}

/** Whether the comparison of stored documents, in the background after the start, sends a statement. */
const isOfStart = ({ text }: { readonly text: string }): boolean =>
  /^SELECT.*(?:ORDER BY|_structures)/s.test(text)

describe.each([
  ['of nobody', { collections: { things } }, 0],
  // Session and user by one statement, to know who asks, and each once more as conditions.
  ['of a user who is signed in', { collections: { users, things }, auth: {} }, 3],
])('a batch of 100 creates %s', (_, config, reads) => {
  test('is one transaction of at most five statements in PostgreSQL', async () => {
    const { pool: watched, sent } = watchPool(pool)
    const schema = newSchema()
    const adapter = createPostgresAdapter({ pool: watched, schema })
    await createMany(adapter, config, () => {
      sent.length = 0
    })
    const kinds = sent.filter((one) => !isOfStart(one)).map(({ text }) => /^\w+/.exec(text)?.[0])
    const begin = kinds.indexOf('BEGIN')
    expect(kinds.slice(0, begin)).toEqual(Array(reads).fill('SELECT'))
    const transaction = kinds.slice(begin)
    expect(transaction.length).toBeLessThanOrEqual(5)
    expect(transaction.filter((kind) => kind === 'BEGIN' || kind === 'COMMIT')).toEqual(['BEGIN', 'COMMIT'])
    expect(transaction.at(-1)).toBe('COMMIT')
    expect(await adapter.count('things', everything, {})).toBe(100)
    await pool.query(`DROP SCHEMA ${schema} CASCADE`)
  })

  test('is one write in memory', async () => {
    const inner = createMemoryAdapter()
    let writes = 0
    const adapter: StorageAdapter = {
      ...inner,
      write(...args) {
        writes += 1
        return inner.write(...args)
      },
    }
    await createMany(adapter, config, () => {
      writes = 0
    })
    expect(writes).toBe(1)
    expect(await adapter.count('things', everything, {})).toBe(100)
  })
})
