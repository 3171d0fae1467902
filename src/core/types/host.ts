/** Receives the messages of a service. */
export interface Logger {
  info(message: string, details?: { readonly [name: string]: unknown }): void
  warn(message: string, details?: { readonly [name: string]: unknown }): void
  error(message: string, details?: { readonly [name: string]: unknown }): void
}

/**
 * Hashes secrets. `verify` returns false for a hash that it cannot read. `caller` is an opaque name of the request's
 * caller: a hasher with a queue serves callers in turn, so that a caller with many secrets does not delay others.
 * Secrets without `caller` count as secrets of one caller.
 */
export interface Hasher {
  hash(secret: string, signal?: AbortSignal, caller?: string): Promise<string>
  verify(secret: string, hash: string, signal?: AbortSignal, caller?: string): Promise<boolean>
  /** Whether a secret of a caller of whom none waits would be rejected now, because too many wait. Default: never. */
  isOverloaded?(): boolean
}

/** One condition for requests to succeed (CONTRACT.md §7, "Health"). */
export interface HealthCheck {
  /**
   * - `service`: the service has started, and is not closing.
   * - `storage`: the storage answers and, if the last write failed, accepts a write.
   * - `hashing`: the queue of the hasher has room for another caller.
   */
  readonly name: 'service' | 'storage' | 'hashing'
  readonly status: 'ok' | 'failing'
  /** The reason, if the check fails. It contains no addresses, file names or values of documents. */
  readonly detail?: string
}

/** Whether requests to a service can succeed: `ok` if all checks are. */
export interface Health {
  readonly status: 'ok' | 'failing'
  readonly checks: readonly HealthCheck[]
}

/** The properties that every message to the owner of an account has. */
interface Addressed {
  /** The identifier to which the message is sent, in stored form. */
  readonly to: string
  /** The account, as its owner may read it. */
  readonly user: { readonly _id: string; readonly [field: string]: unknown }
}

/**
 * A message to the owner of an account (CONTRACT.md §4, "Delivery"). With a token:
 *
 * - `reset`: the token sets a new secret.
 * - `verification`: the token proves that the identifier belongs to the owner.
 * - `new-identifier`: the token sets a new identifier.
 *
 * Without a token:
 *
 * - `already-registered`: another registration used this identifier.
 * - `identifier-changing`: a request with the account's secret asked for another identifier.
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

/** A call to the storage that a request made. */
export interface StorageCall {
  /** The name that the adapter gives itself (`StorageAdapter.system`), or `other`. */
  readonly system: string
  readonly operation: 'list' | 'count' | 'aggregate' | 'stream' | 'write'
  /** The collection, or the first one of a write to several. The names of internal collections begin with `_`. */
  readonly collection: string
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number
  /** The duration until the call returned or the request ended. */
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
  /** The duration until the last byte was handed over or the client disconnected. */
  readonly milliseconds: number
  /** Whether the client disconnected before the end of the response, or an error cut the response short. */
  readonly aborted: boolean
  /** The first 100 calls to the storage. */
  readonly storage: readonly StorageCall[]
  /**
   * `user`: an account of the service; `host`: a caller that the host has identified; `system`: a handler with full
   * rights.
   */
  readonly caller: 'anonymous' | 'user' | 'host' | 'system'
  /** The same id as in the error response and in the log lines of this request. */
  readonly requestId: string
}

/** The admin UI that `createPage` of `collection-service/page` returns: one document, and values for its headers. */
export interface Page {
  readonly html: string
  /** The content security policy of the document, with the hashes of its script and its style. */
  readonly policy: string
  /** The entity tag of the document. */
  readonly etag: string
}

/** Called for each request when it is over. An error that it throws is logged and has no other effect. */
export type Observe = (event: RequestEvent) => void
