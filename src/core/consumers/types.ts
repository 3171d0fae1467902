import type { CollectionName, DocumentOf } from '../../infer/collections.js'
import type { MaybePromise } from '../types.js'

/** A committed change. The documents are complete except for hashes, independent of any read rights, and frozen. */
export type ConsumerChange<C = unknown, N extends CollectionName<C> = CollectionName<C>> = {
  readonly [K in N]: {
    readonly collection: K
    /** The time of the change, by the clock of the storage. */
    readonly time: string
    /**
     * The `_id` of the caller whose request made the change, directly or through a hook or a cascade. `null` for an
     * anonymous caller, for seeds, and for changes from before this property was recorded.
     */
    readonly by: string | null
    /** Present if a run of `migrate` made the change. */
    readonly isMigration?: true
  } & (
    | { readonly operation: 'create'; readonly before: null; readonly after: DocumentOf<C, K> }
    | {
        readonly operation: 'update'
        readonly before: DocumentOf<C, K>
        readonly after: DocumentOf<C, K>
      }
    | { readonly operation: 'delete'; readonly before: DocumentOf<C, K>; readonly after: null }
  )
}[N]

/** The second parameter of a change handler. */
export interface ConsumerContext {
  /** Identifies the change: the same in every attempt and every process. */
  readonly id: string
  /** The number of the attempt, from 1. An attempt of a process that crashed may not be counted. */
  readonly attempt: number
  /**
   * The fencing token. It only grows: each process has a greater token than all processes that held the lease before. A
   * receiver that remembers the greatest token and rejects smaller ones is safe from a process that was suspended and
   * continues too late.
   */
  readonly lease: number
  /** Aborts when the service closes, or when another process may take over the consumer. */
  readonly signal: AbortSignal
}

/** A change handler: it gets all changes to some collections, after commit (CONTRACT.md §9, "Consumers"). */
export interface Consumer<C = unknown, N extends CollectionName<C> = CollectionName<C>> {
  /** The names of its collections. Each must have `changes`. */
  readonly collections: readonly N[]
  /**
   * Called at least once for each change, and in order for the changes of one document. One process at a time calls it.
   * A change counts as handled when the call returns. If it throws, the error is logged and the call is retried later.
   */
  readonly handle: (change: ConsumerChange<C, N>, context: ConsumerContext) => MaybePromise<unknown>
}
