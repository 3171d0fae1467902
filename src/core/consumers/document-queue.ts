import type { Change } from '../storage.js'
import type { WaitingChange } from './records.js'

/** A change in the queue. */
export interface QueuedChange extends WaitingChange {
  attempt: number
  /** The change itself; `undefined` if it was removed from memory and must be read again at its position. */
  change: Change | undefined
}

/**
 * The queue of changes that are not handled yet. It releases one change of each document at a time, in the order of the
 * log.
 */
export class DocumentQueue {
  readonly #all = new Set<QueuedChange>()
  readonly #documents = new Map<string, QueuedChange[]>()
  readonly #ready: QueuedChange[] = []

  /** The number of changes that are not handled yet. */
  get size(): number {
    return this.#all.size
  }

  /** Whether a change could begin immediately. */
  get hasReady(): boolean {
    return this.#ready.length > 0
  }

  /** All changes that are not handled yet, in the order of the log. */
  get waiting(): readonly WaitingChange[] {
    return Array.from(this.#all, ({ change, ...waiting }) => waiting)
  }

  /**
   * Adds the next change of the log. If an earlier change of the same document is in the queue, the new one is removed
   * from memory until its turn, because it may be large.
   */
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

  /** Takes the next change to handle. */
  take(): QueuedChange | undefined {
    return this.#ready.shift()
  }

  /** Makes a taken change available again. */
  putBack(queued: QueuedChange): void {
    this.#ready.push(queued)
  }

  /** Removes a handled change, and releases the next change of its document. */
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
