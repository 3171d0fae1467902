import { createMemoryAdapter } from './adapters/memory/memory-adapter.js'
import { type BuiltInHasher, createBcryptHasher } from './auth/hasher.js'
import { createToken } from './auth/token.js'
import { compileConfig } from './config/compile-config.js'
import { type PlainEdge, RESPOND } from './http/edge.js'
import { fromRequest, toResponse } from './http/fetch-edge.js'
import { createIdentify, type Identify, identifyAs } from './http/identify.js'
import { createRespond, type Respond } from './http/respond.js'
import { createGates, createIdSource, type ServiceContext } from './service/context.js'
import { createLifecycle } from './service/lifecycle.js'
import type { StorageAdapter } from './storage.js'
import type { Caller, Config, Handler, Hasher, Logger, ServiceOptions } from './types.js'

/**
 * Turns a configuration into one handler of web-standard requests (contract §7). Synchronous: it opens nothing and
 * starts nothing; the storage is opened by the first request or by `ready()`. Throws only `ConfigError`.
 *
 * @param config pure JSON, copied
 * @param adapter where documents lie; default: in memory
 */
export function createCollectionService(
  config: Config | { readonly [key: string]: unknown },
  adapter: StorageAdapter = createMemoryAdapter(),
  options: ServiceOptions = {},
): Handler {
  const logger: Logger = { ...defaultLogger, ...options.logger }
  const production = options.production ?? readEnvironment() === 'production'
  const plan = compileConfig(config, { production })
  for (const warning of plan.warnings) logger.warn(warning)

  const keepsAccounts =
    plan.auth !== null && (options.authenticate === undefined || options.accounts === true)
  const now = options.now ?? Date.now
  const hasher: Hasher & Partial<BuiltInHasher> =
    options.hasher ?? createBcryptHasher(plan.auth?.cost ?? DEFAULT_COST)
  const context: ServiceContext = {
    plan,
    adapter,
    hasher,
    logger,
    now,
    createId: createIdSource(now),
    gates: createGates(plan.collections.values()),
    keepsAccounts,
  }
  const life = createLifecycle(context)
  let decoy: Promise<string> | undefined
  const shared = {
    service: options,
    open: life.open,
    // Of a hasher of the host's own, only a hash shows what one costs.
    decoy: () => (decoy ??= Promise.resolve(hasher.decoy ?? hasher.hash(createToken()))),
  }
  const createHandler = (identify: Identify, hasAccountRoutes: boolean): Handler => {
    const answer = createRespond(context, { ...shared, identify, hasAccountRoutes })
    const respond: Respond = (incoming) => life.track(() => answer(incoming))
    const handle = async (request: Request): Promise<Response> =>
      toResponse(await respond(fromRequest(request)), request.method)
    const edge: PlainEdge = { [RESPOND]: respond }
    return Object.assign(handle, edge, {
      ready: async () => life.open(),
      close: life.close,
      as: (caller: Caller | null) => createHandler(identifyAs(caller), false),
    })
  }
  return createHandler(createIdentify(context, options.authenticate), keepsAccounts)
}

const DEFAULT_COST = 12

// biome-ignore-start lint/suspicious/noConsole: the default logger is the console
const defaultLogger: Logger = {
  info() {},
  warn: (message, details) => console.warn(message, ...(details ? [details] : [])),
  error: (message, details) => console.error(message, ...(details ? [details] : [])),
}
// biome-ignore-end lint/suspicious/noConsole: the default logger is the console

/** Not every runtime has `process`. */
const readEnvironment = (): string | undefined =>
  (globalThis as { process?: { env?: { NODE_ENV?: string } } }).process?.env?.NODE_ENV
