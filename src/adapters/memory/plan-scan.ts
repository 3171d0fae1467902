import type { FieldRef, Filter, Scalar } from '../../filter/filter.js'
import type { Row, Rows } from './rows.js'
import type { UniqueIndex } from './unique-index.js'

/**
 * Where the documents that can match a filter are looked for: the narrowest of an id, a unique value, and everything,
 * then ascending by `_id` where that `isOrdered`.
 */
export function planScan(
  filter: Filter,
  rows: Rows,
  indexes: readonly UniqueIndex[],
  isOrdered: boolean,
): readonly Row[] {
  for (const condition of filter.kind === 'and' ? filter.filters : [filter]) {
    if (condition.kind !== 'eq' || condition.field.each) continue
    const id = findId(condition.field, condition.value, indexes)
    if (id === undefined) continue
    const row = id === null ? undefined : rows.get(id)
    return row ? [row] : []
  }
  return isOrdered ? rows.inOrder() : rows.inAnyOrder()
}

/** The only id that can match; `null` where there is none, `undefined` where the field does not tell. */
function findId(
  { path, type }: FieldRef,
  value: Scalar,
  indexes: readonly UniqueIndex[],
): string | null | undefined {
  if (path === '_id') return typeof value === 'string' ? value : null
  for (const index of indexes) {
    const [field, ...others] = index.fields
    if (others.length === 0 && field?.path === path && field.type === type) return index.lookUp(value) ?? null
  }
  return undefined
}
