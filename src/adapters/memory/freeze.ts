/** A deep, frozen copy of JSON: it is stored, and returned without another copy. */
export function freezeCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(freezeCopy)) as T
  const copy: { [name: string]: unknown } = {}
  for (const name of Object.keys(value)) {
    const inner = (value as { readonly [name: string]: unknown })[name]
    if (name === '__proto__')
      Object.defineProperty(copy, name, { value: freezeCopy(inner), enumerable: true })
    else copy[name] = freezeCopy(inner)
  }
  return Object.freeze(copy) as T
}
