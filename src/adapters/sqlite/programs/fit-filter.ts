import { and, conditionsOf, type Filter } from '../../../core/filter/filter.js'
import { countBytes } from '../../../core/json/bytes.js'
import { compileCondition } from '../../sql/compile-condition.js'
import type { ProgramLimits } from './program-driver.js'
import { programEngine } from './program-engine.js'

/** A filter whose statement is within the limits of an engine. If it is not exact, it may match more documents. */
export interface FittedFilter {
  readonly filter: Filter
  readonly isExact: boolean
}

/** The depth of the expression of a leaf. */
const LEAF = 20

/** The depth that the rest of a statement adds to that of its condition. */
const AROUND = 8

/** The share of the text of a statement that its condition may have. */
const SHARE = 0.5

/**
 * Returns a filter that a statement within the limits can evaluate: the whole filter, or as many of its first conditions
 * as fit. Later conditions are left out, so that no statement evaluates them on documents that an earlier one hides.
 */
export function fitFilter(filter: Filter, limits: ProgramLimits): FittedFilter {
  const whole = compileFitting(filter, limits)
  if (whole) return { filter, isExact: whole.isExact }
  const conditions = conditionsOf(filter)
  for (let count = conditions.length >> 1; count > 0; count >>= 1) {
    const part = and(conditions.slice(0, count))
    if (compileFitting(part, limits)) return { filter: part, isExact: false }
  }
  return { filter: and([]), isExact: false }
}

function compileFitting(
  filter: Filter,
  { statementBytes, depth }: ProgramLimits,
): { readonly isExact: boolean } | undefined {
  if (depthOf(filter) + AROUND > depth) return undefined
  let place = 0
  const { dialect } = programEngine
  const { sql, isExact } = compileCondition(filter, dialect, (value) => dialect.parameter(++place, value))
  return countBytes(sql) > statementBytes * SHARE ? undefined : { isExact }
}

/** Returns an upper bound of the depth of a condition. */
function depthOf(filter: Filter): number {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return (
        depthOfChain(filter.filters.length) +
        filter.filters.reduce((deepest, one) => Math.max(deepest, depthOf(one)), LEAF)
      )
    case 'not':
      return depthOf(filter.filter)
    default:
      return LEAF
  }
}

/** Returns the depth of `count` conditions that are joined as a balanced tree of chains. */
function depthOfChain(count: number): number {
  const { longestChain = count } = programEngine.dialect
  return count <= longestChain ? Math.max(0, count - 1) : 1 + depthOfChain(Math.ceil(count / 2))
}
