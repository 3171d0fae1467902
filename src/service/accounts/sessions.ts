import { DELIVERIES, deliveredTo } from '../../auth/deliveries.js'
import {
  expiredSessions,
  readSession,
  SESSIONS,
  type Session,
  sessionFilter,
  sessionsOf,
} from '../../auth/sessions.js'
import { createStamp, digestToken, isToken } from '../../auth/token.js'
import type { AuthPlan } from '../../config/plan.js'
import { and, isId, not, or } from '../../filter/filter.js'
import { readOwn } from '../../json/own-properties.js'
import { whenReady } from '../../promises.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import type { Attachment, InSession } from '../attachment.js'
import type { Service } from '../call.js'
import { invalidToken } from '../refusals.js'
import { BATCH_BYTES, type Store } from '../store.js'
import { readStamp, renewStamp } from '../write/stored-document.js'
import { callerOf } from './account.js'
import { counts } from './verified.js'

/**
 * The session of a token. Throws `invalid_token` unless it has not expired and holds the stamp of an existing
 * user. A new secret changes the stamp, which ends all sessions from before.
 */
export function findSession(
  service: Service,
  store: Store,
  auth: AuthPlan,
  token: string,
): MaybePromise<InSession> {
  if (!isToken(token)) throw invalidToken()
  return resumeSession(service, store, auth, digestToken(token))
}

/** The same of the session with an id. */
export function resumeSession(
  { now }: Pick<Service, 'now'>,
  store: Store,
  auth: AuthPlan,
  id: string,
): MaybePromise<InSession> {
  return whenReady(store.own(SESSIONS).first(sessionFilter(id)), (stored) => {
    const held = stored && readSession(stored, now())
    if (!held) throw invalidToken()
    return whenReady(store.own(auth.users.name).find(held.userId), (user) => {
      if (!user || !holds(auth, held, user)) throw invalidToken()
      return { session: { id, user }, caller: callerOf(auth, user) }
    })
  })
}

/** The same of many, by their ids; without those that are over. */
export async function resumeSessions(
  { now }: Service,
  store: Store,
  auth: AuthPlan,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Session>> {
  const stored = await readAll(store, SESSIONS, ids)
  const held = stored.map((session) => [session._id, readSession(session, now())] as const)
  const owners = new Set(held.flatMap(([, session]) => session?.userId ?? []))
  const known = new Map((await readAll(store, auth.users.name, [...owners])).map((user) => [user._id, user]))
  return new Map(
    held.flatMap(([id, session]) => {
      const user = session && known.get(session.userId)
      return user && holds(auth, session, user) ? [[id, { id, user }]] : []
    }),
  )
}

/** A session counts while it holds the stamp of its user, and the user counts. */
const holds = (auth: AuthPlan, { stamp }: { readonly stamp: string }, user: StoredDocument): boolean =>
  readStamp(user) === stamp && counts(auth, user)

/** The most documents that are asked for at once. */
const AT_ONCE = 500

async function readAll(
  store: Store,
  collection: string,
  ids: readonly string[],
): Promise<readonly StoredDocument[]> {
  const found: StoredDocument[] = []
  for (let left = ids; left.length > 0; ) {
    const filter = or(left.slice(0, AT_ONCE).map(isId))
    const listed = await store.own(collection).list({ filter, bytes: BATCH_BYTES })
    found.push(...listed)
    left = [...(listed.rest ?? []), ...left.slice(AT_ONCE)]
  }
  return found
}

/** Ends one session at once. */
export const endSession = (store: Store, { id }: Pick<Session, 'id'>): MaybePromise<void> =>
  store.write(() => ({ steps: [{ in: SESSIONS, remove: sessionFilter(id) }], done: undefined }))

/**
 * Ends all sessions of a user at once. The same write renews the stamp, so that a login under way, which has
 * read the old one, opens no valid session. Throws `invalid_token` where the session has ended meanwhile, and
 * `overloaded` where others keep writing the user.
 */
export const endAllSessions = (store: Store, { users }: AuthPlan, session: Session): MaybePromise<void> =>
  store.write(async () => {
    const { _id } = session.user
    const user = await store.own(users.name).find(_id)
    // Another stamp came first: that ended this session, and those that have begun since are not its own to end.
    if (!user || readStamp(user) !== readStamp(session.user)) throw invalidToken()
    const replace = renewStamp(user, createStamp())
    return {
      steps: [
        { in: users.name, replace, version: user._version },
        { in: SESSIONS, remove: sessionsOf(_id) },
      ],
      done: undefined,
    }
  })

/** The most expired sessions that are removed when one is opened. */
const MAX_EXPIRED = 100

/** The steps that remove expired sessions. `now` is in stored form. */
export async function removeExpired(store: Store, now: string): Promise<readonly WriteStep[]> {
  const expired = await store.own(SESSIONS).list({ filter: expiredSessions(now), limit: MAX_EXPIRED })
  if (expired.length === 0) return []
  return [{ in: SESSIONS, remove: or(expired.map(({ _id }) => sessionFilter(_id))) }]
}

/**
 * Ends the sessions of an account when it is deleted or its secret changes, its delivered tokens when it is
 * deleted, and its verification when its identifier changes.
 */
export const attachSessions = (auth: AuthPlan, hasDeliveries: boolean): Attachment => ({
  createStamp,
  resume: (by, store, id) => resumeSession(by, store, auth, id),
  settle(before, fields, renewed) {
    const { identifier, verified } = auth
    const { name } = identifier
    const isSame = !renewed?.has(name) && readOwn(before, name) === readOwn(fields, name)
    if (isSame || !verified || !Object.hasOwn(fields, verified.name)) return fields
    return Object.fromEntries(Object.entries(fields).filter(([field]) => field !== verified.name))
  },
  async takeWithUpdate({ store, session }, { _id }, hashes) {
    if (!hashes.has(auth.secret.name)) return { steps: [] }
    const stamp = createStamp()
    if (session?.user._id !== _id) return { stamp, steps: [{ in: SESSIONS, remove: sessionsOf(_id) }] }
    // A session that changes its own secret stays, with the new stamp.
    const own = await store.own(SESSIONS).first(sessionFilter(session.id))
    if (!own) throw invalidToken()
    return {
      stamp,
      steps: [
        { in: SESSIONS, replace: { ...own, stamp, _version: own._version + 1 }, version: own._version },
        { in: SESSIONS, remove: and([sessionsOf(_id), not(sessionFilter(session.id))]) },
      ],
    }
  },
  takeWithDelete(ids) {
    const all = [...ids]
    const sessions: WriteStep = { in: SESSIONS, remove: or(all.map(sessionsOf)) }
    return hasDeliveries ? [sessions, { in: DELIVERIES, remove: or(all.map(deliveredTo)) }] : [sessions]
  },
})
