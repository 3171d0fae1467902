import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { bounds } from '../core/bounds.js'
import { ServiceError } from '../core/errors.js'
import {
  type Answer,
  BodyBytes,
  type IncomingRequest,
  isEndless,
  isRead,
  isStream,
  MOUNTED,
  type PlainEdge,
  RESPOND,
  type Text,
  type TextStream,
  tooLarge,
  tooSlow,
} from '../core/http/answer.js'
import { IDLE_MILLISECONDS, piecesOf } from '../core/http/send-stream.js'
import type { Bytes } from '../core/json/bytes.js'
import { isPromise, whenReady } from '../core/promises.js'
import { endOfTurn } from '../core/slices.js'
import type { Handler, MaybePromise } from '../core/types.js'
import { addToLists } from './list-headers.js'

/** The pieces of a body in their order, as strings or bytes. */
type BodyPieces = (Iterable<string | Bytes> | AsyncIterable<string | Bytes>) & Pick<TextStream, 'isEndless'>

/**
 * Writes a body as fast as the client reads it. It writes small pieces, so that it notices when the client stops
 * reading. Returns false, and breaks the connection, if the client disconnects, or stops reading a finite body for too
 * long.
 */
async function sendPieces(response: ServerResponse, parts: BodyPieces): Promise<boolean> {
  for await (const part of parts) {
    for (const piece of typeof part === 'string' ? piecesOf(part) : bytesOf(part)) {
      // There is nothing to wait for if the operating system has already accepted the data.
      if (response.write(piece) === false && leftIn(response) !== 0 && !(await isTaken(response, parts)))
        return false
    }
  }
  response.end()
  return true
}

function* bytesOf(bytes: Bytes): Generator<Bytes, void, undefined> {
  const { sentCharacters: size } = bounds
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

/**
 * Waits until the client has read the written data. Resolves to false if the client disconnects, or stops reading for
 * too long. An endless stream has no such timeout, because it limits its own backlog.
 */
function isTaken(response: ServerResponse, parts: BodyPieces): Promise<boolean> {
  return new Promise((resolve) => {
    let left = leftIn(response)
    const finish = (isTaken: boolean): void => {
      clearTimeout(timer)
      response.off('drain', onDrain).off('close', onClose)
      if (!isTaken) response.destroy()
      resolve(isTaken)
    }
    const onDrain = (): void => finish(true)
    const onClose = (): void => finish(false)
    const onIdle = (): void => {
      const before = left
      left = leftIn(response)
      if (left === before && !isEndless(parts)) finish(false)
      else timer = setTimeout(onIdle, IDLE_MILLISECONDS)
    }
    let timer = setTimeout(onIdle, IDLE_MILLISECONDS)
    response.on('drain', onDrain).on('close', onClose)
    if (response.destroyed) onClose()
  })
}

/** The bytes that are still buffered for the client. The responses of some frameworks have no socket. */
const leftIn = ({ writableLength, socket }: ServerResponse): number =>
  writableLength + (socket?.writableLength ?? 0)

/**
 * Headers for which Node keeps only the first of several values. The Fetch API joins the values, so this mount does
 * too.
 */
const KEPT_ONCE: readonly string[] = ['authorization', 'content-type']

/**
 * Returns the value of a header. For a header in `KEPT_ONCE` that was sent several times, returns all values that were
 * sent, unless a framework has replaced the first one.
 */
function readHeader({ headers, rawHeaders }: IncomingMessage, name: string): string | string[] | undefined {
  const value = headers[name]
  if (value === undefined || !rawHeaders || !KEPT_ONCE.includes(name)) return value
  let sent = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (isNamed(rawHeaders[i], name)) sent += 1
  if (sent < 2) return value
  const all = rawHeaders.filter((_, i) => i % 2 === 1 && isNamed(rawHeaders[i - 1], name))
  return all[0] === value ? all : value
}

const isNamed = (sent: string | undefined, name: string): boolean =>
  sent?.length === name.length && sent.toLowerCase() === name

/**
 * Whether a response would be sent before the request body is read completely, so that the connection cannot be used
 * again. Always false in HTTP/2, because each request has a stream of its own there.
 */
const leavesBodyUnread = (request: IncomingMessage): boolean =>
  request.readableEnded === false && request.httpVersionMajor !== 2 && hasBody(request)

/** Whether a request was sent with a body. The requests of some frameworks have no headers. */
const hasBody = ({ headers }: Partial<IncomingMessage>): boolean =>
  headers?.['transfer-encoding'] !== undefined || Number(headers?.['content-length'] ?? 0) > 0

/** The longest time for which an unread body is read and discarded, in milliseconds. */
const LONGEST = 2000

/**
 * Writes a response, but ends it only after reading and discarding the rest of the request, within limits of time and
 * size. If the connection were closed while data still arrives, the client could lose the response that was sent (RFC
 * 9112 §9.6).
 */
function endBehind(response: ServerResponse, body: string | Bytes | null): void {
  const { req: request } = response
  if (body === null) response.flushHeaders()
  else response.write(body)
  let left = bounds.unreadBytes
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, LONGEST)
  request
    .on('data', ({ length }: Uint8Array) => {
      left -= length
      if (left < 0) end()
    })
    .once('end', end)
    .once('close', end)
    .once('error', end)
    .resume()
}

export { createWorkerHasher, type WorkerHasherOptions } from './worker-hasher.js'

/** A request of Node whose body a framework or parser may already have read. */
type ParsedRequest = IncomingMessage & {
  /** The parsed body, which a framework or parser has set. */
  readonly body?: unknown
  /** Whether the body was parsed. Set by body-parser before version 2. */
  readonly _body?: boolean
}

/** Returns the bytes of a body that a parser has read; `undefined` if the stream is still unread. */
function readParsedBody(request: ParsedRequest): Uint8Array | undefined {
  // Some parsers set an empty body on requests that they do not parse, and leave the stream unread. Such a body is
  // ignored.
  if (request._body !== true && request.readableEnded === false) return undefined
  const body = readBody(request)
  if (body === undefined) return undefined
  if (body instanceof Uint8Array) return body
  // Parsers return an empty object for an empty body.
  if (request.headers['content-length'] === '0') return NOTHING
  return Buffer.from(typeof body === 'string' && isSentText(request, body) ? body : stringify(body))
}

/**
 * Returns the parsed body. Some hosts parse the body on access to `body`, which then throws if the body is not JSON.
 */
function readBody(request: ParsedRequest): unknown {
  try {
    return request.body
  } catch {
    throw unparsed()
  }
}

const unparsed = (fault = 'not JSON'): ServiceError =>
  new ServiceError('invalid_json', `The body that the host has parsed is ${fault}.`)

const NOTHING = new Uint8Array()

const JSON_TYPE = /^application\/(?:json|[^;]{1,100}\+json) *(?:;|$)/i

/**
 * Whether a string `body` is the text that was sent, and not the value of a JSON string. Parsers do not say which of
 * the two they return, so this depends on the parsers that may have read it:
 * - a mocked request has no stream that could have been parsed: its string is the text that its author would send;
 * - for a body with another type than JSON, `express.text()` and Next return the text;
 * - for a JSON body, `express.json({ strict: false })`, Next and Fastify return the value, which is at least two quotes
 *   shorter than its JSON. `express.text({ type: '*\/*' })` returns the text, whose length is `Content-Length`.
 */
function isSentText({ headers, readableEnded }: ParsedRequest, body: string): boolean {
  if (readableEnded === undefined || !JSON_TYPE.test(headers['content-type'] ?? '')) return true
  return Number(headers['content-length'] ?? Number.NaN) === Buffer.byteLength(body)
}

/**
 * Whether a value, such as a form or a map, stores its contents outside its properties, so that its JSON would be
 * empty.
 */
const isCollection = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Symbol.iterator in value

/**
 * Writes a parsed body as JSON again. An infinite number is written as `1e999`, which is out of range, as the sent
 * number was.
 */
function stringify(body: unknown): string {
  let mark = ''
  const tell = (_: string, value: unknown): unknown => {
    if (isCollection(value)) throw new TypeError('its JSON would be empty')
    if (value !== Number.POSITIVE_INFINITY && value !== Number.NEGATIVE_INFINITY) return value
    mark ||= crypto.randomUUID()
    return `${value > 0 ? '' : '-'}${mark}`
  }
  try {
    const text = JSON.stringify(body, tell) ?? ''
    return mark === '' ? text : text.replaceAll(`"${mark}"`, '1e999').replaceAll(`"-${mark}"`, '-1e999')
  } catch (thrown) {
    throw thrown instanceof RangeError ? unparsed('nested too deep') : unparsed()
  }
}

/** The deadline for reading a body. */
type Time = Parameters<IncomingRequest['readBody']>[1]

/**
 * Returns the bytes of a request's body: those that a framework has already read, or else those of the stream. Throws
 * `body_too_large`.
 */
function readMessageBody(request: ParsedRequest, limit: number, time: Time): MaybePromise<Uint8Array> {
  const parsed = readParsedBody(request)
  if (parsed) {
    if (parsed.length > limit) throw tooLarge(limit)
    return parsed
  }
  if (request.readableEnded)
    throw new TypeError(
      "the host has already read the body of this request: set request.body of Node's request to the parsed body",
    )
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > limit) throw tooLarge(limit)
  return readWhole(request, length) ?? collectMessage(request, limit, time)
}

/** Returns a body that has arrived completely; `null` if a part of it is missing. */
function readWhole(request: IncomingMessage, length: number): Uint8Array | null {
  if (length === 0 || request.readableFlowing || request.readableLength !== length) return null
  const whole = toBytes(request, request.read())
  // Without `resume`, the request would never emit `end`.
  request.resume()
  return whole
}

/** Returns a chunk of a stream as bytes. The chunk is a string if other code has called `setEncoding`. */
const toBytes = (request: IncomingMessage, given: Uint8Array | string): Uint8Array =>
  typeof given === 'string' ? Buffer.from(given, request.readableEncoding ?? 'utf8') : given

function collectMessage(request: IncomingMessage, limit: number, time: Time): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const body = new BodyBytes()
    let isOver = false
    const end = (error: () => ServiceError): void => {
      if (isOver) return
      isOver = true
      reject(error())
    }
    const refuse = (): ServiceError => tooLarge(limit)
    const onBroken = (): void => end(tooSlow)
    // The listeners need not be removed, because they are garbage-collected with the request.
    request
      .on('data', (given: Uint8Array | string) => {
        if (isOver) return
        const chunk = toBytes(request, given)
        if (body.length + chunk.length <= limit) return body.add(chunk)
        request.pause()
        end(refuse)
      })
      .on('end', () => {
        if (!isOver) resolve(body.join())
        isOver = true
      })
      .on('error', onBroken)
      .on('close', onBroken)
      // The mount, or other code before it, may have paused the request.
      .resume()
    time.onOver(onBroken)
    if (request.destroyed) onBroken()
  })
}

/** A request of Node with the properties that frameworks add. */
type FrameworkRequest = ParsedRequest & {
  /** Express: the original request target, before mount paths were removed. `baseUrl` is the removed part. */
  readonly originalUrl?: string
  readonly baseUrl?: string
}

/**
 * A request listener for node:http, a middleware for Express and Connect, or a handler for API routes of Next's pages
 * router. Its promise never rejects.
 */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  ...ignored: unknown[]
) => Promise<void>

/**
 * Creates a request listener for Node from a handler. It uses Node's own request and response, without creating
 * web-standard ones. The path comes from the request target, never from the `Host` header. A body that the framework
 * has already parsed is used as it is.
 *
 * @example
 * ```ts
 * createServer(toNodeHandler(createCollectionService(config))).listen(3000)
 * ```
 */
export function toNodeHandler(handler: Handler): NodeHandler {
  const respond = (handler as Handler & Partial<PlainEdge>)[RESPOND]
  if (!respond) throw new TypeError('toNodeHandler needs a handler that createCollectionService has returned')
  // Sends an empty response with status 500, if a framework has changed its objects so that the answer cannot be sent.
  const giveUp = (response: ServerResponse): void => {
    response.statusCode = 500
    response.end()
  }
  return async (request, response) => {
    // Without an `error` listener, a broken connection would end the process.
    response.on('error', ignore)
    try {
      if (request.headers?.['content-length'] !== undefined && request.readableFlowing === null) {
        // Without this pause, another listener could start the stream before the service reads it.
        request.pause()
        // After one turn of the microtask queue, a body in the same packet as the headers has arrived. A complete body
        // needs no wait and no timer.
        await undefined
      }
      const incoming = new NodeRequest(request, response)
      const answered = respond(incoming)
      const answer = isPromise(answered) ? await answered : answered
      await endOfTurn()
      send(response, answer, request.method === 'HEAD', incoming.isWhole)
    } catch {
      giveUp(response)
    }
  }
}

const ignore = (): void => {}

/**
 * A request of Node, as the core reads it. It is a class so that not every request creates a function for each method.
 */
class NodeRequest implements IncomingRequest {
  readonly #request: FrameworkRequest
  readonly #response: ServerResponse
  readonly method: string
  readonly target: string
  readonly mountPath: string
  /** Whether the whole body had already arrived when the service read it. */
  isWhole = false
  #body: 'unread' | 'arriving' | 'whole' = 'unread'

  constructor(request: FrameworkRequest, response: ServerResponse) {
    this.#request = request
    this.#response = response
    this.method = request.method ?? 'GET'
    this.target = toOriginForm(request.originalUrl ?? request.url ?? '/')
    this.mountPath = readMountPath(request)
  }

  get clientAddress(): string | undefined {
    return this.#request.socket?.remoteAddress
  }

  header(name: string): string | undefined {
    const value = readHeader(this.#request, name)
    return Array.isArray(value) ? value.join(', ') : value
  }

  readBody(limit: number, time: Time): MaybePromise<Uint8Array> {
    this.#body = 'arriving'
    const body = readMessageBody(this.#request, limit, time)
    this.isWhole = !isPromise(body)
    return whenReady(body, (bytes) => {
      this.#body = 'whole'
      return bytes
    })
  }

  onGone(listener: () => void): () => void {
    const response = this.#response
    const tell = (): void => {
      const isWhole = this.#body === 'whole' || (this.#body === 'unread' && !hasBody(this.#request))
      if (isRead(this.method) || !isWhole) listener()
    }
    const onClose = (): void => {
      if (!response.writableFinished) tell()
    }
    response.on('close', onClose)
    // A connection that is already closed emits no more events.
    if (response.destroyed) tell()
    return () => response.removeListener('close', onClose)
  }

  onSent(listener: (isWhole: boolean) => void): void {
    const response = this.#response
    response.once('finish', () => listener(true))
    response.once('close', () => listener(response.writableFinished))
    if (response.destroyed) listener(false)
  }

  toRequest(): Request {
    return toWebRequest(this.#request, this.target)
  }
}

/** Returns the mount path that a framework has removed from `url`; empty if `url` is unchanged. */
function readMountPath({ url = '', originalUrl, baseUrl }: FrameworkRequest): string {
  if (originalUrl === undefined || originalUrl === url) return ''
  if (baseUrl !== undefined) return baseUrl
  // Unlike Express, Connect does not store the part that it removes. It leaves a scheme and host before the rest, and
  // inserts a slash if nothing is left.
  const [whole, rest] = [toOriginForm(originalUrl), url.replace(HOST, '')]
  const left = whole.endsWith(rest) ? rest : rest.replace(/^\/(?=\?|$)/, '')
  return whole.endsWith(left) ? whole.slice(0, whole.length - left.length).replace(/\/$/, '') : ''
}

/** Removes scheme and host from an absolute target such as `http://host/path`. */
function toOriginForm(target: string): string {
  if (target.startsWith('/')) return target
  return HOST.test(target) ? target.replace(HOST, '') || '/' : ''
}

const HOST = /^https?:\/\/[^/?#]*/i

function toWebRequest(request: IncomingMessage, target: string): Request {
  const headers = new Headers()
  for (const name of Object.keys(request.headers)) {
    for (const value of [readHeader(request, name) ?? []].flat()) headers.append(name, value)
  }
  // This request has no body, because the service reads the body itself; `authenticate` needs only the rest. `fetch`
  // forbids some methods that Node accepts.
  const method = /^(?:connect|trace|track)$/i.test(request.method ?? '') ? 'GET' : (request.method ?? 'GET')
  const made = new Request(`http://localhost${target}`, { method, headers })
  originals.set(made, request)
  return Object.assign(made, { [MOUNTED]: true })
}

const originals = new WeakMap<Request, IncomingMessage>()

/**
 * Returns Node's own request for the web-standard request that `authenticate` and `clientAddress` receive under
 * `toNodeHandler`. It has the properties that frameworks add, such as `user` or `session`. Returns `undefined` if the
 * service does not run under `toNodeHandler`.
 *
 * @example
 * ```ts
 * const authenticate = (request: Request) => nodeRequest<ExpressRequest>(request)?.user ?? null
 * ```
 */
export const nodeRequest = <T extends IncomingMessage = IncomingMessage>(request: Request): T | undefined =>
  originals.get(request) as T | undefined

function send(
  response: ServerResponse,
  { status, headers, body }: Answer,
  isHead: boolean,
  isRead: boolean,
): void {
  if (response.headersSent || response.destroyed) {
    if (isStream(body)) body.cancel()
    return
  }
  // Adding properties to an object that was created by a spread costs ten times as much.
  const all: OutgoingHttpHeaders = Object.assign(
    {},
    response.getHeaderNames().length > 0 ? addToLists(response, headers) : headers,
  )
  if (typeof body === 'string') all['content-length'] = Buffer.byteLength(body)
  else if (body !== null && !isStream(body)) all['content-length'] = body.length
  const isEarly = !isRead && response.req !== undefined && leavesBodyUnread(response.req)
  if (isEarly || endsConnection(response, headers)) all.connection = 'close'
  response.writeHead(status, all)
  if (isEarly && !isStream(body)) endBehind(response, isHead ? null : body)
  else if (body === null || isHead) response.end()
  // `end` sends a short body in the same packet as the headers.
  else if (!isStream(body) && body.length <= bounds.sentCharacters) response.end(body)
  else void sendBody(response, body)
}

/**
 * Whether a response is a stream of changes, whose connection is not used again. A service that closes ends its streams;
 * a proxy would send its next request on such a connection, to a service that is closed.
 */
const endsConnection = ({ req }: ServerResponse, headers: Answer['headers']): boolean =>
  headers['content-type'] === 'text/event-stream' && req?.httpVersionMajor === 1

/**
 * Writes a body in pieces. If a stream fails, the connection is broken, so that the client does not take the incomplete
 * body for a complete one.
 */
async function sendBody(response: ServerResponse, body: Text): Promise<void> {
  const stream = isStream(body) ? body : undefined
  // The headers are sent first, so that the client sees that the stream has begun, even if its first piece comes late
  // or never.
  if (stream) (response as Partial<ServerResponse>).flushHeaders?.()
  try {
    const isSent = await sendPieces(response, isStream(body) ? body : [body])
    if (!isSent) stream?.cancel()
  } catch {
    response.destroy()
  }
}
