import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { useEmptiedPostgres } from './emptied-postgres.js'
import { newSchema, usePostgres } from './postgres.js'
import { PROGRAM_STORAGES } from './program-storages.js'
import type { TestService } from './service.js'

/** A kind of storage, and how a new, empty one is made. */
export type Storage = readonly [name: string, create: () => StorageAdapter]

/** Every kind of storage, for the tests of a file. */
export function useStorages(): readonly Storage[] {
  const createPostgres = useEmptiedPostgres()
  return [
    ['memory', () => createMemoryAdapter()],
    ['SQLite', () => createSqliteAdapter({ file: ':memory:' })],
    ['PostgreSQL', createPostgres],
  ]
}

/** Every kind of storage, also those of Workers, as Node imitates them. */
export const useAllStorages = (): readonly Storage[] => [...useStorages(), ...PROGRAM_STORAGES]

/** A kind of storage, and how one is made that can be opened again and again, each time by a new adapter or by its own. */
export type LastingStorage = readonly [name: string, create: () => () => StorageAdapter]

/** Every kind of storage, for tests of what one start leaves to the next. */
export function useLastingStorages(): readonly LastingStorage[] {
  const postgres = usePostgres()
  return [
    [
      'memory',
      () => {
        const adapter = createMemoryAdapter()
        return () => adapter
      },
    ],
    [
      'SQLite',
      () => {
        const file = join(mkdtempSync(join(tmpdir(), 'collection-service-lasting-')), 'data.db')
        return () => createSqliteAdapter({ file })
      },
    ],
    [
      'PostgreSQL',
      () => {
        const schema = newSchema()
        return () => createPostgresAdapter({ connectionString: postgres.url, schema })
      },
    ],
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
