import type { Change } from '../storage.js'
import type { WaitingChange } from './records.js'

/** A change in a queue. */
export interface QueuedChange extends WaitingChange {
  attempt: number
  /** The change; `undefined` if it was dropped from memory, then it is read again at its position. */
  change: Change | undefined
}

/** Changes that wait for their turn: one at a time per document, in the order of the log. */
export class DocumentQueue {
  readonly #all = new Set<QueuedChange>()
  readonly #documents = new Map<string, QueuedChange[]>()
  readonly #ready: QueuedChange[] = []

  /** The number of changes that are not handled. */
  get size(): number {
    return this.#all.size
  }

  /** Whether a change could begin immediately. */
  get hasReady(): boolean {
    return this.#ready.length > 0
  }

  /** All changes that are not handled, in the order of the log. */
  get waiting(): readonly WaitingChange[] {
    return Array.from(this.#all, ({ change, ...waiting }) => waiting)
  }

  /** Adds the next change of the log. After another one of its document it is dropped from memory: it may be large. */
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

  /** Puts a taken change back, so that it is taken again. */
  putBack(queued: QueuedChange): void {
    this.#ready.push(queued)
  }

  /** Removes a taken change; the next one of its document may begin. */
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
