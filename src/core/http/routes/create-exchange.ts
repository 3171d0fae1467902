import type { ChangeStreams } from '../../changes/streams.js'
import type { KnownCaller } from '../../permissions/caller.js'
import type { KeptText } from '../../permissions/kept-texts.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import { parseQueryString } from '../../query/query-string.js'
import type { ParameterName, RawQuery } from '../../query/raw-query.js'
import type { Call } from '../../request/call.js'
import { invalid } from '../../request/refusals.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { IncomingRequest } from '../answer.js'
import { checkMediaType, parseInTurn } from '../body.js'
import type { Routes } from './find-route.js'
import type { Endpoint, Exchange, NamedByPath } from './route.js'

/** The location at which a service is mounted. */
export interface MountPoint {
  /** The part of the URL's path before the service's own paths. */
  readonly prefix: string
  /** Whether this mount has the routes of accounts. */
  readonly hasAccountRoutes: boolean
}

/** Returns the OpenAPI document of a service for the caller of a request, as JSON. */
export type DescribeService = (call: Call, found: MountPoint) => MaybePromise<KeptText>

/** The options that all exchanges of a handler share. */
export interface ExchangeOptions {
  readonly routes: Routes
  readonly hasAccountRoutes: boolean
  /** Whether a body must have a JSON media type, so that `text/plain` or no type is rejected. */
  readonly onlyJson: boolean
  /** The streams of changes; `undefined` if no collection has changes. */
  readonly streams: ChangeStreams | undefined
  /** Describes the service; `undefined` without `openapi`. */
  readonly describe: DescribeService | undefined
  /** Identifies the sender by the host's `authenticate`; `undefined` without it, or if the caller is known. */
  readonly askHost: ((incoming: IncomingRequest) => Promise<KnownCaller | null>) | undefined
  /** Returns the address of a request's client; `undefined` if it is unknown. */
  readonly readClient: (incoming: IncomingRequest) => string | undefined
}

/** The properties that belong to one exchange only. */
type Own = Pick<Exchange, 'call' | 'prefix'> & {
  readonly incoming: IncomingRequest
  /** The query string as it was sent, without the question mark. */
  readonly query: string
  readonly endpoint: Endpoint<keyof NamedByPath>
}

/** Creates the exchange of one request with its endpoint. */
export const createExchange = (own: Own, options: ExchangeOptions): Exchange =>
  new RequestExchange(own, options)

const NO_PARAMETERS: readonly ParameterName[] = []

/** A class, so that a request does not create a function for each of its methods. */
class RequestExchange implements Exchange {
  readonly call: Call
  readonly prefix: string
  readonly #incoming: IncomingRequest
  readonly #query: string
  readonly #endpoint: Endpoint<keyof NamedByPath>
  readonly #options: ExchangeOptions

  constructor({ call, incoming, query, prefix, endpoint }: Own, options: ExchangeOptions) {
    this.call = call
    this.#incoming = incoming
    this.#query = query
    this.prefix = prefix
    this.#endpoint = endpoint
    this.#options = options
  }

  get accountPaths(): readonly string[] {
    const { hasAccountRoutes, routes } = this.#options
    return hasAccountRoutes ? routes.accountPaths : []
  }

  header(name: string): string | undefined {
    return this.#incoming.header(name)
  }

  client(): string | undefined {
    return this.#options.readClient(this.#incoming)
  }

  get streams(): ChangeStreams | undefined {
    return this.#options.streams
  }

  get describe(): Exchange['describe'] {
    const { describe, hasAccountRoutes } = this.#options
    const { call, prefix } = this
    return describe && (() => describe(call, { prefix, hasAccountRoutes }))
  }

  get askHost(): (() => Promise<KnownCaller | null>) | undefined {
    const { askHost } = this.#options
    return askHost && (() => askHost(this.#incoming))
  }

  readQuery(access: ReadAccess): LinkedQuery {
    const { readQuery } = this.call.service
    return readQuery(this.#query, this.#endpoint.parameters ?? NO_PARAMETERS, access, this.call)
  }

  refuseQuery(): void {
    parseQueryString(this.#query, NO_PARAMETERS, this.call.service.plan.limits)
  }

  readRaw(): RawQuery {
    const { parameters = NO_PARAMETERS } = this.#endpoint
    return parseQueryString(this.#query, parameters, this.call.service.plan.limits)
  }

  readBody(): MaybePromise<JsonObject> {
    const { deadline, service } = this.call
    const incoming = this.#incoming
    this.refuseQuery()
    checkMediaType(incoming.header('content-type'), incoming.header('content-encoding'), this.#options)
    deadline.enter('body')
    return whenReady(incoming.readBody(service.plan.limits.bodyBytes, deadline), (bytes) => {
      // The body has arrived, so from here on a timeout is the service's fault, not the client's.
      deadline.enter('read')
      return whenReady(
        parseInTurn(bytes, this.#endpoint.depth ?? 0, () => deadline.signal),
        (body) => {
          const faults = this.#options.routes.judgeBody(this.#endpoint, body)
          if (faults.length > 0) throw invalid(faults)
          return body
        },
      )
    })
  }
}
