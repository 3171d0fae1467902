import type { WriteResult, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'

/** Why a write did not take effect. */
export type WriteFailure = Extract<WriteResult, { readonly ok: false }>

/** What must hold of a document and of another once a write has taken effect. */
export interface Agreement {
  /** What it is about; in a batch, a later one about the same takes its place. */
  readonly key: string
  /** The key of one that implies this one: in a batch, where it is later, it takes the place of this one as well. */
  readonly impliedBy?: string
  /** The document that was written: once it is gone, nothing has to agree with it. */
  readonly in: string
  readonly id: string
  /** The step that judges it, behind all others; absent where nothing has to hold any more. */
  readonly step?: WriteStep
  /** The error where it does not hold. */
  readonly refuse?: () => unknown
}

/** One attempt at a write. */
export interface Attempt<T> {
  /** All take effect, or none; an empty list writes nothing. */
  readonly steps: readonly WriteStep[]
  /** The result of the write if it takes effect. */
  readonly done: T
  /** Whether it changes nothing, whatever comes of it. */
  readonly isTrial?: boolean
  /** What must hold of all that it leaves behind. */
  readonly agreements?: readonly Agreement[]
  /** Called once the write has taken effect. */
  readonly after?: (() => void) | undefined
  /** What hooks add, in the same step. Only in a store that holds its writes back (`Hooks.together`). */
  readonly behind?: (() => Promise<void>) | undefined
  /** Throws where another attempt is of no use. Default: it throws for values that are taken. */
  readonly refuse?: (failure: WriteFailure) => MaybePromise<void>
  /**
   * Finds the document, as `documentOf` names it, that others have changed before a step failed that is about another one.
   * Then the failure counts as one of that document, and `refuse` is not asked.
   */
  readonly findOvertaken?: (failure: WriteFailure) => MaybePromise<string | undefined>
}
