import { createBoundedMap } from '../../../filter/bounded-map.js'
import { canHold } from '../../../filter/compare.js'
import { conditionsOf, type FieldRef, type Filter } from '../../../filter/filter.js'

import { choosePath, type PathQuery, type ReadIndex, type ReadPath } from './read-path.js'

/** Chooses the path of a query. */
export type FindPath = (query: PathQuery) => ReadPath

/** A path without values: `bounds` and `rest` are places among the conditions of a query. */
interface Kept {
  readonly path: ReadPath
  readonly bounds: readonly number[]
  readonly rest: readonly number[]
}

/** The most paths that are kept for a collection. */
const MAX_KEPT = 256

/**
 * Creates what chooses paths among indexes. Queries that differ in values alone have one path, which is chosen once, and
 * with it the texts of its statements.
 */
export function createPathFinder(
  indexes: readonly ReadIndex[],
  countUpTo: (path: ReadPath, most: number) => number,
): FindPath {
  const known = createBoundedMap<string, Kept>(MAX_KEPT)
  return (query) => {
    const conditions = conditionsOf(query.filter)
    const shape = shapeOf(conditions, query)
    const kept = shape === undefined ? undefined : known.get(shape)
    const pick = (places: readonly number[]): readonly Filter[] =>
      places.flatMap((place) => conditions[place] ?? [])
    if (kept) return { ...kept.path, bounds: pick(kept.bounds), rest: pick(kept.rest) }
    let isLasting = shape !== undefined
    const path = choosePath(indexes, query, (some, most) => {
      // What is stored decides, and may decide otherwise later.
      isLasting = false
      return countUpTo(some, most)
    })
    if (shape === undefined || !isLasting) return path
    const placesOf = (some: readonly Filter[]): readonly number[] =>
      some.map((one) => conditions.indexOf(one))
    const lasting = { ...path, texts: new Map() }
    known.set(shape, { path: lasting, bounds: placesOf(path.bounds), rest: placesOf(path.rest) })
    return lasting
  }
}

/** What a path depends on; `undefined` where that is more than leaves and an order. */
function shapeOf(conditions: readonly Filter[], { sort, limit }: PathQuery): string | undefined {
  let shape = limit === null ? '' : '#'
  for (const condition of conditions) {
    const leaf = shapeOfLeaf(condition)
    if (leaf === undefined) return undefined
    shape += leaf
  }
  for (const { field, descending } of sort) shape += `${descending ? '>' : '<'}${nameOf(field)}`
  return shape
}

function shapeOfLeaf(filter: Filter): string | undefined {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return undefined
    case 'not':
      return filter.filter.kind === 'present' ? `!${nameOf(filter.filter.field)}` : undefined
    case 'present':
      return `?${nameOf(filter.field)}`
    case 'match':
      return `~${nameOf(filter.field)}`
    case 'eq':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return canHold(filter.field.type, filter.value) ? filter.kind + nameOf(filter.field) : undefined
    default:
      return filter satisfies never
  }
}

/** The name of a field among all; its length comes first, as it may have any character. */
const nameOf = ({ path, type, each, inside }: FieldRef): string =>
  `${path.length}:${path}${type}${each ? (inside === undefined ? '[]' : `[${inside.length}:${inside}]`) : ''}`
