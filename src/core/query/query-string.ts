import qs from 'qs'
import { type Fault, ServiceError } from '../errors.js'
import type { BoundedMap } from '../kept/bounded-map.js'
import type { Limits } from '../types.js'
import { isArrayText, isOperator, OPERATORS, OPTIONS, OR, takes, unknownOperator } from './condition.js'

/** The parameters of the query language. Each route accepts some of them. */
export type ParameterName =
  | 'q'
  | 'sort'
  | 'skip'
  | 'after'
  | 'lastEventId'
  | 'limit'
  | 'total'
  | 'project'
  | 'expand'
  | 'by'
  | 'sum'
  | 'avg'
  | 'min'
  | 'max'

/** The parameters that name fields whose values each group of an aggregate summarises, in the order of an answer. */
export const SUMMARIES = ['sum', 'avg', 'min', 'max'] as const

export type Summary = (typeof SUMMARIES)[number]

/** The parameters of a route without a query. */
export const NO_PARAMETERS: readonly ParameterName[] = []

/** A parsed filter. All its conditions must be true and, if there are groups, at least one group. */
export interface RawFilter {
  /** For each field path: its operators, each with its values in the order of the query string. */
  readonly conditions: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>
  /** The groups of `$or` by their numbers. */
  readonly groups: ReadonlyMap<string, RawFilter>
}

/** The names of fields that a parameter lists: either one JSON array, or names. */
type RawNames = readonly string[]

/** A parsed query string before compilation. Every value is a decoded string. */
export interface RawQuery extends RawFilter, Partial<Record<Summary | 'project' | 'expand', RawNames>> {
  /** The direction of each field path, in the order of the query string. */
  readonly sort: ReadonlyMap<string, string>
  readonly skip?: string
  readonly after?: string
  readonly lastEventId?: string
  readonly limit?: string
  readonly total?: string
  /** How each field path divides documents into groups, in the order of the query string. */
  readonly by: ReadonlyMap<string, string>
}

const FIELD_PATH = /^(?:_id|[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z][A-Za-z0-9_]*)*)$/
const BRACKET = /[[\]]/
const NOT_PRINTABLE_ASCII = /[^\x21-\x7e]/
/** Matches printable ASCII without `%` and `+`, which needs no decoding. */
const PLAIN = /^[\x21-\x24\x26-\x2a\x2c-\x7e]*$/

const EMPTY: RawQuery = { conditions: new Map(), groups: new Map(), sort: new Map(), by: new Map() }

/** The maximum number of levels of nested `$or` groups (CONTRACT.md §3.3). */
const MAX_LEVELS = 4

/**
 * Caches parsed queries by their parameter names, for one list of allowed names. In a cached query, the index of a
 * parameter replaces each value.
 */
export type QueryForms = BoundedMap<string, RawQuery>

const ENCODED = /%(?:2[23]|3[CE]|5[CE]|60|7[BCD])/g

/** Matches positions that are not cursors: `skip`, and the id that a client of event streams appends. */
const PLACE = /&(?:skip=\d{1,16}|lastEventId=[\w-]{1,1024})(?=&|$)/

/**
 * Returns the bytes of a query that count towards `queryBytes`: all except its position (CONTRACT.md §3.7,
 * and §9, "Resuming").
 */
function countAsked(text: string): number {
  const asked = `&${text}`.replace(PLACE, '')
  return asked.length > text.length ? text.length : asked.replace(ENCODED, '.').length - 1
}

/**
 * Parses a query string (CONTRACT.md §3). A strict grammar checks the keys before they reach the parser `qs`.
 * After parsing, the number of values must be the same as before, so that nothing is dropped, merged or
 * renamed. With `forms`, queries with the same parameter names are parsed only once. Throws `invalid_query`,
 * and `query_too_long` if the query exceeds `queryBytes`.
 */
export function parseQueryString(
  text: string,
  allowed: readonly ParameterName[],
  limits: Pick<Limits, 'queryBytes'>,
  forms?: QueryForms,
): RawQuery {
  if (text === '') return EMPTY
  if (text.length > limits.queryBytes && countAsked(text) > limits.queryBytes) {
    throw new ServiceError('query_too_long', `The query string has more than ${limits.queryBytes} bytes.`)
  }
  const parts = text.split('&').filter((part) => part !== '')
  const form = forms?.get(namesOf(parts))
  const known = form && fillForm(form, parts)
  return known ?? parse(parts, allowed, forms)
}

/** The maximum length of the names of one query that are cached, in UTF-16 units. */
const MAX_NAMES = 1024

/** Returns a cached query with the values of these parameters; `undefined` if a value cannot be decoded. */
function fillForm(form: RawQuery, parts: readonly string[]): RawQuery | undefined {
  const values: string[] = []
  for (const part of parts) {
    const value = decode(part.slice(part.indexOf('=') + 1))
    if (value === undefined) return undefined
    values.push(value)
  }
  return fill(form, values)
}

/** Returns the names of the parameters as they were sent, each with the `=` after it, if there is one. */
function namesOf(parts: readonly string[]): string {
  let names = ''
  for (const part of parts) names += `${part.slice(0, part.indexOf('=') + 1)}&`
  return names
}

function parse(parts: readonly string[], allowed: readonly ParameterName[], forms?: QueryForms): RawQuery {
  const faults: Fault[] = []
  /** The first value of each key. */
  const seen = new Map<string, string>()
  const keys: string[] = []
  const values: string[] = []
  if (parts.length === 0) faults.push(malformed('', 'contains no parameter'))
  for (const part of parts) {
    const separator = part.indexOf('=')
    const name = decode(separator < 0 ? part : part.slice(0, separator))
    const value = separator < 0 ? undefined : decode(part.slice(separator + 1))
    const key = name === undefined || value === undefined ? undefined : canonicalKey(name, allowed)
    const first = typeof key === 'string' ? seen.get(key) : undefined
    if (key === undefined || value === undefined) {
      faults.push(
        malformed(
          name ?? part,
          value === undefined
            ? 'must be <name>=<value>, percent-encoded UTF-8'
            : 'must have a name in percent-encoded UTF-8',
        ),
      )
    } else if (typeof key !== 'string') {
      faults.push(key)
    } else if (first !== undefined && !mayFollow(key, first, value)) {
      faults.push({ path: cut(name ?? ''), code: 'repeated', message: 'is given more than once' })
    } else {
      if (first === undefined) seen.set(key, value)
      keys.push(key)
      values.push(value)
    }
  }
  if (faults.length > 0) throw invalidQuery(faults)
  const query = readTree(keys)
  // Queries with a repeated name are not cached, because the values decide whether the name may be repeated.
  if (forms && seen.size === keys.length) {
    const names = namesOf(parts)
    if (names.length <= MAX_NAMES) forms.set(names, query, names.length)
  }
  return fill(query, values)
}

/** Whether a key with the value `first` may also have `value`. A list is one JSON array or several single values. */
function mayFollow(key: string, first: string, value: string): boolean {
  const [, operator = key] = /\[(\$\w+)\]$/.exec(key) ?? []
  if (isOperator(operator) && OPERATORS[operator].repeated !== 'refused') return true
  return (takes(operator, 'list') || isNameList(operator)) && !isArrayText(first) && !isArrayText(value)
}

/** Whether a parameter accepts a list of names. */
const isNameList = (parameter: string): boolean => NAME_LISTS.includes(parameter)

const NAME_LISTS: readonly string[] = ['project', 'expand', ...SUMMARIES]

/** Creates the error for a query with faults. The `detail` of the error describes the first few faults. */
export function invalidQuery(faults: readonly Fault[]): ServiceError {
  const shown = faults.slice(0, MAX_FAULTS)
  const detail = shown
    .slice(0, MAX_DETAILED)
    .map(({ path, message }) => `${path}: ${message}`)
    .join(' · ')
  return new ServiceError('invalid_query', detail, { errors: shown })
}

/** Whether the response has room for another fault. */
export const isTold = (faults: readonly Fault[]): boolean => faults.length < MAX_FAULTS

/** The maximum number of faults in a response: enough to correct a query. */
const MAX_FAULTS = 8
/** The maximum number of faults that `detail` describes. */
const MAX_DETAILED = 3

const cut = (name: string): string => (name.length > 64 ? `${name.slice(0, 64)}…` : name)

const malformed = (name: string, message: string): Fault => ({ path: cut(name), code: 'malformed', message })

/**
 * Decodes strictly: rejects broken percent sequences, ill-formed UTF-8, and unencoded characters outside
 * printable ASCII.
 */
function decode(text: string): string | undefined {
  if (PLAIN.test(text)) return text
  if (NOT_PRINTABLE_ASCII.test(text)) return undefined
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/**
 * Returns the canonical form of a key: `q[a]` becomes `q[a][$eq]`. Returns a fault if the key is not allowed.
 */
function canonicalKey(name: string, allowed: readonly ParameterName[]): string | Fault {
  const start = name.search(BRACKET)
  const parameter = start < 0 ? name : name.slice(0, start)
  const brackets = name.slice(parameter.length)
  const keys = /^\[.*\]$/s.test(brackets) ? brackets.slice(1, -1).split('][') : []
  if (!(allowed as readonly string[]).includes(parameter)) {
    return {
      path: cut(name),
      code: 'unknown_parameter',
      message: `is not a parameter here; allowed: ${allowed.join(', ') || 'none'}`,
    }
  }
  const wellFormed = keys.length > 0 ? !keys.some((key) => BRACKET.test(key)) : brackets === ''
  const [path, ...more] = keys
  switch (parameter as ParameterName) {
    case 'q':
      return wellFormed ? canonicalCondition(name, keys) : malformed(name, CONDITION_FORM)
    case 'by':
    case 'sort':
      if (!wellFormed || path === undefined || more.length > 0)
        return malformed(name, `must be ${parameter}[<field>]`)
      return FIELD_PATH.test(path) || (parameter === 'sort' && allowed.includes('by') && SUMMARY.test(path))
        ? `${parameter}[${path}]`
        : unknownField(name, path)
    default:
      if (brackets === '') return name
      return malformed(
        name,
        isNameList(parameter) && INDEX.test(brackets)
          ? indexed(parameter)
          : 'must be written without brackets',
      )
  }
}

/** Matches the names of summaries by which groups can be sorted. */
const SUMMARY = new RegExp(`^\\$(?:count|(?:${SUMMARIES.join('|')})\\.[\\w.]+)$`)

/** Matches brackets with an index or nothing. Some clients write lists like this. */
const INDEX = /^\[\d*\]$/

const indexed = (form: string): string =>
  `must have no index: write ${cut(form)}=<value>, repeated for each value`

const CONDITION_FORM =
  'must be q[<field>] or q[<field>][<operator>]; in a group, [$or][<number>] follows the q, as in q[$or][0][<field>]'

/**
 * Turns `q[$or][0][a]` into `q[$or][g0][a][$eq]`, because the parser would turn numeric keys into an array.
 */
function canonicalCondition(name: string, keys: readonly string[]): string | Fault {
  const rest = [...keys]
  let groups = ''
  for (let level = 1; rest[0] === OR; level++) {
    const [, number] = rest.splice(0, 2)
    if (level > MAX_LEVELS) return malformed(name, `has more than ${MAX_LEVELS} levels of ${OR}`)
    if (number === undefined || !/^(?:0|[1-9]\d{0,3})$/.test(number)) return malformed(name, CONDITION_FORM)
    groups += `[${OR}][g${number}]`
  }
  const [path, operator, ...more] = rest
  const last = `[${keys.at(-1)}]`
  const isIndexed =
    INDEX.test(last) && (rest.length === 2 || (rest.length === 3 && isOperator(operator ?? '')))
  if (path === undefined || (more.length > 0 && !isIndexed)) return malformed(name, CONDITION_FORM)
  if (!FIELD_PATH.test(path)) return unknownField(name, path)
  if (isIndexed) return malformed(name, indexed(name.slice(0, -last.length)))
  if (operator === undefined) return `q${groups}[${path}][$eq]`
  if (isOperator(operator) || operator === OPTIONS) return `q${groups}[${path}][${operator}]`
  const { code, message } = unknownOperator(operator)
  return { path: cut(name), code, message }
}

/**
 * Creates the fault for a field that does not exist or that the caller may not read, without revealing which.
 */
export const unknownField = (parameter: string, path: string, nearest = ''): Fault => ({
  path: cut(parameter),
  code: 'unknown_field',
  message: `there is no readable field ${JSON.stringify(cut(path))}${nearest}`,
})

/** The result of the parser for canonical keys: paths with their operators, and `$or` with its groups. */
type FilterTree = {
  readonly [key: string]: { readonly [key: string]: string | readonly string[] | FilterTree }
}

type Tree = {
  readonly q?: FilterTree
  readonly sort?: { readonly [path: string]: string }
  readonly by?: { readonly [path: string]: string }
  readonly skip?: string
  readonly after?: string
  readonly lastEventId?: string
  readonly limit?: string
  readonly total?: string
} & { readonly [list in Summary | 'project' | 'expand']?: string | string[] }

/** Parses canonical keys to a query with the index of a parameter in place of each value. */
function readTree(keys: readonly string[]): RawQuery {
  const pairs = keys.map((key, place) => `${encodeURIComponent(key)}=${place}`)
  let tree: Tree
  try {
    // The grammar only allows these shapes, so the cast is safe.
    tree = qs.parse(pairs.join('&'), {
      plainObjects: true,
      depth: 2 * MAX_LEVELS + 2,
      strictDepth: true,
      parameterLimit: pairs.length,
      arrayLimit: pairs.length,
      throwOnLimitExceeded: true,
    }) as Tree
  } catch (cause) {
    throw new ServiceError('invalid_query', 'The query string has too many parameters.', { cause })
  }
  const { q = {}, sort = {}, by = {}, ...rest } = tree
  const lists = Object.entries(rest).map(([name, value]) => [name, isNameList(name) ? [value].flat() : value])
  const query: RawQuery = {
    sort: new Map(Object.entries(sort)),
    by: new Map(Object.entries(by)),
    ...readFilter(q),
    ...Object.fromEntries(lists),
  }
  if (countValues(query) !== pairs.length) {
    throw new ServiceError('invalid_query', 'The query string cannot be read without loss.')
  }
  return query
}

/** Replaces each index in a part of a query with the value of the parameter at this index. */
function fill<T>(part: T, values: readonly string[]): T {
  if (typeof part === 'string') return (values[Number(part)] ?? '') as T & string
  if (Array.isArray(part)) return part.map((place) => fill(place, values)) as T & unknown[]
  if (part instanceof Map) {
    const filled = new Map<unknown, unknown>()
    for (const [name, inner] of part) filled.set(name, fill(inner, values))
    return filled as T & Map<unknown, unknown>
  }
  const filled: { [name: string]: unknown } = {}
  for (const name in part) filled[name] = fill(part[name], values)
  return filled as T
}

function readFilter({ [OR]: groups = {}, ...conditions }: FilterTree): RawFilter {
  return {
    conditions: new Map(
      Object.entries(conditions).map(([path, operators]) => [
        path,
        new Map(
          Object.entries(operators).map(([operator, values]) => [operator, [values].flat() as string[]]),
        ),
      ]),
    ),
    groups: new Map(
      Object.entries(groups).map(([group, filter]) => [group.slice(1), readFilter(filter as FilterTree)]),
    ),
  }
}

/** Counts the values in a part of a query. */
function countValues(part: unknown): number {
  if (typeof part === 'string') return 1
  const inner = part instanceof Map ? part.values() : Object.values(part as object)
  let total = 0
  for (const one of inner) total += countValues(one)
  return total
}
