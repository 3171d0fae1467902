import type { Field } from '../fields/field-type.js'
import type { Ordered } from '../filter/compare.js'
import type { ComparableType, FieldRef, Scalar } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import type { CompiledPermissions } from '../permissions/grants.js'
import type { Where } from '../query/where.js'
import type { BodyValidator } from '../schema/validator.js'
import type { CollectionPlan } from '../storage.js'
import type { JsonObject, Limits } from '../types.js'

/** A collection, compiled: all that is known of it before the first request. */
export interface Collection {
  readonly name: string
  /** The declared fields, in the schema's order. */
  readonly fields: readonly Field[]
  /** What a query may name, by path: with system fields, without hashes. */
  readonly paths: ReadonlyMap<string, Field>
  readonly hashes: readonly Field[]
  /** Those of the fields that refer to other documents, or hold something that does. */
  readonly referring: readonly Field[]
  readonly additionalProperties: boolean
  readonly permissions: CompiledPermissions
  /** Reads patterns and keeps the compiled ones; all collections share it. */
  readonly parsePattern: ParsePattern
  readonly validate: BodyValidator
  /** The names of the required fields that a hook fills: a new document may lack them until the hook was asked. */
  readonly fills: ReadonlySet<string>
  /** The name of the role field; `null` for every collection but `users`. */
  readonly roleField: string | null
  /** The name of the field that the service alone writes; `null` for every collection but `users`. */
  readonly verifiedField: string | null
  readonly storage: CollectionPlan
  /** Whether its changes are told. */
  readonly hasChanges: boolean
}

/** The fields and rules of accounts, where the service keeps them. */
export interface AuthPlan {
  readonly users: Collection
  readonly identifier: Field
  readonly secret: Field
  readonly register: boolean
  readonly sessionMilliseconds: number
  /** The most sessions of an account. */
  readonly sessions: number
  readonly cost: number
  /** The timestamp that says since when an account is verified; `null` where none is. */
  readonly verified: Field | null
  /** Whether an account counts only once it is verified. */
  readonly requiresVerified: boolean
  readonly resetMilliseconds: number
}

/** A field by which documents refer to another collection, and what a delete there does to them. */
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

/** A reference that only names documents which agree with its own. */
export interface Match {
  /** The field of the reference; all elements of an array share it. */
  readonly field: Field
  /** The same as filters see it. */
  readonly ref: FieldRef
  /** The collection whose documents refer. */
  readonly collection: string
  readonly target: string
  readonly pairs: readonly MatchPair[]
}

/** All matches, by the collection that refers, and by the one that is referred to. */
export interface Matches {
  readonly from: ReadonlyMap<string, readonly Match[]>
  readonly to: ReadonlyMap<string, readonly Match[]>
}

/** What a caller is through other documents (CONTRACT.md §5, "Claims"). */
export interface Claim {
  readonly name: string
  /** The collection of the documents. */
  readonly from: string
  readonly where: Where
  /** Where the values are. */
  readonly taken: FieldRef & { readonly type: ComparableType }
  /** The value that a document gives; `undefined` where it gives none. */
  readonly take: (document: JsonObject) => Scalar | undefined
}

/** The collections whose changes are logged. */
export interface LoggedPlan {
  /** Those with `changes`, and those that tell who a caller is. */
  readonly collections: ReadonlySet<string>
  /** The whole configuration as JSON: under another one, no stream goes on. */
  readonly configuration: string
}

/** What a configuration permits, but a running service should not have. */
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
  /** `null` where the service keeps no accounts. */
  readonly auth: AuthPlan | null
  readonly claims: ReadonlyMap<string, Claim>
  /** The collections whose documents claims are read from. */
  readonly claimed: ReadonlySet<string>
  readonly limits: Limits
  /** By the collection that the references point to. */
  readonly referrers: ReadonlyMap<string, readonly Referrer[]>
  readonly matches: Matches
  /** What the storage keeps a log of; `null` where no collection has `changes`. */
  readonly log: LoggedPlan | null
  /** What the configuration permits, but a running service should not have. */
  readonly warnings: readonly ConfigWarning[]
}
