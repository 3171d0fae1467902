import type { Field } from '../fields/field-type.js'
import type { FieldRef } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import type { CompiledPermissions } from '../permissions/grants.js'
import type { QueryParser } from '../query/raw-query.js'
import type { BodyValidator } from '../schema/validator.js'
import type { CollectionPlan } from '../storage.js'
import type { Limits } from '../types.js'

/** A collection, compiled: all that can be known of it before the first request. */
export interface Collection {
  readonly name: string
  /** What the schema declares, in its order. */
  readonly fields: readonly Field[]
  /** Whatever a query may name, by path; system fields included, hashes not. */
  readonly paths: ReadonlyMap<string, Field>
  readonly hashes: readonly Field[]
  /** Whether a document can refer to others. */
  readonly hasReferences: boolean
  readonly additionalProperties: boolean
  readonly permissions: CompiledPermissions
  /** Knows the patterns that it has read, as one for all collections. */
  readonly parsePattern: ParsePattern
  readonly validate: BodyValidator
  /** The name of the role field, on the collection of accounts. */
  readonly roleField: string | null
  readonly storage: CollectionPlan
}

/** How accounts work, where the service keeps them. */
export interface AuthPlan {
  readonly users: Collection
  readonly identifier: Field
  readonly secret: Field
  readonly register: boolean
  readonly sessionMilliseconds: number
  readonly cost: number
}

/** A place where documents of a collection refer to those of another, and what becomes of them when those are deleted. */
export interface Referrer {
  readonly collection: string
  readonly field: FieldRef
  readonly onDelete: 'restrict' | 'cascade'
}

/** A configuration, compiled. Nobody changes it afterwards. */
export interface ServicePlan {
  readonly collections: ReadonlyMap<string, Collection>
  /** `null` where `users` keeps no secrets. */
  readonly auth: AuthPlan | null
  readonly limits: Limits
  /** Knows the query strings that it has taken apart. */
  readonly parseQuery: QueryParser
  /** By the collection that is referred to. */
  readonly referrers: ReadonlyMap<string, readonly Referrer[]>
  /** What a running service should not have, but may. */
  readonly warnings: readonly string[]
}
