import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.js'

/** A request of node that a parser may have read before us. */
export type ParsedRequest = IncomingMessage & {
  /** What the parser has made of the body. */
  readonly body?: unknown
  /** Set by body-parser, before its second release, when it has parsed. */
  readonly _body?: boolean
}

/** The bytes of a body that something before us has read; `undefined` where the stream is still to be read. */
export function readParsedBody(request: ParsedRequest): Uint8Array | undefined {
  const { body } = request
  // Some parsers set an empty body on requests that are none of theirs, and leave the stream alone.
  const isRead = request._body === true || request.readableEnded !== false
  if (body === undefined || !isRead) return undefined
  if (body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' && isSentText(request, body) ? body : stringify(body))
}

const JSON_TYPE = /^application\/(?:json|[^;]{1,100}\+json) *(?:;|$)/i

/**
 * Whether a string is the text that was sent, rather than the value of a JSON string. Parsers leave no mark of what
 * they have done, so it goes by what they can have read:
 * - a mocked request has no stream that could have been parsed: its string is what its author would send;
 * - bodies that were not sent as JSON are left as text, by `express.text()` and by Next;
 * - of those sent as JSON, `express.json({ strict: false })`, Next and Fastify leave the value, which is at least two
 *   quotes shorter than its JSON; `express.text({ type: '*\/*' })` leaves the text, as long as `Content-Length` says.
 */
function isSentText({ headers, readableEnded }: ParsedRequest, body: string): boolean {
  if (readableEnded === undefined || !JSON_TYPE.test(headers['content-type'] ?? '')) return true
  return Number(headers['content-length'] ?? Number.NaN) === Buffer.byteLength(body)
}

function stringify(body: unknown): string {
  try {
    return JSON.stringify(body) ?? ''
  } catch {
    throw new ServiceError('invalid_json', 'The body is nested too deep.')
  }
}
