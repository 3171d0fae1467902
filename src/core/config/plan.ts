import type { Field } from '../fields/field-type.js'
import type { BodyValidator } from '../fields/schema/validator.js'
import type { Ordered } from '../filter/compare.js'
import type { ComparableType, FieldRef, Scalar } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import type { CompiledPermissions } from '../permissions/grants.js'
import type { Where } from '../query/where.js'
import type { CollectionPlan } from '../storage.js'
import type { JsonObject, Limits } from '../types.js'

/** A compiled collection: everything about it that does not depend on a request. */
export interface Collection {
  readonly name: string
  /** The declared fields, in the schema's order. */
  readonly fields: readonly Field[]
  /** The fields that a query may name, by path: with system fields, without hashes. */
  readonly paths: ReadonlyMap<string, Field>
  readonly hashes: readonly Field[]
  /** The fields that are references, or contain one. */
  readonly referring: readonly Field[]
  readonly additionalProperties: boolean
  readonly permissions: CompiledPermissions
  /** Reads patterns and caches the compiled ones; all collections share it. */
  readonly parsePattern: ParsePattern
  readonly validate: BodyValidator
  /** The names of the required fields that a hook fills: a new document may lack them until the hook has run. */
  readonly fills: ReadonlySet<string>
  /** The name of the role field; `null` for every collection but `users`. */
  readonly roleField: string | null
  /** The name of the field of the verification time; `null` for every collection but `users`. */
  readonly verifiedField: string | null
  readonly storage: CollectionPlan
  /** Whether clients may subscribe to its changes. */
  readonly hasChanges: boolean
}

/** The fields and settings of accounts, if the service keeps them. */
export interface AuthPlan {
  readonly users: Collection
  readonly identifier: Field
  readonly secret: Field
  readonly register: boolean
  readonly sessionMilliseconds: number
  /** The most sessions of an account. */
  readonly sessions: number
  readonly cost: number
  /** The field of the verification time of an account; `null` for none. */
  readonly verified: Field | null
  /** Whether an account is valid only after its verification. */
  readonly requiresVerified: boolean
  readonly resetMilliseconds: number
}

/** A reference field, and the effect of deleting the document to which it refers. */
export interface Referrer {
  readonly collection: string
  readonly field: FieldRef
  readonly onDelete: 'restrict' | 'cascade' | 'unset'
}

/** Two fields that must have the same value: of a document, and of the one to which it refers. */
export interface MatchPair {
  readonly here: FieldRef
  readonly there: FieldRef
  readonly readHere: (document: JsonObject) => Ordered
  readonly readThere: (document: JsonObject) => Ordered
}

/** A reference whose target must have the same values in some fields. */
export interface Match {
  /** The field of the reference; all elements of an array share it. */
  readonly field: Field
  /** The same field as filters see it. */
  readonly ref: FieldRef
  /** The collection with the reference. */
  readonly collection: string
  readonly target: string
  readonly pairs: readonly MatchPair[]
}

/** All matches, by the collection with the reference, and by its target. */
export interface Matches {
  readonly from: ReadonlyMap<string, readonly Match[]>
  readonly to: ReadonlyMap<string, readonly Match[]>
}

/** Values of a caller that come from other documents (CONTRACT.md §5, "Claims"). */
export interface Claim {
  readonly name: string
  /** The collection of the documents. */
  readonly from: string
  readonly where: Where
  /** The field with the values. */
  readonly taken: FieldRef & { readonly type: ComparableType }
  /** The value of a document; `undefined` for none. */
  readonly take: (document: JsonObject) => Scalar | undefined
}

/** The collections whose changes are logged. */
export interface LoggedPlan {
  /** Those with `changes`, and those that determine a caller's rights. */
  readonly collections: ReadonlySet<string>
  /** The whole configuration as JSON: a stream does not resume under another one. */
  readonly configuration: string
}

/** A warning about valid configuration that a running service should not have. */
export interface ConfigWarning {
  /** Stable, lower_snake (CONTRACT.md §8, "Check"). */
  readonly code: string
  /** A JSON pointer into the configuration. */
  readonly path: string
  readonly message: string
}

/** A configuration, compiled and immutable. */
export interface ServicePlan {
  readonly collections: ReadonlyMap<string, Collection>
  /** `null` if the service keeps no accounts. */
  readonly auth: AuthPlan | null
  readonly claims: ReadonlyMap<string, Claim>
  /** The collections whose documents claims are read from. */
  readonly claimed: ReadonlySet<string>
  readonly limits: Limits
  /** By the collection that the references point to. */
  readonly referrers: ReadonlyMap<string, readonly Referrer[]>
  readonly matches: Matches
  /** The logged collections; `null` if no collection has `changes`. */
  readonly log: LoggedPlan | null
  /** Valid configuration that a running service should not have. */
  readonly warnings: readonly ConfigWarning[]
}
