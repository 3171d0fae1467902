import type { Fault } from '../../../core/errors.js'
import type { RuleOperation } from '../../../core/permissions/grants.js'
import type { Caller, JsonObject, OperatorName, RulesConfig } from '../../../core/types.js'
import type { Difference } from '../diff/types.js'

/** A request to explain, with the stored documents and the time. */
export interface ExplainedRequest {
  /** The caller in the form that `handler.as()` accepts; `null` is an anonymous caller. */
  readonly caller: Caller | null
  readonly method: string
  /** The path after the base path. It may contain a query. */
  readonly path: string
  /** A string is sent unchanged; any other value is sent as JSON, as the client of this package does. */
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
  /** The stored documents by collection, in the form that `createMemoryAdapter` accepts. */
  readonly documents?: { readonly [collection: string]: readonly unknown[] }
  /** The time of the request: milliseconds since 1970, or a timestamp. Default: the current time. */
  readonly now?: number | string
}

/** The reasons for a response (CONTRACT.md §8, "Explain"). */
export interface Explanation {
  readonly request: { readonly method: string; readonly path: string; readonly caller: Caller | null }
  /** All subjects of the caller: its roles, `user`, `*`, and `owner` for documents that it created. */
  readonly subjects: readonly string[]
  readonly answer: ExplainedAnswer
  /** The decisions of the service, in their order. */
  readonly judgements: readonly Judgement[]
  /** Whether there were more decisions, which are left out. */
  readonly isCut: boolean
  /** The right whose absence caused the rejection; `null` if the request succeeded, or failed for another reason. */
  readonly missing: MissingRight | null
  /** The first grant that would have let the request succeed; `null` if there is none. */
  readonly suggestion: Suggestion | null
}

/** The response of the handler. */
export interface ExplainedAnswer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** `undefined` for a response without a body, and for a stream of changes. */
  readonly body: unknown
  /** The code of an error response; otherwise `null`. */
  readonly code: string | null
  readonly detail: string | null
  readonly errors: readonly Fault[]
  /** The names in the header `Ignored-Properties`. */
  readonly ignored: readonly string[]
}

/** The decision about one operation on one stored document, or on the document that a body would create. */
export interface Judgement {
  readonly operation: RuleOperation
  readonly collection: string
  /** The position in a batch or bulk request, as a JSON pointer into the body; otherwise empty. */
  readonly place: string
  /** The `_id` of the stored document; `null` if none was read. */
  readonly document: string | null
  readonly isGranted: boolean
  /** The results of the caller's subjects, in the order in which the subjects are tried. */
  readonly rules: readonly JudgedRule[]
}

/**
 * The result of a subject's rule.
 * - `granted`: the rule shows the document, or allows the write.
 * - `silent`: the subject does not mention the operation.
 * - `refused`: the grant of the subject is `false`.
 * - `outranked`: a more specific subject mentions the operation.
 * - `where`, `set`, `check`: this part of the rule failed. `faults`: the body has validation errors under the rule.
 * - `idle`: the rule keeps nothing of the body, and a rule that drops nothing of it was refused.
 * - `granted-before`: another rule already ran.
 * - `beyond`: 64 other rules come first, and a request tries no more.
 * - `open`: no document was read, or no body was tried.
 */
export type RuleVerdict =
  | 'granted'
  | 'silent'
  | 'refused'
  | 'outranked'
  | 'where'
  | 'set'
  | 'faults'
  | 'check'
  | 'idle'
  | 'granted-before'
  | 'beyond'
  | 'open'

/** The result of a subject's rule for an operation. */
export interface JudgedRule {
  readonly subject: string
  /** The JSON pointer to the rule; `null` if the subject does not mention the operation. */
  readonly pointer: string | null
  readonly verdict: RuleVerdict
  /** The condition on the stored document; `null` if there is none, or it was not evaluated. */
  readonly where: JudgedCondition | null
  /** The condition on the document as it would be stored; `null` if there is none, or it was not evaluated. */
  readonly check: JudgedCondition | null
  /** The variables in the rule's `set` that have no value for this caller, or a value that is invalid for the field. */
  readonly lacking: readonly string[]
  /** The properties of the body, or of the document, that the rule drops. */
  readonly dropped: readonly DroppedProperty[]
  readonly faults: readonly Fault[]
}

/** A property that a rule drops, and a pointer to the line that drops it; `null` if no line does. */
export interface DroppedProperty {
  readonly name: string
  readonly by: string | null
  readonly why: 'pick' | 'omit' | 'set' | 'role' | 'service'
}

/** A condition that was evaluated on one document. */
export type JudgedCondition = JudgedGroup | JudgedComparison

export interface JudgedGroup {
  readonly kind: 'all' | 'any'
  readonly pointer: string
  readonly holds: boolean
  readonly parts: readonly JudgedCondition[]
}

export interface JudgedComparison {
  readonly kind: 'comparison'
  readonly pointer: string
  readonly holds: boolean
  readonly field: string
  readonly operator: OperatorName
  /** The operand as the configuration has it. */
  readonly operand: unknown
  /** The value of the operand for this caller. Absent if the operand has no variable, or its variable has no value. */
  readonly bound?: unknown
  /** Whether the comparison is false because a variable has no value for this caller. */
  readonly isLacking: boolean
  /** The value in the document. Absent if it has none. */
  readonly found?: unknown
}

/** A right that a caller did not have. */
export interface MissingRight {
  readonly operation: RuleOperation
  readonly collection: string
  /** The `_id` of the document; `null` if the right is not about a single document. */
  readonly document: string | null
}

/** A grant that would have let a request succeed. */
export interface Suggestion {
  readonly collection: string
  readonly subject: string
  /** The new rules of the subject, by operation. */
  readonly rules: { readonly [operation in RuleOperation]?: Exclude<RulesConfig, false> }
  /** The names that the new rules accept in addition. */
  readonly names: readonly string[]
  /** The number of added conditions. */
  readonly conditions: number
  /** The change of the configuration, as a JSON patch (RFC 6902). */
  readonly patch: readonly [{ readonly op: 'add'; readonly path: string; readonly value: JsonObject }]
  /** The differences between the two configurations, as `comparePermissions` reports them. */
  readonly diff: readonly Difference[]
}
