import {
  and,
  conditionsOf,
  everything,
  type FieldRef,
  type Filter,
  ID,
  type Scalar,
} from '../../../filter/filter.js'
import { isOn } from '../../../filter/index-order.js'
import type { SortKey, StoredDocument } from '../../../storage.js'
import type { Rows } from '../rows.js'
import type { Range } from '../sorted-list.js'
import { type Candidates, candidatesIn, candidatesInAll, candidatesOf } from './candidates.js'
import { createKeptScans } from './kept-scans.js'
import { type IndexPlan, planElements, planIndex } from './plan-indexes.js'

/** Where a read looks for its matches: in a superset of them. */
export interface Scan {
  readonly candidates: Candidates
  /** Whether they are in the requested order. */
  readonly isSorted: boolean
  /** The conditions that a candidate still has to meet. */
  readonly rest: Filter
  /** The documents that were last taken from it, as long as it holds. */
  taken?: { readonly skip: number; readonly count: number; readonly documents: readonly StoredDocument[] }
}

/** Finds where to look in the present rows. */
type Plan = () => Scan

/** Plans where to look for the matches of a filter, in an order. */
export type Planner = (filter: Filter, sort: readonly SortKey[]) => Scan

/** Creates the planner of a collection. It keeps its plans for filters and orders that are frozen. */
export function createPlanner(rows: Rows): Planner {
  let plans = new WeakMap<readonly SortKey[], WeakMap<Filter, Plan>>()
  let planned = 0
  const keep = createKeptScans<Scan>(rows)
  return (filter, sort) => {
    // What is not frozen may be another one next time.
    if (!Object.isFrozen(filter) || !Object.isFrozen(sort)) return planScan(filter, sort, rows)()
    const indexes = rows.sorted.length + rows.unique.length
    // A plan holds until there is another index.
    if (indexes !== planned) plans = new WeakMap()
    planned = indexes
    const ofOrder = plans.get(sort) ?? new WeakMap<Filter, Plan>()
    const plan = ofOrder.get(filter) ?? planScan(filter, sort, rows, keep)
    ofOrder.set(filter, plan)
    plans.set(sort, ofOrder)
    return plan()
  }
}

/**
 * Plans the narrowest scan: an id or a unique value, then an index that provides the order, then the shortest
 * range.
 */
function planScan(filter: Filter, sort: readonly SortKey[], rows: Rows, keep = (plan: Plan) => plan): Plan {
  const conditions = conditionsOf(filter)
  const one = planOne(conditions, filter, rows) ?? planMany(conditions, sort, rows)
  if (one) return one
  const plans = rows.sorted.flatMap((index) => planIndex(index, conditions, sort))
  // A range in order in which each document matches is never beaten.
  const best = plans.find(({ isSorted, isExact }) => isSorted && isExact)
  const findElements = planElements(conditions, rows)
  if (best || !findElements) return keep(() => choose(best ? [best] : plans))
  return () => {
    const scan = choose(plans)
    const { candidates, rest } = findElements()
    return candidates.length * SORTING < costOf(scan)
      ? { candidates, isSorted: sort.length === 0, rest }
      : scan
  }
}

/** A range in order can stop early, so only a much shorter range is worth sorting instead. */
function choose(plans: readonly IndexPlan[]): Scan {
  let best: { readonly plan: IndexPlan; readonly ranges: readonly Range[]; readonly cost: number } | undefined
  for (const plan of plans) {
    const ranges = plan.find()
    const length = ranges.reduce((total, { first, end }) => total + Math.max(0, end - first), 0)
    const cost = plan.isSorted ? length : length * SORTING
    const isBetter = !best || cost < best.cost || (cost === best.cost && plan.isExact && !best.plan.isExact)
    if (isBetter) best = { plan, ranges, cost }
  }
  if (!best) throw new Error('every collection has an index of its ids')
  const { plan, ranges } = best
  const [only] = ranges
  const candidates =
    only && ranges.length === 1 ? candidatesIn(plan.index, only) : candidatesInAll(plan.index, ranges)
  return { candidates, isSorted: plan.isSorted, rest: plan.rest }
}

const costOf = ({ candidates, isSorted }: Scan): number =>
  isSorted ? candidates.length : candidates.length * SORTING

/** The number of documents of a range in order that cost as much as one of a range that must be sorted. */
const SORTING = 8

/** The one document with a given `_id` or unique value, if a condition names one. */
function planOne(conditions: readonly Filter[], filter: Filter, rows: Rows): Plan | undefined {
  for (const condition of conditions) {
    if (condition.kind !== 'eq' || condition.field.each) continue
    const { field, value } = condition
    if (!isUnique(field, rows)) continue
    const rest = conditions.length === 1 ? everything : filter
    return () => {
      const id = findId(field, value, rows)
      const row = id === undefined ? undefined : rows.get(id)
      return { candidates: candidatesOf(row ? [row] : []), isSorted: true, rest }
    }
  }
  return undefined
}

/** The documents of the ids in a condition, if one names all possible matches. */
function planMany(conditions: readonly Filter[], sort: readonly SortKey[], rows: Rows): Plan | undefined {
  for (const condition of conditions) {
    if (condition.kind !== 'or') continue
    const ids = condition.filters.map((part) =>
      part.kind === 'eq' && isOn(part.field, ID) ? part.value : undefined,
    )
    if (ids.length === 0 || ids.includes(undefined)) continue
    const named = [...new Set(ids)]
    const isExact = conditions.length === 1 && ids.every((id) => typeof id === 'string')
    return () => ({
      candidates: candidatesOf(named.flatMap((id) => rows.get(String(id)) ?? [])),
      isSorted: sort.length === 0,
      rest: isExact ? everything : and(conditions),
    })
  }
  return undefined
}

const isUnique = (field: FieldRef, { unique }: Rows): boolean =>
  field.path === ID.path ||
  unique.some(({ fields: [first, ...others] }) => others.length === 0 && isSameField(first, field))

const isSameField = (a: FieldRef | undefined, b: FieldRef): boolean => a?.path === b.path && a.type === b.type

/** The only id that can match. */
function findId(field: FieldRef, value: Scalar, { unique }: Rows): string | undefined {
  if (field.path === ID.path) return typeof value === 'string' ? value : undefined
  const index = unique.find(
    ({ fields: [first, ...others] }) => others.length === 0 && isSameField(first, field),
  )
  return index?.lookUp(value)
}
