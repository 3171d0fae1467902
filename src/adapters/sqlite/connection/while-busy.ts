import { isBusy } from '../faults.js'

/** Milliseconds for which opening waits for other processes. */
const PATIENCE = 5000

/** The longest pause between attempts, in milliseconds. */
const PAUSE = 20

/** Retries work while other processes block it, without blocking the event loop between attempts. */
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
