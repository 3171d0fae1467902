import { canHold } from './compare.js'
import { type FieldRef, type Filter, ID } from './filter.js'
import type { OrderKey } from './order.js'

/** How an index, which lies in the order of its columns, serves a read. */
export interface IndexUse {
  /** Of each of the first columns, a condition that leaves one value of it, one of a few, or none. */
  readonly fixing: readonly Filter[]
  /** Of the next column, the first condition that bounds it on each side; further ones are left. */
  readonly lower: Filter | undefined
  readonly upper: Filter | undefined
  /** The keys by which it gives the order asked for, all in one direction; `undefined` where it does not give it. */
  readonly order: readonly OrderKey[] | undefined
}

/** Conditions that hold together. */
export const conditionsOf = (filter: Filter): readonly Filter[] =>
  filter.kind === 'and' ? filter.filters : [filter]

/** Whether a field is the one of a column; what is asked of elements is not. */
export const isOn = (field: FieldRef, column: FieldRef): boolean =>
  field.path === column.path && field.type === column.type && !field.each

/** Which part of an index holds what meets conditions, and whether it gives an order. */
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
  // What has one value orders nothing.
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

/** Whether one of the indexes gives an order, perhaps behind fields that the filter fixes. */
export function isOrderIndexed(
  indexes: readonly { readonly fields: readonly FieldRef[] }[],
  filter: Filter,
  sort: readonly OrderKey[],
): boolean {
  // Behind a value that is missing PostgreSQL sorts.
  const equalities = conditionsOf(filter).filter(({ kind }) => kind === 'eq')
  return [{ fields: [] }, ...indexes].some(
    ({ fields }) => useIndex([...fields, ID], equalities, sort).order !== undefined,
  )
}

/** Whether a condition leaves what lies together in an index whose next column this is. */
export const isRange = (condition: Filter, column: FieldRef): boolean =>
  fixes(condition, column) || bounds(condition, column)

/** Whether a condition leaves one value of a column; or none, which no document has of its `_id`. */
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
