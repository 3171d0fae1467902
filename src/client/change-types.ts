import type { CollectionTypes } from '../infer/collections.js'
import type { FilterOf, SortOf } from './query-types.js'

/** The filter that selects the documents to follow, and a signal that ends the call. */
interface FollowOptions<T extends CollectionTypes> {
  readonly q?: FilterOf<T>
  readonly signal?: AbortSignal
}

/** The options of a stream of changes. */
export interface ChangesOptions<T extends CollectionTypes, P extends string> extends FollowOptions<T> {
  /** The fields to return, beside `_id`. Default: all. */
  readonly project?: readonly P[]
}

/** The options of a live list. */
export interface LiveOptions<T extends CollectionTypes, P extends string = never, E extends string = never>
  extends ChangesOptions<T, P> {
  /** The references to replace with their documents, as these are when the list, or its document, is last read. */
  readonly expand?: readonly E[]
  readonly sort?: SortOf<T>
  /** The maximum number of documents in the list. Default: the limit of the service, if it has one. */
  readonly limit?: number
}

/**
 * A change of a list: the list must be read again (`reset`), a document enters the list or changes, or a document
 * leaves it.
 */
export type ChangeEvent<D> =
  | { readonly event: 'reset' }
  | { readonly event: 'enter' | 'change'; readonly document: D }
  | { readonly event: 'leave'; readonly _id: string }
