import type { ConfigFault } from '../errors.js'
import { isObject } from '../json/own-properties.js'
import { suggest } from '../schema/names.js'

type Expectation = readonly [isValid: (value: unknown) => boolean, allowed: string]

const isFunction = (value: unknown): boolean => typeof value === 'function'
const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
const isTextList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  typeof value === 'object' && value !== null && names.every((name) => isFunction((value as never)[name]))

const isLogger = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ['info', 'warn', 'error'].every((name) => ['function', 'undefined'].includes(typeof (value as never)[name]))

/** What each option of `createCollectionService` must be (CONTRACT.md §7). */
const OPTIONS: { readonly [name: string]: Expectation } = {
  authenticate: [isFunction, 'a function of a request'],
  accounts: [isBoolean, 'true or false'],
  basePath: [
    (value) => typeof value === 'string' && /^(?:\/[\w.~%!$&'()*+,;=:@-]+)*\/*$/.test(value),
    'a path like "/api"',
  ],
  cors: [
    (value) =>
      isObject(value) &&
      Object.keys(value).join() === 'origins' &&
      (value.origins === '*' || isTextList(value.origins)),
    '{ origins } with an array of origins, or "*"',
  ],
  clientAddress: [isFunction, 'a function of a request'],
  hasher: [(value) => hasMethods(value, ['hash', 'verify']), 'an object with hash and verify'],
  logger: [isLogger, 'an object with info, warn and error'],
  production: [isBoolean, 'true or false'],
  now: [isFunction, 'a function that returns milliseconds'],
}

const ADAPTER_METHODS = ['open', 'list', 'count', 'write', 'close']

/** The faults of a value that is not an adapter, and of options that are unknown or of a wrong type. */
export function checkOptions(adapter: unknown, options: unknown): readonly ConfigFault[] {
  try {
    return [...judgeAdapter(adapter), ...judgeOptions(options)]
  } catch {
    // A getter or a proxy may throw.
    return [{ path: 'options', message: 'cannot be read' }]
  }
}

const judgeAdapter = (adapter: unknown): readonly ConfigFault[] =>
  hasMethods(adapter, ADAPTER_METHODS)
    ? []
    : [{ path: 'adapter', message: `must be an object with ${ADAPTER_METHODS.join(', ')}` }]

function judgeOptions(options: unknown): readonly ConfigFault[] {
  if (!isObject(options)) return [{ path: 'options', message: 'must be an object' }]
  const known = Object.keys(OPTIONS)
  return Object.entries(options).flatMap(([name, value]): ConfigFault[] => {
    const [isValid, allowed] = (Object.hasOwn(OPTIONS, name) && OPTIONS[name]) || []
    const path = `options.${name}`
    if (!isValid)
      return [{ path, message: `is unknown${suggest(name, known) || ';'} allowed: ${known.join(', ')}` }]
    return value === undefined || isValid(value) ? [] : [{ path, message: `must be ${allowed}` }]
  })
}
