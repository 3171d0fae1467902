import type { MaybePromise } from './types.js'

/** Whether a value is a promise. */
export const isPromise = <T>(value: MaybePromise<T>): value is Promise<T> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/**
 * Calls `next` with a value: synchronously if the value is not a promise. The in-memory storage returns no promises,
 * and a request that never waits costs half as much as a request that waits.
 */
export const whenReady = <T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> =>
  // A storage may return an object whose `then` returns nothing, so the object is first turned into a real promise.
  isPromise(value) ? Promise.resolve(value).then(next) : next(value)

/** Calls `work`. If it throws, or its promise rejects, continues with `recover`. */
export function whenFailed<T>(
  work: () => MaybePromise<T>,
  recover: (thrown: unknown) => MaybePromise<T>,
): MaybePromise<T> {
  try {
    const result = work()
    return isPromise(result) ? result.catch(recover) : result
  } catch (thrown) {
    return recover(thrown)
  }
}

/** Calls `work`, and then `end`, whether or not `work` fails. */
export function andFinally<T>(work: () => MaybePromise<T>, end: () => void): MaybePromise<T> {
  let isWaiting = false
  try {
    const result = work()
    isWaiting = isPromise(result)
    return isPromise(result) ? result.finally(end) : result
  } finally {
    if (!isWaiting) end()
  }
}

/**
 * Calls `work` for one item after another, until it returns a result, which is not `undefined`. Returns a promise only
 * if a call of `work` returns a promise.
 */
export function inTurn<T, U>(
  all: Iterable<T>,
  work: (one: T) => MaybePromise<U | undefined>,
): MaybePromise<U | undefined> {
  const left = all[Symbol.iterator]()
  const workOn = async (working: Promise<U | undefined>): Promise<U | undefined> => {
    let result = await working
    for (let next = left.next(); result === undefined && !next.done; next = left.next())
      result = await work(next.value)
    return result
  }
  for (let next = left.next(); !next.done; next = left.next()) {
    const result = work(next.value)
    if (isPromise(result)) return workOn(result)
    if (result !== undefined) return result
  }
  return undefined
}

/** Ignores the rejection of a promise that a host's function returned: if unhandled, it would end the process. */
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

/** Returns a function that runs pieces of work with the same key one after another. */
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

/** Runs work. No other work that the same function was given runs at the same time. */
export type RunAlone = <T>(work: () => Promise<T>) => Promise<T>

/** Creates a function that runs pieces of work one after another. */
export function createRunAlone(): RunAlone {
  let turn: Promise<unknown> = Promise.resolve()
  return (work) => {
    const own = turn.then(work)
    turn = own.catch(() => {})
    return own
  }
}
