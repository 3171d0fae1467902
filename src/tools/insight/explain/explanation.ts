import type { Fault } from '../../../core/errors.js'
import type { RuleOperation } from '../../../core/permissions/grants.js'
import type { Caller, JsonObject, OperatorName, RuleConfig } from '../../../core/types.js'
import type { Difference } from '../diff/types.js'

/** A request to explain, with the stored documents and the time. */
export interface ExplainedRequest {
  /** In the form of `handler.as()`; `null` is anonymous. */
  readonly caller: Caller | null
  readonly method: string
  /** Below the base path; may hold a query. */
  readonly path: string
  /** A string is sent as is, anything else as JSON, as the client of this package does. */
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
  /** The stored documents, by collection, in the form of `createMemoryAdapter`. */
  readonly documents?: { readonly [collection: string]: readonly unknown[] }
  /** The time of the request: milliseconds since 1970, or a timestamp. Default: now. */
  readonly now?: number | string
}

/** The reason of an answer (CONTRACT.md §8, "Explain"). */
export interface Explanation {
  readonly request: { readonly method: string; readonly path: string; readonly caller: Caller | null }
  /** All subjects of the caller: `*`, `user`, `owner` of own documents, roles. */
  readonly subjects: readonly string[]
  readonly answer: ExplainedAnswer
  /** The decisions of the service, in their order. */
  readonly judgements: readonly Judgement[]
  /** Whether there were more, which are left out. */
  readonly isCut: boolean
  /** The right without which the request was rejected; `null` if it was not, or for another reason. */
  readonly missing: MissingRight | null
  /** The first grant that would have let the request through; `null` if there is none. */
  readonly suggestion: Suggestion | null
}

/** The handler's answer. */
export interface ExplainedAnswer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** `undefined` for an answer without a body, and for a stream of changes. */
  readonly body: unknown
  /** The code of an error response. */
  readonly code: string | null
  readonly detail: string | null
  readonly errors: readonly Fault[]
  /** The names in `Ignored-Properties`. */
  readonly ignored: readonly string[]
}

/** The decision about one operation on one stored document, or on the document that a body would create. */
export interface Judgement {
  readonly operation: RuleOperation
  readonly collection: string
  /** Its place in a batch or a bulk, as a JSON pointer into the body; else empty. */
  readonly place: string
  /** The `_id`; `null` if no stored document was read. */
  readonly document: string | null
  readonly isGranted: boolean
  /** One for each subject of the caller, in the order in which they are tried. */
  readonly rules: readonly JudgedRule[]
}

/**
 * The outcome of a subject's rule. `granted`: it shows the document, or lets it be written. `silent`: the subject does
 * not mention the operation. `refused`: its grant is `false`. `outranked`: a more specific subject mentions the
 * operation. `where`, `set`, `faults`, `check`: the part that failed. `granted-before`: another rule had run already.
 * `open`: no document was read.
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
  | 'granted-before'
  | 'open'

/** The decision of a subject's rule about an operation. */
export interface JudgedRule {
  readonly subject: string
  /** Its place in the configuration; `null` for a subject that does not mention the operation. */
  readonly pointer: string | null
  readonly verdict: RuleVerdict
  /** The condition on the stored document; `null` if there is none, or it was not evaluated. */
  readonly where: JudgedCondition | null
  /** The condition on the document as it would be stored. */
  readonly check: JudgedCondition | null
  /** The variables of its `set` that the caller lacks, or has in another form than the field. */
  readonly lacking: readonly string[]
  /** The properties of the body, or of the document, that it drops. */
  readonly dropped: readonly DroppedProperty[]
  readonly faults: readonly Fault[]
}

/** A property that a rule drops, and the line that drops it; `null` if no line does. */
export interface DroppedProperty {
  readonly name: string
  readonly by: string | null
  readonly why: 'pick' | 'omit' | 'set' | 'role' | 'service'
}

/** A condition, evaluated on one document. */
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
  /** As written in the configuration. */
  readonly operand: unknown
  /** Its value for this caller; absent if it has no variable, or the caller lacks it. */
  readonly bound?: unknown
  /** Whether it is false because the caller lacks a value. */
  readonly isLacking: boolean
  /** The value of the document; absent if it has none. */
  readonly found?: unknown
}

/** A right that a caller did not have. */
export interface MissingRight {
  readonly operation: RuleOperation
  readonly collection: string
  /** The `_id`; `null` if no single document is concerned. */
  readonly document: string | null
}

/** A grant that would have let a request through. */
export interface Suggestion {
  readonly collection: string
  readonly subject: string
  /** The new rules of the subject, by operation. */
  readonly rules: { readonly [operation in RuleOperation]?: true | RuleConfig }
  /** The names that its rules did not accept before. */
  readonly names: readonly string[]
  /** The number of added conditions. */
  readonly conditions: number
  /** The change of the configuration, as a JSON patch (RFC 6902). */
  readonly patch: readonly [{ readonly op: 'add'; readonly path: string; readonly value: JsonObject }]
  /** The differences that `comparePermissions` reports. */
  readonly diff: readonly Difference[]
}
