import type { CollectionTypes, LooseCollection } from '../infer/collections.js'
import type { NamedParameters, QueryParameters } from './types.js'
import { fault, isEntries, writeJson } from './write-json.js'

/** Adds a parameter, as JSON; with `isPlain`, as plain text. */
type Add = (name: string, value: unknown, isPlain?: boolean) => void

/**
 * Writes a filter. A condition must never get lost, so an empty one throws, and so does a name with
 * brackets.
 */
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
 * Writes the parameters of a list as a query string (CONTRACT.md §3). Throws `TypeError` for values that it
 * cannot express.
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
    else if (name === 'sort')
      for (const [path, direction] of namedIn(name, value, true)) add(`sort[${path}]`, direction, true)
    else add(name, value, true)
  }
  return pairs.join('&')
}

/**
 * The query string of a list, without `?`, for code that sends requests without this client: a filter, an order and a
 * page as `list` takes them, or under the names that the OpenAPI document gives the parameters (`'q[title][$eq]'`). A
 * condition never gets lost: `null` is written; `undefined` in a filter throws a `TypeError`, as do all values that
 * JSON would drop or change.
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
