import { callerOf } from '../../accounts/account.js'
import { resumeSessions } from '../../accounts/sessions.js'
import type { AuthPlan, Collection } from '../../config/plan.js'
import { isServiceError } from '../../errors.js'
import type { KnownCaller } from '../../permissions/caller.js'
import type { Service } from '../../request/call.js'
import { forEachCounted } from '../../slices.js'
import type { Change, StoredDocument } from '../../storage.js'
import type { Subscriber, SubscriberStanding } from '../subscriber.js'
import { hasStanding, type WatchedList, watchList } from '../watched-list.js'
import { type ClaimsAtWrite, type Edge, isSame, type PastClaim } from './claim-history.js'
import {
  type AskedClaim,
  claimsToRead,
  type Sources,
  type WatchedClaim,
  withBasesOf,
} from './watched-claims.js'

/**
 * The result of the check of a standing: the stream is over, or the standing is the same, or another. With `same`, `as`
 * is set if the claims of the caller come from other documents now.
 */
export type Verdict =
  | { readonly kind: 'over' }
  | { readonly kind: 'same'; readonly as?: SubscriberStanding | undefined }
  | { readonly kind: 'another'; readonly as: SubscriberStanding }

export const OVER: Verdict = { kind: 'over' }
const SAME: Verdict = { kind: 'same' }

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

/** The changes in a part of the log that may affect the standing of a subscriber. */
export interface Clues {
  /** The changes of the user document. */
  readonly own: readonly Change[]
  /** The claims whose values may have changed. */
  readonly touched: readonly PastClaim[]
}

/** No changes are known; only time has passed. */
export const NO_CLUES: Clues = { own: [], touched: [] }

/**
 * The requests for the documents of a user's claims after each change of the user document, except changes that were
 * already evaluated.
 */
export function findAskings(
  { service }: Sources,
  { collection, version }: Pick<KnownStanding, 'collection' | 'version'>,
  own: readonly Change[],
): readonly ClaimsAtWrite[] {
  const { accounts } = service
  if (!accounts) return []
  return own.flatMap(({ write, after }) => {
    if (!after || after._version <= version) return []
    const claims = claimsToRead(service, collection, callerOf(accounts, after))
    return [{ write, claims: claims.flatMap((claim) => [claim, ...claim.bases]) }]
  })
}

/** Whether the known claims of a subscriber are current: the log was read to its end without a change of them. */
export type IsKnown = (subscriber: Subscriber) => boolean

/** The standing in a collection, and the version of the user document for which it is known. */
export interface KnownStanding extends Pick<Subscriber, 'list' | 'version'> {
  readonly collection: Collection
}

export const knownOf = ({ subscription, list, version }: Subscriber): KnownStanding => ({
  collection: subscription.collection,
  list,
  version,
})

/** Whether some changes of the user document gave the user another standing than the known one, even briefly. */
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

/** The cost of the check of one standing, in steps, without the steps that the check counts itself. */
const STEPS_A_STANDING = 1000

/**
 * Checks the current standing of subscribers. Call it after the log was read, so that no event is sent with outdated
 * rights (CONTRACT.md §9, "Standing").
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
  await forEachCounted(asked, async ([subscriber, clues]) => {
    const { caller, subscription, list } = subscriber
    const known = isKnown(subscriber) ? list.claims : []
    const session = subscription.session && sessions?.get(subscription.session.id)
    // A caller whom the host identifies stays the same until the host is asked again.
    if (!subscription.session && list.claims.length === 0) verdicts.set(subscriber, SAME)
    else if (subscription.session && !session) verdicts.set(subscriber, OVER)
    else {
      const present = session && accounts ? callerOf(accounts, session.user) : caller
      verdicts.set(subscriber, await checkStanding(sources, subscriber, clues, { caller: present, known }))
    }
    return STEPS_A_STANDING
  })
  return verdicts
}

/** Checks the standing of one subscriber without clues: only time has passed. */
export const checkAgain = async (sources: Sources, subscriber: Subscriber): Promise<Verdict> =>
  (await checkStandings(sources, new Map([[subscriber, NO_CLUES]]))).get(subscriber) ?? OVER

/** The current caller of a subscriber, and those claims of its list that need not be read again. */
interface Present extends Pick<Subscriber, 'caller'> {
  readonly known: readonly WatchedClaim[]
}

/** Checks the standing of a subscriber with its current caller. */
export async function checkStanding(
  sources: Sources,
  subscriber: Subscriber,
  clues: Clues,
  { caller, known }: Present,
): Promise<Verdict> {
  const list = await listFor(sources, subscriber, caller, known)
  if (!list) return OVER
  const { accounts } = sources.service
  const told = knownOf(subscriber)
  const { own, touched } = clues
  const version = own.at(-1)?.after?._version ?? told.version
  const another = { kind: 'another', as: { list, caller, version } } as const
  if (list.key !== told.list.key) return another
  if (accounts && hasChanged(sources, accounts, told, own)) return another
  for (const history of touched) if (await history.wasAnother(sources)) return another
  // If a part of the log was reviewed, the subscriber continues with the caller as of that part: later changes are
  // evaluated when they are read.
  if (clues !== NO_CLUES) {
    const based = {
      ...subscriber,
      list: { ...told.list, claims: claimsAt('end', told.list, touched) },
    }
    return { kind: 'same', as: (await follow(sources, based, own)) ?? continueWith(based, told.list) }
  }
  return asksSame(list.claims, told.list.claims) ? SAME : { kind: 'same', as: another.as }
}

const asksSame = (some: readonly AskedClaim[], others: readonly AskedClaim[]): boolean =>
  some.every(({ asked }, i) => asked === others[i]?.asked)

/** Returns the claims of a list with the values that their bases had at an edge of a part of the log. */
export const claimsAt = (
  edge: Edge,
  { claims }: Pick<WatchedList, 'claims'>,
  past: readonly PastClaim[],
): readonly WatchedClaim[] => {
  const known = new Map(past.map((one) => one.at(edge)).map((one) => [one.claim, one]))
  return claims.map((one) => known.get(one.claim) ?? one)
}

/** The state of a subscriber if claims that its claims use have other values now; `undefined` if they have not. */
function continueWith(
  { list, caller, version }: SubscriberStanding,
  told: WatchedList,
): SubscriberStanding | undefined {
  const bases = told.claims.flatMap((claim) => claim.bases)
  const present = list.claims.flatMap((claim) => claim.bases)
  const isUnchanged = bases.every(({ values }, i) => isSame(values, present[i]?.values))
  return isUnchanged ? undefined : { list, caller, version }
}

/**
 * The state of a subscriber after the last of some changes of the user document; `undefined` if its claims still come
 * from the same documents.
 */
async function follow(
  sources: Sources,
  { subscription, list, version }: Pick<Subscriber, 'subscription' | 'list' | 'version'>,
  own: readonly Change[],
): Promise<SubscriberStanding | undefined> {
  const { accounts } = sources.service
  const last = own.at(-1)?.after
  if (!accounts || !last || last._version <= version || list.claims.length === 0) return undefined
  const caller = callerOf(accounts, last)
  const present = await listAs(sources, { subscription, list }, caller)
  return asksSame(present.claims, list.claims) ? undefined : { list: present, caller, version: last._version }
}

const unread = (asked: AskedClaim): WatchedClaim => ({ ...asked, bases: [], values: undefined })

/** Creates the same list for another caller with the same standing. */
export function listAs(
  sources: Sources,
  { subscription, list }: Pick<Subscriber, 'subscription' | 'list'>,
  caller: KnownCaller,
): Promise<WatchedList> {
  const told = new Map(list.claims.map(({ claim, values }) => [claim, values]))
  const asked = claimsToRead(sources.service, subscription.collection, caller)
  const watched = asked.map((one) => ({ ...one, bases: one.bases.map(unread), values: told.get(one.claim) }))
  const known = withBasesOf(watched, list.claims)
  return watchList(sources, subscription, caller, known)
}

/** The list of a subscriber for another caller; `undefined` if this caller may not read the list. */
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
