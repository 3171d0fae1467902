import type { WriteResult, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'

/** The reason why a write did not take effect. */
export type WriteFailure = Extract<WriteResult, { readonly ok: false }>

/** The name of a document: its collection and its `_id`. */
export interface DocumentName {
  readonly collection: string
  readonly id: string
}

/**
 * The reason why a write cannot take effect. A store that keeps its writes pending also finds such reasons itself, after
 * all writes; it then reports them with `isSettled`.
 */
export interface Refusable extends WriteFailure {
  /** Whether the reason was found in the state after all writes, so that a retry cannot help. */
  readonly isSettled?: true
  /** The documents that references name, and that do not exist or must not be referred to. */
  readonly targets?: readonly DocumentName[]
}

/** A condition on the documents that may still refer to a document that a write has deleted. */
export interface Leaving {
  readonly step: Extract<WriteStep, { readonly refuse: unknown }>
  /** The `_id`s of the deleted documents. */
  readonly gone: readonly string[]
  /** Whether such a document is an error. Otherwise only a concurrent write can have added it. */
  readonly isRestricting: boolean
}

/** References that their writer was not allowed to use: a target does not exist, or the writer may not read it. */
export interface Deferred {
  /** The collection of the targets, and their `_id`s. */
  readonly collection: string
  readonly ids: ReadonlySet<string>
  /** Returns a map whose keys are the `_id`s that the writer may use now; `undefined` if there are none. */
  readonly findAllowed: () => MaybePromise<ReadonlyMap<string, unknown> | undefined>
}

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
  /** References that must be allowed after all pending writes. Only used in a store that keeps its writes pending. */
  readonly deferred?: readonly Deferred[] | undefined
  /**
   * Returns the conditions on the documents that refer to deleted documents, after all pending writes. `isStanding` says
   * whether a later write has created a deleted document again. Only used in a store that keeps its writes pending.
   */
  readonly leave?: ((isStanding: (name: DocumentName) => boolean) => readonly Leaving[]) | undefined
  /** Throws if a retry cannot help. Default: throws if a unique value is taken. */
  readonly refuse?: (failure: Refusable) => MaybePromise<void>
  /**
   * Finds the document that a concurrent write changed first, if that made a step on another document fail. The
   * document is named as by `documentOf`. The attempt then counts as lost at that document, and `refuse` is not called.
   */
  readonly findOvertaken?: (failure: WriteFailure) => MaybePromise<string | undefined>
}
