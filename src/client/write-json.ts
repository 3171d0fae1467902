import type { CallOptions } from './account-types.js'

type Entries = { readonly [name: string]: unknown }

/** The error for a value, or a name, that is not allowed at its place. */
export const fault = (at: string, what: string): TypeError => new TypeError(`${at} ${what}`)

/** Throws if there are options other than `known`. */
export function refuseOthers(asked: object | undefined, known?: string): void {
  for (const name in asked) if (name !== known) throw fault(name, 'is unknown')
}

/** The options of every call. Throws if there are others, or if a signal is passed instead of options. */
export function only(asked?: CallOptions): { readonly signal: AbortSignal | undefined } {
  refuseOthers(asked, 'signal')
  return { signal: asked?.signal }
}

/** Whether a value is a plain object, of any realm: not an array, nor an instance of a class. */
export const isEntries = (value: unknown): value is Entries =>
  Object(value) === value && !Object.getPrototypeOf(Object.getPrototypeOf(value) ?? Object.prototype)

/**
 * Writes a value as JSON; `undefined` properties are left out. Throws `TypeError`, which names the place, for
 * values that JSON would drop or change.
 */
export function writeJson(at: string, value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) {
    return JSON.stringify(value)
  }
  // `Array.from` also visits holes.
  if (Array.isArray(value)) return `[${Array.from(value, (element, i) => writeJson(`${at}[${i}]`, element))}]`
  const { toJSON } = Object(value)
  if (typeof toJSON === 'function') {
    const json: unknown = toJSON.call(value)
    // An invalid date returns null.
    if (json === null) throw fault(at, `cannot be ${value}`)
    return writeJson(at, json)
  }
  if (isEntries(value)) {
    const properties = Object.entries(value).flatMap(([name, inner]) =>
      inner === undefined ? [] : `${JSON.stringify(name)}:${writeJson(`${at}[${name}]`, inner)}`,
    )
    return `{${properties}}`
  }
  const found = typeof value === 'object' ? value?.constructor?.name : typeof value
  throw fault(at, `cannot be ${typeof value === 'number' ? value : found}`)
}
