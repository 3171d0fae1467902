import type { CollectionTypes, Flat } from '../infer/collections.js'
import type { CallOptions } from './account-types.js'
import type { Direction, FieldIn, FilterOf, IsLoose, ValueAt } from './query-types.js'

type Scalar = string | number | boolean

/** How a field divides documents into groups: by value, by an interval of time in UTC, or between ascending edges. */
export type GroupForm =
  | 'value'
  | 'hour'
  | 'day'
  | 'week'
  | 'month'
  | 'year'
  | readonly (string | number | Date)[]

type ElementOf<V> = V extends readonly (infer I)[] ? I : V

/** The paths of `T` whose values, or the elements of whose arrays, are of type `V`. */
type PathTo<T extends CollectionTypes, V, Arrays extends boolean = false> =
  IsLoose<T> extends true ? string : FieldIn<T['document'], V, Arrays>

type ValueIn<T extends CollectionTypes, Path extends string> =
  IsLoose<T> extends true ? Scalar : ElementOf<ValueAt<T['document'], Path>>

/** The fields of `by`, in the order of the groups' keys. */
export type GroupBy<T extends CollectionTypes> = { readonly [Path in PathTo<T, Scalar, true>]?: GroupForm }

export type NumberPath<T extends CollectionTypes> = PathTo<T, number>
export type OrderedPath<T extends CollectionTypes> = PathTo<T, Scalar>

/** The paths of each list of measures. */
interface Lists {
  readonly sum: string
  readonly avg: string
  readonly min: string
  readonly max: string
}

/** The options of `aggregate`. */
export interface AggregateOptions<T extends CollectionTypes, B, L extends Lists, N extends boolean>
  extends CallOptions {
  readonly q?: FilterOf<T>
  readonly by?: B
  readonly sum?: readonly L['sum'][]
  readonly avg?: readonly L['avg'][]
  readonly min?: readonly L['min'][]
  readonly max?: readonly L['max'][]
  /** The order of the groups, by what the query asks for. Default: by their keys. */
  readonly sort?: {
    readonly [name in
      | (keyof B & string)
      | '$count'
      | { [K in keyof Lists]: `$${K}.${L[K]}` }[keyof Lists]]?: Direction
  }
  readonly skip?: number | undefined
  /** The maximum number of groups to return. Default: all. */
  readonly limit?: number
  /** Whether to return the number of all groups, too. */
  readonly total?: N
}

/** The values of one list of measures; no property without the list. */
type Measured<Name extends keyof Lists, Paths extends string, Values> = [Paths] extends [never]
  ? unknown
  : { readonly [K in Name]: Values }

/** A group of an aggregate. A key, an average, a minimum and a maximum may be `null`. */
export type Group<T extends CollectionTypes, B, L extends Lists> = Flat<
  {
    readonly key: { readonly [Path in keyof B & string]: ValueIn<T, Path> | null }
    readonly count: number
  } & Measured<'sum', L['sum'], { readonly [Path in L['sum']]: number }> &
    Measured<'avg', L['avg'], { readonly [Path in L['avg']]: number | null }> &
    Measured<'min', L['min'], { readonly [Path in L['min']]: ValueIn<T, Path> | null }> &
    Measured<'max', L['max'], { readonly [Path in L['max']]: ValueIn<T, Path> | null }>
>

/** The groups of an aggregate with `total: true`, and the number of all groups. */
export interface GroupPage<G> {
  readonly groups: G[]
  readonly total: number
}
