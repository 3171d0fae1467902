import type { JsonObject, WhereConfig } from '../../../core/types.js'

/** All permissions, by collection. They depend on the configuration alone (CONTRACT.md §8). */
export interface PermissionMatrix {
  /** In the order of the configuration. */
  readonly collections: readonly CollectionMatrix[]
  /** The claims: values of `$user.<name>` in conditions, which come from other documents. */
  readonly claims: readonly MatrixClaim[]
}

/** The rights of each kind of caller to the documents of one collection. */
export interface CollectionMatrix {
  readonly name: string
  /**
   * The roles that its permissions name. For a caller with several of them, those that mention an operation decide
   * about writing, tried in this order; reading adds up.
   */
  readonly roles: readonly string[]
  /**
   * Anonymous, signed in, then each role of the configuration; each signed-in kind is followed by its rights as an
   * owner.
   */
  readonly callers: readonly CallerMatrix[]
}

/** A kind of caller: anonymous, signed in without a role, or with this one role. */
export type MatrixCaller =
  | { readonly kind: 'anonymous' | 'user' }
  | { readonly kind: 'role'; readonly role: string }

/** The rights of one kind of caller. An empty list: none. */
export interface CallerMatrix {
  readonly caller: MatrixCaller
  /** Whether these are the rights to documents that the caller created. */
  readonly isOwner: boolean
  /** Absent for owners, because their documents exist already. The rules are tried in order, and one runs. */
  readonly create?: readonly MatrixRule[]
  /** `POST /auth/register`: for anonymous callers on `users`, if the service keeps the accounts. */
  readonly register?: readonly MatrixRule[]
  /** The rules add up: a document shows the fields of all that match it. */
  readonly read: readonly MatrixRule[]
  /** For documents that `read` shows. The rules are tried in order, and one runs. */
  readonly update: readonly MatrixRule[]
  /** For documents that `read` shows. The rules add up. */
  readonly delete: readonly MatrixRule[]
}

/** The operations of a `CallerMatrix`. */
export type MatrixOperation = 'create' | 'register' | 'read' | 'update' | 'delete'

/** One rule, or several with the same effect. */
export interface MatrixRule {
  /** The JSON pointers of the rules. None for the fields that registration accepts without a rule. */
  readonly pointers: readonly string[]
  /** The stored documents that it applies to; `null`: all. */
  readonly where: MatrixCondition | null
  /** The top-level fields that it shows, or accepts from a body; `null` for a delete. */
  readonly fields: MatrixFields | null
  /** Values that replace those of the body. */
  readonly set: JsonObject
  /** The condition on the document as it would be stored; `null`: none. */
  readonly check: MatrixCondition | null
}

/** A condition on documents. */
export interface MatrixCondition {
  /** In words: `status = "published"`. */
  readonly text: string
  readonly where: WhereConfig
  /** The JSON pointers of the conditions. */
  readonly pointers: readonly string[]
}

/**
 * Top-level fields, in the order of the schema: all that can be read or written at all (a secret is never shown, only
 * the service writes system fields and the verified field), only some, or all but some. `_id` is always shown.
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
