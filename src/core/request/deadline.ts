import type { QueueCaller } from '../fair-queue.js'

/** The operation that a request waits for; it decides the error response after a timeout. */
export type Wait = 'body' | 'deliver' | 'describe' | 'hash' | 'hook' | 'host' | 'read' | 'turn' | 'write'

/** The deadline of work. */
export interface Deadline {
  /**
   * Aborts on timeout, or when the client disconnects; a write aborts on disconnect only while its body arrives.
   * Created when first needed.
   */
  readonly signal: AbortSignal
  /**
   * The caller that the work belongs to, for queues that serve callers in turn (CONTRACT.md §6, "Scheduling"): a text, or
   * a function that determines it. Absent: one caller common to all such work.
   */
  readonly caller?: QueueCaller | undefined
  /** Whether the signal never aborts: the storage then gets no signal, and knows that only it ends its operations. */
  readonly isUnhurried?: boolean
  /**
   * Calls `listener` when the signal would abort; returns a function that removes it. Cheaper than creating the signal.
   */
  onOver(listener: () => void): () => void
  /** Called before each wait. Throws after the timeout, so that abandoned work does not continue. */
  enter(wait: Wait): void
}

/** The deadline of work that no client waits for. */
export const UNHURRIED: Deadline = {
  // Not at load time: some runtimes do not allow it there.
  get signal() {
    return new AbortController().signal
  },
  isUnhurried: true,
  onOver: () => () => {},
  enter() {},
}
