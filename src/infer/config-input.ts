import type {
  AuthConfig,
  CollectionConfig,
  Commented,
  Config,
  FieldDefinition,
  RuleConfig,
  RulesConfig,
} from '../core/types.js'
import type { NameOf } from './collections.js'

type SystemName = '_id' | 'createdAt' | 'updatedAt' | 'createdBy'

type CompositeType = 'array' | 'object' | 'reference'

type DefinitionOf<T> = Extract<FieldDefinition, { readonly type: T }>

/** The fields of a schema like `S`, which may contain a `$comment`. */
type Definitions<S, Target> = {
  readonly [K in keyof S]: K extends '$comment' ? string : Definition<S[K], Target>
}

/** A field definition like `D`, whose references must refer to a collection in `Target`. */
type Definition<D, Target> =
  | Exclude<FieldDefinition, { readonly type: CompositeType }>
  | (Omit<DefinitionOf<'array'>, 'items'> & {
      readonly items: Definition<D extends { readonly items: infer I } ? I : unknown, Target>
    })
  | (Omit<DefinitionOf<'object'>, 'properties'> & {
      readonly properties: Definitions<D extends { readonly properties: infer P } ? P : unknown, Target>
    })
  | (Omit<DefinitionOf<'reference'>, 'collection'> & { readonly collection: Target })

type Names<Name> = Commented & { readonly pick?: readonly Name[]; readonly omit?: readonly Name[] }

type Rules<Name, Kept extends keyof RuleConfig> = RulesConfig<Pick<RuleConfig, Kept> & Names<Name>>

/** A grant whose rules may contain the field names `Name`. */
type Grant<Name> =
  | boolean
  | (Commented & {
      readonly create?: Rules<Name, 'check' | 'set'>
      readonly read?: Rules<Name | SystemName, 'where'>
      readonly update?: Rules<Name, 'where' | 'check' | 'set'>
      readonly delete?: RulesConfig<Pick<RuleConfig, '$comment' | 'where'>>
    })
  | Names<Name>

type SchemaIn<C> = C extends { readonly schema: infer S } ? S : unknown

type NameIn<C> = C extends { readonly schema: infer S } ? NameOf<S> & string : string

/** The names that `pick` and `omit` may contain. */
type RuleNameIn<C> = C extends { readonly additionalProperties: true } ? string : NameIn<C>

type CollectionInput<C, Target> = Omit<CollectionConfig, 'schema' | 'permissions' | 'indexes'> & {
  readonly schema: Definitions<SchemaIn<C>, Target>
  readonly permissions?: {
    readonly [K in keyof PermissionsIn<C>]: K extends '$comment' ? string : Grant<RuleNameIn<C>>
  }
  readonly indexes?: readonly (Commented & {
    readonly fields: readonly (NameIn<C> | SystemName)[]
    readonly unique?: boolean
  })[]
}

type PermissionsIn<C> = C extends { readonly permissions: infer P } ? P : unknown

type CollectionsIn<C> = C extends { readonly collections: infer N } ? N : never

type UserField<C> = CollectionsIn<C> extends { readonly users: infer U } ? NameIn<U> : string

/** The keys of `auth` that name fields of `users`. */
type AuthFieldName = 'identifier' | 'secret' | 'roleField'

/** A configuration like `C`, in which every name that refers to a field or a collection of `C` must exist there. */
type ConsistentConfig<C> = Omit<Config, 'collections' | 'auth'> & {
  readonly collections: {
    readonly [K in keyof CollectionsIn<C>]: K extends '$comment'
      ? string
      : CollectionInput<CollectionsIn<C>[K], NameOf<CollectionsIn<C>>>
  }
  readonly auth?: Omit<AuthConfig, AuthFieldName | 'verifiedField'> & {
    readonly [K in AuthFieldName]?: UserField<C>
  } & { readonly verifiedField?: UserField<C> | null }
}

/** The `type` of every field of every collection, as a union. */
type FieldTypesIn<N> = {
  [K in keyof N]: N[K] extends { readonly schema: infer S } ? TypeIn<S[keyof S]> : never
}[keyof N]

type TypeIn<D> = D extends { readonly type: infer T } ? T : never

/**
 * The type that a configuration of type `C` must have. It is `C` itself if the compiler has widened its literals to
 * `string`, as it does for an imported JSON file; then only the service can find errors.
 */
export type ConfigInput<C> = string extends FieldTypesIn<CollectionsIn<C>> ? C : ConsistentConfig<C>
