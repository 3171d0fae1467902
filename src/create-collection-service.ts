import { createMemoryAdapter } from './adapters/memory/memory-adapter.js'
import { type BuiltInHasher, createBcryptHasher } from './auth/hasher.js'
import { createThrottle } from './auth/throttle.js'
import { createToken } from './auth/token.js'
import { checkOptions } from './config/check-options.js'
import { compileConfig } from './config/compile-config.js'
import type { Answer } from './http/answer.js'
import { type PlainEdge, RESPOND } from './http/edge.js'
import { createFetchHandler } from './http/fetch-edge.js'
import { createIdentify, type Identify, identifyAs } from './http/identify.js'
import { internalProblem } from './http/problem.js'
import { createRespond } from './http/respond.js'
import { createRoutes } from './http/routes/find-route.js'
import { attachSessions } from './service/accounts/sessions.js'
import { compileRules, type Service } from './service/call.js'
import { createClock } from './service/clock.js'
import type { Deadline } from './service/deadline.js'
import { createIdSource } from './service/start/id-source.js'
import { createLifecycle } from './service/start/lifecycle.js'
import { createLogger } from './service/start/logger.js'
import { createStore } from './service/store.js'
import type { StorageAdapter } from './storage.js'
import type { Caller, Config, Handler, Hasher, ServiceOptions } from './types.js'

/**
 * Turns a configuration into one handler of web-standard requests. Synchronous: it opens and starts nothing;
 * the first request or `ready()` opens the storage. Throws only `ConfigError`.
 *
 * @param config pure JSON, copied
 * @param adapter where documents are stored; default: in memory
 *
 * @example
 * ```ts
 * const service = createCollectionService({
 *   collections: {
 *     notes: {
 *       schema: { text: { type: 'string', required: true } },
 *       permissions: { '*': { read: true, create: true } },
 *     },
 *   },
 * })
 * const response = await service(new Request('http://localhost/notes'))
 * ```
 */
export function createCollectionService<const C extends Config | { readonly [key: string]: unknown }>(
  config: C,
  adapter: StorageAdapter = createMemoryAdapter(),
  options: ServiceOptions = {},
): Handler<C> {
  const faults = checkOptions(adapter, options)
  const isReadable = faults.every(({ path }) => path !== 'options')
  const { production = readEnvironment() === 'production', authenticate }: ServiceOptions = isReadable
    ? options
    : {}
  // Options that cannot be read leave open whether the host identifies callers.
  const hasAuthenticate = authenticate !== undefined || !isReadable
  const plan = compileConfig(config, { production, hasAuthenticate, faults })
  const logger = createLogger(options.logger)
  for (const warning of plan.warnings) logger.warn(warning)

  const isHostsAlone = options.authenticate !== undefined && options.accounts !== true
  const accounts = isHostsAlone ? null : plan.auth
  const now = options.now ?? Date.now
  const hasher: Hasher & Partial<BuiltInHasher> =
    options.hasher ?? createBcryptHasher(plan.auth?.cost ?? DEFAULT_COST)
  const service: Service = {
    plan,
    accounts,
    hasher,
    decoy: createDecoy(hasher),
    logger,
    throttle: createThrottle({ now, logger }),
    now,
    clock: createClock(now),
    createId: createIdSource(now),
    ...compileRules(plan),
    attachments: new Map(accounts ? [[accounts.users.name, attachSessions(accounts)]] : []),
  }
  const life = createLifecycle(service, adapter)
  const shared = {
    routes: createRoutes(service),
    host: options,
    basePath: (options.basePath ?? '').replace(/\/+$/, ''),
    open: life.open,
    createStore: (deadline: Deadline) => createStore(adapter, deadline),
    track: life.track,
  }
  const createHandler = (identify: Identify | undefined, hasAccountRoutes: boolean): Handler<C> => {
    const respond = createRespond(service, { ...shared, identify, hasAccountRoutes })
    const fail = (cause: unknown): Answer => {
      const requestId = crypto.randomUUID()
      logger.error('request failed', { requestId, cause })
      return internalProblem(requestId)
    }
    const edge: PlainEdge = { [RESPOND]: respond }
    return Object.assign(createFetchHandler(respond, fail), edge, {
      ready: async () => life.open(),
      close: life.close,
      as: (caller: Caller | null) => createHandler(identifyAs(caller), false),
    })
  }
  return createHandler(createIdentify(service, options.authenticate), accounts !== null)
}

const DEFAULT_COST = 12

/** Creates the source of decoys. A hasher of the host must hash once to show what its hashes look like. */
function createDecoy(hasher: Hasher & Partial<BuiltInHasher>): () => Promise<string> {
  let known: string | undefined = hasher.decoy
  return async () => {
    known ??= await hasher.hash(createToken())
    return known
  }
}

/** Some runtimes have no `process`. */
const readEnvironment = (): string | undefined =>
  (globalThis as { process?: { env?: { NODE_ENV?: string } } }).process?.env?.NODE_ENV
