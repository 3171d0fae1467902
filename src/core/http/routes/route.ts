import type { ChangeStreams } from '../../changes/streams.js'
import type { Reads } from '../../claims/claims-along.js'
import type { AuthPlan, Collection } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import type { EnvelopeSchema } from '../../fields/schema/envelope.js'
import type { KnownCaller } from '../../permissions/caller.js'
import type { KeptText } from '../../permissions/kept-texts.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import type { ParameterName, RawQuery } from '../../query/raw-query.js'
import type { Call, Service } from '../../request/call.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { Answer } from '../answer.js'

/** The methods that the service answers, in addition to HEAD and OPTIONS. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** The values of a path's placeholders. */
export interface NamedByPath {
  /** The collection that `:collection` names. */
  readonly collection: Collection
  /** The value of `:id`. */
  readonly id: string
  /** The accounts of the service. Only used for paths below `/auth`. */
  readonly auth: AuthPlan
}

/** The properties of `NamedByPath` that the endpoints of a path receive. */
type NamedBy<Path extends string> =
  | (Path extends `${string}:collection${string}` ? 'collection' : never)
  | (Path extends `${string}:id` ? 'id' : never)
  | (Path extends `/auth/${string}` ? 'auth' : never)

/** One request, as its endpoint sees it. */
export interface Exchange {
  readonly call: Call
  /** The part of the URL's path before the service's own paths. */
  readonly prefix: string
  /** The public paths below `/auth` that this handler answers. */
  readonly accountPaths: readonly string[]
  /** Returns a header of the request by its name in lower case. */
  header(name: string): string | undefined
  /** Returns the client's address; `undefined` if it is unknown. */
  client(): string | undefined
  /** The streams of changes; absent if no collection has changes. */
  readonly streams?: ChangeStreams | undefined
  /** Returns the OpenAPI document of the service for the caller, as JSON; absent without `options.openapi`. */
  readonly describe?: (() => MaybePromise<KeptText>) | undefined
  /** Identifies the sender again by the host's `authenticate`; absent if the host has set none. */
  readonly askHost?: (() => Promise<KnownCaller | null>) | undefined
  /**
   * Reads the query string for a caller with this access. Throws `invalid_query`, also for a parameter that the
   * endpoint does not have.
   */
  readQuery(access: ReadAccess): LinkedQuery
  /** Parses the query string without compiling it. Throws `invalid_query`, as `readQuery` does. */
  readRaw(): RawQuery
  /** Throws `invalid_query` if the request has any query parameter. */
  refuseQuery(): void
  /**
   * Reads the body. Called after every other check of the request. Checks in this order: query 400 · media type 415 ·
   * size 413 · JSON 400 · the envelope, if the endpoint has one.
   */
  readBody(): MaybePromise<JsonObject>
}

/** The handler of one method of a route. */
export interface Endpoint<Named extends keyof NamedByPath = never> {
  /** The query parameters that the endpoint accepts. Default: none. */
  readonly parameters?: readonly ParameterName[]
  /** Returns the JSON Schema of the body. Absent if the body is a document. */
  readonly envelope?: (service: Pick<Service, 'plan' | 'accounts'>) => EnvelopeSchema
  /** Returns the validation errors of a body that its schema cannot express. */
  readonly judge?: (body: JsonObject, service: Service) => readonly Fault[]
  /** Whether properties of a request body may be dropped, so that `Prefer: handling=strict` has an effect. */
  readonly mayIgnore?: boolean
  /**
   * The kind of read, if the endpoint reads its collection. The claims that decide about it are read with the session.
   */
  readonly reads?: Reads
  /** The level of the body at which documents begin. Default: the body itself is a document. */
  readonly depth?: number
  /** Answers the request. Errors come in the order of CONTRACT.md §2. */
  run(exchange: Exchange, place: Pick<NamedByPath, Named>): MaybePromise<Answer>
}

/** The properties of a service that its routes depend on. */
export interface Routed extends Pick<Service, 'accounts' | 'deliver' | 'page'> {
  /** Whether the service has an OpenAPI document. */
  readonly isDescribed: boolean
}

type Endpoints<Named extends keyof NamedByPath> = { readonly [method in Method]?: Endpoint<Named> }

/** A path and its endpoints. */
export interface Route {
  /** The path, with `:collection` and `:id` as placeholders. */
  readonly path: string
  readonly methods: Endpoints<keyof NamedByPath>
  /** Whether a collection has this route. Default: every collection has it. */
  readonly isIn?: (collection: Collection) => boolean
  /** Whether a service has this route. Default: every service has it, but routes below `/auth` require accounts. */
  readonly isThere?: (service: Routed) => boolean
  /** Whether the path is reserved in collections that do not have this route: no other route answers it there. */
  readonly isReserved?: boolean
  /** Whether `GET /` lists the route, because it is public with these accounts. Default: yes. */
  readonly isOpen?: (auth: AuthPlan) => boolean
}

/** Creates a route of the table. Its endpoints receive only the values of the path's placeholders. */
export const route = <Path extends string>(
  path: Path,
  methods: Endpoints<NamedBy<Path>>,
  options: Pick<Route, 'isIn' | 'isReserved' | 'isThere' | 'isOpen'> = {},
): Route => ({ path, methods, ...options })
