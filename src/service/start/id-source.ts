import { v7 } from 'uuid'

/**
 * A source of UUIDs of version 7 that ascend in this process, whatever the clock does: within a millisecond, and when
 * the clock goes back, a counter goes on.
 */
export function createIdSource(now: () => number): () => string {
  let milliseconds = 0
  let sequence = 0
  return () => {
    const time = Math.floor(now())
    if (time > milliseconds) {
      milliseconds = time
      // The upper half is left free to count in.
      sequence = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) >>> 1
    } else if (sequence === 0xffff_ffff) {
      milliseconds += 1
      sequence = 0
    } else sequence += 1
    return v7({ msecs: milliseconds, seq: sequence })
  }
}
