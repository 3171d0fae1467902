import { type FieldRef, type Filter, ID } from '../../../filter/filter.js'
import { conditionsOf, useIndex } from '../../../filter/index-order.js'
import type { CollectionPlan, ListQuery, SortKey } from '../../../storage.js'
import { structuresOf } from '../../sql/structures.js'
import { sqliteDialect } from '../sqlite-dialect.js'

/** An index that reads may go by. */
export interface ReadIndex {
  readonly name: string
  /** Its fields, and `_id`. */
  readonly columns: readonly FieldRef[]
  readonly isUnique: boolean
}

/** The indexes of a collection: that of `_id`, and all that a plan asks for. */
export function readIndexesOf(plan: CollectionPlan): readonly ReadIndex[] {
  const structures = structuresOf([plan], sqliteDialect).filter(({ fields }) => fields.length > 0)
  const uniques = new Set(structures.flatMap(({ unique }) => (unique ? [JSON.stringify(unique)] : [])))
  return [
    // The name that SQLite gives the index of a primary key.
    { name: `sqlite_autoindex_c_${plan.name}_1`, columns: [ID], isUnique: true },
    ...structures
      .filter(({ unique }) => !unique)
      .map(({ name, fields }) => ({
        name,
        columns: [...fields, ID],
        isUnique: uniques.has(JSON.stringify(fields)),
      })),
  ]
}

/**
 * How a read finds its documents: by a part of an index, each row of which a statement can give, or all of them by
 * their place.
 */
export interface ReadPath {
  /** `null`: all documents, as they lie. */
  readonly index: string | null
  /** The conditions that bound the part of the index. */
  readonly bounds: readonly Filter[]
  /** The other conditions, to be asked of each document. */
  readonly rest: readonly Filter[]
  /** By what the part of the index is ordered, as far as it was asked for. */
  readonly order: readonly SortKey[]
  /** Whether documents come in the order that was asked for. */
  readonly isOrdered: boolean
  /** How many documents there are at most. */
  readonly most: number
  /** How many fields have one value, or one of a few. */
  readonly fixed: number
}

/** A collection, and the way to its documents. */
export interface Way {
  readonly collection: string
  readonly path: ReadPath
}

/** The most that a read may look at to count as bounded. */
export const MAX_BOUNDED = 1100

/** From so many on, documents in another order than asked for are not worth sorting where others come in it. */
const MANY = 500

/**
 * Chooses the narrowest way; where it does not give the order, and the first few in order are asked for, one that does,
 * unless little is left to be sorted. `countUpTo` counts what lies on a way, but not beyond a number.
 */
export function choosePath(
  indexes: readonly ReadIndex[],
  { filter, sort, limit }: Pick<ListQuery, 'filter' | 'sort' | 'limit'>,
  countUpTo: (path: ReadPath, most: number) => number,
): ReadPath {
  const conditions = conditionsOf(filter)
  const paths: ReadPath[] = []
  for (const index of indexes) {
    const path = findPath(index, conditions, sort)
    if (path && path.most <= 1) return path
    if (path) paths.push(path)
  }
  const all: ReadPath = { ...NO_INDEX, rest: conditions, isOrdered: sort.length === 0 }
  const narrow = findNarrowest(paths.filter(({ bounds }) => bounds.length > 0))
  if (narrow && (narrow.isOrdered || narrow.most <= MAX_BOUNDED)) return narrow
  const ordered = findNarrowest(paths.filter(({ isOrdered }) => isOrdered && sort.length > 0))
  if (!narrow) return ordered ?? all
  return ordered && limit !== null && countUpTo(narrow, MANY) >= MANY ? ordered : narrow
}

const NO_INDEX = { index: null, bounds: [], order: [], most: Number.POSITIVE_INFINITY, fixed: 0 }

function findNarrowest(paths: readonly ReadPath[]): ReadPath | undefined {
  let best: ReadPath | undefined
  for (const path of paths) if (!best || isNarrower(path, best)) best = path
  return best
}

function isNarrower(a: ReadPath, b: ReadPath): boolean {
  if (a.most !== b.most) return a.most < b.most
  if (a.fixed !== b.fixed) return a.fixed > b.fixed
  if (a.bounds.length !== b.bounds.length) return a.bounds.length > b.bounds.length
  return a.isOrdered && !b.isOrdered
}

/** The part of an index that conditions leave; or its order alone. */
function findPath(
  { name, columns, isUnique }: ReadIndex,
  conditions: readonly Filter[],
  sort: readonly SortKey[],
): ReadPath | undefined {
  const { fixing, lower, upper, order } = useIndex(columns, conditions, sort)
  const bounds = [...fixing, lower, upper].filter((bound) => bound !== undefined)
  if (bounds.length === 0 && !order?.length) return undefined
  const fixed = fixing.length
  const isOne = fixed === columns.length || (isUnique && fixed > 0 && fixed === columns.length - 1)
  const most = isOne ? fixing.reduce((total, fix) => total * countOf(fix), 1) : Number.POSITIVE_INFINITY
  return {
    index: name,
    bounds,
    rest: conditions.filter((condition) => !bounds.includes(condition)),
    order: most === 1 ? [] : (order ?? []),
    isOrdered: most === 1 || order !== undefined,
    most,
    fixed,
  }
}

/** How many documents of a unique index a condition leaves, at most: uniqueness does not bind what is missing. */
function countOf(fixing: Filter): number {
  if (fixing.kind === 'or') return fixing.filters.length
  return fixing.kind === 'eq' ? 1 : Number.POSITIVE_INFINITY
}
