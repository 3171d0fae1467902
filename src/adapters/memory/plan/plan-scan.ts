import { canHold, type Ordered } from '../../../core/filter/compare.js'
import {
  and,
  conditionsOf,
  everything,
  type FieldRef,
  type Filter,
  ID,
  isEverything,
  isNothing,
  isOn,
  nameField,
  nothing,
  readEqualities,
} from '../../../core/filter/filter.js'
import {
  combine,
  type IndexUse,
  keysOf,
  MAX_RANGES,
  splitAlternatives,
  useIndex,
} from '../../../core/filter/index-order.js'
import { simplify } from '../../../core/filter/simplify.js'
import { createBoundedMap } from '../../../core/kept/bounded-map.js'
import { CACHES } from '../../../core/kept/caches.js'
import type { SortKey, StoredDocument } from '../../../core/storage.js'
import type { DocumentRow, Rows, SortedIndex } from '../rows.js'
import type { Range } from '../sorted-list.js'
import { type CandidateList, candidatesInAll, candidatesMerged, candidatesOf } from './candidates.js'

/** How one index is used to answer one read. */
interface IndexPlan {
  readonly index: SortedIndex
  /** Whether each part of the index is in the requested order, so that several parts only have to be merged. */
  readonly isOrdered: boolean
  /** `rest`: the conditions that the index does not guarantee. `isExact`: whether there are none. */
  readonly rest: Filter
  readonly isExact: boolean
  readonly isOnePart: boolean
  /** Whether a document may be in more than one part. */
  readonly overlaps: boolean
  /** Finds the parts of the index that together contain all matches. */
  readonly find: () => readonly Range[]
}

/** The maximum number of parts of an index. More parts cost more to find than they save. */
const MAX_PARTS = 2000

/**
 * How an index is used for all reads of one shape, which differ only in values. Conditions are identified by their
 * positions in the list of conditions.
 */
interface IndexShape extends Omit<IndexPlan, 'rest' | 'find'> {
  /** The conditions that all documents of the parts satisfy. `left` contains the other conditions. */
  readonly used: ReadonlySet<number>
  readonly left: readonly number[]
  readonly compile: (conditions: readonly Filter[]) => () => readonly Range[]
}

/** Returns a plan for each index that is worth considering for a read. */
type IndexPlanner = (conditions: readonly Filter[], sort: readonly SortKey[]) => readonly IndexPlan[]

/** The maximum total length of the names of cached shapes. */
const MAX_KEPT = 256 * 1024

/**
 * Creates a planner for the current indexes. Plans are cached for all reads that differ only in values, because
 * planning over all indexes costs more than most reads.
 */
function createIndexPlanner({ sorted }: Rows): IndexPlanner {
  const kept = createBoundedMap<string, readonly IndexShape[]>(CACHES.indexUses, MAX_KEPT)
  return (conditions, sort) => {
    const name = `${sort.map(nameKey).join()}:${conditions.map(nameShape).join()}`
    const known = kept.get(name)
    const shapes = known ?? planShape(sorted, conditions, sort)
    if (!known) kept.set(name, shapes, name.length)
    return shapes.map((shape) => ({
      ...shape,
      rest: and(shape.left.map((place) => conditions[place] ?? nothing)),
      find: shape.compile(conditions),
    }))
  }
}

const nameKey = ({ field, descending }: SortKey): string => `${nameField(field)}${descending ? '-' : '+'}`

/** The name of every condition that cannot use an index. */
const OTHER = '?'

/**
 * Names the parts of a condition on which a plan depends. Conditions with the same name have the same plans, regardless
 * of their values.
 */
function nameShape(condition: Filter): string {
  switch (condition.kind) {
    case 'and':
    case 'match':
      return OTHER
    case 'not':
      return condition.filter.kind === 'present' ? `not ${nameField(condition.filter.field)}` : OTHER
    case 'or':
      return nameValues(condition)
    case 'present':
      return `present ${nameField(condition.field)}`
    default: {
      const { kind, field, value } = condition
      return `${kind} ${nameField(field)}${canHold(field.type, value) ? '' : '!'}`
    }
  }
}

/** Names a list of alternatives. If they are not all values of one field, they cannot use an index. */
function nameValues(condition: Filter): string {
  const list = readEqualities(condition)
  if (!list) return OTHER
  const { field, values } = list
  const isHeld = values.every((value) => canHold(field.type, value))
  return `${values.length} ${nameField(field)}${isHeld ? '' : '!'}`
}

/**
 * Plans the use of each index. Omits a plan if another plan uses at least the same conditions and is ordered whenever
 * the omitted plan is. Plans with one part come first, because each part needs two searches.
 */
function planShape(
  indexes: readonly SortedIndex[],
  conditions: readonly Filter[],
  sort: readonly SortKey[],
): readonly IndexShape[] {
  const all = indexes.flatMap((index) => planIndex(index, conditions, sort))
  const isWorse = (shape: IndexShape, other: IndexShape): boolean =>
    (other.isOrdered || !shape.isOrdered) &&
    shape.used.size <= other.used.size &&
    [...shape.used].every((place) => other.used.has(place))
  // If two plans are equally good, the first plan stays.
  const left = all.filter(
    (shape, i) =>
      !all.some((other, k) => i !== k && isWorse(shape, other) && (k < i || !isWorse(other, shape))),
  )
  const shapes = [...left.filter(({ isOnePart }) => isOnePart), ...left.filter(({ isOnePart }) => !isOnePart)]
  // An ordered plan without remaining conditions is at least as good as every other plan.
  const best = shapes.find(({ isOrdered, isExact }) => isOrdered && isExact)
  return best ? [best] : shapes
}

/**
 * Plans the use of one index: equalities on its first fields and bounds on the next field select parts of it. If a
 * condition lists several values, one plan has a part for each value, and a second plan ignores the condition when it
 * selects parts.
 */
function planIndex(
  index: SortedIndex,
  conditions: readonly Filter[],
  sort: readonly SortKey[],
): readonly IndexShape[] {
  const columns = [...index.fields, ID]
  const several = useIndex(columns, conditions, sort)
  if (!several) return []
  const { fixing, lower, upper, order = [] } = several
  // Such a plan scans the whole index without a useful order, which a plan with the index of ids does as well.
  if (index.fields.length > 0 && fixing.length + order.length === 0 && !lower && !upper) return []
  if (!fixing.some(({ kind }) => kind === 'or'))
    return [useIndexFor(index, { use: several, conditions, isOrdered: isMergeable(columns, several, sort) })]
  const leaves = conditions.filter(({ kind }) => kind !== 'or')
  const use = useIndex(columns, leaves, sort)
  const single = use
    ? [useIndexFor(index, { use, conditions, isOrdered: isMergeable(columns, use, sort) })]
    : []
  const parts = fixing.reduce((total, condition) => total * countValues(condition), 1)
  if (parts > MAX_PARTS) return single
  const isOrdered = (sort.length === 0 || parts <= MAX_RANGES) && isMergeable(columns, several, sort)
  return [useIndexFor(index, { use: several, conditions, isOrdered }), ...single]
}

/**
 * Whether each part of an index is in the requested order. This is so if each sort key either has a single value in the
 * part or belongs to the order that the index provides.
 */
const isMergeable = (
  columns: readonly FieldRef[],
  { fixing, rangeOrder }: IndexUse,
  sort: readonly SortKey[],
): boolean =>
  rangeOrder !== undefined &&
  sort.every(
    (key) =>
      rangeOrder.includes(key) || columns.slice(0, fixing.length).some((column) => isOn(key.field, column)),
  )

const countValues = (fixing: Filter): number => (fixing.kind === 'or' ? fixing.filters.length : 1)

interface UsedIndex {
  readonly use: IndexUse
  readonly conditions: readonly Filter[]
  readonly isOrdered: boolean
}

function useIndexFor(index: SortedIndex, { use, conditions, isOrdered }: UsedIndex): IndexShape {
  const places = [...use.fixing, use.lower, use.upper].map((condition) =>
    condition ? conditions.indexOf(condition) : -1,
  )
  const used = new Set(places.filter((place) => place >= 0))
  const left = [...conditions.keys()].filter((place) => !used.has(place))
  return {
    index,
    isOrdered,
    isExact: left.length === 0,
    used,
    left,
    isOnePart: use.fixing.every(({ kind }) => kind !== 'or'),
    overlaps: use.overlaps,
    compile: (conditions) => {
      const [lower, upper] = places.slice(-2).map((place) => conditions[place])
      const fixing = places.slice(0, -2).map((place) => conditions[place] ?? nothing)
      return compileRanges(index, { ...use, fixing, lower, upper })
    },
  }
}

/**
 * Returns the values that a condition allows in a column. A missing value is `undefined`, which sorts before all
 * others.
 */
const operandsOf = (condition: Filter): readonly Ordered[] => [
  ...new Set<Ordered>(readEqualities(condition)?.values ?? [undefined]),
]

const boundOf = (condition: Filter): Ordered => ('value' in condition ? condition.value : undefined)

function compileRanges(
  { documents }: SortedIndex,
  { fixing, lower, upper, rangeOrder }: IndexUse,
): () => readonly Range[] {
  const isBackwards = rangeOrder?.[0]?.descending === true
  const prefixes = combine(fixing.map(operandsOf))
  const isBehindStart = lower ? lower.kind !== 'gte' : upper !== undefined
  const isBehindStop = upper?.kind !== 'lt'
  const bounds = prefixes.map((prefix) => ({
    // If there is only an upper bound, the range starts after the missing values, because no bound matches them.
    start: lower || upper ? [...prefix, lower && boundOf(lower)] : prefix,
    stop: upper ? [...prefix, boundOf(upper)] : prefix,
  }))
  return () =>
    bounds.map(({ start, stop }) => ({
      first: start.length === 0 ? 0 : documents.rank(start, isBehindStart),
      end: stop.length === 0 ? documents.length : documents.rank(stop, isBehindStop),
      isBackwards,
    }))
}

/** The candidates of a read. They include all matches and may include other documents. */
export interface Scan {
  readonly candidates: CandidateList
  /** Whether the candidates are in the requested order. */
  readonly isSorted: boolean
  /** For each alternative of the filter: the conditions that its candidates must still satisfy. */
  readonly rests: readonly Filter[]
  /** Whether a candidate may occur more than once. */
  readonly repeats: boolean
  /** Whether each candidate is a match and occurs only once. */
  readonly isExact: boolean
  /** The documents of the last list that was read from this scan, cached for an equal list. */
  taken?: { readonly skip: number; readonly count: number; readonly documents: readonly StoredDocument[] }
}

/** Finds the candidates in the current rows. */
type Plan = () => Scan

/** Plans a scan for a filter and a sort order. */
export type Planner = (filter: Filter, sort: readonly SortKey[]) => Scan

/** The rows of a collection, and the planner for their indexes. */
interface Where {
  readonly rows: Rows
  readonly planIndexes: IndexPlanner
}

/** The maximum number of cached scans. */
const MAX_SCANS = 1000

/** Returns a function that wraps a plan, so that the plan's scan is cached until the next write to the collection. */
function createKeptScans<Scan>({ byId }: Rows): (plan: () => Scan) => () => Scan {
  const scans = new Map<() => Scan, Scan>()
  let version = 0
  return (plan) => () => {
    if (!CACHES.scans.isOn) return plan()
    if (version !== byId.documents.version || scans.size === MAX_SCANS) scans.clear()
    version = byId.documents.version
    const scan = scans.get(plan) ?? plan()
    scans.set(plan, scan)
    return scan
  }
}

/** Creates the planner of a collection. It caches plans, but only for filters and orders that are frozen. */
export function createPlanner(rows: Rows): Planner {
  let plans = new WeakMap<readonly SortKey[], WeakMap<Filter, Plan>>()
  let planned = 0
  let where: Where = { rows, planIndexes: createIndexPlanner(rows) }
  const keep = createKeptScans<Scan>(rows)
  return (filter, sort) => {
    const indexes = rows.sorted.length + rows.unique.length
    // A plan is valid until an index is added.
    if (indexes !== planned) {
      plans = new WeakMap()
      where = { rows, planIndexes: createIndexPlanner(rows) }
    }
    planned = indexes
    // A filter that is not frozen may have changed by the next call, so its plan is not cached.
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
 * Plans the cheapest scan. A lookup by id or unique value is preferred, then an index that provides the order and
 * leaves no conditions, then the ranges that cost least: either of one index, or of one index per alternative of the
 * filter.
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

/** The ranges of a plan, the number of documents in them, and the estimated cost of reading them. */
interface CostedPlan {
  readonly plan: IndexPlan
  readonly ranges: readonly Range[]
  readonly length: number
  readonly cost: number
}

/** The cost per document in ranges that must be sorted. In ordered ranges a document costs 1. */
const SORTING = 8

/** The number of documents that a read usually takes from ordered ranges in which each document is a match. */
const PAGE = 100

/** If a plan costs at most this, searching for a better plan costs more than it saves. */
const FEW = 100

/** The maximum number of documents that are sorted without a pause so that they can be merged with ordered ranges. */
const MAX_SORTED = 500

function findWay(plan: IndexPlan): CostedPlan {
  const ranges = plan.find()
  const length = ranges.reduce((total, { first, end }) => total + Math.max(0, end - first), 0)
  if (!plan.isOrdered) return { plan, ranges, length, cost: length * SORTING }
  return { plan, ranges, length, cost: plan.isExact ? Math.min(length, PAGE + ranges.length) : length }
}

/**
 * Chooses the cheapest plan. A read of ordered ranges can stop early, so ranges that must be sorted are chosen only if
 * they are much shorter.
 */
function choose(plans: readonly IndexPlan[]): CostedPlan {
  let best: CostedPlan | undefined
  for (const plan of plans) {
    if (best && best.cost <= FEW) break
    const way = findWay(plan)
    if (!best || way.cost < best.cost || (way.cost === best.cost && plan.isExact && !best.plan.isExact))
      best = way
  }
  if (!best) throw new Error('no index can be used, although every collection must have an index of its ids')
  return best
}

function scanWays(ways: readonly CostedPlan[], sort: readonly SortKey[]): Scan {
  const rests = ways.map(({ plan }) => plan.rest)
  const repeats = ways.length > 1 || ways.some(({ plan }) => plan.overlaps)
  const isExact = !repeats && ways.every(({ plan }) => plan.isExact)
  const parts = ways.flatMap(({ plan: { index, isOrdered }, ranges }, way) =>
    ranges.map((range) => ({ index, range, way, isOrdered })),
  )
  const isSorted = ways.every(
    ({ plan, length }) => plan.isOrdered || (ways.length > 1 && length <= MAX_SORTED),
  )
  const isMerged = sort.length > 0 && isSorted && (ways.length > 1 || parts.length > 1)
  const candidates = isMerged ? candidatesMerged(parts, sort) : candidatesInAll(parts)
  return { candidates, isSorted, rests, repeats, isExact }
}

/**
 * Plans a union of ranges for a condition with alternatives: each alternative, combined with all other conditions, uses
 * the index that suits it best. The returned function returns a scan only if the scan costs less than `most`.
 */
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

/** If a condition requires an `_id` or a unique value, plans a lookup of that single document. */
function planOne(conditions: readonly Filter[], filter: Filter, rows: Rows): Plan | undefined {
  for (const condition of conditions) {
    if (condition.kind !== 'eq' || condition.field.each) continue
    const { field, value } = condition
    const isById = field.path === ID.path
    const index = rows.unique.find(
      ({ fields: [first, ...others] }) =>
        others.length === 0 && first?.path === field.path && first.type === field.type,
    )
    if (!isById && !index) continue
    const rest = conditions.length === 1 ? everything : filter
    return () => {
      const id = isById ? value : index?.lookUp(value)
      const row = typeof id === 'string' ? rows.get(id) : undefined
      return scanRows(row ? [row] : [], rest)
    }
  }
  return undefined
}

/** If a condition lists the ids of all possible matches, plans a lookup of these documents. */
function planMany(conditions: readonly Filter[], sort: readonly SortKey[], rows: Rows): Plan | undefined {
  for (const condition of conditions) {
    const ids = readEqualities(condition)
    if (!ids || !isOn(ids.field, ID)) continue
    const named = [...new Set(ids.values)]
    const isExact = conditions.length === 1 && named.every((id) => typeof id === 'string')
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
