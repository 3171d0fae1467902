import { sleep } from '../../promises.js'

/** The clocks of consumers. */
export interface Timing {
  /** Milliseconds that only grow, from anywhere. */
  now(): number
  /** Milliseconds since 1970. */
  today(): number
  /** Resolves after so many milliseconds, or when `signal` aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>
}

/** The clocks of the machine. Unlike a stream, a consumer keeps its process alive: it is what a worker is for. */
export const TIMING: Timing = {
  now: () => performance.now(),
  today: () => Date.now(),
  sleep,
}
