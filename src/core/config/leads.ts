import type { Demand } from '../claims/query/demands.js'
import type { FieldRef } from '../filter/filter.js'
import type { IndexPlan } from '../storage.js'

/** Whether a demand is on the field of a column. */
export const isDemandOn = ({ path, isList }: Demand, column: FieldRef): boolean =>
  path === column.path && isList === column.each && column.inside === undefined

/**
 * Whether an index finds the documents that meet demands: a bound on its first field suffices, but up to a field of
 * array elements each field must be fixed.
 */
export function leads(
  { fields }: Pick<IndexPlan, 'fields'>,
  isBound: (column: FieldRef) => boolean,
  isFixed: (column: FieldRef) => boolean,
): boolean {
  const [first] = fields
  const last = fields.findIndex(({ each }) => each)
  return first !== undefined && isBound(first) && fields.slice(0, last + 1).every(isFixed)
}
