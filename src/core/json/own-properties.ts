import type { JsonObject } from '../types.js'

/** Whether a value is a JSON object: not an array, not `null`. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a value is an object whose prototype is that of object literals (of any realm) or `null`. */
export function isPlainObject(value: unknown): value is JsonObject {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * Returns an own property, or `undefined`. Users choose field names, so `toString` must not return the
 * inherited method.
 */
export const readOwn = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** Sets an own property of any name. A plain assignment to `__proto__` would set the prototype. */
export function setOwn(object: { [name: string]: unknown }, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

/** Returns an object with only the named properties. */
export function pickOwn(object: JsonObject, names: readonly string[]): JsonObject {
  const picked = {}
  for (const name of names) setOwn(picked, name, object[name])
  return picked
}

/** Returns an object with only the properties whose names pass the test. */
export function pickWhere(object: JsonObject, isPicked: (name: string) => boolean): JsonObject {
  const picked: { [name: string]: unknown } = {}
  for (const name of Object.keys(object)) if (isPicked(name)) setOwn(picked, name, object[name])
  return picked
}

/** Returns an unfrozen copy of an array, because engines iterate over a frozen array six times as slowly. */
export const thaw = <T>(elements: readonly T[]): readonly T[] => [...elements]

/**
 * Compiles a dotted path to a getter. It looks into objects but not into arrays, and returns `undefined` for
 * a missing value.
 */
export function compilePath(path: string): (document: JsonObject) => unknown {
  const [first = path, ...rest] = path.split('.')
  if (rest.length === 0) return (document) => readOwn(document, first)
  return (document) => {
    let value = readOwn(document, first)
    for (const name of rest) {
      if (!isObject(value)) return undefined
      value = readOwn(value, name)
    }
    return value
  }
}
