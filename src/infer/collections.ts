import type { Document, FieldTypeName, JsonObject } from '../core/types.js'

/** The same type, written out: `infer` makes the compiler show its properties instead of its origin. */
export type Flat<T> = T extends infer O ? { [K in keyof O]: O[K] } : never

/** The string keys of an object, written out too. */
type KeyOf<T> = [keyof T & string] extends [infer K extends string] ? K : never

/** The names in a part of a configuration that is keyed by name, without `$comment`. */
export type NameOf<S> = Exclude<keyof S, '$comment'>

type Choice<D, V> = D extends { readonly enum: readonly (infer E)[] } ? E : V

/** `T`, checked: it must list every type except those that contain other fields. */
type Total<T extends { readonly [type in Exclude<FieldTypeName, 'array' | 'object'>]: unknown }> = T

/** A field's value in JSON by the type of the field, for types that read and write the same value. */
type Values<D> = Total<{
  readonly string: Choice<D, string>
  readonly hash: string
  readonly number: Choice<D, number>
  readonly integer: Choice<D, number>
  readonly boolean: boolean
  readonly timestamp: string
  readonly json: unknown
  readonly reference: string
}>

type ScalarValue<D> = D extends { readonly type: infer T extends keyof Values<unknown> }
  ? Values<D>[T]
  : unknown

type IsRequired<D> = D extends { readonly required: true } ? true : false
type HasDefault<D> = D extends { readonly default: unknown } ? true : false
type IsHash<D> = D extends { readonly type: 'hash' } ? true : false

type ShownValue<D> = D extends { readonly type: 'array'; readonly items: infer I }
  ? readonly ShownValue<I>[]
  : D extends { readonly type: 'object'; readonly properties: infer P }
    ? ShownFields<P>
    : ScalarValue<D>

/** Whether every document has a field; a read rule may still hide it. */
type IsThere<D> = IsHash<D> extends true ? false : IsRequired<D> extends true ? true : HasDefault<D>

/**
 * The fields of a schema as they are read: required fields and those with a default are always present, the others are
 * optional; hash fields are excluded.
 */
type ShownFields<S> = Flat<
  { readonly [K in keyof S as IsThere<S[K]> extends true ? K : never]: ShownValue<S[K]> } & {
    readonly [K in keyof S as IsHash<S[K]> | IsThere<S[K]> extends false
      ? K & NameOf<S>
      : never]?: ShownValue<S[K]>
  }
>

type Nullable<D> = D extends { readonly nullable: true } ? null : never

/** The value of a scalar field in a body. JSON writes a `Date` as text. */
type GivenScalar<D> = D extends { readonly type: 'timestamp' } ? string | Date : ScalarValue<D>

type GivenValue<D> = D extends { readonly type: 'array'; readonly items: infer I }
  ? readonly GivenValue<I>[]
  : D extends { readonly type: 'object'; readonly properties: infer P }
    ? GivenFields<P, never>
    : GivenScalar<D>

type MustBeGiven<D> = IsRequired<D> extends true ? (HasDefault<D> extends true ? false : true) : false

/** The fields of a schema in the body of a new document; those in `Set` are optional: a rule's `set` fills them. */
type GivenFields<S, Set> = Flat<
  {
    readonly [K in keyof S as MustBeGiven<S[K]> extends true ? Exclude<K, Set> : never]: GivenValue<S[K]>
  } & {
    readonly [K in keyof S as MustBeGiven<S[K]> extends true ? Extract<K, Set> : K & NameOf<S>]?:
      | GivenValue<S[K]>
      | Nullable<S[K]>
  }
>

type PatchValue<D> = D extends { readonly type: 'object'; readonly properties: infer P }
  ? PatchFields<P>
  : GivenValue<D>

/** The fields of a schema in a merge patch: all optional; `null` removes one that is not required. */
type PatchFields<S> = Flat<{
  readonly [K in keyof S as K & NameOf<S>]?: PatchValue<S[K]> | (IsRequired<S[K]> extends true ? never : null)
}>

/** Every reference of a schema, or array of references, as a pair of its dotted path and its collection. */
type ReferencePair<S, Prefix extends string = ''> = {
  [K in keyof S & string]: S[K] extends { readonly type: 'reference'; readonly collection: infer T }
    ? readonly [`${Prefix}${K}`, T]
    : S[K] extends {
          readonly type: 'array'
          readonly items: { readonly type: 'reference'; readonly collection: infer T }
        }
      ? readonly [`${Prefix}${K}`, T]
      : S[K] extends { readonly type: 'object'; readonly properties: infer P }
        ? ReferencePair<P, `${Prefix}${K}.`>
        : never
}[keyof S & string]

/** The types of one collection: what `collection-service types` prints for each. */
export interface CollectionTypes {
  /** A document as it is read. */
  readonly document: object
  /** The body of a new document. */
  readonly create: object
  /** A merge patch. */
  readonly update: object
  /** The paths of references, with the collections that they lead to. */
  readonly references: object
  /** For `users` only: how accounts are addressed. */
  readonly account?: AccountTypes
}

/** The parts of `auth` that the types of account calls depend on. */
export interface AccountTypes {
  /** The name of the identifier. */
  readonly identifier: string
  /** Whether an account is active only after its verification: then a registration does not sign in. */
  readonly requireVerified: boolean
}

/** A collection with a known name and unknown types. */
export interface LooseCollection {
  readonly document: Document
  readonly create: JsonObject
  readonly update: JsonObject
  readonly references: { readonly [path: string]: string }
}

/** Collections without known types. */
export interface LooseCollections {
  readonly [name: string]: LooseCollection
}

/** The system fields. A read rule may hide them, except `_id`. */
interface SystemFields {
  readonly createdAt: string
  readonly updatedAt: string
  readonly createdBy: string | null
}

/**
 * Whether a schema's types were widened, as in an import of a JSON file; they then do not describe a document.
 */
type IsWide<S> = [NameOf<S>] extends [never]
  ? false
  : string extends keyof S
    ? true
    : S[NameOf<S>] extends { readonly type: infer T }
      ? string extends T
        ? true
        : false
      : true

/** The properties that a document may have beside those of its schema. */
type Undeclared<C> = C extends { readonly additionalProperties: true } ? JsonObject : unknown

/** The names that the `set` of some rule fills on create. */
type SetName<C> = C extends { readonly permissions: infer P } ? SetNameOf<P[keyof P]> : never
type SetNameOf<G> = G extends { readonly create: { readonly set: infer V } } ? KnownName<V> : never
/** The known names of a value; none where the keys are any string. */
type KnownName<V> = string extends keyof V ? never : NameOf<V>

/** The field of `users` that only the service writes (CONTRACT.md §4, "Verification"). */
type VerifiedField<C> = C extends { readonly auth: { readonly verifiedField: infer F extends string } }
  ? string extends F
    ? never
    : F
  : never

/** A schema without the fields that no body contains. */
type GivenIn<S, Ours> = [Ours] extends [never] ? S : { readonly [K in keyof S as Exclude<K, Ours>]: S[K] }

/** The configuration of a service whose hooks fill the fields `F`, by collection. */
export type FilledBy<C, F> = keyof FilledIn<F> extends never ? C : C & { readonly '~fills': FilledIn<F> }

/** The collections whose fields hooks fill; empty where the compiler has found none. */
type FilledIn<F> = {
  readonly [P in keyof F as unknown extends F[P] ? never : [F[P]] extends [never] ? never : P]: F[P]
}

/** The names of the fields of a collection that a hook fills. */
type FillOf<C, K> = C extends { readonly '~fills': infer F } ? (K extends keyof F ? F[K] : never) : never

/**
 * The types of a collection; `Common`: references of all collections, `Ours`: the fields that no body contains, `Fill`:
 * the fields that a hook fills.
 */
type TypesOf<C, Common, Ours, Fill> = C extends { readonly schema: infer S }
  ? IsWide<S> extends true
    ? LooseCollection
    : {
        readonly document: Flat<{ readonly _id: string } & ShownFields<S> & SystemFields & Undeclared<C>>
        readonly create: Flat<GivenFields<GivenIn<S, Ours>, SetName<C> | Fill> & Undeclared<C>>
        readonly update: Flat<PatchFields<GivenIn<S, Ours>> & Undeclared<C>>
        readonly references: { readonly [P in ReferencePair<S> as P[0]]: P[1] } & Common
      }
  : LooseCollection

/** The names of the unique strings of a schema. */
type UniqueStringOf<S> = {
  [K in NameOf<S>]: S[K] extends { readonly type: 'string'; readonly unique: true } ? K : never
}[NameOf<S>]

/** The identifier of a configuration: the configured one, else the one unique string of `users`. */
type IdentifierOf<C, S> = C extends { readonly auth: { readonly identifier: infer K extends string } }
  ? K
  : UniqueStringOf<S>

/** The names of the hash fields of a schema. */
type HashOf<S> = {
  [K in NameOf<S>]: S[K] extends { readonly type: 'hash' } ? K : never
}[NameOf<S>]

/** The secret of a configuration: the configured one, else the one hash field of `users`. */
type SecretOf<C, S> = C extends { readonly auth: { readonly secret: infer K extends string } } ? K : HashOf<S>

/** The reference from `createdBy` to the accounts, if there are accounts (CONTRACT.md §2, "Expand"). */
type CreatedBy<C> = C extends { readonly collections: { readonly users: { readonly schema: infer S } } }
  ? [IdentifierOf<C, S>] extends [never]
    ? unknown
    : [HashOf<S>] extends [never]
      ? unknown
      : { readonly createdBy: 'users' }
  : unknown

type RequireVerified<C> = C extends {
  readonly auth: { readonly requireVerified: infer B extends boolean }
}
  ? B
  : false

/** The account types of the collection `users`. */
type AccountOf<C, K, U> = K extends 'users'
  ? U extends { readonly schema: infer S }
    ? [IdentifierOf<C, S>] extends [never]
      ? unknown
      : {
          readonly account: {
            readonly identifier: IdentifierOf<C, S>
            readonly secret: SecretOf<C, S>
            readonly requireVerified: RequireVerified<C>
          }
        }
    : unknown
  : unknown

type IsConfig<C> = C extends { readonly collections: infer N }
  ? N[NameOf<N>] extends { readonly schema: object }
    ? true
    : false
  : false

/**
 * The types of all collections, by name: derived from the type of a configuration, or of a service, which also knows
 * which fields its hooks fill; or `C` itself where it is such a map, as `collection-service types` prints it. Otherwise
 * the collections have loose types.
 */
export type CollectionsOf<C> = TypedCollectionsOf<ConfigIn<C>>

/** The configuration of a service, else the type itself. */
type ConfigIn<C> = '~config' extends keyof C ? Exclude<C['~config'], undefined> : C

type TypedCollectionsOf<C> =
  IsConfig<C> extends true
    ? C extends { readonly collections: infer N }
      ? {
          readonly [K in keyof N as K & NameOf<N>]: TypesOf<
            N[K],
            CreatedBy<C>,
            K extends 'users' ? VerifiedField<C> : never,
            FillOf<C, K>
          > &
            AccountOf<C, K, N[K]>
        }
      : never
    : C extends { readonly [K in keyof C]: CollectionTypes }
      ? C
      : LooseCollections

/** The names of the collections. */
export type CollectionName<C> = KeyOf<CollectionsOf<C>>

type PartOf<C, N, P extends keyof CollectionTypes> = N extends keyof CollectionsOf<C>
  ? CollectionsOf<C>[N] extends { readonly [K in P]: infer T }
    ? T
    : never
  : never

/**
 * A document as it is read: fields that are required or have a default are always present, the others are optional. The
 * type includes fields that a read rule hides from the caller.
 */
export type DocumentOf<C, N extends CollectionName<C>> = PartOf<C, N, 'document'>

/** The body of a new document, without the system fields, which the service sets. */
export type CreateBodyOf<C, N extends CollectionName<C>> = PartOf<C, N, 'create'>

/** A merge patch: only the fields that change; `null` removes one. */
export type UpdateBodyOf<C, N extends CollectionName<C>> = PartOf<C, N, 'update'>
