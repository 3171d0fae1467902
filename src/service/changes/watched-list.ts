import type { Session } from '../../auth/sessions.js'
import { digest } from '../../auth/token.js'
import type { Collection } from '../../config/plan.js'
import { bindVariables, type KnownCaller } from '../../permissions/caller.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import type { Service } from '../call.js'
import { denied } from '../refusals.js'

/** What a client asks for with a stream. */
export interface Subscription {
  readonly collection: Collection
  readonly caller: KnownCaller | null
  /** The session of a caller who signed in by a token of the service. */
  readonly session: Session | undefined
  /** The client's address; `undefined` where nobody knows it. */
  readonly client: string | undefined
  /** The id of the event behind which the stream goes on. */
  readonly after: string | undefined
  /** The query for an access. Throws `invalid_query`. */
  readQuery(access: ReadAccess): LinkedQuery
  /** Asks the host again who calls; absent where it was not asked. */
  readonly askHost: (() => Promise<KnownCaller | null>) | undefined
}

/** An access and a query, with its text. */
interface LinkedReading {
  readonly access: ReadAccess
  readonly query: LinkedQuery
}

/** A list whose changes somebody is told of. Those with equal keys tell the same. */
export interface WatchedList {
  readonly collection: string
  /** The list's rights and query. */
  readonly key: string
  /** The same in 32 hexadecimal digits: what the id of an event holds of it. */
  readonly digest: string
  /** What the caller's rights depend on (CONTRACT.md §9, "Standing"). */
  readonly standing: string
  readonly isTimed: boolean
  /** Access and query at a time in stored form. */
  at(now: string): LinkedReading
}

/**
 * The list that a caller asks for. Throws what the list would throw: `unauthenticated`, `forbidden`,
 * `invalid_query`.
 */
export function watchList(
  service: Service,
  { collection, readQuery }: Pick<Subscription, 'collection' | 'readQuery'>,
  caller: KnownCaller | null,
): WatchedList {
  const read = (clock: () => string): LinkedReading => {
    const access = readAccess(service, collection, caller, clock)
    if (!access) throw denied(caller)
    return { access, query: readQuery(access) }
  }
  const present = read(service.clock)
  const { access, query } = present
  const { standing, isTimed } = access
  // None of the parts but the last can hold the character between them.
  const key = [collection.name, query.others, standing].join('\0')
  return {
    ...{ collection: collection.name, key, standing, isTimed },
    digest: digest(key).slice(0, 32),
    at: (now) => (isTimed ? read(() => now) : present),
  }
}

/** The standing of a caller in a collection; `null` where the caller may read nothing there. */
export const standingOf = (
  service: Service,
  collection: Collection,
  caller: KnownCaller | null,
): string | null => readAccess(service, collection, caller, service.clock)?.standing ?? null

const readAccess = (
  { gates }: Service,
  { name }: Collection,
  caller: KnownCaller | null,
  clock: () => string,
): ReadAccess | null => gates.get(name)?.({ caller, binding: bindVariables(caller, clock) }) ?? null
