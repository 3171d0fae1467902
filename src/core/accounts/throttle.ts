import { isServiceError, ServiceError } from '../errors.js'
import { textOf } from '../fair-queue.js'
import { and, isId, or } from '../filter/filter.js'
import { createOrder } from '../promises.js'
import { createClock } from '../request/clock.js'
import type { Deadline } from '../request/deadline.js'
import type { Store } from '../request/store.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { Logger } from '../types/host.js'
import type { MaybePromise } from '../types.js'
import { WaitingLine } from '../waiting-line.js'
import {
  countPlaces,
  LEDGERS,
  type Ledger,
  type LedgerWrite,
  liftPlaces,
  nameLedger,
  takePlace,
  waitForPlace,
} from './auth/ledger.js'
import { expiredAt } from './auth/sessions.js'

/** The maximum number of attempts at writing a ledger; high, because many processes may write the same ledger. */
const PATIENCE = 50

/** Reads the stored form of a ledger; `undefined` if none of its places was ever taken. */
const readLedger = (store: Store, { _id }: Ledger): MaybePromise<StoredDocument | undefined> =>
  store.own(LEDGERS).first(isId(_id))

/** The maximum number of expired ledgers that one write removes. */
const MAX_EXPIRED = 20

/** Returns the steps that remove ledgers whose places have all expired. `now` is in stored form. */
async function removeExpiredLedgers(store: Store, now: string): Promise<readonly WriteStep[]> {
  const filter = expiredAt(now)
  const expired = await store.own(LEDGERS).list({ filter, limit: MAX_EXPIRED })
  // The filter is checked again in the write, so a ledger in which a place was just taken is not removed.
  return expired.map(({ _id }) => ({ in: LEDGERS, remove: and([isId(_id), filter]) }))
}

/** The maximum number of attempts that wait in this process, as of secrets that wait for hashing. */
const MAX_WAITING = 128

/** The numbers of running attempts of one ledger: in total, and of each client. */
interface Lane {
  running: number
  readonly runningOf: Map<string, number>
}

/**
 * Limits concurrent sign-in attempts: in one process, at most as many run at the same time as their ledger has free
 * places. Further attempts wait in a bounded queue.
 */
class Turns {
  readonly #now: () => number
  /** The lanes in which an attempt runs, by the `_id` of the ledger. */
  readonly #lanes = new Map<string, Lane>()
  readonly #waiting = new WaitingLine<Ledger>(MAX_WAITING, overloaded)

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Waits until an attempt may start. `stored` is the ledger as it was read for the attempt. Callers are served in turn.
   * Rejects with `too_many_attempts` if the ledger has no free place, and with `overloaded` if too many attempts wait or
   * the time is over.
   */
  async begin(
    ledger: Ledger,
    stored: StoredDocument | undefined,
    { signal, caller }: Deadline,
  ): Promise<void> {
    refuseFull(ledger, stored, this.#now())
    if (this.#hasTurn(ledger, stored)) this.#add(ledger, 1)
    else await this.#waiting.wait(ledger, { signal, caller: textOf(caller) })
  }

  /** Ends an attempt. `stored` is the ledger after the attempt, if known. */
  end(ledger: Ledger, stored: StoredDocument | undefined): void {
    this.#add(ledger, -1)
    const mayEnd = ({ about }: { readonly about: Ledger }): boolean =>
      about._id === ledger._id &&
      (waitForPlace(stored, about, this.#now()) > 0 || this.#hasTurn(about, stored))
    for (let next = this.#waiting.take(mayEnd); next; next = this.#waiting.take(mayEnd)) {
      const wait = waitForPlace(stored, next.about, this.#now())
      if (wait > 0) next.refuse(tooMany(wait))
      else {
        this.#add(next.about, 1)
        next.start()
      }
    }
  }

  #laneOf({ _id }: Ledger): Lane {
    return this.#lanes.get(_id) ?? { running: 0, runningOf: new Map() }
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
    if (lane.running > 0) this.#lanes.set(ledger._id, lane)
    else this.#lanes.delete(ledger._id)
    const name = ledger.taker?.name
    if (name === undefined) return
    const left = (lane.runningOf.get(name) ?? 0) + one
    if (left > 0) lane.runningOf.set(name, left)
    else lane.runningOf.delete(name)
  }
}

/** Throws `too_many_attempts` if a ledger has no free place. */
function refuseFull(ledger: Ledger, stored: StoredDocument | undefined, now: number): void {
  const wait = waitForPlace(stored, ledger, now)
  if (wait > 0) throw tooMany(wait)
}

/** Creates the error for a ledger without a free place. `wait` is in milliseconds. */
const tooMany = (wait: number): ServiceError =>
  new ServiceError('too_many_attempts', 'Too many attempts. Try again later.', {
    retryAfter: Math.ceil(wait / 1000),
  })

const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many sign-in attempts are running. Try again in a moment.')

/** The parts of a call that ledgers need. */
interface ClockedStore {
  readonly store: Store
  readonly service: { readonly now: () => number; readonly clock: () => string }
}

/**
 * Takes a place in each of several ledgers. If one of them is full, takes none and throws `too_many_attempts`. `at` is
 * the time from which the places count, in milliseconds since 1970. Default: now.
 */
export async function takePlaces(
  { store, service }: ClockedStore,
  ledgers: readonly Ledger[],
  at?: number,
): Promise<void> {
  await store.write(async () => {
    const now = at ?? service.now()
    // All writers use the same order, so that two writes do not deadlock.
    const sorted = [...ledgers].sort((a, b) => (a._id < b._id ? -1 : 1))
    const stored = await store.own(LEDGERS).list({ filter: or(sorted.map(({ _id }) => isId(_id))) })
    const byId = new Map(stored.map((one) => [one._id, one]))
    const taken = sorted.map((ledger) => ({ ledger, before: byId.get(ledger._id) }))
    const wait = Math.max(...taken.map(({ ledger, before }) => waitForPlace(before, ledger, now)))
    if (wait > 0) throw tooMany(wait)
    const expired = await removeExpiredLedgers(store, service.clock())
    return {
      steps: [...taken.map(({ ledger, before }) => takePlace(before, ledger, now).step), ...expired],
      done: undefined,
      refuse() {},
    }
  }, PATIENCE)
}

const WINDOW = 15 * 60 * 1000
const MAX_FROM_ONE_CLIENT = 10
const MAX_FROM_ANYWHERE = 100

/** Limits how often secrets can be guessed (see `createThrottle`). */
export interface Throttle {
  /**
   * Runs an attempt when its turn comes. An attempt that rejects with `invalid_credentials` takes a place before its
   * response is sent; an attempt that resolves frees the places of its client. Rejects with `too_many_attempts` if no
   * place is free, regardless of the attempt's result, and with `overloaded` if too many attempts wait.
   */
  run<T>(by: AttemptContext, from: AttemptOrigin, attempt: () => Promise<T>): Promise<T>
}

/** The identifier that an attempt names, and the address of its client; `client` is `undefined` if it is unknown. */
export interface AttemptOrigin {
  /** In stored form. */
  readonly identifier: string
  readonly client: string | undefined
}

/** The store and the deadline of the request that makes an attempt. */
interface AttemptContext {
  readonly store: Store
  readonly deadline: Deadline
}

/**
 * Creates the throttle of a service: each failed attempt takes a place in the ledger of its identifier, which limits the
 * places of each client and of all clients combined. Ledgers are stored, so that all processes share them (CONTRACT.md
 * §4, "Throttle"). It logs a warning at the first attempt of a client whose address is unknown.
 */
export function createThrottle({ now, logger }: { now: () => number; logger: Logger }): Throttle {
  const clock = createClock(now)
  const turns = new Turns(now)
  // In one process, the writes to one ledger are queued, so that they do not conflict.
  const settling = createOrder()
  let hasWarned = false

  const ledgerOf = ({ identifier, client }: AttemptOrigin): Ledger => {
    if (client === undefined && !hasWarned) {
      hasWarned = true
      logger.warn(UNKNOWN_CLIENT)
    }
    // Client and identifier become digests, which have a fixed length, because they stay in memory.
    const taker = client === undefined ? undefined : { name: nameLedger(client), most: MAX_FROM_ONE_CLIENT }
    return { _id: nameLedger('attempts', identifier), window: WINDOW, most: MAX_FROM_ANYWHERE, taker }
  }

  /**
   * Writes the outcome of an attempt to its ledger and returns the changed ledger. Throws `too_many_attempts` if the
   * last free place was taken during the attempt.
   */
  const settle = (store: Store, ledger: Ledger, change: ChangeLedger) =>
    settling(ledger._id, async () =>
      store.write(async () => {
        const stored = await readLedger(store, ledger)
        refuseFull(ledger, stored, now())
        const write = change(stored, ledger, now())
        if (!write) return { steps: [], done: stored }
        const expired = await removeExpiredLedgers(store, clock())
        return { steps: [write.step, ...expired], done: write.after, refuse: tryAgain }
      }, PATIENCE),
    )

  return {
    async run({ store, deadline }, from, attempt) {
      const ledger = ledgerOf(from)
      let known = await readLedger(store, ledger)
      deadline.enter('hash')
      await turns.begin(ledger, known, deadline)
      let isUnderWay = true
      const end = (): void => {
        if (isUnderWay) turns.end(ledger, known)
        isUnderWay = false
      }
      // An attempt that never ends must not block others, so its turn ends at the deadline.
      const stopListening = deadline.onOver(end)
      const finish = async (change: ChangeLedger): Promise<void> => {
        known = await settle(store, ledger, change)
      }
      try {
        const result = await attempt()
        await finish(liftPlaces)
        return result
      } catch (thrown) {
        if (isServiceError(thrown) && thrown.code === 'invalid_credentials') await finish(takePlace)
        throw thrown
      } finally {
        stopListening()
        end()
      }
    },
  }
}

/** The change that an attempt makes to its ledger. */
type ChangeLedger = (
  stored: StoredDocument | undefined,
  ledger: Ledger,
  now: number,
) => LedgerWrite | undefined

const UNKNOWN_CLIENT =
  'the address of a client that signs in is unknown, so failed logins are counted per identifier, not per client: set options.clientAddress; if it is forwardedAddress with networks, also its option address'

/** Throws nothing after a failed write of a ledger, so that the store retries it. */
const tryAgain = (): void => {}
