import { conditionsOf, type FieldRef, type Filter, ID, or } from '../../../core/filter/filter.js'
import {
  type Alternative,
  isInOrder,
  isOn,
  keysOf,
  MAX_RANGES,
  splitAlternatives,
  splitRanges,
  useIndex,
} from '../../../core/filter/index-order.js'
import { joinEqualities } from '../../../core/filter/join-equalities.js'
import type { CollectionPlan, ListQuery, SortKey } from '../../../core/storage.js'
import { quoteName } from '../../sql/dialect.js'
import { isIndex, isOfElements, isServedByFormer, structuresOf } from '../../sql/structures.js'
import { indexNameOf } from '../elements.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import { tableNameOf } from '../table-names.js'

/** An index that reads can use. */
export interface ReadIndex {
  readonly name: string
  /** Its fields, and `_id`. */
  readonly columns: readonly FieldRef[]
  readonly isUnique: boolean
  /** The fields of a unique index that has the `_id` only of documents that lack one of them. */
  readonly binds?: readonly FieldRef[]
  /** The table of elements to which the index belongs. */
  readonly table?: string
}

/** The indexes of a collection: the one of `_id`, and those of its plan, or of earlier versions that are `present`. */
export function readIndexesOf(
  plan: CollectionPlan,
  present: ReadonlySet<unknown> = new Set(),
): readonly ReadIndex[] {
  const structures = structuresOf([plan], sqliteDialect).filter(isIndex)
  return [
    // SQLite's name for the index of a primary key.
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

/** How a read finds its documents: through ranges of indexes, or by scanning all of them. */
export interface ReadPath {
  /** `null`: all documents, in their stored order. */
  readonly index: string | null
  /** The columns of the index. */
  readonly columns: readonly FieldRef[]
  /** The fields of a unique index that has the `_id` only of documents that lack one of them. */
  readonly binds?: readonly FieldRef[]
  /** The table of the index, if it is a table of elements. */
  readonly table?: string
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
  /**
   * Several ranges in place of one; ordered ranges are merged. `rest` then holds the conditions that apply to all
   * ranges.
   */
  readonly ranges?: readonly ReadPath[]
  /** Whether a document may be in several ranges; ordered ranges then have `_id` among their keys. */
  readonly isOverlapping?: boolean
  /** The number of documents in it, if they were counted and are few. */
  readonly counted?: number
  /** The texts of its statements, by name, if other queries share the path with other values. */
  readonly texts?: Map<string, string>
}

/** The parts of a query that decide its path. */
export type PathQuery = Pick<ListQuery, 'filter' | 'sort' | 'limit'>

/** A collection, and the path to its documents. */
export interface CollectionPath {
  readonly collection: string
  readonly path: ReadPath
}

/** The most documents that a bounded read may visit: the first page of a list without a limit. */
export const MAX_BOUNDED = 1500

/** A range with fewer documents is read without counting others. */
const FEW = 500

/** The most ranges of one query that are counted for a comparison. */
const MAX_COMPARED = 4

/** The candidate paths of a query. The first one with few documents is taken. */
export interface Choice {
  readonly compared: readonly ReadPath[]
  /** The path that is taken if none has few documents. */
  readonly otherwise: ReadPath
}

/** Counts the documents on a path, up to a limit. */
export type CountUpTo = (path: ReadPath, most: number) => number

/** Chooses a path: document counts decide among the paths that the conditions allow. */
export const choosePath = (indexes: readonly ReadIndex[], query: PathQuery, countUpTo: CountUpTo): ReadPath =>
  decide(findChoice(indexes, query), countUpTo)

/**
 * Takes the first path with few documents, otherwise the one with the fewest, if they are not many. A path with many
 * documents is not counted if another one has few.
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

/** Finds the paths of a query. If one path is the best for all stored documents, none are compared. */
export function findChoice(indexes: readonly ReadIndex[], query: PathQuery): Choice {
  const { filter, sort, limit } = query
  const conditions = conditionsOf(filter)
  const paths: ReadPath[] = []
  for (const index of indexes) {
    const path = findPath(index, conditions, sort)
    if (path && path.most <= 1) return sure(path)
    // A document may have several of the elements.
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

/** Removes paths whose bounds are a subset of another path's. */
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

/** How an index serves a read. A unique index cannot bound the `_id` of documents that have all its fields. */
function useOf({ columns, binds }: ReadIndex, conditions: readonly Filter[], sort: readonly SortKey[]) {
  const use = useIndex(columns, conditions, sort)
  if (!use || !binds || use.fixing.length < binds.length || use.fixing.some(isMissing)) return use
  return { ...use, fixing: use.fixing.slice(0, binds.length), lower: undefined, upper: undefined }
}

/** Whether a condition that fixes a field matches documents without the field. */
const isMissing = ({ kind }: Filter): boolean => kind === 'not'

/** The range of an index for the conditions, or only its order. */
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
  // SQLite visits the values of a list in their order.
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

/** The rows of an index. */
const rowsOf = ({ name, columns, binds, table }: ReadIndex) => ({
  index: name,
  columns,
  ...(binds ? { binds } : {}),
  ...(table === undefined ? {} : { table: quoteName(table) }),
})

/** The same path for other values. All long lists of values share one shape, so `most` is computed again. */
export const withBounds = (path: ReadPath, bounds: readonly Filter[]): ReadPath => ({
  ...path,
  bounds,
  most: Number.isFinite(path.most) ? mostOf(bounds.slice(0, path.fixed)) : path.most,
})

/** The most documents that match conditions on all columns of an index. */
const mostOf = (fixing: readonly Filter[]): number => fixing.reduce((total, fix) => total * countOf(fix), 1)

/** The most documents that match a condition on a unique field; several documents may lack the field. */
function countOf(fixing: Filter): number {
  if (fixing.kind === 'or') return fixing.filters.length
  return fixing.kind === 'eq' ? 1 : Number.POSITIVE_INFINITY
}

/** The ranges of an index in order, one for each value of its lists; empty if there are too many. */
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
  // In a merge, SQLite sorts again by a key that is fixed by equality, but not by one that is fixed by a list, so the
  // value is listed twice.
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

/** The merged ranges of each index whose first columns are fixed by lists of values. */
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

/** An order that puts the repetitions of a document next to each other. */
const withId = (keys: readonly SortKey[]): readonly SortKey[] =>
  keys.some(({ field }) => isOn(field, ID))
    ? keys
    : [...keys, { field: ID, descending: keys[0]?.descending ?? false }]

/**
 * The unions of ranges, one for each alternative of a condition: the ordered ones, if an index provides the order of
 * each, and the narrowest ones. Conditions shared by all alternatives apply to each, in their place.
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

/** The ordered ranges of an alternative, in the index whose columns they fix most. */
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

/** The narrowest path of an alternative that is bounded by one of its own conditions. */
function findNarrowestOf(indexes: readonly ReadIndex[], { all, own }: Alternative): ReadPath | undefined {
  const ways = indexes.flatMap((index) => findPath(index, all, []) ?? [])
  return findNarrowest(ways.filter(({ bounds }) => bounds.some((bound) => own.includes(bound))))
}

/** Whether ranges are bounded by a condition of an alternative, or by one value of its list. */
const isPart = (ranges: readonly ReadPath[], own: readonly Filter[]): boolean => {
  const parts = new Set(own.flatMap((one) => (one.kind === 'or' ? [one, ...one.filters] : [one])))
  const isOwn = (bound: Filter): boolean =>
    parts.has(bound) || (bound.kind === 'or' && bound.filters.some((one) => parts.has(one)))
  return ranges.every(({ bounds }) => bounds.some(isOwn))
}

/** One path of overlapping ranges; without an order, its documents are sorted afterwards. */
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

/** Whether a condition is a list of values of one field. */
export const isList = (filter: Filter): boolean =>
  filter.kind === 'or' && joinEqualities(filter.filters).length === 1
