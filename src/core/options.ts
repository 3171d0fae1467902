import { ConfigError, type ConfigFault } from './errors.js'
import { suggest } from './fields/schema/names.js'
import { isObject, isPlainObject } from './json/own-properties.js'

/** The requirement of an option: a check of its value, and the text of the requirement. */
export type Expectation = readonly [isValid: (value: unknown) => boolean, allowed: string]

/** All allowed options by name. */
export type Expectations = { readonly [name: string]: Expectation }

/** An option that is validated elsewhere. */
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
 * The errors of options that are unknown or have a wrong type; `undefined` counts as absent. `at`: the path of the
 * options.
 */
export function judgeOptions(options: unknown, expected: Expectations, at = ''): readonly ConfigFault[] {
  if (!isObject(options)) return [{ path: at, message: 'must be an object' }]
  // Only own properties are read: those of a `Map` or of a class would be lost.
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
