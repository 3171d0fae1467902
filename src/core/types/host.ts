/** Receives the messages of a service. */
export interface Logger {
  info(message: string, details?: { readonly [name: string]: unknown }): void
  warn(message: string, details?: { readonly [name: string]: unknown }): void
  error(message: string, details?: { readonly [name: string]: unknown }): void
}

/**
 * Hashes secrets. `verify` returns false for a hash that it cannot read. `caller` is an opaque name of the request's
 * caller: a hasher with a queue serves callers in turn, so that one with many secrets does not delay the others.
 * Absent: one common caller for all such secrets.
 */
export interface Hasher {
  hash(secret: string, signal?: AbortSignal, caller?: string): Promise<string>
  verify(secret: string, hash: string, signal?: AbortSignal, caller?: string): Promise<boolean>
}

/** The part that every message to the owner of an account has. */
interface Addressed {
  /** The identifier to which the message is sent, in stored form. */
  readonly to: string
  /** The account, as its owner may read it. */
  readonly user: { readonly _id: string; readonly [field: string]: unknown }
}

/**
 * A message to the owner of an account (CONTRACT.md §4, "Delivery"). `reset`: a token for a new secret;
 * `verification`: a token that proves that the identifier is the owner's; `new-identifier`: a token that sets a new
 * identifier. Without a token: `already-registered`, another registration used this identifier;
 * `identifier-changing`, a request with the account's secret asked for another identifier.
 */
export type Delivery = Addressed &
  (
    | {
        readonly kind: 'reset' | 'verification' | 'new-identifier'
        /** Single use: 43 characters that need no encoding in a URL. */
        readonly token: string
        readonly expiresAt: string
      }
    | { readonly kind: 'already-registered' | 'identifier-changing' }
  )

/** Sends a message. An error that it throws is logged and not returned to the client. */
export type Deliver = (delivery: Delivery) => void | Promise<void>

/** A call of the storage that a request made. */
export interface StorageCall {
  /** The name that the adapter gives itself (`StorageAdapter.system`), else `other`. */
  readonly system: string
  readonly operation: 'list' | 'count' | 'stream' | 'write'
  /** For a write in several collections, the first. Internal collections begin with `_`. */
  readonly collection: string
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number
  /** Until the call returned, or the request ended. */
  readonly milliseconds: number
  /** The code of the error, if the call failed. */
  readonly error?: string
}

/** One request and its outcome, without values from documents, queries, paths or bodies. */
export interface RequestEvent {
  /** `list`, `create`, `login`, …: the name of the requested operation; `null` where no operation exists. */
  readonly operation: string | null
  readonly collection: string | null
  readonly method: string
  /** The path with placeholders, `/articles/{id}`, below the base path; `null` where no route matches. */
  readonly route: string | null
  readonly status: number
  /** The code of the error response. */
  readonly code?: string
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number
  /** Until the last byte was handed over, or the client had disconnected. */
  readonly milliseconds: number
  /** Whether the client disconnected before the end of the response, or the response broke. */
  readonly aborted: boolean
  /** The first 100 calls. */
  readonly storage: readonly StorageCall[]
  /** `user`: an account of the service; `host`: a caller that the host has identified. */
  readonly caller: 'anonymous' | 'user' | 'host'
  /** The same id as in the error response and in the log lines of this request. */
  readonly requestId: string
}

/** The admin UI that `createPage` of `collection-service/page` returns: one document, and values for its headers. */
export interface Page {
  readonly html: string
  /** The content security policy of the document, with the hashes of its script and its style. */
  readonly policy: string
  /** Its entity tag. */
  readonly etag: string
}

/** Called for each request when it is over. An error that it throws is logged and has no other effect. */
export type Observe = (event: RequestEvent) => void
