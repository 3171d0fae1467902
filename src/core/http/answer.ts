import type { Text, TextStream } from '../documents/read/text-stream.js'
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
