import { canHold, type Ordered } from '../../filter/compare.js'
import { type FieldRef, type Filter, ID, type Scalar } from '../../filter/filter.js'
import type { SortKey } from '../../storage.js'
import { type Candidates, candidatesIn, candidatesOf } from './candidates.js'
import type { Rows } from './rows.js'
import type { SortedIndex } from './sorted-index.js'
import type { Rank } from './sorted-list.js'

/** Where the documents that can match a filter are looked for: a superset of what matches. */
export interface Scan {
  readonly candidates: Candidates
  /** Whether they come in the order that was asked for. */
  readonly isSorted: boolean
  /** Whether every candidate matches. */
  readonly isExact: boolean
}

/** Chooses the narrowest way: an id or a unique value, then an index that gives the order, then the shortest range. */
export function planScan(filter: Filter, sort: readonly SortKey[], rows: Rows): Scan {
  const conditions = filter.kind === 'and' ? filter.filters : [filter]
  const found = findOne(conditions, rows) ?? findMany(conditions, sort, rows)
  if (found) return found
  let best: Scan = {
    candidates: candidatesIn(rows.byId.rows, 0, rows.size, false),
    isSorted: sort.length === 0,
    isExact: conditions.length === 0,
  }
  for (const index of rows.sorted) {
    const scan = planIndex(index, conditions, sort)
    if (isBetter(scan, best)) best = scan
  }
  return best
}

/** A range in order stops early, but only a much shorter one is worth sorting instead. */
function isBetter(scan: Scan, best: Scan): boolean {
  const [cost, bestCost] = [scan, best].map(({ candidates: { length }, isSorted }) =>
    isSorted ? length : length * SORTING,
  )
  return (cost ?? 0) < (bestCost ?? 0) || (cost === bestCost && scan.isExact && !best.isExact)
}

/** How many documents of a range in order one document of a range to be sorted costs. */
const SORTING = 8

/** The one document that a condition on `_id` or a unique field leaves, if there is such a condition. */
function findOne(conditions: readonly Filter[], rows: Rows): Scan | undefined {
  for (const condition of conditions) {
    if (condition.kind !== 'eq' || condition.field.each) continue
    const id = findId(condition.field, condition.value, rows)
    if (id === undefined) continue
    const row = id === null ? undefined : rows.get(id)
    return { candidates: candidatesOf(row ? [row] : []), isSorted: true, isExact: conditions.length === 1 }
  }
  return undefined
}

/** The documents of the ids that a condition names, if there is one that names all that can match. */
function findMany(conditions: readonly Filter[], sort: readonly SortKey[], rows: Rows): Scan | undefined {
  for (const condition of conditions) {
    if (condition.kind !== 'or') continue
    const ids = condition.filters.map((part) =>
      part.kind === 'eq' && isOn(part.field, ID) ? part.value : undefined,
    )
    if (ids.length === 0 || ids.includes(undefined)) continue
    const candidates = candidatesOf([...new Set(ids)].flatMap((id) => rows.get(String(id)) ?? []))
    const isExact = conditions.length === 1 && ids.every((id) => typeof id === 'string')
    return { candidates, isSorted: sort.length === 0, isExact }
  }
  return undefined
}

/** The only id that can match; `null` where there is none, `undefined` where the field does not tell. */
function findId({ path, type }: FieldRef, value: Scalar, rows: Rows): string | null | undefined {
  if (path === '_id') return typeof value === 'string' ? value : null
  for (const index of rows.unique) {
    const [field, ...others] = index.fields
    if (others.length === 0 && field?.path === path && field.type === type) return index.lookUp(value) ?? null
  }
  return undefined
}

/** `undefined` is what missing values are ordered as: before all others. */
interface Bound {
  readonly value: Ordered
  readonly isIncluded: boolean
}

interface Bounds {
  readonly lower?: Bound
  readonly upper?: Bound
}

/** The range of an index that equalities on its first fields, and bounds on the next one, leave. */
function planIndex(index: SortedIndex, conditions: readonly Filter[], sort: readonly SortKey[]): Scan {
  const used = new Set<Filter>()
  const prefix: Ordered[] = []
  for (const field of index.fields) {
    const equality = conditions.find((condition) => isEquality(condition, field))
    if (!equality) break
    used.add(equality)
    prefix.push(equality.kind === 'eq' ? equality.value : undefined)
  }
  const next = index.fields[prefix.length] ?? ID
  const bounds = findBounds(next, conditions, used)
  const [first, end] = findRange(index, prefix, bounds)
  const direction = findDirection(index, prefix.length, sort)
  return {
    candidates: candidatesIn(index.rows, first, end, direction === 'descending'),
    isSorted: direction !== undefined || sort.length === 0,
    isExact: conditions.every((condition) => used.has(condition)),
  }
}

const isOn = (field: FieldRef, other: FieldRef): boolean =>
  field.path === other.path && field.type === other.type && !field.each

/** A condition that leaves one value of a field: a given one, or none at all. */
function isEquality(condition: Filter, field: FieldRef): boolean {
  if (condition.kind === 'eq') return isOn(condition.field, field)
  return (
    condition.kind === 'not' && condition.filter.kind === 'present' && isOn(condition.filter.field, field)
  )
}

/** The first bound of each side; further ones are left for the filter. */
function findBounds(field: FieldRef, conditions: readonly Filter[], used: Set<Filter>): Bounds {
  const find = (kinds: readonly string[]): Bound | undefined => {
    for (const condition of conditions) {
      if (!kinds.includes(condition.kind) || !('field' in condition) || !isOn(condition.field, field))
        continue
      // The order of an index has values of other types too: they are beyond every bound, and never match.
      if ('value' in condition && !canHold(field.type, condition.value)) continue
      used.add(condition)
      const value = 'value' in condition ? condition.value : undefined
      return { value, isIncluded: condition.kind === 'gte' || condition.kind === 'lte' }
    }
    return undefined
  }
  const lower = find(['gt', 'gte']) ?? find(['present'])
  const upper = find(['lt', 'lte'])
  return { ...(lower ? { lower } : {}), ...(upper ? { upper } : {}) }
}

function findRange(
  index: SortedIndex,
  prefix: readonly Ordered[],
  { lower, upper }: Bounds,
): readonly [Rank, Rank] {
  const rankOf = (values: readonly Ordered[], isBehind: boolean): Rank =>
    index.rows.findRank((row) => {
      const order = index.comparePrefix(row, values)
      return isBehind ? order <= 0 : order < 0
    })
  // Only an upper bound: missing values stand before all others, and are below nothing.
  const start = lower ? [...prefix, lower.value] : upper ? [...prefix, undefined] : prefix
  const isBehindStart = lower ? !lower.isIncluded : upper !== undefined
  const first = start.length === 0 ? 0 : rankOf(start, isBehindStart)
  const stop = upper ? [...prefix, upper.value] : prefix
  const end = stop.length === 0 ? index.rows.length : rankOf(stop, upper ? upper.isIncluded : true)
  return [first, end]
}

/** In which direction an index gives an order, if it does: its fields behind the fixed ones, then `_id`. */
function findDirection(
  index: SortedIndex,
  fixed: number,
  sort: readonly SortKey[],
): 'ascending' | 'descending' | undefined {
  const [firstKey] = sort
  if (!firstKey || sort.some(({ descending }) => descending !== firstKey.descending)) return undefined
  const fixedFields = index.fields.slice(0, fixed)
  // A key that an equality fixes orders nothing.
  const keys = sort
    .map(({ field }) => field)
    .filter((field) => !fixedFields.some((other) => isOn(field, other)))
  const given = [...index.fields.slice(fixed), ID]
  const isGiven = keys.length === given.length && given.every((field, i) => keys[i] && isOn(field, keys[i]))
  if (!isGiven) return undefined
  return firstKey.descending ? 'descending' : 'ascending'
}
