import type { Text, TextStream } from '../documents/read/text-stream.js'
import { ServiceError } from '../errors.js'
import type { Deadline } from '../request/deadline.js'
import type { MaybePromise } from '../types.js'

export type { Text, TextStream } from '../documents/read/text-stream.js'

/** A request as plain data, independent of the server that received it (the edge). The body is read only on demand. */
export interface IncomingRequest {
  /** The method as it was sent: methods are case-sensitive (RFC 9110 §9.1). */
  readonly method: string
  /** Path and query string as they were sent. */
  readonly target: string
  /** The part of `target` before the service's own paths, without `basePath`. */
  readonly mountPath: string
  /** The client's address, if the edge knows it. It never comes from a header. */
  readonly clientAddress: string | undefined
  /** The origin of the service in the URL of the request; absent if the edge does not know the URL. */
  readonly ownOrigin?: string | undefined
  /**
   * Returns a header by its name in lower case. The values of several headers with the same name are joined by commas.
   */
  header(name: string): string | undefined
  /** Reads the body. Throws `body_too_large` beyond `limit` and `request_timeout` after the deadline. */
  readBody(limit: number, time: Pick<Deadline, 'onOver'>): MaybePromise<Uint8Array>
  /**
   * Calls `listener` when the client disconnects. A write whose body has arrived completely is carried out anyway, so
   * `listener` is not called for it (CONTRACT.md §6, "Deadlines"). Returns a function that stops listening.
   */
  onGone(listener: () => void): () => void
  /**
   * Calls `listener` once: when the last byte of the response was handed over, or when the client disconnected before
   * that. `isWhole` says which. Absent if the edge cannot know this.
   */
  onSent?(listener: (isWhole: boolean) => void): void
  /** The request as a web-standard object, created when first needed. */
  toRequest(): Request
}

/** Whether a request only reads. */
export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** A response as plain data. Header names are in lower case. */
export interface Answer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: Text | null
}

/** Answers a request; synchronously if it need not wait for anything. It neither throws nor rejects. */
export type Respond = (incoming: IncomingRequest) => MaybePromise<Answer>

/** Whether a body is a stream, which is written in parts. */
export const isStream = (body: Answer['body']): body is TextStream =>
  typeof body === 'object' && body !== null && !(body instanceof Uint8Array)

/** Whether a stream continues as long as its client is connected. */
export const isEndless = (stream: Pick<TextStream, 'isEndless'>): boolean => stream.isEndless?.() ?? false

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

/** The headers of a response without headers of its own. */
export const NO_HEADERS: Answer['headers'] = {}

/**
 * The key under which an adapter for a framework (a mount) finds the `Respond` function of a handler. It is in the
 * global symbol registry, so that several copies of this package share it.
 */
export const RESPOND = Symbol.for('collection-service.respond')

/**
 * The key that marks a web-standard request that a mount has created from another one. Its URL does not have the origin
 * of the service.
 */
export const MOUNTED = Symbol.for('collection-service.mounted')

/** The part of a handler that a mount uses. */
export interface PlainEdge {
  readonly [RESPOND]: Respond
}

/**
 * Collects the chunks of a body. It copies all chunks but the first into one buffer, because keeping a chunk of one byte
 * costs a hundred bytes.
 */
export class BodyBytes {
  length = 0
  #bytes: Uint8Array = new Uint8Array()

  add(chunk: Uint8Array): void {
    const end = this.length + chunk.length
    if (this.length === 0) this.#bytes = chunk
    else if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length))
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    if (this.#bytes !== chunk) this.#bytes.set(chunk, this.length)
    this.length = end
  }

  /** Returns the bytes of all chunks. */
  join(): Uint8Array {
    return this.#bytes.subarray(0, this.length)
  }
}

/** Creates the error for a body that is larger than `limits.bodyBytes`. */
export const tooLarge = (limit: number): ServiceError =>
  new ServiceError('body_too_large', `The body has more than ${limit} bytes.`)

/** Creates the error for a body that did not arrive completely in time. */
export const tooSlow = (): ServiceError =>
  new ServiceError('request_timeout', 'The body did not arrive in time.')
