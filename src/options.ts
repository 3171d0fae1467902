import { ConfigError, type ConfigFault } from './errors.js'
import { isObject, isPlainObject } from './json/own-properties.js'
import { suggest } from './schema/names.js'

/** What an option must be: whether a value is that, and how it is said. */
export type Expectation = readonly [isValid: (value: unknown) => boolean, allowed: string]

/** All options that there are, by name. */
export type Expectations = { readonly [name: string]: Expectation }

/** An option that is judged elsewhere. */
export const ANY: Expectation = [() => true, 'anything']

/** A function. */
export const FUNCTION: Expectation = [(value) => typeof value === 'function', 'a function']

/** A text. */
export const TEXT: Expectation = [(value) => typeof value === 'string', 'a string']

/** A switch. */
export const BOOLEAN: Expectation = [(value) => typeof value === 'boolean', 'true or false']

/** A whole number of a range. */
export const wholeNumber = (min: number, max: number): Expectation => [
  (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  `a whole number from ${min} to ${max}`,
]

/** The faults of options that are unknown or of a wrong kind; `undefined` is as good as absent. `at`: their place. */
export function judgeOptions(options: unknown, expected: Expectations, at = ''): readonly ConfigFault[] {
  if (!isObject(options)) return [{ path: at, message: 'must be an object' }]
  // Only the own ones are read: those of a `Map` or of a class would be lost.
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

/** Throws `ConfigError` with the faults of options. */
export function requireOptions(options: unknown, expected: Expectations): void {
  const faults = judgeOptions(options, expected)
  if (faults.length > 0) throw new ConfigError(faults)
}
