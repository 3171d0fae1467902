import type { CollectionName, CollectionsOf, CollectionTypes } from '../infer/collections.js'
import type { JsonObject } from '../types.js'
import type { FilterOf, PathOf, ReferenceOf, Shown, SortOf } from './query-types.js'

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

/** Which documents. */
export interface CountOptions<T extends CollectionTypes> extends CallOptions {
  readonly q?: FilterOf<T>
}

/** Which part of a document, and what in the place of its references. */
export interface GetOptions<P extends string, E extends string> extends CallOptions {
  /** Only these fields, and `_id`. */
  readonly project?: readonly P[]
  /** The documents that these fields refer to, in their place. */
  readonly expand?: readonly E[]
}

/** Which documents, in which order, and what of them. */
export interface ListOptions<T extends CollectionTypes, P extends string, E extends string>
  extends CountOptions<T>,
    GetOptions<P, E> {
  readonly sort?: SortOf<T>
  readonly skip?: number
  /** Default: the service's, which may be none. */
  readonly limit?: number
}

/** A new document under an `_id` that its maker chooses: a call whose outcome is unknown can then be repeated. */
export interface CreateOptions extends CallOptions {
  /** A UUID. Where it exists already, `precondition_failed`. */
  readonly id?: string
}

/**
 * A document by its `_id`, or as it was read. What `get`, `create`, `update` and `replace` have returned is changed or
 * deleted only if it is still the same (`If-Match`); what comes from elsewhere, whatever it has become.
 */
export type Addressed = string | { readonly _id: string }

/** One collection of a service. Every call rejects with `ClientError`, or with what `fetch` throws. */
export interface CollectionClient<M, T extends CollectionTypes> {
  /** The documents that a filter matches: all of them where there is no limit. */
  list<P extends PathOf<T> = never, E extends ReferenceOf<T> = never>(
    options?: ListOptions<T, P, E>,
  ): Promise<Shown<M, T, P, E>[]>
  /** The same, page after page of `limit` documents each. */
  pages<P extends PathOf<T> = never, E extends ReferenceOf<T> = never>(
    options?: ListOptions<T, P, E>,
  ): AsyncGenerator<Shown<M, T, P, E>[], void, undefined>
  /** How many documents a filter matches. */
  count(options?: CountOptions<T>): Promise<number>
  /** One document. */
  get<P extends PathOf<T> = never, E extends ReferenceOf<T> = never>(
    document: Addressed,
    options?: GetOptions<P, E>,
  ): Promise<Shown<M, T, P, E>>
  /** Creates a document and returns it as its creator may read it. */
  create(body: T['create'], options?: CreateOptions): Promise<T['document']>
  /** Creates all of these documents or none. */
  createMany(bodies: readonly T['create'][], options?: CallOptions): Promise<T['document'][]>
  /** Changes what a merge patch names; `null` removes. */
  update(document: Addressed, patch: T['update'], options?: CallOptions): Promise<T['document']>
  /** Replaces what the caller may read and write; what the rule does not accept keeps its value, so nothing is required. */
  replace(document: Addressed, body: Partial<T['create']>, options?: CallOptions): Promise<T['document']>
  /** Deletes a document. */
  delete(document: Addressed, options?: CallOptions): Promise<void>
}

type Part<M, P extends keyof CollectionTypes> = M extends { readonly users: { readonly [K in P]: infer T } }
  ? T
  : JsonObject

/** A session that has begun; the client has taken its token. */
export interface SignedIn<User> {
  readonly user: User
  readonly token: string
  readonly expiresAt: string
}

/** The accounts of a service. */
export interface AuthClient<M> {
  /** Creates an account and signs in. */
  register(body: Part<M, 'create'>, options?: CallOptions): Promise<SignedIn<Part<M, 'document'>>>
  /** Signs in by identifier and secret. */
  login(body: Partial<Part<M, 'create'>>, options?: CallOptions): Promise<SignedIn<Part<M, 'document'>>>
  /** Ends this session and forgets its token. */
  logout(options?: CallOptions): Promise<void>
  /** Ends every session of this user, and forgets the token. */
  logoutAll(options?: CallOptions): Promise<void>
  /** The signed-in user's own document. */
  me(options?: CallOptions): Promise<Part<M, 'document'>>
}

type TypesIn<M, N> = N extends keyof M ? Extract<M[N], CollectionTypes> : never

/** A client of one service. */
export interface Client<C = unknown> {
  /** Sent as `Authorization: Bearer` where there is one: set by signing in, removed by signing out. */
  token: string | undefined
  readonly auth: AuthClient<CollectionsOf<C>>
  /** Asks for nothing yet. */
  collection<N extends CollectionName<C>>(
    name: N,
  ): CollectionClient<CollectionsOf<C>, TypesIn<CollectionsOf<C>, N>>
}

/** A service as a function; one made by `createCollectionService` knows its configuration. */
export interface HandlerTarget<C> {
  (request: Request): Promise<Response>
  readonly '~config'?: C
}

/** How a client reaches its service, and as whom. */
export interface ClientOptions {
  /** Default: the global one. Not asked where the target is a function. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Of a session that goes on. */
  readonly token?: string | undefined
  /** Sent with every request. */
  readonly headers?: NonNullable<RequestInit['headers']>
}
