import type { TextStream } from '../service/read/text-stream.js'

export type { TextStream } from '../service/read/text-stream.js'

/** A request as the edges hand it in: plain data, and the body only when it is asked for. */
export interface IncomingRequest {
  /** As it was sent: methods are case-sensitive (RFC 9110 §9.1). */
  readonly method: string
  /** Path and query string as they were sent. */
  readonly target: string
  /** What stands before the service's own paths in `target`, beside `basePath`. */
  readonly mountPath: string
  /** The client's address, as far as the edge knows it; never from a header. */
  readonly clientAddress: string | undefined
  /** A header by its name in lower case; several of one name joined by a comma. */
  header(name: string): string | undefined
  /** The body's bytes. Throws `body_too_large` beyond `limit` and `request_timeout` when `signal` aborts. */
  readBody(limit: number, signal: AbortSignal): Promise<Uint8Array>
  /** Calls `listener` when the client goes away; returns how to stop listening. */
  onGone(listener: () => void): () => void
  /** The request as a web-standard object, made when first asked for. */
  toRequest(): Request
}

/** An answer in plain data. Header names are in lower case. */
export interface Answer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string | TextStream | null
}
