import type { Session } from '../accounts/auth/sessions.js'
import type { FindAlong } from '../claims/claims-along.js'
import { type BoundedMap, createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import type { KnownCaller } from '../permissions/caller.js'
import type { ClaimValues } from '../query/variable.js'
import type { StoredDocument } from '../storage.js'

/** A session and its caller. */
export interface InSession {
  readonly caller: KnownCaller
  readonly session: Session
  /** The claims that were read together with the session, by name. */
  readonly claims?: ReadonlyMap<string, ClaimValues>
}

/** A cached session, and the state of the storage at which it was read. */
interface KeptSession {
  readonly state: string
  readonly stored: StoredDocument
  readonly found: InSession
}

/** The cached sessions by id. The size of an entry is the approximate bytes of the session and the user. */
export type KeptSessions = BoundedMap<string, KeptSession>

/**
 * The parts that finding a session needs: a clock, the cache of sessions, and the claims that are read with a session.
 */
export interface SessionSources {
  now(): number
  readonly sessions: KeptSessions
  readonly along: FindAlong
}

/** The maximum total bytes of the cached sessions. */
const MAX_BYTES = 16 * 1024 * 1024

/** Creates the session cache of a service. An entry is valid while the storage holds the same sessions and accounts. */
export const createKeptSessions = (): KeptSessions => createBoundedMap(CACHES.sessions, MAX_BYTES)
