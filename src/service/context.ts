import { v7 } from 'uuid'
import type { Throttle } from '../auth/throttle.js'
import type { Collection, ServicePlan } from '../config/plan.js'
import type { Clock } from '../permissions/caller.js'
import { createReadGate, type ReadGate } from '../permissions/read-gate.js'
import { formatTimestamp } from '../schema/timestamp.js'
import type { StorageAdapter } from '../storage.js'
import type { Hasher, Logger } from '../types.js'

/** What every operation works with: made once, never changed. */
export interface ServiceContext {
  readonly plan: ServicePlan
  readonly adapter: StorageAdapter
  readonly hasher: Hasher
  readonly logger: Logger
  readonly throttle: Throttle
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The same in stored form. Throws outside the years 0001 to 9999. */
  readonly clock: Clock
  /** A new `_id`. */
  readonly createId: () => string
  readonly gates: ReadonlyMap<string, ReadGate>
  /** Whether the service keeps the accounts, so that `plan.auth` counts. */
  readonly keepsAccounts: boolean
}

/** Whether the documents of a collection are the accounts that the service keeps. */
export const isAccounts = ({ keepsAccounts, plan }: ServiceContext, collection: Collection): boolean =>
  keepsAccounts && plan.auth?.users === collection

/** What a request may wait for; decides what is answered when its time is over. */
export type Wait = 'body' | 'hash' | 'host' | 'read' | 'write'

/** The one request that an operation works for. */
export interface RequestScope {
  /** Aborts when the client goes away or the time is over. Made when first asked for. */
  readonly signal: AbortSignal
  /** Said before each wait. Throws when the time is over, so that what was given up is not gone on with. */
  enter(wait: Wait): void
}

export const createGates = (collections: Iterable<Collection>): ReadonlyMap<string, ReadGate> =>
  new Map([...collections].map((collection) => [collection.name, createReadGate(collection)]))

/** Tells `now` in stored form. */
export const createClock =
  (now: () => number): Clock =>
  () => {
    const time = formatTimestamp(now())
    if (time === undefined) throw new RangeError('the clock is outside the years 0001 to 9999')
    return time
  }

/**
 * A source of UUIDs of version 7 that ascend in this process, whatever the clock does: within a millisecond, and when
 * the clock goes back, a counter goes on.
 */
export function createIdSource(now: () => number): () => string {
  let milliseconds = 0
  let sequence = 0
  return () => {
    const time = Math.floor(now())
    if (time > milliseconds) {
      milliseconds = time
      // The upper half is left free to count in.
      sequence = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) >>> 1
    } else if (sequence === 0xffff_ffff) {
      milliseconds += 1
      sequence = 0
    } else sequence += 1
    return v7({ msecs: milliseconds, seq: sequence })
  }
}
