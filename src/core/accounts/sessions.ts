import { bounds } from '../bounds.js'
import type { Along } from '../claims/claims-along.js'
import type { AuthPlan } from '../config/plan.js'
import { readStamp, renewStamp } from '../documents/write/stored-document.js'
import { isId, or } from '../filter/filter.js'
import { ignoreFailure, whenReady } from '../promises.js'
import { boundBytes } from '../request/byte-budget.js'
import type { Call, Service } from '../request/call.js'
import type { InSession, SessionSources } from '../request/kept-sessions.js'
import { invalidToken, isRefusal } from '../request/refusals.js'
import type { Store } from '../request/store.js'
import type { LinkedList, StoredDocument } from '../storage.js'
import type { MaybePromise } from '../types.js'
import { callerOf, counts } from './account.js'
import { readLiving, SESSIONS, type Session } from './auth/sessions.js'
import { createStamp, digestToken, isToken } from './auth/token.js'
import { endSessions } from './end-sessions.js'

/**
 * Returns the session of a token. Throws `invalid_token` if the session has expired, or if its stamp is not that of an
 * existing user. A new secret changes the user's stamp, which ends all earlier sessions.
 */
export function findSession(
  service: Service,
  store: Store,
  auth: AuthPlan,
  { token, along }: { readonly token: string; readonly along?: Along | undefined },
): MaybePromise<InSession> {
  if (!isToken(token)) throw invalidToken()
  return findHeld({ by: service, store, auth, id: digestToken(token), along })
}

/**
 * Finds a session by its id (the digest of its token), with the account as it is now. If the user is given, the session
 * and the user are read concurrently. Throws `invalid_token` if the session has ended.
 */
export const resumeSession = (
  by: SessionSources,
  store: Store,
  auth: AuthPlan,
  { id, user }: Pick<Session, 'id'> & Partial<Session>,
): MaybePromise<InSession> => findHeld({ by, store, auth, id, userId: user?._id })

/**
 * Whether a session has ended, also by a write that was just made. If the storage fails, the session counts as not
 * ended.
 */
export async function hasEnded(
  by: SessionSources & Pick<Service, 'beside'>,
  auth: AuthPlan,
  session: Pick<Session, 'id'>,
): Promise<boolean> {
  try {
    await resumeSession(by, by.beside, auth, { id: session.id })
    return false
  } catch (thrown) {
    return isRefusal(thrown)
  }
}

interface SoughtSession {
  readonly by: SessionSources
  readonly store: Store
  readonly auth: AuthPlan
  readonly id: string
  /** The id of the user, if known: the session and the user are then read concurrently. */
  readonly userId?: string | undefined
  /** Claims to read together with the session, if the storage supports linked reads. */
  readonly along?: Along | undefined
}

/** Reads the user and the stamp of a stored session; returns `undefined` if the session has expired at `now`. */
const readSession = (session: StoredDocument, now: number) => readLiving(session, ['user', 'stamp'], now)

/**
 * Finds a valid session and its user. `known` is the version of the session when an earlier call found different stamps
 * in the session and the user.
 */
function findHeld(sought: SoughtSession, known?: number): MaybePromise<InSession> {
  const { by, store, auth, id } = sought
  const state = store.state([SESSIONS, auth.users.name])
  const kept = state === undefined ? undefined : by.sessions.get(id)
  if (kept && kept.state === state) {
    if (!readSession(kept.stored, by.now())) throw invalidToken()
    return kept.found
  }
  return whenReady(
    known === undefined ? findLinked(sought) : undefined,
    (found) => found ?? findInTurn(sought, state, known),
  )
}

/**
 * Like `findHeld`, but reads the session, its user and claims in one snapshot; `undefined` if the storage cannot do
 * that.
 */
function findLinked({ by, store, auth, id, along }: SoughtSession): MaybePromise<InSession | undefined> {
  const { link, lists, take } = along ?? by.along.none()
  const own: LinkedList = { in: auth.users.name, filter: isId(link), limit: 1 }
  const reading = store.linked({ in: SESSIONS, id, field: 'user', link, lists: [own, ...lists] })
  if (!reading) return undefined
  return whenReady(reading, ({ document, lists: [users, ...claimed] }) => {
    const held = document && readSession(document, by.now())
    if (!held) throw invalidToken()
    if (!users) return undefined
    const [user] = users
    if (!user || !holds(auth, held, user)) throw invalidToken()
    return { session: { id, user }, caller: callerOf(auth, user), claims: take(claimed) }
  })
}

function findInTurn(
  sought: SoughtSession,
  state: string | undefined,
  known?: number,
): MaybePromise<InSession> {
  const { by, store, auth, id, userId } = sought
  const users = store.own(auth.users.name)
  const finding = userId === undefined ? undefined : users.find(userId)
  // If the session has ended, `finding` is never awaited: its failure must not be an unhandled rejection.
  ignoreFailure(finding)
  return whenReady(store.own(SESSIONS).first(isId(id)), (stored) => {
    const held = stored && readSession(stored, by.now())
    if (!held) throw invalidToken()
    return whenReady(userId === held.user ? finding : users.find(held.user), (user) => {
      if (user && holds(auth, held, user)) {
        const found = { session: { id, user }, caller: callerOf(auth, user) }
        if (state !== undefined)
          by.sessions.set(id, { state, stored, found }, boundBytes(stored) + 2 * boundBytes(user))
        return found
      }
      // Between the two reads, a request of this session may have changed the secret, and with it the stamps of both.
      if (!user || stored._version === known) throw invalidToken()
      return findHeld(sought, stored._version)
    })
  })
}

/** Finds many sessions by their ids. Ended sessions are left out. */
export async function resumeSessions(
  by: Service,
  store: Store,
  auth: AuthPlan,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Session>> {
  const stored = await readAll(store, SESSIONS, ids)
  const held = stored.map((session) => [session._id, readSession(session, by.now())] as const)
  const owners = new Set(held.flatMap(([, session]) => session?.user ?? []))
  const known = new Map((await readAll(store, auth.users.name, [...owners])).map((user) => [user._id, user]))
  const found = new Map<string, Session>()
  for (const [id, session] of held) {
    const user = session && known.get(session.user)
    const isHeld = user && holds(auth, session, user)
    const own = isHeld ? { id, user } : user && (await findAlone({ by, store, auth, id }))
    if (own) found.set(id, own)
  }
  return found
}

/** Reads a session and its user again because their stamps differed: both may have changed between the two reads. */
async function findAlone(sought: SoughtSession): Promise<Session | undefined> {
  try {
    return (await findHeld(sought)).session
  } catch (thrown) {
    if (isRefusal(thrown)) return undefined
    throw thrown
  }
}

/** Whether a session is valid: its stamp is that of its user, and the user may sign in. */
const holds = (auth: AuthPlan, { stamp }: { readonly stamp: string }, user: StoredDocument): boolean =>
  readStamp(user) === stamp && counts(auth, user)

/** The maximum number of documents per read. */
const AT_ONCE = 500

async function readAll(
  store: Store,
  collection: string,
  ids: readonly string[],
): Promise<readonly StoredDocument[]> {
  const found: StoredDocument[] = []
  for (let left = ids; left.length > 0; ) {
    const filter = or(left.slice(0, AT_ONCE).map(isId))
    const listed = await store.own(collection).list({ filter, bytes: bounds.readBytes })
    found.push(...listed)
    left = [...(listed.rest ?? []), ...left.slice(AT_ONCE)]
  }
  return found
}

/** Ends one session immediately. */
export const endSession = (store: Store, { id }: Pick<Session, 'id'>): MaybePromise<void> =>
  store.write(() => ({ steps: [{ in: SESSIONS, remove: isId(id) }], done: undefined }))

/**
 * Ends all sessions of a user immediately. The same write renews the user's stamp, so that a concurrent login that has
 * read the old stamp opens no valid session. Throws `invalid_token` if the session with this id has ended, and
 * `overloaded` if concurrent writes to the user come first in every attempt.
 */
export const endAllSessions = (
  { service, store, deadline }: Pick<Call, 'service' | 'store' | 'deadline'>,
  auth: AuthPlan,
  { id }: Pick<Session, 'id'>,
): MaybePromise<void> =>
  store.write(async () => {
    // A session that has ended must not end the sessions that began after it.
    const { user } = (await resumeSession(service, store, auth, { id })).session
    const { steps, after } = await endSessions(service, { auth, deadline }, [user._id])
    return {
      steps: [
        { in: SESSIONS, require: id },
        { in: auth.users.name, replace: renewStamp(user, createStamp()), version: user._version },
        ...steps,
      ],
      done: undefined,
      after,
    }
  })
