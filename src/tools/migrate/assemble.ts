import { assembleService } from '../../core/create-service.js'
import type { Service } from '../../core/request/call.js'
import type { StorageAdapter } from '../../core/storage.js'
import type { Migrations } from '../../core/types.js'

/** The options of a service that they concern. */
interface AssembleOptions {
  readonly migrations?: Migrations
  readonly now?: () => number
}

/** Assembles a service that answers no requests. */
export function assemble(
  config: unknown,
  adapter: StorageAdapter,
  { migrations, now }: AssembleOptions = {},
): Service {
  let service: Service | undefined
  const options = {
    // Only a service that answers requests needs these: whether they are missing is its business.
    authenticate: () => null,
    accounts: true,
    deliver() {},
    production: false,
    logger: SILENT,
    ...(migrations ? { migrations } : {}),
    ...(now ? { now } : {}),
  }
  assembleService(config, adapter, options, (one) => {
    service = one
    return one
  })
  if (!service) throw new Error('no service was assembled')
  return service
}

const SILENT = { info() {}, warn() {}, error() {} }
