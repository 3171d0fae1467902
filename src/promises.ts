import type { MaybePromise } from './types.js'

/** Whether a value is only promised. */
export const isPromise = <T>(value: MaybePromise<T>): value is Promise<T> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/**
 * Continues with a value: at once, where it is not a promise. A storage in memory answers without a
 * promise, and a request that never waits costs half of one that does.
 */
export const whenReady = <T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> =>
  // What a storage gives may have a `then` that returns nothing.
  isPromise(value) ? Promise.resolve(value).then(next) : next(value)

/** Works on one after another; a promise where that takes waiting. */
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

/** Lets what a host's function has returned fail in silence: a rejection that nobody hears of would end the process. */
export function ignoreFailure(returned: unknown): void {
  if (isPromise(returned)) Promise.resolve(returned).catch(() => {})
}

/** Resolves after so many milliseconds, or when `signal` aborts. */
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

/** Does one thing after another by key. */
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
