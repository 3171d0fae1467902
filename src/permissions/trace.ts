import type { JsonObject } from '../types.js'
import type { Asking } from './caller.js'
import type { Operation, Rule } from './grants.js'
import type { Kept } from './write-rules.js'

/** The rules under which a caller may try an operation. */
export interface Permitted {
  readonly operation: Operation
  readonly collection: string
  readonly rules: readonly Rule[]
}

/** A rule that a body is tried under. */
export interface Attempted {
  readonly rule: Rule
  readonly kept: Kept
}

/** What came of a body under one rule. */
export interface Outcome {
  readonly kind: 'fits' | 'invalid' | 'refused'
  readonly faults?: readonly { readonly path: string; readonly code: string; readonly message: string }[]
}

/**
 * Hears how requests are judged, to explain it (CONTRACT.md §8). A service that serves has none: what asks for it
 * finds `undefined`, and no more is done.
 */
export interface Trace {
  /** A caller asks for an operation; without rules, it is denied. */
  permits(asking: Asking, permitted: Permitted): void
  /** A body will now be tried under rules, in this order. */
  tries(asking: Asking, body: JsonObject, attempts: readonly Attempted[]): void
  /** It was tried under one of them. */
  tried(attempted: Attempted, outcome: Outcome): void
}
