import type { Pattern } from './pattern/syntax/pattern.js'

/**
 * A value with which a stored value is compared. It cannot be `null`; `present` tests for a missing value.
 */
export type Scalar = string | number | boolean

/** The types whose values can be compared and ordered. */
export type ComparableType = 'string' | 'timestamp' | 'number' | 'integer' | 'boolean'

/** The declared type of a field, as filters and sorts see it. */
export type ValueType = ComparableType | 'object' | 'array' | 'json'

/**
 * A declared field of a document. `path` is dotted and leads through objects, never through arrays. With
 * `each`, the field is an array, and a comparison is true if it is true for at least one element of `type`.
 * With `inside`, the value at that path inside the element is compared. A stored value that is not of `type`
 * counts as missing.
 */
export interface FieldRef {
  readonly path: string
  readonly type: ValueType
  readonly each: boolean
  readonly inside?: string
}

/** Whether a column indexes this field. */
export const isOn = (field: FieldRef, column: FieldRef): boolean =>
  field.path === column.path &&
  field.type === column.type &&
  field.each === column.each &&
  field.inside === column.inside

/** Names a field unambiguously. The name contains the length of the path, because a path may contain any character. */
export const nameField = ({ path, type, each, inside = '' }: FieldRef): string =>
  `${each ? `* ${inside.length} ${inside} ` : ''}${type} ${path.length} ${path}`

/** The kinds of leaves that compare a field with a value. */
export type ComparisonKind = 'eq' | 'lt' | 'lte' | 'gt' | 'gte'

/**
 * A condition that selects documents: a tree of plain JSON with no other nodes than these. Every leaf is
 * false for a missing value, so `not(leaf)` is true for documents without the field. An empty `and` matches
 * every document, an empty `or` matches none. The function `matches` defines the meaning.
 */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly Filter[] }
  | { readonly kind: 'not'; readonly filter: Filter }
  | { readonly kind: ComparisonKind; readonly field: FieldRef; readonly value: Scalar }
  | { readonly kind: 'match'; readonly field: FieldRef; readonly pattern: Pattern }
  | { readonly kind: 'present'; readonly field: FieldRef }

export const ID: FieldRef = Object.freeze({ path: '_id', type: 'string', each: false })

/** Matches the document with an `_id`. */
export const isId = (id: string): Filter => ({ kind: 'eq', field: ID, value: id })

/** Matches every document. */
export const everything: Filter = Object.freeze({ kind: 'and', filters: Object.freeze([]) })

/** Matches no document. */
export const nothing: Filter = Object.freeze({ kind: 'or', filters: Object.freeze([]) })

/** Whether a filter is `everything`, in its simplest form. */
export const isEverything = (filter: Filter): boolean => filter.kind === 'and' && filter.filters.length === 0

/** Whether a filter is `nothing`, in its simplest form. */
export const isNothing = (filter: Filter): boolean => filter.kind === 'or' && filter.filters.length === 0

/**
 * Matches if all of `filters` match. Nested `and`s are flattened, `everything` is omitted, and one `nothing`
 * makes the whole filter `nothing`.
 */
export function and(filters: readonly Filter[]): Filter {
  const parts = filters.flatMap((filter) => (filter.kind === 'and' ? filter.filters : [filter]))
  if (parts.some(isNothing)) return nothing
  if (parts.length === 0) return everything
  return (parts.length === 1 && parts[0]) || { kind: 'and', filters: parts }
}

/**
 * Matches if any of `filters` matches. Nested `or`s are flattened, `nothing` is omitted, and one `everything`
 * makes the whole filter `everything`.
 */
export function or(filters: readonly Filter[]): Filter {
  const parts = filters.flatMap((filter) => (filter.kind === 'or' ? filter.filters : [filter]))
  if (parts.some(isEverything)) return everything
  if (parts.length === 0) return nothing
  return (parts.length === 1 && parts[0]) || { kind: 'or', filters: parts }
}

/** Splits a filter into conditions that must all be true. */
export const conditionsOf = (filter: Filter): readonly Filter[] =>
  filter.kind === 'and' ? filter.filters : [filter]

/** Matches if `filter` does not match. */
export function not(filter: Filter): Filter {
  if (isEverything(filter)) return nothing
  if (isNothing(filter)) return everything
  return filter.kind === 'not' ? filter.filter : { kind: 'not', filter }
}

/** A field, and the values of a list of equalities on it. */
export interface ListedValues {
  readonly field: FieldRef
  readonly values: readonly Scalar[]
}

/**
 * Returns the field and the values of an equality, or of an `or` of equalities on one field; otherwise `undefined`.
 */
export function readEqualities(filter: Filter): ListedValues | undefined {
  const parts = filter.kind === 'or' ? filter.filters : [filter]
  const [first] = parts
  if (first?.kind !== 'eq') return undefined
  const { field } = first
  const values: Scalar[] = []
  for (const part of parts) {
    if (part.kind !== 'eq' || (part.field !== field && !isOn(part.field, field))) return undefined
    values.push(part.value)
  }
  return { field, values }
}

/** A leaf of a filter: a condition on one field. */
export type Leaf = Exclude<Filter, { readonly kind: 'and' | 'or' | 'not' }>

/** Returns the replacement for a leaf on `field`, or for an `or` of equalities on `field`. */
type Replace = (filter: Filter, field: FieldRef) => Filter

/**
 * Returns the filter with every leaf replaced. Adjacent equalities on one field in an `or` are replaced
 * together, because there may be many of them.
 */
export function mapLeaves(filter: Filter, replace: Replace): Filter {
  switch (filter.kind) {
    case 'and':
      return and(filter.filters.map((part) => mapLeaves(part, replace)))
    case 'or':
      return mapAlternatives(filter.filters, replace)
    case 'not':
      return not(mapLeaves(filter.filter, replace))
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
    case 'match':
    case 'present':
      return replace(filter, filter.field)
    default:
      return filter satisfies never
  }
}

function mapAlternatives(filters: readonly Filter[], replace: Replace): Filter {
  const parts: Filter[] = []
  for (let i = 0; i < filters.length; ) {
    const run = takeEqualities(filters, i)
    const [first] = run
    parts.push(first ? replace(or(run), first.field) : mapLeaves(filters[i] ?? nothing, replace))
    i += run.length || 1
  }
  return or(parts)
}

/**
 * Returns the adjacent equalities on one field that begin at index `from`. They are recognized by their
 * shared `FieldRef` object, which all equalities from one list have.
 */
function takeEqualities(filters: readonly Filter[], from: number): readonly Leaf[] {
  const run: Leaf[] = []
  for (let i = from; i < filters.length; i++) {
    const filter = filters[i]
    if (filter?.kind !== 'eq' || filter.field !== (run[0] ?? filter).field) break
    run.push(filter)
  }
  return run
}

/** Whether a filter contains a pattern. */
export function hasPattern(filter: Filter): boolean {
  if (filter.kind === 'and' || filter.kind === 'or') return filter.filters.some(hasPattern)
  return filter.kind === 'not' ? hasPattern(filter.filter) : filter.kind === 'match'
}
