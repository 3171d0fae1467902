import { canHold } from './compare.js'
import { type FieldRef, type Filter, ID } from './filter.js'
import type { OrderKey } from './order.js'

/** How an index, sorted by its columns, serves a read. */
export interface IndexUse {
  /** For each of the first columns, a condition that allows one value, a few, or only a missing one. */
  readonly fixing: readonly Filter[]
  /** For the next column, the first condition that bounds it on each side; further ones are ignored. */
  readonly lower: Filter | undefined
  readonly upper: Filter | undefined
  /** The sort keys that the index provides, all in one direction; `undefined` where it does not. */
  readonly order: readonly OrderKey[] | undefined
}

/** The conditions of a filter that must all hold. */
export const conditionsOf = (filter: Filter): readonly Filter[] =>
  filter.kind === 'and' ? filter.filters : [filter]

/** Whether a field is that of a column; a field of array elements is not. */
export const isOn = (field: FieldRef, column: FieldRef): boolean =>
  field.path === column.path && field.type === column.type && !field.each

/** Finds the part of an index that can meet the conditions, and whether it provides the order. */
export function useIndex(
  columns: readonly FieldRef[],
  conditions: readonly Filter[],
  sort: readonly OrderKey[],
): IndexUse {
  const fixing: Filter[] = []
  for (const column of columns) {
    const found = conditions.find((condition) => fixes(condition, column) || leavesFew(condition, column))
    if (!found) break
    fixing.push(found)
  }
  const given = columns.slice(fixing.length)
  const [next] = given
  const find = (kinds: readonly Filter['kind'][]): Filter | undefined =>
    conditions.find((condition) => next && kinds.includes(condition.kind) && bounds(condition, next))
  // A field with one value does not affect the order.
  const keys = sort.filter(({ field }) => !conditions.some((condition) => fixes(condition, field)))
  const isGiven =
    fixing.every(({ kind }) => kind !== 'or') &&
    keys.every(({ field, descending }, i) => {
      const column = given[i]
      return column !== undefined && isOn(field, column) && descending === keys[0]?.descending
    })
  return {
    fixing,
    lower: find(['gt', 'gte']) ?? find(['present']),
    upper: find(['lt', 'lte']),
    order: isGiven || keys.length === 0 ? keys : undefined,
  }
}

/** Whether one of the indexes provides an order, also behind fields that the filter fixes. */
export function isOrderIndexed(
  indexes: readonly { readonly fields: readonly FieldRef[] }[],
  filter: Filter,
  sort: readonly OrderKey[],
): boolean {
  // PostgreSQL sorts behind a missing value, so only equalities count.
  const equalities = conditionsOf(filter).filter(({ kind }) => kind === 'eq')
  return [{ fields: [] }, ...indexes].some(
    ({ fields }) => useIndex([...fields, ID], equalities, sort).order !== undefined,
  )
}

/** Whether the matches of a condition are adjacent in an index whose next column this is. */
export const isRange = (condition: Filter, column: FieldRef): boolean =>
  fixes(condition, column) || bounds(condition, column)

/** Whether a condition allows only one value of a column, or only a missing one. No `_id` is missing. */
function fixes(condition: Filter, column: FieldRef): boolean {
  if (condition.kind === 'eq') return isOn(condition.field, column) && canHold(column.type, condition.value)
  return (
    condition.kind === 'not' &&
    condition.filter.kind === 'present' &&
    column.path !== ID.path &&
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
