import { createMemoryAdapter } from '../adapters/memory/memory-adapter.js'
import type { CollectionName, FilledBy } from '../infer/collections.js'
import type { BuiltInHasher } from './accounts/auth/hasher.js'
import { createDefaultHasher } from './accounts/auth/threads.js'
import { createDecoy } from './accounts/login.js'
import { createThrottle } from './accounts/throttle.js'
import { ChangeStreams } from './changes/streams.js'
import { compileConfig } from './config/compile-config.js'
import { findWarnings } from './config/find-warnings.js'
import { checkOptions, findIdle } from './config/options/check-options.js'
import { readFills } from './config/options/fills.js'
import { isSilencing, readSilences } from './config/silences.js'
import { createConsumers } from './consumers/create-consumers.js'
import type { Consumer } from './consumers/types.js'
import { compileWrites } from './documents/write/compile-write.js'
import { withFullRights } from './documents/write/full-rights.js'
import { isCreator } from './documents/write/new-document.js'
import { type Before, createHooks } from './hooks/create-hooks.js'
import { createHookPort } from './hooks/routes/hook-port.js'
import type { CollectionHooks, OptionsFor } from './hooks/types.js'
import type { Hooks } from './hooks/where-hooked.js'
import { type Answer, type PlainEdge, RESPOND } from './http/answer.js'
import { createForwardedWarning } from './http/client-address.js'
import { invalidRequestHeaders } from './http/common-headers.js'
import { createFetchHandler } from './http/fetch-edge.js'
import { CREATOR, createAskHost, createIdentify, identifyAs, identifyAsSystem } from './http/identify.js'
import { createIdentifyRequest } from './http/identify-request.js'
import { internalProblem } from './http/problem.js'
import { createRespond, type RespondOptions } from './http/respond.js'
import { createRoutes } from './http/routes/find-route.js'
import type { DescribeService } from './http/routes/route.js'
import { ROUTES } from './http/routes/table.js'
import { type Expectations, requireOptions } from './options.js'
import { type Call, compileRules, type Service } from './request/call.js'
import { createClock, readClock } from './request/clock.js'
import { AT_START, UNHURRIED } from './request/deadline.js'
import { createLog, createStores, LastWrite } from './request/store.js'
import { createBackground } from './start/background.js'
import { HealthMonitor } from './start/health.js'
import { createIdSource } from './start/id-source.js'
import { createLifecycle, type Lifecycle } from './start/lifecycle.js'
import { createLogger } from './start/logger.js'
import { ProcessWatch } from './start/process-watch.js'
import { createUpkeep } from './start/upkeep.js'
import type { StorageAdapter } from './storage.js'
import { originOf, renameStorage } from './stored/names/renamed-storage.js'
import type { Hasher } from './types/host.js'
import type {
  Caller,
  CollectionService,
  Config,
  Handler,
  JsonObject,
  Migrations,
  ServiceOptions,
  SystemOptions,
} from './types.js'

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
): CollectionService<FilledBy<C, F>> {
  return assembleService(config, adapter, options, AS_IT_IS)
}

const AS_IT_IS = (service: Service): Service => service

/** Options that are not known to be valid. */
type GivenOptions = ServiceOptions & { readonly [own in 'hooks' | 'consumers']?: JsonObject }

/**
 * Creates the handler like `createCollectionService`, except that `adjust` may first change the service, for example
 * so that it explains its decisions.
 */
export function assembleService<C>(
  config: unknown,
  given: StorageAdapter,
  options: GivenOptions,
  adjust: (service: Service) => Service,
): CollectionService<C> {
  const { plan, accounts, logger } = compilePlan(config, given, options)
  const adapter = renameStorage(given, plan.collections)
  const now = options.now ? readClock(options.now) : Date.now
  const clock = createClock(now)
  const hasher: Hasher & Partial<BuiltInHasher> =
    options.hasher ?? createDefaultHasher(plan.auth?.cost ?? DEFAULT_COST)
  const lastWrite = new LastWrite()
  const createStore = createStores(adapter, lastWrite)
  const store = createStore(UNHURRIED)
  const { deliver, page } = options
  const background = createBackground({
    logger,
    tell: options.background,
    track: () => life.track(),
    createStore,
    seconds: plan.limits.requestSeconds,
  })
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
    page,
    now,
    clock,
    createId: createIdSource(now),
    ...compileRules(plan, logger),
    writes: compileWrites({ plan, accounts }),
  })
  const createRecordStore = createStores(originOf(adapter))
  const watch = new ProcessWatch({
    plan,
    now,
    logger,
    pid: ofNode()?.pid ?? null,
    store: () => createRecordStore(AT_START),
  })
  const log = createLog(adapter, () => watch.enter())
  const consumers = readConsumers(options.consumers ?? {})
  const life = createLifecycle(plain, adapter, {
    watch,
    worker: consumers.size > 0 ? createConsumers(plain, consumers, { log, store }) : undefined,
    migrate: options.migrate ? createMigrate(plain, adapter, options.migrations) : undefined,
  })
  const upkeep = accounts
    ? createUpkeep({ background, now, clock, hasDeliveries: deliver !== undefined })
    : undefined
  const monitor = new HealthMonitor({ service: plain, life, createStore, lastWrite })
  const { health = true } = options
  const createMount = (service: Service): ServiceMount => {
    const describe = createDescribeLate(service, options)
    return {
      streams: plan.log ? new ChangeStreams(service, log, store) : undefined,
      describe,
      routes: createRoutes(ROUTES, service, {
        isDescribed: describe !== undefined,
        hasHealth: health !== false,
      }),
    }
  }
  const common = {
    ...createMount(plain),
    health: health === false ? undefined : { check: monitor.check, isDetailed: health === 'detailed' },
    host: options,
    basePath: withoutSlash(options.basePath ?? ''),
    publicPath: options.publicPath === undefined ? undefined : withoutSlash(options.publicPath),
    forwardedWarning: createForwardedWarning(options, logger),
    open: life.open,
    onAnswer:
      upkeep &&
      (() => {
        if (life.isOpen()) upkeep()
      }),
    createStore,
    observe: options.observe,
    track: life.track,
    trackAnswer: life.trackAnswer,
  }
  return createHandlers(plain, common, { life, monitor, createMount })
}

/** Returns a function that migrates the stored documents. Its code is loaded when it is needed. */
const createMigrate =
  (service: Service, adapter: StorageAdapter, migrations: Migrations = {}) =>
  async (): Promise<void> => {
    const { migrateStorage } = await import('./migrate/migrate-storage.js')
    const steps = await migrateStorage(originOf(adapter), {
      service,
      migrations,
      isDry: false,
      isErasing: false,
      signal: new AbortController().signal,
      onProgress() {},
      onFailed: ({ name, id, reason }) =>
        service.logger.warn(`migrate: ${name} could not change ${id}: ${reason}`, {
          code: 'migration_failed',
        }),
    })
    for (const { name, done, failed } of steps)
      service.logger.info(`migrate: ${name} changed ${done} documents, and could not change ${failed}`)
  }

/** Compiles a configuration, and logs its warnings. Throws `ConfigError`, also for invalid options. */
function compilePlan(config: unknown, adapter: StorageAdapter, options: GivenOptions): Compiled {
  const faults = checkOptions(adapter, options, config)
  const isReadable = faults.every(({ path }) => path !== 'options')
  const {
    production = readEnvironment() === 'production',
    authenticate,
    deliver,
  }: ServiceOptions = isReadable ? options : {}
  // If the options cannot be read, the host may still identify callers. Assuming that it does avoids wrong errors.
  const facts = { production, hasAuthenticate: authenticate !== undefined || !isReadable }
  const plan = compileConfig(config, {
    ...facts,
    ...(faults.length === 0 ? { reach: reachOf(options) } : {}),
    hasDeliver: deliver !== undefined || !isReadable,
    hasLog: typeof adapter?.changes === 'function',
    maxDocumentBytes: adapter?.maxDocumentBytes,
    ...(isReadable ? { fills: readFills(options.hooks) } : {}),
    faults,
  })
  const logger = createLogger(options.logger)
  const silences = readSilences(config)
  for (const { code, path, message } of findWarnings({ ...facts, plan }))
    if (!silences.some((silence) => isSilencing(silence, code, path))) logger.warn(`${path}: ${message}`)
  const isHostsAlone = options.authenticate !== undefined && options.accounts !== true
  const accounts = isHostsAlone ? null : plan.auth
  for (const { path, message } of findIdle(options, accounts !== null)) logger.warn(`${path}: ${message}`)
  return { plan, accounts, logger }
}

/** Returns the path and the origins under which clients reach a service with valid options. */
const reachOf = ({ basePath = '', publicPath = basePath, cors }: ServiceOptions) => ({
  path: withoutSlash(publicPath),
  origins: cors?.origins ?? [],
})

type Compiled = Pick<Service, 'plan' | 'accounts' | 'logger'>

/** The parts of a handler that depend on the permissions of its service. */
type ServiceMount = Pick<RespondOptions, 'streams' | 'describe' | 'routes'>

/** How a handler identifies callers. */
type Identification = Pick<RespondOptions, 'identify' | 'askHost' | 'hasAccountRoutes'>

/** The parts of a service that all its handlers share. */
interface SharedParts {
  readonly life: Lifecycle
  readonly monitor: HealthMonitor
  readonly createMount: (service: Service) => ServiceMount
}

/** Creates the handlers of a service: the one that identifies callers, and those that `as` and `system` return. */
function createHandlers<C>(
  plain: Service,
  common: Omit<RespondOptions, keyof Identification> & { readonly host: GivenOptions },
  { life, monitor, createMount }: SharedParts,
): CollectionService<C> {
  const { host, basePath } = common
  const fail = (cause: unknown): Answer => {
    const requestId = crypto.randomUUID()
    plain.logger.error('request failed', { requestId, cause })
    return internalProblem(requestId, invalidRequestHeaders(plain, host))
  }
  let full: (ServiceMount & { readonly service: Service }) | undefined
  /** Returns the service with full rights. It is compiled when it is first needed: many hosts never need it. */
  const openFull = (): NonNullable<typeof full> => {
    if (full) return full
    const right = withFullRights(service)
    full = { service: right, ...createMount(right) }
    return full
  }
  const hooks = readHooks(host.hooks ?? {})
  const service: Service =
    hooks.size > 0
      ? addHooks(plain, createHooks(plain, hooks, createHookPort(plain, common, openFull, fail)))
      : plain
  const createHandler = (of: Service, options: Identification & Partial<ServiceMount>): Handler<C> => {
    const respond = createRespond(of, { ...common, ...options })
    const edge: PlainEdge = { [RESPOND]: respond }
    return Object.assign(createFetchHandler(respond, fail), edge, {
      basePath,
      ready: async () => life.open(),
      close: () => {
        for (const { streams } of [common, ...(full ? [full] : [])]) streams?.close()
        return life.close()
      },
      drain: monitor.drain,
      health: monitor.check,
      as: (caller: Caller | null) =>
        createHandler(service, { ...WITHOUT_ACCOUNTS, identify: identifyAs(caller) }),
    })
  }
  const askHost = createAskHost(host.authenticate)
  const handler = createHandler(service, {
    identify: createIdentify(service, askHost),
    askHost,
    hasAccountRoutes: service.accounts !== null,
  })
  return Object.assign(handler, {
    identify: createIdentifyRequest(service, { ...common, authenticate: host.authenticate }),
    system: (options: SystemOptions = {}) => {
      requireOptions(options, SYSTEM_OPTIONS)
      const { service: right, ...mount } = openFull()
      return createHandler(right, { ...mount, ...WITHOUT_ACCOUNTS, identify: identifyAsSystem(options.as) })
    },
  })
}

/** The parts of a handler for one caller, whom the host names. */
const WITHOUT_ACCOUNTS = { askHost: undefined, hasAccountRoutes: false } as const

const SYSTEM_OPTIONS: Expectations = { as: [isCreator, CREATOR] }

/** Returns a service with hooks, which its writes run. */
const addHooks = (service: Service, hooks: Hooks<Call>): Service => ({
  ...service,
  hooks,
  writes: compileWrites({ ...service, hooks }),
})

const withoutSlash = (path: string): string => path.replace(/\/+$/, '')

const DEFAULT_COST = 12

/**
 * Returns a function that describes the service; `undefined` if the host wants no description. The first request for it
 * loads its code. If that fails, all waiting requests fail with the same error, and the next request tries again.
 */
function createDescribeLate(service: Service, options: GivenOptions): DescribeService | undefined {
  const { plan, accounts, deliver, page } = service
  // The admin UI reads the OpenAPI description, so `page` implies `openapi`.
  if (options.openapi !== true && page === undefined) return undefined
  let describe: DescribeService | undefined
  let loading: Promise<DescribeService> | undefined
  const load = async (): Promise<DescribeService> => {
    const { createDescribe } = await import('../tools/openapi/create-describe.js')
    const hasHost = options.authenticate !== undefined
    return createDescribe({ plan, accounts, deliver, page, hasHost, hasHooks: options.hooks !== undefined })
  }
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

/** The part of Node's `process` that is read, which some runtimes lack. */
const ofNode = (): { readonly env?: { readonly NODE_ENV?: string }; readonly pid?: number } | undefined =>
  (globalThis as { process?: ReturnType<typeof ofNode> }).process

const readEnvironment = (): string | undefined => ofNode()?.env?.NODE_ENV
