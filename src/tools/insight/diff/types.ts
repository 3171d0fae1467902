import type { ServicePlan } from '../../../core/config/plan.js'
import type { JsonObject } from '../../../core/types.js'

/** Two configurations, compiled. */
export interface Plans {
  readonly before: ServicePlan
  readonly after: ServicePlan
  readonly authenticate: boolean
}

/** A request for one document. */
export type DocumentOperation = 'read' | 'create' | 'patch' | 'put' | 'delete'

/** `widening`: shown or stored now, not before. `narrowing`: the reverse. `changed`: any other difference. */
export type DifferenceKind = 'widening' | 'narrowing' | 'changed'

/** A caller as `as()` takes one; `null` is anonymous. */
export type WitnessCaller = (JsonObject & { readonly id: string; readonly roles: readonly string[] }) | null

/** A counterexample that can be run: two configurations answer it differently. */
export interface Witness {
  readonly caller: WitnessCaller
  /** The stored documents, by collection; in the collection of the request, the requested document comes first. */
  readonly documents: { readonly [collection: string]: readonly JsonObject[] }
  readonly request: {
    readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
    readonly path: string
    readonly body?: JsonObject
  }
  /** The time of the request. */
  readonly now: string
}

/** A difference that a request for one document shows. */
export interface PermissionDifference {
  readonly kind: DifferenceKind
  readonly collection: string
  readonly operation: DocumentOperation
  /** The top-level names that differ; none if the whole answer does. */
  readonly fields: readonly string[]
  /** The smallest set of roles that sees it; `null` if anonymous callers do. */
  readonly roles: readonly string[] | null
  /** Whether it needs a document that `before` would reject, or complete by a default. */
  readonly stale: boolean
  readonly witness: Witness
  /** Its consequences elsewhere. */
  readonly follows: readonly string[]
}

/** A difference of structure. */
export interface StructureDifference {
  readonly kind: 'schema' | 'limits' | 'auth'
  /** The JSON pointer of the part that differs. */
  readonly pointer: string
  /** Absent if it did not exist. */
  readonly before?: unknown
  /** Absent if it no longer exists. */
  readonly after?: unknown
  readonly follows: readonly string[]
}

/** An operation that was not decided completely: there may be more differences than those named. */
export interface UndecidedDifference {
  readonly kind: 'undecided'
  readonly collection: string
  readonly operation: DocumentOperation
  /** The limit that was exceeded. */
  readonly reason: 'decisions' | 'patterns'
}

/** A difference between two configurations (CONTRACT.md §8, "Diff"). */
export type Difference = PermissionDifference | StructureDifference | UndecidedDifference
