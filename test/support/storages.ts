import { afterEach } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { newSchema, usePostgres } from './postgres.js'
import type { TestService } from './service.js'

/** A kind of storage, and how a new, empty one is made. */
export type Storage = readonly [name: string, create: () => StorageAdapter]

/** Every kind of storage, for the tests of a file. */
export function useStorages(): readonly Storage[] {
  const postgres = usePostgres()
  return [
    ['memory', () => createMemoryAdapter()],
    ['SQLite', () => createSqliteAdapter({ file: ':memory:' })],
    ['PostgreSQL', () => createPostgresAdapter({ connectionString: postgres.url, schema: newSchema() })],
  ]
}

/** Services that are closed when the test that has put them here is over. */
export function closeAfterEach(): TestService[] {
  const opened: TestService[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(({ handler }) => handler.close()))
  })
  return opened
}
