import { canHold, type OrderKey } from './compare.js'
import { conditionsOf, type FieldRef, type Filter, ID } from './filter.js'
import { groupEqualities } from './join-equalities.js'

/** How an index, sorted by its columns, serves a read. */
export interface IndexUse {
  /** For each of the first columns, a condition that allows one value, a few, or only a missing one. */
  readonly fixing: readonly Filter[]
  /** For the next column, the first condition that bounds it on each side; further bounds are ignored. */
  readonly lower: Filter | undefined
  readonly upper: Filter | undefined
  /** The sort keys that the index provides, all in one direction; `undefined` if it does not provide the order. */
  readonly order: readonly OrderKey[] | undefined
  /**
   * The sort keys that the index provides for one value of each column of `fixing`: those of `order`, or those of each
   * range of `splitRanges`, so that the ranges can be merged.
   */
  readonly rangeOrder: readonly OrderKey[] | undefined
  /** Whether a document may be in several ranges: a list of values fixes the column of array elements. */
  readonly overlaps: boolean
}

/** Whether a field is the one of a column. */
export const isOn = (field: FieldRef, column: FieldRef): boolean =>
  field.path === column.path &&
  field.type === column.type &&
  field.each === column.each &&
  field.inside === column.inside

/**
 * Finds the range of an index that contains all matches, and whether it provides the order. `undefined` for an index of
 * array elements if no condition fixes the element: it lacks some documents, and contains others several times.
 */
export function useIndex(
  columns: readonly FieldRef[],
  conditions: readonly Filter[],
  sort: readonly OrderKey[],
): IndexUse | undefined {
  const fixing: Filter[] = []
  for (const column of columns) {
    const found =
      conditions.find((condition) => fixes(condition, column)) ??
      conditions.find((condition) => leavesFew(condition, column))
    if (!found) break
    fixing.push(found)
  }
  const given = columns.slice(fixing.length)
  if (given.some(({ each }) => each)) return undefined
  const [next] = given
  const find = (kinds: readonly Filter['kind'][]): Filter | undefined =>
    conditions.find((condition) => next && kinds.includes(condition.kind) && bounds(condition, next))
  const keys = keysOf(conditions, sort)
  const provide = (keys: readonly OrderKey[]): readonly OrderKey[] | undefined =>
    keys.every(({ field, descending }, i) => {
      const column = given[i]
      return column !== undefined && isOn(field, column) && descending === keys[0]?.descending
    })
      ? keys
      : undefined
  const fixed = columns.slice(0, fixing.length)
  const isOneRange = fixing.every(({ kind }) => kind !== 'or')
  return {
    fixing,
    lower: find(['gt', 'gte']) ?? find(['present']),
    upper: find(['lt', 'lte']),
    order: isOneRange || keys.length === 0 ? provide(keys) : undefined,
    rangeOrder: provide(keys.filter(({ field }) => !fixed.some((column) => isOn(field, column)))),
    overlaps: fixing.some(({ kind }, i) => kind === 'or' && columns[i]?.each === true),
  }
}

/** The most ranges that are merged: each further one costs more than it saves. */
export const MAX_RANGES = 64

/**
 * The ranges of a use, each with one value of every column of `fixing`, unordered; `undefined` if there are more than
 * `most`. A document is in two of them only if the use `overlaps`.
 */
export function splitRanges(use: IndexUse, most = MAX_RANGES): readonly IndexUse[] | undefined {
  const lists = use.fixing.map((fix) => (fix.kind === 'or' ? distinctOf(fix.filters) : [fix]))
  if (lists.reduce((total, { length }) => total * length, 1) > most) return undefined
  return combine(lists).map((fixing) => ({ ...use, fixing, order: use.rangeOrder }))
}

/** The Cartesian product of lists. */
export function combine<T>(lists: readonly (readonly T[])[]): readonly (readonly T[])[] {
  let known: readonly (readonly T[])[] = [[]]
  for (const list of lists) known = known.flatMap((prefix) => list.map((one) => [...prefix, one]))
  return known
}

/** Equalities on one field, each value once. */
const distinctOf = (filters: readonly Filter[]): readonly Filter[] => [
  ...new Map(filters.map((one) => ['value' in one && one.value, one])).values(),
]

/** The keys that decide an order among the matches of conditions: a field with one value does not. */
export const keysOf = (conditions: readonly Filter[], sort: readonly OrderKey[]): readonly OrderKey[] =>
  sort.filter(({ field }) => field.each || !conditions.some((condition) => fixes(condition, field)))

/**
 * Whether a range of an index is in the order of keys. A column with one value is skipped if it is not a key; a column
 * with a list of values must be a key.
 */
export function isInOrder(
  columns: readonly FieldRef[],
  fixing: readonly Filter[],
  keys: readonly OrderKey[],
): boolean {
  let place = 0
  return keys.every(({ field, descending }) => {
    const next = columns.findIndex(
      (column, i) => i >= place && (isOn(field, column) || (fixing[i]?.kind ?? 'or') === 'or'),
    )
    const column = columns[next]
    place = next + 1
    return (
      column &&
      !column.each &&
      isOn(field, column) &&
      fixing[next]?.kind !== 'not' &&
      descending === keys[0]?.descending
    )
  })
}

const replaceIn = (
  conditions: readonly Filter[],
  one: Filter,
  others: readonly Filter[],
): readonly Filter[] => conditions.flatMap((condition) => (condition === one ? others : condition))

/** The whole filter for one alternative of a condition, and the conditions of the alternative itself. */
export interface Alternative {
  readonly all: readonly Filter[]
  readonly own: readonly Filter[]
}

/**
 * The ways to split a filter: for each condition with alternatives on several fields, the whole filter for each of
 * them. A document may match several. Equalities on one field are one alternative.
 *
 * @example
 * ```ts
 * // due > 5 and (state = 'public' or team = 'a' or team = 'b')
 * splitAlternatives(conditions) // all: [[due > 5, state = 'public'], [due > 5, team = 'a' or team = 'b']]
 * ```
 */
export const splitAlternatives = (conditions: readonly Filter[]): readonly (readonly Alternative[])[] =>
  conditions.flatMap((condition) => {
    if (condition.kind !== 'or') return []
    const parts = groupEqualities(condition.filters)
    if (parts.length < 2 || parts.length > MAX_RANGES) return []
    return [
      parts.map((part) => {
        const own = conditionsOf(part)
        // Each alternative replaces the condition in place: conditions of a rule stay before those of a query.
        return { own, all: replaceIn(conditions, condition, own) }
      }),
    ]
  })

interface Indexed {
  readonly fields: readonly FieldRef[]
}

/**
 * Whether indexes provide an order, also after fields that the filter fixes, by merging at most `MAX_RANGES` ranges.
 */
export function isOrderIndexed(some: readonly Indexed[], filter: Filter, sort: readonly OrderKey[]): boolean {
  const indexes = [{ fields: [] }, ...some]
  // PostgreSQL sorts the rows after a condition on a missing value, so only equalities count.
  const equal = (conditions: readonly Filter[]): readonly Filter[] =>
    conditions.filter(({ kind }) => kind === 'eq' || kind === 'or')
  const conditions = equal(conditionsOf(filter))
  const keys = keysOf(conditions, sort)
  const count = (part: readonly Filter[]): number =>
    Math.min(...indexes.map(({ fields }) => countRanges([...fields, ID], equal(part), keys)))
  return [[{ all: conditions }], ...splitAlternatives(conditions)].some(
    (parts) => parts.reduce((total, { all }) => total + count(all), 0) <= MAX_RANGES,
  )
}

/** The number of ranges of an index that have all matches in order. */
function countRanges(
  columns: readonly FieldRef[],
  conditions: readonly Filter[],
  keys: readonly OrderKey[],
): number {
  if (keys.length === 0) return 1
  const use = useIndex(columns, conditions, keys)
  const ranges = use && splitRanges(use)
  const [first] = ranges ?? []
  return ranges && first && isInOrder(columns, first.fixing, keys) ? ranges.length : Number.POSITIVE_INFINITY
}

/** Whether the matches of a condition are adjacent in an index whose next column this is. */
export const isRange = (condition: Filter, column: FieldRef): boolean =>
  // An equality on an element leaves the other elements of the array open.
  !column.each && (fixes(condition, column) || bounds(condition, column))

/**
 * Whether a condition allows only one value of a column, or only a missing one. An `_id` is never missing, nor is an
 * element in an index.
 */
export function fixes(condition: Filter, column: FieldRef): boolean {
  if (condition.kind === 'eq') return isOn(condition.field, column) && canHold(column.type, condition.value)
  return (
    condition.kind === 'not' &&
    condition.filter.kind === 'present' &&
    column.path !== ID.path &&
    !column.each &&
    isOn(condition.filter.field, column)
  )
}

const leavesFew = (condition: Filter, column: FieldRef): boolean =>
  condition.kind === 'or' &&
  condition.filters.length > 0 &&
  condition.filters.every((part) => part.kind === 'eq' && fixes(part, column))

const RANGES: ReadonlySet<Filter['kind']> = new Set(['lt', 'lte', 'gt', 'gte', 'present'])

const bounds = (condition: Filter, column: FieldRef): boolean =>
  RANGES.has(condition.kind) &&
  'field' in condition &&
  isOn(condition.field, column) &&
  (!('value' in condition) || canHold(column.type, condition.value))
