import type { ServicePlan } from '../../config/plan.js'
import type { JsonObject } from '../../types.js'

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

/** A case that two configurations answer differently, and that can be run. */
export interface Witness {
  readonly caller: WitnessCaller
  /** What is stored, by collection; of the one at hand the document that is asked for comes first. */
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
  /** The top-level names that it is about; none where it is about the whole answer. */
  readonly fields: readonly string[]
  /** The smallest set of roles that sees it; `null` where one need not be signed in. */
  readonly roles: readonly string[] | null
  /** Whether it needs a document that `before` would refuse, or complete by a default. */
  readonly stale: boolean
  readonly witness: Witness
  /** What else follows from it. */
  readonly follows: readonly string[]
}

/** A difference of structure. */
export interface StructureDifference {
  readonly kind: 'schema' | 'limits' | 'auth'
  /** The JSON pointer of what differs. */
  readonly pointer: string
  /** Absent where there was nothing. */
  readonly before?: unknown
  /** Absent where there is nothing now. */
  readonly after?: unknown
  readonly follows: readonly string[]
}

/** An operation that was not decided to the end: there may be differences beside those that are named. */
export interface UndecidedDifference {
  readonly kind: 'undecided'
  readonly collection: string
  readonly operation: DocumentOperation
  /** What was too much. */
  readonly reason: 'decisions' | 'patterns'
}

/** A difference between two configurations (CONTRACT.md §8, "Diff"). */
export type Difference = PermissionDifference | StructureDifference | UndecidedDifference
