import type { JsonObject } from '../core/types.js'
import type { CollectionTypes } from '../infer/collections.js'

/** The options that every call has. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

/** The type of `users` with the name `P`, such as `document`; `JsonObject` if the types are unknown. */
type UsersType<M, P extends keyof CollectionTypes> = M extends {
  readonly users: { readonly [K in P]: infer T }
}
  ? T
  : JsonObject

type Account<M> = M extends { readonly users: { readonly account: infer T } } ? T : unknown

/** A request body with the identifier of an account, such as `{ email }`. */
export type Identified<M> =
  Account<M> extends { readonly identifier: infer N extends string }
    ? { readonly [name in N]: string }
    : { readonly [name: string]: string }

/** A request body with the identifier and the secret of an account, such as `{ email, password }`. */
export type Credentials<M> =
  Account<M> extends { readonly identifier: infer N extends string; readonly secret: infer S extends string }
    ? { readonly [name in N | S]: string }
    : Partial<UsersType<M, 'create'>>

/**
 * The result of a registration: a new session; `undefined` with `requireVerified`, because the account is active only
 * after its owner has verified it.
 */
export type Registered<M> =
  Account<M> extends { readonly requireVerified: infer B extends boolean }
    ? B extends true
      ? undefined
      : SignedIn<UsersType<M, 'document'>>
    : SignedIn<UsersType<M, 'document'>>

/** A new session. The client has already stored its token. */
export interface SignedIn<User> {
  readonly user: User
  /** Empty if the browser keeps it in a cookie. */
  readonly token: string
  readonly expiresAt: string
}

/** A session of the signed-in user. Its `_id` is not a token. */
export interface SessionView {
  readonly _id: string
  readonly createdAt: string
  readonly expiresAt: string
  /** Whether this client uses the session. */
  readonly isCurrent: boolean
}

/** The calls of a client for accounts and sessions. */
export interface AuthClient<M> {
  /** Creates an account and signs in. With `requireVerified` it does not sign in, and resolves with `undefined`. */
  register(body: UsersType<M, 'create'>, options?: CallOptions): Promise<Registered<M>>
  /** Signs in by identifier and secret. */
  login(body: Credentials<M>, options?: CallOptions): Promise<SignedIn<UsersType<M, 'document'>>>
  /** Ends this session and removes its token from the client. */
  logout(options?: CallOptions): Promise<void>
  /** Ends every session of this user and removes the token from the client. */
  logoutAll(options?: CallOptions): Promise<void>
  /**
   * Changes the secret of the signed-in user, ends every session of the user and begins a new one, whose token the
   * client stores.
   */
  changeSecret(
    body: { readonly current: string; readonly new: string },
    options?: CallOptions,
  ): Promise<SignedIn<UsersType<M, 'document'>>>
  /** Requests the delivery of a token for a new secret. The answer does not reveal whether the account exists. */
  requestReset(body: Identified<M>, options?: CallOptions): Promise<void>
  /** Sets a new secret with a delivered token, ends every session of the user, and signs in. */
  reset(
    body: { readonly token: string; readonly new: string },
    options?: CallOptions,
  ): Promise<SignedIn<UsersType<M, 'document'>>>
  /** Requests the delivery of a token with which the user verifies the identifier. */
  requestVerification(body: Identified<M>, options?: CallOptions): Promise<void>
  /**
   * Verifies the identifier with a delivered token and the secret. After `changeIdentifier`, the new identifier then
   * replaces the old one.
   */
  verify(body: { readonly token: string; readonly current: string }, options?: CallOptions): Promise<void>
  /**
   * Requests the delivery of a token to a new identifier. The old identifier stays valid until the new one is verified.
   */
  changeIdentifier(
    body: { readonly current: string; readonly new: string },
    options?: CallOptions,
  ): Promise<void>
  /** Returns the sessions of the signed-in user in the order in which they began, at most 1,000. */
  sessions(options?: CallOptions): Promise<readonly SessionView[]>
  /** Ends one session of the signed-in user; `id` is its `_id` in the result of `sessions`. */
  endSession(id: string, options?: CallOptions): Promise<void>
  /** Returns the signed-in user's own document. */
  me(options?: CallOptions): Promise<UsersType<M, 'document'>>
}
