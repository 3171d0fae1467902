import type { CollectionName, CollectionsOf, CollectionTypes, Flat } from '../infer/collections.js'
import type { AuthClient, CallOptions } from './account-types.js'
import type { ChangeEvent, ChangesOptions, LiveOptions } from './change-types.js'
import type { FilterOf, PathOf, ReferenceOf, ShownDocument, SortOf } from './query-types.js'

/** The options of a count. */
export interface CountOptions<T extends CollectionTypes> extends CallOptions {
  readonly q?: FilterOf<T>
}

/** The fields of a document to get, and the references to expand. */
export interface GetOptions<P extends string, E extends string> extends CallOptions {
  /** Only these fields, and `_id`. */
  readonly project?: readonly P[]
  /** The fields whose references are replaced by their documents. */
  readonly expand?: readonly E[]
}

/** The filter of a list, its order, its page, and the fields of its documents. */
export interface ListOptions<T extends CollectionTypes, P extends string, E extends string>
  extends CountOptions<T>,
    GetOptions<P, E> {
  readonly sort?: SortOf<T>
  readonly skip?: number
  /** Default: the limit of the service, if it has one. */
  readonly limit?: number
}

/** The parameters of a list, of a count or of a document, as `toQuery` writes them. */
export interface QueryParameters<T extends CollectionTypes>
  extends Omit<ListOptions<T, PathOf<T>, string>, keyof CallOptions> {
  /** The cursor of the next page, from the answer before. */
  readonly after?: string
  /** Requests `X-Total-Count`. */
  readonly total?: true
}

/** Conditions and sort keys, under the names that the OpenAPI document gives them. */
export interface NamedParameters {
  readonly [name: `q[${string}]` | `sort[${string}]`]: unknown
}

/** The condition of a read in a batch. */
export interface ConditionOptions {
  /**
   * Rejects the batch with `precondition_failed` if the document has changed since it was read. With an `_id`, or a
   * document from elsewhere, it throws a `TypeError`.
   */
  readonly ifUnchanged?: boolean
}

/**
 * A new document under an `_id` that the client chooses: the call can be repeated if its outcome is unknown.
 */
export interface CreateOptions extends CallOptions {
  /** A UUID. If it exists already, the call rejects with `precondition_failed`. */
  readonly id?: string
}

/**
 * A document by its `_id`, or as it was read. A document from `get`, `create`, `update` or `replace`, in a batch too,
 * is changed or deleted only if it has not changed since (`If-Match`); a document from elsewhere, such as `list`, in
 * any state.
 */
export type Addressed = string | { readonly _id: string }

/** One collection of a service. Every call rejects with `ClientError`, or with the error of `fetch`. */
export interface CollectionClient<M, T extends CollectionTypes> {
  /** The documents that a filter matches; all of them if there is no limit. */
  list<P extends PathOf<T> = never, E extends ReferenceOf<M, T> = never>(
    options?: ListOptions<T, P, E>,
  ): Promise<ShownDocument<M, T, P, E>[]>
  /** The same list, in pages of `limit` documents. */
  pages<P extends PathOf<T> = never, E extends ReferenceOf<M, T> = never>(
    options?: ListOptions<T, P, E>,
  ): AsyncGenerator<ShownDocument<M, T, P, E>[], void, undefined>
  /**
   * The changes in the list of a filter, from now on; after each `reset`, read the list again. Reconnects by itself,
   * with growing pauses, and resumes where it stopped. Ends when `signal` aborts; throws `ClientError` if the service
   * rejects the request.
   *
   * @example
   * ```ts
   * for await (const change of client.collection('notes').changes({ signal })) console.log(change.event)
   * ```
   */
  changes<P extends PathOf<T> = never>(
    options?: ChangesOptions<T, P>,
  ): AsyncGenerator<ChangeEvent<ShownDocument<M, T, P, never>>, void, undefined>
  /**
   * The whole list, now and right after each of its changes. Reconnects and ends as `changes` does.
   *
   * @example
   * ```ts
   * for await (const notes of client.collection('notes').live({ sort: { createdAt: 'desc' }, limit: 10 })) show(notes)
   * ```
   */
  live(
    options?: LiveOptions<T>,
  ): AsyncGenerator<readonly ShownDocument<M, T, never, never>[], void, undefined>
  /** The number of documents that a filter matches. */
  count(options?: CountOptions<T>): Promise<number>
  /** One document. */
  get<P extends PathOf<T> = never, E extends ReferenceOf<M, T> = never>(
    document: Addressed,
    options?: GetOptions<P, E>,
  ): Promise<ShownDocument<M, T, P, E>>
  /** Creates a document and returns it as its creator may read it. */
  create(body: T['create'], options?: CreateOptions): Promise<T['document']>
  /** Creates all of these documents or none. */
  createMany(bodies: readonly T['create'][], options?: CallOptions): Promise<T['document'][]>
  /** Changes the fields in a merge patch; `null` removes one. */
  update(document: Addressed, patch: T['update'], options?: CallOptions): Promise<T['document']>
  /**
   * Replaces the fields that the caller may read and write. Fields that the rule does not accept keep their values, so
   * none is required.
   */
  replace(document: Addressed, body: Partial<T['create']>, options?: CallOptions): Promise<T['document']>
  /** Deletes a document. */
  delete(document: Addressed, options?: CallOptions): Promise<void>
}

declare const RESULT: unique symbol

/**
 * An operation of a batch, with the type of its result. By itself it has no effect, and it counts only in the list that
 * the function of its own batch returns: an operation that is left out is not sent, one of another batch throws a
 * `TypeError`.
 */
export interface Operation<R> {
  readonly [RESULT]: R
}

type Call = (...parameters: never[]) => Promise<unknown>

/** A call as an operation: with its parameters except the options, and with its result. */
type AsOperation<F extends Call> =
  Required<Parameters<F>> extends [...infer Own, CallOptions]
    ? (...parameters: Own) => Operation<Awaited<ReturnType<F>>>
    : never

type ChangesOf<T extends CollectionTypes> = Pick<
  CollectionClient<unknown, T>,
  'update' | 'replace' | 'delete'
>

/** One collection in a batch: each call returns an operation, with the same meaning. */
export type BatchCollection<T extends CollectionTypes> = {
  readonly [K in keyof ChangesOf<T>]: AsOperation<ChangesOf<T>[K]>
} & {
  /** Reads a document in the state that it has when the batch takes effect. */
  get(document: Addressed, options?: ConditionOptions): Operation<T['document']>
  /** Creates a document and returns it as its creator may read it. */
  create(body: T['create'], options?: Omit<CreateOptions, keyof CallOptions>): Operation<T['document']>
}

/** The collections of a service by name, as the function of a batch receives them. */
export type BatchCollections<C> = Flat<{
  readonly [N in CollectionName<C>]: BatchCollection<TypesIn<CollectionsOf<C>, N>>
}>

/** The results of a list of operations, each at the index of its operation. */
export type BatchResults<L extends readonly Operation<unknown>[]> = {
  -readonly [I in keyof L]: L[I] extends Operation<infer R> ? R : never
} & {
  /** The properties that were dropped from the body of each operation, at its index; not enumerable. */
  readonly ignored: readonly (readonly string[])[]
}

/** The write that dropped properties of its body. */
export interface IgnoredContext {
  readonly method: string
  /** The path below the base path; in a batch, the path of the operation. */
  readonly path: string
  /** In a batch, the index of the operation. */
  readonly operation?: number | undefined
}

/**
 * Called with the properties of a body that the service has dropped because the caller may not write them, once for
 * each write, and for each operation of a batch. The write is done by then; an error of this function is thrown by the
 * call.
 */
export type OnIgnored = (names: readonly string[], context: IgnoredContext) => void

type TypesIn<M, N> = N extends keyof M ? Extract<M[N], CollectionTypes> : never

/** A client of one service. */
export interface Client<C = unknown> {
  /** Sent as `Authorization: Bearer`. Signing in sets it, signing out removes it. */
  token: string | undefined
  /** Called with the properties of bodies that were dropped. */
  onIgnored: OnIgnored | undefined
  readonly auth: AuthClient<CollectionsOf<C>>
  /** The client of a collection. Sends nothing by itself. */
  collection<N extends CollectionName<C>>(
    name: N,
  ): CollectionClient<CollectionsOf<C>, TypesIn<CollectionsOf<C>, N>>
  /**
   * Runs all operations of a list in one step, or none, and returns their results. The first operation that is rejected
   * rejects the whole: its index is the `operation` of the `ClientError`. An operation that is created but not returned
   * is not sent.
   *
   * @example
   * ```ts
   * const [from, to] = await client.batch((b) => [
   *   b.shelves.update(here, { count: here.count - 1 }),
   *   b.shelves.update(there, { count: there.count + 1 }),
   * ])
   * ```
   */
  batch<const L extends readonly Operation<unknown>[]>(
    build: (b: BatchCollections<C>) => L,
    options?: CallOptions,
  ): Promise<BatchResults<L>>
}

/** A service as a function; one from `createCollectionService` carries the type of its configuration. */
export interface HandlerTarget<C> {
  (request: Request): Promise<Response>
  readonly '~config'?: C
  /** The prefix of its paths. */
  readonly basePath?: string
}

/** The transport of a client, its token and its headers. */
export interface ClientOptions {
  /** Default: the global `fetch`. Not used if the target is a function. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** The token of an existing session. */
  readonly token?: string | undefined
  /** Sent with every request. `prefer: 'handling=strict'` makes dropped properties a `ClientError`. */
  readonly headers?: NonNullable<RequestInit['headers']>
  /** Called with the properties of bodies that the service dropped. Default: none. */
  readonly onIgnored?: OnIgnored | undefined
}
