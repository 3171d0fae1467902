import { canHold } from '../../filter/compare.js'
import { type FieldRef, type Filter, ID } from '../../filter/filter.js'
import type { CollectionPlan, ListQuery, SortKey } from '../../storage.js'
import { structuresOf } from '../sql/structures.js'
import { sqliteDialect } from './sqlite-dialect.js'

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
  const conditions = filter.kind === 'and' ? filter.filters : [filter]
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

/** Equalities on the first fields of an index, and bounds on the next one; or the order alone. */
function findPath(
  index: ReadIndex,
  conditions: readonly Filter[],
  sort: readonly SortKey[],
): ReadPath | undefined {
  const { name, columns, isUnique } = index
  const bounds: Filter[] = []
  const single: FieldRef[] = []
  let most = 1
  let fixed = 0
  for (const column of columns) {
    const fixing = findFixing(conditions, column)
    if (!fixing) break
    bounds.push(fixing.condition)
    fixed += 1
    if (fixing.isSingle) single.push(column)
    most *= fixing.most
  }
  const next = columns[fixed]
  if (next) bounds.push(...findBounds(conditions, next))
  if (bounds.length === 0 && (sort.length === 0 || !isGiven(sort, columns))) return undefined
  const isOne = fixed === columns.length || (isUnique && fixed > 0 && fixed === columns.length - 1)
  const keys = sort.filter(({ field }) => !single.some((column) => isOn(field, column)))
  const isOrdered =
    sort.length === 0 ||
    (isOne && most === 1) ||
    (single.length === fixed && isGiven(keys, columns.slice(fixed)))
  return {
    index: name,
    bounds,
    rest: bounds.length === 0 ? conditions : conditions.filter((condition) => !bounds.includes(condition)),
    order: isOrdered && !(isOne && most === 1) ? keys : [],
    isOrdered,
    most: isOne ? most : Number.POSITIVE_INFINITY,
    fixed,
  }
}

/** Whether an index gives an order, in one direction or the other. */
const isGiven = (keys: readonly SortKey[], columns: readonly FieldRef[]): boolean =>
  keys.length <= columns.length &&
  keys.every(({ field, descending }, i) => {
    const column = columns[i]
    return column !== undefined && isOn(field, column) && descending === keys[0]?.descending
  })

const isOn = (field: FieldRef, other: FieldRef): boolean =>
  field.path === other.path && field.type === other.type && !field.each

/** A condition that leaves one value of a field, a few, or none. */
interface Fixing {
  readonly condition: Filter
  readonly isSingle: boolean
  /** How many documents of a unique index that leaves, at most. */
  readonly most: number
}

function findFixing(conditions: readonly Filter[], field: FieldRef): Fixing | undefined {
  const isEquality = (part: Filter): boolean =>
    part.kind === 'eq' && isOn(part.field, field) && canHold(field.type, part.value)
  for (const condition of conditions) {
    if (isEquality(condition)) return { condition, isSingle: true, most: 1 }
    const { kind } = condition
    if (kind === 'or' && condition.filters.length > 0 && condition.filters.every(isEquality))
      return { condition, isSingle: false, most: condition.filters.length }
    // Uniqueness does not bind what is missing, and no document is without an _id.
    if (kind === 'not' && condition.filter.kind === 'present' && field !== ID)
      if (isOn(condition.filter.field, field))
        return { condition, isSingle: true, most: Number.POSITIVE_INFINITY }
  }
  return undefined
}

/** The first bound of each side; further ones are left. */
function findBounds(conditions: readonly Filter[], field: FieldRef): readonly Filter[] {
  const find = (...kinds: readonly Filter['kind'][]): Filter | undefined =>
    conditions.find(
      (condition) =>
        kinds.includes(condition.kind) &&
        'field' in condition &&
        isOn(condition.field, field) &&
        (!('value' in condition) || canHold(field.type, condition.value)),
    )
  return [find('gt', 'gte') ?? find('present'), find('lt', 'lte')].filter((bound) => bound !== undefined)
}
