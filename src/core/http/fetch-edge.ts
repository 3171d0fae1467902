import { isServiceError, ServiceError } from '../errors.js'
import { isPromise, whenReady } from '../promises.js'
import type { Deadline } from '../request/deadline.js'
import { endOfTurn, nextTurn } from '../slices.js'
import type { MaybePromise } from '../types.js'
import {
  type Answer,
  BodyBytes,
  type IncomingRequest,
  isEndless,
  isRead,
  isStream,
  MOUNTED,
  type Respond,
  type TextStream,
  tooLarge,
  tooSlow,
} from './answer.js'
import { IDLE_MILLISECONDS, piecesOf } from './send-stream.js'

/** The methods of Node's response object that an answer needs. */
interface NodeResponse {
  writeHead(status: number, headers: Answer['headers']): unknown
  end(text?: string): unknown
}

/** Returns Node's response object if Node calls the handler as a listener; `undefined` for a call with a `Request`. */
function findNodeResponse(
  request: Partial<Request> | null | undefined,
  second: Partial<NodeResponse> | null | undefined,
): NodeResponse | undefined {
  const isWebRequest = typeof request?.headers?.get === 'function'
  const isResponse = typeof second?.writeHead === 'function' && typeof second.end === 'function'
  return isResponse && !isWebRequest ? (second as NodeResponse) : undefined
}

/** Creates the error for a host that calls the handler with Node's request and response. */
const calledByNode = (): TypeError =>
  new TypeError(
    "the handler must be called with a web-standard Request, but was called with Node's request and response: use toNodeHandler(handler) of collection-service/node instead",
  )

/** Creates the error for a host that calls a function with anything other than a `Request`. */
const calledWithout = (what: string, inHono: string): TypeError =>
  new TypeError(
    `${what} must be called with a web-standard Request, but was called with something else: in Hono, write ${inHono}`,
  )

/** Reads a request that is not answered. Throws a `TypeError` for anything else; `what` names the called function. */
export function readUnanswered(request: Request, what: string): IncomingRequest {
  const incoming = readRequest(request)
  if (!incoming) throw calledWithout(what, `${what}(c.req.raw)`)
  return incoming
}

/** Creates a handler of web-standard requests. `fail` creates the response to a call without a valid request. */
export const createFetchHandler = (
  respond: Respond,
  fail: (cause: unknown) => Answer,
): ((request: Request, second?: unknown) => Promise<Response>) => {
  const refuse = async (cause: unknown): Promise<Response> => toResponse(fail(cause), 'GET')
  const send = (answer: Answer, method: string): MaybePromise<Response> =>
    whenReady(endOfTurn(), () => {
      try {
        return toResponse(answer, method)
      } catch (cause) {
        // The runtime rejects the response, for example because of an invalid header.
        return refuse(cause)
      }
    })
  const handle = (request: Request, second: unknown): MaybePromise<Response> => {
    const response =
      second === undefined ? undefined : findNodeResponse(request, second as Partial<NodeResponse> | null)
    if (response) return sendByNode(response, fail(calledByNode()))
    const incoming = readRequest(request)
    // An invalid request object of a host is rejected before any other work.
    if (!incoming) return refuse(calledWithout('the handler', 'handler(c.req.raw)'))
    const { method } = incoming
    const answered = respond(incoming)
    return isPromise(answered)
      ? answered.then((answer) => send(answer, method)).catch(refuse)
      : send(answered, method)
  }
  return (request, second) => {
    try {
      return Promise.resolve(handle(request, second))
    } catch (cause) {
      // Reading the request object has thrown.
      return refuse(cause)
    }
  }
}

/**
 * Answers through Node's response object, because Node ignores a returned `Response`: the client would wait forever.
 */
function sendByNode(response: NodeResponse, { status, headers, body }: Answer): Response {
  response.writeHead(status, headers)
  response.end(String(body))
  return new Response(null, { status })
}

/**
 * Reads the request object of a host; returns `undefined` if an essential part is missing. Each part is read only once.
 */
function readRequest(request: Partial<Request> | null | undefined): FetchRequest | undefined {
  const { method, url, headers } = request ?? {}
  if (typeof method !== 'string' || typeof url !== 'string' || typeof headers?.get !== 'function')
    return undefined
  const target = targetOf(url)
  return target === undefined
    ? undefined
    : new FetchRequest(request as Request, { method, url, headers }, target)
}

/** The parts of a request that were read from the host's object. */
interface RequestParts {
  readonly method: string
  readonly url: string
  readonly headers: Pick<Headers, 'get'>
}

/**
 * A web-standard request as plain data. It is a class, so that a request does not create a function for each method.
 */
class FetchRequest implements IncomingRequest {
  readonly #request: Request
  readonly #url: string
  readonly #headers: Pick<Headers, 'get'>
  readonly method: string
  readonly target: string
  readonly mountPath = ''
  readonly clientAddress = undefined
  #body: 'unread' | 'arriving' | 'whole' = 'unread'

  constructor(request: Request, { method, url, headers }: RequestParts, target: string) {
    this.#request = request
    this.#url = url
    this.#headers = headers
    this.method = method
    this.target = target
  }

  get ownOrigin(): string | undefined {
    return MOUNTED in this.#request || !URL.canParse(this.#url) ? undefined : new URL(this.#url).origin
  }

  header(name: string): string | undefined {
    return this.#headers.get(name) ?? undefined
  }

  async readBody(limit: number, time: Pick<Deadline, 'onOver'>): Promise<Uint8Array> {
    this.#body = 'arriving'
    const bytes = await readRequestBody(this.#request, limit, time)
    this.#body = 'whole'
    return bytes
  }

  onGone(listener: () => void): () => void {
    const signal = signalOf(this.#request)
    if (!signal) return () => {}
    let isHeard = true
    const tell = (): void => {
      if (isHeard && (isRead(this.method) || !this.#isWhole)) listener()
    }
    const onAbort = (): void => {
      // Some hosts abort directly after they hand over the last chunk, before it can be read. So this waits for one
      // iteration of the event loop.
      if (this.#body === 'arriving') void nextTurn().then(tell)
      else tell()
    }
    if (signal.aborted) tell()
    signal.addEventListener('abort', onAbort, { once: true })
    return () => {
      isHeard = false
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Whether the whole body has arrived. */
  get #isWhole(): boolean {
    return this.#body === 'whole' || (this.#body === 'unread' && this.#request.body === null)
  }

  toRequest(): Request {
    return this.#request
  }
}

/** Returns the signal that aborts when the client disconnects; `undefined` if the host's request has none. */
function signalOf(request: Request): AbortSignal | undefined {
  try {
    const { signal }: { readonly signal?: Partial<AbortSignal> | null } = request
    return typeof signal?.addEventListener === 'function' ? (signal as AbortSignal) : undefined
  } catch {
    // The getter throws. Nothing depends on it, so the request works without a signal.
    return undefined
  }
}

/** Matches the start of an absolute URL; Node's requests have only a path. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\//i

/** Returns the path and the query of an absolute URL; `undefined` for any other URL. */
function targetOf(url: string): string | undefined {
  // The comparisons come first, because they are faster than the pattern and nearly always sufficient.
  if (!url.startsWith('http://') && !url.startsWith('https://') && !ORIGIN.test(url)) return undefined
  const end = url.indexOf('#')
  const whole = end < 0 ? url : url.slice(0, end)
  const path = whole.indexOf('/', whole.indexOf('://') + 3)
  const query = whole.indexOf('?')
  // A host may leave out an empty path.
  if (path < 0 || (query >= 0 && query < path)) return query < 0 ? '/' : `/${whole.slice(query)}`
  return whole.slice(path)
}

async function readRequestBody(
  request: Request,
  limit: number,
  time: Pick<Deadline, 'onOver'>,
): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) > limit) throw tooLarge(limit)
  if (length !== null && isReadByHost(request)) return readByHost(request, limit, time)
  requireUnread(request)
  const { body }: { readonly body?: Partial<ReadableStream<Uint8Array>> | null } = request
  if (body === null) return new Uint8Array()
  if (typeof body?.getReader !== 'function') {
    throw new TypeError(
      'the body of this request is not a ReadableStream: pass new Request(url, { method, headers, body })',
    )
  }
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  let isOver = false
  const stopListening = time.onOver(() => {
    isOver = true
    void reader.cancel().catch(() => {})
  })
  try {
    const bytes = await collectBytes(reader, limit)
    // A cancelled stream looks like a complete one.
    if (isOver) throw tooSlow()
    return bytes
  } finally {
    stopListening()
  }
}

function requireUnread(request: Request): void {
  if (request.bodyUsed || request.body?.locked) {
    throw new TypeError(
      'the host has already read the body of this request: pass new Request(request, { body: JSON.stringify(body) })',
    )
  }
}

/**
 * Whether a host has its own function that reads bodies, as @hono/node-server has. Such a host creates a stream only on
 * access, and that takes a tenth of the time of a small write (`real` of test/bench). A request of the runtime's own
 * class, or of another library's class, is read as a stream, because the length that it declares may be wrong.
 */
function isReadByHost(request: Request): boolean {
  const { Request: Own } = globalThis as { readonly Request?: typeof Request }
  return (
    Own !== undefined &&
    request instanceof Own &&
    request.arrayBuffer !== Own.prototype.arrayBuffer &&
    !request.bodyUsed
  )
}

/** Reads a body with the host's own function. The host's HTTP parser enforces the declared length. */
function readByHost(request: Request, limit: number, time: Pick<Deadline, 'onOver'>): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const stopListening = time.onOver(() => reject(tooSlow()))
    request
      .arrayBuffer()
      .then((bytes) => {
        if (bytes.byteLength > limit) throw tooLarge(limit)
        resolve(new Uint8Array(bytes))
      })
      .catch((thrown: unknown) => {
        if (isServiceError(thrown)) throw thrown
        // If nothing was read, the host may have created the body's stream before and locked it.
        if (!request.bodyUsed) requireUnread(request)
        throw tooSlow()
      })
      .catch(reject)
      .finally(stopListening)
  })
}

async function collectBytes(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
): Promise<Uint8Array> {
  const body = new BodyBytes()
  for (;;) {
    // A stream that breaks counts as a body that did not arrive.
    const { done, value } = await reader.read().catch(() => {
      throw tooSlow()
    })
    if (done) return body.join()
    // A stream from the host can yield anything.
    if (!((value as unknown) instanceof Uint8Array))
      throw new ServiceError('invalid_json', 'The body must be bytes.')
    if (body.length + value.length > limit) {
      void reader.cancel().catch(() => {})
      throw tooLarge(limit)
    }
    body.add(value)
  }
}

/**
 * Converts the chunks of a stream to pieces of bytes. Chunks that are bytes are copied, so that the reader may change
 * them.
 */
async function* inPieces(stream: TextStream): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  for await (const text of stream) {
    if (typeof text !== 'string') yield text.slice()
    else for (const piece of piecesOf(text)) yield encoder.encode(piece)
  }
}

/** Converts a stream to a web-standard stream of bytes, which ends with an error if its client stops reading. */
function toReadableStream(stream: TextStream): ReadableStream<Uint8Array> {
  const texts = inPieces(stream)
  let timer: ReturnType<typeof setTimeout> | undefined
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(timer)
      try {
        const { done, value } = await texts.next()
        if (done) return controller.close()
        controller.enqueue(value)
      } catch (thrown) {
        return controller.error(thrown)
      }
      // An endless stream needs no timeout, because it limits its own backlog.
      if (isEndless(stream)) return
      timer = setTimeout(() => {
        controller.error(new Error('the client of this stream has stopped reading'))
        stream.cancel()
      }, IDLE_MILLISECONDS)
      // A stream that is not read must not keep the process alive.
      ;(timer as { unref?: () => void }).unref?.()
    },
    cancel() {
      clearTimeout(timer)
      stream.cancel()
    },
  })
}

/** Converts an answer to a web-standard response. A 204 has no body. */
const toResponse = ({ status, headers, body }: Answer, method: string): Response =>
  method === 'HEAD' && headers['content-type'] !== undefined
    ? toHead({ status, headers, body })
    : new Response(isStream(body) ? toReadableStream(body) : body, { status, headers })

/**
 * Returns the response to HEAD, with the length that GET would have sent (RFC 9110 §9.3.2). If GET streams, the length
 * is unknown. The body is then an empty stream, because runtimes would otherwise send a length of zero.
 */
function toHead({ status, headers, body }: Answer): Response {
  if (body === null || isStream(body)) return new Response(createEmptyStream(), { status, headers })
  const length = typeof body === 'string' ? new TextEncoder().encode(body).length : body.length
  return new Response(null, { status, headers: { ...headers, 'content-length': String(length) } })
}

const createEmptyStream = (): ReadableStream<Uint8Array> =>
  new ReadableStream({ pull: (controller) => controller.close() }, { highWaterMark: 0 })
