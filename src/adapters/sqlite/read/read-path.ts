import { conditionsOf, type FieldRef, type Filter, ID, isOn, or } from '../../../core/filter/filter.js'
import {
  type Alternative,
  isInOrder,
  keysOf,
  MAX_RANGES,
  splitAlternatives,
  splitRanges,
  useIndex,
} from '../../../core/filter/index-order.js'
import type { CollectionPlan, ListQuery, SortKey } from '../../../core/storage.js'
import { quoteName } from '../../sql/dialect.js'
import { isIndex, isOfElements, isServedByFormer, structuresOf } from '../../sql/structures.js'
import { tableNameOf } from '../../sql/table-names.js'
import { indexNameOf } from '../elements.js'
import { sqliteDialect } from '../sqlite-dialect.js'

/** An index that reads can use. */
export interface ReadIndex {
  readonly name: string
  /** The fields of the index, followed by `_id`. */
  readonly columns: readonly FieldRef[]
  readonly isUnique: boolean
  /** For a unique index: its fields. The index contains the `_id` only of documents that lack one of them. */
  readonly binds?: readonly FieldRef[]
  /** The table of array elements to which the index belongs. */
  readonly table?: string
}

/**
 * Returns the indexes of a collection: that of `_id`, and those that its plan requires. If an index of an earlier
 * version that serves the same reads is in `present`, it is used instead.
 */
export function readIndexesOf(
  plan: CollectionPlan,
  present: ReadonlySet<unknown> = new Set(),
): readonly ReadIndex[] {
  const structures = structuresOf([plan], sqliteDialect).filter(isIndex)
  return [
    // SQLite gives this name to the index of a primary key.
    { name: `sqlite_autoindex_${tableNameOf(plan.name)}_1`, columns: [ID], isUnique: true },
    ...structures.map((structure) => {
      const { name, fields, unique, former } = structure
      const index = { name, columns: [...fields, ID], isUnique: unique !== null }
      if (isOfElements(structure)) return { ...index, name: indexNameOf(name), table: name }
      if (former && isServedByFormer(structure, present)) return { ...index, name: former[1] }
      return unique ? { ...index, binds: unique } : index
    }),
  ]
}

/** Describes how a read finds its documents: through ranges of indexes, or by scanning the whole collection. */
export interface ReadPath {
  /** The name of the index. `null` means that all documents are read in their stored order. */
  readonly index: string | null
  /** The columns of the index. */
  readonly columns: readonly FieldRef[]
  /** For a unique index: its fields. The index contains the `_id` only of documents that lack one of them. */
  readonly binds?: readonly FieldRef[]
  /** The table of array elements to which the index belongs, if it belongs to one. */
  readonly table?: string
  /** The conditions that the range of the index guarantees. */
  readonly bounds: readonly Filter[]
  /** The other conditions, which are checked for each document. */
  readonly rest: readonly Filter[]
  /** The sort keys by which the statement must sort. The index provides this order. */
  readonly order: readonly SortKey[]
  /** Whether the path provides the requested order. */
  readonly isOrdered: boolean
  /** The maximum number of documents in the range. */
  readonly most: number
  /** The number of index columns whose value is fixed, either to one value or to a list of values. */
  readonly fixed: number
  /**
   * Several ranges that are read instead of one. If they have an order, they are merged. The `rest` of a path with
   * ranges contains the conditions that apply to all of them.
   */
  readonly ranges?: readonly ReadPath[]
  /**
   * Whether a document may be in several ranges, or several times in one range. The order of such a path, if it has
   * one, includes `_id`.
   */
  readonly isOverlapping?: boolean
  /** The number of documents on the path, if they were counted and are few. */
  readonly counted?: number
  /** A cache of the SQL of the path's statements, by name. Queries that differ only in values share it. */
  readonly texts?: Map<string, string>
}

/** The parts of a query on which the choice of its path depends. */
export type PathQuery = Pick<ListQuery, 'filter' | 'sort' | 'limit'>

/** A collection, and the path to some of its documents. */
export interface CollectionPath {
  readonly collection: string
  readonly path: ReadPath
}

/**
 * The maximum number of documents that a bounded read may visit. It suffices for the first page of a list without a
 * limit.
 */
export const MAX_BOUNDED = 1500

/** A path with fewer documents than this is chosen without counting the others. */
const FEW = 500

/** The maximum number of paths of one query that are compared by counting. */
const MAX_COMPARED = 4

/** The candidate paths of a query. The first path with few documents is chosen. */
export interface Choice {
  readonly compared: readonly ReadPath[]
  /** The path that is chosen if no candidate has few documents. */
  readonly otherwise: ReadPath
}

/** Counts the documents on a path, but at most `most`. */
export type CountUpTo = (path: ReadPath, most: number) => number

/** Chooses the path of a query. If the conditions allow several paths, the number of documents on each decides. */
export const choosePath = (indexes: readonly ReadIndex[], query: PathQuery, countUpTo: CountUpTo): ReadPath =>
  decide(findChoice(indexes, query), countUpTo)

/**
 * Chooses the first path with few documents (`FEW`), or otherwise the path with the fewest documents, unless these are
 * many (`MAX_BOUNDED`). Counting stops early, so that a path with many documents is not counted if another has few.
 */
export function decide({ compared, otherwise }: Choice, countUpTo: CountUpTo): ReadPath {
  for (const most of compared.length > 1 ? [FEW, MAX_BOUNDED] : [MAX_BOUNDED]) {
    let best: ReadPath | undefined
    let least = most
    for (const path of compared) {
      const counted = countUpTo(path, least)
      if (counted >= least) continue
      best = { ...path, counted }
      least = counted
      if (counted < FEW) break
    }
    if (best) return best
  }
  return otherwise
}

/**
 * Finds the candidate paths of a query. If one path is best regardless of the stored documents, there are no others.
 */
export function findChoice(indexes: readonly ReadIndex[], query: PathQuery): Choice {
  const { filter, sort, limit } = query
  const conditions = conditionsOf(filter)
  const paths: ReadPath[] = []
  for (const index of indexes) {
    const path = findPath(index, conditions, sort)
    if (path && path.most <= 1) return sure(path)
    // A document may contain several of the requested elements, so the path is treated as overlapping ranges.
    if (path) paths.push(path.isOverlapping ? { ...path, ranges: [path] } : path)
  }
  const all: ReadPath = { ...NO_INDEX, rest: conditions, isOrdered: sort.length === 0 }
  const bounded = paths.filter(({ bounds }) => bounds.length > 0)
  const narrow = findNarrowest(bounded)
  const isAnswered = (path: ReadPath): boolean => path.isOrdered && path.rest.length === 0
  if (narrow && (isAnswered(narrow) || narrow.most <= MAX_BOUNDED)) return sure(narrow)
  const answered = findNarrowest(bounded.filter(isAnswered))
  if (answered) return sure(answered)

  const merged = sort.length > 0 ? findNarrowest(mergeLists(indexes, conditions, sort)) : undefined
  if (merged && isAnswered(merged)) return sure(merged)
  const united = uniteAlternatives(indexes, conditions, sort)
  const inOrder = united.find(({ isOrdered }) => isOrdered && sort.length > 0)
  if (inOrder && isAnswered(inOrder)) return sure(inOrder)
  const walked = findNarrowest(paths.filter(({ isOrdered }) => isOrdered && sort.length > 0))
  if (walked && isAnswered(walked)) return sure(walked)

  const compared = distinct([
    ...(merged && narrow && !narrow.isOrdered && merged.fixed >= narrow.fixed ? [merged] : []),
    ...bounded.toSorted((a, b) => (isNarrower(a, b) ? -1 : isNarrower(b, a) ? 1 : 0)),
    ...united,
  ]).slice(0, MAX_COMPARED)
  const ordered = [narrow?.isOrdered ? narrow : undefined, merged, inOrder, walked].find(
    (path) => path !== undefined,
  )
  const otherwise = (limit === null ? (narrow ?? ordered) : (ordered ?? narrow)) ?? all
  const isAlone = compared.length === 1 && compared[0] === otherwise
  return { compared: isAlone ? [] : compared, otherwise }
}

const sure = (otherwise: ReadPath): Choice => ({ compared: [], otherwise })

/** Removes a path if its bounds are a subset of the bounds of an earlier path. */
const distinct = (paths: readonly ReadPath[]): readonly ReadPath[] =>
  paths.filter(
    ({ bounds, ranges }, i) =>
      ranges !== undefined || !paths.slice(0, i).some((other) => areAmong(bounds, other.bounds)),
  )

const areAmong = (some: readonly Filter[], all: readonly Filter[]): boolean =>
  some.every((one) => all.includes(one))

const NO_INDEX = { index: null, columns: [], bounds: [], order: [], most: Number.POSITIVE_INFINITY, fixed: 0 }

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

/**
 * Returns how an index can be used for a read. A unique index cannot bound the `_id` of documents that have all of its
 * fields, because it does not contain their `_id`.
 */
function useOf({ columns, binds }: ReadIndex, conditions: readonly Filter[], sort: readonly SortKey[]) {
  const use = useIndex(columns, conditions, sort)
  if (!use || !binds || use.fixing.length < binds.length || use.fixing.some(isMissing)) return use
  return { ...use, fixing: use.fixing.slice(0, binds.length), lower: undefined, upper: undefined }
}

/** Whether a condition that fixes a field matches documents that lack this field. */
const isMissing = ({ kind }: Filter): boolean => kind === 'not'

/**
 * Returns the range of an index that the conditions bound. If no condition bounds the index, it is used only for its
 * order. Returns `undefined` if the index is useless for the read.
 */
function findPath(
  index: ReadIndex,
  conditions: readonly Filter[],
  sort: readonly SortKey[],
): ReadPath | undefined {
  const { columns, isUnique } = index
  const use = useOf(index, conditions, sort)
  if (!use) return undefined
  const { fixing, lower, upper, overlaps } = use
  const keys = keysOf(conditions, sort)
  // Lists of values are allowed here, because SQLite visits the values of a list in ascending order.
  const order = use.order ?? (isInOrder(columns, fixing, keys) ? keys : undefined)
  const bounds = [...fixing, lower, upper].filter((bound) => bound !== undefined)
  if (bounds.length === 0 && !order?.length) return undefined
  const fixed = fixing.length
  const isOne = fixed === columns.length || (isUnique && fixed > 0 && fixed === columns.length - 1)
  const most = isOne ? mostOf(fixing) : Number.POSITIVE_INFINITY
  return {
    ...rowsOf(index),
    bounds,
    rest: conditions.filter((condition) => !bounds.includes(condition)),
    order: most === 1 ? [] : (order ?? []),
    isOrdered: most === 1 || order !== undefined,
    most,
    fixed,
    ...(overlaps ? { isOverlapping: true } : {}),
  }
}

/** Returns the properties of a path that describe its index. */
const rowsOf = ({ name, columns, binds, table }: ReadIndex) => ({
  index: name,
  columns,
  ...(binds ? { binds } : {}),
  ...(table === undefined ? {} : { table: quoteName(table) }),
})

/**
 * Returns the path with other values. `most` is computed again, because all long lists of values share one cached path.
 */
export const withBounds = (path: ReadPath, bounds: readonly Filter[]): ReadPath => ({
  ...path,
  bounds,
  most: Number.isFinite(path.most) ? mostOf(bounds.slice(0, path.fixed)) : path.most,
})

/** Returns the maximum number of documents that match the conditions if these fix all columns of a unique index. */
const mostOf = (fixing: readonly Filter[]): number => fixing.reduce((total, fix) => total * countOf(fix), 1)

/**
 * Returns the maximum number of documents that match a condition on a unique field. Several documents may lack the
 * field.
 */
function countOf(fixing: Filter): number {
  if (fixing.kind === 'or') return fixing.filters.length
  return fixing.kind === 'eq' ? 1 : Number.POSITIVE_INFINITY
}

/**
 * Returns the ranges of an index that provide an order, one for each combination of the values that lists allow.
 * Returns none if there are too many, or if they do not provide the order.
 */
function rangesInOrder(
  index: ReadIndex,
  conditions: readonly Filter[],
  keys: readonly SortKey[],
): readonly ReadPath[] {
  const { columns } = index
  const use = useOf(index, conditions, keys)
  if (!use) return []
  const { fixing, lower, upper } = use
  const ranges = splitRanges(use) ?? []
  if (!isInOrder(columns, ranges[0]?.fixing ?? [], keys)) return []
  const used = new Set([...fixing, lower, upper])
  const rest = conditions.filter((condition) => !used.has(condition))
  // SQLite needlessly sorts again in a merge if a key is fixed by an equality, but not if it is fixed by a list. The
  // value is therefore listed twice.
  const toList = (fix: Filter): Filter =>
    fix.kind === 'eq' && keys.some(({ field }) => isOn(fix.field, field)) ? or([fix, fix]) : fix
  return ranges.map(({ fixing }) => ({
    ...NO_INDEX,
    ...rowsOf(index),
    bounds: [...fixing.map(toList), lower, upper].filter((bound) => bound !== undefined),
    rest,
    order: keys,
    isOrdered: true,
    fixed: fixing.length,
  }))
}

/** For each index whose first columns are fixed by lists of values: a path that merges the ranges of these values. */
const mergeLists = (
  indexes: readonly ReadIndex[],
  conditions: readonly Filter[],
  sort: readonly SortKey[],
): readonly ReadPath[] => {
  const keys = keysOf(conditions, sort)
  return indexes.flatMap((index) => {
    const { fixing = [], overlaps = false } = useOf(index, conditions, keys) ?? {}
    const ranges = rangesInOrder(index, conditions, overlaps ? withId(keys) : keys)
    const [first] = ranges
    if (!first || ranges.length < 2) return []
    return { ...first, bounds: fixing, ranges, ...(overlaps ? { isOverlapping: true } : {}) }
  })
}

/** Extends an order with `_id`, so that repetitions of a document are adjacent. */
const withId = (keys: readonly SortKey[]): readonly SortKey[] =>
  keys.some(({ field }) => isOn(field, ID))
    ? keys
    : [...keys, { field: ID, descending: keys[0]?.descending ?? false }]

/**
 * Returns paths that unite ranges, one for each alternative of a condition. There are two kinds: ordered ranges, if
 * indexes provide the order for all alternatives, and the narrowest ranges. Conditions outside the alternatives apply
 * to each range.
 */
function uniteAlternatives(
  indexes: readonly ReadIndex[],
  conditions: readonly Filter[],
  sort: readonly SortKey[],
): readonly ReadPath[] {
  const keys = keysOf(conditions, sort)
  const merged = withId(keys)
  return splitAlternatives(conditions).flatMap((parts) => {
    const ordered = parts.map((part) => findOrderedRanges(indexes, part, merged))
    const narrow = parts.map((part) => findNarrowestOf(indexes, part))
    return [
      ...(keys.length > 0 && ordered.every(({ length }) => length > 0)
        ? unite(conditions, ordered.flat(), merged)
        : []),
      ...(narrow.every((path) => path !== undefined)
        ? unite(conditions, narrow, keys.length > 0 ? undefined : [])
        : []),
    ]
  })
}

/** Returns an alternative's ordered ranges, from the index in which the conditions fix the most columns. */
function findOrderedRanges(
  indexes: readonly ReadIndex[],
  { all, own }: Alternative,
  order: readonly SortKey[],
): readonly ReadPath[] {
  const ways = indexes
    .map((index) => rangesInOrder(index, all, order))
    .filter((ranges) => ranges.length > 0 && isPart(ranges, own))
  return ways.toSorted((a, b) => (b[0]?.fixed ?? 0) - (a[0]?.fixed ?? 0))[0] ?? []
}

/** Returns the narrowest path that is bounded by at least one of the alternative's own conditions. */
function findNarrowestOf(indexes: readonly ReadIndex[], { all, own }: Alternative): ReadPath | undefined {
  const ways = indexes.flatMap((index) => findPath(index, all, []) ?? [])
  return findNarrowest(ways.filter(({ bounds }) => bounds.some((bound) => own.includes(bound))))
}

/**
 * Whether each range is bounded by one of the alternative's own conditions. A value from such a condition's list counts
 * too.
 */
const isPart = (ranges: readonly ReadPath[], own: readonly Filter[]): boolean => {
  const parts = new Set(own.flatMap((one) => (one.kind === 'or' ? [one, ...one.filters] : [one])))
  const isOwn = (bound: Filter): boolean =>
    parts.has(bound) || (bound.kind === 'or' && bound.filters.some((one) => parts.has(one)))
  return ranges.every(({ bounds }) => bounds.some(isOwn))
}

/** Returns one path with these ranges, which may overlap. Without an order, its documents are sorted afterwards. */
function unite(
  conditions: readonly Filter[],
  ranges: readonly ReadPath[],
  order: readonly SortKey[] | undefined,
): readonly ReadPath[] {
  const [first] = ranges
  if (!first || ranges.length > MAX_RANGES) return []
  const isAnswered = ranges.every(({ rest }) => rest.length === 0)
  return [
    {
      ...NO_INDEX,
      index: first.index,
      rest: isAnswered ? [] : conditions,
      order: order ?? [],
      isOrdered: order !== undefined,
      ranges: ranges.map((range) => ({ ...range, order: order ?? [] })),
      isOverlapping: true,
    },
  ]
}
