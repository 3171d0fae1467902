import { ServiceError } from '../../errors.js'
import { FairQueue } from '../../fair-queue.js'
import type { StoredDocument } from '../../storage.js'
import { countPlaces, type Ledger, waitForPlace } from './ledger.js'

/**
 * Limits concurrent sign-in attempts. In one process, at most as many attempts run at the same time as their ledger has
 * free places. Further attempts wait in a bounded queue.
 */
export interface Turns {
  /**
   * Starts an attempt if it may start immediately; returns whether it did. Throws `too_many_attempts` if the ledger has
   * no free place.
   */
  tryBegin(ledger: Ledger, stored: StoredDocument | undefined): boolean
  /**
   * Waits until an attempt may start. Callers are served in turn. Rejects with `too_many_attempts` if the ledger has no
   * free place, and with `overloaded` if too many attempts wait or `signal` aborts.
   */
  wait(
    ledger: Ledger,
    by: { readonly signal: AbortSignal; readonly caller: string | undefined },
  ): Promise<void>
  /** Ends an attempt. `stored` is the ledger after the attempt, if known. */
  end(ledger: Ledger, stored: StoredDocument | undefined): void
}

/** The maximum number of attempts that wait in this process, as of secrets that wait for hashing. */
const MAX_WAITING = 128

/** A queued attempt. */
interface QueuedAttempt {
  readonly ledger: Ledger
  start(): void
  refuse(reason: unknown): void
}

/**
 * The numbers of running and waiting attempts of one ledger; `runningOf` counts the running attempts of each client.
 */
interface Lane {
  running: number
  readonly runningOf: Map<string, number>
  waiting: number
}

/** Creates the object that limits the sign-in attempts of a process. `now` returns milliseconds since 1970. */
export const createTurns = (now: () => number): Turns => new LedgerTurns(now)

class LedgerTurns implements Turns {
  readonly #now: () => number
  readonly #lanes = new Map<string, Lane>()
  readonly #waiting = new FairQueue<QueuedAttempt>(MAX_WAITING)

  constructor(now: () => number) {
    this.#now = now
  }

  tryBegin(ledger: Ledger, stored: StoredDocument | undefined): boolean {
    refuseFull(ledger, stored, this.#now())
    const begins = this.#hasTurn(ledger, stored)
    if (begins) this.#add(ledger, 1)
    return begins
  }

  wait(
    ledger: Ledger,
    { signal, caller }: { readonly signal: AbortSignal; readonly caller: string | undefined },
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(overloaded())
      const lane = this.#laneOf(ledger)
      const leave = (): void => {
        signal.removeEventListener('abort', giveUp)
        this.#waiting.delete(entry)
        lane.waiting -= 1
        this.#drop(ledger)
      }
      const giveUp = (): void => entry.refuse(overloaded())
      const entry: QueuedAttempt = {
        ledger,
        start: () => {
          this.#add(ledger, 1)
          leave()
          resolve()
        },
        refuse(reason) {
          leave()
          reject(reason)
        },
      }
      signal.addEventListener('abort', giveUp, { once: true })
      lane.waiting += 1
      this.#waiting.add(entry, caller)?.refuse(overloaded())
    })
  }

  end(ledger: Ledger, stored: StoredDocument | undefined): void {
    this.#add(ledger, -1)
    const isFull = (entry: QueuedAttempt): boolean => waitForPlace(stored, entry.ledger, this.#now()) > 0
    const mayEnd = (entry: QueuedAttempt): boolean =>
      entry.ledger._id === ledger._id && (isFull(entry) || this.#hasTurn(entry.ledger, stored))
    for (let next = this.#waiting.take(mayEnd); next; next = this.#waiting.take(mayEnd)) {
      const wait = waitForPlace(stored, next.ledger, this.#now())
      if (wait > 0) next.refuse(tooMany(wait))
      else next.start()
    }
    this.#drop(ledger)
  }

  #laneOf({ _id }: Ledger): Lane {
    const lane = this.#lanes.get(_id) ?? { running: 0, runningOf: new Map(), waiting: 0 }
    this.#lanes.set(_id, lane)
    return lane
  }

  #hasTurn(ledger: Ledger, stored: StoredDocument | undefined): boolean {
    const { running, runningOf } = this.#laneOf(ledger)
    const { all, own } = countPlaces(stored, ledger, this.#now())
    const { most, taker } = ledger
    return all + running < most && (!taker || own + (runningOf.get(taker.name) ?? 0) < taker.most)
  }

  #add(ledger: Ledger, one: 1 | -1): void {
    const lane = this.#laneOf(ledger)
    lane.running += one
    const name = ledger.taker?.name
    if (name === undefined) return
    const left = (lane.runningOf.get(name) ?? 0) + one
    if (left > 0) lane.runningOf.set(name, left)
    else lane.runningOf.delete(name)
  }

  #drop({ _id }: Ledger): void {
    const lane = this.#lanes.get(_id)
    if (lane && lane.running === 0 && lane.waiting === 0) this.#lanes.delete(_id)
  }
}

/** Throws `too_many_attempts` if a ledger has no free place. */
export function refuseFull(ledger: Ledger, stored: StoredDocument | undefined, now: number): void {
  const wait = waitForPlace(stored, ledger, now)
  if (wait > 0) throw tooMany(wait)
}

/** Creates the error for a ledger without a free place. `wait` is in milliseconds. */
export const tooMany = (wait: number): ServiceError =>
  new ServiceError('too_many_attempts', 'Too many attempts. Try again later.', {
    retryAfter: Math.ceil(wait / 1000),
  })

const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many sign-in attempts are running. Try again in a moment.')
