import type { ChangeStreams } from '../changes/streams.js'
import { isServiceError, ServiceError } from '../errors.js'
import type { KnownCaller } from '../permissions/caller.js'
import { ignoreFailure, isPromise, whenReady } from '../promises.js'
import { createCall, type Service } from '../request/call.js'
import type { Deadline } from '../request/deadline.js'
import type { StorageCalls } from '../request/observe/storage-calls.js'
import { notFound } from '../request/refusals.js'
import type { Store } from '../request/store.js'
import type { Answering } from '../start/lifecycle.js'
import type { Observe } from '../types/host.js'
import type { MaybePromise, ServiceOptions } from '../types.js'
import { type Answer, type IncomingRequest, isEndless, isStream, type Respond } from './answer.js'
import { type Limit, type RequestDeadline, runWithDeadline } from './deadline.js'
import { type Identify, type Identity, NOBODY } from './identify.js'
import { networkOf } from './network.js'
import type { Observation } from './observe/observation.js'
import { observeRequests } from './observe/observe-requests.js'
import { APPLIED, prefersStrict } from './prefer.js'
import { internalError, isAnswerable, toProblem } from './problem.js'
import { nameClient, nameUser } from './queue-caller.js'
import { NO_STORE } from './routes/answers.js'
import { createExchange, type DescribeService, type ExchangeOptions } from './routes/create-exchange.js'
import type { Routes } from './routes/find-route.js'
import { observeStream } from './send-stream.js'
import { joinPrefix, splitTarget } from './target.js'

type Headers = { readonly [name: string]: string }

const NONE: Headers = {}

/** The response headers that pages of other origins may read. */
const EXPOSED = [
  'ETag',
  'Link',
  'Next-Cursor',
  'Next-Skip',
  'Location',
  'X-Total-Count',
  'Ignored-Properties',
  'Preference-Applied',
  'Retry-After',
].join(', ')

/** The request headers that pages of other origins may send, in addition to those that the host names. */
const ALLOWED: readonly string[] = [
  'Authorization',
  'Content-Type',
  'If-Match',
  'If-None-Match',
  'Last-Event-ID',
  'Prefer',
  // Sent by clients with a cache.
  'Cache-Control',
  'Pragma',
  'Expires',
  // Sent by tracers (W3C Trace Context, Baggage).
  'traceparent',
  'tracestate',
  'baggage',
]

/** Creates the headers that let pages of other origins read responses; credentials are never allowed. */
interface Cors {
  /** Returns the headers of a response to a page of `origin`. */
  answer(origin: string | undefined): Headers
  /** Returns the headers of the response to a preflight (OPTIONS) request. */
  preflight(origin: string | undefined, allow: string): Headers
  /** Whether responses differ between origins. */
  readonly varies: boolean
}

/** Compiles the option `cors`; returns `undefined` if no other origin may read responses. */
function createCors(cors: ServiceOptions['cors']): Cors | undefined {
  const { origins = [], headers = [] } = cors ?? {}
  if (origins.length === 0) return undefined
  const allowedHeaders = [...ALLOWED, ...headers].join(', ')
  const allowed = (origin: string | undefined): string | undefined => {
    if (origin === undefined) return undefined
    if (origins === '*') return '*'
    return origins.includes(origin) ? origin : undefined
  }
  return {
    answer(origin) {
      const allow = allowed(origin)
      if (allow === undefined) return NONE
      return { 'access-control-allow-origin': allow, 'access-control-expose-headers': EXPOSED }
    },
    preflight(origin, allow) {
      if (allowed(origin) === undefined) return NONE
      return {
        'access-control-allow-methods': allow,
        'access-control-allow-headers': allowedHeaders,
        'access-control-max-age': '600',
      }
    },
    varies: origins !== '*',
  }
}

/** The parts that answering needs in addition to the service: callers, storage, streams and observers. */
export interface RespondOptions {
  readonly routes: Routes
  /** Identifies the sender of a request; `undefined` if every caller is anonymous. */
  readonly identify: Identify | undefined
  readonly hasAccountRoutes: boolean
  /** Identifies the sender only by the host's `authenticate`; `undefined` if the host has set none. */
  readonly askHost: ((incoming: IncomingRequest) => Promise<KnownCaller | null>) | undefined
  /** The streams of changes; `undefined` if no collection has changes. */
  readonly streams: ChangeStreams | undefined
  /** Describes the service; `undefined` without `options.openapi`. */
  readonly describe: DescribeService | undefined
  /** The base path. It begins with a slash and does not end in one, or it is empty. */
  readonly basePath: string
  readonly host: ServiceOptions
  /** Opens the storage; returns `undefined` if it is already open. */
  readonly open: () => Promise<void> | undefined
  /** Called for each request whose handling throws no error. */
  readonly onAnswer: () => void
  /** Creates the store of a request; its calls are recorded in `calls`. */
  readonly createStore: (deadline: Deadline, calls?: StorageCalls) => Store
  /** Called for each request that is over; `undefined` without `options.observe`. */
  readonly observe: Observe | undefined
  /** Counts work as running, even after its deadline, until the returned function is called. */
  readonly track: () => () => void
  /** Counts a response as being sent until the returned object ends it. */
  readonly trackAnswer: () => Answering
}

/**
 * Creates the function that answers requests to a service. It defines the routing, the order of errors and the common
 * headers.
 */
export function createRespond(service: Service, options: RespondOptions): Respond {
  const responder = new Responder(service, options)
  const respond = (incoming: IncomingRequest, observation?: Observation): MaybePromise<Answer> =>
    responder.respond(incoming, observation)
  return options.observe
    ? observeRequests(respond, options.observe, service.logger)
    : (incoming) => responder.respond(incoming)
}

/**
 * The header of any other response. Without it, caches would guess how long the response is fresh (RFC 9111 §4.2.2).
 */
const REVALIDATE = { 'cache-control': 'no-cache' } as const

class Responder {
  readonly #service: Service
  readonly #options: RespondOptions
  readonly #cors: Cors | undefined
  readonly #vary: string
  readonly #findPrefix: ReturnType<typeof createPrefix>
  readonly #exchanging: ExchangeOptions

  constructor(service: Service, options: RespondOptions) {
    const { host } = options
    const onlyJson = host.authenticate !== undefined
    this.#service = service
    this.#options = options
    this.#cors = createCors(host.cors)
    this.#vary = [
      'Authorization',
      ...(onlyJson ? ['Cookie'] : []),
      ...(this.#cors?.varies ? ['Origin'] : []),
    ].join(', ')
    this.#findPrefix = createPrefix(options.basePath)
    this.#exchanging = {
      routes: options.routes,
      streams: options.streams,
      describe: options.describe,
      askHost: options.askHost,
      hasAccountRoutes: options.hasAccountRoutes,
      onlyJson,
      readClient: (incoming: IncomingRequest) => readClient(host, incoming),
    }
  }

  respond(incoming: IncomingRequest, observation?: Observation): MaybePromise<Answer> {
    let isGone = false
    const limit = (): Limit<Answer> =>
      this.#limit(incoming, () => {
        isGone = true
      })
    const work = (deadline: RequestDeadline): MaybePromise<Answer> =>
      whenReady(this.#answer(incoming, deadline, observation), (answered) => {
        this.#options.onAnswer()
        return this.#complete(incoming, answered, observation)
      })
    // Error responses are never stored, whether or not the caller is signed in.
    const refuse = (thrown: unknown): Answer =>
      this.#complete(incoming, addHeaders(this.#fail(thrown, isGone, observation), NO_STORE), observation)
    try {
      const answered = runWithDeadline(work, limit)
      return isPromise(answered) ? answered.catch(refuse) : answered
    } catch (thrown) {
      return refuse(thrown)
    }
  }

  /** Returns the limits of a request. `noteGone` is called when the client disconnects. */
  #limit(incoming: IncomingRequest, noteGone: () => void): Limit<Answer> {
    return {
      seconds: this.#service.plan.limits.requestSeconds,
      onSettled: this.#options.track(),
      onGone: (listener) =>
        incoming.onGone(() => {
          noteGone()
          listener()
        }),
      discard({ body }) {
        if (isStream(body)) body.cancel()
      },
    }
  }

  #answer(
    incoming: IncomingRequest,
    deadline: RequestDeadline,
    observation: Observation | undefined,
  ): MaybePromise<Answer> {
    const { host, routes, open, identify, createStore } = this.#options
    const prefix = this.#findPrefix(incoming.mountPath)
    const target = splitTarget(incoming.target, prefix)
    const found = target && routes.find(target.path, this.#options)
    if (!found) throw notFound()
    observation?.locate(found)
    const { methods, allow, place } = found
    const method = incoming.method === 'HEAD' ? 'GET' : incoming.method
    if (method === 'OPTIONS' && allow.includes(method)) return this.#answerOptions(incoming, allow)
    const endpoint = methods.get(method)
    if (!endpoint) return refuseMethod(allow, observation)
    deadline.enter('read')
    const run = (store: Store, identity: Identity): MaybePromise<Answer> => {
      observation?.identify(identity)
      const { caller, session, claims } = identity
      const own = caller === null ? store : store.by(caller.id)
      if (caller !== null) deadline.caller = nameUser(caller.id)
      const prefer = endpoint.mayIgnore ? incoming.header('prefer') : undefined
      const isStrict = prefer !== undefined && prefersStrict(prefer)
      const call = createCall(this.#service, { deadline, store: own, caller, session, claims, isStrict })
      const exchange = createExchange(
        { call, endpoint, incoming, prefix, query: target.query },
        this.#exchanging,
      )
      const answered = endpoint.run(exchange, place)
      if (caller === null && !isStrict) return answered
      return whenReady(answered, (theirs) => {
        const applied = isStrict ? addHeaders(theirs, APPLIED) : theirs
        return caller === null ? applied : forbidStoring(applied)
      })
    }
    deadline.caller = nameClient(host, incoming)
    const begin = (): MaybePromise<Answer> => {
      const store = createStore(deadline, observation?.calls)
      if (!identify) return run(store, NOBODY)
      const along = endpoint.reads && this.#service.along.of(place.collection, endpoint.reads)
      return whenReady(identify(incoming, { deadline, store, along }), (identity) => run(store, identity))
    }
    const opening = open()
    return opening ? opening.then(begin, unopened) : begin()
  }

  #answerOptions(incoming: IncomingRequest, allow: string): Answer {
    const isPreflight = incoming.header('access-control-request-method') !== undefined
    const granted = isPreflight && this.#cors ? this.#cors.preflight(incoming.header('origin'), allow) : {}
    return { status: 204, headers: { allow, ...granted }, body: null }
  }

  #fail(thrown: unknown, isGone: boolean, observation: Observation | undefined): Answer {
    const { logger } = this.#service
    const requestId = idOf(observation)
    try {
      if (isServiceError(thrown) && isAnswerable(thrown)) {
        const problem = toProblem(thrown, requestId)
        observation?.fail(thrown.code)
        // If the client has disconnected, the error is not the storage's, so it is not logged.
        if (isOurs(thrown) && !isGone) logger.warn(`request failed: ${thrown.code}`, { requestId })
        if (thrown.cause !== undefined) {
          logger.error(`request failed: ${thrown.code}`, { requestId, cause: thrown.cause })
        }
        return problem
      }
    } catch {
      // Reading the thrown value throws as well, so this counts as an internal error.
    }
    observation?.fail('internal_error')
    logger.error('request failed', { requestId, cause: thrown })
    return toProblem(internalError(), requestId)
  }

  #complete(
    incoming: IncomingRequest,
    { status, headers, body }: Answer,
    observation: Observation | undefined,
  ): Answer {
    return {
      status,
      headers: Object.assign(
        { 'x-content-type-options': 'nosniff', vary: this.#vary, ...REVALIDATE },
        this.#cors?.answer(incoming.header('origin')),
        headers,
      ),
      body: this.#follow(incoming, body, observation),
    }
  }

  /**
   * Tracks the body of a response if it is a stream: the stream ends when its client disconnects, and `close` waits for
   * it.
   */
  #follow(
    incoming: IncomingRequest,
    body: Answer['body'],
    observation: Observation | undefined,
  ): Answer['body'] {
    if (!isStream(body)) return body
    if (incoming.method === 'HEAD') {
      body.cancel()
      return null
    }
    let stopListening = (): void => {}
    const answering = isEndless(body) ? undefined : this.#options.trackAnswer()
    const observed = observeStream(body, answering?.goesOn, (thrown) => {
      stopListening()
      answering?.end()
      if (thrown !== undefined)
        this.#service.logger.error('a response stream failed', {
          requestId: idOf(observation),
          cause: thrown,
        })
    })
    stopListening = incoming.onGone(() => observed.cancel())
    return observed
  }
}

/** Returns the id of a request, which appears in error responses, in the log and in events for observers. */
const idOf = (observation: Observation | undefined): string => observation?.requestId ?? crypto.randomUUID()

/** Throws the error for a storage that cannot be opened. Every cause counts as an error of the storage. */
function unopened(cause: unknown): never {
  throw new ServiceError('storage_unavailable', 'The storage cannot be opened.', { cause })
}

/** Creates the function that joins the mount path and the base path. It caches the last result. */
function createPrefix(basePath: string): (mountPath: string) => string {
  let known = ''
  let prefix = joinPrefix(known, basePath)
  return (mountPath) => {
    if (mountPath !== known) {
      known = mountPath
      prefix = joinPrefix(mountPath, basePath)
    }
    return prefix
  }
}

/** Whether an error is logged although it has no cause. */
const isOurs = ({ code, cause }: ServiceError): boolean =>
  cause === undefined &&
  (code === 'storage_unavailable' || code === 'outcome_unknown' || code === 'overloaded')

/**
 * Returns the network of the client's address; `undefined` if the address is unknown. It comes from the host's
 * `clientAddress`, or from the edge if the host has set none.
 */
function readClient({ clientAddress }: ServiceOptions, incoming: IncomingRequest): string | undefined {
  const address: unknown = clientAddress ? clientAddress(incoming.toRequest()) : incoming.clientAddress
  if (address === undefined || address === null || address === '') return undefined
  if (typeof address === 'string') return networkOf(address)
  ignoreFailure(address)
  throw new TypeError('options.clientAddress must return a string')
}

// `Object.assign`, because adding properties to the result of a spread is ten times as slow.
const addHeaders = ({ status, headers: own, body }: Answer, headers: Answer['headers']): Answer => ({
  status,
  headers: Object.assign({}, own, headers),
  body,
})

/** Forbids storing the response to a known caller. A response that already forbids it is returned unchanged. */
const forbidStoring = (answer: Answer): Answer =>
  answer.headers['cache-control']?.startsWith(NO_STORE['cache-control'])
    ? answer
    : addHeaders(answer, NO_STORE)

function refuseMethod(allow: string, observation: Observation | undefined): Answer {
  const error = new ServiceError('method_not_allowed', `Allowed methods: ${allow || 'none'}.`)
  observation?.fail(error.code)
  return addHeaders(toProblem(error, idOf(observation)), { allow, ...NO_STORE })
}
