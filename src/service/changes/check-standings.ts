import type { AuthPlan, Collection } from '../../config/plan.js'
import { isServiceError } from '../../errors.js'
import type { KnownCaller } from '../../permissions/caller.js'
import type { Change, StoredDocument } from '../../storage.js'
import { callerOf } from '../accounts/account.js'
import { resumeSessions } from '../accounts/sessions.js'
import type { Service } from '../call.js'
import type { Store } from '../store.js'
import type { Standing, Subscriber } from './subscriber.js'
import { standingOf, type WatchedList, watchList } from './watched-list.js'

/** What has become of who listens, with an account of the service. */
export type Verdict = 'over' | 'same' | Standing

/** The changes of user documents in a part of the log, by `_id`. */
export function changesOfUsers(
  { accounts }: Pick<Service, 'accounts'>,
  changes: readonly Change[],
): ReadonlyMap<string, readonly Change[]> {
  const byId = new Map<string, Change[]>()
  for (const change of changes) {
    if (change.in !== accounts?.users.name) continue
    const known = byId.get(change.id)
    if (known) known.push(change)
    else byId.set(change.id, [change])
  }
  return byId
}

/** The standing of a user in a collection, and the version of the user document up to which it is told. */
export interface KnownStanding {
  readonly collection: Collection
  readonly standing: string
  readonly version: number
}

/** Whether changes of a user gave another standing than the known one, even briefly. */
export function hasChanged(
  service: Service,
  auth: AuthPlan,
  { collection, standing, version }: KnownStanding,
  changes: readonly Change[],
): boolean {
  const isSame = (user: StoredDocument | null): boolean =>
    user === null ||
    user._version <= version ||
    standingOf(service, collection, callerOf(auth, user)) === standing
  return changes.some(({ before, after }) => !isSame(before) || !isSame(after))
}

/**
 * Finds out what some subscribers with accounts of the service are now, behind all that was read of the log, so
 * that nothing is judged by rights of before (CONTRACT.md §9, "Standing").
 */
export async function checkStandings(
  service: Service,
  store: Store,
  auth: AuthPlan,
  asked: ReadonlyMap<Subscriber, readonly Change[]>,
): Promise<ReadonlyMap<Subscriber, Verdict>> {
  const ids = new Set(Array.from(asked.keys(), ({ subscription }) => subscription.session?.id ?? ''))
  const sessions = await resumeSessions(service, store, auth, [...ids])
  return new Map(
    Array.from(asked, ([subscriber, changes]): [Subscriber, Verdict] => {
      const session = sessions.get(subscriber.subscription.session?.id ?? '')
      if (!session) return [subscriber, 'over']
      const caller = callerOf(auth, session.user)
      const list = listFor(service, subscriber, caller)
      if (!list) return [subscriber, 'over']
      const isSame =
        list.key === subscriber.list.key && !hasChanged(service, auth, knownOf(subscriber), changes)
      return [subscriber, isSame ? 'same' : { list, caller, version: session.user._version }]
    }),
  )
}

const knownOf = ({ subscription, list, version }: Subscriber): KnownStanding => ({
  collection: subscription.collection,
  standing: list.standing,
  version,
})

/** The list of a subscriber as another caller; `undefined` where it is now refused. */
export function listFor(
  service: Service,
  { subscription }: Subscriber,
  caller: KnownCaller | null,
): WatchedList | undefined {
  try {
    return watchList(service, subscription, caller)
  } catch (thrown) {
    if (isServiceError(thrown)) return undefined
    throw thrown
  }
}
