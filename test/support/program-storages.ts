import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createD1Adapter } from '../../src/adapters/sqlite/programs/d1.js'
import { createDurableObjectAdapter } from '../../src/adapters/sqlite/programs/durable-object.js'
import type { StorageAdapter } from '../../src/index.js'
import { type Closable, createD1Database, createObjectStorage } from './program-databases.js'
import type { Storage } from './storages.js'

/** Creates an adapter that also closes its database. */
export const closing = <T>(
  database: Closable<T>,
  create: (database: T) => StorageAdapter,
): StorageAdapter => {
  const adapter = create(database)
  return {
    ...adapter,
    async close() {
      await adapter.close()
      database.close()
    },
  }
}

/** The path of a database that does not exist yet. */
export const newFile = (): string =>
  join(mkdtempSync(join(tmpdir(), 'collection-service-programs-')), 'data.db')

/** The worlds of random tests are small, but set a higher limit. */
const withoutLimit = ({ maxDocumentBytes: _, ...adapter }: StorageAdapter): StorageAdapter => adapter

/** The storages of Cloudflare, as Node imitates them, and how a new, empty one is made. */
export const PROGRAM_STORAGES: readonly Storage[] = [
  [
    'a Durable Object',
    () => withoutLimit(closing(createObjectStorage(newFile()), createDurableObjectAdapter)),
  ],
  ['D1', () => withoutLimit(closing(createD1Database(newFile()), createD1Adapter))],
]
