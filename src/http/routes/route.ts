import type { AuthPlan, Collection } from '../../config/plan.js'
import type { ParameterName, RawQuery } from '../../query/raw-query.js'
import type { EnvelopeSchema } from '../../schema/envelope.js'
import type { Call, Service } from '../../service/call.js'
import type { JsonObject } from '../../types.js'
import type { Answer, IncomingRequest } from '../answer.js'

/** What the service answers, beside HEAD and OPTIONS. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** What a path can name. */
export interface Place {
  /** By `:collection`. */
  readonly collection: Collection
  /** By `:id`. */
  readonly id: string
  /** The accounts that the service keeps; below `/auth`. */
  readonly auth: AuthPlan
}

/** What a path names. */
type NamedBy<Path extends string> =
  | (Path extends `${string}:collection${string}` ? 'collection' : never)
  | (Path extends `${string}:id` ? 'id' : never)
  | (Path extends `/auth/${string}` ? 'auth' : never)

/** One request that has come to its endpoint. */
export interface Exchange {
  readonly call: Call
  readonly incoming: IncomingRequest
  /** The query string as it was sent, without the question mark. */
  readonly query: string
  /** What stands before the service's own paths. */
  readonly prefix: string
  /** The paths that this handler answers below `/auth`. */
  readonly accountPaths: readonly string[]
  /** The client's address; `undefined` where nobody knows it. */
  readonly client: () => string | undefined
  /** The parameters, none beside those of the endpoint. Throws `invalid_query`. */
  readQuery(): RawQuery
  /**
   * The body, once nothing but the body can refuse the request: query 400 · media type 415 · size 413 · JSON 400. Where
   * the endpoint has an envelope, the body is one.
   */
  readBody(): Promise<JsonObject>
}

/** What is done with one method at one path. */
export interface Endpoint<Named extends keyof Place = never> {
  /** Of the query string. Default: none. */
  readonly parameters?: readonly ParameterName[]
  /** The JSON Schema of the body, where it is neither a document nor absent. */
  readonly envelope?: (service: Service) => EnvelopeSchema
  /** Answers in the order of faults of CONTRACT.md §2. */
  run(exchange: Exchange, place: Pick<Place, Named>): Answer | Promise<Answer>
}

type Endpoints<Named extends keyof Place> = { readonly [method in Method]?: Endpoint<Named> }

/** A path, and what is there. */
export interface Route {
  /** With `:collection` and `:id` for what it names. */
  readonly path: string
  readonly methods: Endpoints<keyof Place>
  /** Whether a collection has it. Default: each has. */
  readonly isIn?: (collection: Collection) => boolean
  /** Whether anybody may use it. Default: yes. */
  readonly isOpen?: (auth: AuthPlan) => boolean
}

/** A line of the table: its endpoints are given what the path names, and nothing else. */
export const route = <Path extends string>(
  path: Path,
  methods: Endpoints<NamedBy<Path>>,
  options: Pick<Route, 'isIn' | 'isOpen'> = {},
): Route => ({ path, methods, ...options })
