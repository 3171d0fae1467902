import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../core/errors.js'
import type { IncomingRequest } from '../core/http/answer.js'
import { createBodyBytes, tooLarge, tooSlow } from '../core/http/body-bytes.js'
import type { MaybePromise } from '../core/types.js'

/** A request of Node whose body a parser may have read already. */
export type ParsedRequest = IncomingMessage & {
  /** The parsed body. */
  readonly body?: unknown
  /** Set by body-parser, before its second release, after it has parsed. */
  readonly _body?: boolean
}

/** The bytes of a body that a parser has read; `undefined` where the stream is still unread. */
function readParsedBody(request: ParsedRequest): Uint8Array | undefined {
  // Some parsers set an empty body on requests that they do not handle, and leave the stream unread.
  if (request._body !== true && request.readableEnded === false) return undefined
  const body = readBody(request)
  if (body === undefined) return undefined
  if (body instanceof Uint8Array) return body
  // Parsers turn an empty body into an empty object.
  if (request.headers['content-length'] === '0') return NOTHING
  return Buffer.from(typeof body === 'string' && isSentText(request, body) ? body : stringify(body))
}

/** The parsed body. Some hosts parse it on access, and throw where it is not JSON. */
function readBody(request: ParsedRequest): unknown {
  try {
    return request.body
  } catch {
    throw unparsed()
  }
}

const unparsed = (fault = 'not JSON as the host has parsed it'): ServiceError =>
  new ServiceError('invalid_json', `The body is ${fault}.`)

const NOTHING = new Uint8Array()

const JSON_TYPE = /^application\/(?:json|[^;]{1,100}\+json) *(?:;|$)/i

/**
 * Whether a string is the text that was sent, and not the value of a JSON string. Parsers do not mark their result, so
 * this depends on the parsers that can have read it:
 * - a mocked request has no stream that could have been parsed: its string is the text that its author would send;
 * - bodies that were not sent as JSON are left as text, by `express.text()` and by Next;
 * - of those sent as JSON, `express.json({ strict: false })`, Next and Fastify leave the value, which is at
 *   least two quotes shorter than its JSON; `express.text({ type: '*\/*' })` leaves the text, whose length is
 *   `Content-Length`.
 */
function isSentText({ headers, readableEnded }: ParsedRequest, body: string): boolean {
  if (readableEnded === undefined || !JSON_TYPE.test(headers['content-type'] ?? '')) return true
  return Number(headers['content-length'] ?? Number.NaN) === Buffer.byteLength(body)
}

/** Whether a value keeps its contents elsewhere than in its properties, as a form or a map does. */
const isCollection = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Symbol.iterator in value

/** The text of a parsed body: an infinite number becomes one that is out of range again. */
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

/** The deadline for a body. */
export type Time = Parameters<IncomingRequest['readBody']>[1]

/** Reads the bytes of a request's body, as its framework has read them, or from the stream. Throws `body_too_large`. */
export function readMessageBody(request: ParsedRequest, limit: number, time: Time): MaybePromise<Uint8Array> {
  const parsed = readParsedBody(request)
  if (parsed) {
    if (parsed.length > limit) throw tooLarge(limit)
    return parsed
  }
  if (request.readableEnded)
    throw new TypeError(
      "the host has read the body of this request: set Node's request.body to the parsed body first",
    )
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > limit) throw tooLarge(limit)
  return readWhole(request, length) ?? collectMessage(request, limit, time)
}

/** A body that has arrived; `null` where a part of it has not. */
function readWhole(request: IncomingMessage, length: number): Uint8Array | null {
  if (length === 0 || request.readableFlowing || request.readableLength !== length) return null
  const whole = toBytes(request, request.read())
  // Without this, the request would never end.
  request.resume()
  return whole
}

/** A chunk of a stream as bytes; it is text where other code has called `setEncoding`. */
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
    // The listeners need not be removed: they are collected with the request.
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
      // The mount, or other code before it, may have paused it.
      .resume()
    time.onOver(onBroken)
    if (request.destroyed) onBroken()
  })
}
