import { setOwn } from '../../json/own-properties.js'

/** A deep, frozen copy of JSON: it is stored, and returned without another copy. */
export function freezeCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(freezeCopy)) as T
  const copy: { [name: string]: unknown } = {}
  for (const name of Object.keys(value)) {
    setOwn(copy, name, freezeCopy((value as { readonly [name: string]: unknown })[name]))
  }
  return Object.freeze(copy) as T
}
