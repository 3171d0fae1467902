import { SESSIONS, type Session } from '../accounts/auth/sessions.js'
import { hasEnded } from '../accounts/sessions.js'
import type { CookiePlan } from '../config/plan.js'
import { isServiceError, ServiceError } from '../errors.js'
import { USERS } from '../fields/schema/names.js'
import { isPromise, whenReady } from '../promises.js'
import { NO_PARAMETERS, type ParameterName, parseQueryString } from '../query/query-string.js'
import { Call, type CallRequest, type Service } from '../request/call.js'
import { type Limit, RequestDeadline, waitUntilLate } from '../request/deadline.js'
import { invalid, notFound } from '../request/refusals.js'
import type { CreateStore, NoteWrite, Store } from '../request/store.js'
import type { Answering } from '../start/lifecycle.js'
import type { Observe } from '../types/host.js'
import type { JsonObject, MaybePromise, ServiceOptions } from '../types.js'
import {
  type Answer,
  type IncomingRequest,
  isEndless,
  isStream,
  NO_HEADERS,
  NO_STORE,
  type Respond,
  type TextStream,
} from './answer.js'
import { checkMediaType, parseInTurn } from './body.js'
import type { ForwardedWarning } from './client-address.js'
import { nameClient, nameUser, readClient } from './client-address.js'
import { privately, varyOf } from './common-headers.js'
import { type Cors, createCors } from './cors.js'
import { type AskHost, type Identify, type Identity, NOBODY } from './identify.js'
import { type Observation, observeRequests } from './observe.js'
import { APPLIED, prefersStrict } from './prefer.js'
import { internalError, isAnswerable, toProblem } from './problem.js'
import { joinPrefix, type Routes, splitTarget } from './routes/find-route.js'
import type { Endpoint, Mount, NamedByPath } from './routes/route.js'
import { observeStream } from './send-stream.js'
import { clearCookie, readCookie, type SentCookie } from './session-cookie.js'

/** The parts that answering needs in addition to the service: callers, storage, streams and observers. */
export interface RespondOptions extends Omit<Mount, 'accountPaths'> {
  readonly routes: Routes
  /** Identifies the sender of a request; `undefined` if every caller is anonymous. */
  readonly identify: Identify | undefined
  /** Identifies the sender only by the host's `authenticate`; `undefined` if the host has set none. */
  readonly askHost: AskHost | undefined
  /** The base path. It begins with a slash and does not end in one, or it is empty. */
  readonly basePath: string
  /** The prefix of the paths in responses, in the form of `basePath`; `undefined`: the prefix of the request. */
  readonly publicPath: string | undefined
  readonly host: ServiceOptions
  /** Looks for headers of proxies that nothing reads. */
  readonly forwardedWarning: ForwardedWarning
  /** Opens the storage, if it is not open yet. */
  readonly open: () => MaybePromise<undefined>
  /** Called for each request whose handling throws no error. */
  readonly onAnswer?: (() => void) | undefined
  readonly createStore: CreateStore
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
  readonly #cookie: CookiePlan | undefined
  readonly #vary: string
  readonly #findPrefix: ReturnType<typeof createPrefix>
  readonly #mount: Mount

  constructor(service: Service, options: RespondOptions) {
    const { host, routes, streams, describe, health, hasAccountRoutes } = options
    this.#service = service
    this.#options = options
    this.#cookie = service.accounts?.cookie ?? undefined
    this.#cors = createCors(host.cors, this.#cookie?.origins)
    this.#vary = varyOf(service, host)
    this.#findPrefix = createPrefix(options.basePath)
    this.#mount = {
      streams,
      describe,
      health,
      hasAccountRoutes,
      accountPaths: hasAccountRoutes ? routes.accountPaths : [],
    }
  }

  respond(incoming: IncomingRequest, observation?: Observation): MaybePromise<Answer> {
    const deadline = new RequestDeadline()
    let isGone = false
    // Error responses are never stored, whether or not the caller is signed in.
    const refuse = (thrown: unknown): Answer =>
      this.#complete(
        incoming,
        addHeaders(this.#fail(thrown, { incoming, isGone, observation }), NO_STORE),
        observation,
      )
    try {
      const answered = whenReady(this.#answer(incoming, deadline, observation), (answer) => {
        this.#options.onAnswer?.()
        return this.#complete(incoming, answer, observation)
      })
      if (!isPromise(answered)) return answered
      const limit = this.#limit(incoming, () => {
        isGone = true
      })
      return waitUntilLate(answered, deadline, limit).catch(refuse)
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
    const { host, routes, open, identify, createStore, publicPath, forwardedWarning } = this.#options
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
    const shown = publicPath ?? prefix
    const parts = { incoming, prefix: shown, query: target.query, endpoint, place, deadline, observation }
    const request = new EndpointRequest(parts, this.#service, this.#options)
    if (endpoint.isApart) return this.#run(request, createStore(deadline, observation?.calls), NOBODY)
    forwardedWarning.onRequest(incoming)
    deadline.caller = nameClient(host, incoming)
    const begin = (): MaybePromise<Answer> => {
      const store = createStore(deadline, observation?.calls, this.#cookie && request.noteWrite)
      if (!identify) return this.#run(request, store, NOBODY)
      const { reads, ignoresCookie } = endpoint
      const isRead = reads !== undefined && reads !== 'changes'
      const along = isRead ? this.#service.along.of(place.collection, reads) : undefined
      return whenReady(identify(incoming, { deadline, store, along, ignoresCookie }), (identity) =>
        this.#run(request, store, identity),
      )
    }
    const opening = open()
    return isPromise(opening) ? opening.then(begin, unopened) : begin()
  }

  /** Runs the endpoint for an identified caller. */
  #run(request: EndpointRequest, store: Store, identity: Identity): MaybePromise<Answer> {
    const { endpoint, place, incoming, deadline, observation } = request
    const { caller, session, claims, isSystem = false } = identity
    observation?.identify(identity)
    request.cookie = identity.cookie
    const own = caller === null ? store : store.by(caller.id)
    if (caller !== null) deadline.caller = nameUser(caller.id)
    const prefer = endpoint.mayIgnore ? incoming.header('prefer') : undefined
    const isStrict = prefer !== undefined && prefersStrict(prefer)
    const call = new Call(this.#service, {
      deadline,
      store: own,
      caller,
      session,
      claims,
      isStrict,
      request,
    })
    const learning = endpoint.reads && endpoint.reads !== 'document' && call.learnToRead(place.collection)
    const answered = whenReady(learning, () => endpoint.run(call, place, this.#mount))
    const isPublic = caller === null && !isSystem
    if (isPublic && !isStrict) return answered
    return whenReady(answered, (theirs) => {
      const applied = isStrict ? addHeaders(theirs, APPLIED) : theirs
      const answer = isPublic ? applied : forbidStoring(applied)
      return request.cookie && session && request.wroteAccounts
        ? this.#clearEnded(answer, request, session)
        : answer
    })
  }

  #answerOptions(incoming: IncomingRequest, allow: string): Answer {
    const isPreflight = incoming.header('access-control-request-method') !== undefined
    const granted = isPreflight && this.#cors ? this.#cors.preflight(incoming.header('origin'), allow) : {}
    return { status: 204, headers: { allow, ...granted }, body: null }
  }

  #fail(thrown: unknown, { incoming, isGone, observation }: FailedRequest): Answer {
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
        return thrown.code === 'invalid_token' ? addHeaders(problem, this.#clearSent(incoming)) : problem
      }
    } catch {
      // Reading the thrown value throws as well, so this counts as an internal error.
    }
    observation?.fail('internal_error')
    logger.error('request failed', { requestId, cause: thrown })
    return toProblem(internalError(), requestId)
  }

  /** Returns the header that removes the cookie of a request that no session belongs to. */
  #clearSent(incoming: IncomingRequest): Answer['headers'] {
    const plan = this.#cookie
    if (!plan || incoming.header('authorization') !== undefined) return NO_HEADERS
    const sent = readCookie(plan, incoming)
    return sent ? { 'set-cookie': clearCookie(plan, sent, incoming) } : NO_HEADERS
  }

  /** Removes the cookie of a request if its write has ended the session. */
  #clearEnded(answer: Answer, { incoming }: EndpointRequest, session: Session): MaybePromise<Answer> {
    const { accounts } = this.#service
    if (!accounts || answer.headers['set-cookie'] !== undefined) return answer
    return hasEnded(this.#service, accounts, session).then((isOver) =>
      isOver ? addHeaders(answer, this.#clearSent(incoming)) : answer,
    )
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
        this.#cookie && privately(headers),
      ),
      body: isStream(body) ? this.#follow(incoming, body, observation) : body,
    }
  }

  /**
   * Tracks the stream of a response: the stream ends when its client disconnects, and `close` waits for it.
   */
  #follow(incoming: IncomingRequest, body: TextStream, observation: Observation | undefined): Answer['body'] {
    if (incoming.method === 'HEAD') {
      body.cancel()
      return null
    }
    let stopListening = (): void => {}
    const answering = isEndless(body) ? undefined : this.#options.trackAnswer()
    const observed = observeStream(body, answering?.goesOn, (_, thrown) => {
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

/** A request whose handling has thrown an error. */
interface FailedRequest {
  readonly incoming: IncomingRequest
  /** Whether the client has disconnected. */
  readonly isGone: boolean
  readonly observation: Observation | undefined
}

/** A class, so that a request does not create a function for each of its methods. */
class EndpointRequest implements CallRequest {
  cookie: SentCookie | undefined
  /** Whether the request has written sessions or accounts, so that its own session may have ended. */
  wroteAccounts = false
  readonly incoming: IncomingRequest
  readonly prefix: string
  readonly query: string
  readonly parameters: readonly ParameterName[]
  readonly endpoint: Endpoint<keyof NamedByPath>
  readonly place: NamedByPath
  readonly deadline: RequestDeadline
  readonly observation: Observation | undefined
  readonly #service: Service
  readonly #options: RespondOptions

  constructor(
    parts: Pick<
      EndpointRequest,
      'incoming' | 'prefix' | 'query' | 'endpoint' | 'place' | 'deadline' | 'observation'
    >,
    service: Service,
    options: RespondOptions,
  ) {
    this.incoming = parts.incoming
    this.prefix = parts.prefix
    this.query = parts.query
    this.parameters = parts.endpoint.parameters ?? NO_PARAMETERS
    this.endpoint = parts.endpoint
    this.place = parts.place
    this.deadline = parts.deadline
    this.observation = parts.observation
    this.#service = service
    this.#options = options
  }

  header(name: string): string | undefined {
    return this.incoming.header(name)
  }

  get noteWrite(): NoteWrite {
    return (steps) => {
      if (steps.some(({ in: collection }) => collection === SESSIONS || collection === USERS))
        this.wroteAccounts = true
    }
  }

  client(): string | undefined {
    const { host, forwardedWarning } = this.#options
    forwardedWarning.onUse(this.incoming)
    return readClient(host, this.incoming)
  }

  get askHost(): CallRequest['askHost'] {
    const { askHost } = this.#options
    return askHost && (() => askHost(this.incoming))
  }

  readBody(): MaybePromise<JsonObject> {
    const { incoming, query, endpoint, deadline } = this
    const { host, routes } = this.#options
    const { limits } = this.#service.plan
    parseQueryString(query, NO_PARAMETERS, limits)
    checkMediaType(incoming.header('content-type'), incoming.header('content-encoding'), {
      // If the host or a cookie identifies callers, a body must have a JSON media type: `text/plain` or no type is
      // rejected.
      onlyJson: host.authenticate !== undefined || this.cookie !== undefined,
    })
    deadline.enter('body')
    return whenReady(incoming.readBody(limits.bodyBytes, deadline), (bytes) => {
      // The body has arrived, so from here on a timeout is the service's fault, not the client's.
      deadline.enter('read')
      return whenReady(
        parseInTurn(bytes, endpoint.depth ?? 0, () => deadline.signal),
        (body) => {
          const faults = routes.judgeBody(endpoint, body)
          if (faults.length > 0) throw invalid(faults)
          return body
        },
      )
    })
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
