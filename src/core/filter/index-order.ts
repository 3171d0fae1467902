import { canHold, type OrderKey } from './compare.js'
import { conditionsOf, type FieldRef, type Filter, ID, isOn } from './filter.js'
import { groupEqualities } from './join-equalities.js'

/** How a query can use an index. The entries of an index are sorted by its columns. */
export interface IndexUse {
  /**
   * For each of the first columns, the condition that allows one value, a few values, or only a missing
   * value.
   */
  readonly fixing: readonly Filter[]
  /** The conditions that bound the next column from below and above. Further bounds are ignored. */
  readonly lower: Filter | undefined
  readonly upper: Filter | undefined
  /**
   * The sort keys by which the index sorts all matches: all ascending or all descending. `undefined` if it
   * does not sort them.
   */
  readonly order: readonly OrderKey[] | undefined
  /**
   * The sort keys by which the index sorts each range of `splitRanges`, so that the ranges can be merged. In
   * a range, each column of `fixing` has one value. `undefined` if the index does not sort the ranges.
   */
  readonly rangeOrder: readonly OrderKey[] | undefined
  /**
   * Whether a document may be in several ranges, because a list of values fixes a column of array elements.
   */
  readonly overlaps: boolean
}

/**
 * Finds the range of an index that contains all matches, and whether the index sorts them. Returns
 * `undefined` for an index of array elements if no condition fixes the element, because such an index lacks
 * documents without elements and contains others several times.
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

/** The maximum number of ranges that are merged. Each further range would cost more than it saves. */
export const MAX_RANGES = 64

/**
 * Splits the use of an index into unordered ranges, each with one value for every column of `fixing`. Returns
 * `undefined` if there are more than `most` ranges. A document can be in two ranges only if `use.overlaps` is
 * true.
 */
export function splitRanges(use: IndexUse, most = MAX_RANGES): readonly IndexUse[] | undefined {
  const lists = use.fixing.map((fix) => (fix.kind === 'or' ? distinctOf(fix.filters) : [fix]))
  if (lists.reduce((total, { length }) => total * length, 1) > most) return undefined
  return combine(lists).map((fixing) => ({ ...use, fixing, order: use.rangeOrder }))
}

/** Returns the Cartesian product of lists. */
export function combine<T>(lists: readonly (readonly T[])[]): readonly (readonly T[])[] {
  let known: readonly (readonly T[])[] = [[]]
  for (const list of lists) known = known.flatMap((prefix) => list.map((one) => [...prefix, one]))
  return known
}

/** Removes repeated values from equalities on one field. */
const distinctOf = (filters: readonly Filter[]): readonly Filter[] => [
  ...new Map(filters.map((one) => ['value' in one && one.value, one])).values(),
]

/**
 * Returns the sort keys that decide the order of the matches. A field that a condition fixes to one value
 * decides nothing.
 */
export const keysOf = (conditions: readonly Filter[], sort: readonly OrderKey[]): readonly OrderKey[] =>
  sort.filter(({ field }) => field.each || !conditions.some((condition) => fixes(condition, field)))

/**
 * Whether a range of an index is sorted by these keys. A column with one value is skipped if it is not a key.
 * A column with a list of values must be a key.
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

/**
 * One alternative of an `or`: its `own` conditions, and the conditions of the whole filter (`all`), in which
 * `own` replaces the `or`.
 */
export interface Alternative {
  readonly all: readonly Filter[]
  readonly own: readonly Filter[]
}

/**
 * Splits a filter at each `or` that has alternatives on several fields. Each list of the result contains the
 * whole filter once per alternative of one such `or`. A document may match several alternatives. Equalities
 * on one field are one alternative.
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
        // Each alternative takes the position of the `or`, so that conditions of a rule stay before those of
        // a query.
        return { own, all: conditions.flatMap((one) => (one === condition ? own : one)) }
      }),
    ]
  })

/**
 * Whether indexes can return the matches in sorted order by merging at most `MAX_RANGES` ranges. In an index,
 * fields that the filter fixes may come before the sort keys.
 */
export function isOrderIndexed(
  some: readonly { readonly fields: readonly FieldRef[] }[],
  filter: Filter,
  sort: readonly OrderKey[],
): boolean {
  const indexes = [{ fields: [] }, ...some]
  // PostgreSQL does not use the order of an index for a condition on a missing value, so only equalities
  // count.
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

/**
 * Returns how many ranges of an index must be merged to get all matches in order; infinite if the index does
 * not sort them.
 */
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
  // An equality on one element says nothing about the other elements of the array.
  !column.each && (fixes(condition, column) || bounds(condition, column))

/**
 * Whether a condition allows only one value of a column, or only a missing value. The latter does not apply
 * to `_id` or array elements, because an index has no entries without them.
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
