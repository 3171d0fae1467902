import type { Demand } from '../claims/query/demands.js'
import type { FieldRef } from '../filter/filter.js'
import type { IndexPlan } from '../storage.js'

/** Whether a demand concerns the field of an index column. */
export const isDemandOn = ({ path, isList }: Demand, column: FieldRef): boolean =>
  path === column.path && isList === column.each && column.inside === undefined

/**
 * Whether an index finds the documents that satisfy demands. Its first field must be bound. If it has a field
 * of array elements, all fields up to this field must be fixed.
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
