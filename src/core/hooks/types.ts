import type { CollectionName, DocumentOf, Flat, UpdateBodyOf } from '../../infer/collections.js'
import type { Consumer } from '../consumers/types.js'
import { type Fault, REFUSAL_STATUSES, type RefusalStatus, ServiceError } from '../errors.js'
import type { Caller, JsonObject, MaybePromise, ServiceOptions } from '../types.js'

/**
 * The service for reads within a hook: answers GET and HEAD with the rights of the caller, and shows the effects of
 * earlier writes of the same request. Any other method returns 405. `createClient` accepts it.
 */
export interface HookApi<C = unknown> extends HookReader<C> {
  /**
   * The service with full rights (CONTRACT.md §7, "Full rights"), for reads that the caller may not do. What a GET of a
   * document showed, or that the document is absent, must still be so when the write takes effect; otherwise the
   * service evaluates the write again. Nothing is required about lists, counts and expanded references.
   */
  readonly system: HookReader<C>
}

/** A handler of GET and HEAD within a hook. */
export interface HookReader<C = unknown> {
  (request: Request): Promise<Response>
  /** The prefix of its paths, the same as that of the service. */
  readonly basePath?: string
  /** Exists only for the compiler: the type of the configuration. */
  readonly '~config'?: C
}

/** The properties that every change has. */
interface ChangeContext<C> {
  /** The caller as the host or the service identified it; `null` for an anonymous caller. */
  readonly caller: Caller | null
  /** Whether the write has full rights. `caller` is then `{ id: as }`, or `null` without `as`. */
  readonly isSystem: boolean
  readonly api: HookApi<C>
  /** Aborts when the request times out. */
  readonly signal: AbortSignal
}

/** A document in which the fields `F` may be missing. */
type Lacking<D, F> = [F] extends [never]
  ? D
  : Flat<
      { readonly [K in keyof D as K extends F ? never : K]: D[K] } & {
        readonly [K in keyof D as K extends F ? K : never]?: D[K]
      }
    >

/** The fields that a hook fills, as the compiler inferred them: it infers `unknown` if a hook fills nothing. */
type InferredType<F> = unknown extends F ? never : F

/** The names of the fields that every document has. */
type NameThere<D> = string extends keyof D
  ? string
  : { [K in keyof D & string]-?: object extends Pick<D, K> ? never : K }[keyof D & string]

/**
 * A write that is authorized, and will be made after its hook. The documents are complete except for hashes,
 * independent of the read rights of the caller, and frozen. A new document may lack the fields `F`, which the hook
 * fills.
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

/** An operation as in a batch (CONTRACT.md §2, "Batch"). Its entity tags are those that `api` returns. */
export interface HookOperation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/<collection>`, or `/<collection>/<id>`, without the base path. */
  readonly path: string
  readonly ifMatch?: string
  readonly ifNoneMatch?: string
  readonly body?: JsonObject
  /** Whether its entity tags are those that `api.system` returned. Default false. */
  readonly system?: boolean
}

/** The properties that a hook can set: those of a merge patch except hashes, because hooks do not see hashes. */
type SetBy<Patch, Shown> = Pick<Patch, keyof Patch & keyof Shown>

/** The result of a hook: its additions to a write. */
export interface HookResult<C = unknown, N extends CollectionName<C> = CollectionName<C>> {
  /** Properties that are merged into the document; `null` removes one. Not allowed for a delete. */
  readonly set?: SetBy<UpdateBodyOf<C, N>, DocumentOf<C, N>>
  /** Operations that run after the write, atomically with it, with the rights of the service itself. */
  readonly also?: readonly HookOperation[]
}

/** The hooks of one collection; `before` fills the fields `F`. */
export interface CollectionHooks<C = unknown, N extends CollectionName<C> = CollectionName<C>, F = never> {
  /**
   * Required fields that `before` fills. A new document may lack them until the hook has run, and must have them
   * afterwards (CONTRACT.md §9, "Before a write").
   */
  readonly fills?: readonly (F & NameThere<DocumentOf<C, N>>)[]
  /**
   * Called for each document that a request creates, changes or deletes: after the write is authorized, and before it
   * is made (CONTRACT.md §9, "Before a write"). It is called again if a concurrent write came first, so it must have no
   * side effects. It rejects the write with `refuse`. Any other error that it throws results in a 500.
   */
  readonly before: [N] extends [never]
    ? never
    : // biome-ignore lint/suspicious/noConfusingVoidType: most hooks return nothing
      (change: HookChange<C, N, InferredType<F>>) => MaybePromise<HookResult<C, N> | undefined | void>
}

/** The hooks of a configuration of unknown type, by collection. */
export interface AnyHooks {
  readonly [collection: string]:
    | {
        readonly fills?: readonly string[]
        // Declared as a method so that a hook for any type of change is assignable.
        before(change: HookChange): unknown
      }
    | undefined
}

/**
 * The options of a service with a configuration of type `C`. `K` maps the name of each consumer to the names of its
 * collections.
 */
export interface OptionsFor<
  C,
  K extends { readonly [name: string]: CollectionName<C> } = { readonly [name: string]: CollectionName<C> },
  F = { readonly [N in CollectionName<C>]: never },
> extends ServiceOptions {
  /** Hooks, which run before writes, by collection. */
  readonly hooks?: { readonly [P in keyof F]?: CollectionHooks<C, P & CollectionName<C>, F[P]> }
  /** Change handlers, which run after commit. Each has a name that must stay the same. */
  readonly consumers?: { readonly [P in keyof K]?: Consumer<C, K[P]> }
}

/**
 * Rejects the write that a hook was called for, with code `refused`: nothing of the write is stored. Always throws, so
 * `throw refuse(…)` and `refuse(…)` do the same.
 *
 * @param status 400, 403, 409 or 422
 * @param detail the reason, written for people
 * @param errors the validation errors of the body, with JSON pointers into it
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
    throw new TypeError(`the status of refuse must be one of ${REFUSAL_STATUSES.join(', ')}`)
  if (typeof detail !== 'string')
    throw new TypeError('the detail of refuse must be a string that says what is wrong')
  if (!Array.isArray(errors) || !errors.every(isFault))
    throw new TypeError(
      'the errors of refuse must be an array of objects with the strings path, code and message',
    )
  throw new ServiceError('refused', detail, {
    status,
    errors: errors.map(({ path, code, message }) => ({ path, code, message })),
  })
}

const isFault = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ['path', 'code', 'message'].every((name) => typeof (value as JsonObject)[name] === 'string')
