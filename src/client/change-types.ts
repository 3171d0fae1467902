import type { CollectionTypes } from '../infer/collections.js'
import type { FilterOf, SortOf } from './query-types.js'

/** Which documents to follow, and until when. */
interface FollowOptions<T extends CollectionTypes> {
  readonly q?: FilterOf<T>
  readonly signal?: AbortSignal
}

/** What a stream of changes is asked for. */
export interface ChangesOptions<T extends CollectionTypes, P extends string> extends FollowOptions<T> {
  /** Only these fields, and `_id`. */
  readonly project?: readonly P[]
}

/** What a live list is asked for. */
export interface LiveOptions<T extends CollectionTypes> extends FollowOptions<T> {
  readonly sort?: SortOf<T>
  /** Default: that of the service, which may have none. */
  readonly limit?: number
}

/** What changed in a list: it begins anew, a document is put there (again), or leaves it. */
export type ChangeEvent<D> =
  | { readonly event: 'reset' }
  | { readonly event: 'enter' | 'change'; readonly document: D }
  | { readonly event: 'leave'; readonly _id: string }
