import type { CollectionName, DocumentOf } from './infer/collections.js'
import type { MaybePromise } from './types.js'

/**
 * A change that was made. The documents are whole, whatever anybody may read, but for hashes; they are frozen.
 */
export type ConsumerChange<C = unknown, N extends CollectionName<C> = CollectionName<C>> = {
  readonly [K in N]: {
    readonly collection: K
    /** When it was made, by the storage's clock. */
    readonly time: string
    /**
     * The `_id` of the caller whose request made it, by a hook or by a cascade, too. `null` for an anonymous caller, for seeds and
     * for changes from before this was recorded.
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

/** What a consumer is told besides the change. */
export interface ConsumerContext {
  /** Names the change: the same in every attempt, in every process. */
  readonly id: string
  /** From 1. A process that ends suddenly may not have counted its last one. */
  readonly attempt: number
  /**
   * The fencing number: it only grows, and that of a process is greater than all those of processes before it.
   * What remembers the greatest, and refuses a smaller one, is never changed by a process that was asleep.
   */
  readonly lease: number
  /** Aborts when the service closes, or another process may go on. */
  readonly signal: AbortSignal
}

/** Is told of every change of some collections, after it was made (CONTRACT.md §9, "Consumers"). */
export interface Consumer<C = unknown, N extends CollectionName<C> = CollectionName<C>> {
  /** Each has `changes`. */
  readonly collections: readonly N[]
  /**
   * Is called at least once for each change, for those of a document in their order, by one process at a time.
   * A change counts as handled when it returns. What it throws is logged, and it is called again later.
   */
  readonly handle: (change: ConsumerChange<C, N>, context: ConsumerContext) => MaybePromise<unknown>
}
