import type { ServicePlan } from '../../../config/plan.js'
import type { CollectionPlan } from '../../../storage.js'
import { CONSUMERS_PLAN } from '../../consumers/records.js'
import { UNLOGGED } from '../../write/stored-document.js'
import { KEYS_PLAN } from '../event-key.js'

const HOUR = 3_600_000

/**
 * Changes that a consumer has not handled are retained for 7 days plus a margin for clock differences: the consumer
 * itself logs what it skips. Processes without consumers use it too, because they also remove old changes.
 */
const KEEP_MARKED = (7 * 24 + 1) * HOUR

/** The plans of the collections for the storage, with those that the log of their changes needs. */
export function plansOf({ collections, log, limits }: ServicePlan): readonly CollectionPlan[] {
  const plans = Array.from(collections.values(), ({ storage }) => storage)
  if (!log) return plans
  const keep = limits.changesHours * HOUR
  return [
    ...plans.map((plan) =>
      log.collections.has(plan.name)
        ? { ...plan, log: { omit: UNLOGGED, keep, keepMarked: KEEP_MARKED, bytes: limits.changesBytes } }
        : plan,
    ),
    KEYS_PLAN,
    CONSUMERS_PLAN,
  ]
}
