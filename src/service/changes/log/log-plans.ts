import type { ServicePlan } from '../../../config/plan.js'
import type { CollectionPlan } from '../../../storage.js'
import { CONSUMERS_PLAN } from '../../consumers/records.js'
import { UNLOGGED } from '../../write/stored-document.js'
import { KEYS_PLAN } from '../event-key.js'

const HOUR = 3_600_000

/**
 * What a consumer has not handled is kept for 7 days, and as long as clocks may differ: the consumer itself says
 * what it skips. In processes without consumers too: they drop old changes as well.
 */
const KEEP_MARKED = (7 * 24 + 1) * HOUR

/** What the storage has to know of the collections, and of what the log of their changes needs. */
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
