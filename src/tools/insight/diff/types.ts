import type { ServicePlan } from '../../../core/config/plan.js'
import type { JsonObject } from '../../../core/types.js'

/** Two compiled configurations. */
export interface Plans {
  readonly before: ServicePlan
  readonly after: ServicePlan
  readonly authenticate: boolean
}

/** The kind of request for one document. */
export type DocumentOperation = 'read' | 'create' | 'patch' | 'put' | 'delete'

/**
 * The kind of a difference. `widening`: something is shown or stored now that was not before. `narrowing`: the reverse.
 * `changed`: any other difference.
 */
export type DifferenceKind = 'widening' | 'narrowing' | 'changed'

/** A caller in the form that `as()` accepts; `null` is an anonymous caller. */
export type WitnessCaller = (JsonObject & { readonly id: string; readonly roles: readonly string[] }) | null

/** The stored documents of a counterexample, by collection. */
export type WitnessDocuments = { readonly [collection: string]: readonly JsonObject[] }

/** The request of a counterexample. */
export interface WitnessRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: JsonObject
}

/**
 * A counterexample that can be run: the two configurations respond to its request differently. Where a field or a
 * collection has another name in `after`, the names are those of `before`, and `after` has its own form of the same
 * caller, documents or request.
 */
export interface Witness {
  readonly caller: WitnessCaller
  /** The caller by the names of `after`; absent if that is the same. */
  readonly callerAfter?: WitnessCaller
  /** The stored documents, by collection. In the collection of the request, the requested document comes first. */
  readonly documents: WitnessDocuments
  /** The stored documents by the names of `after`; absent if these are the same. */
  readonly documentsAfter?: WitnessDocuments
  readonly request: WitnessRequest
  /** The request by the names of `after`; absent if that is the same. */
  readonly requestAfter?: WitnessRequest
  /** The time of the request. */
  readonly now: string
}

/** A difference that a request for one document shows. */
export interface PermissionDifference {
  readonly kind: DifferenceKind
  /** The name of the collection in `after`, or in `before` if only `before` has it. */
  readonly collection: string
  readonly operation: DocumentOperation
  /** The top-level names that differ, as `after` has them; empty if the whole response differs. */
  readonly fields: readonly string[]
  /** The smallest set of roles that sees the difference; `null` if anonymous callers see it. */
  readonly roles: readonly string[] | null
  /** Whether the difference needs a document that `before` would reject, or store with additional defaults. */
  readonly stale: boolean
  readonly witness: Witness
  /** The consequences of the difference in other collections. */
  readonly follows: readonly string[]
}

/** A difference of schemas, limits or `auth`. */
export interface StructureDifference {
  readonly kind: 'schema' | 'limits' | 'auth'
  /** The JSON pointer to the part that differs: in `after`, or in `before` if only `before` has it. */
  readonly pointer: string
  /** Absent if the part did not exist. */
  readonly before?: unknown
  /** Absent if the part no longer exists. */
  readonly after?: unknown
  readonly follows: readonly string[]
}

/** An operation that could not be compared completely. There may be more differences than those reported. */
export interface UndecidedDifference {
  readonly kind: 'undecided'
  readonly collection: string
  readonly operation: DocumentOperation
  /** The limit that was exceeded. */
  readonly reason: 'decisions' | 'patterns'
}

/** A difference between two configurations (CONTRACT.md §8, "Diff"). */
export type Difference = PermissionDifference | StructureDifference | UndecidedDifference
