/** What a request may wait for; decides what is answered when its time is over. */
export type Wait = 'body' | 'hash' | 'host' | 'read' | 'write'

/** The time that work has. */
export interface Deadline {
  /** Aborts when the client goes away or the time is over. Made when first asked for. */
  readonly signal: AbortSignal
  /** Said before each wait. Throws when the time is over, so that what was given up is not gone on with. */
  enter(wait: Wait): void
}

/** The deadline of work that nobody waits for. */
export const UNHURRIED: Deadline = {
  // Not while the module loads: some runtimes allow no such thing there.
  get signal() {
    return new AbortController().signal
  },
  enter() {},
}
