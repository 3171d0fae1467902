import { DELIVERIES } from '../accounts/auth/deliveries.js'
import { LEDGERS } from '../accounts/auth/ledger.js'
import { expiredAt, SESSIONS } from '../accounts/auth/sessions.js'
import { and, type Filter, isId, or } from '../filter/filter.js'
import type { Background, BackgroundScope } from '../request/call.js'
import { nextTurn } from '../slices.js'

/** The milliseconds between two removals of expired documents, by the clock of the service. */
const PAUSE = 60 * 60 * 1000

/** The documents per write, and the writes per background task: the rest becomes another task. */
const SLICE = 100
const ROUNDS = 50

/** The parts of a service that upkeep uses. */
interface UpkeepOptions {
  readonly background: Background
  readonly now: () => number
  readonly clock: () => string
  /** Whether delivered tokens are stored. */
  readonly hasDeliveries: boolean
}

/**
 * Creates a function that is called for each accepted request once the storage is open: each hour, expired sessions,
 * ledgers and delivered tokens are removed in the background, in slices (CONTRACT.md §6, "Growth"). Without a
 * timer: a service without requests adds nothing.
 */
export function createUpkeep({ background, now, clock, hasDeliveries }: UpkeepOptions): () => void {
  let last: number | undefined
  const expiring = [SESSIONS, LEDGERS, ...(hasDeliveries ? [DELIVERIES] : [])]
  /** Removes the documents that had expired at a time in stored form: that of the request. */
  const begin = (at: string): void =>
    background.begin(async (scope) => {
      for (const collection of expiring)
        if (await removeAll(scope, collection, expiredAt(at))) return begin(at)
    }, 'upkeep')
  return () => {
    const present = now()
    // A clock that was far ahead must not stop it.
    const isDue = last !== undefined && Math.abs(present - last) >= PAUSE
    if (isDue || last === undefined) last = present
    if (isDue) begin(clock())
  }
}

/** Removes the matches; true if there are more than one task removes. */
async function removeAll({ store }: BackgroundScope, collection: string, filter: Filter): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = await store.own(collection).list({ filter, limit: SLICE })
    // A ledger that gets a new place meanwhile stays.
    const remove = and([or(found.map(({ _id }) => isId(_id))), filter])
    if (found.length > 0) await store.write(() => ({ steps: [{ in: collection, remove }], done: undefined }))
    if (found.length < SLICE) return false
    await nextTurn()
  }
  return true
}
