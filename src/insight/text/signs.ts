import type { OperatorName } from '../../types.js'

/** What an operator is in print. */
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
