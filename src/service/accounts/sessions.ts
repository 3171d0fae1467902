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
import type { Attachment } from '../attachment.js'
import type { Service } from '../call.js'
import { invalidToken } from '../refusals.js'
import type { Store } from '../store.js'
import { readStamp, renewStamp } from '../write/stored-document.js'

/**
 * The session of a token. Throws `invalid_token` for any but a living one that holds the stamp of a user who exists:
 * with a new secret the stamp is another, and all sessions from before count no more.
 */
export async function findSession(
  { now }: Service,
  store: Store,
  { users }: AuthPlan,
  token: string,
): Promise<Session> {
  if (!isToken(token)) throw invalidToken()
  const id = digestToken(token)
  const stored = await store.own(SESSIONS).first(sessionFilter(id))
  const session = stored && readSession(stored, now())
  const user = session && (await store.own(users.name).find(session.userId))
  if (!user || readStamp(user) !== session.stamp) throw invalidToken()
  return { id, user }
}

/** Ends one session at once. */
export const endSession = (store: Store, { id }: Session): Promise<void> =>
  store.write(() => ({ steps: [{ in: SESSIONS, remove: sessionFilter(id) }], done: undefined }))

/**
 * Ends all sessions of a user at once. The stamp is renewed in the same write, so that a login under way, which has
 * read the old one, opens no session that lives. Throws `overloaded` where others keep writing the user.
 */
export const endAllSessions = (
  store: Store,
  { users }: AuthPlan,
  { user: { _id } }: Session,
): Promise<void> =>
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

/** At most so many sessions are cleared away with one that is opened. */
const MAX_EXPIRED = 100

/** The steps that clear expired sessions away in passing. `now` in stored form. */
export async function removeExpired(store: Store, now: string): Promise<readonly WriteStep[]> {
  const expired = await store.own(SESSIONS).list({ filter: expiredSessions(now), limit: MAX_EXPIRED })
  if (expired.length === 0) return []
  return [{ in: SESSIONS, remove: or(expired.map(({ _id }) => sessionFilter(_id))) }]
}

/** Sessions go with the accounts that they are of: with those that are deleted, and with a secret that is another. */
export const attachSessions = ({ secret }: AuthPlan): Attachment => ({
  createStamp,
  async takeWithUpdate({ store, session }, { _id }, hashes) {
    if (!hashes.has(secret.name)) return { steps: [] }
    const stamp = createStamp()
    if (session?.user._id !== _id) return { stamp, steps: [{ in: SESSIONS, remove: sessionsOf(_id) }] }
    // The one that changes its own secret stays, with the new stamp.
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
