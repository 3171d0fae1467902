import { isBusy } from '../faults.js'

/** Milliseconds that opening waits for other processes. */
const PATIENCE = 5000

/** Milliseconds between attempts, at most. */
const PAUSE = 20

/** Does work that other processes may stand in the way of, again until they do not; nothing else waits meanwhile. */
export async function whileBusy<T>(work: () => T): Promise<T> {
  const end = performance.now() + PATIENCE
  for (;;) {
    try {
      return work()
    } catch (thrown) {
      if (!isBusy(thrown) || performance.now() > end) throw thrown
    }
    await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * PAUSE))
  }
}
