import type { ExistingDocuments } from '../sql/engine.js'
import { createPool } from './connection/hosts.js'
import { Connections } from './connection/lease.js'
import { isUndefined } from './faults.js'
import { createPostgresEngine, DEFAULT_SCHEMA } from './postgres-engine.js'
import { createReads } from './read/reads.js'

/**
 * Connects to PostgreSQL only to read documents, and creates nothing. If PostgreSQL does not answer, rejects with the
 * same error as the adapter.
 */
export async function readExistingDatabase(
  connectionString: string,
  schema: string = DEFAULT_SCHEMA,
): Promise<ExistingDocuments> {
  const engine = createPostgresEngine(schema)
  const connections = new Connections(await createPool(connectionString))
  const { list } = createReads({
    engine,
    use: connections.use,
    isOpen: () => true,
    isFullOfLong: () => connections.isFullOfLong(),
    indexesOf: () => [],
  })
  return {
    async list(collection, query) {
      try {
        return await list(collection, query)
      } catch (thrown) {
        if (isUndefined(thrown)) return []
        throw thrown
      }
    },
    close: () => connections.close(),
  }
}
