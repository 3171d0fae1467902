import type { JsonObject } from '../core/types.js'
import type { CollectionTypes } from '../infer/collections.js'

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

/** The identifier of an account, as a body. */
export type Identified<M> =
  Account<M> extends { readonly identifier: infer N extends string }
    ? { readonly [name in N]: string }
    : { readonly [name: string]: string }

/** The identifier and the secret of an account, as a body. */
export type Credentials<M> =
  Account<M> extends { readonly identifier: infer N extends string; readonly secret: infer S extends string }
    ? { readonly [name in N | S]: string }
    : Partial<UsersType<M, 'create'>>

/**
 * The result of a registration; nothing with `requireVerified`, because the account is active only after its owner has
 * verified it.
 */
export type Registered<M> =
  Account<M> extends { readonly requireVerified: infer B extends boolean }
    ? B extends true
      ? undefined
      : SignedIn<UsersType<M, 'document'>>
    : SignedIn<UsersType<M, 'document'>>

/** A new session; the client has stored its token. */
export interface SignedIn<User> {
  readonly user: User
  readonly token: string
  readonly expiresAt: string
}

/** A session of the signed-in user. Its `_id` is not a token. */
export interface SessionView {
  readonly _id: string
  readonly createdAt: string
  readonly expiresAt: string
  /** Whether it is the session of this client. */
  readonly isCurrent: boolean
}

/** The accounts of a service. */
export interface AuthClient<M> {
  /** Creates an account and signs in; with `requireVerified` it does not sign in, and returns nothing. */
  register(body: UsersType<M, 'create'>, options?: CallOptions): Promise<Registered<M>>
  /** Signs in by identifier and secret. */
  login(body: Credentials<M>, options?: CallOptions): Promise<SignedIn<UsersType<M, 'document'>>>
  /** Ends this session and forgets its token. */
  logout(options?: CallOptions): Promise<void>
  /** Ends every session of this user, and forgets the token. */
  logoutAll(options?: CallOptions): Promise<void>
  /**
   * Changes the own secret. It ends every session of this user and begins another, whose token the client
   * stores.
   */
  changeSecret(
    body: { readonly current: string; readonly new: string },
    options?: CallOptions,
  ): Promise<SignedIn<UsersType<M, 'document'>>>
  /** Requests the delivery of a token for a new secret. The answer does not reveal whether the account exists. */
  requestReset(body: Identified<M>, options?: CallOptions): Promise<void>
  /** Sets a new secret with a delivered token. It ends every session, and signs in. */
  reset(
    body: { readonly token: string; readonly new: string },
    options?: CallOptions,
  ): Promise<SignedIn<UsersType<M, 'document'>>>
  /** Requests the delivery of a token that verifies the identifier. */
  requestVerification(body: Identified<M>, options?: CallOptions): Promise<void>
  /** Verifies an identifier, or sets the new one, with a delivered token and the secret. */
  verify(body: { readonly token: string; readonly current: string }, options?: CallOptions): Promise<void>
  /** Requests the delivery of a token to a new identifier. Until it is verified the present one stays valid. */
  changeIdentifier(
    body: { readonly current: string; readonly new: string },
    options?: CallOptions,
  ): Promise<void>
  /** The sessions of the signed-in user, 1,000 at most, in the order in which they began. */
  sessions(options?: CallOptions): Promise<readonly SessionView[]>
  /** Ends the session with an `_id` of `sessions`. */
  endSession(id: string, options?: CallOptions): Promise<void>
  /** The signed-in user's own document. */
  me(options?: CallOptions): Promise<UsersType<M, 'document'>>
}
