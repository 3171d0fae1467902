import type { AuthConfig, CollectionConfig, Config, FieldDefinition, RuleConfig } from '../types.js'

type SystemName = '_id' | 'createdAt' | 'updatedAt' | 'createdBy'

type CompositeType = 'array' | 'object' | 'reference'

type DefinitionOf<T> = Extract<FieldDefinition, { readonly type: T }>

/** A field definition whose references lead to one of `Target`. */
type Definition<Target> =
  | Exclude<FieldDefinition, { readonly type: CompositeType }>
  | (Omit<DefinitionOf<'array'>, 'items'> & { readonly items: Definition<Target> })
  | (Omit<DefinitionOf<'object'>, 'properties'> & {
      readonly properties: { readonly [name: string]: Definition<Target> }
    })
  | (Omit<DefinitionOf<'reference'>, 'collection'> & { readonly collection: Target })

type Names<Name> = { readonly pick?: readonly Name[]; readonly omit?: readonly Name[] }

type Rule<Name, Kept extends keyof RuleConfig> = boolean | (Pick<RuleConfig, Kept> & Names<Name>)

/** A grant whose rules name fields out of `Name`. */
type Grant<Name> =
  | boolean
  | {
      readonly create?: Rule<Name, 'check' | 'set'>
      readonly read?: Rule<Name | SystemName, 'where'>
      readonly update?: Rule<Name, 'where' | 'check' | 'set'>
      readonly delete?: boolean | Pick<RuleConfig, 'where'>
    }
  | Names<Name>

type NameIn<C> = C extends { readonly schema: infer S } ? keyof S & string : string

/** What `pick` and `omit` may name. */
type RuleNameIn<C> = C extends { readonly additionalProperties: true } ? string : NameIn<C>

type Collection<C, Target> = Omit<CollectionConfig, 'schema' | 'permissions' | 'indexes'> & {
  readonly schema: { readonly [field: string]: Definition<Target> }
  readonly permissions?: { readonly [subject: string]: Grant<RuleNameIn<C>> }
  readonly indexes?: readonly {
    readonly fields: readonly (NameIn<C> | SystemName)[]
    readonly unique?: boolean
  }[]
}

type CollectionsIn<C> = C extends { readonly collections: infer N } ? N : never

type UserField<C> = CollectionsIn<C> extends { readonly users: infer U } ? NameIn<U> : string

/** A configuration in which names that point at something are those of `C`. */
type ConsistentConfig<C> = Omit<Config, 'collections' | 'auth'> & {
  readonly collections: {
    readonly [K in keyof CollectionsIn<C>]: Collection<CollectionsIn<C>[K], keyof CollectionsIn<C>>
  }
  readonly auth?: Omit<AuthConfig, 'identifier' | 'secret' | 'roleField'> & {
    readonly [K in 'identifier' | 'secret' | 'roleField']?: UserField<C>
  }
}

/** The types of all fields. */
type FieldTypesIn<N> = {
  [K in keyof N]: N[K] extends { readonly schema: infer S } ? TypeIn<S[keyof S]> : never
}[keyof N]

type TypeIn<D> = D extends { readonly type: infer T } ? T : never

/**
 * What a configuration of type `C` is checked against: itself where its types were widened, as in an import of a JSON
 * file, so that only the service itself can tell what is wrong.
 */
export type ConfigInput<C> = string extends FieldTypesIn<CollectionsIn<C>> ? C : ConsistentConfig<C>
