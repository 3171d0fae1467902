import {
  and,
  conditionsOf,
  type FieldRef,
  type Filter,
  hasPattern,
  ID,
  isOn,
} from '../../../core/filter/filter.js'
import { isRange, splitAlternatives, splitRanges, useIndex } from '../../../core/filter/index-order.js'
import type { IndexPlan, ListQuery, SortKey } from '../../../core/storage.js'

/** The maximum number of documents that a short read visits. */
const MAX_SHORT = 256

/**
 * Whether a read visits few documents, however many are stored: its filter names few documents by `_id` or by unique
 * values, or an index yields the first documents in order. A read with a pattern is never short, because matching a
 * single document can take long.
 */
export function isShort(
  indexes: readonly IndexPlan[],
  { filter, sort, skip, limit }: Pick<ListQuery, 'filter' | 'sort' | 'skip' | 'limit'>,
): boolean {
  if (hasPattern(filter)) return false
  if (countNamed(indexes, filter) <= MAX_SHORT) return true
  if (limit === null || skip + limit > MAX_SHORT) return false
  const isGiven = (conditions: readonly Filter[]): boolean =>
    [{ fields: [] }, ...indexes].some(({ fields }) => gives([...fields, ID], conditions, sort))
  const conditions = conditionsOf(filter)
  if (isGiven(conditions)) return true
  // Only if the list has an order are the alternatives of a filter read separately and then merged.
  return (
    sort.length > 0 && splitAlternatives(conditions).some((parts) => parts.every(({ all }) => isGiven(all)))
  )
}

/**
 * Returns the maximum number of documents that a filter can match; infinity if it does not name them by `_id` or by
 * unique values.
 */
export function countNamed(indexes: readonly IndexPlan[], filter: Filter): number {
  if (filter.kind === 'or')
    return filter.filters.reduce((total, part) => total + countNamed(indexes, part), 0)
  const parts = conditionsOf(filter)
  const isNamed = (field: FieldRef): boolean =>
    parts.some((part) => part.kind === 'eq' && isOn(part.field, field))
  if (isNamed(ID) || indexes.some(({ fields, unique }) => unique && fields.every(isNamed))) return 1
  return parts
    .filter((part) => part.kind === 'or')
    .reduce((least, part) => Math.min(least, countNamed(indexes, part)), Number.POSITIVE_INFINITY)
}

/** A part of a filter. All its matches are in a few ranges of one index. */
interface Ranged {
  readonly filter: Filter
  /**
   * The order of the index if the part is a single range of documents; otherwise empty. A statement with this order
   * and a limit makes the database use the index.
   */
  readonly sort: readonly SortKey[]
}

/**
 * Splits a filter into parts that each need only a few ranges of an index. Together, the parts yield all matches, some
 * perhaps more than once. Returns `undefined` if indexes cannot answer the filter.
 */
export function findRanged(indexes: readonly IndexPlan[], filter: Filter): readonly Ranged[] | undefined {
  const all = [{ fields: [] }, ...indexes].map(({ fields }) => [...fields, ID])
  const rangedOf = (part: Filter): Ranged | undefined => {
    const conditions = conditionsOf(part)
    const columns = all.find((some) => gives(some, conditions, []))
    if (!columns || conditions.length === 0) return undefined
    const isOneRange = useIndex(columns, conditions, [])?.fixing.every(({ kind }) => kind !== 'or')
    const isOrdered = isOneRange && !columns.some(({ each }) => each)
    return { filter: part, sort: isOrdered ? columns.map((field) => ({ field, descending: false })) : [] }
  }
  const alternatives = splitAlternatives(conditionsOf(filter)).map((parts) =>
    parts.map(({ all }) => and(all)),
  )
  for (const parts of [[filter], ...alternatives]) {
    const ranged = parts.flatMap((part) => rangedOf(part) ?? [])
    if (ranged.length === parts.length) return ranged
  }
  return undefined
}

/** Whether an index with these columns has all matches in a few ranges, and each range in the requested order. */
function gives(
  columns: readonly FieldRef[],
  conditions: readonly Filter[],
  sort: ListQuery['sort'],
): boolean {
  const use = useIndex(columns, conditions, sort)
  if (!use) return false
  const ranged = columns.slice(0, use.fixing.length + 1)
  return (
    (use.order ?? (splitRanges(use) && use.rangeOrder)) !== undefined &&
    conditions.every(
      (condition) => use.fixing.includes(condition) || ranged.some((column) => isRange(condition, column)),
    )
  )
}
