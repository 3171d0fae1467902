import { whenReady } from '../promises.js'
import { readClock, StorageCalls } from '../request/observe-storage.js'
import type { Logger, Observe, RequestEvent } from '../types/host.js'
import type { MaybePromise } from '../types.js'
import { type Answer, type IncomingRequest, isStream, type Respond } from './answer.js'
import type { Identity } from './identify.js'
import type { FoundRoute } from './routes/find-route.js'
import { observeStream } from './send-stream.js'

/** The names of operations that are not the last part of their path. */
const NAMES: { readonly [route: string]: string } = {
  'GET /': 'collections',
  'POST /_batch': 'batch',
  'GET /_openapi.json': 'openapi',
  'GET /_page': 'page',
  'DELETE /auth/sessions/:id': 'end-session',
  'GET /:collection': 'list',
  'POST /:collection': 'create',
  'GET /:collection/:id': 'read',
  'PATCH /:collection/:id': 'update',
  'PUT /:collection/:id': 'replace',
  'DELETE /:collection/:id': 'delete',
}

/** Returns the name of the operation of a method at a route; by default the last part of the route's path. */
export const nameOperation = (method: string, path: string): string =>
  NAMES[`${method} ${path}`] ?? path.slice(path.lastIndexOf('/') + 1)

/** Collects the data of one request, which is reported to `options.observe` when the request is over. */
export class Observation {
  readonly requestId = crypto.randomUUID()
  readonly calls = new StorageCalls()
  readonly #method: string
  readonly #startedAt = readClock()
  #route: string | null = null
  #collection: string | null = null
  #operation: string | null = null
  #caller: RequestEvent['caller'] = 'anonymous'
  #code: string | undefined

  constructor(method: string) {
    this.#method = method
  }

  /** Records the route. */
  locate({ path, route, methods, place }: FoundRoute): void {
    const method = this.#method === 'HEAD' ? 'GET' : this.#method
    this.#route = route
    // Some paths have no collection, although the type says that it is always set.
    this.#collection = (place.collection as typeof place.collection | undefined)?.name ?? null
    this.#operation = methods.has(method) ? nameOperation(method, path) : null
  }

  identify({ caller, session, isSystem }: Identity): void {
    this.#caller = isSystem ? 'system' : caller === null ? 'anonymous' : session ? 'user' : 'host'
  }

  fail(code: string): void {
    this.#code = code
  }

  /** Returns the event that is reported when the request is over. */
  end(status: number, aborted: boolean): RequestEvent {
    return {
      operation: this.#operation,
      collection: this.#collection,
      method: this.#method,
      route: this.#route,
      status,
      ...(this.#code === undefined ? {} : { code: this.#code }),
      startedAt: this.#startedAt,
      milliseconds: readClock() - this.#startedAt,
      aborted,
      storage: this.calls.all,
      caller: this.#caller,
      requestId: this.requestId,
    }
  }
}

/** Answers a request and records its data in `observation`. */
type RespondObserved = (incoming: IncomingRequest, observation: Observation) => MaybePromise<Answer>

/** Calls `observe` once for each request, when the request is over (CONTRACT.md §8, "Observe"). */
export const observeRequests =
  (respond: RespondObserved, observe: Observe, logger: Logger): Respond =>
  (incoming) => {
    const observation = new Observation(incoming.method)
    const { over, follow } = followAnswer(incoming)
    // Registered before the request is answered, so that `observe` always runs in the async context of the request.
    void over.then(async ([status, isWhole]) => {
      try {
        await observe(observation.end(status, !isWhole))
      } catch (cause) {
        logger.error('options.observe failed', { requestId: observation.requestId, cause })
      }
    })
    return whenReady(respond(incoming, observation), follow)
  }

/**
 * Observes the response that is passed to `follow`. When it was sent, or the client has disconnected, `over` resolves
 * with the status and whether the whole response was sent.
 */
function followAnswer(incoming: IncomingRequest): {
  readonly over: Promise<readonly [status: number, isWhole: boolean]>
  readonly follow: (answer: Answer) => Answer
} {
  let resolve = (_: readonly [number, boolean]): void => {}
  const over = new Promise<readonly [number, boolean]>((settle) => {
    resolve = settle
  })
  let status: number | undefined
  let isSent: boolean | undefined
  const settle = (): void => {
    if (status !== undefined && isSent !== undefined) resolve([status, isSent])
  }
  const end = (isWhole: boolean): void => {
    isSent ??= isWhole
    settle()
  }
  if (incoming.onSent) incoming.onSent(end)
  // Without `onSent`, a body that the client does not read never ends, so the disconnect of the client ends the
  // observation.
  else incoming.onGone(() => end(false))
  return {
    over,
    follow(answer) {
      const { body } = answer
      status = answer.status
      settle()
      if (incoming.onSent) return answer
      if (isStream(body)) return { ...answer, body: observeStream(body, undefined, end) }
      end(true)
      return answer
    },
  }
}
