import {
  and,
  conditionsOf,
  everything,
  type FieldRef,
  type Filter,
  ID,
  isEverything,
  isNothing,
  type Scalar,
} from '../../../filter/filter.js'
import { isOn, keysOf, splitAlternatives } from '../../../filter/index-order.js'
import { simplify } from '../../../filter/simplify.js'
import { CACHES } from '../../../kept/caches.js'
import type { SortKey, StoredDocument } from '../../../storage.js'
import type { DocumentRow } from '../row.js'
import type { Rows } from '../rows.js'
import type { Range } from '../sorted-list.js'
import {
  type CandidateList,
  candidatesIn,
  candidatesInAll,
  candidatesMerged,
  candidatesOf,
} from './candidates.js'
import { createKeptScans } from './kept-scans.js'
import { createIndexPlanner, type IndexPlan, type IndexPlanner } from './plan-indexes.js'

/** The candidates of a read: a superset of its matches. */
export interface Scan {
  readonly candidates: CandidateList
  /** Whether they are in the requested order. */
  readonly isSorted: boolean
  /** The conditions that a candidate still has to meet, by the alternative that found it. */
  readonly rests: readonly Filter[]
  /** Whether a candidate may occur several times. */
  readonly repeats: boolean
  /** Whether each candidate is a match, and occurs once. */
  readonly isExact: boolean
  /** The documents of the last list taken from this scan. */
  taken?: { readonly skip: number; readonly count: number; readonly documents: readonly StoredDocument[] }
}

/** Finds the candidates among the present rows. */
type Plan = () => Scan

/** Plans a scan for a filter, in an order. */
export type Planner = (filter: Filter, sort: readonly SortKey[]) => Scan

/** The rows of a collection, and the planner of their indexes. */
interface Where {
  readonly rows: Rows
  readonly planIndexes: IndexPlanner
}

/** Creates the planner of a collection. It caches its plans for frozen filters and orders. */
export function createPlanner(rows: Rows): Planner {
  let plans = new WeakMap<readonly SortKey[], WeakMap<Filter, Plan>>()
  let planned = 0
  let where: Where = { rows, planIndexes: createIndexPlanner(rows) }
  const keep = createKeptScans<Scan>(rows)
  return (filter, sort) => {
    const indexes = rows.sorted.length + rows.unique.length
    // A plan is valid until there is another index.
    if (indexes !== planned) {
      plans = new WeakMap()
      where = { rows, planIndexes: createIndexPlanner(rows) }
    }
    planned = indexes
    // A filter that is not frozen may have changed by the next call.
    if (!CACHES.plans.isOn || !Object.isFrozen(filter) || !Object.isFrozen(sort))
      return planScan(filter, sort, where)()
    const ofOrder = plans.get(sort) ?? new WeakMap<Filter, Plan>()
    const plan = ofOrder.get(filter) ?? planScan(filter, sort, where, keep)
    ofOrder.set(filter, plan)
    plans.set(sort, ofOrder)
    return plan()
  }
}

/**
 * Plans the narrowest scan: an id or a unique value, then an index that provides the order, then the shortest ranges,
 * of one index or of one per alternative.
 */
function planScan(
  filter: Filter,
  sort: readonly SortKey[],
  { rows, planIndexes }: Where,
  keep = (plan: Plan) => plan,
): Plan {
  const conditions = conditionsOf(filter)
  if (conditions.some(isNothing)) return () => scanRows([])
  const one = planOne(conditions, filter, rows) ?? planMany(conditions, sort, rows)
  if (one) return one
  const keys = keysOf(conditions, sort)
  const plans = planIndexes(conditions, keys)
  const best = plans.find(({ isOrdered, isExact }) => isOrdered && isExact)
  if (best) return keep(() => scanWays([findWay(best)], keys))
  const findUnion = planUnion(filter, keys, planIndexes)
  return keep(() => {
    const way = choose(plans)
    return (way.cost > FEW && findUnion(way.cost)) || scanWays([way], keys)
  })
}

/** The ranges of a plan, and the cost of reading them. */
interface CostedPlan {
  readonly plan: IndexPlan
  readonly ranges: readonly Range[]
  readonly length: number
  readonly cost: number
}

/** How many documents of an ordered range cost as much as one of a range that must be sorted. */
const SORTING = 8

/** The usual number of documents read from ordered ranges in which each document matches. */
const PAGE = 100

/** Up to this cost, a search for a better plan costs more than it saves. */
const FEW = 100

/** The most documents of a range that is sorted at once and merged with ordered ranges. */
const MAX_SORTED = 500

function findWay(plan: IndexPlan): CostedPlan {
  const ranges = plan.find()
  const length = ranges.reduce((total, { first, end }) => total + Math.max(0, end - first), 0)
  if (!plan.isOrdered) return { plan, ranges, length, cost: length * SORTING }
  return { plan, ranges, length, cost: plan.isExact ? Math.min(length, PAGE + ranges.length) : length }
}

/** Ordered ranges can stop early, so only much shorter ranges are worth sorting instead. */
function choose(plans: readonly IndexPlan[]): CostedPlan {
  let best: CostedPlan | undefined
  for (const plan of plans) {
    if (best && best.cost <= FEW) break
    const way = findWay(plan)
    if (!best || way.cost < best.cost || (way.cost === best.cost && plan.isExact && !best.plan.isExact))
      best = way
  }
  if (!best) throw new Error('every collection has an index of its ids')
  return best
}

function scanWays(ways: readonly CostedPlan[], sort: readonly SortKey[]): Scan {
  const [way] = ways
  const [range] = way?.ranges ?? []
  const rests = ways.map(({ plan }) => plan.rest)
  const repeats = ways.length > 1 || way?.plan.overlaps === true
  const isExact = !repeats && way?.plan.isExact === true
  if (way && range && ways.length === 1 && way.ranges.length === 1)
    return {
      candidates: candidatesIn(way.plan.index, range),
      isSorted: way.plan.isOrdered,
      rests,
      repeats,
      isExact,
    }
  const parts = ways.flatMap(({ plan: { index, isOrdered }, ranges }, way) =>
    ranges.map((range) => ({ index, range, way, isOrdered })),
  )
  const isSorted = ways.every(
    ({ plan, length }) => plan.isOrdered || (ways.length > 1 && length <= MAX_SORTED),
  )
  const candidates = sort.length > 0 && isSorted ? candidatesMerged(parts, sort) : candidatesInAll(parts)
  return { candidates, isSorted, rests, repeats, isExact }
}

/** Plans a union of ranges: one for each alternative of a condition, combined with the other conditions. */
function planUnion(
  filter: Filter,
  sort: readonly SortKey[],
  planIndexes: IndexPlanner,
): (most: number) => Scan | undefined {
  let planned: readonly (readonly (readonly IndexPlan[])[])[] | undefined
  const plan = (): typeof planned =>
    splitAlternatives(conditionsOf(filter)).map((parts) =>
      parts.flatMap(({ all }) => {
        const part = simplify(and(all))
        return isNothing(part) ? [] : [planIndexes(conditionsOf(part), sort)]
      }),
    )
  return (most) => {
    planned ??= plan()
    let best: { readonly ways: readonly CostedPlan[]; readonly cost: number } = { ways: [], cost: most }
    for (const parts of planned ?? []) {
      const ways = parts.map(choose)
      const cost = ways.reduce((total, way) => total + way.cost, 0)
      if (cost < best.cost) best = { ways, cost }
    }
    return best.cost < most ? scanWays(best.ways, sort) : undefined
  }
}

const scanRows = (found: readonly DocumentRow[], rest = everything, isSorted = true): Scan => ({
  candidates: candidatesOf(found),
  isSorted,
  rests: [rest],
  repeats: false,
  isExact: isEverything(rest),
})

/** The document with a given `_id` or unique value, if a condition names one. */
function planOne(conditions: readonly Filter[], filter: Filter, rows: Rows): Plan | undefined {
  for (const condition of conditions) {
    if (condition.kind !== 'eq' || condition.field.each) continue
    const { field, value } = condition
    if (!isUnique(field, rows)) continue
    const rest = conditions.length === 1 ? everything : filter
    return () => {
      const id = findId(field, value, rows)
      const row = id === undefined ? undefined : rows.get(id)
      return scanRows(row ? [row] : [], rest)
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
    const rest = isExact ? everything : and(conditions)
    return () =>
      scanRows(
        named.flatMap((id) => rows.get(String(id)) ?? []),
        rest,
        sort.length === 0,
      )
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
