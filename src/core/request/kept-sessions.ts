import type { Session } from '../accounts/auth/sessions.js'
import type { FindAlong } from '../claims/claims-along.js'
import { type BoundedMap, createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import type { KnownCaller } from '../permissions/caller.js'
import type { ClaimValues } from '../query/variable.js'
import type { StoredDocument } from '../storage.js'

/** The caller in a session. */
export interface InSession {
  readonly caller: KnownCaller
  readonly session: Session
  /** Claims that were read with it, by their names. */
  readonly claims?: ReadonlyMap<string, ClaimValues>
}

/** A cached session, and the storage state it was read at. */
export interface KeptSession {
  readonly state: string
  readonly stored: StoredDocument
  readonly found: InSession
  /** The approximate bytes of its documents. */
  readonly size: number
}

/** The cached sessions by their ids. */
export type KeptSessions = BoundedMap<string, KeptSession>

/** The sources of sessions: a clock, the cache, and the claims that are read with them. */
export interface SessionSources {
  now(): number
  readonly sessions: KeptSessions
  readonly along: FindAlong
}

/** The most bytes that are cached. */
const MAX_BYTES = 16 * 1024 * 1024

/** Creates the session cache of a service, valid while the storage holds the same sessions and accounts. */
export const createKeptSessions = (): KeptSessions =>
  createBoundedMap(CACHES.sessions, MAX_BYTES, ({ size }) => size)
