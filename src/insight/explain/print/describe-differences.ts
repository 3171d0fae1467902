import type { Difference } from '../../diff/types.js'

/** The most differences that are printed; `diff` prints them all, each with a counterexample. */
const MOST = 8

/** The rights that a change of permissions grants and removes, one line for each. */
export function describeDifferences(differences: readonly Difference[]): readonly string[] {
  const lines = differences.slice(0, MOST).map(describe)
  const more = differences.length - lines.length
  return more > 0 ? [...lines, `and ${more} more`] : lines
}

function describe(difference: Difference): string {
  if (difference.kind === 'undecided') {
    const { operation, collection } = difference
    return `undecided: ${operation} ${collection}`
  }
  if (!('witness' in difference)) return `${difference.kind}: ${difference.pointer}`
  const { kind, operation, collection, fields, roles, stale } = difference
  const who = roles === null ? 'anyone' : roles.length === 0 ? 'anyone who is signed in' : roles.join(' and ')
  const what = fields.length > 0 ? `, ${fields.join(', ')}` : ''
  return `${kind}: ${operation} ${collection}${what}, by ${who}${stale ? ' (with a document stored before)' : ''}`
}
