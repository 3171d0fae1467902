import { BatchStore } from '../batch/batch-store.js'
import { bounds } from '../bounds.js'
import { steadily } from '../request/authorize.js'
import { createByteBudget } from '../request/byte-budget.js'
import type { Call } from '../request/call.js'
import type { Attempt } from '../request/store/attempt.js'
import type { MaybePromise } from '../types.js'

/**
 * Runs writes that take effect together; each sees the writes before it. Inside a batch they take effect with the
 * batch.
 */
export function runTogether<T>(
  call: Call,
  run: (own: Call) => MaybePromise<T>,
  operations = 1,
): MaybePromise<T> {
  if (call.shared) return run(call)
  /** The index of the agreement that did not hold in the previous attempt. */
  let broken: number | undefined
  const attemptAs = async (present: Call): Promise<Attempt<T>> => {
    const budget = createByteBudget(bounds.writtenBytes, 'The documents of one write exceed 16 MiB in total.')
    const store = new BatchStore(call.store, budget, call.service.plan.collections)
    const chosen = new Set<string>()
    const done = await run(present.amid(store, { cascaded: 0, asked: operations, added: 0, chosen }))
    if (store.pending.isDeferring) {
      const unmet = await store.findBroken(0)
      if (unmet) throw unmet.thrown
    }
    const planned = await store.planSteps()
    const { steps, left } = planned
    const { agreements } = store.pending
    const find = (collection: string, id: string) => call.store.own(collection).find(id)
    return {
      steps: [...steps, ...agreements.flatMap(({ step }) => step ?? [])],
      done,
      after: store.pending.after,
      // If a hook chose the value of a unique field, a concurrent write that took the value first has also changed the
      // document from which the hook derived it, so a retry can succeed. A value that a client sent stays taken. Then
      // nothing is read, so that a registration with a taken identifier makes no further calls.
      findOvertaken: ({ reason, fields = NONE }) =>
        reason === 'unique' && areChosen(fields, chosen) ? store.findOvertaken(find) : undefined,
      async refuse(failure) {
        const place = failure.step - steps.length
        if (place >= 0) {
          // A concurrent write may be the cause, so the first failure is retried. If the same agreement fails again,
          // the writes of this call are the cause.
          if (broken === place) throw agreements[place]?.refuse?.()
          broken = place
          return undefined
        }
        const leaving = left[failure.step - (steps.length - left.length)]
        if (leaving && (await store.pending.contradicts(leaving, find)))
          throw new Error(
            'options.hooks: operations that a hook added contradict the write that it was called for, so the write can never succeed',
          )
        // The next attempt shows whether the client or a hook sent the reference to a deleted document.
        return failure.reason === 'missing' ? undefined : store.refuse(planned, failure, own)
      },
    }
  }
  return call.store.write(() => steadily(call, attemptAs))
}

const NONE: readonly string[] = []

const own = (_: number, thrown: unknown): unknown => thrown

/** Whether hooks chose the value of one of these fields. */
const areChosen = (fields: readonly string[], chosen: ReadonlySet<string>): boolean =>
  fields.some((name) => name === '_id' || chosen.has(name))
