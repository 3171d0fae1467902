import type { Deadline } from './deadline.js'
import type { Store } from './store.js'

/**
 * Limits how often secrets can be guessed: each failed attempt takes a place in the ledger of its identifier, which
 * limits the places of each client and of all clients combined. Ledgers are stored, so that all processes share them
 * (CONTRACT.md §4, "Throttle").
 */
export interface Throttle {
  /**
   * Runs an attempt when its turn comes. An attempt that rejects with `invalid_credentials` takes a place before its
   * response is sent; an attempt that resolves frees the places of its client. Rejects with `too_many_attempts` if no
   * place is free, regardless of the attempt's result, and with `overloaded` if too many attempts wait.
   */
  run<T>(by: AttemptContext, from: AttemptOrigin, attempt: () => Promise<T>): Promise<T>
}

/** The identifier that an attempt names, and the address of its client; `client` is `undefined` if it is unknown. */
export interface AttemptOrigin {
  /** In stored form. */
  readonly identifier: string
  readonly client: string | undefined
}

/** The store and the deadline of the request that makes an attempt. */
export interface AttemptContext {
  readonly store: Store
  readonly deadline: Deadline
}
