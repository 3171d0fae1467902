import type { CollectionName, DocumentOf } from '../../infer/collections.js'
import type { MaybePromise } from '../types.js'

/**
 * A committed change. The documents are complete, independent of anyone's read rights, except for hashes; they are
 * frozen.
 */
export type ConsumerChange<C = unknown, N extends CollectionName<C> = CollectionName<C>> = {
  readonly [K in N]: {
    readonly collection: K
    /** The time of the change, by the clock of the storage. */
    readonly time: string
    /**
     * The `_id` of the caller whose request made it, also through a hook or a cascade. `null` for an anonymous caller,
     * for seeds and for changes made before this was recorded.
     */
    readonly by: string | null
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
  /** Starts at 1. An attempt of a process that crashed may not be counted. */
  readonly attempt: number
  /**
   * The fencing token: it only grows, and a process has a greater one than all processes before it. A receiver that
   * remembers the greatest token and rejects smaller ones is never changed by a process that was suspended.
   */
  readonly lease: number
  /** Aborts when the service closes, or when another process may take over. */
  readonly signal: AbortSignal
}

/** A handler of all changes to some collections, run after commit (CONTRACT.md §9, "Consumers"). */
export interface Consumer<C = unknown, N extends CollectionName<C> = CollectionName<C>> {
  /** Each must have `changes`. */
  readonly collections: readonly N[]
  /**
   * Called at least once for each change, in order for the changes of one document, by one process at a time. A change
   * counts as handled when the call returns. An error that it throws is logged and the call is retried later.
   */
  readonly handle: (change: ConsumerChange<C, N>, context: ConsumerContext) => MaybePromise<unknown>
}
