import { ConfigError, type ConfigFault } from './errors.js'
import { suggest } from './fields/schema/names.js'
import { isObject, isPlainObject } from './json/own-properties.js'

/** The requirement for an option: a function that checks its value, and a text that says which values are allowed. */
export type Expectation = readonly [isValid: (value: unknown) => boolean, allowed: string]

/** The requirements of all allowed options, by name. */
export type Expectations = { readonly [name: string]: Expectation }

/** Accepts any value: for an option that is validated elsewhere. */
export const ANY: Expectation = [() => true, 'anything']

/** Requires a function. */
export const FUNCTION: Expectation = [(value) => typeof value === 'function', 'a function']

/** Requires a string. */
export const TEXT: Expectation = [(value) => typeof value === 'string', 'a string']

/** Requires a boolean. */
export const BOOLEAN: Expectation = [(value) => typeof value === 'boolean', 'true or false']

/** Requires a whole number in a range. */
export const wholeNumber = (min: number, max: number): Expectation => [
  (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  `a whole number from ${min} to ${max}`,
]

/**
 * Returns an error for each option that is unknown or has an invalid value. `undefined` counts as absent. `at` is the
 * path of the options in these errors.
 */
export function judgeOptions(options: unknown, expected: Expectations, at = ''): readonly ConfigFault[] {
  if (!isObject(options)) return [{ path: at, message: 'must be an object' }]
  // Only own properties are read, so the contents of a `Map` or of a class instance would be ignored.
  if (!isPlainObject(options)) return [{ path: at, message: 'must be a plain object' }]
  const known = Object.keys(expected)
  return Object.entries(options).flatMap(([name, value]): ConfigFault[] => {
    const [isValid, allowed] = (Object.hasOwn(expected, name) && expected[name]) || []
    const path = at === '' ? name : `${at}.${name}`
    if (!isValid)
      return [{ path, message: `is unknown${suggest(name, known) || ';'} allowed: ${known.join(', ')}` }]
    return value === undefined || isValid(value) ? [] : [{ path, message: `must be ${allowed}` }]
  })
}

/** Throws `ConfigError` if the options have errors. */
export function requireOptions(options: unknown, expected: Expectations): void {
  const faults = judgeOptions(options, expected)
  if (faults.length > 0) throw new ConfigError(faults)
}
