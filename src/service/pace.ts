import { addSteps, LONG_FIRST_SLICE, runSliced, SLICE, type Sliced } from '../slices.js'
import type { MaybePromise } from '../types.js'

/**
 * Counts the steps of work that goes on piece by piece, and lets other work run when a slice of them is used
 * up.
 */
export type Pace = (steps: number) => MaybePromise<void>

/**
 * Creates the pace of one answer. When `signal` aborts, the next pause throws its reason.
 *
 * @param first the steps before the first pause: short answers, as most are, never wait
 */
export function createPace(signal: () => AbortSignal, first = LONG_FIRST_SLICE): Pace {
  let left = first
  return (steps) => {
    addSteps(steps)
    left -= steps
    if (left > 0) return undefined
    left = SLICE
    return runSliced(pause, signal)
  }
}

function* pause(): Sliced<void> {
  yield
}
