/**
 * Milliseconds after which work has waited long. Most work ends earlier, so it is not worth listening to the signal of
 * its caller before.
 */
export const LONG_WAIT = 150

/**
 * Work without a signal is given up after this many milliseconds without an answer to its statement. It is longer than
 * `BOUND_STATEMENT`.
 */
export const SILENCE = 65_000

/** Milliseconds for which `close` waits for connections in use. */
export const LEAVE = 5000

/** Further milliseconds in which work that `close` has given up may return its connection. */
export const LEFT = 2000

/** Milliseconds for which the adapter waits for a server or a connection before it stops relying on it. */
export const GRACE = 1000

// Captured when this module loads, so that the fake timers of a test do not stop the adapter.
export const [startTimer, stopTimer, atEndOfTurn] = [setTimeout, clearTimeout, setImmediate]

/** Resolves after some milliseconds. */
export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => startTimer(resolve, milliseconds))

/** Resolves to the value of a promise, or to `undefined` after some milliseconds. */
export async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = startTimer(() => resolve(undefined), milliseconds)
  })
  return Promise.race([promise, late]).finally(() => stopTimer(timer))
}
