import { conditionsOf, type FieldRef, type Filter, ID } from '../../../filter/filter.js'
import { useIndex } from '../../../filter/index-order.js'
import type { CollectionPlan, ListQuery, SortKey } from '../../../storage.js'
import { structuresOf } from '../../sql/structures.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import { tableNameOf } from '../table-names.js'

/** An index that reads can use. */
export interface ReadIndex {
  readonly name: string
  /** Its fields, and `_id`. */
  readonly columns: readonly FieldRef[]
  readonly isUnique: boolean
}

/** The indexes of a collection: that of `_id`, and those of its plan. */
export function readIndexesOf(plan: CollectionPlan): readonly ReadIndex[] {
  const structures = structuresOf([plan], sqliteDialect).filter(({ fields }) => fields.length > 0)
  const uniques = new Set(structures.flatMap(({ unique }) => (unique ? [JSON.stringify(unique)] : [])))
  return [
    // The name that SQLite gives the index of a primary key.
    { name: `sqlite_autoindex_${tableNameOf(plan.name)}_1`, columns: [ID], isUnique: true },
    ...structures
      .filter(({ unique }) => !unique)
      .map(({ name, fields }) => ({
        name,
        columns: [...fields, ID],
        isUnique: uniques.has(JSON.stringify(fields)),
      })),
  ]
}

/** How a read finds its documents: through a range of an index, or by scanning all of them. */
export interface ReadPath {
  /** `null`: all documents, in their stored order. */
  readonly index: string | null
  /** The conditions that bound the range of the index. */
  readonly bounds: readonly Filter[]
  /** The other conditions, which are checked for each document. */
  readonly rest: readonly Filter[]
  /** The part of the requested order that the range provides. */
  readonly order: readonly SortKey[]
  /** Whether the documents are in the requested order. */
  readonly isOrdered: boolean
  /** The most documents in the range. */
  readonly most: number
  /** The number of fields with one value, or one of a few. */
  readonly fixed: number
  /** Where other queries have the same path but for values: the texts of statements on it, by name. */
  readonly texts?: Map<string, string>
}

/** What the path of a query depends on. */
export type PathQuery = Pick<ListQuery, 'filter' | 'sort' | 'limit'>

/** A collection, and the path to its documents. */
export interface Way {
  readonly collection: string
  readonly path: ReadPath
}

/** The most documents that a bounded read may look at: what a list without a limit begins with. */
export const MAX_BOUNDED = 1500

/** From this number on, sorting costs more than a path in the requested order. */
const MANY = 500

/**
 * Chooses the narrowest path. If it does not provide the order, and only the first few are requested, it
 * chooses one that does, unless few documents are left to sort. `countUpTo` counts the documents on a path,
 * up to a limit.
 */
export function choosePath(
  indexes: readonly ReadIndex[],
  { filter, sort, limit }: PathQuery,
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

/** The range of an index that the conditions leave, or only its order. */
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

/** The most documents that a condition on a unique field leaves; several documents may lack the field. */
function countOf(fixing: Filter): number {
  if (fixing.kind === 'or') return fixing.filters.length
  return fixing.kind === 'eq' ? 1 : Number.POSITIVE_INFINITY
}
