import type { Document, FieldTypeName, JsonObject } from '../core/types.js'

/** Resolves to `T`. Because of `infer`, the compiler shows the properties of `T` instead of its name. */
export type Flat<T> = T extends infer O ? { [K in keyof O]: O[K] } : never

/** The string keys of an object. The compiler shows them as a union, because of `infer`. */
type KeyOf<T> = [keyof T & string] extends [infer K extends string] ? K : never

/** The keys of a part of a configuration, such as `collections` or `schema`, without `$comment`. */
export type NameOf<S> = Exclude<keyof S, '$comment'>

type Choice<D, V> = D extends { readonly enum: readonly (infer E)[] } ? E : V

/**
 * Resolves to `T`. Does not compile if `T` lacks a field type, except `array` and `object`, which contain other fields.
 */
type Total<T extends { readonly [type in Exclude<FieldTypeName, 'array' | 'object'>]: unknown }> = T

/** The JSON value of a field with definition `D`, by field type. It is the same in reads and writes. */
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

/** Whether every document has a value for the field, although a read rule may hide it. */
type IsThere<D> = IsHash<D> extends true ? false : IsRequired<D> extends true ? true : HasDefault<D>

/**
 * The fields of a schema in a document that is read. Fields that are required or have a default are always present,
 * other fields are optional, and hash fields are missing.
 */
type ShownFields<S> = Flat<
  { readonly [K in keyof S as IsThere<S[K]> extends true ? K : never]: ShownValue<S[K]> } & {
    readonly [K in keyof S as IsHash<S[K]> | IsThere<S[K]> extends false
      ? K & NameOf<S>
      : never]?: ShownValue<S[K]>
  }
>

type Nullable<D> = D extends { readonly nullable: true } ? null : never

/** The value of a scalar field in a request body. A timestamp may be a `Date`, because JSON writes it as a string. */
type GivenScalar<D> = D extends { readonly type: 'timestamp' } ? string | Date : ScalarValue<D>

type GivenValue<D> = D extends { readonly type: 'array'; readonly items: infer I }
  ? readonly GivenValue<I>[]
  : D extends { readonly type: 'object'; readonly properties: infer P }
    ? GivenFields<P, never>
    : GivenScalar<D>

type MustBeGiven<D> = IsRequired<D> extends true ? (HasDefault<D> extends true ? false : true) : false

/**
 * The fields of a schema in the body of a new document. Fields in `Set` are optional, because the `set` of a rule fills
 * them.
 */
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

/** The fields of a schema in a merge patch. All are optional; `null` removes a field that is not required. */
type PatchFields<S> = Flat<{
  readonly [K in keyof S as K & NameOf<S>]?: PatchValue<S[K]> | (IsRequired<S[K]> extends true ? never : null)
}>

/**
 * For each reference and array of references in a schema, a pair of its dotted path and the collection that it refers
 * to.
 */
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

/** The types of one collection, in the form that `collection-service types` prints. */
export interface CollectionTypes {
  /** A document in an answer. */
  readonly document: object
  /** The body of a new document. */
  readonly create: object
  /** The body of an update, a merge patch. */
  readonly update: object
  /** The collection that each reference refers to, by the path of the reference. */
  readonly references: object
  /** The names of the account fields; present only for `users`. */
  readonly account?: AccountTypes
}

/** The parts of the configuration's `auth` on which the types of the account calls depend. */
export interface AccountTypes {
  /** The name of the field that identifies an account. */
  readonly identifier: string
  /** Whether an account is active only after its verification. If so, a registration does not sign in. */
  readonly requireVerified: boolean
}

/** A collection with a known name and unknown types. */
export interface LooseCollection {
  readonly document: Document
  readonly create: JsonObject
  readonly update: JsonObject
  readonly references: { readonly [path: string]: string }
}

/** Collections whose names and types are unknown. */
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
 * Whether the compiler has widened the literals of a schema to `string`, as it does for an imported JSON file. Such a
 * schema does not say which fields a document has.
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

/** The properties that a document may have in addition to the fields of its schema. */
type Undeclared<C> = C extends { readonly additionalProperties: true } ? JsonObject : unknown

/** The names of the fields that the `set` of at least one rule fills on create. */
type SetName<C> = C extends { readonly permissions: infer P } ? SetNameOf<P[keyof P]> : never
type SetNameOf<G> = G extends { readonly create: infer R }
  ? R extends readonly (infer E)[]
    ? SetNameIn<E>
    : SetNameIn<R>
  : never
type SetNameIn<R> = R extends { readonly set: infer V } ? KnownName<V> : never
/** The names of the properties of a type; `never` if its keys are any string. */
type KnownName<V> = string extends keyof V ? never : NameOf<V>

/**
 * The field of `users` that says whether an account is verified; only the service writes it (CONTRACT.md §4,
 * "Verification").
 */
type VerifiedField<C> = C extends { readonly auth: { readonly verifiedField: infer F extends string } }
  ? string extends F
    ? never
    : F
  : never

/** A schema without the fields in `Ours`, which only the service writes. */
type GivenIn<S, Ours> = [Ours] extends [never] ? S : { readonly [K in keyof S as Exclude<K, Ours>]: S[K] }

/** The type `C` of a configuration, extended with `F`: by collection, the fields that hooks fill. */
export type FilledBy<C, F> = keyof FilledIn<F> extends never ? C : C & { readonly '~fills': FilledIn<F> }

/** The part of `F` that is known: the collections for which the compiler has found the names of the filled fields. */
type FilledIn<F> = {
  readonly [P in keyof F as unknown extends F[P] ? never : [F[P]] extends [never] ? never : P]: F[P]
}

/** The names of the fields that a hook of the collection `K` fills. */
type FillOf<C, K> = C extends { readonly '~fills': infer F } ? (K extends keyof F ? F[K] : never) : never

/**
 * The types of a collection. `Common` are the references that all collections have, `Ours` the fields that only the
 * service writes, and `Fill` the fields that a hook fills.
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

/** The names of the unique string fields of a schema. */
type UniqueStringOf<S> = {
  [K in NameOf<S>]: S[K] extends { readonly type: 'string'; readonly unique: true } ? K : never
}[NameOf<S>]

/** The name of the identifier field: the configured name, or else the only unique string field of `users`. */
type IdentifierOf<C, S> = C extends { readonly auth: { readonly identifier: infer K extends string } }
  ? K
  : UniqueStringOf<S>

/** The names of the hash fields of a schema. */
type HashOf<S> = {
  [K in NameOf<S>]: S[K] extends { readonly type: 'hash' } ? K : never
}[NameOf<S>]

/** The name of the secret field: the configured name, or else the only hash field of `users`. */
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
 * The types of all collections, by name. They are derived from the type of a configuration, or of a service, whose type
 * also contains the fields that its hooks fill. If `C` already is a map of such types, as `collection-service types`
 * prints it, the result is `C`. If `C` is any other type, the collections have loose types.
 */
export type CollectionsOf<C> = TypedCollectionsOf<ConfigIn<C>>

/** The type of the configuration if `C` is the type of a service, or else `C` itself. */
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
 * A document in an answer. Fields that are required or have a default are always present, other fields are optional.
 * The type also contains fields that a read rule hides from the caller.
 */
export type DocumentOf<C, N extends CollectionName<C>> = PartOf<C, N, 'document'>

/** The body of a new document. It does not contain the system fields, because the service sets them. */
export type CreateBodyOf<C, N extends CollectionName<C>> = PartOf<C, N, 'create'>

/** The body of an update, a merge patch. It contains only the fields that change; `null` removes a field. */
export type UpdateBodyOf<C, N extends CollectionName<C>> = PartOf<C, N, 'update'>
