import type { ExistingDocuments } from '../sql/engine.js'
import { createPool } from './connection/hosts.js'
import { Connections } from './connection/lease.js'
import { explained, isUndefined } from './faults.js'
import { LAYOUT, readLayout } from './layout.js'
import { createPostgresEngine, DEFAULT_SCHEMA } from './postgres-engine.js'
import { createReads } from './read/reads.js'
import { openSnapshot } from './read/snapshot.js'
import { readLeft } from './structures/create-missing.js'

/**
 * Connects to PostgreSQL only to read documents, and creates nothing. If PostgreSQL does not answer, rejects with the
 * same error as the adapter.
 */
export async function readExistingDatabase(
  connectionString: string,
  schema: string = DEFAULT_SCHEMA,
): Promise<ExistingDocuments> {
  let layout = LAYOUT
  const engine = createPostgresEngine(schema, undefined, () => layout)
  const connections = new Connections(await createPool(connectionString))
  const { list } = createReads({
    engine,
    use: connections.use,
    isOpen: () => true,
    isFullOfLong: () => connections.isFullOfLong(),
    indexesOf: () => [],
  })
  const settle = async (collections: readonly string[]): Promise<void> => {
    const reading = connections.use(({ run }) => readLayout(run, schema, collections), {})
    layout = (await explained(reading)).layout
  }
  return {
    async list(collection, query) {
      try {
        await settle([collection])
        return await list(collection, query)
      } catch (thrown) {
        if (isUndefined(thrown)) return []
        throw thrown
      }
    },
    async snapshot() {
      await settle([])
      return openSnapshot(engine, connections.use)
    },
    async leftUnique(plans) {
      await settle(plans.map(({ name }) => name))
      return readLeft(connections.use, { schema, engine }, plans)
    },
    close: () => connections.close(),
  }
}
