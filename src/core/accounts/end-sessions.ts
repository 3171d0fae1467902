import type { AuthPlan } from '../config/plan.js'
import { readStamp } from '../documents/write/stored-document.js'
import { and, type Filter, isId, not, or } from '../filter/filter.js'
import { whenReady } from '../promises.js'
import type { BackgroundScope, Call, Service } from '../request/call.js'
import type { Deadline } from '../request/deadline.js'
import { invalidToken } from '../request/refusals.js'
import type { Store } from '../request/store.js'
import { nextTurn } from '../slices.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { MaybePromise } from '../types.js'
import { DELIVERIES, deliveredTo } from './auth/deliveries.js'
import {
  countingSessions,
  expiredAt,
  NEWEST_FIRST,
  otherStamps,
  SESSIONS,
  sessionsOf,
} from './auth/sessions.js'
import { createStamp } from './auth/token.js'

/** The maximum number of sessions that a write removes in addition to its other steps: about 20 ms in memory. */
const MOST_AT_ONCE = 500

/** The maximum number of sessions that a background task finds in one read, and that it removes in one write. */
const FOUND_AT_ONCE = 2000
const SLICE = 200

/** The maximum number of reads of one background task; the rest of the work becomes another task. */
const ROUNDS = 5

/** The parts of a service that are needed to end sessions. */
type Ender = Pick<Service, 'beside' | 'background' | 'clock'>

/** The part of a write that ends sessions. */
export interface EndedSessions {
  readonly steps: readonly WriteStep[]
  /** Called once the write has taken effect. */
  readonly after?: (() => void) | undefined
}

/**
 * Removes all sessions of accounts that a write deletes or gives new stamps, which alone makes the sessions invalid. A
 * few sessions are removed in the same write, many are removed after it, in slices. `kept` is the id of a session that
 * must not end.
 */
export function endSessions(
  by: Ender,
  { auth, deadline }: { readonly auth: AuthPlan; readonly deadline: Deadline },
  ids: readonly string[],
  kept?: string,
): MaybePromise<EndedSessions> {
  const all = or(ids.map(sessionsOf))
  // Counts in the storage directly: in a batch, a read through `store` would require that the number stays unchanged.
  return whenReady(by.beside.within(deadline).own(SESSIONS).count(all), (count) =>
    count > MOST_AT_ONCE
      ? { steps: [], after: () => tidyAll(by, auth, ids) }
      : { steps: [{ in: SESSIONS, remove: kept ? and([all, not(isId(kept))]) : all }] },
  )
}

/**
 * Makes room for one more session of an account: ends its oldest sessions in the write that stores the new session
 * (CONTRACT.md §4, "Sessions"). An account that is older than the limit may have more sessions than one slice; the rest
 * end after the write.
 */
export const makeRoom = (
  { service, store }: Pick<Call, 'service' | 'store'>,
  auth: AuthPlan,
  user: StoredDocument,
): MaybePromise<EndedSessions> =>
  whenReady(
    store.own(SESSIONS).list({
      filter: countingSessions(user._id, readStamp(user), service.clock()),
      sort: NEWEST_FIRST,
      skip: auth.sessions - 1,
      limit: SLICE,
    }),
    (found) => ({
      steps: removeSessions(found),
      after: found.length < SLICE ? undefined : () => tidySessions(service, auth, user._id),
    }),
  )

/** The maximum number of expired sessions or tokens that are removed when a new one is stored. */
const MAX_EXPIRED = 100

/** Returns the steps that remove expired sessions or delivered tokens. `now` is in stored form. */
export async function removeExpired(
  store: Store,
  collection: string,
  now: string,
): Promise<readonly WriteStep[]> {
  const expired = await store.own(collection).list({ filter: expiredAt(now), limit: MAX_EXPIRED })
  return expired.length === 0 ? [] : [{ in: collection, remove: or(expired.map(({ _id }) => isId(_id))) }]
}

const removeSessions = (found: readonly StoredDocument[]): readonly WriteStep[] =>
  found.length === 0 ? [] : [{ in: SESSIONS, remove: or(found.map(({ _id }) => isId(_id))) }]

function tidyAll(by: Pick<Ender, 'background' | 'clock'>, auth: AuthPlan, ids: readonly string[]): void {
  for (const id of ids) tidySessions(by, auth, id)
}

/**
 * Removes, in the background, the sessions of an account that are no longer valid or exceed the limit `auth.sessions`.
 */
function tidySessions(by: Pick<Ender, 'background' | 'clock'>, auth: AuthPlan, id: string): void {
  const line = JSON.stringify(['sessions', id])
  by.background.begin(async (scope) => {
    for (let round = 0; round < ROUNDS; round += 1) if (!(await tidySome(scope, auth, id, by.clock()))) return
    tidySessions(by, auth, id)
  }, line)
}

/**
 * Returns the stamp of a document of accounts whose hash fields `hashes` are written, and the steps that end its other
 * sessions; no stamp if its secret is not among them. Called in each attempt at the write.
 */
export async function endByNewSecret(
  { service, store, deadline, session }: Pick<Call, 'service' | 'store' | 'deadline' | 'session'>,
  auth: AuthPlan,
  { _id }: StoredDocument,
  hashes: ReadonlyMap<string, unknown>,
): Promise<EndedSessions & { readonly stamp?: string }> {
  if (!hashes.has(auth.secret.name)) return { steps: [] }
  const stamp = createStamp()
  const within = { auth, deadline }
  if (session?.user._id !== _id) return { stamp, ...(await endSessions(service, within, [_id])) }
  // The session that changes the secret of its own account does not end, but gets the new stamp.
  const own = await store.own(SESSIONS).first(isId(session.id))
  if (!own) throw invalidToken()
  const { steps, after } = await endSessions(service, within, [_id], session.id)
  const replace = { ...own, stamp, _version: own._version + 1 }
  return { stamp, steps: [{ in: SESSIONS, replace, version: own._version }, ...steps], after }
}

/** Returns the steps that end the sessions of deleted documents, and remove their delivered tokens. */
export function endByDelete(
  { service, deadline }: Pick<Call, 'service' | 'deadline'>,
  collection: string,
  ids: readonly string[],
): MaybePromise<EndedSessions> {
  const { accounts: auth, deliver } = service
  if (auth?.users.name !== collection) return NOTHING_ENDS
  return whenReady(endSessions(service, { auth, deadline }, ids), ({ steps, after }) => ({
    steps: deliver ? [...steps, { in: DELIVERIES, remove: or(ids.map(deliveredTo)) }] : steps,
    after,
  }))
}

const NOTHING_ENDS: EndedSessions = { steps: [] }

/** Removes one batch of the sessions that `tidySessions` removes; returns false if there were none. */
async function tidySome(
  { store }: BackgroundScope,
  auth: AuthPlan,
  id: string,
  now: string,
): Promise<boolean> {
  const users = store.own(auth.users.name)
  const sessions = store.own(SESSIONS)
  const user = await users.find(id)
  const over: Filter = user ? and([sessionsOf(id), otherStamps(readStamp(user))]) : sessionsOf(id)
  let found = await sessions.list({ filter: over, limit: FOUND_AT_ONCE })
  if (found.length === 0 && user) {
    const filter = countingSessions(id, readStamp(user), now)
    found = await sessions.list({
      filter,
      sort: NEWEST_FIRST,
      skip: auth.sessions,
      limit: FOUND_AT_ONCE,
    })
  }
  for (let i = 0; i < found.length; i += SLICE) {
    await nextTurn()
    await store.write(async () => {
      const present = await users.find(id)
      // If the stamp has changed, other sessions may have to be removed: the next round reads again.
      if (present && user ? readStamp(present) !== readStamp(user) : present !== user)
        return { steps: [], done: undefined }
      // Requires an unchanged account, because the session that changes the secret gets the new stamp in the same write
      // as the account, and must then not be removed.
      const unchanged: WriteStep = present
        ? { in: auth.users.name, require: id, version: present._version }
        : { in: auth.users.name, refuse: isId(id) }
      return { steps: [unchanged, ...removeSessions(found.slice(i, i + SLICE))], done: undefined }
    })
  }
  return found.length > 0
}
