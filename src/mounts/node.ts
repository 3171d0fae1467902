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

/** Texts or bytes, in order. */
type BodyPieces = (Iterable<string | Bytes> | AsyncIterable<string | Bytes>) & Pick<TextStream, 'isEndless'>

/**
 * Writes texts or bytes as fast as their client takes them, in small pieces, which show whether the client
 * still reads. Returns false where the client has disconnected, or stops reading a finite body for too long: the
 * connection is then broken.
 */
async function sendPieces(response: ServerResponse, parts: BodyPieces): Promise<boolean> {
  for await (const part of parts) {
    for (const piece of typeof part === 'string' ? piecesOf(part) : bytesOf(part)) {
      // Data that the system has taken at once needs no wait.
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
 * Waits until a client has taken the written data; false where it has disconnected, or stops reading for too
 * long. An endless stream bounds its own backlog.
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

/** The bytes that the client has not taken yet; some frameworks' responses have no socket. */
const leftIn = ({ writableLength, socket }: ServerResponse): number =>
  writableLength + (socket?.writableLength ?? 0)

/** Headers of which Node keeps the first value and drops the others, where a fetch edge joins them. */
const KEPT_ONCE: readonly string[] = ['authorization', 'content-type']

/** The values of a header. A value that a framework has set replaces the one that was sent. */
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
 * Whether a response is sent before the whole body was read: the connection cannot be used again. In HTTP/2 a request
 * has a stream of its own, and no such header.
 */
const leavesBodyUnread = (request: IncomingMessage): boolean =>
  request.readableEnded === false && request.httpVersionMajor !== 2 && hasBody(request)

/** Whether a request was sent with a body; some frameworks' requests have no headers. */
const hasBody = ({ headers }: Partial<IncomingMessage>): boolean =>
  headers?.['transfer-encoding'] !== undefined || Number(headers?.['content-length'] ?? 0) > 0

/** How long an unread body is drained, in milliseconds. */
const LONGEST = 2000

/**
 * Sends a response, and ends it after draining the rest of the request, within limits of time and size. A connection
 * that is closed while data comes in loses what has been sent (RFC 9112 §9.6): the client would not receive the error
 * response.
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

/** The properties that frameworks add to Node's request. */
type FrameworkRequest = ParsedRequest & {
  /** Express: the target before mount paths were cut off, and the part that was cut off. */
  readonly originalUrl?: string
  readonly baseUrl?: string
}

/** A listener of node:http, a middleware of Express and Connect, a handler of Next's pages. Never rejects. */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  ...ignored: unknown[]
) => Promise<void>

/**
 * Serves a handler's requests from Node's own objects, without building web-standard ones. The path comes
 * from the request target, never from a `Host` header. A body that the framework has parsed is used as it is.
 *
 * @example
 * ```ts
 * createServer(toNodeHandler(createCollectionService(config))).listen(3000)
 * ```
 */
export function toNodeHandler(handler: Handler): NodeHandler {
  const respond = (handler as Handler & Partial<PlainEdge>)[RESPOND]
  if (!respond) throw new TypeError('toNodeHandler takes a handler made by createCollectionService')
  // The client must get a response even if a framework has changed its objects.
  const giveUp = (response: ServerResponse): void => {
    response.statusCode = 500
    response.end()
  }
  return async (request, response) => {
    // Without a listener, a broken connection would end the process.
    response.on('error', ignore)
    try {
      if (request.headers?.['content-length'] !== undefined && request.readableFlowing === null) {
        // Without the pause, another listener could start the stream before this one reads it.
        request.pause()
        // One turn later the body from the packet of the head has arrived: a complete body needs no wait, and no timer.
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

/** A request of Node in plain data. A class, so that a request does not create a function for each of its methods. */
class NodeRequest implements IncomingRequest {
  readonly #request: FrameworkRequest
  readonly #response: ServerResponse
  readonly method: string
  readonly target: string
  readonly mountPath: string
  /** Whether the whole body had arrived when it was read. */
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
    // A connection that is already closed emits no further event.
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

/** The mount path that a framework has cut off from the target, which it does only where it changes `url`. */
function readMountPath({ url = '', originalUrl, baseUrl }: FrameworkRequest): string {
  if (originalUrl === undefined || originalUrl === url) return ''
  if (baseUrl !== undefined) return baseUrl
  // Unlike Express, Connect does not keep the part that it has cut off, and leaves a presumed host before the rest;
  // where nothing was left, it inserts a slash.
  const [whole, rest] = [toOriginForm(originalUrl), url.replace(HOST, '')]
  const left = whole.endsWith(rest) ? rest : rest.replace(/^\/(?=\?|$)/, '')
  return whole.endsWith(left) ? whole.slice(0, whole.length - left.length).replace(/\/$/, '') : ''
}

/** In `GET http://host/path`, the path comes after the host. */
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
  // The service reads the body; the rest identifies the caller. `fetch` forbids some methods that Node
  // accepts.
  const method = /^(?:connect|trace|track)$/i.test(request.method ?? '') ? 'GET' : (request.method ?? 'GET')
  const made = new Request(`http://localhost${target}`, { method, headers })
  originals.set(made, request)
  return made
}

const originals = new WeakMap<Request, IncomingMessage>()

/**
 * Node's own request for the one that `authenticate` and `clientAddress` get under `toNodeHandler`, with
 * properties that frameworks have added, like `user` or `session`. `undefined` under any other edge.
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
  // Adding properties to the result of a spread costs ten times as much.
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
  // A short text is sent with the headers, in one packet.
  else if (!isStream(body) && body.length <= bounds.sentCharacters) response.end(body)
  else void sendBody(response, body)
}

/**
 * Writes a body in pieces. If a stream fails, the connection is broken: half an array is not an array.
 */
async function sendBody(response: ServerResponse, body: Text): Promise<void> {
  const stream = isStream(body) ? body : undefined
  // The client learns that the stream has begun, even if its first piece comes late or never.
  if (stream) (response as Partial<ServerResponse>).flushHeaders?.()
  try {
    const isSent = await sendPieces(response, isStream(body) ? body : [body])
    if (!isSent) stream?.cancel()
  } catch {
    response.destroy()
  }
}
