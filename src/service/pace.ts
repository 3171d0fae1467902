import { bounds } from '../bounds.js'
import { addSteps, runSliced, type Sliced, stepsTaken } from '../slices.js'
import type { MaybePromise } from '../types.js'

/**
 * Counts the steps of work that goes on piece by piece, and lets other work run when a slice of them is used
 * up. `counted` are more steps, which `stepsTaken` has already: counted twice, they would grow without end where
 * several count those of each other.
 */
export type Pace = (steps: number, counted?: number) => MaybePromise<void>

/**
 * Creates the pace of one answer. When `signal` aborts, the next pause throws its reason.
 *
 * @param first the steps before the first pause: short answers, as most are, never wait
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
 * The pace of work for many, one after another: what `stepsTaken` counts meanwhile is added to the given steps.
 * Work of others that ran while this waited is counted as well, which costs a pause at most.
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
