import type { JsonObject } from '../types.js'
import { setOwn, thaw } from './own-properties.js'

/** Freezes a value and everything inside it. A frozen value is assumed to be deeply frozen. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) freezeDeep(inner)
  return Object.freeze(value)
}

/**
 * Returns a deeply frozen copy of JSON, which can be shared. A value that is already deeply frozen is
 * returned as it is.
 */
export function freezeCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null || isFrozenDeep(value)) return value
  if (Array.isArray(value)) return Object.freeze(value.map(freezeCopy)) as T
  const copy: { [name: string]: unknown } = {}
  for (const name of Object.keys(value)) {
    setOwn(copy, name, freezeCopy((value as { readonly [name: string]: unknown })[name]))
  }
  return Object.freeze(copy) as T
}

/**
 * Does the same as `freezeCopy` for the next version of a deeply frozen object. Values that both versions
 * share are not checked again.
 */
export function freezeNext<T extends JsonObject>(next: T, before: JsonObject): T {
  const names = Object.keys(next)
  const isKept = (name: string): boolean => next[name] === before[name] || isFrozenInside(next[name])
  if (Object.isFrozen(next) && names.every(isKept)) return next
  const copy: { [name: string]: unknown } = {}
  for (const name of names) setOwn(copy, name, isKept(name) ? next[name] : freezeCopy(next[name]))
  return Object.freeze(copy) as T
}

function isFrozenDeep(value: object): boolean {
  if (!Object.isFrozen(value)) return false
  if (Array.isArray(value)) return thaw(value).every(isFrozenInside)
  for (const name in value)
    if (!isFrozenInside((value as { readonly [name: string]: unknown })[name])) return false
  return true
}

const isFrozenInside = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || isFrozenDeep(value)
