import type { MaybePromise } from './types.js'

/** Whether a value is a promise. */
export const isPromise = <T>(value: MaybePromise<T>): value is Promise<T> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/**
 * Continues with a value: at once if it is not a promise. A storage in memory returns no promises, and a request that
 * never waits costs half of one that does.
 */
export const whenReady = <T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> =>
  // The promise of a storage may have a `then` that returns nothing.
  isPromise(value) ? Promise.resolve(value).then(next) : next(value)

/** Works on one item after another; returns a promise if any of them takes waiting. */
export function inTurn<T>(all: Iterable<T>, work: (one: T) => MaybePromise<void>): MaybePromise<void> {
  const left = all[Symbol.iterator]()
  const goOn = (): MaybePromise<void> => {
    for (let next = left.next(); !next.done; next = left.next()) {
      const working = work(next.value)
      if (isPromise(working)) return working.then(goOn)
    }
  }
  return goOn()
}

/**
 * Ignores the rejection of a promise that a host's function has returned: an unhandled rejection would end the
 * process.
 */
export function ignoreFailure(returned: unknown): void {
  if (isPromise(returned)) Promise.resolve(returned).catch(() => {})
}

/** Resolves after some milliseconds, or when `signal` aborts. */
export const sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })

/** Creates a function that runs work with the same key one after another. */
export function createOrder(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return (key, work) => {
    const done = (last.get(key) ?? Promise.resolve()).then(work, work)
    last.set(key, done)
    const forget = (): void => {
      if (last.get(key) === done) last.delete(key)
    }
    done.then(forget, forget)
    return done
  }
}
