import type { ConfigFault } from '../../errors.js'
import { findTwins } from '../../fields/names.js'
import { COLLECTION_NAME, RESERVED_COLLECTION_NAMES, suggest } from '../../fields/schema/names.js'
import { isObject, isPlainObject } from '../../json/own-properties.js'
import { BOOLEAN, type Expectation, type Expectations, judgeOptions } from '../../options.js'
import type { ServiceOptions } from '../../types.js'
import { isListOfNames } from './fills.js'
import { judgeCode } from './judge-migrations.js'
import { isOrigin } from './origin.js'

const isName = new RegExp(COLLECTION_NAME)

/** The members of a consumer. All are required. */
const MEMBERS: readonly string[] = ['collections', 'handle']

/** Returns the faults of consumers. Their collections must exist in `config` and have `changes`. */
function judgeConsumers(options: unknown, config: unknown): readonly ConfigFault[] {
  const consumers = isObject(options) ? options.consumers : undefined
  if (!isObject(consumers)) return []
  const collections = isObject(config) && isObject(config.collections) ? config.collections : {}
  const named = Object.keys(consumers).filter((name) => consumers[name] !== undefined)
  const twins = findTwins(named, RESERVED_COLLECTION_NAMES)
  return Object.entries(consumers).flatMap(([name, consumer]): readonly ConfigFault[] => {
    const path = `options.consumers.${name}`
    const fault = describeName(name) ?? twins.get(name)
    const unnamed = fault === undefined ? [] : [{ path, message: fault }]
    return consumer === undefined ? unnamed : [...unnamed, ...judgeConsumer(path, consumer, collections)]
  })
}

/**
 * Returns the fault of a consumer's name. A name must be short, because it is stored with the consumer's
 * position.
 */
function describeName(name: string): string | undefined {
  if (!isName.test(name))
    return 'must have a name that begins with a letter and consists of at most 63 letters, digits, _ and -'
  return RESERVED_COLLECTION_NAMES.includes(name) ? 'is a reserved name' : undefined
}

function judgeConsumer(
  path: string,
  consumer: unknown,
  configured: { readonly [name: string]: unknown },
): readonly ConfigFault[] {
  if (!isObject(consumer)) return [{ path, message: 'must be an object { collections, handle }' }]
  const { collections, handle } = consumer
  const unknown = Object.keys(consumer).filter((name) => !MEMBERS.includes(name))
  return [
    ...unknown.map((name) => ({
      path: `${path}.${name}`,
      message: `is unknown${suggest(name, MEMBERS) || ';'} allowed: ${MEMBERS.join(', ')}`,
    })),
    ...(typeof handle === 'function'
      ? []
      : [{ path: `${path}.handle`, message: 'must be a function that takes a change' }]),
    ...(Array.isArray(collections) && collections.length > 0
      ? collections.flatMap((name: unknown, i) =>
          judgeCollection(`${path}.collections[${i}]`, name, configured).concat(
            collections.indexOf(name) < i
              ? [{ path: `${path}.collections[${i}]`, message: `${JSON.stringify(name)} is listed twice` }]
              : [],
          ),
        )
      : [
          {
            path: `${path}.collections`,
            message: 'must be an array with the name of at least one collection',
          },
        ]),
  ]
}

/** Returns the faults of one collection that a consumer names. */
function judgeCollection(
  path: string,
  name: unknown,
  configured: { readonly [name: string]: unknown },
): ConfigFault[] {
  const names = Object.keys(configured).filter((known) => known !== COMMENT)
  if (typeof name !== 'string') return [{ path, message: 'must be the name of a collection' }]
  if (!names.includes(name))
    return [
      {
        path,
        message: `${JSON.stringify(name)} is not a collection${suggest(name, names) || ';'} allowed: ${names.join(', ')}`,
      },
    ]
  const collection = configured[name]
  return isObject(collection) && collection.changes === true
    ? []
    : [{ path, message: `${JSON.stringify(name)} has no "changes": true, so its changes are not logged` }]
}

/** Returns the faults of the code of migrations, which must be in the list of `config`. */
function judgeMigrations(options: unknown, config: unknown): readonly ConfigFault[] {
  const migrations = isObject(options) ? options.migrations : undefined
  const listed = isObject(config) && Array.isArray(config.migrations) ? config.migrations.map(String) : []
  return isPlainObject(migrations) ? judgeCode(migrations, listed) : []
}

const COMMENT = '$comment'

const isFunction = (value: unknown): boolean => typeof value === 'function'
const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  typeof value === 'object' && value !== null && names.every((name) => isFunction((value as never)[name]))

const isLogger = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ['info', 'warn', 'error'].every((name) => ['function', 'undefined'].includes(typeof (value as never)[name]))

const isPage = (value: unknown): boolean =>
  isObject(value) && ['html', 'policy', 'etag'].every((name) => typeof value[name] === 'string')

/** The expected form of `basePath`, the path before all routes. */
export const BASE_PATH: Expectation = [
  (value) => typeof value === 'string' && /^(?:\/(?!\.\.?(?:\/|$))[\w.~%!$&'()*+,;=:@-]+)*\/*$/.test(value),
  'a path like "/api"',
]

/** The expected form of `hooks`: hooks by the name of their collection. */
export const HOOKS: Expectation = [
  isPlainObject,
  'a plain object that contains hooks by the name of their collection',
]

/** Matches the name of a header (RFC 9110 §5.1) except `*`, which would not mean a single name. */
const HEADER_NAME = /^[\w!#$%&'+.^`|~-]+$/
const isHeaderName = (value: unknown): boolean => typeof value === 'string' && HEADER_NAME.test(value)

// The spread turns holes into `undefined`, because `every` skips holes.
const isListOf = (value: unknown, isValid: (value: unknown) => boolean): boolean =>
  Array.isArray(value) && [...value].every(isValid)

/** The members of `cors`. */
const CORS: Expectations = {
  origins: [(value) => value === '*' || isListOf(value, isOrigin), '"*", or an array of origins'],
  headers: [(value) => isListOf(value, isHeaderName), 'an array of header names'],
}

/** The expected value of each option of `createCollectionService` (CONTRACT.md §7). */
const OPTIONS: Expectations = {
  authenticate: [isFunction, 'a function that takes a request'],
  accounts: BOOLEAN,
  basePath: BASE_PATH,
  publicPath: BASE_PATH,
  cors: [
    (value) => isPlainObject(value) && value.origins !== undefined && judgeOptions(value, CORS).length === 0,
    '{ origins, headers }: origins are "*", or an array of origins like "https://example.com"; headers (optional) is an array of request header names like "X-Request-Id"',
  ],
  clientAddress: [isFunction, 'a function that takes a request'],
  hasher: [(value) => hasMethods(value, ['hash', 'verify']), 'an object with hash and verify'],
  logger: [isLogger, 'an object with info, warn and error'],
  production: BOOLEAN,
  now: [isFunction, 'a function that returns milliseconds'],
  openapi: BOOLEAN,
  deliver: [isFunction, 'a function that takes a delivery'],
  background: [isFunction, 'a function that takes a promise'],
  observe: [isFunction, 'a function that takes an event'],
  hooks: HOOKS,
  page: [isPage, 'the result of createPage from collection-service/page'],
  health: [(value) => typeof value === 'boolean' || value === 'detailed', 'true, false or "detailed"'],
  consumers: [isPlainObject, 'a plain object that contains consumers by their name'],
  migrations: [isPlainObject, 'a plain object that contains migrations by their name'],
  migrate: BOOLEAN,
}

const ADAPTER_METHODS = ['open', 'list', 'count', 'write', 'close']

/**
 * Returns the faults of the adapter and of the options: missing methods of the adapter, unknown options,
 * values of a wrong type, and names of collections that `config` does not contain.
 */
export function checkOptions(adapter: unknown, options: unknown, config: unknown): readonly ConfigFault[] {
  try {
    return [
      ...judgeAdapter(adapter),
      ...judgeOptions(options, OPTIONS, 'options'),
      ...judgeHooks(options, config),
      ...judgeConsumers(options, config),
      ...judgeMigrations(options, config),
    ]
  } catch {
    // A getter or a proxy may throw.
    return [{ path: 'options', message: 'cannot be read' }]
  }
}

/** Returns the options that have no effect, with the reason. They are not faults. */
export function findIdle(options: ServiceOptions, hasAccounts: boolean): readonly ConfigFault[] {
  const { accounts, deliver } = options
  return [
    ...(accounts === false && hasAccounts
      ? [
          {
            path: 'options.accounts',
            message: 'has no effect: without authenticate the service keeps accounts',
          },
        ]
      : []),
    ...(accounts === true && !hasAccounts
      ? [{ path: 'options.accounts', message: 'has no effect: "users" has no hash field' }]
      : []),
    ...(deliver !== undefined && !hasAccounts
      ? [{ path: 'options.deliver', message: 'is never called: the service keeps no accounts' }]
      : []),
  ]
}

const judgeAdapter = (adapter: unknown): readonly ConfigFault[] =>
  hasMethods(adapter, ADAPTER_METHODS)
    ? []
    : [
        {
          path: 'adapter',
          message: `must be an object with ${ADAPTER_METHODS.join(', ')}; the options are the next argument`,
        },
      ]

const isHook = (hook: unknown): boolean =>
  isObject(hook) &&
  isFunction(hook.before) &&
  (hook.fills === undefined || isListOfNames(hook.fills)) &&
  Object.keys(hook).every((name) => HOOK_MEMBERS.includes(name))

const HOOK_MEMBERS: readonly string[] = ['fills', 'before']

/** Returns the faults of hooks. Each hook must belong to a collection and have the members of a hook. */
export function judgeHooks(options: unknown, config: unknown): readonly ConfigFault[] {
  const hooks = isObject(options) ? options.hooks : undefined
  if (!isObject(hooks)) return []
  const collections = isObject(config) && isObject(config.collections) ? Object.keys(config.collections) : []
  return Object.entries(hooks).flatMap(([name, hook]): ConfigFault[] => {
    const path = `options.hooks.${name}`
    if (name === COMMENT || !collections.includes(name)) {
      return [{ path, message: `is not a collection${suggest(name, collections)}` }]
    }
    if (hook === undefined) return []
    const message =
      'must be { before } or { fills, before }, where "before" is a function that takes a change, and "fills" an array with the names of required fields'
    return isHook(hook) ? [] : [{ path, message }]
  })
}
