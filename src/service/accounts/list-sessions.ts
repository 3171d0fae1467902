import {
  beginningOf,
  countingSessions,
  nameSession,
  SESSION_ORDER,
  SESSIONS,
  type Session,
} from '../../auth/sessions.js'
import type { AuthPlan } from '../../config/plan.js'
import type { StoredDocument } from '../../storage.js'
import type { Call } from '../call.js'
import { notFound } from '../refusals.js'
import { readStamp } from '../write/stored-document.js'
import { endSession } from './sessions.js'

/** A session as its user sees it. */
export interface SessionView {
  /** A name, which is of no use as a token. */
  readonly _id: string
  readonly createdAt: string
  readonly expiresAt: unknown
  /** Whether the request was sent in it. */
  readonly isCurrent: boolean
}

/** The sessions of an account that count, in the order in which they began (CONTRACT.md §4, "Sessions"). */
export async function listSessions(
  call: Call,
  { sessionMilliseconds }: AuthPlan,
  own: Session,
): Promise<readonly SessionView[]> {
  const stored = await readSessions(call, own)
  return stored.map((session) => ({
    _id: nameSession(session._id),
    createdAt: beginningOf(session, sessionMilliseconds),
    expiresAt: session.expiresAt,
    isCurrent: session._id === own.id,
  }))
}

/** Ends the session with a name. Throws `not_found` for any that is not the account's. */
export async function endNamedSession(call: Call, own: Session, name: string): Promise<void> {
  const named = (await readSessions(call, own)).find(({ _id }) => nameSession(_id) === name)
  if (!named) throw notFound()
  await endSession(call.store, { id: named._id })
}

const readSessions = async (
  { store, service }: Call,
  { user }: Session,
): Promise<readonly StoredDocument[]> => {
  const filter = countingSessions(user._id, readStamp(user), service.clock())
  return store.own(SESSIONS).list({ filter, sort: SESSION_ORDER })
}
