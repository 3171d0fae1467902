import { FairQueue } from './fair-queue.js'

/** One that waits. Its wait ends with a call of `start` or `refuse`, or when its signal aborts. */
export interface Waiter<About, Place> {
  readonly about: About
  start(place: Place | Promise<Place>): void
  refuse(reason: unknown): void
}

/** The caller of a wait, and the signal that ends it. */
export interface WaitOptions {
  readonly caller?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Promises that wait for their turn, fairly among callers. `About` describes a waiter, and `Place` is what it waits
 * for.
 */
export class WaitingLine<About = undefined, Place = void> extends FairQueue<Waiter<About, Place>> {
  readonly #rejection: (aborted: AbortSignal | undefined) => unknown

  /**
   * `capacity` is the maximum number of waiters. `rejection` creates the error of a waiter whose signal has aborted, or,
   * without a signal, of one for which the queue has no room.
   */
  constructor(capacity: number, rejection: (aborted: AbortSignal | undefined) => unknown) {
    super(capacity)
    this.#rejection = rejection
  }

  /** Resolves when `start` is called for this waiter. */
  wait(about: About, { caller, signal }: WaitOptions): Promise<Place> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.delete(waiter)
        waiter.refuse(this.#rejection(signal))
      }
      const waiter: Waiter<About, Place> = {
        about,
        start(place) {
          signal?.removeEventListener('abort', leave)
          resolve(place)
        },
        refuse(reason) {
          signal?.removeEventListener('abort', leave)
          reject(reason)
        },
      }
      if (signal?.aborted) return reject(this.#rejection(signal))
      signal?.addEventListener('abort', leave, { once: true })
      this.add(waiter, caller)?.refuse(this.#rejection(undefined))
    })
  }
}
