import { runSliced, SLICE } from '../slices.js'
import type { MaybePromise } from '../types.js'

/** Takes the steps of work that goes on piece by piece, and lets others come first where a slice of them is used up. */
export type Pace = (steps: number) => MaybePromise<void>

/** Steps before the first pause: what is short, as most answers are, never waits. */
const FIRST = SLICE / 5

/** The pace of one answer. Where `signal` aborts, the next pause throws its reason. */
export function createPace(signal: () => AbortSignal): Pace {
  let left = FIRST
  return (steps) => {
    left -= steps
    if (left > 0) return undefined
    left = SLICE
    return runSliced(function* () {
      yield
    }, signal)
  }
}

/** The steps that it takes to write so many characters of JSON. */
export const stepsToWrite = (characters: number): number => 10 + characters / 16
