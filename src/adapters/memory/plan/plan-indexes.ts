import { canHold, type Ordered } from '../../../filter/compare.js'
import { and, type FieldRef, type Filter, ID, nothing, type Scalar } from '../../../filter/filter.js'
import { combine, type IndexUse, isOn, MAX_RANGES, useIndex } from '../../../filter/index-order.js'
import { createBoundedMap } from '../../../kept/bounded-map.js'
import { CACHES } from '../../../kept/caches.js'
import type { SortKey } from '../../../storage.js'
import type { Rows } from '../rows.js'
import type { SortedIndex } from '../sorted-index.js'
import type { Range } from '../sorted-list.js'

/** How one index serves a read. */
export interface IndexPlan {
  readonly index: SortedIndex
  /** Whether the documents of each part are in the requested order; several parts are then merged. */
  readonly isOrdered: boolean
  /** The conditions that a document still has to meet, and whether there are none. */
  readonly rest: Filter
  readonly isExact: boolean
  readonly isOnePart: boolean
  /** Whether two parts may have a document in common. */
  readonly overlaps: boolean
  /** The parts of the index that hold all matches. */
  readonly find: () => readonly Range[]
}

/** More parts of an index than this cost more to find than they save. */
const MAX_PARTS = 2000

/** How an index serves all reads of one shape. Conditions are identified by their places. */
interface IndexShape extends Omit<IndexPlan, 'rest' | 'find'> {
  /** The conditions that all documents of the parts meet. */
  readonly used: ReadonlySet<number>
  readonly left: readonly number[]
  readonly compile: (conditions: readonly Filter[]) => () => readonly Range[]
}

/** Finds the plans with which indexes serve a read. */
export type IndexPlanner = (conditions: readonly Filter[], sort: readonly SortKey[]) => readonly IndexPlan[]

/** The most characters of the names of cached shapes. */
const MAX_KEPT = 256 * 1024

/**
 * Creates the planner of the present indexes. Reads that differ only in values are planned once: planning over all
 * indexes costs more than most reads.
 */
export function createIndexPlanner({ sorted }: Rows): IndexPlanner {
  const kept = createBoundedMap<string, CachedShapes>(CACHES.indexUses, MAX_KEPT, ({ size }) => size)
  return (conditions, sort) => {
    const name = `${sort.map(nameKey).join()}:${conditions.map(nameShape).join()}`
    const known = kept.get(name)
    const shapes = known?.shapes ?? planShape(sorted, conditions, sort)
    if (!known) kept.set(name, { shapes, size: name.length })
    return shapes.map((shape) => ({
      ...shape,
      rest: and(shape.left.map((place) => conditions[place] ?? nothing)),
      find: shape.compile(conditions),
    }))
  }
}

interface CachedShapes {
  readonly shapes: readonly IndexShape[]
  readonly size: number
}

const nameKey = ({ field, descending }: SortKey): string => `${nameField(field)}${descending ? '-' : '+'}`

/** With the length of the path, because a path may hold any character. */
const nameField = ({ path, type, each, inside = '' }: FieldRef): string =>
  `${each ? `* ${inside.length} ${inside} ` : ''}${type} ${path.length} ${path}`

/** The name of a condition that serves no index. */
const OTHER = '?'

/** The name of the parts of a condition that decide a plan: equal names have equal plans for any values. */
function nameShape(condition: Filter): string {
  switch (condition.kind) {
    case 'and':
    case 'match':
      return OTHER
    case 'not':
      return condition.filter.kind === 'present' ? `not ${nameField(condition.filter.field)}` : OTHER
    case 'or':
      return nameValues(condition.filters)
    case 'present':
      return `present ${nameField(condition.field)}`
    default: {
      const { kind, field, value } = condition
      return `${kind} ${nameField(field)}${canHold(field.type, value) ? '' : '!'}`
    }
  }
}

/** The name of alternatives that are values of one field; others serve no index. */
function nameValues(filters: readonly Filter[]): string {
  const [first] = filters
  if (first?.kind !== 'eq') return OTHER
  const { field } = first
  const isOneField = filters.every(
    (part) => part.kind === 'eq' && (part.field === field || isOn(part.field, field)),
  )
  if (!isOneField) return OTHER
  const isHeld = filters.every((part) => part.kind === 'eq' && canHold(field.type, part.value))
  return `${filters.length} ${nameField(field)}${isHeld ? '' : '!'}`
}

/**
 * Omits a plan if another one uses the same conditions and more, and is ordered if this one is. Plans with one part
 * come first, because each part takes two searches.
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
  // If two plans are equally good, the first one stays.
  const left = all.filter(
    (shape, i) =>
      !all.some((other, k) => i !== k && isWorse(shape, other) && (k < i || !isWorse(other, shape))),
  )
  const shapes = [...left.filter(({ isOnePart }) => isOnePart), ...left.filter(({ isOnePart }) => !isOnePart)]
  // An ordered plan without remaining conditions is never beaten.
  const best = shapes.find(({ isOrdered, isExact }) => isOrdered && isExact)
  return best ? [best] : shapes
}

/**
 * The parts of an index for equalities on its first fields and bounds on the next one. If a condition has several
 * values, one plan has a part for each value, and another leaves the condition over.
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
  // The whole index without a useful order: the index of ids serves as well.
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

/** Whether each part is ordered: each key has one value there, or is a key of the order that the index provides. */
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

/** The values that a condition allows in a column. A missing value is ordered as `undefined`, before all others. */
const operandsOf = (condition: Filter): readonly Ordered[] =>
  condition.kind === 'or' || condition.kind === 'eq' ? equalitiesOf(condition) : [undefined]

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
    // With only an upper bound, the range starts after the missing values, because no bound matches them.
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

/** The values of a condition that is an equality, or lists several values of one field. */
function equalitiesOf(condition: Filter): readonly Scalar[] {
  const parts = condition.kind === 'or' ? condition.filters : [condition]
  return [...new Set(parts.flatMap((part) => (part.kind === 'eq' ? [part.value] : [])))]
}
