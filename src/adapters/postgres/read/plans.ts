import { canHold } from '../../../core/filter/compare.js'
import {
  conditionsOf,
  type FieldRef,
  type Filter,
  ID,
  isOn,
  nameField,
  type Scalar,
} from '../../../core/filter/filter.js'
import { MAX_RANGES } from '../../../core/filter/index-order.js'
import { groupEqualities } from '../../../core/filter/join-equalities.js'
import { createBoundedMap } from '../../../core/kept/bounded-map.js'
import { CACHES } from '../../../core/kept/caches.js'
import type { IndexPlan, ListQuery } from '../../../core/storage.js'
import type { CompileOptions, Value } from '../../sql/dialect.js'
import type { FilteredStatement } from '../../sql/statements.js'
import { readList } from './merge-ranges.js'

/** A query to plan. */
type PlannableQuery = Omit<ListQuery, 'signal'>

/** The plan of a query, and the values of this query. */
export interface Planned<Plan> {
  /** The part of the result that does not depend on the values. */
  readonly plan: Plan
  readonly values: readonly Value[]
}

/** The functions that make one kind of plan (`Plan`). */
interface Planning<Plan> {
  /** The indexes of a collection that a read can use. */
  indexesOf(collection: string): readonly IndexPlan[]
  compile(collection: string, query: PlannableQuery, options: CompileOptions): FilteredStatement
  /** `isSimple`: whether the plan will be used again with other values. */
  plan(statement: FilteredStatement, collection: string, query: PlannableQuery, isSimple: boolean): Plan
}

/** The maximum number of cached plans. */
const MAX_REMEMBERED = 256

/** Plans a query of a collection. */
export type PlanQuery<Plan> = (
  collection: string,
  query: PlannableQuery,
  options?: CompileOptions,
) => Planned<Plan>

/** Creates a planner. It caches plans, because making a plan costs as much as reading. */
export function createPlans<Plan>({ indexesOf, compile, plan }: Planning<Plan>): PlanQuery<Plan> {
  type Known = { readonly plan: Plan; readonly indexes: readonly IndexPlan[] }
  const remembered = createBoundedMap<string, Known>(CACHES.plans, MAX_REMEMBERED)
  return (collection, query, options = {}) => {
    const indexes = indexesOf(collection)
    const shape = findShape(collection, indexes, query)
    const known = shape && remembered.get(shape.key)
    if (shape && known?.indexes === indexes) return { plan: known.plan, values: shape.values }
    const statement = compile(collection, query, options)
    const made = plan(statement, collection, query, shape !== undefined)
    if (shape) remembered.set(shape.key, { plan: made, indexes })
    return { plan: made, values: statement.values }
  }
}

/**
 * Returns the cache key of a query whose conditions are comparisons, and the values that its statement binds, in
 * order. Returns `undefined` for any other query.
 */
function findShape(
  collection: string,
  indexes: readonly IndexPlan[],
  { filter, sort, skip, limit, bytes }: PlannableQuery,
) {
  if (skip !== 0) return undefined
  const shape = shapeOf(conditionsOf(filter), indexes)
  if (!shape) return undefined
  const { ranges } = shape
  const values = [...shape.values]
  let key = `${collection} ${limit} ${bytes}${shape.key}`
  for (const { field, descending } of sort) {
    if (field.each) return undefined
    key += `\n${descending ? 'descending' : 'ascending'} ${nameField(field)}`
  }
  if (limit !== null) values.push(limit)
  // The number of ranges is part of the key, because it decides whether ranges are merged and whether the read is
  // short.
  return { key: `${key}\n${ranges <= MAX_RANGES ? 'few' : 'many'}`, values }
}

interface Shape {
  readonly key: string
  readonly values: readonly Value[]
  /** The number of ranges to read from an index that has a column for each list. */
  readonly ranges: number
}

/**
 * Returns the shape of conditions: a key that does not depend on their values, and the values in the order in which
 * statements bind them.
 */
function shapeOf(conditions: readonly Filter[], indexes: readonly IndexPlan[]): Shape | undefined {
  let [key, ranges] = ['', 1]
  const values: Value[] = []
  for (const condition of conditions) {
    const shape = shapeOfOne(condition, indexes) ?? shapeOfAny(condition, indexes)
    if (!shape) return undefined
    key += `\n${shape.key}`
    ranges *= shape.ranges
    values.push(...shape.values)
  }
  return { key, values, ranges }
}

/** Returns the shape of a condition with alternatives on several fields, or `undefined` for any other condition. */
function shapeOfAny(condition: Filter, indexes: readonly IndexPlan[]): Shape | undefined {
  if (condition.kind !== 'or') return undefined
  const parts = groupEqualities(condition.filters)
  if (parts.length < 2) return undefined
  let [key, ranges] = ['', 0]
  const values: Value[] = []
  for (const part of parts) {
    const shape = shapeOf(conditionsOf(part), indexes)
    if (!shape) return undefined
    key += `or${shape.key}\n`
    ranges += shape.ranges
    values.push(...shape.values)
  }
  return { key: `${key}end`, values, ranges }
}

/** Returns the shape of a comparison or of a list of values, or `undefined` for any other condition. */
function shapeOfOne(condition: Filter, indexes: readonly IndexPlan[]): Shape | undefined {
  const list = readList(condition)
  if (list) {
    const { field, values } = list
    if (!values.every((one) => canHold(field.type, one))) return undefined
    // A list on a unique field finds one document per value, so the number of values decides how it is read.
    if (isUnique(field, indexes)) return undefined
    const distinct = [...new Set(values)]
    return { key: `in ${nameField(field)}`, values: [distinct], ranges: distinct.length }
  }
  const value = findValue(condition)
  if (value === undefined || !('field' in condition)) return undefined
  const { kind, field } = condition
  if (!canHold(field.type, value)) return undefined
  return { key: `${kind} ${nameField(field)}`, values: [value], ranges: 1 }
}

const isUnique = (field: FieldRef, indexes: readonly IndexPlan[]): boolean =>
  isOn(field, ID) || indexes.some(({ unique, fields }) => unique && fields.some((one) => isOn(field, one)))

/** Returns the value of a comparison. For a pattern that is plain text, it is that text. */
function findValue(condition: Filter): Scalar | undefined {
  if ('value' in condition) return condition.value
  return condition.kind === 'match' && condition.pattern.kind === 'text' ? condition.pattern.text : undefined
}
