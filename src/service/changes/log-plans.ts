import type { ServicePlan } from '../../config/plan.js'
import type { CollectionPlan } from '../../storage.js'
import { UNLOGGED } from '../write/stored-document.js'
import { KEYS_PLAN } from './event-key.js'

const HOUR = 3_600_000

/** What the storage has to know of the collections, and of what the log of their changes needs. */
export function plansOf({ collections, log, limits }: ServicePlan): readonly CollectionPlan[] {
  const plans = Array.from(collections.values(), ({ storage }) => storage)
  if (!log) return plans
  const keep = limits.changesHours * HOUR
  return [
    ...plans.map((plan) =>
      log.collections.has(plan.name) ? { ...plan, log: { omit: UNLOGGED, keep } } : plan,
    ),
    KEYS_PLAN,
  ]
}
