import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { bounds } from '../core/bounds.js'
import {
  type Answer,
  type IncomingRequest,
  isEndless,
  isRead,
  isStream,
  type Text,
  type TextStream,
} from '../core/http/answer.js'
import { type PlainEdge, RESPOND } from '../core/http/edge.js'
import { IDLE_MILLISECONDS, piecesOf } from '../core/http/send-stream.js'
import type { Bytes } from '../core/json/bytes.js'
import { isPromise, whenReady } from '../core/promises.js'
import { endOfTurn } from '../core/slices.js'
import type { Handler, MaybePromise } from '../core/types.js'
import { addToLists } from './list-headers.js'
import { type ParsedRequest, readMessageBody, type Time } from './message-body.js'

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
  return made
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
  if (isEarly) all.connection = 'close'
  response.writeHead(status, all)
  if (isEarly && !isStream(body)) endBehind(response, isHead ? null : body)
  else if (body === null || isHead) response.end()
  // `end` sends a short body in the same packet as the headers.
  else if (!isStream(body) && body.length <= bounds.sentCharacters) response.end(body)
  else void sendBody(response, body)
}

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
