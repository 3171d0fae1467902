import { DELIVERIES } from '../accounts/auth/deliveries.js'
import { LEDGERS } from '../accounts/auth/ledger.js'
import { expiredAt, SESSIONS } from '../accounts/auth/sessions.js'
import { and, type Filter, isId, or } from '../filter/filter.js'
import type { Background, BackgroundScope } from '../request/call.js'
import { nextTurn } from '../slices.js'

/** The milliseconds between two removals of expired documents, by the clock of the service. */
const PAUSE = 60 * 60 * 1000

/** The limits of documents per write, and of writes per background task. If more are left, another task starts. */
const SLICE = 100
const ROUNDS = 50

/** The parts of a service that upkeep uses. */
interface UpkeepOptions {
  readonly background: Background
  readonly now: () => number
  readonly clock: () => string
  /** Whether the service stores delivered tokens. */
  readonly hasDeliveries: boolean
}

/**
 * Creates a function to call for each accepted request when the storage is open. Each hour it starts to remove expired
 * sessions, ledgers and delivered tokens in the background, in slices (CONTRACT.md §6, "Growth"). It needs no timer,
 * because a service without requests stores nothing new.
 */
export function createUpkeep({ background, now, clock, hasDeliveries }: UpkeepOptions): () => void {
  let last: number | undefined
  const expiring = [SESSIONS, LEDGERS, ...(hasDeliveries ? [DELIVERIES] : [])]
  /** Removes the documents that had expired at the time of the request, which is given in stored form. */
  const begin = (at: string): void =>
    background.begin(async (scope) => {
      for (const collection of expiring)
        if (await removeAll(scope, collection, expiredAt(at))) return begin(at)
    }, 'upkeep')
  return () => {
    const present = now()
    // A clock that was once far ahead must not stop the removals.
    const isDue = last !== undefined && Math.abs(present - last) >= PAUSE
    if (isDue || last === undefined) last = present
    if (isDue) begin(clock())
  }
}

/** Removes the matching documents. Returns true if one task cannot remove all. */
async function removeAll({ store }: BackgroundScope, collection: string, filter: Filter): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = await store.own(collection).list({ filter, limit: SLICE })
    // The filter is repeated, so that a ledger in which a place was taken since then is not removed.
    const remove = and([or(found.map(({ _id }) => isId(_id))), filter])
    if (found.length > 0) await store.write(() => ({ steps: [{ in: collection, remove }], done: undefined }))
    if (found.length < SLICE) return false
    await nextTurn()
  }
  return true
}
