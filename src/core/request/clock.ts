import { formatTimestamp } from '../fields/timestamp.js'
import type { Clock } from '../permissions/caller.js'
import { ignoreFailure } from '../promises.js'

/**
 * Wraps the host's clock. It throws if the host returns anything but a number: calculating with a `Date` would give
 * wrong results.
 */
export const readClock =
  (now: () => unknown): (() => number) =>
  () => {
    const present = now()
    if (typeof present === 'number') return present
    ignoreFailure(present)
    throw new TypeError('options.now must return a number of milliseconds')
  }

/** Creates a clock that returns the time of `now` (milliseconds since 1970) in stored form. */
export function createClock(now: () => number): Clock {
  let milliseconds = Number.NaN
  let time: string | undefined
  return () => {
    const present = now()
    // Requests in the same millisecond share the formatted time.
    if (present !== milliseconds) time = formatTimestamp(present)
    milliseconds = present
    if (time === undefined) throw new RangeError('the clock is outside the years 0001 to 9999')
    return time
  }
}
