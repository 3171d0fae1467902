import { canHold } from '../../../core/filter/compare.js'
import {
  conditionsOf,
  type Filter,
  type ListedValues,
  nameField,
  or,
  readEqualities,
} from '../../../core/filter/filter.js'
import { MAX_RANGES } from '../../../core/filter/index-order.js'
import { createBoundedMap } from '../../../core/kept/bounded-map.js'
import { CACHES } from '../../../core/kept/caches.js'
import {
  type Choice,
  type CountUpTo,
  decide,
  findChoice,
  type PathQuery,
  type ReadIndex,
  type ReadPath,
  withBounds,
} from './read-path.js'

/** Chooses the path of a query. */
export type FindPath = (query: PathQuery) => ReadPath

/**
 * A cached choice of paths, and the filter for which it was made: `places` maps each part of that filter to its number.
 * In another filter of the same shape, the corresponding part has the same number.
 */
interface CachedPath {
  readonly choice: Choice
  readonly places: ReadonlyMap<Filter, number>
}

/** The maximum number of choices cached per collection. */
const MAX_KEPT = 256

/**
 * Creates a function that chooses the read path for each query. Queries that differ only in values share a cached
 * choice of candidate paths and the SQL of their statements. Which candidate is best depends on the stored documents,
 * so it is decided for each query.
 */
export function createPathFinder(indexes: readonly ReadIndex[], countUpTo: CountUpTo): FindPath {
  const known = createBoundedMap<string, CachedPath>(CACHES.paths, MAX_KEPT)
  return (query) => {
    const conditions = conditionsOf(query.filter)
    const shape = shapeOf(conditions, query)
    const parts = shape === undefined ? [] : conditions.flatMap(partsOf)
    const kept = shape === undefined ? undefined : known.get(shape)
    if (kept) {
      const { compared, otherwise } = kept.choice
      const replace = (filter: Filter): Filter => {
        const place = kept.places.get(filter)
        if (place !== undefined) return parts[place] ?? filter
        // Equalities from several alternatives were joined into this list, so it is not a part of the filter itself.
        return filter.kind === 'or' ? or(filter.filters.map(replace)) : filter
      }
      const now = (path: ReadPath): ReadPath => mapConditions(path, replace)
      return decide({ compared: compared.map(now), otherwise: now(otherwise) }, countUpTo)
    }
    const found = findChoice(indexes, query)
    const places = new Map(parts.map((part, i) => [part, i]))
    // If one object is two parts of the filter, both parts have the same value here, but may differ in another query,
    // so the choice is not cached.
    if (shape === undefined || places.size < parts.length) return decide(found, countUpTo)
    const choice = { compared: found.compared.map(keepTexts), otherwise: keepTexts(found.otherwise) }
    known.set(shape, { choice, places })
    return decide(choice, countUpTo)
  }
}

const keepTexts = (path: ReadPath): ReadPath => ({ ...path, texts: new Map() })

/** Returns a filter and all its parts, in order. */
function partsOf(filter: Filter): readonly Filter[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return [filter, ...filter.filters.flatMap(partsOf)]
    case 'not':
      return [filter, ...partsOf(filter.filter)]
    default:
      return [filter]
  }
}

const mapConditions = (path: ReadPath, replace: (filter: Filter) => Filter): ReadPath => ({
  ...withBounds(path, path.bounds.map(replace)),
  rest: path.rest.map(replace),
  ...(path.ranges ? { ranges: path.ranges.map((range) => mapConditions(range, replace)) } : {}),
})

/**
 * Returns the shape of a query, on which the choice of its paths depends. Returns `undefined` if a list contains a
 * value twice, or if a value can never equal a value of its field's type: such queries are not cached.
 */
function shapeOf(conditions: readonly Filter[], { sort, limit }: PathQuery): string | undefined {
  let shape = limit === null ? '' : '#'
  for (const condition of conditions) {
    const part = shapeOfPart(condition)
    if (part === undefined) return undefined
    shape += part
  }
  for (const { field, descending } of sort) shape += `${descending ? '>' : '<'}${nameField(field)}`
  return shape
}

/** The maximum number of operands of a cached `and` or `or`. A list of values counts as one operand. */
const MAX_PARTS = 64

function shapeOfPart(filter: Filter): string | undefined {
  switch (filter.kind) {
    case 'and':
      return shapeOfAll(filter)
    case 'or': {
      const list = readEqualities(filter)
      return list ? shapeOfList(list) : shapeOfAll(filter)
    }
    case 'not': {
      const inner = shapeOfPart(filter.filter)
      return inner === undefined ? undefined : `!${inner}`
    }
    case 'present':
      return `?${nameField(filter.field)}`
    case 'match':
      return `~${nameField(filter.field)}`
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return canHold(filter.field.type, filter.value) ? filter.kind + nameField(filter.field) : undefined
    default:
      return filter satisfies never
  }
}

function shapeOfAll({ kind, filters }: Extract<Filter, { readonly kind: 'and' | 'or' }>): string | undefined {
  if (filters.length === 0 || filters.length > MAX_PARTS) return undefined
  const parts = filters.map(shapeOfPart)
  return parts.includes(undefined) ? undefined : `${kind}(${parts.join('')})`
}

/** Returns the shape of a list of values. All lists with more than `MAX_RANGES` values have the same shape. */
function shapeOfList({ field, values }: ListedValues): string | undefined {
  const { size } = new Set(values.filter((value) => canHold(field.type, value)))
  if (size < 2 || size < values.length) return undefined
  return `in${size > MAX_RANGES ? '' : size}=${nameField(field)}`
}
