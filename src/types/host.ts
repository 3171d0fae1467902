/** Receives the messages of a service. */
export interface Logger {
  info(message: string, details?: { readonly [name: string]: unknown }): void
  warn(message: string, details?: { readonly [name: string]: unknown }): void
  error(message: string, details?: { readonly [name: string]: unknown }): void
}

/** Hashes secrets. `verify` is false for a hash that it cannot read. */
export interface Hasher {
  hash(secret: string, signal?: AbortSignal): Promise<string>
  verify(secret: string, hash: string, signal?: AbortSignal): Promise<boolean>
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
