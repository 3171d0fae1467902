import { expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { createMemoryAdapter } from '../../src/index.js'
import { type CreateAdapter, checkLists, checkNonInterference } from '../support/laws.js'
import { newSchema, usePostgres } from '../support/postgres.js'

const postgres = usePostgres()

const storages: readonly (readonly [name: string, create: CreateAdapter, runs: number])[] = [
  ['memory', () => createMemoryAdapter(), 300],
  ['SQLite', () => createSqliteAdapter({ file: ':memory:' }), 60],
  ['PostgreSQL', () => createPostgresAdapter({ connectionString: postgres.url, schema: newSchema() }), 30],
]

test.each(storages)(
  'in %s, stores that differ only in what a caller may not read answer that caller identically',
  async (_, create, runs) => {
    const { different, expanded, hidden } = await checkNonInterference(runs, undefined, create)
    // The pairs must really differ.
    expect(different).toBeGreaterThan(runs / 2)
    expect(Math.min(expanded, hidden)).toBeGreaterThan(0)
  },
  120_000,
)

test.each(storages.slice(1))(
  'in %s, a list is the slice of the sorted, filtered documents that its caller sees',
  async (_, create, runs) => {
    const { some } = await checkLists(runs, undefined, create)
    expect(some).toBeGreaterThan(runs / 3)
  },
  120_000,
)
