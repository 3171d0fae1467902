import type { CollectionPlan, LogPlan, StoredDocument, WriteStep } from '../../core/storage.js'
import { parsePosition } from './position.js'

/** The log options in the plans of an adapter's collections. */
export class LogPlans {
  readonly #logged = new Map<string, LogPlan>()
  readonly #marks = new Map<string, string>()
  #keep = 0
  #keepMarked = 0
  #bytes = 0

  /** The collections whose documents may contain marks (`CollectionPlan.mark`), each with the property of the marks. */
  get marks(): ReadonlyMap<string, string> {
    return this.#marks
  }

  /**
   * Returns the byte limit of the documents in the log. Beyond it, the oldest changes are dropped, except changes after
   * a mark.
   */
  bytes(): number {
    return this.#bytes
  }

  /** Returns the log options of a collection, or `undefined` if the collection is not recorded. */
  of(collection: string): LogPlan | undefined {
    return this.#logged.get(collection)
  }

  /** Whether any step of a write changes a recorded collection. */
  records(steps: readonly WriteStep[]): boolean {
    return this.#logged.size > 0 && steps.some((step) => this.#logged.has(step.in))
  }

  /**
   * Returns two times. A change from before `unmarked` is dropped unless its position is after a mark. A change from
   * before `any` is always dropped.
   */
  horizon(now: number): { readonly unmarked: number; readonly any: number } {
    return { unmarked: now - this.#keep, any: now - this.#keepMarked }
  }

  /**
   * Returns the lowest position of this log among the marks. A mark is a log position that a document stores, so that
   * later changes are not dropped.
   */
  findMark<Place>(
    log: string,
    documentsOf: (collection: string) => Iterable<StoredDocument>,
    isPlace: (value: unknown) => value is Place,
    compare: (a: Place, b: Place) => number,
  ): Place | undefined {
    let first: Place | undefined
    for (const [collection, property] of this.#marks)
      for (const { [property]: mark } of documentsOf(collection)) {
        const position = typeof mark === 'string' ? parsePosition(mark, isPlace) : undefined
        if (position?.log === log && (first === undefined || compare(position.place, first) < 0))
          first = position.place
      }
    return first
  }

  /** Returns the given plans. A plan without log options gets those of the earlier plan for its collection. */
  joined(plans: readonly CollectionPlan[]): readonly CollectionPlan[] {
    return plans.map((plan) => {
      const log = plan.log ?? this.of(plan.name)
      return log ? { ...plan, log } : plan
    })
  }

  add(plans: readonly CollectionPlan[]): void {
    for (const { name, log, mark } of plans) {
      if (mark !== undefined) this.#marks.set(name, mark)
      if (!log) continue
      this.#logged.set(name, log)
      this.#bytes = Math.max(this.#bytes, log.bytes ?? Number.POSITIVE_INFINITY)
      this.#keep = Math.max(this.#keep, log.keep)
      this.#keepMarked = Math.max(this.#keepMarked, log.keep, log.keepMarked ?? 0)
    }
  }
}
