import { FairQueue } from './fair-queue.js'

/** One that waits. Its wait ends with a call of `start` or `refuse`, or when its signal aborts. */
export interface Waiter<About, Place> {
  readonly about: About
  start(place: Place): void
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
export class WaitingLine<About = undefined, Place = void> {
  readonly #queue: FairQueue<Waiter<About, Place>>
  readonly #rejection: (aborted: AbortSignal | undefined) => unknown

  /**
   * `capacity` is the maximum number of waiters. `rejection` creates the error of a waiter whose signal has aborted, or,
   * without a signal, of one for which the queue has no room.
   */
  constructor(capacity: number, rejection: (aborted: AbortSignal | undefined) => unknown) {
    this.#queue = new FairQueue(capacity)
    this.#rejection = rejection
  }

  /** Resolves when `start` is called for this waiter. */
  wait(about: About, { caller, signal }: WaitOptions): Promise<Place> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#queue.delete(waiter)
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
      this.#queue.add(waiter, caller)?.refuse(this.#rejection(undefined))
    })
  }

  /** Removes and returns the next waiter for which `mayGo` returns true. Default: any waiter may go. */
  take(mayGo?: (waiter: Waiter<About, Place>) => boolean): Waiter<About, Place> | undefined {
    return this.#queue.take(mayGo)
  }

  /** Records that a caller did not have to wait (see `FairQueue.pass`). */
  pass(caller: string | undefined): void {
    this.#queue.pass(caller)
  }
}
