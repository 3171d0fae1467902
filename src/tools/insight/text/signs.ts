import type { OperatorName } from '../../../core/types.js'

/** The printed sign of each operator. */
export const SIGNS: { readonly [name in OperatorName]: string } = {
  $eq: '=',
  $ne: '≠',
  $gt: '>',
  $gte: '≥',
  $lt: '<',
  $lte: '≤',
  $in: 'in',
  $nin: 'not in',
  $regex: 'matches',
  $exists: 'exists',
}
