import type { Ordered } from '../../../filter/compare.js'
import { and, type FieldRef, type Filter, ID, type Scalar } from '../../../filter/filter.js'
import { type IndexUse, useIndex } from '../../../filter/index-order.js'
import type { SortKey } from '../../../storage.js'
import type { Row } from '../row.js'
import type { Rows } from '../rows.js'
import type { SortedIndex } from '../sorted-index.js'
import type { Range } from '../sorted-list.js'
import { type Candidates, candidatesOfSet } from './candidates.js'

/** How one index serves a read. */
export interface IndexPlan {
  readonly index: SortedIndex
  /** Whether the documents are in the requested order. */
  readonly isSorted: boolean
  /** The conditions that a document still has to meet, and whether there are none. */
  readonly rest: Filter
  readonly isExact: boolean
  /** The parts of the index that hold all matches; no two have a row in common. */
  readonly find: () => readonly Range[]
}

/** More parts of an index than this cost more to find than they save. */
const MAX_RANGES = 2000

/**
 * The parts of an index that follow from equalities on its first fields and bounds on the next one. Where a
 * condition names several values, one plan has a part for each, and another leaves the condition over, for
 * only a single range can be in order.
 */
export function planIndex(
  index: SortedIndex,
  conditions: readonly Filter[],
  sort: readonly SortKey[],
): readonly IndexPlan[] {
  const columns = [...index.fields, ID]
  const several = useIndex(columns, conditions, sort)
  const { fixing, lower, upper, order = [] } = several
  // All of it, in no order that was asked for: the index of ids gives the same.
  if (index.fields.length > 0 && fixing.length + order.length === 0 && !lower && !upper) return []
  if (!fixing.some(({ kind }) => kind === 'or')) return [useIndexFor(index, several, conditions)]
  const leaves = conditions.filter(({ kind }) => kind !== 'or')
  const single = useIndexFor(index, useIndex(columns, leaves, sort), conditions)
  const parts = fixing.reduce((total, condition) => total * countValues(condition), 1)
  return parts <= MAX_RANGES ? [useIndexFor(index, several, conditions), single] : [single]
}

const countValues = (fixing: Filter): number => (fixing.kind === 'or' ? fixing.filters.length : 1)

function useIndexFor(index: SortedIndex, use: IndexUse, conditions: readonly Filter[]): IndexPlan {
  const used = new Set([...use.fixing, use.lower, use.upper])
  const left = conditions.filter((condition) => !used.has(condition))
  return {
    index,
    isSorted: use.order !== undefined,
    isExact: left.length === 0,
    rest: and(left),
    find: compileRanges(index, use),
  }
}

/** The values that a condition leaves a column. Missing ones are ordered as `undefined`, before all others. */
const operandsOf = (condition: Filter): readonly Ordered[] =>
  condition.kind === 'or' || condition.kind === 'eq' ? equalitiesOf(condition) : [undefined]

const boundOf = (condition: Filter): Ordered => ('value' in condition ? condition.value : undefined)

function compileRanges(
  { documents }: SortedIndex,
  { fixing, lower, upper, order }: IndexUse,
): () => readonly Range[] {
  const isBackwards = order?.[0]?.descending === true
  const prefixes = fixing.reduce<readonly (readonly Ordered[])[]>(
    (known, condition) =>
      known.flatMap((prefix) => operandsOf(condition).map((operand) => [...prefix, operand])),
    [[]],
  )
  const isBehindStart = lower ? lower.kind !== 'gte' : upper !== undefined
  const isBehindStop = upper?.kind !== 'lt'
  const bounds = prefixes.map((prefix) => ({
    // With only an upper bound, the range starts after the missing values, which are below nothing.
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

/** The values of a condition that is an equality, or names several values of one field. */
function equalitiesOf(condition: Filter): readonly Scalar[] {
  const parts = condition.kind === 'or' ? condition.filters : [condition]
  return [...new Set(parts.flatMap((part) => (part.kind === 'eq' ? [part.value] : [])))]
}

/** Rows that may match, and the conditions that each still has to meet. */
interface Found {
  readonly candidates: Candidates
  readonly rest: Filter
}

/** Finds the documents whose array holds one of the values that a condition names. */
export function planElements(conditions: readonly Filter[], { elements }: Rows): (() => Found) | undefined {
  for (const condition of conditions) {
    const index = elements.find(({ field }) => isOnElements(condition, field))
    if (!index) continue
    const values = equalitiesOf(condition)
    const rest = and(conditions.filter((other) => other !== condition))
    return () => ({ candidates: gather(values.map(index.find)), rest })
  }
  return undefined
}

const isOnElements = (condition: Filter, field: FieldRef): boolean =>
  condition.kind === 'or'
    ? condition.filters.length > 0 &&
      condition.filters.every((part) => part.kind === 'eq' && isOnElements(part, field))
    : condition.kind === 'eq' &&
      condition.field.each &&
      condition.field.path === field.path &&
      condition.field.type === field.type &&
      condition.field.inside === field.inside

const gather = (found: readonly ReadonlySet<Row>[]): Candidates => {
  const [only] = found
  return candidatesOfSet(only && found.length === 1 ? only : new Set(found.flatMap((rows) => [...rows])))
}
