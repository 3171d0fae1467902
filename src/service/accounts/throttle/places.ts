import { LEDGERS, type Ledger, takePlace, waitForPlace } from '../../../auth/ledger.js'
import { expiredAt } from '../../../auth/sessions.js'
import { tooMany } from '../../../auth/turns.js'
import { and, isId, or } from '../../../filter/filter.js'
import type { StoredDocument, WriteStep } from '../../../storage.js'
import type { MaybePromise } from '../../../types.js'
import type { Call } from '../../call.js'
import type { Store } from '../../store.js'

/** The attempts at a write of a ledger, which many processes may write at once. */
export const PATIENCE = 50

/** A ledger as it is stored. */
export const readLedger = (store: Store, { _id }: Ledger): MaybePromise<StoredDocument | undefined> =>
  store.own(LEDGERS).first(isId(_id))

/** The most expired ledgers that one write removes. */
const MAX_EXPIRED = 20

/** The steps that remove ledgers without places that still count. `now` is in stored form. */
export async function removeExpiredLedgers(store: Store, now: string): Promise<readonly WriteStep[]> {
  const filter = expiredAt(now)
  const expired = await store.own(LEDGERS).list({ filter, limit: MAX_EXPIRED })
  // A ledger that gets a new place meanwhile stays.
  return expired.map(({ _id }) => ({ in: LEDGERS, remove: and([isId(_id), filter]) }))
}

/**
 * Takes a place in each of some ledgers, or in none. Throws `too_many_attempts` if one of them has none left; nothing
 * is written then. `at`: the time from which the places count, in milliseconds since 1970. Default: now.
 */
export async function takePlaces(
  { store, service }: Call,
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
