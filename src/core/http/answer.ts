import type { Text, TextStream } from '../documents/read/text-stream.js'
import type { Deadline } from '../request/deadline.js'
import type { MaybePromise } from '../types.js'

export type { Text, TextStream } from '../documents/read/text-stream.js'

/** A request in plain data, the same from every edge; the body is read only on demand. */
export interface IncomingRequest {
  /** The method as it was sent: methods are case-sensitive (RFC 9110 §9.1). */
  readonly method: string
  /** Path and query string as they were sent. */
  readonly target: string
  /** The part of `target` before the service's own paths, without `basePath`. */
  readonly mountPath: string
  /** The client's address, if the edge knows it; never from a header. */
  readonly clientAddress: string | undefined
  /** A header by its name in lower case; several of one name are joined by a comma. */
  header(name: string): string | undefined
  /** Reads the body. Throws `body_too_large` beyond `limit` and `request_timeout` after the deadline. */
  readBody(limit: number, time: Pick<Deadline, 'onOver'>): MaybePromise<Uint8Array>
  /**
   * Calls `listener` when the client disconnects, except for a write whose body is complete by then: it is carried out
   * (CONTRACT.md §6, "Deadlines"). Returns a function that stops listening.
   */
  onGone(listener: () => void): () => void
  /**
   * Calls `listener` once, when the last byte of the answer was handed over, or the client has disconnected before.
   * Absent where the edge cannot tell.
   */
  onSent?(listener: (isWhole: boolean) => void): void
  /** The request as a web-standard object, created when first needed. */
  toRequest(): Request
}

/** Whether a request only reads. */
export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** An answer in plain data. Header names are in lower case. */
export interface Answer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: Text | null
}

/** Answers a request, synchronously if it waits for nothing. Neither throws nor rejects. */
export type Respond = (incoming: IncomingRequest) => MaybePromise<Answer>

/** Whether a body is written in parts. */
export const isStream = (body: Answer['body']): body is TextStream =>
  typeof body === 'object' && body !== null && !(body instanceof Uint8Array)

/** Whether a stream lasts as long as its client is connected. */
export const isEndless = (stream: Pick<TextStream, 'isEndless'>): boolean => stream.isEndless?.() ?? false
