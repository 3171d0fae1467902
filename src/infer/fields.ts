import type { FieldTypeName } from '../types.js'

/** The same type, written out: `infer` makes the compiler show its properties instead of its origin. */
export type Flat<T> = T extends infer O ? { [K in keyof O]: O[K] } : never

/** The string keys of an object, written out too. */
export type KeyOf<T> = [keyof T & string] extends [infer K extends string] ? K : never

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
export type ShownFields<S> = Flat<
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
export type GivenFields<S, Set> = Flat<
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
export type PatchFields<S> = Flat<{
  readonly [K in keyof S as K & NameOf<S>]?: PatchValue<S[K]> | (IsRequired<S[K]> extends true ? never : null)
}>

/** Every reference of a schema, or array of references, as a pair of its dotted path and its collection. */
export type ReferencePair<S, Prefix extends string = ''> = {
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
