import { isServiceError, ServiceError } from '../errors.js'
import { createCall, type Service } from '../service/call.js'
import type { Deadline } from '../service/deadline.js'
import { notFound } from '../service/refusals.js'
import type { Store } from '../service/store.js'
import type { ServiceOptions } from '../types.js'
import type { Answer, IncomingRequest } from './answer.js'
import { createCors } from './cors.js'
import { runWithDeadline } from './deadline.js'
import { type Identify, NOBODY } from './identify.js'
import { internalError, isAnswerable, toProblem } from './problem.js'
import { NO_STORE } from './routes/answers.js'
import { createExchange } from './routes/create-exchange.js'
import type { Routes } from './routes/find-route.js'
import type { Method } from './routes/route.js'
import { observeStream } from './send-stream.js'
import { joinPrefix, splitTarget } from './target.js'

/** Answers a request. Never rejects. */
export type Respond = (incoming: IncomingRequest) => Promise<Answer>

/** How a service is reached. */
export interface RespondOptions {
  readonly routes: Routes
  /** `undefined` where every caller is anonymous. */
  readonly identify: Identify | undefined
  readonly hasAccountRoutes: boolean
  /** Begins with a slash and does not end in one, or is empty. */
  readonly basePath: string
  readonly host: ServiceOptions
  /** Opens the storage; `undefined` where it is open. */
  readonly open: () => Promise<void> | undefined
  readonly createStore: (deadline: Deadline) => Store
  /** Counts work under way, including work that a deadline has given up. */
  readonly track: <T>(work: () => Promise<T>) => Promise<T>
}

/** Turns the service into a function of plain requests: routing, order of faults, and common headers. */
export function createRespond(service: Service, options: RespondOptions): Respond {
  const { host, basePath, routes, hasAccountRoutes } = options
  const { logger } = service
  const cors = createCors(host.cors)
  const onlyJson = host.authenticate !== undefined
  const vary = ['Authorization', ...(onlyJson ? ['Cookie'] : []), ...(cors?.varies ? ['Origin'] : [])].join(
    ', ',
  )
  const always = { 'x-content-type-options': 'nosniff', vary }

  const answer = async (incoming: IncomingRequest, deadline: Deadline): Promise<Answer> => {
    const prefix = joinPrefix(incoming.mountPath, basePath)
    const target = splitTarget(incoming.target, prefix)
    const found = target && routes.find(target.path, options)
    if (!found) throw notFound()
    const { methods, allow, place } = found
    const method = incoming.method === 'HEAD' ? 'GET' : incoming.method
    if (method === 'OPTIONS') return answerOptions(incoming, allow)
    // A client chooses the method: `toString` must not find an inherited function.
    const endpoint = Object.hasOwn(methods, method) ? methods[method as Method] : undefined
    if (!endpoint) return refuseMethod(allow)
    deadline.enter('read')
    await options.open()?.catch((cause: unknown) => {
      throw new ServiceError('storage_unavailable', 'The storage cannot be opened.', { cause })
    })
    const store = options.createStore(deadline)
    const identity = options.identify ? await options.identify(incoming, { deadline, store }) : NOBODY
    const { caller, session } = identity
    const exchange = createExchange({
      routes,
      endpoint,
      hasAccountRoutes,
      onlyJson,
      call: createCall(service, { deadline, store, caller, session }),
      incoming,
      prefix,
      query: target.query,
      client: () => readClient(host, incoming),
    })
    const answered = await endpoint.run(exchange, place)
    return caller === null ? answered : addHeaders(answered, NO_STORE)
  }

  const answerOptions = (incoming: IncomingRequest, allow: string): Answer => {
    const isPreflight = incoming.header('access-control-request-method') !== undefined
    const granted = isPreflight && cors ? cors.preflight(incoming.header('origin'), allow) : {}
    return { status: 204, headers: { allow, ...granted }, body: null }
  }

  const fail = (thrown: unknown, isGone: boolean): Answer => {
    const requestId = crypto.randomUUID()
    try {
      if (isServiceError(thrown) && isAnswerable(thrown)) {
        const problem = toProblem(thrown, requestId)
        // A client that disconnected is not a fault of the storage.
        if (isOurs(thrown) && !isGone) logger.warn(`request failed: ${thrown.code}`, { requestId })
        if (thrown.cause !== undefined) {
          logger.error(`request failed: ${thrown.code}`, { requestId, cause: thrown.cause })
        }
        return problem
      }
    } catch {
      // Reading the thrown value throws too.
    }
    logger.error('request failed', { requestId, cause: thrown })
    return toProblem(internalError(), requestId)
  }

  /** A stream continues after its request is answered: it ends with its client, and `close` waits for it. */
  const follow = (incoming: IncomingRequest, body: Answer['body']): Answer['body'] => {
    if (typeof body === 'string' || body === null) return body
    if (incoming.method === 'HEAD') {
      body.cancel()
      return null
    }
    let stopListening = (): void => {}
    let onDone = (): void => {}
    void options.track(
      () =>
        new Promise<void>((resolve) => {
          onDone = resolve
        }),
    )
    const observed = observeStream(body, (thrown) => {
      stopListening()
      onDone()
      if (thrown !== undefined)
        logger.error('a stream broke', { requestId: crypto.randomUUID(), cause: thrown })
    })
    stopListening = incoming.onGone(() => observed.cancel())
    return observed
  }

  return async (incoming) => {
    const { requestSeconds } = service.plan.limits
    let isGone = false
    const onGone = (listener: () => void): (() => void) =>
      incoming.onGone(() => {
        isGone = true
        listener()
      })
    // Errors are never cached, so it makes no difference whether the caller was signed in.
    const answered = await runWithDeadline(
      requestSeconds,
      onGone,
      (deadline) =>
        options.track(async () => {
          const { body, ...rest } = await answer(incoming, deadline)
          return { ...rest, body: follow(incoming, body) }
        }),
      ({ body }) => {
        if (typeof body === 'object') body?.cancel()
      },
    ).catch((thrown: unknown) => addHeaders(fail(thrown, isGone), NO_STORE))
    const headers = { ...always, ...cors?.answer(incoming.header('origin')), ...answered.headers }
    return { status: answered.status, headers, body: answered.body }
  }
}

/** Whether the log must mention an error, though it has no cause. */
const isOurs = ({ code, cause }: ServiceError): boolean =>
  cause === undefined &&
  (code === 'storage_unavailable' || code === 'outcome_unknown' || code === 'overloaded')

/** The client's address, from the host or else from the edge; `undefined` where neither knows it. */
function readClient({ clientAddress }: ServiceOptions, incoming: IncomingRequest): string | undefined {
  const address: unknown = clientAddress ? clientAddress(incoming.toRequest()) : incoming.clientAddress
  if (address === undefined || address === null || address === '') return undefined
  if (typeof address === 'string') return address
  throw new TypeError('options.clientAddress must return a string')
}

const addHeaders = (answer: Answer, headers: Answer['headers']): Answer => ({
  ...answer,
  headers: { ...answer.headers, ...headers },
})

function refuseMethod(allow: string): Answer {
  const error = new ServiceError('method_not_allowed', `Allowed here: ${allow}.`)
  return addHeaders(toProblem(error, crypto.randomUUID()), { allow })
}
