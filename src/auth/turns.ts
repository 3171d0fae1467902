import { ServiceError } from '../errors.js'
import { FairQueue } from '../fair-queue.js'
import type { StoredDocument } from '../storage.js'
import { countPlaces, type Ledger, waitForPlace } from './ledger.js'

/**
 * Who may try now: in one process at most as many attempts run at one ledger as may still fail; the others
 * wait for their turn, bounded in number.
 */
export interface Turns {
  /** Whether an attempt may start at once. Throws `too_many_attempts` where no place is left. */
  tryBegin(ledger: Ledger, stored: StoredDocument | undefined): boolean
  /**
   * Waits until it may. Callers are served in turn. Rejects with `too_many_attempts`, and with `overloaded` where too many
   * wait or `signal` aborts.
   */
  wait(
    ledger: Ledger,
    by: { readonly signal: AbortSignal; readonly caller: string | undefined },
  ): Promise<void>
  /** Ends an attempt. `stored` is the ledger behind it, where it is known. */
  end(ledger: Ledger, stored: StoredDocument | undefined): void
}

/** The most attempts that may wait in this process: as many as secrets may wait for their hash. */
const MAX_WAITING = 128

/** An attempt that waits for its turn. */
interface Waiting {
  readonly ledger: Ledger
  start(): void
  refuse(reason: unknown): void
}

/** What goes on at one ledger. */
interface Lane {
  running: number
  readonly runningOf: Map<string, number>
  waiting: number
}

/** Creates the turns of a process. `now` gives milliseconds since 1970. */
export function createTurns(now: () => number): Turns {
  const lanes = new Map<string, Lane>()
  const waiting = new FairQueue<Waiting>(MAX_WAITING)

  const laneOf = ({ _id }: Ledger): Lane => {
    const lane = lanes.get(_id) ?? { running: 0, runningOf: new Map(), waiting: 0 }
    lanes.set(_id, lane)
    return lane
  }

  const hasTurn = (ledger: Ledger, stored: StoredDocument | undefined): boolean => {
    const { running, runningOf } = laneOf(ledger)
    const { all, own } = countPlaces(stored, ledger, now())
    const { most, taker } = ledger
    return all + running < most && (!taker || own + (runningOf.get(taker.name) ?? 0) < taker.most)
  }

  const add = (ledger: Ledger, one: 1 | -1): void => {
    const lane = laneOf(ledger)
    lane.running += one
    const name = ledger.taker?.name
    if (name === undefined) return
    const left = (lane.runningOf.get(name) ?? 0) + one
    if (left > 0) lane.runningOf.set(name, left)
    else lane.runningOf.delete(name)
  }

  const drop = ({ _id }: Ledger): void => {
    const lane = lanes.get(_id)
    if (lane && lane.running === 0 && lane.waiting === 0) lanes.delete(_id)
  }

  return {
    tryBegin(ledger, stored) {
      refuseFull(ledger, stored, now())
      const begins = hasTurn(ledger, stored)
      if (begins) add(ledger, 1)
      return begins
    },
    wait: (ledger, { signal, caller }) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(overloaded())
        const lane = laneOf(ledger)
        const leave = (): void => {
          signal.removeEventListener('abort', giveUp)
          waiting.delete(entry)
          lane.waiting -= 1
          drop(ledger)
        }
        const giveUp = (): void => entry.refuse(overloaded())
        const entry: Waiting = {
          ledger,
          start() {
            add(ledger, 1)
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
        waiting.add(entry, caller)?.refuse(overloaded())
      }),
    end(ledger, stored) {
      add(ledger, -1)
      const isFull = (entry: Waiting): boolean => waitForPlace(stored, entry.ledger, now()) > 0
      const mayEnd = (entry: Waiting): boolean =>
        entry.ledger._id === ledger._id && (isFull(entry) || hasTurn(entry.ledger, stored))
      for (let next = waiting.take(mayEnd); next; next = waiting.take(mayEnd)) {
        const wait = waitForPlace(stored, next.ledger, now())
        if (wait > 0) next.refuse(tooMany(wait))
        else next.start()
      }
      drop(ledger)
    },
  }
}

/** Throws `too_many_attempts` where a ledger has no place left. */
export function refuseFull(ledger: Ledger, stored: StoredDocument | undefined, now: number): void {
  const wait = waitForPlace(stored, ledger, now)
  if (wait > 0) throw tooMany(wait)
}

/** The error where no place is left. `wait` is in milliseconds. */
export const tooMany = (wait: number): ServiceError =>
  new ServiceError('too_many_attempts', 'Too many attempts. Wait.', { retryAfter: Math.ceil(wait / 1000) })

const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many attempts to sign in are under way. Try again in a moment.')
