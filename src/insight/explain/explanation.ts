import type { Fault } from '../../errors.js'
import type { RuleOperation } from '../../permissions/grants.js'
import type { Caller, JsonObject, OperatorName, RuleConfig } from '../../types.js'
import type { Difference } from '../diff/types.js'

/** A request to explain, and what it meets. */
export interface ExplainedRequest {
  /** As `handler.as()` takes it; `null` is an anonymous one. */
  readonly caller: Caller | null
  readonly method: string
  /** Below the base path; may hold a query. */
  readonly path: string
  /** A text is sent as it is, anything else as JSON, as the client of this package writes it. */
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
  /** What is stored, by collection, as `createMemoryAdapter` takes it. */
  readonly documents?: { readonly [collection: string]: readonly unknown[] }
  /** The time of the request: milliseconds since 1970, or a timestamp. Default: now. */
  readonly now?: number | string
}

/** Why a request is answered as it is (CONTRACT.md §8, "Explain"). */
export interface Explanation {
  readonly request: { readonly method: string; readonly path: string; readonly caller: Caller | null }
  /** What the caller is in all: `*`, `user`, `owner` of own documents, roles. */
  readonly subjects: readonly string[]
  readonly answer: ExplainedAnswer
  /** What was judged, in this order. */
  readonly judgements: readonly Judgement[]
  /** Whether there are more, which are left out. */
  readonly isCut: boolean
  /** The right without which the request was refused; `null` where it was not, or for another reason. */
  readonly missing: MissingRight | null
  /** The first grant that would have let the request through; `null` where there is none. */
  readonly suggestion: Suggestion | null
}

/** The handler's answer. */
export interface ExplainedAnswer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** `undefined` where there is none, and for a stream of changes. */
  readonly body: unknown
  /** The code of a problem. */
  readonly code: string | null
  readonly detail: string | null
  readonly errors: readonly Fault[]
  /** The names that `Ignored-Properties` holds. */
  readonly ignored: readonly string[]
}

/** One operation on one document, or on what a body would make. */
export interface Judgement {
  readonly operation: RuleOperation
  readonly collection: string
  /** Where it stands in a batch or a bulk, as a JSON pointer into the body; else empty. */
  readonly place: string
  /** The `_id`; `null` where no document was looked at. */
  readonly document: string | null
  readonly isGranted: boolean
  /** One for each subject that the caller is, in the order in which they count. */
  readonly rules: readonly JudgedRule[]
}

/**
 * What became of a subject's rule. `granted`: it shows the document, or lets it be written. `silent`: the subject does
 * not mention the operation. `refused`: it says `false`. `outranked`: a more specific subject mentions the operation.
 * `where`, `set`, `faults`, `check`: what it failed by. `granted-before`: another one had run already. `open`: no
 * document was looked at.
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

/** A subject's word about an operation. */
export interface JudgedRule {
  readonly subject: string
  /** Its place in the configuration; `null` for a subject that does not mention the operation. */
  readonly pointer: string | null
  readonly verdict: RuleVerdict
  /** What the stored document had to meet; `null` where nothing was asked, or nothing looked at. */
  readonly where: JudgedCondition | null
  /** What the document as it would be stored had to meet. */
  readonly check: JudgedCondition | null
  /** The variables of its `set` that the caller lacks, or holds in another form than the field. */
  readonly lacking: readonly string[]
  /** The properties of the body, or of the document, that it takes away. */
  readonly dropped: readonly DroppedProperty[]
  readonly faults: readonly Fault[]
}

/** A property that a rule takes away, and the line that says so; `null` where no line does. */
export interface DroppedProperty {
  readonly name: string
  readonly by: string | null
  readonly why: 'pick' | 'omit' | 'set' | 'role' | 'service'
}

/** A condition, judged on one document. */
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
  /** As the configuration says it. */
  readonly operand: unknown
  /** What that was for this caller; absent where no variable is in it, or the caller lacks it. */
  readonly bound?: unknown
  /** Whether it is false because of what the caller lacks. */
  readonly isLacking: boolean
  /** What the document holds; absent where it holds nothing. */
  readonly found?: unknown
}

/** A right that a caller did not have. */
export interface MissingRight {
  readonly operation: RuleOperation
  readonly collection: string
  /** The `_id`; `null` where it is not about one document. */
  readonly document: string | null
}

/** A grant that would have let a request through. */
export interface Suggestion {
  readonly collection: string
  readonly subject: string
  /** What the subject's rules become, by operation. */
  readonly rules: { readonly [operation in RuleOperation]?: true | RuleConfig }
  /** The names that its rules did not accept before. */
  readonly names: readonly string[]
  /** How many conditions were added. */
  readonly conditions: number
  /** The change of the configuration, as a JSON patch (RFC 6902). */
  readonly patch: readonly [{ readonly op: 'add'; readonly path: string; readonly value: JsonObject }]
  /** What `comparePermissions` says of it. */
  readonly diff: readonly Difference[]
}
