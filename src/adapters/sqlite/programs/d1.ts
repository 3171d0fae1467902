import type { StorageAdapter } from '../../../core/storage.js'
import { createD1Driver, type D1Binding } from './d1-driver.js'
import { createProgramAdapter } from './program-adapter.js'

export type { D1Binding } from './d1-driver.js'

/**
 * Creates an adapter that stores documents in a D1 database. Any number of Workers may use the database at the same
 * time. The Worker needs the flag `enable_request_signal`, and a service for each stream of changes.
 *
 * @example
 * ```ts
 * const adapter = createD1Adapter(env.DB)
 * const service = createCollectionService(config, adapter)
 * ```
 */
export const createD1Adapter = (database: D1Binding): StorageAdapter =>
  createProgramAdapter(createD1Driver(database))
