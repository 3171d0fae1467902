import { placeOf } from '../../../client/answers.js'

/** A condition of a filter, in the words of the API. */
export interface FilterCondition {
  readonly path: string
  /** `$contains` stands for a `$regex` of plain text whatever the letter case. */
  readonly operator: string
  readonly value: unknown
}

/** What a list asks for. */
export interface ListQuery {
  /** All of these hold. */
  readonly all: readonly FilterCondition[]
  /** And all of one of these groups; empty for no such demand. */
  readonly any: readonly (readonly FilterCondition[])[]
  /** The filter as the address has it, where conditions cannot show it; then there are none. */
  readonly filter: readonly Pair[]
  readonly sort: readonly { readonly path: string; readonly descending: boolean }[]
  /** The columns; `undefined` for the usual ones. */
  readonly project: readonly string[] | undefined
  /** The start of the page: the value of a `Next-Cursor`. */
  readonly after: string | undefined
  readonly skip: number
  /** Parameters that the page does not use: they are sent as they are. */
  readonly others: readonly Pair[]
}

/** A parameter. */
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

/** Reads a query string as the API takes it. Nothing is left out, and nothing gets another meaning. */
export function readListQuery(text: string): ListQuery {
  const pairs = [...new URLSearchParams(text)]
  const isFilter = ([name]: Pair): boolean => /^q\b/.test(name)
  const rest = pairs.filter((pair) => !isFilter(pair))
  // Of what is given twice, the service says that it is.
  const known = rest.map((pair) =>
    rest.some((other) => other !== pair && other[0] === pair[0]) ? undefined : readParameter(pair),
  )
  return {
    ...Object.assign({}, EMPTY_QUERY, readFilter(pairs.filter(isFilter)), ...known),
    sort: known.flatMap((one) => one?.sort ?? []),
    others: rest.filter((_, i) => !known[i]),
  }
}

/** One parameter beside the filter; `undefined` where the page does not write it so. */
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

/** A filter as the API has it: each operator of a field once, and groups of which one must hold. */
interface FilterGroup {
  readonly all: readonly FilterCondition[]
  readonly any: readonly FilterGroup[]
}

/** A part of the name of a parameter. */
type ParameterPart = readonly [names: readonly string[], value: string]

/** The conditions of a filter; where they would not mean the same, the filter as it is. */
function readFilter(filter: readonly Pair[]): Pick<ListQuery, 'all' | 'any' | 'filter'> {
  const plain = filter.map(([name, value]): Pair => [name, toJson(name, value)])
  const { all, any } = readGroup(plain.map(([name, value]) => [name.split(/[[\]]+/).slice(1, -1), value]))
  const shown = { all, any: any.map(flatten) }
  const sorted = (pairs: readonly Pair[]): string => JSON.stringify(pairs.map(String).sort())
  return sorted(writeGroup('q', nest(shown))) === sorted(plain)
    ? { ...shown, filter: [] }
    : { all: [], any: [], filter }
}

/** A value as the page writes it; one that it would write otherwise stays as it is. */
function toJson(name: string, text: string): string {
  const isPattern = name.endsWith('[$regex]')
  if (text.startsWith('"') || name.endsWith('[$options]')) return text
  return isPattern || (!/^[[{]/.test(text) && parse(text) === undefined) ? JSON.stringify(text) : text
}

/** The value of JSON; `undefined` for other text, and for a list with `null`, for which there is no input. */
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
      // It belongs to the pattern before it.
      const pattern = String(all.pop()?.value)
      all.push({ path, operator: '$contains', value: unescapePattern(pattern) })
    }
  }
  return { all, any: [...groups.values()].map(readGroup) }
}

const flatten = ({ all, any }: FilterGroup): readonly FilterCondition[] => [...all, ...any.flatMap(flatten)]

/** A filter in which each operator of a field stands once: what comes again goes into the groups, or into one. */
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

/** Writes the query as the API takes it, without what has its usual value. */
export const writeListQuery = (query: ListQuery): string => joinPairs(toPairs(query))

/** The same of the filter alone. */
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

/** A query string, legible: brackets and dollars need no escapes there. */
export const joinPairs = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, value]) => `${escapePart(name)}=${escapePart(value)}`).join('&')

const escapePart = (text: string): string =>
  encodeURIComponent(text).replace(/%(?:5B|5D|24|2C|3A|2F|40)/g, decodeURIComponent)

/** A pattern that a text matches where it contains this one. */
export const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/** The text that such a pattern looks for; `undefined` for another one. */
export function unescapePattern(pattern: string): string | undefined {
  const plain = pattern.replace(/\\([\\^$.*+?()[\]{}|/-])/g, '$1')
  return escapePattern(plain) === pattern ? plain : undefined
}

/** The filter of conditions as the typed client takes it. */
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

/** The query of the page that follows an answer; `undefined` where it is the last one. */
export function writeNext(query: ListQuery, headers: Headers): string | undefined {
  const place = placeOf(headers)
  // A `skip` that the page does not write, such as 0, is among them.
  const others = query.others.filter(([name]) => name !== 'skip')
  return place && writeListQuery({ ...query, ...place, others })
}

/** The query with an equality on or off, from the first page on: what a click on a count does. */
export function toggleEquality(query: ListQuery, path: string, value: unknown): ListQuery {
  const isOn = hasEquality(query, path, value)
  return {
    ...(isOn ? withoutEquality(query, path) : withEquality(query, path, value)),
    after: undefined,
    skip: 0,
  }
}

const withoutEquality = (query: ListQuery, path: string): ListQuery => ({
  ...query,
  all: query.all.filter((one) => one.path !== path || one.operator !== '$eq'),
})

/** A query that asks for this value of a field, and no other. */
export function withEquality(query: ListQuery, path: string, value: unknown): ListQuery {
  const { all } = withoutEquality(query, path)
  return { ...query, all: [...all, { path, operator: '$eq', value }] }
}

/** Whether a query asks for this value. */
export const hasEquality = ({ all }: ListQuery, path: string, value: unknown): boolean =>
  all.some((one) => one.path === path && one.operator === '$eq' && one.value === value)
