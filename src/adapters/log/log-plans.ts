import type { CollectionPlan, LogPlan, WriteStep } from '../../core/storage.js'

/** The log options in the plans of an adapter's collections. */
export interface LogPlans {
  /** Returns the log options of a collection, or `undefined` if the collection is not recorded. */
  of(collection: string): LogPlan | undefined
  /** The collections whose documents may contain marks (`CollectionPlan.mark`), each with the property of the marks. */
  readonly marks: ReadonlyMap<string, string>
  /** Whether any step of a write changes a recorded collection. */
  records(steps: readonly WriteStep[]): boolean
  /**
   * Returns two times. A change from before `unmarked` is dropped unless its position is after a mark. A change from
   * before `any` is always dropped.
   */
  horizon(now: number): { readonly unmarked: number; readonly any: number }
  /**
   * Returns the byte limit of the documents in the log. Beyond it, the oldest changes are dropped, except changes after
   * a mark.
   */
  bytes(): number
  /** Returns the given plans. A plan without log options gets those of the earlier plan for its collection. */
  joined(plans: readonly CollectionPlan[]): readonly CollectionPlan[]
  add(plans: readonly CollectionPlan[]): void
}

/** Creates the log options of an adapter that has no plans yet. */
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
