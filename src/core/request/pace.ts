import { bounds } from '../bounds.js'
import { addSteps, runSliced, type Sliced } from '../slices.js'
import type { MaybePromise } from '../types.js'

/**
 * Counts the steps of work that runs in slices, and lets other work run when a slice is used up. `counted` are steps
 * that `stepsTaken` already includes: they use up the slice but are not added to `stepsTaken` again. Otherwise several
 * paces would count each other's steps without end.
 */
export type Pace = (steps: number, counted?: number) => MaybePromise<void>

/**
 * Creates the pace of one response. After `signal` has aborted, the next pause throws the reason of the signal. `first`
 * is the number of steps before the first pause, so that short responses never wait.
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

function* pause(): Sliced<void> {
  yield
}
