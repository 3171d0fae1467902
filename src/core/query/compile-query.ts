import type { Fault } from '../errors.js'
import type { Field } from '../fields/field-type.js'
import { CREATED_BY, suggest } from '../fields/schema/names.js'
import { and, type Filter, ID, mapLeaves, or } from '../filter/filter.js'
import { isObject } from '../json/own-properties.js'
import { lowerUuid } from '../json/uuid.js'
import type { SortKey } from '../storage.js'
import type { JsonObject, Limits, OperatorName } from '../types.js'
import { compileExpand, type Expansion } from './compile-expand.js'
import {
  buildCondition,
  ConditionFault,
  isArrayText,
  OPERATORS,
  OPTIONS,
  OR,
  readOperands,
  takes,
} from './condition.js'
import { type Cursor, readCursor } from './paging/cursor.js'
import { invalidQuery, isTold, type RawFilter, type RawQuery, unknownField } from './query-string.js'
import type { Following, QueryReading, Readable } from './reading.js'

/** The page of a list that a query requests, and the sort order. */
interface Paging {
  readonly sort: readonly SortKey[]
  readonly skip: number
  readonly limit: number | null
  /** The position after which the page begins, instead of `skip`. */
  readonly after: Cursor | null
  /** Whether the query requests the number of all matches. */
  readonly isTotalAsked: boolean
}

/** The default and the maximum size of a page. */
type PageLimits = Pick<Limits, 'defaultLimit' | 'maxLimit'>

/** Reads `sort`, `skip`, `limit`, `after` and `total` (CONTRACT.md §3.6, §3.7). */
function compilePage(raw: RawQuery, { find, attempt, readable }: QueryReading, limits: PageLimits): Paging {
  const { skip, after, total } = raw
  const keys = [...raw.sort].flatMap(([path, direction]): SortKey[] => {
    const parameter = `sort[${path}]`
    const field = find(parameter, path)
    return field ? attempt(parameter, [], () => [compileSort(field, direction, readable)]) : []
  })
  const sort = completeSort(keys)
  return {
    sort,
    skip: skip === undefined ? 0 : attempt('skip', 0, () => readWhole(skip)),
    limit: attempt('limit', null, () => readLimit(raw.limit, limits)),
    after:
      after === undefined
        ? null
        : attempt('after', null, () => {
            if (skip === undefined) return readCursor(sort, after)
            throw new ConditionFault('contradictory', 'cannot be combined with skip')
          }),
    isTotalAsked: attempt('total', false, () => readTotal(total)),
  }
}

/** Returns whether a query requests the number of all matches. Throws `ConditionFault`. */
export function readTotal(total: string | undefined): boolean {
  if (total === undefined || total === 'true') return total === 'true'
  throw new ConditionFault('malformed', 'must be true')
}

/** The page of a query on a route without pages. */
export const NO_PAGE: Paging = { sort: [], skip: 0, limit: null, after: null, isTotalAsked: false }

const DIRECTIONS: ReadonlyMap<string, boolean> = new Map([
  ['1', false],
  ['asc', false],
  ['-1', true],
  ['desc', true],
])

/** Returns whether a direction is descending. Throws `ConditionFault`. */
export function readDirection(direction: string): boolean {
  const descending = DIRECTIONS.get(direction)
  if (descending === undefined) throw new ConditionFault('wrong_direction', 'must be 1, asc, -1 or desc')
  return descending
}

function compileSort(field: Field, direction: string, readable: Readable): SortKey {
  const descending = readDirection(direction)
  if (!field.ref || !field.fieldType.isScalar) {
    throw new ConditionFault('wrong_operator', `a field of type ${field.type} has no order`)
  }
  if (!readable.isShownAlways(field)) {
    throw new ConditionFault(
      'unknown_field',
      'is not readable in every document that you may read, so you cannot sort by it',
    )
  }
  return { field: field.ref, descending }
}

/**
 * Appends `_id` in the direction of the last key, so that no two documents are equal in the sort order
 * (CONTRACT.md §3.6).
 */
function completeSort(keys: readonly SortKey[]): readonly SortKey[] {
  const place = keys.findIndex(({ field }) => field.path === ID.path)
  // Keys after `_id` change nothing, because no two ids are equal.
  if (place >= 0) return keys.slice(0, place + 1)
  return [...keys, { field: ID, descending: keys.at(-1)?.descending ?? false }]
}

/** Returns a whole number of a query. Throws `ConditionFault`. */
export function readWhole(text: string): number {
  const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value))
    throw new ConditionFault('out_of_range', 'must be a whole number from 0 to 2^53−1')
  return value
}

/** Returns the limit of a list; `null` for no limit. Throws `ConditionFault`. */
export function readLimit(text: string | undefined, { defaultLimit, maxLimit }: PageLimits): number | null {
  const limit = text === undefined ? (defaultLimit ?? maxLimit) : readWhole(text)
  if (limit !== null && maxLimit !== null && limit > maxLimit) {
    throw new ConditionFault('out_of_range', `must be at most ${maxLimit}`)
  }
  return limit
}

/**
 * The properties of a document that a response shows: `true` for a whole value, or a projection for a part of
 * it.
 */
type Projection = ReadonlyMap<string, Projection | true>

/** Combines dotted paths in one projection. */
function createProjection(paths: readonly string[]): Projection {
  const root = new Map<string, Projection | true>()
  for (const path of paths) addPath(root, path.split('.'))
  return root
}

function addPath(level: Map<string, Projection | true>, [name = '', ...rest]: readonly string[]): void {
  const present = level.get(name)
  if (present === true || rest.length === 0) {
    level.set(name, true)
    return
  }
  const inside = new Map(present)
  level.set(name, inside)
  addPath(inside, rest)
}

/**
 * Returns the part of a document that a projection selects, with `_id`, in the order of the document. A
 * missing parent object is not created (CONTRACT.md §3.8).
 */
export const project = (document: JsonObject, projection: Projection): JsonObject =>
  projectInside(document, new Map([...projection, ['_id', true]]))

const projectInside = (value: JsonObject, projection: Projection): JsonObject =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
      const part = projection.get(name)
      if (part === true) return [[name, inner]]
      return part && isObject(inner) ? [[name, projectInside(inner, part)]] : []
    }),
  )

/** A query, compiled for one caller (CONTRACT.md §3). */
export interface Query extends Paging {
  readonly filter: Filter
  readonly projection: Projection | null
  /** The references that are replaced by the documents to which they refer. */
  readonly expand: readonly Expansion[]
}

type CountLimits = Pick<Limits, 'conditions' | 'values' | 'patterns'>

/** The limits of a query. */
export type QueryLimits = CountLimits & PageLimits

/** The fields and references that one caller may read. */
export interface QueryScope {
  readonly readable: Readable
  readonly following: Following
}

/**
 * Compiles a query for one caller. `isPaged`: whether the route has pages, so that the query has a sort order. Throws
 * `invalid_query` with every fault.
 */
export function compileQuery(
  raw: RawQuery,
  { readable, following }: QueryScope,
  limits: QueryLimits,
  isPaged: boolean,
): Query {
  refuseBeyond(raw, limits)
  const reading = beginReading({ readable, following })
  const { faults, find, attempt } = reading
  const filter = compileFilterOf(raw, 'q', reading)
  const page = isPaged ? compilePage(raw, reading, limits) : NO_PAGE
  const readNames = (parameter: 'project' | 'expand', texts: readonly string[]): readonly string[] =>
    attempt(parameter, [], () => readPaths(texts))
  const projection =
    raw.project &&
    createProjection(readNames('project', raw.project).flatMap((path) => find('project', path)?.path ?? []))
  const expand = raw.expand ? compileExpand(readNames('expand', raw.expand), reading) : []
  if (faults.length > 0) throw invalidQuery(faults)
  return {
    filter: guardLeaves(filter, readable),
    ...page,
    projection: projection ?? null,
    expand,
  }
}

/** Begins to read the parameters of a query for one caller. */
export function beginReading({ readable, following }: QueryScope): QueryReading {
  const faults: Fault[] = []
  const find = (parameter: string, path: string): Field | undefined => {
    const field = readable.find(path)
    // The search for the nearest name is slow for many names, so it runs only for faults that are reported.
    if (!field)
      faults.push(unknownField(parameter, path, isTold(faults) ? suggest(path, readable.paths()) : ''))
    return field
  }
  return { readable, following, faults, find, attempt: attemptInto(faults) }
}

/** Makes each condition false for documents in which the caller may not read its field. */
export const guardLeaves = (filter: Filter, { guard }: Pick<Readable, 'guard'>): Filter =>
  guard ? mapLeaves(filter, guard) : filter

/**
 * Returns the operands of a condition on the creator, if creators may be accounts: an `_id` as written and in
 * lower case. Accounts have an `_id` in lower case, but other callers keep the `_id` from the host
 * application.
 */
const asCreator = (operand: unknown): readonly unknown[] => {
  if (Array.isArray(operand)) return [operand.flatMap(asCreator)]
  const id = typeof operand === 'string' ? lowerUuid(operand) : operand
  return id === operand ? [operand] : [operand, id]
}

/**
 * Returns a function that returns the result of `compile`. If `compile` throws a `ConditionFault`, the fault is added to
 * `faults`, and the result is `fallback`.
 */
export const attemptInto =
  (faults: Fault[]): QueryReading['attempt'] =>
  (parameter, fallback, compile) => {
    try {
      return compile()
    } catch (thrown) {
      if (!(thrown instanceof ConditionFault)) throw thrown
      faults.push({ path: parameter, code: thrown.code, message: thrown.message })
      return fallback
    }
  }

/**
 * Compiles the conditions: all must be true and, if there are groups, at least one group. `at` is the part of
 * a parameter's name before the field.
 */
export function compileFilterOf(
  { conditions, groups }: RawFilter,
  at: string,
  reading: QueryReading,
): Filter {
  const filters: Filter[] = []
  for (const [path, operators] of conditions) {
    const parameter = `${at}[${path}]`
    const field = reading.find(parameter, path)
    if (field) filters.push(...compileField(field, operators, parameter, reading))
  }
  if (groups.size === 0) return and(filters)
  const alternatives = [...groups].map(([number, group]) =>
    compileFilterOf(group, `${at}[${OR}][${number}]`, reading),
  )
  return and([...filters, or(alternatives)])
}

function compileField(
  field: Field,
  operators: ReadonlyMap<string, readonly string[]>,
  parameter: string,
  reading: QueryReading,
): readonly Filter[] {
  const options = operators.get(OPTIONS)
  const hasPattern = options && [...operators.keys()].some((operator) => takes(operator, 'pattern'))
  if (options && !(hasPattern && options.every((option) => option === 'i'))) {
    return reading.attempt(`${parameter}[${OPTIONS}]`, [], () => {
      throw new ConditionFault(
        'wrong_option',
        'must be i, and is only allowed together with $regex on the same field',
      )
    })
  }
  const filters: Filter[] = []
  for (const [name, texts] of operators) {
    if (name === OPTIONS) continue
    // `parseQueryString` rejects names that are not operators, so the cast is safe.
    const operator = name as OperatorName
    const place = operator === '$eq' ? parameter : `${parameter}[${operator}]`
    const filter = reading.attempt(place, undefined, () =>
      compileComparison({ field, operator, texts, hasOptions: options !== undefined }, reading),
    )
    if (filter) filters.push(filter)
  }
  return filters
}

/** An operator of a query with its field and its values. */
interface Comparison {
  readonly field: Field
  readonly operator: OperatorName
  readonly texts: readonly string[]
  readonly hasOptions: boolean
}

/** Combines the filters of all values of an operator. */
function compileComparison(
  { field, operator, texts, hasOptions }: Comparison,
  { readable, following }: QueryReading,
): Filter {
  const { operand: kind, repeated } = OPERATORS[operator]
  const isCreator =
    field.path === CREATED_BY &&
    following.targetOf(field) !== undefined &&
    (kind === 'scalar' || kind === 'list')
  const patterns = { ignoreCase: hasOptions, parse: readable.parsePattern }
  const build = (written: readonly string[]): Filter => {
    const operands = readOperands(field, operator, written)
    const filters = (isCreator ? operands.flatMap(asCreator) : operands).map((operand) =>
      buildCondition(field, operator, operand, patterns),
    )
    return repeated === 'any' ? or(filters) : and(filters)
  }
  try {
    return build(texts)
  } catch (thrown) {
    throw thrown instanceof ConditionFault && !takes(operator, 'pattern')
      ? explainSpaces(thrown, texts, build)
      : thrown
  }
}

/**
 * Returns the error for invalid values. If they are valid with a plus for each space, the error also explains
 * how to encode a plus.
 */
export function explainSpaces(
  fault: ConditionFault,
  texts: readonly string[],
  build: (texts: readonly string[]) => unknown,
): ConditionFault {
  if (!texts.some((text) => text.includes(' '))) return fault
  try {
    build(texts.map((text) => text.replaceAll(' ', '+')))
  } catch {
    return fault
  }
  return new ConditionFault(
    fault.code,
    `${fault.message}; a + in a query means a space: to send a plus, write %2B`,
  )
}

/** Returns the names of a list of fields. Throws `ConditionFault`. */
export function readPaths(texts: readonly string[]): readonly string[] {
  if (!texts.some(isArrayText)) return texts
  try {
    const paths: unknown = JSON.parse(texts[0] ?? '')
    if (Array.isArray(paths) && paths.every((path) => typeof path === 'string')) return paths
  } catch {}
  throw new ConditionFault('malformed', 'must be a JSON array of field names, like ["title"]')
}

/** The number of conditions, values and patterns of a query. */
type Counts = { -readonly [name in keyof CountLimits]: number }

/**
 * Throws `invalid_query` with a fault for each limit that a filter exceeds. Call it first: counting is cheaper than
 * compiling. Returns the number of values.
 */
export function refuseBeyond(raw: RawFilter, limits: CountLimits): number {
  const counts: Counts = { conditions: 0, values: 0, patterns: 0 }
  count(raw, counts)
  const beyond = (Object.keys(counts) as (keyof Counts)[]).filter((name) => counts[name] > limits[name])
  if (beyond.length === 0) return counts.values
  throw invalidQuery(
    beyond.map((name) => ({ path: 'q', code: 'too_many', message: `has more than ${limits[name]} ${name}` })),
  )
}

/** Counts every operator and its values, in all groups. */
function count({ conditions, groups }: RawFilter, counts: Counts): void {
  for (const operators of conditions.values()) {
    for (const [operator, texts] of operators) {
      if (operator === OPTIONS) continue
      const { operand } = OPERATORS[operator as OperatorName]
      counts.conditions += 1
      counts.values += operand === 'list' ? countValues(texts) : texts.length
      if (operand === 'pattern') counts.patterns += texts.length
    }
  }
  for (const group of groups.values()) count(group, counts)
}

/** Counts the values of a list operator. Each text is a JSON array or one value. */
function countValues(texts: readonly string[]): number {
  return texts.reduce((total, text) => {
    if (!isArrayText(text)) return total + 1
    try {
      const list: unknown = JSON.parse(text)
      return total + (Array.isArray(list) ? list.length : 1)
    } catch {
      return total + 1
    }
  }, 0)
}
