import type { Collection } from '../../config/plan.js'
import type { TextStream } from '../../service/read/text-stream.js'
import type { Written } from '../../service/write/written.js'
import type { Answer } from '../answer.js'
import { etagOfText } from '../etag.js'
import type { Exchange } from './route.js'

const JSON_TYPE = { 'content-type': 'application/json' } as const

/** An answer with a secret in it, or for one caller only. */
export const NO_STORE = { 'cache-control': 'no-store' } as const

/** JSON that is text already. */
export const answerText = (
  status: number,
  body: string | TextStream,
  headers: Answer['headers'] = {},
): Answer => ({
  status,
  headers: { ...JSON_TYPE, ...headers },
  body,
})

export const answerJson = (status: number, value: unknown, headers?: Answer['headers']): Answer =>
  answerText(status, JSON.stringify(value), headers)

export const NOTHING: Answer = { status: 204, headers: {}, body: null }

/** What was taken from a body, where anything was: a list of strings (RFC 9651 §3.1), which are all names. */
export const tellIgnored = (names: readonly string[]): Answer['headers'] =>
  names.length > 0 ? { 'ignored-properties': names.map((name) => `"${name}"`).join(', ') } : {}

/** A document that was changed. */
export const answerWritten = ({ text, ignored }: Written): Answer =>
  answerText(200, text, { etag: etagOfText(text), ...tellIgnored(ignored) })

/** A document that was created. */
export const answerCreated = (
  { prefix }: Exchange,
  { name }: Collection,
  { _id, text, ignored }: Written,
): Answer =>
  answerText(201, text, {
    location: `${prefix}/${name}/${_id}`,
    etag: etagOfText(text),
    ...tellIgnored(ignored),
  })
