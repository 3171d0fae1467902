import type { Deadline } from './deadline.js'
import type { Store } from './store.js'

/**
 * Slows down guessing: failed attempts take places per identifier, for one client and in total, in the storage, so that
 * all processes share them (CONTRACT.md §4, "Throttle").
 */
export interface Throttle {
  /**
   * Runs an attempt when its turn comes. One that rejects with `invalid_credentials` takes a place before it is
   * answered; one that resolves releases the places of its client. Rejects with `too_many_attempts` if no place is left,
   * regardless of the attempt's result, and with `overloaded` if too many wait.
   */
  run<T>(by: AttemptContext, from: AttemptOrigin, attempt: () => Promise<T>): Promise<T>
}

/** The account and the client of an attempt; `client` is `undefined` if unknown. */
export interface AttemptOrigin {
  /** In stored form. */
  readonly identifier: string
  readonly client: string | undefined
}

/** The call of an attempt. */
export interface AttemptContext {
  readonly store: Store
  readonly deadline: Deadline
}
