import type { Change } from '../../storage.js'
import type { WaitingChange } from './records.js'

/** A change in a queue. */
export interface QueuedChange extends WaitingChange {
  attempt: number
  /** What it is; where it was let go of, it is read again at its position. */
  change: Change | undefined
}

/** Changes that wait for their turn: of each document one at a time, in the order of the log. */
export class DocumentQueue {
  readonly #all = new Set<QueuedChange>()
  readonly #documents = new Map<string, QueuedChange[]>()
  readonly #ready: QueuedChange[] = []

  /** How many are not handled. */
  get size(): number {
    return this.#all.size
  }

  /** Whether there is one that could begin at once. */
  get hasReady(): boolean {
    return this.#ready.length > 0
  }

  /** All that are not handled, in the order of the log. */
  get waiting(): readonly WaitingChange[] {
    return Array.from(this.#all, ({ change, ...waiting }) => waiting)
  }

  /** Adds the next one of the log. Behind another one of its document it is let go of: it may be large. */
  add(queued: QueuedChange): void {
    this.#all.add(queued)
    const others = this.#documents.get(keyOf(queued))
    if (others) {
      queued.change = undefined
      others.push(queued)
    } else {
      this.#documents.set(keyOf(queued), [queued])
      this.#ready.push(queued)
    }
  }

  /** The next one to begin with. */
  take(): QueuedChange | undefined {
    return this.#ready.shift()
  }

  /** Puts one that was taken back, so that it is taken again. */
  putBack(queued: QueuedChange): void {
    this.#ready.push(queued)
  }

  /** Ends one that was taken; the next one of its document may begin. */
  finish(queued: QueuedChange): void {
    this.#all.delete(queued)
    const [, ...others] = this.#documents.get(keyOf(queued)) ?? []
    const [next] = others
    if (next) {
      this.#documents.set(keyOf(queued), others)
      this.#ready.push(next)
    } else this.#documents.delete(keyOf(queued))
  }
}

const keyOf = ({ collection, document }: WaitingChange): string => `${collection} ${document}`
