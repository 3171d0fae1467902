import type { Consumer } from './consumers.js'
import { type Fault, REFUSAL_STATUSES, type RefusalStatus, ServiceError } from './errors.js'
import type { CollectionName, DocumentOf, UpdateBodyOf } from './infer/collections.js'
import type { Flat } from './infer/fields.js'
import type { Caller, JsonObject, MaybePromise, ServiceOptions } from './types.js'

/**
 * Answers GET and HEAD as the caller of the write would be answered, over what the writes before this one did;
 * any other method is a 405. `createClient` takes it.
 */
export interface HookApi<C = unknown> {
  (request: Request): Promise<Response>
  /** What its paths begin with, as those of the service. */
  readonly basePath?: string
  /** For the compiler only: the type of the configuration. */
  readonly '~config'?: C
}

/** What all changes have. */
interface ChangeContext<C> {
  /** The caller as the host, or the service, knows it; `null` for an anonymous one. */
  readonly caller: Caller | null
  readonly api: HookApi<C>
  /** Aborts when the time of the request is over. */
  readonly signal: AbortSignal
}

/** A document that may lack the fields `F`. */
type Lacking<D, F> = [F] extends [never]
  ? D
  : Flat<
      { readonly [K in keyof D as K extends F ? never : K]: D[K] } & {
        readonly [K in keyof D as K extends F ? K : never]?: D[K]
      }
    >

/** A type that the compiler has inferred; it infers `unknown` where a hook fills nothing. */
type InferredType<F> = unknown extends F ? never : F

/** The names of the fields that each document has. */
type NameThere<D> = string extends keyof D
  ? string
  : { [K in keyof D & string]-?: object extends Pick<D, K> ? never : K }[keyof D & string]

/**
 * A write that was judged and will be made next. The documents are whole, whatever the caller may read, but
 * for hashes; they are frozen. A new one may lack the fields `F`, which its hook fills.
 */
export type HookChange<
  C = unknown,
  N extends CollectionName<C> = CollectionName<C>,
  F = never,
> = ChangeContext<C> &
  (
    | { readonly operation: 'create'; readonly before: null; readonly after: Lacking<DocumentOf<C, N>, F> }
    | {
        readonly operation: 'update'
        readonly before: DocumentOf<C, N>
        readonly after: DocumentOf<C, N>
      }
    | { readonly operation: 'delete'; readonly before: DocumentOf<C, N>; readonly after: null }
  )

/** An operation of a batch (CONTRACT.md §2, "Batch"). Entity tags are those of `api`. */
export interface HookOperation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/<collection>`, or `/<collection>/<id>`, without the base path. */
  readonly path: string
  readonly ifMatch?: string
  readonly ifNoneMatch?: string
  readonly body?: JsonObject
}

/** What a hook can set: what a merge patch can, but for hashes, which no document shows. */
type SetBy<Patch, Shown> = Pick<Patch, keyof Patch & keyof Shown>

/** What a hook adds to a write. */
export interface HookResult<C = unknown, N extends CollectionName<C> = CollectionName<C>> {
  /** Properties that are put over the document; `null` removes one. Not with a delete. */
  readonly set?: SetBy<UpdateBodyOf<C, N>, DocumentOf<C, N>>
  /** Done behind the write, in the same step, in the service's own right. */
  readonly also?: readonly HookOperation[]
}

/** The hooks of one collection, of which `before` fills the fields `F`. */
export interface CollectionHooks<C = unknown, N extends CollectionName<C> = CollectionName<C>, F = never> {
  /**
   * Required fields that `before` fills: a new document need not have them before it was asked, and must have them then
   * (CONTRACT.md §9, "Before a write").
   */
  readonly fills?: readonly (F & NameThere<DocumentOf<C, N>>)[]
  /**
   * Is called for each document that a request creates, changes or deletes, after the write was judged and
   * before it is made (CONTRACT.md §9, "Before a write"). It may run again when somebody came first, so it has
   * no effects of its own. It refuses the write with `refuse`; whatever else it throws is a 500.
   */
  readonly before: [N] extends [never]
    ? never
    : // biome-ignore lint/suspicious/noConfusingVoidType: most hooks return nothing
      (change: HookChange<C, N, InferredType<F>>) => MaybePromise<HookResult<C, N> | undefined | void>
}

/** Hooks of a configuration whose type is not known, by collection. */
export interface AnyHooks {
  readonly [collection: string]:
    | {
        readonly fills?: readonly string[]
        // As a method it takes a function of whatever change.
        before(change: HookChange): unknown
      }
    | undefined
}

/**
 * The options of a service with a configuration of type `C`. `K`: by the names of consumers, the names of the
 * collections that each takes.
 */
export interface OptionsFor<
  C,
  K extends { readonly [name: string]: CollectionName<C> } = { readonly [name: string]: CollectionName<C> },
  F = { readonly [N in CollectionName<C>]: never },
> extends ServiceOptions {
  /** What runs before writes, by collection. */
  readonly hooks?: { readonly [P in keyof F]?: CollectionHooks<C, P & CollectionName<C>, F[P]> }
  /** What is told of changes after they were made, each under a name that it keeps. */
  readonly consumers?: { readonly [P in keyof K]?: Consumer<C, K[P]> }
}

/**
 * Refuses the write that a hook was called for, with code `refused`; nothing of it is stored. It throws by
 * itself, so that it cannot be forgotten; `throw refuse(…)` is the same.
 *
 * @param status 400, 403, 409 or 422
 * @param detail for people
 * @param errors the faults of the body, with JSON pointers into it
 *
 * @example
 * ```ts
 * createCollectionService(config, adapter, {
 *   hooks: {
 *     orders: {
 *       before({ operation, before }) {
 *         if (operation === 'delete' && before.paidAt) throw refuse(409, 'A paid order stays.')
 *       },
 *     },
 *   },
 * })
 * ```
 */
export function refuse(status: RefusalStatus, detail: string, errors: readonly Fault[] = []): never {
  if (!REFUSAL_STATUSES.includes(status))
    throw new TypeError(`refuse takes a status of ${REFUSAL_STATUSES.join(', ')}`)
  if (typeof detail !== 'string') throw new TypeError('refuse takes a text of what is wrong')
  if (!Array.isArray(errors) || !errors.every(isFault))
    throw new TypeError('refuse takes errors with path, code and message, each of them text')
  throw new ServiceError('refused', detail, {
    status,
    errors: errors.map(({ path, code, message }) => ({ path, code, message })),
  })
}

const isFault = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ['path', 'code', 'message'].every((name) => typeof (value as JsonObject)[name] === 'string')
