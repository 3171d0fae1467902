import type { WriteResult, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'

/** The reason why a write did not take effect. */
export type WriteFailure = Extract<WriteResult, { readonly ok: false }>

/** A condition between two documents that must be true after a write has taken effect. */
export interface Agreement {
  /** Identifies the condition. In a batch, a later condition with the same key replaces this one. */
  readonly key: string
  /**
   * The key of an agreement that implies this agreement. In a batch, a later agreement with that key replaces this one
   * as well.
   */
  readonly impliedBy?: string
  /**
   * The collection and the `_id` of the written document. If it is deleted later in a batch, the condition no longer
   * applies.
   */
  readonly in: string
  readonly id: string
  /** The step that checks the condition, after all other steps; absent if the condition no longer applies. */
  readonly step?: WriteStep
  /** Returns the error to throw if the condition is not met. */
  readonly refuse?: () => unknown
}

/** One attempt at a write. */
export interface Attempt<T> {
  /** The steps of the write: all of them take effect, or none. An empty list writes nothing. */
  readonly steps: readonly WriteStep[]
  /** The result of the write if it takes effect. */
  readonly done: T
  /** Whether the attempt never changes anything. */
  readonly isTrial?: boolean
  /** The conditions that must be true after the write. */
  readonly agreements?: readonly Agreement[]
  /** Called after the write has taken effect. */
  readonly after?: (() => void) | undefined
  /**
   * Runs the operations that hooks add, which take effect only together with this write. Only used in a store that
   * keeps its writes pending (`Hooks.together`).
   */
  readonly behind?: (() => Promise<void>) | undefined
  /** Throws if a retry cannot help. Default: throws if a unique value is taken. */
  readonly refuse?: (failure: WriteFailure) => MaybePromise<void>
  /**
   * Finds the document that a concurrent write changed first, if that made a step on another document fail. The
   * document is named as by `documentOf`. The attempt then counts as lost at that document, and `refuse` is not called.
   */
  readonly findOvertaken?: (failure: WriteFailure) => MaybePromise<string | undefined>
}
