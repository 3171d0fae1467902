import type { Deadline } from './deadline.js'
import type { Store } from './store.js'

/** What is left to do behind an answer: nobody waits for it but the end of the service. */
export interface Background {
  /**
   * Begins work once the present request is answered, with a time of its own. What it throws is logged. Where
   * too much is under way, it is left undone, and the log says so.
   */
  begin(work: (by: BackgroundScope) => Promise<void>): void
}

/** What work behind an answer has. */
export interface BackgroundScope {
  readonly store: Store
  readonly deadline: Deadline
}
