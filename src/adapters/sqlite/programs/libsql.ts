import type { StorageAdapter } from '../../../core/storage.js'
import { explainRead } from './faults.js'
import { createLibsqlDriver, type LibsqlClient } from './libsql-driver.js'
import { createProgramAdapter } from './program-adapter.js'

export type { LibsqlClient } from './libsql-driver.js'

/**
 * Creates an adapter that stores documents in a libSQL database: a file, or one of a server such as sqld or Turso Cloud,
 * which any number of processes may use. Only one process at a time uses a file. The adapter never closes the client.
 *
 * @example
 * ```ts
 * const adapter = createLibsqlAdapter(createClient({ url: 'libsql://app.example.com', authToken }))
 * const service = createCollectionService(config, adapter)
 * ```
 */
export function createLibsqlAdapter(client: LibsqlClient): StorageAdapter {
  const adapter = createProgramAdapter(createLibsqlDriver(client))
  if (client.protocol !== 'file') return adapter
  return {
    ...adapter,
    async open(plans) {
      await useLog(client)
      await adapter.open(plans)
    },
  }
}

/**
 * Makes the file keep a write-ahead log, with which each commit is durable after one sync. All connections of the client
 * find this in the file; other settings would be those of one connection.
 */
async function useLog(client: LibsqlClient): Promise<void> {
  try {
    await client.execute('PRAGMA journal_mode = WAL')
  } catch (thrown) {
    throw explainRead(thrown)
  }
}
