import { DELIVERIES } from '../../auth/deliveries.js'
import { LEDGERS } from '../../auth/ledger.js'
import { expiredAt, SESSIONS } from '../../auth/sessions.js'
import { and, type Filter, isId, or } from '../../filter/filter.js'
import { nextTurn } from '../../slices.js'
import type { Background, BackgroundScope } from '../call.js'

/** The milliseconds between two removals of what has expired, by the clock of the service. */
const PAUSE = 60 * 60 * 1000

/** The documents of one write, and the writes of one work: what is left then is another one. */
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
 * Creates what is called for each request that is not refused, once the storage is open: each hour, sessions, ledgers and delivered tokens that
 * have expired are removed after an answer, in slices (CONTRACT.md §6, "What grows"). Without a timer: a service that is
 * asked nothing adds nothing.
 */
export function createUpkeep({ background, now, clock, hasDeliveries }: UpkeepOptions): () => void {
  let last: number | undefined
  const expiring = [SESSIONS, LEDGERS, ...(hasDeliveries ? [DELIVERIES] : [])]
  /** Removes what had expired at a time in stored form: that of the request. */
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

/** Removes what matches; whether more is left than one work removes. */
async function removeAll({ store }: BackgroundScope, collection: string, filter: Filter): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = await store.own(collection).list({ filter, limit: SLICE })
    // A ledger that is taken from meanwhile stays.
    const remove = and([or(found.map(({ _id }) => isId(_id))), filter])
    if (found.length > 0) await store.write(() => ({ steps: [{ in: collection, remove }], done: undefined }))
    if (found.length < SLICE) return false
    await nextTurn()
  }
  return true
}
