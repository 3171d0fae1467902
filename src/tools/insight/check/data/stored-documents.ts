import type { CollectionPlan, LeftIndex, Listed, ListQuery, MaybePromise } from '../../../../core/storage.js'

/** A source of stored documents: an open adapter, or any object with this method. */
export interface StoredDocuments {
  list(collection: string, query: ListQuery): MaybePromise<Listed>
  /** See `StorageAdapter`. Without it, no report has `leftUnique`. */
  leftUnique?(plans: readonly CollectionPlan[]): MaybePromise<readonly LeftIndex[]>
}

/** The number of affected documents in a collection. */
export interface StoredCount {
  readonly count: number
  /** The first `_id`s of these documents, at most five. */
  readonly ids: readonly string[]
}
