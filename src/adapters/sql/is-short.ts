import { type FieldRef, type Filter, ID } from '../../filter/filter.js'
import type { IndexPlan, ListQuery } from '../../storage.js'

/** Documents that a short read looks at, at most. */
const MAX_SHORT = 256

/**
 * Whether a read is short, whatever is stored: it names few documents by `_id` or by unique values, or an index gives its
 * first ones in order without passing others by. Matching a pattern is never short: it can take long on one document.
 */
export function isShort(
  indexes: readonly IndexPlan[],
  { filter, sort, skip, limit }: Pick<ListQuery, 'filter' | 'sort' | 'skip' | 'limit'>,
): boolean {
  if (hasPattern(filter)) return false
  if (countNamed(indexes, filter) <= MAX_SHORT) return true
  if (limit === null || skip + limit > MAX_SHORT) return false
  return [{ fields: [] }, ...indexes].some(({ fields }) => gives([...fields, ID], partsOf(filter), sort))
}

/** How many documents a filter can match at most, as far as it names them by `_id` or by unique values. */
export function countNamed(indexes: readonly IndexPlan[], filter: Filter): number {
  if (filter.kind === 'or')
    return filter.filters.reduce((total, part) => total + countNamed(indexes, part), 0)
  const parts = partsOf(filter)
  const isNamed = (field: FieldRef): boolean =>
    parts.some((part) => part.kind === 'eq' && isSame(part.field, field))
  if (isNamed(ID) || indexes.some(({ fields, unique }) => unique && fields.every(isNamed))) return 1
  return parts
    .filter((part) => part.kind === 'or')
    .reduce((least, part) => Math.min(least, countNamed(indexes, part)), Number.POSITIVE_INFINITY)
}

const partsOf = (filter: Filter): readonly Filter[] => (filter.kind === 'and' ? filter.filters : [filter])

function hasPattern(filter: Filter): boolean {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.filters.some(hasPattern)
    case 'not':
      return hasPattern(filter.filter)
    case 'match':
      return true
    case 'present':
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return false
    default:
      return filter satisfies never
  }
}

const isSame = (a: FieldRef, b: FieldRef): boolean => a.path === b.path && a.type === b.type && !a.each

/** Whether an index with these keys holds all that matches in one piece, and in order. */
function gives(keys: readonly FieldRef[], parts: readonly Filter[], sort: ListQuery['sort']): boolean {
  const isFixed = (field: FieldRef): boolean => parts.some((part) => fixes(part, field))
  const start = keys.findIndex((key) => !isFixed(key))
  const [next, ...others] = start < 0 ? [] : keys.slice(start)
  const fixed = keys.slice(0, keys.length - others.length - (next ? 1 : 0))
  const isSought = (part: Filter): boolean =>
    fixed.some((key) => fixes(part, key)) || (next !== undefined && bounds(part, next))
  if (!parts.every(isSought)) return false
  const order = sort.filter(({ field }) => !isFixed(field))
  if (order.some(({ descending }) => descending !== order[0]?.descending)) return false
  const given = next ? [next, ...others] : []
  return (
    order.length === 0 ||
    (order.length === given.length && order.every(({ field }, i) => field.path === given[i]?.path))
  )
}

/** Whether a condition leaves one value to a field, or none. */
function fixes(part: Filter, field: FieldRef): boolean {
  if (part.kind === 'not') return part.filter.kind === 'present' && isSame(part.filter.field, field)
  return part.kind === 'eq' && isSame(part.field, field)
}

const RANGES: ReadonlySet<Filter['kind']> = new Set(['lt', 'lte', 'gt', 'gte', 'present'])

/** Whether a condition is a range of the values of a field. */
const bounds = (part: Filter, field: FieldRef): boolean =>
  RANGES.has(part.kind) && 'field' in part && isSame(part.field, field)
