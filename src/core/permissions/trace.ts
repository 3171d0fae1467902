import type { JsonObject } from '../types.js'
import type { BoundCaller } from './caller.js'
import type { Rule, RuleOperation } from './grants.js'
import type { KeptProperties } from './write-rules.js'

/** The rules under which a caller may attempt an operation. */
export interface Permitted {
  readonly operation: RuleOperation
  readonly collection: string
  readonly rules: readonly Rule[]
}

/** A rule under which a write is attempted. */
export interface Attempted {
  readonly rule: Rule
  readonly kept: KeptProperties
}

/**
 * The result of a write under one rule. `idle`: the rule was not tried, because it keeps nothing of the body, and a rule
 * that drops nothing of it was refused.
 */
export interface RuleOutcome {
  readonly kind: 'fits' | 'invalid' | 'refused' | 'idle'
  readonly faults?: readonly { readonly path: string; readonly code: string; readonly message: string }[]
}

/**
 * Records the decisions about a request, to explain them (CONTRACT.md §8). In a running service the trace is
 * `undefined`, and nothing is recorded.
 */
export interface Trace {
  /** Called when a caller requests an operation. Without rules, the operation is denied. */
  permits(asking: BoundCaller, permitted: Permitted): void
  /** Called before a write is attempted under these rules, in this order. */
  tries(asking: BoundCaller, body: JsonObject, attempts: readonly Attempted[]): void
  /** Called after the write was attempted under one of these rules. */
  tried(attempted: Attempted, outcome: RuleOutcome): void
}
