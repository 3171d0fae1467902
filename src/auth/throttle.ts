import { isServiceError, ServiceError } from '../errors.js'
import type { Logger } from '../types.js'
import { type AttemptCounter, createAttemptCounter } from './attempt-counter.js'

/**
 * Slows guessing down: counts failed attempts by identifier, from one client and from anywhere (CONTRACT.md
 * §4). As many attempts run at a time as may still fail; the others wait for their turn.
 */
export interface Throttle {
  /**
   * Runs an attempt when its turn comes. An attempt that rejects with `invalid_credentials` counts as a
   * failure. One that resolves clears the failures, unless `signal` has aborted: the counts must not reveal
   * an answer that nobody received. Rejects with `too_many_attempts`, and with `overloaded` where too many
   * wait or `signal` aborts before the turn.
   */
  run<T>(from: AttemptOrigin, attempt: () => Promise<T>, scope: { readonly signal: AbortSignal }): Promise<T>
}

/** The account and the client of an attempt; `client` is `undefined` where it is not known. */
export interface AttemptOrigin {
  readonly identifier: string
  readonly client: string | undefined
}

const MAX_FROM_ONE_CLIENT = 10
const MAX_FROM_ANYWHERE = 100
/** The most attempts that may wait in this process: as many as secrets may wait to be hashed. */
const MAX_WAITING = 128

/** A counter, and the key under which an attempt counts there. */
type Place = readonly [counter: AttemptCounter, key: string]

/** An attempt that waits for its turn. */
interface Waiting {
  readonly places: readonly Place[]
  start(): void
  refuse(reason: ServiceError): void
}

/**
 * Creates the throttle. `now` gives milliseconds since 1970. The first attempt without a known client logs a
 * warning.
 */
export function createThrottle({ now, logger }: { now: () => number; logger: Logger }): Throttle {
  const fromOne = createAttemptCounter(MAX_FROM_ONE_CLIENT, now)
  const fromAnywhere = createAttemptCounter(MAX_FROM_ANYWHERE, now)
  /** Waiting attempts by identifier, in the order in which they came. */
  const queues = new Map<string, Set<Waiting>>()
  let waiting = 0
  let hasWarned = false

  const placesOf = ({ identifier, client }: AttemptOrigin): readonly Place[] => {
    if (client !== undefined)
      return [
        [fromAnywhere, identifier],
        [fromOne, JSON.stringify([identifier, client])],
      ]
    if (!hasWarned) logger.warn(UNKNOWN_CLIENT)
    hasWarned = true
    return [[fromAnywhere, identifier]]
  }

  /** The error of an attempt that would be refused even after it waited. */
  const findRefusal = (places: readonly Place[]): ServiceError | undefined => {
    const wait = Math.max(...places.map(([counter, key]) => counter.waitFor(key)))
    return wait > 0 ? tooMany(Math.ceil(wait / 1000)) : undefined
  }

  const hasTurn = (places: readonly Place[]): boolean =>
    places.every(([counter, key]) => counter.hasPlace(key))

  const begin = (places: readonly Place[]): void => {
    for (const [counter, key] of places) counter.begin(key)
  }

  const waitForTurn = (identifier: string, places: readonly Place[], signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted || waiting >= MAX_WAITING) return reject(overloaded())
      const queue = queues.get(identifier) ?? new Set()
      queues.set(identifier, queue)
      const leave = (): void => {
        signal.removeEventListener('abort', giveUp)
        queue.delete(entry)
        if (queue.size === 0) queues.delete(identifier)
        waiting -= 1
      }
      const giveUp = (): void => entry.refuse(overloaded())
      const entry: Waiting = {
        places,
        start() {
          leave()
          begin(places)
          resolve()
        },
        refuse(reason) {
          leave()
          reject(reason)
        },
      }
      signal.addEventListener('abort', giveUp, { once: true })
      queue.add(entry)
      waiting += 1
    })

  /** Lets waiting attempts at an identifier go on, or rejects them, once another attempt at it ends. */
  const wake = (identifier: string): void => {
    for (const entry of queues.get(identifier) ?? []) {
      const refusal = findRefusal(entry.places)
      if (refusal) entry.refuse(refusal)
      else if (hasTurn(entry.places)) entry.start()
    }
  }

  return {
    async run(from, attempt, scope) {
      const places = placesOf(from)
      const refusal = findRefusal(places)
      if (refusal) throw refusal
      if (hasTurn(places)) begin(places)
      else await waitForTurn(from.identifier, places, scope.signal)
      const { signal } = scope
      let isUnderWay = true
      const end = (): void => {
        if (!isUnderWay) return
        isUnderWay = false
        signal.removeEventListener('abort', end)
        for (const [counter, key] of places) counter.end(key)
        wake(from.identifier)
      }
      // An attempt that never ends must not keep its place.
      if (signal.aborted) end()
      signal.addEventListener('abort', end)
      try {
        const result = await attempt()
        if (isUnderWay) for (const [counter, key] of places) counter.forget(key)
        return result
      } catch (thrown) {
        if (isServiceError(thrown) && thrown.code === 'invalid_credentials')
          for (const [counter, key] of places) counter.fail(key)
        throw thrown
      } finally {
        end()
      }
    },
  }
}

const UNKNOWN_CLIENT =
  'the address of a client that signs in is not known, so failed logins are counted by identifier alone, not by client: set options.clientAddress'

const tooMany = (retryAfter: number): ServiceError =>
  new ServiceError('too_many_attempts', 'Too many attempts to sign in with this identifier. Wait.', {
    retryAfter,
  })

const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many attempts to sign in are under way. Try again in a moment.')
