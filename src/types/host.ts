/** Receives the messages of a service. */
export interface Logger {
  info(message: string, details?: { readonly [name: string]: unknown }): void
  warn(message: string, details?: { readonly [name: string]: unknown }): void
  error(message: string, details?: { readonly [name: string]: unknown }): void
}

/**
 * Hashes secrets. `verify` is false for a hash that it cannot read. `caller` is an opaque text that says whose request it is:
 * a hasher in which secrets wait serves callers in turn, so that one with many secrets holds up no other. Absent: one caller
 * that is common to all such secrets.
 */
export interface Hasher {
  hash(secret: string, signal?: AbortSignal, caller?: string): Promise<string>
  verify(secret: string, hash: string, signal?: AbortSignal, caller?: string): Promise<boolean>
}

/** What every message to the owner of an account says. */
interface Addressed {
  /** The identifier to which it goes, in stored form. */
  readonly to: string
  /** The account, as its owner may read it. */
  readonly user: { readonly _id: string; readonly [field: string]: unknown }
}

/**
 * A message to the owner of an account (CONTRACT.md §4, "Delivery"). `reset`: a token for a new secret;
 * `verification`: one that shows that the identifier is the owner's; `new-identifier`: one that puts a new
 * identifier in. Without a token: `already-registered`, somebody tried to take this identifier;
 * `identifier-changing`, somebody who knows the secret asked for another one.
 */
export type Delivery = Addressed &
  (
    | {
        readonly kind: 'reset' | 'verification' | 'new-identifier'
        /** For one use: 43 characters that a URL takes as they are. */
        readonly token: string
        readonly expiresAt: string
      }
    | { readonly kind: 'already-registered' | 'identifier-changing' }
  )

/** Sends a message. What it throws is logged, and nobody else learns of it. */
export type Deliver = (delivery: Delivery) => void | Promise<void>

/** A call of the storage that a request made. */
export interface StorageCall {
  /** What the adapter calls itself (`StorageAdapter.system`), else `other`. */
  readonly system: string
  readonly operation: 'list' | 'count' | 'stream' | 'write'
  /** Of a write in several collections, the first. Those of the service begin with `_`. */
  readonly collection: string
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number
  /** Until it was answered, or the request was over. */
  readonly milliseconds: number
  /** The code of the error with which it failed. */
  readonly error?: string
}

/** What one request was and did, without a value of a document, a query, a path or a body. */
export interface RequestEvent {
  /** `list`, `create`, `login`, …: the name of what was asked for; `null` where there is no such thing. */
  readonly operation: string | null
  readonly collection: string | null
  readonly method: string
  /** The path with placeholders, `/articles/{id}`, below the base path; `null` where no route has it. */
  readonly route: string | null
  readonly status: number
  /** The code of the problem that was answered. */
  readonly code?: string
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number
  /** Until the last byte was given away, or the client had disconnected. */
  readonly milliseconds: number
  /** Whether the client did not wait for the whole answer, or it broke. */
  readonly aborted: boolean
  /** The first 100. */
  readonly storage: readonly StorageCall[]
  /** Nobody, an account of the service, or a caller of whom the host spoke. */
  readonly caller: 'anonymous' | 'user' | 'host'
  /** The one that a problem has, and what the log says of this request. */
  readonly requestId: string
}

/** The page that `createPage` of `collection-service/page` gives: one document, and what its answer says of it. */
export interface Page {
  readonly html: string
  /** The content security policy under which it runs, with the hashes of its script and its style. */
  readonly policy: string
  /** Its entity tag. */
  readonly etag: string
}

/** Is told of each request when it is over. What it throws is logged, and changes nothing. */
export type Observe = (event: RequestEvent) => void
