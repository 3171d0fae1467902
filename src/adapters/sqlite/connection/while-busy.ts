import { isBusy } from '../faults.js'

/** The maximum number of milliseconds for which opening a file waits for other processes. */
const PATIENCE = 5000

/** The longest pause between two attempts, in milliseconds. */
const PAUSE = 20

/** Retries an operation while other processes block it, up to `PATIENCE`. Between attempts the event loop is free. */
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
