import { formatTimestamp } from '../../fields/timestamp.js'
import { and, type FieldRef, type Filter, ID, isId, not } from '../../filter/filter.js'
import { drawFirstVersion } from '../../first-version.js'
import { readOwn } from '../../json/own-properties.js'
import type { CollectionPlan, SortKey, StoredDocument, WriteStep } from '../../storage.js'
import { createToken, digest, digestToken } from './token.js'

/** The internal collection of sessions. The names of a configuration's collections cannot begin with `_`. */
export const SESSIONS = '_sessions'

const USER: FieldRef = { path: 'user', type: 'string', each: false }
const STAMP: FieldRef = { path: 'stamp', type: 'string', each: false }
const CREATED_AT: FieldRef = { path: 'createdAt', type: 'timestamp', each: false }
/** The time at which a session, a delivered token or a ledger expires. */
export const EXPIRES_AT: FieldRef = { path: 'expiresAt', type: 'timestamp', each: false }

/** A stored session: `_id` is the digest of its token. */
export const SESSIONS_PLAN: CollectionPlan = {
  name: SESSIONS,
  indexes: [
    { fields: [USER], unique: false },
    { fields: [EXPIRES_AT], unique: false },
  ],
}

/** A new session as its client receives it. */
export interface IssuedSession {
  readonly token: string
  readonly expiresAt: string
}

/** The user and the digest of a token's session. */
export interface Session {
  readonly id: string
  readonly user: StoredDocument
}

/** Creates a session of a user with a stamp, and the step that stores it. Times: milliseconds since 1970. */
export function issueSession(
  userId: string,
  stamp: string,
  now: number,
  lifetime: number,
): { readonly issued: IssuedSession; readonly step: WriteStep } {
  const token = createToken()
  const [createdAt = LAST_TIME, expiresAt = LAST_TIME] = [now, now + lifetime].map(formatTimestamp)
  const marks = { _id: digestToken(token), _version: drawFirstVersion() }
  const insert: StoredDocument = { user: userId, stamp, createdAt, expiresAt, ...marks }
  return { issued: { token, expiresAt }, step: { in: SESSIONS, insert } }
}

/** The latest possible time in stored form. */
export const LAST_TIME = '9999-12-31T23:59:59.999Z'

/** Matches the session of a token, expired or not. */
export const sessionFilter = isId

/** The user and the stamp of a stored session; `undefined` where it has expired at `now`. */
export function readSession(
  session: StoredDocument,
  now: number,
): { readonly userId: string; readonly stamp: string } | undefined {
  const expiresAt = readOwn(session, 'expiresAt')
  const userId = readOwn(session, 'user')
  const stamp = readOwn(session, 'stamp')
  const lives = typeof expiresAt === 'string' && Date.parse(expiresAt) > now
  return lives && typeof userId === 'string' && typeof stamp === 'string' ? { userId, stamp } : undefined
}

/** Matches all sessions of a user. */
export const sessionsOf = (userId: string): Filter => ({ kind: 'eq', field: USER, value: userId })

/** Matches the valid sessions of a user at a time in stored form: those with the present stamp. */
export const countingSessions = (userId: string, stamp: string, now: string): Filter =>
  and([
    sessionsOf(userId),
    { kind: 'eq', field: STAMP, value: stamp },
    { kind: 'gt', field: EXPIRES_AT, value: now },
  ])

/** Matches the sessions with another stamp than the present one. */
export const otherStamps = (stamp: string): Filter => not({ kind: 'eq', field: STAMP, value: stamp })

/** Sorts sessions by the time at which they began. */
export const SESSION_ORDER: readonly SortKey[] = [
  { field: CREATED_AT, descending: false },
  { field: ID, descending: false },
]

/** The reverse: sessions of an earlier release have no such time, and come last. */
export const NEWEST_FIRST: readonly SortKey[] = SESSION_ORDER.map(({ field }) => ({
  field,
  descending: true,
}))

/** The public name of a session: neither its token nor the token's digest. */
export const nameSession = (id: string): string => digest(`session ${id}`).slice(0, 32)

/** The time at which a stored session began; for one of an earlier release, derived from its expiry. */
export function beginningOf(session: StoredDocument, lifetime: number): string {
  const [createdAt, expiresAt] = ['createdAt', 'expiresAt'].map((name) => readOwn(session, name))
  if (typeof createdAt === 'string') return createdAt
  return formatTimestamp(Date.parse(String(expiresAt)) - lifetime) ?? String(expiresAt)
}

/** The stored time at which a session began; empty for one of an earlier release. */
export function storedBeginning(session: StoredDocument): string {
  const createdAt = readOwn(session, 'createdAt')
  return typeof createdAt === 'string' ? createdAt : ''
}

/** Matches the sessions that began at a time in stored form, or later. */
export const begunSince = (time: string): Filter => ({ kind: 'gte', field: CREATED_AT, value: time })

/** Matches sessions, delivered tokens or ledgers that have expired at a time in stored form. */
export const expiredAt = (now: string): Filter => ({ kind: 'lte', field: EXPIRES_AT, value: now })
