import { createMemoryAdapter } from '../adapters/memory/memory-adapter.js'
import type { CollectionName, FilledBy } from '../infer/collections.js'
import { createDefaultHasher } from './accounts/auth/default-hasher.js'
import type { BuiltInHasher } from './accounts/auth/hasher.js'
import { createToken } from './accounts/auth/token.js'
import { attachSessions } from './accounts/sessions.js'
import { createThrottle } from './accounts/throttle/throttle.js'
import { createChangeStreams } from './changes/streams.js'
import { compileConfig } from './config/compile-config.js'
import { checkOptions, findIdle } from './config/options/check-options.js'
import { readFills } from './config/options/fills.js'
import { isSilencing, readSilences } from './config/silences.js'
import { createConsumers } from './consumers/create-consumers.js'
import type { Consumer } from './consumers/types.js'
import { compileWrites } from './documents/write/compile-write.js'
import { type Before, createHooks } from './hooks/create-hooks.js'
import { createHookPort } from './hooks/routes/hook-port.js'
import type { CollectionHooks, OptionsFor } from './hooks/types.js'
import type { Hooks } from './hooks/where-hooked.js'
import type { Answer } from './http/answer.js'
import { runWithDeadline } from './http/deadline.js'
import { type PlainEdge, RESPOND } from './http/edge.js'
import { createFetchHandler } from './http/fetch-edge.js'
import { createAskHost, createIdentify, identifyAs } from './http/identify.js'
import { internalProblem } from './http/problem.js'
import { createRespond, type RespondOptions } from './http/respond.js'
import type { DescribeService } from './http/routes/create-exchange.js'
import { createRoutes } from './http/routes/find-route.js'
import { type Call, compileRules, type Service } from './request/call.js'
import { createClock, readClock } from './request/clock.js'
import { type Deadline, UNHURRIED } from './request/deadline.js'
import { observeStorage } from './request/observe/observed-storage.js'
import type { StorageCalls } from './request/observe/storage-calls.js'
import { Turns } from './request/store/turns.js'
import { createLog, createStore } from './request/store.js'
import { createBackground } from './start/background.js'
import { createIdSource } from './start/id-source.js'
import { createLifecycle } from './start/lifecycle.js'
import { createLogger } from './start/logger.js'
import { createUpkeep } from './start/upkeep.js'
import type { StorageAdapter } from './storage.js'
import type { Hasher } from './types/host.js'
import type { Caller, Config, Handler, JsonObject, ServiceOptions } from './types.js'

/**
 * Turns a configuration into one function that handles web-standard requests. It is synchronous and opens nothing: the
 * first request, or `ready()`, opens the storage. Throws only `ConfigError`.
 *
 * @param config pure JSON; it is copied
 * @param adapter stores the documents; default: in memory
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
export function createCollectionService<
  const C extends Config | { readonly [key: string]: unknown },
  K extends { readonly [name: string]: CollectionName<C> } = { readonly [name: string]: CollectionName<C> },
  F = { readonly [N in CollectionName<C>]: never },
>(
  config: C,
  adapter: StorageAdapter = createMemoryAdapter(),
  options: OptionsFor<NoInfer<C>, K, F> = {},
): Handler<FilledBy<C, F>> {
  return assembleService(config, adapter, options, AS_IT_IS)
}

const ignore = (): void => {}

const AS_IT_IS = (service: Service): Service => service

/**
 * Creates the handler like `createCollectionService`, except that `adjust` may first change the service, for example
 * so that it explains its decisions.
 */
export function assembleService<C>(
  config: unknown,
  adapter: StorageAdapter,
  options: ServiceOptions & { readonly [own in 'hooks' | 'consumers']?: JsonObject },
  adjust: (service: Service) => Service,
): Handler<C> {
  const faults = checkOptions(adapter, options, config)
  const isReadable = faults.every(({ path }) => path !== 'options')
  const {
    production = readEnvironment() === 'production',
    authenticate,
    deliver,
  }: ServiceOptions = isReadable ? options : {}
  // If the options cannot be read, the host may still identify callers. Assuming that it does avoids wrong errors.
  const hasAuthenticate = authenticate !== undefined || !isReadable
  const plan = compileConfig(config, {
    production,
    hasAuthenticate,
    hasDeliver: deliver !== undefined || !isReadable,
    hasLog: typeof adapter?.changes === 'function',
    ...(isReadable ? { fills: readFills(options.hooks) } : {}),
    faults,
  })
  const logger = createLogger(options.logger)
  const silences = readSilences(config)
  for (const { code, path, message } of plan.warnings)
    if (!silences.some((silence) => isSilencing(silence, code, path))) logger.warn(`${path}: ${message}`)

  const isHostsAlone = options.authenticate !== undefined && options.accounts !== true
  const accounts = isHostsAlone ? null : plan.auth
  for (const { path, message } of findIdle(options, accounts !== null)) logger.warn(`${path}: ${message}`)
  const now = options.now ? readClock(options.now) : Date.now
  const hasher: Hasher & Partial<BuiltInHasher> =
    options.hasher ?? createDefaultHasher(plan.auth?.cost ?? DEFAULT_COST)
  const turns = new Turns()
  // Background work has no client that could disconnect.
  const unwatched = () => ({
    seconds: plan.limits.requestSeconds,
    onGone: () => ignore,
    onSettled() {},
    discard() {},
  })
  const store = createStore(adapter, UNHURRIED, turns)
  const background = createBackground({
    logger,
    tell: options.background,
    track: () => life.track(),
    run: async (work) =>
      runWithDeadline(
        (deadline) => work({ deadline, store: createStore(adapter, deadline, turns) }),
        unwatched,
      ),
  })
  const clock = createClock(now)
  const attachments: Service['attachments'] = new Map(
    accounts
      ? [[accounts.users.name, attachSessions(accounts, { beside: store, background, clock, deliver })]]
      : [],
  )
  const plain = adjust({
    plan,
    accounts,
    hasher,
    decoy: createDecoy(hasher),
    logger,
    throttle: createThrottle({ now, logger }),
    background,
    beside: store,
    deliver,
    page: options.page,
    now,
    clock,
    createId: createIdSource(now),
    ...compileRules(plan, logger),
    attachments,
    writes: compileWrites({ plan, attachments }),
  })
  const log = createLog(adapter)
  const upkeep = accounts
    ? createUpkeep({ background, now, clock, hasDeliveries: deliver !== undefined })
    : undefined
  const consumers = readConsumers(options.consumers ?? {})
  const life = createLifecycle(
    plain,
    adapter,
    consumers.size > 0 ? createConsumers(plain, consumers, { log, store }) : undefined,
  )
  const streams = plan.log ? createChangeStreams(plain, log, store) : undefined
  // The admin UI reads the OpenAPI description, so `page` implies `openapi`.
  const isDescribed = options.openapi === true || options.page !== undefined
  const describe = isDescribed
    ? describeOnceLoaded(async () => {
        const { createDescribe } = await import('../tools/openapi/create-describe.js')
        return createDescribe({
          plan,
          accounts,
          deliver,
          page: options.page,
          hasHost: options.authenticate !== undefined,
          hasHooks: options.hooks !== undefined,
        })
      })
    : undefined
  const shared = {
    streams,
    describe,
    routes: createRoutes(plain, { isDescribed }),
    host: options,
    basePath: (options.basePath ?? '').replace(/\/+$/, ''),
    open: life.open,
    onAnswer: () => {
      if (life.isOpen()) upkeep?.()
    },
    createStore: (deadline: Deadline, calls?: StorageCalls) =>
      createStore(calls ? observeStorage(adapter, calls) : adapter, deadline, turns),
    observe: options.observe,
    track: life.track,
    trackAnswer: life.trackAnswer,
  }
  const fail = (cause: unknown): Answer => {
    const requestId = crypto.randomUUID()
    logger.error('request failed', { requestId, cause })
    return internalProblem(requestId)
  }
  const hooks = readHooks(options.hooks ?? {})
  const service =
    hooks.size > 0 ? addHooks(plain, createHooks(plain, hooks, createHookPort(shared, fail))) : plain
  const createHandler = (
    identity: Pick<RespondOptions, 'identify' | 'askHost' | 'hasAccountRoutes'>,
  ): Handler<C> => {
    const respond = createRespond(service, { ...shared, ...identity })
    const edge: PlainEdge = { [RESPOND]: respond }
    return Object.assign(createFetchHandler(respond, fail), edge, {
      basePath: shared.basePath,
      ready: async () => life.open(),
      close: () => {
        streams?.close()
        return life.close()
      },
      as: (caller: Caller | null) =>
        createHandler({ identify: identifyAs(caller), askHost: undefined, hasAccountRoutes: false }),
    })
  }
  return createHandler({
    identify: createIdentify(service, options.authenticate),
    askHost: createAskHost(options.authenticate),
    hasAccountRoutes: accounts !== null,
  })
}

/** Returns a service with hooks, which its writes run. */
const addHooks = (service: Service, hooks: Hooks<Call>): Service => ({
  ...service,
  hooks,
  writes: compileWrites({ ...service, hooks }),
})

const DEFAULT_COST = 12

/**
 * Returns a function that describes the service. `load` loads its code at the first request for the description. If
 * `load` fails, all waiting requests fail with the same error, and the next request tries again.
 */
function describeOnceLoaded(load: () => Promise<DescribeService>): DescribeService {
  let describe: DescribeService | undefined
  let loading: Promise<DescribeService> | undefined
  const loadFirst: DescribeService = async (call, found) => {
    call.deadline.enter('describe')
    loading ??= load()
    try {
      describe = await loading
    } finally {
      loading = undefined
    }
    return describe(call, found)
  }
  return (call, found) => (describe ?? loadFirst)(call, found)
}

/** Returns the host's hooks by collection. They were validated before. */
function readHooks(hooks: { readonly [collection: string]: unknown }): ReadonlyMap<string, Before> {
  const entries = Object.entries(hooks as { readonly [collection: string]: CollectionHooks | undefined })
  return new Map(
    entries.flatMap(([name, hook]): [string, Before][] => (hook ? [[name, hook.before.bind(hook)]] : [])),
  )
}

/** Returns the host's consumers by name. They were validated before. */
function readConsumers(consumers: { readonly [name: string]: unknown }): ReadonlyMap<string, Consumer> {
  const entries = Object.entries(consumers as { readonly [name: string]: Consumer | undefined })
  return new Map(
    entries.flatMap(([name, consumer]): [string, Consumer][] =>
      consumer ? [[name, { ...consumer, handle: consumer.handle.bind(consumer) }]] : [],
    ),
  )
}

/**
 * Returns a function that resolves to a decoy: a hash against which the secret of an unknown account is verified, so
 * that its login takes as long as any other. The built-in hasher provides a decoy. A host's hasher hashes a random
 * token once.
 */
function createDecoy(hasher: Hasher & Partial<BuiltInHasher>): () => Promise<string> {
  let known: string | undefined = hasher.decoy
  return async () => {
    known ??= await hasher.hash(createToken())
    return known
  }
}

/** Reads `NODE_ENV`. Some runtimes have no `process`. */
const readEnvironment = (): string | undefined =>
  (globalThis as { process?: { env?: { NODE_ENV?: string } } }).process?.env?.NODE_ENV
