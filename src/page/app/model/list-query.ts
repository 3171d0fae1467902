/** A condition of a filter, in the words of the API. */
export interface Condition {
  readonly path: string
  /** `$contains` stands for a `$regex` of plain text whatever the letter case. */
  readonly operator: string
  readonly value: unknown
}

/** What a list asks for. */
export interface ListQuery {
  /** All of these hold. */
  readonly all: readonly Condition[]
  /** And all of one of these groups; empty for no such demand. */
  readonly any: readonly (readonly Condition[])[]
  readonly sort: readonly { readonly path: string; readonly descending: boolean }[]
  /** The columns; `undefined` for the usual ones. */
  readonly project: readonly string[] | undefined
  /** Where the page begins: what a `Link` said. */
  readonly after: string | undefined
  readonly skip: number
}

export const EMPTY_QUERY: ListQuery = {
  all: [],
  any: [],
  sort: [],
  project: undefined,
  after: undefined,
  skip: 0,
}

/** Reads a query string as the API takes it. What the page cannot show as a condition is left out. */
export function readListQuery(text: string): ListQuery {
  const all: Condition[] = []
  const groups = new Map<string, Condition[]>()
  const sort: { path: string; descending: boolean }[] = []
  let [project, after, skip]: [readonly string[] | undefined, string | undefined, number] = [
    undefined,
    undefined,
    0,
  ]
  for (const [name, value] of new URLSearchParams(text)) {
    const [, group, inOr, inAll] = /^q(?:\[\$or\]\[(\d+)\](.+)|(\[(?!\$or\]).+))$/.exec(name) ?? []
    const [, path, operator = '$eq'] = /^\[([^\]]+)\](?:\[(\$\w+)\])?$/.exec(inOr ?? inAll ?? '') ?? []
    const [, key] = /^sort\[(.+)\]$/.exec(name) ?? []
    if (path !== undefined) {
      const into = group === undefined ? all : (groups.get(group) ?? [])
      if (group !== undefined) groups.set(group, into)
      addCondition(into, { path, operator, value: readOperand(operator, value) })
    } else if (key !== undefined) sort.push({ path: key, descending: value === '-1' || value === 'desc' })
    else if (name === 'project') project = readNames(value)
    else if (name === 'after') after = value
    else if (name === 'skip') skip = Number(value) || 0
  }
  return { all, any: [...groups.values()], sort, project, after, skip }
}

/** `$options` belongs to the pattern before it. */
function addCondition(into: Condition[], condition: Condition): void {
  const last = into.at(-1)
  if (condition.operator !== '$options') into.push(condition)
  else if (last?.operator === '$regex' && last.path === condition.path) {
    const plain = unescapePattern(String(last.value))
    if (plain !== undefined) into.splice(-1, 1, { ...last, operator: '$contains', value: plain })
  }
}

function readOperand(operator: string, text: string): unknown {
  try {
    if (operator !== '$regex' || text.startsWith('"')) return JSON.parse(text)
  } catch {}
  return text
}

function readNames(text: string): readonly string[] | undefined {
  try {
    const names: unknown = JSON.parse(text)
    return Array.isArray(names) ? names.map(String) : undefined
  } catch {
    return undefined
  }
}

/** Writes the query as the API takes it, without what has its usual value. */
export function writeListQuery({ all, any, sort, project, after, skip }: ListQuery): string {
  const pairs = [
    ...all.flatMap((condition) => writeCondition('q', condition)),
    ...any
      .filter((group) => group.length > 0)
      .flatMap((group, i) => group.flatMap((condition) => writeCondition(`q[$or][${i}]`, condition))),
    ...sort.map(({ path, descending }) => [`sort[${path}]`, descending ? '-1' : '1'] as const),
    ...(project ? [['project', JSON.stringify(project)] as const] : []),
    ...(after !== undefined ? [['after', after] as const] : []),
    ...(skip > 0 ? [['skip', String(skip)] as const] : []),
  ]
  return joinPairs(pairs)
}

const writeCondition = (at: string, { path, operator, value }: Condition): (readonly [string, string])[] =>
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

/** The same filter as the typed client takes it, for lists, counts and streams. */
export function toFilter({ all, any }: Pick<ListQuery, 'all' | 'any'>): { [path: string]: unknown } {
  const filter = groupOf(all)
  const groups = any.filter((group) => group.length > 0)
  return groups.length > 0 ? { ...filter, $or: groups.map(groupOf) } : filter
}

function groupOf(conditions: readonly Condition[]): { [path: string]: unknown } {
  const filter: { [path: string]: { [operator: string]: unknown } } = {}
  for (const { path, operator, value } of conditions) {
    const own =
      operator === '$contains'
        ? { $regex: escapePattern(String(value)), $options: 'i' }
        : { [operator]: value }
    filter[path] = { ...filter[path], ...own }
  }
  return filter
}

/** The query with an equality on or off, from the first page on: what a click on a count does. */
export function toggleEquality(query: ListQuery, path: string, value: unknown): ListQuery {
  const isOn = hasEquality(query, path, value)
  const others = query.all.filter((one) => one.path !== path || one.operator !== '$eq')
  return {
    ...query,
    after: undefined,
    skip: 0,
    all: isOn ? others : [...others, { path, operator: '$eq', value }],
  }
}

/** Whether a query asks for this value. */
export const hasEquality = ({ all }: ListQuery, path: string, value: unknown): boolean =>
  all.some((one) => one.path === path && one.operator === '$eq' && one.value === value)
