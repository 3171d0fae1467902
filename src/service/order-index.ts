import type { FieldRef, Filter } from '../filter/filter.js'
import type { CollectionPlan, SortKey } from '../storage.js'

/** Whether an index gives an order, perhaps behind fields that the filter fixes. */
export function isOrderIndexed(
  { indexes }: CollectionPlan,
  filter: Filter,
  sort: readonly SortKey[],
): boolean {
  const [first] = sort
  if (sort.some(({ descending }) => descending !== first?.descending)) return false
  const conditions = filter.kind === 'and' ? filter.filters : [filter]
  const isFixed = ({ path }: FieldRef): boolean =>
    conditions.some((condition) => condition.kind === 'eq' && condition.field.path === path)
  const keys = sort.map(({ field }) => field).filter((field) => field.path !== '_id' && !isFixed(field))
  return [{ fields: [] }, ...indexes].some(({ fields }) => {
    const start = fields.findIndex((field) => !isFixed(field))
    const given = start < 0 ? [] : fields.slice(start)
    return given.length === keys.length && given.every(({ path }, i) => path === keys[i]?.path)
  })
}
