import { bounds } from '../bounds.js'
import { addSteps, runSliced, type Sliced, stepsTaken } from '../slices.js'
import type { MaybePromise } from '../types.js'

/**
 * Counts the steps of work that runs in slices, and lets other work run when a slice is used up. `counted` are further
 * steps that `stepsTaken` already has: if each of several paces counted those of the others again, the count would grow
 * without bound.
 */
export type Pace = (steps: number, counted?: number) => MaybePromise<void>

/**
 * Creates the pace of one answer. When `signal` aborts, the next pause throws its reason.
 *
 * the steps before the first pause: short answers never wait
 */
export function createPace(signal: () => AbortSignal | undefined, first = bounds.longFirstSlice): Pace {
  let left = first
  return (steps, counted = 0) => {
    addSteps(steps)
    left -= steps + counted
    if (left > 0) return undefined
    left = bounds.slice
    return runSliced(pause, signal)
  }
}

/**
 * The pace of work for many callers, one after another: the steps that `stepsTaken` counts meanwhile are added to the
 * given steps. Work of others that ran during a pause is counted as well, which costs at most one pause.
 */
export function createEachPace(): (stepsOfOne: number) => MaybePromise<void> {
  const pace = createPace(() => undefined)
  let before = stepsTaken()
  return (stepsOfOne) => {
    const pause = pace(stepsOfOne, stepsTaken() - before)
    before = stepsTaken()
    return pause
  }
}

function* pause(): Sliced<void> {
  yield
}
