import type { JsonObject } from '../types.js'
import type { BoundCaller } from './caller.js'
import type { Rule, RuleOperation } from './grants.js'
import type { KeptProperties } from './write-rules.js'

/** The rules under which a caller may try an operation. */
export interface Permitted {
  readonly operation: RuleOperation
  readonly collection: string
  readonly rules: readonly Rule[]
}

/** A rule that a body is tried under. */
export interface Attempted {
  readonly rule: Rule
  readonly kept: KeptProperties
}

/** What came of a body under one rule. */
export interface RuleOutcome {
  readonly kind: 'fits' | 'invalid' | 'refused'
  readonly faults?: readonly { readonly path: string; readonly code: string; readonly message: string }[]
}

/**
 * Hears how requests are judged, to explain it (CONTRACT.md §8). A service that serves has none: what asks for it
 * finds `undefined`, and no more is done.
 */
export interface Trace {
  /** A caller asks for an operation; without rules, it is denied. */
  permits(asking: BoundCaller, permitted: Permitted): void
  /** A body will now be tried under rules, in this order. */
  tries(asking: BoundCaller, body: JsonObject, attempts: readonly Attempted[]): void
  /** It was tried under one of them. */
  tried(attempted: Attempted, outcome: RuleOutcome): void
}
