import type { CollectionTypes, LooseCollection } from '../infer/collections.js'
import type { CallOptions } from './account-types.js'
import type { NamedParameters, QueryParameters } from './types.js'

type Entries = { readonly [name: string]: unknown }

/** Creates the error for a value or name that is not allowed; `at` is its location. */
export const fault = (at: string, what: string): TypeError => new TypeError(`${at} ${what}`)

/** Throws if there is an option with another name than `known`. */
export function refuseOthers(asked: object | undefined, known?: string): void {
  for (const name in asked) if (name !== known) throw fault(name, 'is unknown')
}

/**
 * Reads the options that every call has. Throws if there are other options, or if a signal was passed instead of
 * options.
 */
export function only(asked?: CallOptions): { readonly signal: AbortSignal | undefined } {
  refuseOthers(asked, 'signal')
  return { signal: asked?.signal }
}

/** Whether a value is a plain object, including one from another realm. Arrays and instances of classes are not. */
const isEntries = (value: unknown): value is Entries =>
  Object(value) === value && !Object.getPrototypeOf(Object.getPrototypeOf(value) ?? Object.prototype)

/**
 * Writes a value as JSON, without properties whose value is `undefined`. Throws `TypeError`, with the location, for a
 * value that JSON would drop or change.
 */
export function writeJson(at: string, value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) {
    return JSON.stringify(value)
  }
  // `Array.from` turns holes into `undefined`, which is then rejected.
  if (Array.isArray(value)) return `[${Array.from(value, (element, i) => writeJson(`${at}[${i}]`, element))}]`
  const { toJSON } = Object(value)
  if (typeof toJSON === 'function') {
    const json: unknown = toJSON.call(value)
    // `toJSON` of an invalid date returns null.
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

/** Adds a parameter. Its value is written as JSON, or with `isPlain` as plain text. */
type Add = (name: string, value: unknown, isPlain?: boolean) => void

/** Writes a filter. Throws for an empty condition, and for a name with brackets, so that no condition gets lost. */
function writeFilter(at: string, filter: unknown, add: Add, mayBeEmpty?: boolean): void {
  for (const [name, condition] of namedIn(at, filter, mayBeEmpty)) {
    const inside = `${at}[${name}]`
    if (name === '$or') {
      if (!Array.isArray(condition) || condition.length === 0)
        throw fault(inside, 'must be an array of groups')
      for (const [i, group] of condition.entries()) writeFilter(`${inside}[${i}]`, group, add)
    } else if (isEntries(condition)) {
      for (const [operator, operand] of namedIn(inside, condition)) {
        const place = `${inside}[${operator}]`
        if (isEntries(operand)) throw fault(place, 'cannot be an object')
        add(place, operand, operator === '$options')
      }
    } else {
      add(inside, condition)
    }
  }
}

function namedIn(at: string, value: unknown, mayBeEmpty?: boolean): readonly [string, unknown][] {
  if (!isEntries(value)) throw fault(at, 'must be an object')
  const entries = Object.entries(value)
  if (!mayBeEmpty && !entries[0]) throw fault(at, 'is empty')
  if (entries.some(([name]) => /[[\]]/.test(name))) throw fault(at, 'cannot have brackets')
  return entries
}

/**
 * Writes the parameters of a list or an aggregate as a query string (CONTRACT.md §3). Throws `TypeError` for a value that a query
 * string cannot express.
 */
export function writeQuery(parameters: object): string {
  const pairs: string[] = []
  const add: Add = (name, value, isPlain) => {
    const text = isPlain && typeof value === 'string' ? value : writeJson(name, value)
    pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(text)}`)
  }
  for (const [name, value] of namedIn('options', parameters, true)) {
    if (value === undefined || name === 'signal') continue
    if (name === 'q') writeFilter(name, value, add, true)
    else if (name === 'sort' || name === 'by')
      for (const [path, direction] of namedIn(name, value, true)) add(`${name}[${path}]`, direction, true)
    else add(name, value, true)
  }
  return pairs.join('&')
}

/**
 * Returns the query string of a list, without `?`, for code that sends requests without this client. It accepts the
 * options of `list`, and conditions under the parameter names of the OpenAPI document (`'q[title][$eq]'`). No condition
 * gets lost: `null` is written, and a `TypeError` is thrown for `undefined` in a filter, and for every value that JSON
 * would drop or change.
 *
 * @example
 * ```ts
 * const query = toQuery({ q: { status: { $in: ['draft', null] } }, sort: { createdAt: 'desc' }, limit: 10 })
 * const answer = await fetch(`https://example.com/api/notes?${query}`)
 * axios.create({ paramsSerializer: { serialize: toQuery } })
 * createOpenapiClient<paths>({ baseUrl, querySerializer: toQuery })
 * ```
 */
export function toQuery<T extends CollectionTypes = LooseCollection>(
  parameters: QueryParameters<T> | (QueryParameters<T> & NamedParameters),
): string {
  if (!isEntries(parameters)) throw fault('options', 'must be an object')
  return Object.entries(parameters)
    .flatMap(([name, value]) => {
      if (!name.includes('[')) return writeQuery({ [name]: value }) || []
      const isPlain = typeof value === 'string' && /^sort|options]$/.test(name)
      const text = isPlain ? value : writeJson(name, value)
      return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`
    })
    .join('&')
}
