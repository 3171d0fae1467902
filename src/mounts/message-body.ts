import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../core/errors.js'
import type { IncomingRequest } from '../core/http/answer.js'
import { createBodyBytes, tooLarge, tooSlow } from '../core/http/body-bytes.js'
import type { MaybePromise } from '../core/types.js'

/** A request of Node whose body a framework or parser may already have read. */
export type ParsedRequest = IncomingMessage & {
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
export type Time = Parameters<IncomingRequest['readBody']>[1]

/**
 * Returns the bytes of a request's body: those that a framework has already read, or else those of the stream. Throws
 * `body_too_large`.
 */
export function readMessageBody(request: ParsedRequest, limit: number, time: Time): MaybePromise<Uint8Array> {
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
    const body = createBodyBytes()
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
