import { formatTimestamp } from '../../fields/timestamp.js'
import { and, type FieldRef, type Filter, ID, not } from '../../filter/filter.js'
import { drawFirstVersion } from '../../first-version.js'
import { readOwn } from '../../json/own-properties.js'
import type { CollectionPlan, SortKey, StoredDocument, WriteStep } from '../../storage.js'
import { createToken, digestToken } from './token.js'

/** The name of the internal collection of sessions. A configuration cannot use it, because of the `_`. */
export const SESSIONS = '_sessions'

const USER: FieldRef = { path: 'user', type: 'string', each: false }
const STAMP: FieldRef = { path: 'stamp', type: 'string', each: false }
const CREATED_AT: FieldRef = { path: 'createdAt', type: 'timestamp', each: false }
/** The time at which a session, a delivered token or a ledger expires. */
export const EXPIRES_AT: FieldRef = { path: 'expiresAt', type: 'timestamp', each: false }

/** The plan of the collection of sessions. The `_id` of a session is the digest of its token. */
export const SESSIONS_PLAN: CollectionPlan = {
  name: SESSIONS,
  indexes: [
    { fields: [USER], unique: false },
    { fields: [EXPIRES_AT], unique: false },
  ],
}

/** The part of a new session that its client receives. */
export interface IssuedSession {
  readonly token: string
  readonly expiresAt: string
}

/** A session and its user. `id` is the digest of the session's token. */
export interface Session {
  readonly id: string
  readonly user: StoredDocument
}

/**
 * Creates a session for a user with the stamp `stamp`, and the step that stores it. Times are in milliseconds since
 * 1970.
 */
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

/**
 * Returns the texts of a stored session or delivered token; `undefined` if it has expired at `now`, or lacks one of them.
 */
export function readLiving<N extends string>(
  stored: StoredDocument,
  names: readonly N[],
  now: number,
): { readonly [name in N]: string } | undefined {
  const expiresAt = readOwn(stored, 'expiresAt')
  const texts = names.map((name) => [name, readOwn(stored, name)] as const)
  const lives = typeof expiresAt === 'string' && Date.parse(expiresAt) > now
  if (!lives || texts.some(([, text]) => typeof text !== 'string')) return undefined
  return Object.fromEntries(texts) as { readonly [name in N]: string }
}

/** The latest possible time in stored form. */
export const LAST_TIME = '9999-12-31T23:59:59.999Z'

/** Matches all sessions of a user. */
export const sessionsOf = (userId: string): Filter => ({ kind: 'eq', field: USER, value: userId })

/** Matches the valid sessions of a user: those with the user's `stamp` that expire after `now` (in stored form). */
export const countingSessions = (userId: string, stamp: string, now: string): Filter =>
  and([
    sessionsOf(userId),
    { kind: 'eq', field: STAMP, value: stamp },
    { kind: 'gt', field: EXPIRES_AT, value: now },
  ])

/** Matches the sessions whose stamp is not `stamp`. */
export const otherStamps = (stamp: string): Filter => not({ kind: 'eq', field: STAMP, value: stamp })

/** Sorts sessions by the time at which they began (`createdAt`), oldest first. */
export const SESSION_ORDER: readonly SortKey[] = [
  { field: CREATED_AT, descending: false },
  { field: ID, descending: false },
]

/** The reverse of `SESSION_ORDER`. Sessions that an earlier release stored have no `createdAt`, so they come last. */
export const NEWEST_FIRST: readonly SortKey[] = SESSION_ORDER.map(({ field }) => ({
  field,
  descending: true,
}))

/**
 * Returns the time at which a session began. If an earlier release stored the session without `createdAt`, the time is
 * derived from the expiry.
 */
export function beginningOf(session: StoredDocument, lifetime: number): string {
  const [createdAt, expiresAt] = ['createdAt', 'expiresAt'].map((name) => readOwn(session, name))
  if (typeof createdAt === 'string') return createdAt
  return formatTimestamp(Date.parse(String(expiresAt)) - lifetime) ?? String(expiresAt)
}

/** Matches the sessions that began at `time` (in stored form) or later. */
export const begunSince = (time: string): Filter => ({ kind: 'gte', field: CREATED_AT, value: time })

/** Matches sessions, delivered tokens or ledgers that have expired at `now` (in stored form). */
export const expiredAt = (now: string): Filter => ({ kind: 'lte', field: EXPIRES_AT, value: now })
