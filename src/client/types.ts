import type { CollectionName, CollectionsOf, CollectionTypes, Flat } from '../infer/collections.js'
import type { AuthClient, CallOptions } from './account-types.js'
import type {
  AggregateOptions,
  Group,
  GroupBy,
  GroupPage,
  NumberPath,
  OrderedPath,
} from './aggregate-types.js'
import type { ChangeEvent, ChangesOptions, LiveOptions } from './change-types.js'
import type { FilterOf, PathOf, ReferenceOf, ShownDocument, SortOf } from './query-types.js'

/** The options of a count. */
export interface CountOptions<T extends CollectionTypes> extends CallOptions {
  readonly q?: FilterOf<T>
}

/** The options of `get`: the fields to return and the references to expand. */
export interface GetOptions<P extends string, E extends string> extends CallOptions {
  /** The fields to return, beside `_id`. Default: all. */
  readonly project?: readonly P[]
  /** The references to replace with their documents. */
  readonly expand?: readonly E[]
}

/** The options of a list: its filter, order and page, and the fields of its documents. */
export interface ListOptions<T extends CollectionTypes, P extends string, E extends string>
  extends CountOptions<T>,
    GetOptions<P, E> {
  readonly sort?: SortOf<T>
  readonly skip?: number | undefined
  /** The maximum number of documents to return. Default: the limit of the service, if it has one. */
  readonly limit?: number
}

/** The options of `page`. */
export interface PageOptions<T extends CollectionTypes, P extends string, E extends string, N extends boolean>
  extends ListOptions<T, P, E> {
  /** The cursor of the page, from `next` of the previous page. */
  readonly after?: string | undefined
  /** The maximum number of documents in the page, at most 1,000, which is the default if the service allows it. */
  readonly limit?: number
  /** Whether to count all documents that match the filter. */
  readonly total?: N
}

/** The position of the next page: the options that replace those of the page before. */
export interface NextPage {
  readonly after: string | undefined
  readonly skip: number | undefined
}

/** One page of a list. */
export interface Page<D, N extends boolean = false> {
  readonly items: D[]
  /** The number of all documents that match the filter, if `total: true` requests it. */
  readonly total: N extends true ? number : undefined
  /** The position of the next page; `undefined` after the last page. */
  readonly next: NextPage | undefined
}

/** The query parameters of a list, a count or a single document, as `toQuery` accepts them. */
export interface QueryParameters<T extends CollectionTypes>
  extends Omit<ListOptions<T, PathOf<T>, string>, keyof CallOptions> {
  /** The cursor of a page: the value of `Next-Cursor` in the answer with the previous page. */
  readonly after?: string
  /** Requests the header `X-Total-Count` with the number of all matching documents. */
  readonly total?: true
}

/** Conditions and sort keys, under the parameter names of the OpenAPI document. */
export interface NamedParameters {
  readonly [name: `q[${string}]` | `sort[${string}]`]: unknown
}

/** The options of `get` in a batch. */
export interface ConditionOptions {
  /**
   * Whether the batch fails with `precondition_failed` if the document has changed since this client read it. The call
   * throws a `TypeError` for an `_id`, and for a document that does not come from `get`, `create`, `update` or
   * `replace`.
   */
  readonly ifUnchanged?: boolean
}

/**
 * The options of `create`. With an `id` that the client chooses, the call can be repeated safely if its outcome is
 * unknown.
 */
export interface CreateOptions extends CallOptions {
  /**
   * The `_id` of the new document, a UUID. If a document with this `_id` exists, the call rejects with
   * `precondition_failed`.
   */
  readonly id?: string
}

/**
 * The document that a call reads, changes or deletes: its `_id`, or the document itself. If the document comes from
 * `get`, `create`, `update` or `replace`, also in a batch, the call changes or deletes it only if it is still unchanged
 * (`If-Match`). Given an `_id`, or a document from elsewhere, such as `list`, the call does not check that.
 */
export type Addressed = string | { readonly _id: string }

/** One collection of a service. Every call rejects with `ClientError`, or with the error from `fetch`. */
export interface CollectionClient<M, T extends CollectionTypes> {
  /** Returns the documents that match a filter; all of them if neither `limit` nor the service limits the list. */
  list<P extends PathOf<T> = never, E extends ReferenceOf<M, T> = never>(
    options?: ListOptions<T, P, E>,
  ): Promise<ShownDocument<M, T, P, E>[]>
  /**
   * Returns one page of a list.
   *
   * @example
   * ```ts
   * const query = { sort: { createdAt: 'desc' }, limit: 20, total: true } as const
   * const { items, total, next } = await client.collection('notes').page(query)
   * if (next) await client.collection('notes').page({ ...query, ...next })
   * ```
   */
  page<P extends PathOf<T> = never, E extends ReferenceOf<M, T> = never, N extends boolean = false>(
    options?: PageOptions<T, P, E, N>,
  ): Promise<Page<ShownDocument<M, T, P, E>, N>>
  /** Yields the documents that `list` would return, in pages of `limit` documents. */
  pages<P extends PathOf<T> = never, E extends ReferenceOf<M, T> = never>(
    options?: ListOptions<T, P, E>,
  ): AsyncGenerator<ShownDocument<M, T, P, E>[], void, undefined>
  /**
   * Yields the changes of a filtered list from now on. After each `reset`, read the list again. The stream reconnects
   * by itself, with pauses that grow, and resumes where it stopped. It ends when `signal` aborts, and throws
   * `ClientError` if the service rejects the request.
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
   * Yields the whole list now, and again after each change. The stream reconnects and ends as that of `changes` does.
   *
   * @example
   * ```ts
   * for await (const notes of client.collection('notes').live({ sort: { createdAt: 'desc' }, limit: 10 })) show(notes)
   * ```
   */
  live<P extends PathOf<T> = never, E extends ReferenceOf<M, T> = never>(
    options?: LiveOptions<T, P, E>,
  ): AsyncGenerator<readonly ShownDocument<M, T, P, E>[], void, undefined>
  /** Returns the number of documents that match a filter. */
  count(options?: CountOptions<T>): Promise<number>
  /**
   * Counts and sums the documents that match a filter, in groups (CONTRACT.md §2, "Aggregates").
   *
   * @example
   * ```ts
   * const open = await client.collection('tickets').aggregate({ by: { agent: 'value' }, sort: { $count: -1 }, limit: 10 })
   * ```
   */
  aggregate<
    const B extends GroupBy<T> = Record<never, never>,
    S extends NumberPath<T> = never,
    A extends NumberPath<T> = never,
    Min extends OrderedPath<T> = never,
    Max extends OrderedPath<T> = never,
    N extends boolean = false,
  >(
    options?: AggregateOptions<
      T,
      B,
      { readonly sum: S; readonly avg: A; readonly min: Min; readonly max: Max },
      N
    >,
  ): Promise<
    N extends true
      ? GroupPage<Group<T, B, { readonly sum: S; readonly avg: A; readonly min: Min; readonly max: Max }>>
      : Group<T, B, { readonly sum: S; readonly avg: A; readonly min: Min; readonly max: Max }>[]
  >
  /** Returns one document. */
  get<P extends PathOf<T> = never, E extends ReferenceOf<M, T> = never>(
    document: Addressed,
    options?: GetOptions<P, E>,
  ): Promise<ShownDocument<M, T, P, E>>
  /**
   * Returns the documents with these ids in the order of the ids, and `undefined` at the place of each document that
   * does not exist or that the caller may not read.
   */
  getMany<P extends PathOf<T> = never, E extends ReferenceOf<M, T> = never>(
    ids: readonly string[],
    options?: GetOptions<P, E>,
  ): Promise<(ShownDocument<M, T, P, E> | undefined)[]>
  /** Creates a document and returns it as its creator may read it. */
  create(body: T['create'], options?: CreateOptions): Promise<T['document']>
  /**
   * Creates a document with this `_id`, a UUID, or replaces it if it exists, as `replace` does. A document that comes
   * from `get`, `create`, `update` or `replace` is replaced only if it is still unchanged.
   */
  upsert(document: Addressed, body: T['create'], options?: CallOptions): Promise<T['document']>
  /** Creates all of the given documents, or none of them. */
  createMany(bodies: readonly T['create'][], options?: CallOptions): Promise<T['document'][]>
  /** Changes the fields that a merge patch contains; `null` removes a field. */
  update(document: Addressed, patch: T['update'], options?: CallOptions): Promise<T['document']>
  /**
   * Replaces the fields that the caller may both read and write; a field that the body lacks is removed, or gets its
   * default. Other fields keep their values, so the type of the body requires no field.
   */
  replace(document: Addressed, body: Partial<T['create']>, options?: CallOptions): Promise<T['document']>
  /** Deletes a document. */
  delete(document: Addressed, options?: CallOptions): Promise<void>
}

declare const RESULT: unique symbol

/**
 * An operation of a batch; `R` is the type of its result. It is sent only if the function that builds the batch returns
 * it. If that function returns an operation of another batch, `batch` rejects with a `TypeError`.
 */
export interface Operation<R> {
  readonly [RESULT]: R
}

type Call = (...parameters: never[]) => Promise<unknown>

/**
 * The type of a function that has the parameters of a call, except the options, and returns an operation with the same
 * result.
 */
type AsOperation<F extends Call> =
  Required<Parameters<F>> extends [...infer Own, CallOptions]
    ? (...parameters: Own) => Operation<Awaited<ReturnType<F>>>
    : never

type ChangesOf<T extends CollectionTypes> = Pick<
  CollectionClient<unknown, T>,
  'update' | 'replace' | 'delete'
>

/** One collection in a batch. Its calls mean the same as those of `CollectionClient`, but each returns an operation. */
export type BatchCollection<T extends CollectionTypes> = {
  readonly [K in keyof ChangesOf<T>]: AsOperation<ChangesOf<T>[K]>
} & {
  /** Reads a document as it is after the earlier operations of the batch. */
  get(document: Addressed, options?: ConditionOptions): Operation<T['document']>
  /** Creates a document and returns it as its creator may read it. */
  create(body: T['create'], options?: Omit<CreateOptions, keyof CallOptions>): Operation<T['document']>
}

/** The collections by name: the argument of the function that builds a batch. */
export type BatchCollections<C> = Flat<{
  readonly [N in CollectionName<C>]: BatchCollection<TypesIn<CollectionsOf<C>, N>>
}>

/** The results of a batch. The result of each operation has the same index as the operation. */
export type BatchResults<L extends readonly Operation<unknown>[]> = {
  -readonly [I in keyof L]: L[I] extends Operation<infer R> ? R : never
} & {
  /**
   * For each operation, at its index, the names of the properties that the service dropped from its body. Not
   * enumerable.
   */
  readonly ignored: readonly (readonly string[])[]
}

/** The request whose body had properties that the service dropped. */
export interface IgnoredContext {
  readonly method: string
  /** The path after the base path. In a batch, it is the path of the operation. */
  readonly path: string
  /** The index of the operation in a batch; `undefined` outside a batch. */
  readonly operation?: number | undefined
}

/**
 * Called for each write, alone or in a batch, if the service has dropped properties of its body because the caller may
 * not write them. The write has already taken effect. If this function throws, the call rejects with that error.
 */
export type OnIgnored = (names: readonly string[], context: IgnoredContext) => void

type TypesIn<M, N> = N extends keyof M ? Extract<M[N], CollectionTypes> : never

/** A client of one service. */
export interface Client<C = unknown> {
  /** The token that the client sends as `Authorization: Bearer`. Signing in sets it, signing out removes it. */
  token: string | undefined
  /** Called with the names of the properties that the service dropped from a body. */
  onIgnored: OnIgnored | undefined
  readonly auth: AuthClient<CollectionsOf<C>>
  /** Returns the client of a collection. It sends no request by itself. */
  collection<N extends CollectionName<C>>(
    name: N,
  ): CollectionClient<CollectionsOf<C>, TypesIn<CollectionsOf<C>, N>>
  /**
   * Runs all operations of a list in one step, or none of them, and returns their results. If the service rejects an
   * operation, it rejects the whole batch; the `operation` of the `ClientError` is the index of the first rejected
   * operation. Operations that `build` creates but does not return are not sent.
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

/**
 * A service in this process, as a function. The type of a function that `createCollectionService` has returned contains
 * the type of its configuration.
 */
export interface HandlerTarget<C> {
  (request: Request): Promise<Response>
  readonly '~config'?: C
  /** The prefix of all paths of the service. */
  readonly basePath?: string
}

/** The options of a client: how it sends requests, its token and its headers. */
export interface ClientOptions {
  /** The function that sends a request. Default: the global `fetch`. Not used if the target is a function. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** The token of an existing session. */
  readonly token?: string | undefined
  /**
   * Whether the browser keeps the session in a cookie, for a service with `auth.cookie`. The client then has no token.
   * Default: only if the service is of the same origin as the page, and has `auth.cookie`.
   */
  readonly cookie?: boolean
  /**
   * Headers for every request. With `prefer: 'handling=strict'`, the service rejects a body instead of dropping
   * properties from it.
   */
  readonly headers?: NonNullable<RequestInit['headers']>
  /** Called with the names of the properties that the service dropped from a body. Default: none. */
  readonly onIgnored?: OnIgnored | undefined
}
