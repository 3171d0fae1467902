import type { Ordered } from '../../filter/compare.js'
import { type FieldRef, type Filter, ID, type Scalar } from '../../filter/filter.js'
import { conditionsOf, type IndexUse, isOn, useIndex } from '../../filter/index-order.js'
import type { SortKey } from '../../storage.js'
import { type Candidates, candidatesIn, candidatesOf, type Range } from './candidates.js'
import type { Rows } from './rows.js'
import type { SortedIndex } from './sorted-index.js'
import type { Rank } from './sorted-list.js'

/** Where a read looks for its matches: in a superset of them. */
export interface Scan {
  readonly candidates: Candidates
  /** Whether they are in the requested order. */
  readonly isSorted: boolean
  /** Whether every candidate matches. */
  readonly isExact: boolean
}

/**
 * Chooses the narrowest scan: an id or a unique value, then an index that provides the order, then the
 * shortest range.
 */
export function planScan(filter: Filter, sort: readonly SortKey[], rows: Rows): Scan {
  const conditions = conditionsOf(filter)
  const found = findOne(conditions, rows) ?? findMany(conditions, sort, rows)
  if (found) return found
  let best: Scan = {
    candidates: candidatesIn(rows.byId, { first: 0, end: rows.size, isBackwards: false }),
    isSorted: sort.length === 0,
    isExact: conditions.length === 0,
  }
  for (const index of rows.sorted) {
    const scan = planIndex(index, conditions, sort)
    if (isBetter(scan, best)) best = scan
  }
  return best
}

/** A range in order can stop early, so only a much shorter range is worth sorting instead. */
function isBetter(scan: Scan, best: Scan): boolean {
  const [cost, bestCost] = [scan, best].map(({ candidates: { length }, isSorted }) =>
    isSorted ? length : length * SORTING,
  )
  return (cost ?? 0) < (bestCost ?? 0) || (cost === bestCost && scan.isExact && !best.isExact)
}

/** The number of documents of a range in order that cost as much as one of a range that must be sorted. */
const SORTING = 8

/** The one document with a given `_id` or unique value, if a condition names one. */
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

/** The documents of the ids in a condition, if one names all possible matches. */
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

/** The only id that can match; `null` where there is none, `undefined` where the field is not unique. */
function findId({ path, type }: FieldRef, value: Scalar, rows: Rows): string | null | undefined {
  if (path === '_id') return typeof value === 'string' ? value : null
  for (const index of rows.unique) {
    const [field, ...others] = index.fields
    if (others.length === 0 && field?.path === path && field.type === type) return index.lookUp(value) ?? null
  }
  return undefined
}

/** The range of an index that follows from equalities on its first fields and bounds on the next one. */
function planIndex(index: SortedIndex, conditions: readonly Filter[], sort: readonly SortKey[]): Scan {
  // Several alternative values do not form one range.
  const ranges = conditions.filter(({ kind }) => kind !== 'or')
  const use = useIndex([...index.fields, ID], ranges, sort)
  const isBackwards = use.order?.[0]?.descending === true
  const used = new Set([...use.fixing, use.lower, use.upper])
  return {
    candidates: candidatesIn(index, { ...findRange(index, use), isBackwards }),
    isSorted: use.order !== undefined,
    isExact: conditions.every((condition) => used.has(condition)),
  }
}

/** Missing values are ordered as `undefined`, before all others. */
const operandOf = (condition: Filter): Ordered => ('value' in condition ? condition.value : undefined)

function findRange(index: SortedIndex, { fixing, lower, upper }: IndexUse): Omit<Range, 'isBackwards'> {
  const prefix = fixing.map(operandOf)
  const rankOf = (values: readonly Ordered[], isBehind: boolean): Rank =>
    index.rows.findRank((row) => {
      const order = index.comparePrefix(row, values)
      return isBehind ? order <= 0 : order < 0
    })
  // With only an upper bound, the range starts after the missing values, which are below nothing.
  const start = lower || upper ? [...prefix, lower && operandOf(lower)] : prefix
  const isBehindStart = lower ? lower.kind !== 'gte' : upper !== undefined
  const first = start.length === 0 ? 0 : rankOf(start, isBehindStart)
  const stop = upper ? [...prefix, operandOf(upper)] : prefix
  const end = stop.length === 0 ? index.rows.length : rankOf(stop, upper?.kind !== 'lt')
  return { first, end }
}
