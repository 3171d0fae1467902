import type { Field } from '../fields/field-type.js'
import type { BodyValidator } from '../fields/schema/validator.js'
import type { Ordered } from '../filter/compare.js'
import type { ComparableType, FieldRef, Scalar } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import type { CompiledPermissions } from '../permissions/grants.js'
import type { Where } from '../query/where.js'
import type { CollectionPlan } from '../storage.js'
import type { Config, JsonObject, Limits } from '../types.js'

/** A compiled collection: everything that does not depend on a request. */
export interface Collection {
  readonly name: string
  /** Its name in the storage, and whether the configuration says so. */
  readonly storedName: string
  readonly isStoredExplicitly: boolean
  /** The stored names whose values a run removes, if it is told to. */
  readonly erase: readonly string[]
  /** The declared fields, in the schema's order. */
  readonly fields: readonly Field[]
  /** The fields that a query may name, by path. System fields are included, hashes are not. */
  readonly paths: ReadonlyMap<string, Field>
  readonly hashes: readonly Field[]
  /** The fields that are references or contain references. */
  readonly referring: readonly Field[]
  readonly additionalProperties: boolean
  /**
   * The names that undeclared properties cannot have, because fields are stored under them, or were under an earlier
   * configuration. The latter are added when the storage is opened.
   */
  readonly reserved: Set<string>
  readonly permissions: CompiledPermissions
  /** Parses patterns and caches compiled patterns. All collections share it. */
  readonly parsePattern: ParsePattern
  readonly validate: BodyValidator
  /**
   * The names of the required fields that a hook fills. A new document may lack them until the hook has run.
   */
  readonly fills: ReadonlySet<string>
  /** The name of the role field; `null` for every collection except `users`. */
  readonly roleField: string | null
  /** The name of the field with the verification time; `null` for every collection except `users`. */
  readonly verifiedField: string | null
  readonly storage: CollectionPlan
  /** Whether clients may subscribe to the changes of the collection. */
  readonly hasChanges: boolean
}

/** The fields and settings of accounts, if the service keeps accounts. */
export interface AuthPlan {
  readonly users: Collection
  readonly identifier: Field
  readonly secret: Field
  readonly register: boolean
  readonly sessionMilliseconds: number
  /** The maximum number of sessions of an account. */
  readonly sessions: number
  readonly cost: number
  /** The field with the verification time of an account; `null` if there is none. */
  readonly verified: Field | null
  /** Whether an account is valid only after its verification. */
  readonly requiresVerified: boolean
  readonly resetMilliseconds: number
  /** The cookie of sessions; `null` if sessions are not in cookies. */
  readonly cookie: CookiePlan | null
}

/** The cookie of sessions (CONTRACT.md §4, "Sessions in cookies"). */
export interface CookiePlan {
  readonly name: string
  /** The name without a prefix that needs a secure origin. */
  readonly bare: string
  readonly path: string
  readonly sameSite: 'Lax' | 'Strict'
  /** The origins of pages that may send the cookie with writes. */
  readonly origins: ReadonlySet<string>
}

/** A reference field, and the effect of deleting the document to which it refers. */
export interface Referrer {
  readonly collection: string
  readonly field: FieldRef
  readonly onDelete: 'restrict' | 'cascade' | 'unset'
}

/**
 * Two fields that must have the same value: `here` in a document, `there` in the document to which it refers.
 */
export interface MatchPair {
  readonly here: FieldRef
  readonly there: FieldRef
  readonly readHere: (document: JsonObject) => Ordered
  readonly readThere: (document: JsonObject) => Ordered
}

/** A reference that requires its target to have the same values in some fields. */
export interface Match {
  /** The field of the reference. All elements of an array share one field. */
  readonly field: Field
  /** The field of the reference as filters see it. */
  readonly ref: FieldRef
  /** The collection that contains the reference. */
  readonly collection: string
  readonly target: string
  readonly pairs: readonly MatchPair[]
}

/** All matches, by the collection that contains the reference (`from`) and by that of its target (`to`). */
export interface Matches {
  readonly from: ReadonlyMap<string, readonly Match[]>
  readonly to: ReadonlyMap<string, readonly Match[]>
}

/** Values of a caller that come from other documents (CONTRACT.md §5, "Claims"). */
export interface Claim {
  readonly name: string
  /** The collection of the documents that contain the values. */
  readonly from: string
  readonly where: Where
  /** The names of the claims that `where` uses. Such a claim uses no claims itself. */
  readonly bases: readonly string[]
  /** The field that contains the values. */
  readonly taken: FieldRef & { readonly type: ComparableType }
  /** Returns the value in a document; `undefined` if the document has none. */
  readonly take: (document: JsonObject) => Scalar | undefined
}

/** The collections whose changes are logged. */
export interface LoggedPlan {
  /** The collections that have `changes`, and the collections that determine a caller's permissions. */
  readonly collections: ReadonlySet<string>
  /** The whole configuration as JSON. A stream does not resume after the configuration has changed. */
  readonly configuration: string
}

/** A compiled, immutable configuration. */
export interface ServicePlan {
  readonly collections: ReadonlyMap<string, Collection>
  /** `null` if the service keeps no accounts. */
  readonly auth: AuthPlan | null
  readonly claims: ReadonlyMap<string, Claim>
  /** The collections from which claims read documents. */
  readonly claimed: ReadonlySet<string>
  readonly limits: Limits
  /** The names of the migrations, in their order. */
  readonly migrations: readonly string[]
  /** The referrers, by the collection to which the references point. */
  readonly referrers: ReadonlyMap<string, readonly Referrer[]>
  readonly matches: Matches
  /** The logged collections; `null` if no collection has `changes`. */
  readonly log: LoggedPlan | null
  /** The configuration as it was written, without comments. */
  readonly config: Partial<Config>
}
