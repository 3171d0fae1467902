import type { AuthPlan, Collection } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import type { KnownCaller } from '../../permissions/caller.js'
import type { KeptText } from '../../permissions/kept-texts.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import type { ParameterName, RawQuery } from '../../query/raw-query.js'
import type { EnvelopeSchema } from '../../schema/envelope.js'
import type { Call, Service } from '../../service/call.js'
import type { ChangeStreams } from '../../service/changes/streams.js'
import type { Reads } from '../../service/claims-along.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { Answer } from '../answer.js'

/** The methods that the service answers, beside HEAD and OPTIONS. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** What a path can name. */
export interface NamedByPath {
  /** Named by `:collection`. */
  readonly collection: Collection
  /** Named by `:id`. */
  readonly id: string
  /** The accounts of the service; for paths below `/auth`. */
  readonly auth: AuthPlan
}

/** What a path of this form names. */
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
  /** The client's address; `undefined` where nobody knows it. */
  client(): string | undefined
  /** The streams of changes; absent where no collection has any. */
  readonly streams?: ChangeStreams | undefined
  /** Describes the service to the caller, in JSON; absent where it does not describe itself. */
  readonly describe?: (() => MaybePromise<KeptText>) | undefined
  /** Asks the host again who sends the request; absent where the host has no say in it. */
  readonly askHost?: (() => Promise<KnownCaller | null>) | undefined
  /** Reads the query of a caller. Throws `invalid_query`, also for a parameter that the endpoint does not have. */
  readQuery(access: ReadAccess): LinkedQuery
  /** The query, parsed and not compiled. Throws `invalid_query`, as `readQuery` does. */
  readRaw(): RawQuery
  /** Throws `invalid_query` for any parameter. */
  refuseQuery(): void
  /**
   * Reads the body, once nothing else can refuse the request: query 400 · media type 415 · size 413 · JSON
   * 400. Where the endpoint has an envelope, the body fits it.
   */
  readBody(): MaybePromise<JsonObject>
}

/** What one method does at one path. */
export interface Endpoint<Named extends keyof NamedByPath = never> {
  /** The query parameters that it takes. Default: none. */
  readonly parameters?: readonly ParameterName[]
  /** The JSON Schema of the body, where the body is not a document. */
  readonly envelope?: (service: Pick<Service, 'plan' | 'accounts'>) => EnvelopeSchema
  /** The faults of a body that its schema cannot name. */
  readonly judge?: (body: JsonObject, service: Service) => readonly Fault[]
  /** Whether properties of its bodies may be dropped: there `Prefer: handling=strict` counts. */
  readonly mayIgnore?: boolean
  /** What it reads of its collection: claims that decide about that are read with the session. */
  readonly reads?: Reads
  /** How deep in the body documents begin. Default: the body is one. */
  readonly depth?: number
  /** Answers the request, in the order of faults of CONTRACT.md §2. */
  run(exchange: Exchange, place: Pick<NamedByPath, Named>): MaybePromise<Answer>
}

/** A service, as far as its routes depend on it. */
export interface Routed extends Pick<Service, 'accounts' | 'deliver' | 'page'> {
  /** Whether it describes itself. */
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
  /** Whether its path is nothing else where a collection does not have it. */
  readonly isReserved?: boolean
  /** Whether `GET /` names the route: it is open with these accounts. Default: yes. */
  readonly isOpen?: (auth: AuthPlan) => boolean
}

/** Creates a line of the table: its endpoints receive only what the path names. */
export const route = <Path extends string>(
  path: Path,
  methods: Endpoints<NamedBy<Path>>,
  options: Pick<Route, 'isIn' | 'isReserved' | 'isThere' | 'isOpen'> = {},
): Route => ({ path, methods, ...options })
