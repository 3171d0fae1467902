import type { WriteResult, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'

/** The reason why a write did not take effect. */
export type WriteFailure = Extract<WriteResult, { readonly ok: false }>

/** A condition between a document and another one that must hold once a write has taken effect. */
export interface Agreement {
  /** Identifies the condition; in a batch, a later one with the same key replaces it. */
  readonly key: string
  /** The key of an agreement that implies this one: in a batch, a later one with that key replaces this one as well. */
  readonly impliedBy?: string
  /** The document that was written: once it is deleted, the condition no longer applies. */
  readonly in: string
  readonly id: string
  /** The step that checks it, after all others; absent if the condition no longer applies. */
  readonly step?: WriteStep
  /** Returns the error if it does not hold. */
  readonly refuse?: () => unknown
}

/** One attempt at a write. */
export interface Attempt<T> {
  /** All take effect, or none; an empty list writes nothing. */
  readonly steps: readonly WriteStep[]
  /** The result of the write if it takes effect. */
  readonly done: T
  /** Whether it never changes anything. */
  readonly isTrial?: boolean
  /** The conditions on the state after the write. */
  readonly agreements?: readonly Agreement[]
  /** Called once the write has taken effect. */
  readonly after?: (() => void) | undefined
  /**
   * Runs the operations that hooks add, atomically with this write. Only in a store that keeps its writes pending
   * (`Hooks.together`).
   */
  readonly behind?: (() => Promise<void>) | undefined
  /** Throws if a retry cannot help. Default: it throws for values that are taken. */
  readonly refuse?: (failure: WriteFailure) => MaybePromise<void>
  /**
   * Finds the document, as `documentOf` names it, that a concurrent write changed before a step on another document
   * failed. The failure then counts for that document, and `refuse` is not called.
   */
  readonly findOvertaken?: (failure: WriteFailure) => MaybePromise<string | undefined>
}
