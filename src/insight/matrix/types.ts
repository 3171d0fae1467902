import type { JsonObject, WhereConfig } from '../../types.js'

/** Who may do what in all, by collection. What it says depends on the configuration alone (CONTRACT.md §8). */
export interface PermissionMatrix {
  /** In the order of the configuration. */
  readonly collections: readonly CollectionMatrix[]
  /** What stands as `$user.<name>` in conditions, through other documents. */
  readonly claims: readonly MatrixClaim[]
}

/** What each kind of caller may do with the documents of one collection. */
export interface CollectionMatrix {
  readonly name: string
  /**
   * The roles that its permissions name. Of a caller with several of them, those that mention an operation decide
   * about writing, tried in this order; reading adds up.
   */
  readonly roles: readonly string[]
  /** Anonymous, signed in, then each role of the configuration; behind each of those its rights as an owner. */
  readonly callers: readonly CallerMatrix[]
}

/** A kind of caller: nobody known, somebody signed in who has no role, or somebody who has this one role. */
export type MatrixCaller =
  | { readonly kind: 'anonymous' | 'user' }
  | { readonly kind: 'role'; readonly role: string }

/** What one kind of caller may do. An empty list: nothing. */
export interface CallerMatrix {
  readonly caller: MatrixCaller
  /** Whether this is about documents that the caller created. */
  readonly isOwner: boolean
  /** Absent for owners: what exists already is not created. The rules are tried in their order, one runs. */
  readonly create?: readonly MatrixRule[]
  /** `POST /auth/register`: for anonymous callers on `users`, where the service keeps the accounts. */
  readonly register?: readonly MatrixRule[]
  /** The rules add up: a document shows the fields of all that match it. */
  readonly read: readonly MatrixRule[]
  /** Of documents that `read` shows. The rules are tried in their order, and one runs. */
  readonly update: readonly MatrixRule[]
  /** Of documents that `read` shows. The rules add up. */
  readonly delete: readonly MatrixRule[]
}

/** The operations of a `CallerMatrix`. */
export type MatrixOperation = 'create' | 'register' | 'read' | 'update' | 'delete'

/** What one rule allows, or several that come to the same. */
export interface MatrixRule {
  /** Where the configuration says so, as JSON pointers. None for what registration accepts without a rule. */
  readonly pointers: readonly string[]
  /** Which stored documents; `null`: all. */
  readonly where: MatrixCondition | null
  /** Which top-level fields it shows, or accepts from a body; `null` for a delete. */
  readonly fields: MatrixFields | null
  /** Values that replace those of the body. */
  readonly set: JsonObject
  /** What a document must satisfy as it would be stored; `null`: nothing. */
  readonly check: MatrixCondition | null
}

/** A condition on documents. */
export interface MatrixCondition {
  /** In words: `status = "published"`. */
  readonly text: string
  readonly where: WhereConfig
  /** Where the configuration says so, as JSON pointers. */
  readonly pointers: readonly string[]
}

/**
 * Top-level fields, in the order of the schema: all that can be read or written at all (a secret is never shown, the
 * service alone writes system fields and the verified field), only some, or all but some. `_id` is always shown.
 */
export type MatrixFields =
  | { readonly kind: 'all' }
  | { readonly kind: 'only' | 'except'; readonly names: readonly string[] }

/** A claim in words. */
export interface MatrixClaim {
  readonly name: string
  readonly from: string
  readonly take: string
  readonly condition: MatrixCondition
}
