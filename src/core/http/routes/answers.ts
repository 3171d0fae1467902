import type { Collection } from '../../config/plan.js'
import type { Text } from '../../documents/read/text-stream.js'
import type { WrittenDocument } from '../../documents/write/written.js'
import type { Answer } from '../answer.js'
import { etagOfText } from '../etag.js'
import type { Exchange } from './route.js'

/** The header of a response that contains a secret or is meant for one caller only. */
export const NO_STORE = { 'cache-control': 'no-store' } as const

/**
 * Returns a response of JSON text. It uses `Object.assign`, because a spread after other properties is three times as
 * slow.
 */
export const answerText = (status: number, body: Text, headers: Answer['headers'] = {}): Answer => ({
  status,
  headers: Object.assign({ 'content-type': 'application/json' }, headers),
  body,
})

/** Returns a response whose body is a value as JSON. */
export const answerJson = (status: number, value: unknown, headers?: Answer['headers']): Answer =>
  answerText(status, JSON.stringify(value), headers)

/** The response without a body. */
export const NOTHING: Answer = { status: 204, headers: {}, body: null }

/** Returns the header that names the properties that were dropped from a body, as a list of strings (RFC 9651 §3.1). */
export const tellIgnored = (names: readonly string[]): Answer['headers'] =>
  names.length > 0 ? { 'ignored-properties': names.map((name) => `"${name}"`).join(', ') } : NO_HEADERS

const NO_HEADERS: Answer['headers'] = {}

/** Returns the response with a new document. */
export function answerCreated(
  { prefix }: Exchange,
  { name }: Collection,
  { _id, text, ignored }: WrittenDocument,
): Answer {
  const headers = {
    'content-type': 'application/json',
    location: `${prefix}/${name}/${_id}`,
    etag: etagOfText(text),
  }
  if (ignored.length > 0) Object.assign(headers, tellIgnored(ignored))
  return { status: 201, headers, body: text }
}
