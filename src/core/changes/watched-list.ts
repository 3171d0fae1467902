import type { Session } from '../accounts/auth/sessions.js'
import type { Collection } from '../config/plan.js'
import { digest } from '../json/digest.js'
import { type BoundCaller, bindVariables, type KnownCaller } from '../permissions/caller.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { writeOthers } from '../query/paging/link.js'
import type { LinkedQuery } from '../query/query-reader.js'
import type { HeldClaims } from '../query/variable.js'
import type { Service } from '../request/call.js'
import { denied } from '../request/refusals.js'
import type { MaybePromise } from '../types.js'
import {
  type AskedClaim,
  claimsToRead,
  holdClaims,
  readClaims,
  readTimed,
  type Sources,
  type WatchedClaim,
} from './standing/watched-claims.js'

/** The request of a client for a stream. */
export interface Subscription {
  readonly collection: Collection
  readonly caller: KnownCaller | null
  /** The session of a caller who signed in by a token of the service. */
  readonly session: Session | undefined
  /** The client's address; `undefined` if unknown. */
  readonly client: string | undefined
  /** The id of the event after which the stream resumes. */
  readonly after: string | undefined
  /** Compiles the query for an access. Throws `invalid_query`. */
  readQuery(access: ReadAccess): LinkedQuery
  /** Asks the host again for the caller; absent if the host was not asked before. */
  readonly askHost: (() => Promise<KnownCaller | null>) | undefined
}

/** An access, and the query that was compiled for it. */
export interface LinkedReading {
  readonly access: ReadAccess
  readonly query: LinkedQuery
}

/** A list whose changes are streamed. Lists with equal keys have the same events. */
export interface WatchedList {
  readonly collection: string
  /** Identifies the collection, the query and the caller's rights, as text. */
  readonly key: string
  /** A hash of the key in 32 hexadecimal digits, stored in the ids of events. */
  readonly digest: string
  /**
   * Everything that the caller's rights depend on, as text, with the requests for claims that depend on the time
   * (CONTRACT.md §9, "Standing").
   */
  readonly standing: string
  readonly claims: readonly WatchedClaim[]
  readonly isTimed: boolean
  /** Returns the access and the query as of a time, which is given in stored form. */
  at(now: string): MaybePromise<LinkedReading>
}

/**
 * Creates the list that a caller requests. Reads its claims now, except those in `known`. Throws the errors that the
 * list would throw: `unauthenticated`, `forbidden`, `invalid_query`.
 */
export async function watchList(
  sources: Sources,
  { collection, readQuery }: Pick<Subscription, 'collection' | 'readQuery'>,
  caller: KnownCaller | null,
  known: readonly WatchedClaim[] = [],
): Promise<WatchedList> {
  const { service } = sources
  const claims = await readClaims(sources, caller, claimsToRead(service, collection, caller), known)
  const read = (clock: () => string, held: HeldClaims): LinkedReading => {
    const access = readAccess(service, collection, { caller, binding: bindVariables(caller, clock, held) })
    if (!access) throw denied(caller)
    return { access, query: readQuery(access) }
  }
  const lasting = holdClaims(service, claims)
  const present = read(service.clock, lasting)
  const { access, query } = present
  const timed = claims.filter((claim) => claim.isTimed)
  const isTimed = access.isTimed || timed.length > 0
  // The key is unambiguous, because only its last part can contain the separator.
  const standing = askedOf(claims) + access.standing()
  const key = [collection.name, writeOthers(query.text), standing].join('\0')
  const readAt = async (now: string): Promise<LinkedReading> => {
    const values = await readTimed(sources, caller, timed, now)
    return read(() => now, holdClaims(service, claims, values))
  }
  return {
    collection: collection.name,
    key,
    standing,
    claims,
    isTimed,
    digest: digest(key).slice(0, 32),
    at: (now) => (timed.length > 0 ? readAt(now) : isTimed ? read(() => now, lasting) : present),
  }
}

/** Whether a caller, with the claims of a list, has the standing of the list. */
export function hasStanding(
  service: Service,
  collection: Collection,
  { standing, claims }: Pick<WatchedList, 'standing' | 'claims'>,
  caller: KnownCaller | null,
): boolean {
  const asking = claimsToRead(service, collection, caller)
  if (namesOf(asking) !== namesOf(claims)) return false
  const binding = bindVariables(caller, service.clock, holdClaims(service, claims))
  const access = readAccess(service, collection, { caller, binding })
  return access !== null && askedOf(asking) + access.standing() === standing
}

const namesOf = (claims: readonly AskedClaim[]): string =>
  JSON.stringify(claims.map(({ claim }) => claim.name))

/** The requests for claims that depend on the time, as text. The values of these claims are read only when needed. */
function askedOf(claims: readonly AskedClaim[]): string {
  const timed = claims.filter(({ isTimed }) => isTimed)
  return timed.length === 0 ? '' : JSON.stringify(timed.map(({ asked }) => asked))
}

const readAccess = ({ gates }: Service, { name }: Collection, asking: BoundCaller): ReadAccess | null =>
  gates.get(name)?.(asking) ?? null
