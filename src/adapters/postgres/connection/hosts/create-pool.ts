import type { PoolSource } from '../pool.js'
import { createHosts } from './hosts.js'
import { importPg } from './pg.js'
import { splitHosts } from './split-hosts.js'

/** Creates the adapter's own pool. Rejects with installation advice if `pg` is missing. */
export const createPool = async (connectionString: string): Promise<PoolSource> =>
  createHosts(splitHosts(connectionString), await importPg())
