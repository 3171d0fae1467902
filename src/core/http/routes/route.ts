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

/** The methods that the service answers, beside HEAD and OPTIONS. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** The values that the placeholders of a path stand for. */
export interface NamedByPath {
  /** The collection of `:collection`. */
  readonly collection: Collection
  /** The id of `:id`. */
  readonly id: string
  /** The accounts of the service; for paths below `/auth`. */
  readonly auth: AuthPlan
}

/** The values of the placeholders in a path of this form. */
type NamedBy<Path extends string> =
  | (Path extends `${string}:collection${string}` ? 'collection' : never)
  | (Path extends `${string}:id` ? 'id' : never)
  | (Path extends `/auth/${string}` ? 'auth' : never)

/** One request, as its endpoint sees it. */
export interface Exchange {
  readonly call: Call
  /** The part of the URL's path before the service's own paths. */
  readonly prefix: string
  /** The paths that this handler answers below `/auth`. */
  readonly accountPaths: readonly string[]
  /** A header of the request, by its name in lower case. */
  header(name: string): string | undefined
  /** The client's address; `undefined` if it is unknown. */
  client(): string | undefined
  /** The streams of changes; absent where no collection has any. */
  readonly streams?: ChangeStreams | undefined
  /** Describes the service to the caller, in JSON; absent without `openapi`. */
  readonly describe?: (() => MaybePromise<KeptText>) | undefined
  /** Asks the host again who sends the request; absent without `authenticate`. */
  readonly askHost?: (() => Promise<KnownCaller | null>) | undefined
  /** Reads the query of a caller. Throws `invalid_query`, also for a parameter that the endpoint does not have. */
  readQuery(access: ReadAccess): LinkedQuery
  /** The query, parsed but not compiled. Throws `invalid_query`, as `readQuery` does. */
  readRaw(): RawQuery
  /** Throws `invalid_query` for any parameter. */
  refuseQuery(): void
  /**
   * Reads the body, after every other check of the request: query 400 · media type 415 · size 413 · JSON 400.
   * If the endpoint has an envelope, the body is valid against it.
   */
  readBody(): MaybePromise<JsonObject>
}

/** The handler of one method of a route. */
export interface Endpoint<Named extends keyof NamedByPath = never> {
  /** The query parameters that it accepts. Default: none. */
  readonly parameters?: readonly ParameterName[]
  /** The JSON Schema of the body, where the body is not a document. */
  readonly envelope?: (service: Pick<Service, 'plan' | 'accounts'>) => EnvelopeSchema
  /** The validation errors of a body that its schema cannot express. */
  readonly judge?: (body: JsonObject, service: Service) => readonly Fault[]
  /** Whether properties of its bodies may be dropped: then `Prefer: handling=strict` applies. */
  readonly mayIgnore?: boolean
  /** The parts of its collection that it reads: claims that decide about them are read with the session. */
  readonly reads?: Reads
  /** The depth in the body at which documents begin. Default: the body is one. */
  readonly depth?: number
  /** Answers the request, in the order of errors of CONTRACT.md §2. */
  run(exchange: Exchange, place: Pick<NamedByPath, Named>): MaybePromise<Answer>
}

/** The properties of a service on which its routes depend. */
export interface Routed extends Pick<Service, 'accounts' | 'deliver' | 'page'> {
  /** Whether it serves an OpenAPI description. */
  readonly isDescribed: boolean
}

type Endpoints<Named extends keyof NamedByPath> = { readonly [method in Method]?: Endpoint<Named> }

/** A path and its endpoints. */
export interface Route {
  /** The path, with `:collection` and `:id` as placeholders. */
  readonly path: string
  readonly methods: Endpoints<keyof NamedByPath>
  /** Whether a collection has this route. Default: each has it. */
  readonly isIn?: (collection: Collection) => boolean
  /** Whether a service has this route. Default: yes; without accounts, none below `/auth`. */
  readonly isThere?: (service: Routed) => boolean
  /** Whether its path stays unused where a collection does not have the route. */
  readonly isReserved?: boolean
  /** Whether `GET /` names the route: it is public with these accounts. Default: yes. */
  readonly isOpen?: (auth: AuthPlan) => boolean
}

/** Creates a route of the table: its endpoints receive only the values of the path's placeholders. */
export const route = <Path extends string>(
  path: Path,
  methods: Endpoints<NamedBy<Path>>,
  options: Pick<Route, 'isIn' | 'isReserved' | 'isThere' | 'isOpen'> = {},
): Route => ({ path, methods, ...options })
