import { formatTimestamp } from '../fields/timestamp.js'
import type { Clock } from '../permissions/caller.js'

/** Creates a clock that gives `now`, in milliseconds since 1970, in stored form. */
export const createClock =
  (now: () => number): Clock =>
  () => {
    const time = formatTimestamp(now())
    if (time === undefined) throw new RangeError('the clock is outside the years 0001 to 9999')
    return time
  }
