import type { CollectionTypes } from '../infer/collections.js'
import type { JsonObject } from '../types.js'

/** The options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

/** The type of a part of `users`. */
type UsersType<M, P extends keyof CollectionTypes> = M extends {
  readonly users: { readonly [K in P]: infer T }
}
  ? T
  : JsonObject

type Account<M> = M extends { readonly users: { readonly account: infer T } } ? T : unknown

/** What names an account. */
export type Identified<M> =
  Account<M> extends { readonly identifier: infer N extends string }
    ? { readonly [name in N]: string }
    : { readonly [name: string]: string }

/** What signs in. */
export type Credentials<M> =
  Account<M> extends { readonly identifier: infer N extends string; readonly secret: infer S extends string }
    ? { readonly [name in N | S]: string }
    : Partial<UsersType<M, 'create'>>

/**
 * What a registration gives: with `requireVerified` nothing, for the account counts only once its owner has
 * verified it.
 */
export type Registered<M> =
  Account<M> extends { readonly requireVerified: infer B extends boolean }
    ? B extends true
      ? undefined
      : SignedIn<UsersType<M, 'document'>>
    : SignedIn<UsersType<M, 'document'>>

/** A new session; the client has taken its token. */
export interface SignedIn<User> {
  readonly user: User
  readonly token: string
  readonly expiresAt: string
}

/** A session of the signed-in user. Its `_id` is of no use as a token. */
export interface SessionView {
  readonly _id: string
  readonly createdAt: string
  readonly expiresAt: string
  /** Whether this client is signed in by it. */
  readonly isCurrent: boolean
}

/** The accounts of a service. */
export interface AuthClient<M> {
  /** Creates an account and signs in; with `requireVerified` it signs in nobody, and gives nothing. */
  register(body: UsersType<M, 'create'>, options?: CallOptions): Promise<Registered<M>>
  /** Signs in by identifier and secret. */
  login(body: Credentials<M>, options?: CallOptions): Promise<SignedIn<UsersType<M, 'document'>>>
  /** Ends this session and forgets its token. */
  logout(options?: CallOptions): Promise<void>
  /** Ends every session of this user, and forgets the token. */
  logoutAll(options?: CallOptions): Promise<void>
  /**
   * Changes the own secret. It ends every session of this user and begins another, whose token the client
   * takes.
   */
  changeSecret(
    body: { readonly current: string; readonly new: string },
    options?: CallOptions,
  ): Promise<SignedIn<UsersType<M, 'document'>>>
  /** Asks that a token for a new secret be delivered. Nothing tells whether there is such an account. */
  requestReset(body: Identified<M>, options?: CallOptions): Promise<void>
  /** Gives an account a new secret, with a delivered token. It ends every session, and signs in. */
  reset(
    body: { readonly token: string; readonly new: string },
    options?: CallOptions,
  ): Promise<SignedIn<UsersType<M, 'document'>>>
  /** Asks that a token which verifies the identifier be delivered. */
  requestVerification(body: Identified<M>, options?: CallOptions): Promise<void>
  /** Verifies an identifier, or puts a new one in, with a delivered token and the secret. */
  verify(body: { readonly token: string; readonly current: string }, options?: CallOptions): Promise<void>
  /** Asks that a token be delivered to another identifier. Until it is verified the present one holds. */
  changeIdentifier(
    body: { readonly current: string; readonly new: string },
    options?: CallOptions,
  ): Promise<void>
  /** The sessions of the signed-in user, 1,000 at most, in the order in which they began. */
  sessions(options?: CallOptions): Promise<readonly SessionView[]>
  /** Ends the session with the `_id` of a list. */
  endSession(id: string, options?: CallOptions): Promise<void>
  /** The signed-in user's own document. */
  me(options?: CallOptions): Promise<UsersType<M, 'document'>>
}
