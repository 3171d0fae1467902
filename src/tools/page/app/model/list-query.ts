import { placeOf } from '../../../../client/answers.js'
import { escapePattern } from '../../../../client/escape-pattern.js'

/** A condition of a filter. */
export interface FilterCondition {
  readonly path: string
  /** An operator of the API, or `$contains` for a case-insensitive `$regex` that matches plain text. */
  readonly operator: string
  readonly value: unknown
}

/** The query of a list. */
export interface ListQuery {
  /** The conditions that must all match. */
  readonly all: readonly FilterCondition[]
  /** Groups of conditions. At least one group must match; an empty list means no restriction. */
  readonly any: readonly (readonly FilterCondition[])[]
  /** The parameters of the filter in the URL, if the form cannot show them; `all` and `any` are then empty. */
  readonly filter: readonly Pair[]
  readonly sort: readonly { readonly path: string; readonly descending: boolean }[]
  /** The columns; `undefined` for the default columns. */
  readonly project: readonly string[] | undefined
  /** The cursor of the page, from the header `Next-Cursor`. */
  readonly after: string | undefined
  readonly skip: number
  /** Parameters that the admin UI does not use. They are sent unchanged. */
  readonly others: readonly Pair[]
}

type Pair = readonly [name: string, value: string]

export const EMPTY_QUERY: ListQuery = {
  all: [],
  any: [],
  filter: [],
  sort: [],
  project: undefined,
  after: undefined,
  skip: 0,
  others: [],
}

/** Reads a query string of the API. The result expresses every parameter with its original meaning. */
export function readListQuery(text: string): ListQuery {
  const pairs = [...new URLSearchParams(text)]
  const isFilter = ([name]: Pair): boolean => /^q\b/.test(name)
  const rest = pairs.filter((pair) => !isFilter(pair))
  // Repeated parameters are sent unchanged, so that the service reports the error.
  const known = rest.map((pair) =>
    rest.some((other) => other !== pair && other[0] === pair[0]) ? undefined : readParameter(pair),
  )
  return {
    ...Object.assign({}, EMPTY_QUERY, readFilter(pairs.filter(isFilter)), ...known),
    sort: known.flatMap((one) => one?.sort ?? []),
    others: rest.filter((_, i) => !known[i]),
  }
}

/** Reads a parameter that is not part of the filter. Returns `undefined` if the admin UI would write it differently. */
function readParameter([name, value]: Pair): Partial<ListQuery> | undefined {
  const [, path] = /^sort\[(.+)\]$/.exec(name) ?? []
  if (path !== undefined && /^(-?1|asc|desc)$/.test(value))
    return { sort: [{ path, descending: /-|d/.test(value) }] }
  if (name === 'after') return { after: value }
  if (name === 'skip' && /^[1-9]\d{0,14}$/.test(value)) return { skip: Number(value) }
  const names = name === 'project' ? parse(value) : undefined
  return Array.isArray(names) && names.every((one) => typeof one === 'string')
    ? { project: names }
    : undefined
}

/**
 * A filter in the form of the API. In a group, each operator of a field occurs once; at least one group of `any` must
 * match.
 */
interface FilterGroup {
  readonly all: readonly FilterCondition[]
  readonly any: readonly FilterGroup[]
}

/** A parameter of a filter group: the rest of its name, split at the brackets, and its value. */
type ParameterPart = readonly [names: readonly string[], value: string]

/**
 * Reads the parameters of a filter as conditions. If writing the conditions again would not give the same filter,
 * returns the parameters unchanged.
 */
function readFilter(filter: readonly Pair[]): Pick<ListQuery, 'all' | 'any' | 'filter'> {
  const plain = filter.map(([name, value]): Pair => [name, toJson(name, value)])
  const { all, any } = readGroup(plain.map(([name, value]) => [name.split(/[[\]]+/).slice(1, -1), value]))
  const shown = { all, any: any.map(flatten) }
  const sorted = (pairs: readonly Pair[]): string => JSON.stringify(pairs.map(String).sort())
  return sorted(writeGroup('q', nest(shown))) === sorted(plain)
    ? { ...shown, filter: [] }
    : { all: [], any: [], filter }
}

/**
 * Returns a parameter's value as the admin UI would write it: JSON and `$options` are unchanged, other text becomes a
 * JSON string.
 */
function toJson(name: string, text: string): string {
  const isPattern = name.endsWith('[$regex]')
  if (text.startsWith('"') || name.endsWith('[$options]')) return text
  return isPattern || (!/^[[{]/.test(text) && parse(text) === undefined) ? JSON.stringify(text) : text
}

/**
 * Parses JSON. Returns `undefined` for other text, and for a list that contains `null`, because the form has no input
 * for it.
 */
function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) && value.includes(null) ? undefined : value
  } catch {
    return undefined
  }
}

function readGroup(parts: readonly ParameterPart[]): FilterGroup {
  const all: FilterCondition[] = []
  const groups = new Map<string, ParameterPart[]>()
  for (const [[path = '', operator = '$eq', ...deeper], text] of parts) {
    if (path === '$or') groups.set(operator, [...(groups.get(operator) ?? []), [deeper, text]])
    else if (operator !== '$options') all.push({ path, operator, value: parse(text) })
    else {
      // `$options` belongs to the preceding `$regex`.
      const pattern = String(all.pop()?.value)
      all.push({ path, operator: '$contains', value: unescapePattern(pattern) })
    }
  }
  return { all, any: [...groups.values()].map(readGroup) }
}

const flatten = ({ all, any }: FilterGroup): readonly FilterCondition[] => [...all, ...any.flatMap(flatten)]

/**
 * Converts conditions to groups in which each operator of a field occurs once. A repeated operator is added to every
 * group of `any`, or becomes a group if there is none.
 */
function nest({ all, any }: Pick<ListQuery, 'all' | 'any'>): FilterGroup {
  const known = new Set<string>()
  const again = all.filter(({ path, operator }) => {
    const key = `${path} ${operator.replace('contains', 'regex')}`
    return known.has(key) || !known.add(key)
  })
  const groups = any.filter((group) => group.length > 0).map((group) => [...group, ...again])
  if (groups.length === 0 && again.length > 0) groups.push(again)
  return {
    all: all.filter((one) => !again.includes(one)),
    any: groups.map((group) => nest({ all: group, any: [] })),
  }
}

/** Writes the query string for the API. Parameters that have their default value are omitted. */
export const writeListQuery = (query: ListQuery): string => joinPairs(toPairs(query))

/** Writes the query string with the filter only. */
export const writeFilter = ({ all, any, filter }: ListQuery): string =>
  writeListQuery({ ...EMPTY_QUERY, all, any, filter })

const toPairs = ({ filter, sort, project, after, skip, others, ...shown }: ListQuery): readonly Pair[] => [
  ...filter,
  ...writeGroup('q', nest(shown)),
  ...sort.map(({ path, descending }): Pair => [`sort[${path}]`, descending ? '-1' : '1']),
  ...(project ? [['project', JSON.stringify(project)] as const] : []),
  ...(after !== undefined ? [['after', after] as const] : []),
  ...(skip > 0 ? [['skip', String(skip)] as const] : []),
  ...others,
]

const writeGroup = (at: string, { all, any }: FilterGroup): readonly Pair[] => [
  ...all.flatMap((condition) => writeCondition(at, condition)),
  ...any.flatMap((group, i) => writeGroup(`${at}[$or][${i}]`, group)),
]

const writeCondition = (at: string, { path, operator, value }: FilterCondition): readonly Pair[] =>
  operator === '$contains'
    ? [
        [`${at}[${path}][$regex]`, JSON.stringify(escapePattern(String(value)))],
        [`${at}[${path}][$options]`, 'i'],
      ]
    : [[operator === '$eq' ? `${at}[${path}]` : `${at}[${path}][${operator}]`, JSON.stringify(value)]]

/**
 * Joins parameters to a readable query string, in which brackets and dollars are not escaped, because they need not be.
 */
export const joinPairs = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, value]) => `${escapePart(name)}=${escapePart(value)}`).join('&')

const escapePart = (text: string): string =>
  encodeURIComponent(text).replace(/%(?:5B|5D|24|2C|3A|2F|40)/g, decodeURIComponent)

/** Returns the text for which `escapePattern` returns this pattern; `undefined` if there is none. */
export function unescapePattern(pattern: string): string | undefined {
  const plain = pattern.replace(/\\([\\^$.*+?()[\]{}|/-])/g, '$1')
  return escapePattern(plain) === pattern ? plain : undefined
}

/** Converts conditions to the filter `q` of the typed client. */
export const toFilter = (query: Pick<ListQuery, 'all' | 'any'>): object => toObject(nest(query))

function toObject({ all, any }: FilterGroup): object {
  const filter: { [path: string]: object } = {}
  for (const { path, operator, value } of all) {
    const own =
      operator === '$contains'
        ? { $regex: escapePattern(String(value)), $options: 'i' }
        : { [operator]: value }
    filter[path] = { ...filter[path], ...own }
  }
  return any.length > 0 ? { ...filter, $or: any.map(toObject) } : filter
}

/** Writes the query string of the next page; `undefined` after the last page. */
export function writeNext(query: ListQuery, headers: Headers): string | undefined {
  const place = placeOf(headers)
  // `others` may contain a `skip` that the admin UI does not write, such as 0.
  const others = query.others.filter(([name]) => name !== 'skip')
  return place && writeListQuery({ ...query, ...place, others })
}

/**
 * Adds or removes the condition that a field equals a value, and returns to the first page. Called when a person clicks
 * a group.
 */
export function toggleEquality(query: ListQuery, path: string, value: unknown): ListQuery {
  const isOn = hasEquality(query, path, value)
  const others = withoutEquality(query, path)
  return {
    ...others,
    all: isOn ? others.all : [...others.all, { path, operator: '$eq', value }],
    after: undefined,
    skip: 0,
  }
}

/** Returns the query without the conditions that a field equals a value. */
export const withoutEquality = (query: ListQuery, path: string): ListQuery => ({
  ...query,
  all: query.all.filter((one) => one.path !== path || one.operator !== '$eq'),
})

/** Whether a query contains the condition that a field equals a value. */
export const hasEquality = ({ all }: ListQuery, path: string, value: unknown): boolean =>
  all.some((one) => one.path === path && one.operator === '$eq' && one.value === value)
