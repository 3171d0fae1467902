import type { QueueCaller } from '../fair-queue.js'

/** The operation that a request is waiting for. It determines the error response after a timeout. */
export type Wait = 'body' | 'deliver' | 'describe' | 'hash' | 'hook' | 'host' | 'read' | 'turn' | 'write'

/** The deadline of work. */
export interface Deadline {
  /**
   * The signal aborts on timeout or when the client disconnects; for a write, a disconnect only counts while the
   * request body arrives. The signal is created when first needed.
   */
  readonly signal: AbortSignal
  /**
   * The caller for whom the work is done, for queues that serve callers in turn (CONTRACT.md §6, "Scheduling"): a
   * string, or a function that returns it. Work without a caller counts as work of one common caller.
   */
  readonly caller?: QueueCaller | undefined
  /**
   * Whether the signal never aborts. The storage then gets no signal, so it knows that the service never aborts its
   * operations.
   */
  readonly isUnhurried?: boolean
  /**
   * Calls `listener` when the signal aborts, or would abort if it existed; returns a function that removes the
   * listener. This is cheaper than creating the signal.
   */
  onOver(listener: () => void): () => void
  /** Called before each wait. Throws if the time is over, so that abandoned work does not continue. */
  enter(wait: Wait): void
}

/** The deadline of work that no client waits for. */
export const UNHURRIED: Deadline = {
  // The signal is created when it is read, because some runtimes forbid creating one while a module loads.
  get signal() {
    return new AbortController().signal
  },
  isUnhurried: true,
  onOver: () => () => {},
  enter() {},
}
