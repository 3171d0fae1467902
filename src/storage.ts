import type { FieldRef, Filter } from './filter/filter.js'
import type { JsonObject, MaybePromise } from './types.js'

export type { MaybePromise } from './types.js'

/**
 * A document as it is stored: JSON, with `_id` and the whole number `_version`. Names beginning with `_` are the
 * service's own and are never shown, but `_id`.
 */
export type StoredDocument = { readonly _id: string; readonly _version: number } & JsonObject

/** An index over top-level fields. A unique one binds documents that have all of them, of the declared types. */
export interface IndexPlan {
  readonly fields: readonly FieldRef[]
  readonly unique: boolean
}

/** What storage has to know of a collection. Plain JSON. */
export interface CollectionPlan {
  readonly name: string
  readonly indexes: readonly IndexPlan[]
}

export interface SortKey {
  readonly field: FieldRef
  readonly descending: boolean
}

export interface ListQuery {
  readonly filter: Filter
  /** Ends in `_id`, so the order is total; empty where any order will do. */
  readonly sort: readonly SortKey[]
  readonly skip: number
  readonly limit: number | null
  /**
   * An adapter that has to bring documents into memory MUST hand out none beyond so many bytes of JSON, but the first,
   * and name the others in `rest`. Default: no bound. Where documents lie in memory anyway it says nothing.
   */
  readonly bytes?: number
  readonly signal?: AbortSignal
}

/** What a list gives. `rest`: the `_id`s of what the list has beyond `bytes`, in order; absent where there is nothing more. */
export type Listed = readonly StoredDocument[] & { readonly rest?: readonly string[] }

/** One step of a `write`, on the collection `in`. */
export type WriteStep = { readonly in: string } & (
  | { readonly insert: StoredDocument }
  | { readonly replace: StoredDocument; readonly version: number }
  | { readonly remove: Filter; readonly expect?: number }
  | { readonly require: string }
  | { readonly refuse: Filter }
)

/**
 * What came of a `write`. `unique`: the `fields` of an index are taken, `["_id"]` or else those of the first in the order
 * of the plan; it is judged step by step, after the version of a `replace`. `changed`: the stored version is another,
 * the document is gone, or `expect` was not met; `missing`: the required id is not there; `found`: a document matches
 * what was refused.
 */
export type WriteResult =
  | { readonly ok: true; readonly removed: number }
  | {
      readonly ok: false
      readonly step: number
      readonly reason: 'unique' | 'changed' | 'missing' | 'found'
      readonly fields?: readonly string[]
    }

/**
 * Where documents lie. An adapter decides nothing: what a filter means is `matches`, what an order means is `compare`,
 * and who may see what was decided before.
 *
 * - Results MUST be safe from later writes and from whatever the caller does with what it passed in.
 * - A storage that cannot be reached MUST reject with a `ServiceError` of code `storage_unavailable`, or
 *   `outcome_unknown` where a write may have happened.
 */
export interface StorageAdapter {
  /** Creates what is missing; drops and rewrites nothing. MUST be safe to call again and from many processes. */
  open(plans: readonly CollectionPlan[]): Promise<void>
  /** The documents that match, in order, after `skip`, at most `limit`. */
  list(collection: string, query: ListQuery): MaybePromise<Listed>
  /**
   * The same in batches, in memory that does not grow with the list. Asked for where no index gives the order; without
   * it `list` is. Documents MUST have matched when the stream began, or when they are handed out. Aborting `signal` ends it.
   */
  stream?(collection: string, query: ListQuery): AsyncIterable<readonly StoredDocument[]>
  count(collection: string, filter: Filter, options: { readonly signal?: AbortSignal }): MaybePromise<number>
  /** All steps in their order, or none; each sees what those before it did. All writes MUST behave as if one came after another. */
  write(steps: readonly WriteStep[], options: { readonly signal?: AbortSignal }): MaybePromise<WriteResult>
  close(): Promise<void>
  /** Documents that the service checks like bodies and stores when it opens the adapter for the first time. */
  readonly seed?: { readonly [collection: string]: readonly unknown[] }
}
