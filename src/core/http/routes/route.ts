import type { ChangeStreams } from '../../changes/streams.js'
import type { Reads } from '../../claims/claims-along.js'
import type { AuthPlan, Collection } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import type { EnvelopeSchema } from '../../fields/schema/envelope.js'
import type { KeptText } from '../../permissions/kept-texts.js'
import type { ParameterName } from '../../query/query-string.js'
import type { Call, Service } from '../../request/call.js'
import type { Health } from '../../types/host.js'
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

/** The location at which a service is mounted. */
export interface MountPoint {
  /** The part of the URL's path before the service's own paths. */
  readonly prefix: string
  /** Whether this mount has the routes of accounts. */
  readonly hasAccountRoutes: boolean
}

/** Returns the OpenAPI document of a service for the caller of a request, as JSON. */
export type DescribeService = (call: Call, found: MountPoint) => MaybePromise<KeptText>

/** The health of a service, for its routes. */
export interface HealthSource {
  check(): Promise<Health>
  /** Whether the response contains the checks. */
  readonly isDetailed: boolean
}

/** The handler that answers a request. Some endpoints differ between the handlers of a service. */
export interface Mount extends Pick<MountPoint, 'hasAccountRoutes'> {
  /** The public paths below `/auth` that this handler answers. */
  readonly accountPaths: readonly string[]
  /** The streams of changes; `undefined` if no collection has changes. */
  readonly streams: ChangeStreams | undefined
  /** Describes the service; `undefined` without `options.openapi`. */
  readonly describe: DescribeService | undefined
  /** Checks the health of the service; `undefined` if the host wants no routes for it. */
  readonly health: HealthSource | undefined
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
   * The kind of read, if the endpoint reads its collection. The claims that decide about a list or a document are read
   * with the session. Those of a list or of changes have been read when the endpoint runs.
   */
  readonly reads?: Reads | 'changes'
  /**
   * Whether the endpoint answers even if the storage is not open, for an anonymous caller. The sender is not identified.
   */
  readonly isApart?: boolean
  /** Whether the cookie of the service does not identify the sender, because the endpoint begins a session or needs none. */
  readonly ignoresCookie?: boolean
  /** The level of the body at which documents begin. Default: the body itself is a document. */
  readonly depth?: number
  /** Answers the request. Errors come in the order of CONTRACT.md §2. */
  run(call: Call, place: Pick<NamedByPath, Named>, mount: Mount): MaybePromise<Answer>
}

/** The properties of a service that its routes depend on. */
export interface Routed extends Pick<Service, 'accounts' | 'deliver' | 'page'> {
  /** Whether the service has an OpenAPI document. */
  readonly isDescribed: boolean
  /** Whether the host wants the routes for probes. */
  readonly hasHealth: boolean
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
