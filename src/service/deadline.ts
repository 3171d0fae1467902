import type { QueueCaller } from '../fair-queue.js'

/** What a request may wait for; it decides the answer when the time is over. */
export type Wait = 'body' | 'deliver' | 'describe' | 'hash' | 'hook' | 'host' | 'read' | 'turn' | 'write'

/** The deadline of work. */
export interface Deadline {
  /**
   * Aborts when the time is over, or the client disconnects: of what writes, only while its body arrives. Created when
   * first needed.
   */
  readonly signal: AbortSignal
  /**
   * Whose work it is, for queues that serve callers in turn (CONTRACT.md §6, "Fairness"): a text, or what finds it out.
   * Absent: one caller that is common to all such work.
   */
  readonly caller?: QueueCaller | undefined
  /** Whether the signal never comes: storage has none, and knows that nobody but itself ends what it does. */
  readonly isUnhurried?: boolean
  /** Calls `listener` when the signal would abort; returns a function that stops that. It costs less. */
  onOver(listener: () => void): () => void
  /** Is called before each wait. Throws when the time is over, so that abandoned work does not continue. */
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
