import { sleep } from '../promises.js'

/** The clocks of consumers. */
export interface Timing {
  /** Monotonic milliseconds with an arbitrary origin. */
  now(): number
  /** Milliseconds since 1970. */
  today(): number
  /** Resolves after `milliseconds`, or when `signal` aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>
}

/**
 * The clocks of the machine. Unlike a stream, a sleeping consumer keeps its process alive, because some processes exist
 * only to run consumers.
 */
export const TIMING: Timing = {
  now: () => performance.now(),
  today: () => Date.now(),
  sleep,
}
