import type { Document, OperatorName } from '../core/types.js'
import type { CollectionTypes, Flat, LooseCollection } from '../infer/collections.js'

type Scalar = string | number | boolean

/** The names of a type's declared properties, without its index signature. */
type Declared<D> = keyof {
  readonly [K in keyof D as string extends K ? never : number extends K ? never : K]: K
} &
  string

type Stated<V> = Exclude<V, null | undefined>

type IsObject<V> = unknown extends V
  ? false
  : V extends readonly unknown[]
    ? false
    : V extends object
      ? true
      : false

/** Each path of a document with the type of its value, as pairs. The paths lead into objects, but not into arrays. */
type Pair<D, Prefix extends string = ''> = {
  [K in Declared<D> & keyof D]-?:
    | readonly [`${Prefix}${K}`, Stated<D[K]>]
    | (IsObject<Stated<D[K]>> extends true ? Pair<Stated<D[K]>, `${Prefix}${K}.`> : never)
}[Declared<D> & keyof D]

type PathIn<P> = P extends readonly [infer Path extends string, unknown] ? Path : never

type ValueIn<P> = P extends readonly [string, infer V] ? V : never

/** Whether the types of a collection are unknown, so that any path is allowed. */
export type IsLoose<T extends CollectionTypes> = string extends keyof T['references'] ? true : false

/**
 * The values with which a field can be compared. A `Date` is allowed for a string, because JSON writes it as a string.
 */
type Operand<V> = string extends V ? V | Date : V

interface Equality<V> {
  readonly $eq?: Operand<V> | null
  readonly $ne?: Operand<V> | null
  readonly $in?: readonly (Operand<V> | null)[]
  readonly $nin?: readonly (Operand<V> | null)[]
  readonly $exists?: boolean
}

interface Order<V> {
  readonly $gt?: V
  readonly $gte?: V
  readonly $lt?: V
  readonly $lte?: V
}

interface RegexOperator {
  /** A pattern that matches anywhere in the string. It is case-sensitive without `$options`. */
  readonly $regex?: string
  readonly $options?: 'i'
}

type Operators<V> = [V] extends [boolean]
  ? Equality<V>
  : [V] extends [number]
    ? Equality<V> & Order<number>
    : Equality<V> & Order<string | Date> & RegexOperator

interface Presence {
  readonly $exists: boolean
}

type ScalarCondition<V> = Operand<V> | null | Operators<V>

/**
 * The condition on a field with values of type `V`. A condition on an array of scalars must match one of the elements.
 */
type FieldCondition<V> = unknown extends V
  ? Presence
  : [V] extends [readonly (infer I)[]]
    ? [I] extends [Scalar]
      ? ScalarCondition<I>
      : Presence
    : [V] extends [Scalar]
      ? ScalarCondition<V>
      : Presence

type AllOperators = Equality<Scalar> & Order<number | string | Date> & RegexOperator

/** Resolves to `T`. Does not compile if `_Missing`, the names that `T` lacks, is not `never`. */
type Complete<T, _Missing extends never> = T

type LooseOperators = Complete<AllOperators, Exclude<OperatorName, keyof AllOperators>>

/** A filter on a collection whose fields are unknown. */
export interface LooseFilter {
  readonly [path: string]: Scalar | Date | null | LooseOperators | readonly LooseFilter[]
}

/** A filter on documents of type `D`. All its conditions must match and, with `$or`, at least one group of `$or`. */
export type DocumentFilter<D> = Flat<
  { readonly [P in Pair<D> as PathIn<P>]?: FieldCondition<ValueIn<P>> } & {
    readonly $or?: readonly DocumentFilter<D>[]
  }
>

/** The type of the filter `q`. */
export type FilterOf<T extends CollectionTypes> =
  IsLoose<T> extends true ? LooseFilter : DocumentFilter<T['document']>

export type Direction = 1 | -1 | 'asc' | 'desc'

type SortablePath<P> = P extends readonly [infer Path extends string, infer V]
  ? unknown extends V
    ? never
    : [V] extends [Scalar]
      ? Path
      : never
  : never

type Fits<V, Wanted> = unknown extends V ? false : [V] extends [Wanted] ? true : false

type FittingPath<P, Wanted, Arrays extends boolean> = P extends readonly [infer Path extends string, infer V]
  ? Fits<V extends readonly (infer I)[] ? (Arrays extends true ? I : V) : V, Wanted> extends true
    ? Path
    : never
  : never

/** The paths of a document whose values are of the type `Wanted`; with `Arrays`, also arrays of such values. */
export type FieldIn<D, Wanted, Arrays extends boolean = false> = FittingPath<Pair<D>, Wanted, Arrays>

/** The type of the value at a path of a document. */
export type ValueAt<D, Path extends string> =
  Extract<Pair<D>, readonly [Path, unknown]> extends readonly [string, infer V] ? V : never

/** The type of `sort`. The first key is the most important one. */
export type SortOf<T extends CollectionTypes> = Flat<{
  readonly [Path in IsLoose<T> extends true ? string : SortablePath<Pair<T['document']>>]?: Direction
}>

/** The paths that `project` may contain. */
export type PathOf<T extends CollectionTypes> = IsLoose<T> extends true ? string : PathIn<Pair<T['document']>>

/**
 * The paths that `expand` may contain: references, and references of the expanded documents, at most three in a path.
 */
export type ReferenceOf<M, T extends CollectionTypes> =
  IsLoose<T> extends true ? string : PathFrom<M, T['references'], [2, 1]>

type PathFrom<M, R, Left extends readonly unknown[]> = {
  [K in keyof R & string]:
    | K
    | (Left extends readonly [unknown, ...infer Rest] ? PathBehind<M, R[K], K, Rest> : never)
}[keyof R & string]

type PathBehind<M, N, K extends string, Left extends readonly unknown[]> = N extends keyof M
  ? M[N] extends { readonly references: infer R }
    ? `${K}.${PathFrom<M, R, Left>}`
    : never
  : never

type Keeps<P extends string, Path extends string> = Path extends P
  ? true
  : [Extract<P, `${Path}.${string}`>] extends [never]
    ? false
    : true

/** The part of a document of type `D` that `project` selects with the paths `P`. */
type Projected<D, P extends string, Prefix extends string = ''> = Flat<{
  [K in keyof D as K extends string
    ? `${Prefix}${K}` extends '_id'
      ? K
      : Keeps<P, `${Prefix}${K}`> extends true
        ? K
        : never
    : never]: K extends string
    ? `${Prefix}${K}` extends P | '_id'
      ? D[K]
      : Projected<Stated<D[K]>, P, `${Prefix}${K}.`>
    : never
}>

/** The type of a document of the collection `N` that replaces a reference, with its own references in `E` expanded. */
type ReferencedDocument<M, N, E extends string> = N extends keyof M
  ? M[N] extends { readonly document: infer D; readonly references: infer R }
    ? ExpandedOrNot<D, E, R, M>
    : Document
  : Document

/** For each path in `E` that begins with the reference at `Path`, the rest of the path: `team` for `author.team`. */
type Behind<E extends string, Path extends string> = E extends `${Path}.${infer Rest}` ? Rest : never

type Widened<V, T> = V extends readonly unknown[] ? readonly (string | T)[] : V extends string ? V | T : V

/** Resolves to `Path` if a path in `E` equals `Path` or begins with it, else to 0. */
type NamedPath<E extends string, Path extends string> = [Extract<E, Path | `${Path}.${string}`>] extends [
  never,
]
  ? 0
  : Path

/**
 * A document whose references in `E` are replaced with the documents that they refer to. An `_id` stays if the caller
 * may not see its document.
 */
type Expanded<D, E extends string, R, M, Prefix extends string = ''> = Flat<{
  [K in keyof D]: K extends string
    ? NamedPath<E, `${Prefix}${K}`> extends keyof R
      ? Widened<D[K], ReferencedDocument<M, R[`${Prefix}${K}` & keyof R], Behind<E, `${Prefix}${K}`>>>
      : [Extract<E, `${Prefix}${K}.${string}`>] extends [never]
        ? D[K]
        : IsObject<Stated<D[K]>> extends true
          ? Expanded<Stated<D[K]>, E, R, M, `${Prefix}${K}.`> | Extract<D[K], undefined>
          : D[K]
    : D[K]
}>

/**
 * A document in the answer to a request with the paths `P` in `project` and `E` in `expand`; `never` without the
 * option.
 */
export type ShownDocument<M, T extends CollectionTypes, P extends string, E extends string> =
  IsLoose<T> extends true
    ? LooseCollection['document']
    : ExpandedOrNot<[P] extends [never] ? T['document'] : Projected<T['document'], P>, E, T['references'], M>

type ExpandedOrNot<D, E extends string, R, M> = [E] extends [never] ? D : Expanded<D, E, R, M>
