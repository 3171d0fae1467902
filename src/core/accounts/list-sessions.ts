import type { AuthPlan } from '../config/plan.js'
import { readStamp } from '../documents/write/stored-document.js'
import { and } from '../filter/filter.js'
import { digest } from '../json/digest.js'
import { readOwn } from '../json/own-properties.js'
import { type SessionPage, type SessionPlace, START } from '../query/paging/session-page.js'
import type { Call } from '../request/call.js'
import { notFound } from '../request/refusals.js'
import { nextTurn } from '../slices.js'
import type { StoredDocument } from '../storage.js'
import {
  beginningOf,
  begunSince,
  countingSessions,
  SESSION_ORDER,
  SESSIONS,
  type Session,
} from './auth/sessions.js'
import { endSession } from './sessions.js'

/** A session as a response shows it to its user. */
export interface SessionView {
  /** The public name of the session. It is of no use as a token. */
  readonly _id: string
  readonly createdAt: string
  readonly expiresAt: unknown
  /** Whether this request was sent in this session. */
  readonly isCurrent: boolean
}

/** A page of sessions. `next`: the position of the next page; absent on the last page. */
interface SessionsPage {
  readonly shown: readonly SessionView[]
  readonly next?: SessionPlace
}

/** Returns the public name of a session. It reveals neither the token nor the token's digest. */
const nameSession = (id: string): string => digest(`session ${id}`).slice(0, 32)

/** Returns the `createdAt` of a session; `''` if an earlier release stored the session without it. */
function storedBeginning(session: StoredDocument): string {
  const createdAt = readOwn(session, 'createdAt')
  return typeof createdAt === 'string' ? createdAt : ''
}

/** Lists the valid sessions of an account in the order in which they began (CONTRACT.md §4, "Sessions"). */
export async function listSessions(
  call: Call,
  { sessionMilliseconds }: AuthPlan,
  own: Session,
  { after, limit }: SessionPage,
): Promise<SessionsPage> {
  const { found, passed } = limit === 0 ? NONE : await readSessions(call, own, after, limit + 1)
  const page = found.slice(0, limit)
  const shown = page.map((session) => ({
    _id: nameSession(session._id),
    createdAt: beginningOf(session, sessionMilliseconds),
    expiresAt: session.expiresAt,
    isCurrent: session._id === own.id,
  }))
  return found.length > limit ? { shown, next: placeBehind(page, after.began, passed) } : { shown }
}

/** The sessions after a position. */
interface FoundSessions {
  readonly found: readonly StoredDocument[]
  /** How many of the sessions before `found` began at the same time as the last of them. */
  readonly passed: number
}

const NONE: FoundSessions = { found: [], passed: 0 }

/** Returns the position after the found sessions. `before` (a time) and `passed` describe the position before them. */
function placeBehind(found: readonly StoredDocument[], before: string, passed: number): SessionPlace {
  const times = found.map(storedBeginning)
  const began = times.at(-1) ?? before
  const same = times.filter((time) => time === began).length
  return {
    began,
    passed: began === before ? passed + same : same,
    name: nameSession(found.at(-1)?._id ?? ''),
  }
}

/** The number of sessions per read while a session is searched by its name. */
const LOOKED_AT = 500

/** Ends the session that has the public name `name`. Throws `not_found` if no session of the account has this name. */
export async function endNamedSession(call: Call, own: Session, name: string): Promise<void> {
  for (let after = START; ; await nextTurn()) {
    const { found, passed } = await readSessions(call, own, after, LOOKED_AT)
    const named = found.find(({ _id }) => nameSession(_id) === name)
    if (named) return endSession(call.store, { id: named._id })
    if (found.length < LOOKED_AT) throw notFound()
    after = placeBehind(found, after.began, passed)
  }
}

/** Reads the valid sessions of an account after a position. */
async function readSessions(
  { store, service }: Call,
  { user }: Session,
  { began, passed, name }: SessionPlace,
  limit: number,
): Promise<FoundSessions> {
  const counting = countingSessions(user._id, readStamp(user), service.clock())
  const filter = began === '' ? counting : and([counting, begunSince(began)])
  // Reads the last session before the position again, to check that it is still at this offset. If that session, or one
  // that began at the same time, has ended, the offset holds the next session instead.
  const skip = Math.max(0, passed - 1)
  const sessions = await store
    .own(SESSIONS)
    .list({ filter, sort: SESSION_ORDER, skip, limit: limit + passed - skip })
  const [first] = sessions
  const isThere = passed > 0 && first !== undefined && nameSession(first._id) === name
  return isThere ? { found: sessions.slice(1), passed } : { found: sessions.slice(0, limit), passed: skip }
}
