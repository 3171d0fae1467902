import { formatTimestamp } from '../fields/timestamp.js'
import type { Clock } from '../permissions/caller.js'
import { ignoreFailure } from '../promises.js'

/** The host's clock. Throws unless it returns a number: a `Date` would be compared and added incorrectly. */
export const readClock =
  (now: () => unknown): (() => number) =>
  () => {
    const present = now()
    if (typeof present === 'number') return present
    ignoreFailure(present)
    throw new TypeError('options.now must return milliseconds')
  }

/** Creates a clock that gives `now`, in milliseconds since 1970, in stored form. */
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
