import {
  beginningOf,
  begunSince,
  countingSessions,
  nameSession,
  SESSION_ORDER,
  SESSIONS,
  type Session,
  storedBeginning,
} from '../../auth/sessions.js'
import type { AuthPlan } from '../../config/plan.js'
import { and } from '../../filter/filter.js'
import type { SessionPage, SessionPlace } from '../../query/paging/session-page.js'
import { nextTurn } from '../../slices.js'
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

/** A page of sessions, and where the next one begins; absent where no more follow. */
export interface SessionsPage {
  readonly shown: readonly SessionView[]
  readonly next?: SessionPlace
}

/** Sessions of an account that count, in the order in which they began (CONTRACT.md §4, "Sessions"). */
export async function listSessions(
  call: Call,
  { sessionMilliseconds }: AuthPlan,
  own: Session,
  { after, limit }: SessionPage,
): Promise<SessionsPage> {
  const found = limit === 0 ? [] : await readSessions(call, own, after, limit + 1)
  const shown = found.slice(0, limit).map((session) => ({
    _id: nameSession(session._id),
    createdAt: beginningOf(session, sessionMilliseconds),
    expiresAt: session.expiresAt,
    isCurrent: session._id === own.id,
  }))
  return found.length > limit ? { shown, next: placeBehind(found.slice(0, limit), after) } : { shown }
}

/** The place after sessions that begin at another one. */
function placeBehind(found: readonly StoredDocument[], before: SessionPlace): SessionPlace {
  const times = found.map(storedBeginning)
  const began = times.at(-1) ?? before.began
  const passed = times.filter((time) => time === began).length
  return { began, passed: began === before.began ? before.passed + passed : passed }
}

/** The sessions that are read at once where one is looked for by its name. */
const LOOKED_AT = 500

/** Ends the session with a name. Throws `not_found` for any that is not the account's. */
export async function endNamedSession(call: Call, own: Session, name: string): Promise<void> {
  let after: SessionPlace = { began: '', passed: 0 }
  for (;;) {
    const found = await readSessions(call, own, after, LOOKED_AT)
    const named = found.find(({ _id }) => nameSession(_id) === name)
    if (named) return endSession(call.store, { id: named._id })
    if (found.length < LOOKED_AT) throw notFound()
    after = placeBehind(found, after)
    await nextTurn()
  }
}

/** Those of an account that count, after a place. */
const readSessions = async (
  { store, service }: Call,
  { user }: Session,
  { began, passed }: SessionPlace,
  limit: number,
): Promise<readonly StoredDocument[]> => {
  const counting = countingSessions(user._id, readStamp(user), service.clock())
  const filter = began === '' ? counting : and([counting, begunSince(began)])
  return store.own(SESSIONS).list({ filter, sort: SESSION_ORDER, skip: passed, limit })
}
