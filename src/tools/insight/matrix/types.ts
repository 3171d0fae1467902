import type { JsonObject, WhereConfig } from '../../../core/types.js'

/** All permissions, by collection. They depend only on the configuration (CONTRACT.md §8). */
export interface PermissionMatrix {
  /** The collections in the order of the configuration. */
  readonly collections: readonly CollectionMatrix[]
  /** The claims: values of `$user.<name>` that come from documents. */
  readonly claims: readonly MatrixClaim[]
}

/** The rights of each kind of caller to the documents of one collection. */
export interface CollectionMatrix {
  readonly name: string
  /**
   * The roles that the permissions of the collection name. If a caller has several of them, the roles that mention an
   * operation decide a write, in this order. For reads, their rights add up.
   */
  readonly roles: readonly string[]
  /**
   * Anonymous callers, then signed-in callers without a role, then each role of the configuration. After each signed-in
   * kind, its rights to documents that the caller created follow.
   */
  readonly callers: readonly CallerMatrix[]
}

/** A kind of caller: anonymous, signed in without a role, or signed in with exactly this role. */
export type MatrixCaller =
  | { readonly kind: 'anonymous' | 'user' }
  | { readonly kind: 'role'; readonly role: string }

/** The rights of one kind of caller. An empty list means no right. */
export interface CallerMatrix {
  readonly caller: MatrixCaller
  /** Whether these are the rights to documents that the caller created. */
  readonly isOwner: boolean
  /**
   * Absent if `isOwner` is true, because the caller's own documents already exist. The rules are tried in order, and
   * one of them runs.
   */
  readonly create?: readonly MatrixRule[]
  /** The rules of `POST /auth/register`. Only for anonymous callers in `users`, if the service keeps accounts. */
  readonly register?: readonly MatrixRule[]
  /** The rules add up: a document shows the fields of all rules that match it. */
  readonly read: readonly MatrixRule[]
  /** Only for documents that `read` shows. The rules are tried in order, and one of them runs. */
  readonly update: readonly MatrixRule[]
  /** Only for documents that `read` shows. A delete is allowed if any of the rules allows it. */
  readonly delete: readonly MatrixRule[]
}

/** The operations of a `CallerMatrix`. */
export type MatrixOperation = 'create' | 'register' | 'read' | 'update' | 'delete'

/** One rule, or several rules with the same effect. */
export interface MatrixRule {
  /** The JSON pointers of the rules. Empty for the fields that registration accepts without a rule. */
  readonly pointers: readonly string[]
  /** The condition that selects stored documents; `null` if the rule applies to all of them. */
  readonly where: MatrixCondition | null
  /** The top-level fields that the rule shows, or accepts from a body; `null` for a delete. */
  readonly fields: MatrixFields | null
  /** Values that replace those of the body. */
  readonly set: JsonObject
  /** The condition on the document as it would be stored; `null` if there is none. */
  readonly check: MatrixCondition | null
}

/** A condition on documents. */
export interface MatrixCondition {
  /** The condition in words, such as `status = "published"`. */
  readonly text: string
  readonly where: WhereConfig
  /** The JSON pointers of the condition. Rules that were joined have several. */
  readonly pointers: readonly string[]
}

/**
 * A set of top-level fields, in the order of the schema: all fields, only some, or all except some. `all` means every
 * field that can be read or written at all. A secret is never shown, and only the service writes system fields and the
 * verified field. `_id` is always shown and not listed.
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
