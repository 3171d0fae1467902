import type { CallOptions } from './account-types.js'

type Entries = { readonly [name: string]: unknown }

/** The error of a value, or a name, that cannot be taken at its place. */
export const fault = (at: string, what: string): TypeError => new TypeError(`${at} ${what}`)

/** Throws where there are other options than one. */
export function refuseOthers(asked: object | undefined, known?: string): void {
  for (const name in asked) if (name !== known) throw fault(name, 'is unknown')
}

/** The options that every call has. Throws where there are others, as in a signal that stands for them. */
export function only(asked?: CallOptions): { readonly signal: AbortSignal | undefined } {
  refuseOthers(asked, 'signal')
  return { signal: asked?.signal }
}

/** Whether a value is a plain object, of whatever realm: not an array, nor of a class. */
export const isEntries = (value: unknown): value is Entries =>
  Object(value) === value && !Object.getPrototypeOf(Object.getPrototypeOf(value) ?? Object.prototype)

/**
 * Writes a value as JSON; a property that is `undefined` is left out. Throws `TypeError`, which names the place, for
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
    // As that of a date which is not valid.
    if (json === null) throw fault(at, `takes no ${value}`)
    return writeJson(at, json)
  }
  if (isEntries(value)) {
    const properties = Object.entries(value).flatMap(([name, inner]) =>
      inner === undefined ? [] : `${JSON.stringify(name)}:${writeJson(`${at}[${name}]`, inner)}`,
    )
    return `{${properties}}`
  }
  const found = typeof value === 'object' ? value?.constructor?.name : typeof value
  throw fault(at, `takes no ${typeof value === 'number' ? value : found}`)
}
