import { runSliced, SLICE, type Sliced } from '../slices.js'
import type { MaybePromise } from '../types.js'

/**
 * Counts the steps of work that goes on piece by piece, and lets other work run when a slice of them is used
 * up.
 */
export type Pace = (steps: number) => MaybePromise<void>

/** The steps before the first pause: short answers, as most are, never wait. */
const FIRST = SLICE / 5

/** Creates the pace of one answer. When `signal` aborts, the next pause throws its reason. */
export function createPace(signal: () => AbortSignal): Pace {
  let left = FIRST
  return (steps) => {
    left -= steps
    if (left > 0) return undefined
    left = SLICE
    return runSliced(pause, signal)
  }
}

function* pause(): Sliced<void> {
  yield
}
