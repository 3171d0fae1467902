import { isServiceError, ServiceError } from '../errors.js'
import type { Deadline } from '../service/deadline.js'
import { endOfTurn, nextTurn } from '../slices.js'
import type { Respond } from './answer.js'
import { type Answer, type IncomingRequest, isRead, isStream } from './answer.js'
import { createBodyBytes, tooLarge, tooSlow } from './body-bytes.js'
import { calledByNode, calledWithout, findNodeResponse } from './misuse.js'
import { toReadableStream } from './send-stream.js'

/** Creates a handler of web-standard requests. `fail` answers a call without a valid request. */
export const createFetchHandler =
  (respond: Respond, fail: (cause: unknown) => Answer) =>
  async (request: Request, second?: unknown): Promise<Response> => {
    try {
      const response = second === undefined ? undefined : findNodeResponse(request, second)
      if (!response) {
        // Members that a host's request lacks are found before anything is done.
        if (!isRequest(request)) return toResponse(fail(calledWithout()), 'GET')
        const incoming = new FetchRequest(request)
        const answer = await respond(incoming)
        await endOfTurn()
        return toResponse(answer, incoming.method)
      }
      const { status, headers, body } = fail(calledByNode())
      // Otherwise the client would wait for ever.
      response.writeHead(status, headers)
      response.end(String(body))
      return new Response(null, { status })
    } catch (cause) {
      // The request cannot be read, or the runtime refuses the answer.
      return toResponse(fail(cause), 'GET')
    }
  }

/** The start of a request's URL; node's has a path alone. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\//i

/** Whether what the handler was called with can be read as a request: whether it has what every answer depends on. */
const isRequest = (
  value: { readonly [part in 'method' | 'url' | 'headers']?: unknown } | null | undefined,
): boolean =>
  typeof value?.method === 'string' &&
  typeof value.url === 'string' &&
  ORIGIN.test(value.url) &&
  typeof (value.headers as Partial<Headers> | null | undefined)?.get === 'function'

/** A web-standard request in plain data. A class, so that a request does not create a function for each of these. */
class FetchRequest implements IncomingRequest {
  readonly #request: Request
  readonly method: string
  readonly target: string
  readonly mountPath = ''
  readonly clientAddress = undefined
  #body: 'unread' | 'arriving' | 'whole' = 'unread'

  constructor(request: Request) {
    this.#request = request
    this.method = request.method
    this.target = targetOf(request.url)
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined
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
      // Hosts that abort once they have given the last piece do so before it can be read.
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

  /** Whether nothing of its body is still to come. */
  get #isWhole(): boolean {
    return this.#body === 'whole' || (this.#body === 'unread' && this.#request.body === null)
  }

  toRequest(): Request {
    return this.#request
  }
}

/** The signal of a client that has gone; `undefined` where the host's request has none. */
function signalOf(request: Request): AbortSignal | undefined {
  try {
    const { signal }: { readonly signal?: Partial<AbortSignal> | null } = request
    return typeof signal?.addEventListener === 'function' ? (signal as AbortSignal) : undefined
  } catch {
    // A getter that is not meant for this: nothing depends on it.
    return undefined
  }
}

/** The path and query of an absolute URL. */
function targetOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('#')
  if (start < 0) return '/'
  return end < 0 ? url.slice(start) : url.slice(start, end)
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
      'the body of this request is no ReadableStream: hand over another one, new Request(url, { method, headers, body })',
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
      'the host has read the body of this request: hand over another one, new Request(request, { body: JSON.stringify(body) })',
    )
  }
}

/**
 * Whether a host reads bodies by its own means, as @hono/node-server does: it makes a stream only for who asks for one, which
 * is a tenth of a small write (`real` of test/bench). The body of a request of the runtime's own class is read as a stream: such
 * a request may say of its length what is not true.
 */
const isReadByHost = (request: Request): boolean =>
  typeof request.arrayBuffer === 'function' &&
  request.arrayBuffer !== globalThis.Request?.prototype.arrayBuffer &&
  !request.bodyUsed

/** Reads a body of a length that the host's HTTP parser sees to. */
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
        // The host has made a stream of it before, and reads that one.
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
  const body = createBodyBytes()
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

/** An answer as a web-standard response. A 204 has no body. */
const toResponse = ({ status, headers, body }: Answer, method: string): Response =>
  method === 'HEAD' && headers['content-type'] !== undefined
    ? toHead({ status, headers, body })
    : new Response(isStream(body) ? toReadableStream(body) : body, { status, headers })

/**
 * The answer to HEAD, with the length that GET would have sent (RFC 9110 §9.3.2). Of what GET streams the length is not
 * known: there an empty stream keeps runtimes from claiming that it is zero.
 */
function toHead({ status, headers, body }: Answer): Response {
  if (body === null || isStream(body)) return new Response(createEmptyStream(), { status, headers })
  const length = typeof body === 'string' ? new TextEncoder().encode(body).length : body.length
  return new Response(null, { status, headers: { ...headers, 'content-length': String(length) } })
}

const createEmptyStream = (): ReadableStream<Uint8Array> =>
  new ReadableStream({ pull: (controller) => controller.close() }, { highWaterMark: 0 })
