import type { Field } from '../fields/field-type.js'
import type { FieldRef } from '../filter/filter.js'
import type { ParsePattern } from '../filter/pattern/parse-pattern.js'
import type { CompiledPermissions } from '../permissions/grants.js'
import type { BodyValidator } from '../schema/validator.js'
import type { CollectionPlan } from '../storage.js'
import type { Limits } from '../types.js'

/** A collection, compiled: all that is known of it before the first request. */
export interface Collection {
  readonly name: string
  /** The declared fields, in the schema's order. */
  readonly fields: readonly Field[]
  /** What a query may name, by path: with system fields, without hashes. */
  readonly paths: ReadonlyMap<string, Field>
  readonly hashes: readonly Field[]
  /** Whether a document can refer to others. */
  readonly hasReferences: boolean
  readonly additionalProperties: boolean
  readonly permissions: CompiledPermissions
  /** Reads patterns and keeps the compiled ones; all collections share it. */
  readonly parsePattern: ParsePattern
  readonly validate: BodyValidator
  /** The name of the role field; `null` for every collection but `users`. */
  readonly roleField: string | null
  readonly storage: CollectionPlan
}

/** The fields and rules of accounts, where the service keeps them. */
export interface AuthPlan {
  readonly users: Collection
  readonly identifier: Field
  readonly secret: Field
  readonly register: boolean
  readonly sessionMilliseconds: number
  readonly cost: number
}

/** A field by which documents refer to another collection, and what a delete there does to them. */
export interface Referrer {
  readonly collection: string
  readonly field: FieldRef
  readonly onDelete: 'restrict' | 'cascade'
}

/** A configuration, compiled and immutable. */
export interface ServicePlan {
  readonly collections: ReadonlyMap<string, Collection>
  /** `null` where the service keeps no accounts. */
  readonly auth: AuthPlan | null
  readonly limits: Limits
  /** By the collection that the references point to. */
  readonly referrers: ReadonlyMap<string, readonly Referrer[]>
  /** What the configuration permits, but a running service should not have. */
  readonly warnings: readonly string[]
}
