import type { JsonObject } from '../types.js'

/** Whether a value is a JSON object: not an array, not `null`. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether an object has the prototype of object literals, of any realm, or none. */
export function isPlainObject(value: unknown): value is JsonObject {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** An own property, or `undefined`: users choose field names, and `toString` must not be an inherited one. */
export const readOwn = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** Sets an own property of any name: an assignment to `__proto__` would set the prototype. */
export function setOwn(object: { [name: string]: unknown }, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

/** An object with only some of the properties of another. */
export function pickOwn(object: JsonObject, names: readonly string[]): JsonObject {
  const picked = {}
  for (const name of names) setOwn(picked, name, object[name])
  return picked
}

/** An object with those of the properties of another whose names pass. */
export function pickWhere(object: JsonObject, isPicked: (name: string) => boolean): JsonObject {
  const picked: { [name: string]: unknown } = {}
  for (const name of Object.keys(object)) if (isPicked(name)) setOwn(picked, name, object[name])
  return picked
}

/** An unfrozen copy of an array: engines iterate over a frozen array six times as slowly. */
export const thaw = <T>(elements: readonly T[]): readonly T[] => [...elements]

/** Compiles a dotted path to a getter. It reaches into objects only; a missing value is `undefined`. */
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
