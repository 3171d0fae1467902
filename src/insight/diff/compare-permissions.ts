import { compileForInsight } from '../compile.js'
import type { InsightOptions } from '../options.js'
import { compareCollection, type Plans } from './compare-collection.js'
import type { Difference } from './types.js'

/**
 * Compares what two configurations permit (CONTRACT.md §8, "`diff`"): every difference that one read, create, PATCH,
 * PUT or DELETE of one document can show, each with the smallest set of roles that sees it and a case that can be run.
 * Schemas, limits and `auth` are compared as structures. Throws `ConfigError` with the faults of either.
 *
 * @example
 * ```ts
 * const differences = comparePermissions(before, after)
 * const isSafe = differences.every(({ kind }) => kind === 'narrowing')
 * ```
 */
export function comparePermissions(
  before: unknown,
  after: unknown,
  options: InsightOptions = {},
): readonly Difference[] {
  const plans: Plans = {
    before: compileForInsight(before, options),
    after: compileForInsight(after, options),
    authenticate: options.authenticate ?? false,
  }
  return [...plans.after.collections].flatMap(([name, collection]) => {
    const old = plans.before.collections.get(name)
    return old ? compareCollection(plans, { before: old, after: collection }) : []
  })
}
