import type { Deadline } from './deadline.js'
import type { Store } from './store.js'

/**
 * Slows guessing down: failed attempts take places by identifier, from one client and from anywhere, in the
 * storage, so that all processes share them (CONTRACT.md §4, "Throttle").
 */
export interface Throttle {
  /**
   * Runs an attempt when its turn comes. One that rejects with `invalid_credentials` takes a place before it is
   * answered; one that resolves gives back what its client took. Rejects with `too_many_attempts` where no
   * place is left, whatever came of the attempt, and with `overloaded` where too many wait.
   */
  run<T>(by: AttemptContext, from: AttemptOrigin, attempt: () => Promise<T>): Promise<T>
}

/** The account and the client of an attempt; `client` is `undefined` where it is not known. */
export interface AttemptOrigin {
  /** In stored form. */
  readonly identifier: string
  readonly client: string | undefined
}

/** The call that tries. */
export interface AttemptContext {
  readonly store: Store
  readonly deadline: Deadline
}
