import type { Pattern } from './pattern/syntax/pattern.js'

/** What a stored value is compared with. `null` is not among them: it means "missing", see `present`. */
export type Scalar = string | number | boolean

/** The types whose values can be compared and ordered. */
export type ComparableType = 'string' | 'timestamp' | 'number' | 'integer' | 'boolean'

/** The declared type of a field, as far as filters and sorts care. */
export type ValueType = ComparableType | 'object' | 'array' | 'json'

/**
 * A declared place in a document. `path` is dotted and reaches into objects, never into arrays. With `each`, the place
 * holds an array and a comparison holds when any element of `type` satisfies it; with `inside`, what lies at that path
 * inside any element does. A stored value that is not of `type` counts as missing.
 */
export interface FieldRef {
  readonly path: string
  readonly type: ValueType
  readonly each: boolean
  readonly inside?: string
}

export type ComparisonKind = 'eq' | 'lt' | 'lte' | 'gt' | 'gte'

/**
 * Which documents: a closed tree of plain JSON. Every leaf is false on a missing value, so `not(leaf)` is how "is
 * missing" and "differs" are said; an empty `and` is everything, an empty `or` nothing. `matches` is its meaning.
 */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly Filter[] }
  | { readonly kind: 'not'; readonly filter: Filter }
  | { readonly kind: ComparisonKind; readonly field: FieldRef; readonly value: Scalar }
  | { readonly kind: 'match'; readonly field: FieldRef; readonly pattern: Pattern }
  | { readonly kind: 'present'; readonly field: FieldRef }

/** What every document has. */
export const ID: FieldRef = Object.freeze({ path: '_id', type: 'string', each: false })

/** Matches the document of an `_id`. */
export const isId = (id: string): Filter => ({ kind: 'eq', field: ID, value: id })

/** Matches every document. */
export const everything: Filter = Object.freeze({ kind: 'and', filters: Object.freeze([]) })

/** Matches no document. */
export const nothing: Filter = Object.freeze({ kind: 'or', filters: Object.freeze([]) })

export const isEverything = (filter: Filter): boolean => filter.kind === 'and' && filter.filters.length === 0

export const isNothing = (filter: Filter): boolean => filter.kind === 'or' && filter.filters.length === 0

/** All of `filters`, flattened; `everything` is left out and `nothing` decides. */
export function and(filters: readonly Filter[]): Filter {
  const parts = filters.flatMap((filter) => (filter.kind === 'and' ? filter.filters : [filter]))
  if (parts.some(isNothing)) return nothing
  if (parts.length === 0) return everything
  return (parts.length === 1 && parts[0]) || { kind: 'and', filters: parts }
}

/** Any of `filters`, flattened; `nothing` is left out and `everything` decides. */
export function or(filters: readonly Filter[]): Filter {
  const parts = filters.flatMap((filter) => (filter.kind === 'or' ? filter.filters : [filter]))
  if (parts.some(isEverything)) return everything
  if (parts.length === 0) return nothing
  return (parts.length === 1 && parts[0]) || { kind: 'or', filters: parts }
}

export function not(filter: Filter): Filter {
  if (isEverything(filter)) return nothing
  if (isNothing(filter)) return everything
  return filter.kind === 'not' ? filter.filter : { kind: 'not', filter }
}

/** A leaf of a filter: a condition on one field. */
export type Leaf = Exclude<Filter, { readonly kind: 'and' | 'or' | 'not' }>

/** The same filter with every leaf replaced. */
export function mapLeaves(filter: Filter, replace: (leaf: Leaf) => Filter): Filter {
  switch (filter.kind) {
    case 'and':
      return and(filter.filters.map((part) => mapLeaves(part, replace)))
    case 'or':
      return or(filter.filters.map((part) => mapLeaves(part, replace)))
    case 'not':
      return not(mapLeaves(filter.filter, replace))
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
    case 'match':
    case 'present':
      return replace(filter)
    default:
      return filter satisfies never
  }
}
