import type { CollectionPlan, LogPlan, WriteStep } from '../../core/storage.js'

/** The log options of an adapter's plans. */
export interface LogPlans {
  /** How a collection is recorded; `undefined` if it is not. */
  of(collection: string): LogPlan | undefined
  /** The collections whose documents hold marks, with the property. */
  readonly marks: ReadonlyMap<string, string>
  /** Whether any step of a write is recorded. */
  records(steps: readonly WriteStep[]): boolean
  /** The times before which changes are dropped: changes that no mark precedes (`unmarked`), and all (`any`). */
  horizon(now: number): { readonly unmarked: number; readonly any: number }
  /** The bytes of documents beyond which the oldest changes are dropped, unless a mark precedes them. */
  bytes(): number
  /** The given plans, with the log options of earlier plans. */
  joined(plans: readonly CollectionPlan[]): readonly CollectionPlan[]
  add(plans: readonly CollectionPlan[]): void
}

/** Creates the plans of an adapter that is not yet open. */
export function createLogPlans(): LogPlans {
  const logged = new Map<string, LogPlan>()
  const marks = new Map<string, string>()
  let [keep, keepMarked, bytes] = [0, 0, 0]
  return {
    of: (collection) => logged.get(collection),
    marks,
    records: (steps) => logged.size > 0 && steps.some((step) => logged.has(step.in)),
    bytes: () => bytes,
    horizon: (now) => ({ unmarked: now - keep, any: now - keepMarked }),
    joined: (plans) =>
      plans.map((plan) => {
        const log = plan.log ?? logged.get(plan.name)
        return log ? { ...plan, log } : plan
      }),
    add(plans) {
      for (const { name, log, mark } of plans) {
        if (mark !== undefined) marks.set(name, mark)
        if (!log) continue
        logged.set(name, log)
        bytes = Math.max(bytes, log.bytes ?? Number.POSITIVE_INFINITY)
        keep = Math.max(keep, log.keep)
        keepMarked = Math.max(keepMarked, log.keep, log.keepMarked ?? 0)
      }
    },
  }
}
