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
import { and, not, or } from '../../filter/filter.js'
import type { WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import type { Attachment } from '../attachment.js'
import type { Service } from '../call.js'
import { invalidToken } from '../refusals.js'
import type { Store } from '../store.js'
import { readStamp, renewStamp } from '../write/stored-document.js'

/**
 * The session of a token. Throws `invalid_token` unless it has not expired and holds the stamp of an existing
 * user. A new secret changes the stamp, which ends all sessions from before.
 */
export async function findSession(
  service: Service,
  store: Store,
  auth: AuthPlan,
  token: string,
): Promise<Session> {
  if (!isToken(token)) throw invalidToken()
  return resumeSession(service, store, auth, digestToken(token))
}

/** The same of the session with an id. */
export async function resumeSession(
  { now }: Service,
  store: Store,
  { users }: AuthPlan,
  id: string,
): Promise<Session> {
  const stored = await store.own(SESSIONS).first(sessionFilter(id))
  const session = stored && readSession(stored, now())
  const user = session && (await store.own(users.name).find(session.userId))
  if (!user || readStamp(user) !== session.stamp) throw invalidToken()
  return { id, user }
}

/** Ends one session at once. */
export const endSession = (store: Store, { id }: Pick<Session, 'id'>): MaybePromise<void> =>
  store.write(() => ({ steps: [{ in: SESSIONS, remove: sessionFilter(id) }], done: undefined }))

/**
 * Ends all sessions of a user at once. The same write renews the stamp, so that a login under way, which has
 * read the old one, opens no valid session. Throws `overloaded` where others keep writing the user.
 */
export const endAllSessions = (
  store: Store,
  { users }: AuthPlan,
  { user: { _id } }: Session,
): MaybePromise<void> =>
  store.write(async () => {
    const user = await store.own(users.name).find(_id)
    if (!user) return { steps: [], done: undefined }
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

/** Ends the sessions of an account when it is deleted or its secret changes. */
export const attachSessions = ({ secret }: AuthPlan): Attachment => ({
  createStamp,
  async takeWithUpdate({ store, session }, { _id }, hashes) {
    if (!hashes.has(secret.name)) return { steps: [] }
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
  takeWithDelete: (ids) => [{ in: SESSIONS, remove: or(Array.from(ids, sessionsOf)) }],
})
