import type { AuthPlan, Collection } from '../../../config/plan.js'
import { isServiceError } from '../../../errors.js'
import type { KnownCaller } from '../../../permissions/caller.js'
import type { Change, ChangePage, StoredDocument } from '../../../storage.js'
import { callerOf } from '../../accounts/account.js'
import { resumeSessions } from '../../accounts/sessions.js'
import type { Service } from '../../call.js'
import { PAGE } from '../log-reader.js'
import type { Standing, Subscriber } from '../subscriber.js'
import { hasStanding, type WatchedList, watchList } from '../watched-list.js'
import { type Touched, touchesOf, wasAnother } from './claim-history.js'
import type { Sources, WatchedClaim } from './watched-claims.js'

/** What has become of who listens. */
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

/** What a part of the log tells of the standing of a subscriber. */
export interface Clues {
  /** The changes of the user document. */
  readonly own: readonly Change[]
  /** The claims whose documents have changed. */
  readonly touched: ReadonlyMap<WatchedClaim, Touched>
}

/** Nothing is known but that time has passed. */
export const NO_CLUES: Clues = { own: [], touched: new Map() }

/** The claims of a list whose documents have changed in a part of the log. */
export async function findTouched(
  sources: Sources,
  { claims }: WatchedList,
  { changes, position }: Pick<ChangePage, 'changes' | 'position'>,
): Promise<Clues['touched']> {
  const touched = new Map<WatchedClaim, Touched>()
  for (const claim of claims) {
    const touches = await touchesOf(sources, claim, changes)
    if (touches.length > 0) touched.set(claim, { touches, changes, position })
  }
  return touched
}

/** Whose claims are still what was read of them, as the log says that was read on to its end. */
export type IsKnown = (subscriber: Subscriber) => boolean

/**
 * Reads on in the log, once for all who are to be told of something, rather than the claims of each of them: so
 * that nobody is judged by claims of before.
 */
export async function readBehind(
  sources: Sources,
  asked: ReadonlyMap<Subscriber, Clues>,
  { position }: Pick<ChangePage, 'position'>,
): Promise<IsKnown> {
  const known = new Set<Subscriber>()
  const claiming = [...asked].filter(
    ([{ list }, { touched }]) => list.claims.length > 0 && touched.size === 0,
  )
  if (claiming.length > 0) {
    const page = await sources.log(position, PAGE)
    for (const [subscriber] of page.more || page.gap ? [] : claiming)
      if ((await findTouched(sources, subscriber.list, page)).size === 0) known.add(subscriber)
  }
  return (subscriber) => known.has(subscriber)
}

/** The standing in a collection, and the version of the user document up to which it is told. */
export interface KnownStanding extends Pick<Subscriber, 'list' | 'version'> {
  readonly collection: Collection
}

/** Whether changes of a user gave another standing than the known one, even briefly. */
export function hasChanged(
  { service }: Sources,
  auth: AuthPlan,
  { collection, list, version }: KnownStanding,
  changes: readonly Change[],
): boolean {
  const isSame = (user: StoredDocument | null): boolean =>
    user === null || user._version <= version || hasStanding(service, collection, list, callerOf(auth, user))
  return changes.some(({ before, after }) => !isSame(before) || !isSame(after))
}

/**
 * Finds out what some subscribers are now, behind all that was read of the log, so that nothing is judged by rights
 * of before (CONTRACT.md §9, "Standing").
 */
export async function checkStandings(
  sources: Sources,
  asked: ReadonlyMap<Subscriber, Clues>,
  isKnown: IsKnown = () => false,
): Promise<ReadonlyMap<Subscriber, Verdict>> {
  const { service, store } = sources
  const { accounts } = service
  const ids = new Set([...asked.keys()].flatMap(({ subscription }) => subscription.session?.id ?? []))
  const sessions = accounts && ids.size > 0 ? await resumeSessions(service, store, accounts, [...ids]) : null
  const verdicts = new Map<Subscriber, Verdict>()
  for (const [subscriber, clues] of asked) {
    const { caller, version, subscription, list } = subscriber
    const known = isKnown(subscriber) ? list.claims : []
    const session = subscription.session && sessions?.get(subscription.session.id)
    // Whoever the host names stays who they are until it is asked again.
    if (!subscription.session && list.claims.length === 0) verdicts.set(subscriber, 'same')
    else if (subscription.session && !session) verdicts.set(subscriber, 'over')
    else if (session && accounts) {
      const present = { caller: callerOf(accounts, session.user), version: session.user._version }
      verdicts.set(subscriber, await checkStanding(sources, subscriber, clues, { ...present, known }))
    } else {
      verdicts.set(subscriber, await checkStanding(sources, subscriber, clues, { caller, version, known }))
    }
  }
  return verdicts
}

/** Who a subscriber is now, and which of the claims are known. */
interface Present extends Pick<Subscriber, 'caller' | 'version'> {
  readonly known: readonly WatchedClaim[]
}

/** Finds out what a subscriber is as whoever it is now. */
export async function checkStanding(
  sources: Sources,
  subscriber: Subscriber,
  { own, touched }: Clues,
  { caller, version, known }: Present,
): Promise<Verdict> {
  const list = await listFor(sources, subscriber, caller, known)
  if (!list) return 'over'
  const { subscription, list: former } = subscriber
  const { accounts } = sources.service
  const told = { collection: subscription.collection, list: former, version: subscriber.version }
  if (!isSameList(list, former)) return { list, caller, version }
  if (accounts && hasChanged(sources, accounts, told, own)) return { list, caller, version }
  for (const [claim, part] of touched)
    if (await wasAnother(sources, claim, part)) return { list, caller, version }
  return 'same'
}

/** Whether two lists of one subscriber tell the same. */
const isSameList = (one: WatchedList, other: WatchedList): boolean =>
  one.key === other.key && one.standing === other.standing

/** The list of a subscriber as another caller; `undefined` where it is now refused. */
async function listFor(
  sources: Sources,
  { subscription }: Subscriber,
  caller: KnownCaller | null,
  known: readonly WatchedClaim[],
): Promise<WatchedList | undefined> {
  try {
    return await watchList(sources, subscription, caller, known)
  } catch (thrown) {
    if (isServiceError(thrown) && REFUSED.includes(thrown.code)) return undefined
    throw thrown
  }
}

const REFUSED: readonly string[] = ['unauthenticated', 'forbidden', 'invalid_query']
