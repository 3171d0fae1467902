import type { Demand, Ways } from '../../../core/claims/query/demands.js'
import type { Field } from '../../../core/fields/field-type.js'
import type { BodyValidator } from '../../../core/fields/schema/validator.js'
import { compare } from '../../../core/filter/compare.js'
import type { Filter, Scalar } from '../../../core/filter/filter.js'
import { matches } from '../../../core/filter/matches.js'
import { compilePath } from '../../../core/json/own-properties.js'
import { toPointerPart } from '../../../core/json/pointer.js'
import { buildCondition, isOperator } from '../../../core/query/condition.js'
import { findVariables } from '../../../core/query/variable.js'
import type { JsonObject } from '../../../core/types.js'

/** Facts about a document, in addition to the demands on it. */
export interface Situation {
  readonly paths: ReadonlyMap<string, Field>
  readonly validate: BodyValidator
  /** The completely known values, by path; `undefined` for a value that is known to be missing. */
  readonly fixed?: ReadonlyMap<string, unknown>
  /** The paths of fields that have a value, which is unknown or, in an object, only partly known. */
  readonly there?: ReadonlySet<string>
  /** Required top-level fields that the document may still lack. */
  readonly lacking?: ReadonlySet<string>
  /** Whether a variable has no value. Anonymous callers, for example, have no `$user`. */
  readonly isLacking?: (variable: string) => boolean
}

/** Returns the value at a path, if that value or an object around it is known. */
function findKnown(path: string, { fixed }: Situation): { readonly value: unknown } | undefined {
  const names = path.split('.')
  for (let depth = names.length; fixed && depth > 0; depth--) {
    const around = names.slice(0, depth).join('.')
    if (fixed.has(around)) {
      const inner = ['known', ...names.slice(depth)].join('.')
      return { value: compilePath(inner)({ known: fixed.get(around) }) }
    }
  }
  return undefined
}

/** Whether a document may meet a condition, given as its alternatives (`ways`). True if in doubt. */
export const isPossible = (ways: Ways, situation: Situation): boolean =>
  ways.some((way) => isWayPossible(way, situation))

function isWayPossible(way: readonly Demand[], situation: Situation): boolean {
  const { isLacking = () => false } = situation
  if (way.some((demand) => variablesIn(demand).some(isLacking))) return false
  const paths = new Set(way.map(({ path }) => path))
  return [...paths].every((path) => {
    const field = situation.paths.get(path)
    const demands = way.filter((demand) => demand.path === path)
    if (!field) return true
    return field.items
      ? isListPossible(field, demands, situation)
      : isValuePossible(field, demands, situation)
  })
}

/** Returns the variables of a demand. A pattern has none. */
export const variablesIn = ({
  operator,
  operand,
}: Pick<Demand, 'operator' | 'operand'>): readonly string[] =>
  operator === '$regex' ? [] : findVariables(operand)

interface ValueBound {
  readonly value: Scalar
  readonly isStrict: boolean
}

/** The values that a field can have under the demands that were considered so far. */
interface AllowedValues {
  mayBeMissing: boolean
  mayBeThere: boolean
  /** The only possible values; `null` if any value is possible. */
  only: readonly Scalar[] | null
  readonly without: Scalar[]
  readonly lows: ValueBound[]
  readonly highs: ValueBound[]
  readonly is: Set<string>
  readonly isNot: Set<string>
}

function isValuePossible(field: Field, demands: readonly Demand[], situation: Situation): boolean {
  const room = roomOf(field, situation)
  for (const demand of demands) narrow(room, field, demand)
  if (room.mayBeMissing) return true
  if (!room.mayBeThere || [...room.is].some((variable) => room.isNot.has(variable))) return false
  const { only, without, lows, highs } = room
  const isWithin = (value: Scalar): boolean =>
    !without.includes(value) &&
    lows.every((low) => isAbove(value, low)) &&
    highs.every((high) => isBelow(value, high))
  const values = only ?? listWholeNumbers(field, room)
  if (values)
    return values.some((value) => isWithin(value) && (only === null || canStore(field, value, situation)))
  return lows.every((low) => highs.every((high) => leavesRoom(low, high)))
}

const isAbove = (value: Scalar, { value: low, isStrict }: ValueBound): boolean =>
  isStrict ? compare(value, low) > 0 : compare(value, low) >= 0
const isBelow = (value: Scalar, { value: high, isStrict }: ValueBound): boolean =>
  isStrict ? compare(value, high) < 0 : compare(value, high) <= 0
const leavesRoom = (low: ValueBound, high: ValueBound): boolean =>
  low.isStrict || high.isStrict ? compare(low.value, high.value) < 0 : compare(low.value, high.value) <= 0

/** The maximum number of whole numbers that are tried individually. */
const MOST = 100

/** Returns the whole numbers between the bounds of a field, if there are few; otherwise `null`. */
function listWholeNumbers({ type }: Field, { lows, highs }: AllowedValues): readonly number[] | null {
  if (type !== 'integer') return null
  const low = Math.ceil(Math.max(...lows.map(({ value }) => Number(value))))
  const high = Math.floor(Math.min(...highs.map(({ value }) => Number(value))))
  if (!(high - low < MOST)) return null
  return Array.from({ length: Math.max(0, high - low + 1) }, (_, i) => low + i)
}

const SYSTEM: readonly string[] = ['_id', 'createdAt', 'updatedAt']

/** Returns the values that a field may have according to its schema and the known values. */
function roomOf(field: Field, situation: Situation): AllowedValues {
  const { definition, path } = field
  const empty = { without: [], lows: [], highs: [], is: new Set<string>(), isNot: new Set<string>() }
  const known = findKnown(path, situation)
  if (known) {
    const { value } = known
    const isThere = value !== undefined && value !== null
    const only = isScalar(value) ? [value] : null
    return { ...empty, mayBeMissing: !isThere, mayBeThere: isThere, only }
  }
  const room: AllowedValues = {
    ...empty,
    mayBeMissing: !isAlwaysThere(path, situation) && situation.there?.has(path) !== true,
    mayBeThere: true,
    only:
      'enum' in definition && definition.enum
        ? definition.enum
        : field.type === 'boolean'
          ? [true, false]
          : null,
  }
  if (definition.type === 'number' || definition.type === 'integer') {
    const { minimum, maximum } = definition
    if (minimum !== undefined) room.lows.push({ value: minimum, isStrict: false })
    if (maximum !== undefined) room.highs.push({ value: maximum, isStrict: false })
  }
  return room
}

const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value)

/** Whether a field always has a value: it is a system field, or it and all objects around it are required. */
const isAlwaysThere = (path: string, { paths, lacking }: Situation): boolean => {
  const names = path.split('.')
  const isRequired = (_: string, i: number): boolean =>
    paths.get(names.slice(0, i + 1).join('.'))?.definition.required === true
  return (
    SYSTEM.includes(path) || (names.every(isRequired) && !names.slice(0, 1).some((top) => lacking?.has(top)))
  )
}

/** Removes the values that a demand excludes. */
function narrow(room: AllowedValues, field: Field, demand: Demand): void {
  const { operator, operand } = demand
  const variables = variablesIn(demand)
  if (variables.length === 0) {
    narrowBy(room, filterOf(field, operator, operand))
    return
  }
  const [variable = ''] = variables
  if (operator === '$ne' || operator === '$nin') {
    if (operand === variable) room.isNot.add(variable)
    return
  }
  const mayBeNull = Array.isArray(operand) && operand.includes(null)
  if (!mayBeNull) room.mayBeMissing = false
  if (operator === '$eq') room.is.add(variable)
}

const filterOf = (field: Field, operator: string, operand: unknown): Filter | null =>
  isOperator(operator) ? buildCondition(field, operator, operand) : null

function narrowBy(room: AllowedValues, filter: Filter | null): void {
  switch (filter?.kind) {
    case 'and':
      for (const part of filter.filters) narrowBy(room, part)
      return
    case 'not':
      exclude(room, filter.filter)
      return
    case 'or': {
      const values = filter.filters.flatMap((part) => (part.kind === 'eq' ? [part.value] : []))
      if (!filter.filters.some(({ kind }) => kind === 'not')) room.mayBeMissing = false
      restrict(room, values)
      return
    }
    case 'eq':
      room.mayBeMissing = false
      restrict(room, [filter.value])
      return
    case 'lt':
    case 'lte':
      room.mayBeMissing = false
      room.highs.push({ value: filter.value, isStrict: filter.kind === 'lt' })
      return
    case 'gt':
    case 'gte':
      room.mayBeMissing = false
      room.lows.push({ value: filter.value, isStrict: filter.kind === 'gt' })
      return
    case 'match':
    case 'present':
      room.mayBeMissing = false
  }
}

function restrict(room: AllowedValues, values: readonly Scalar[]): void {
  room.only = room.only === null ? values : room.only.filter((value) => values.includes(value))
}

function exclude(room: AllowedValues, filter: Filter): void {
  if (filter.kind === 'eq') room.without.push(filter.value)
  if (filter.kind === 'present') room.mayBeThere = false
  if (filter.kind === 'not') narrowBy(room, filter.filter)
  if (filter.kind === 'or') for (const part of filter.filters) exclude(room, part)
}

/** Whether an array may meet all demands. Different elements may meet different demands. */
function isListPossible(field: Field, demands: readonly Demand[], situation: Situation): boolean {
  const known = findKnown(field.path, situation)
  if (known && Array.isArray(known.value) && !demands.every((demand) => isMetBy(known.value, field, demand)))
    return false
  const isGone = known !== undefined && (known.value ?? null) === null
  const { fixed: _, ...free } = situation
  const narrowed = demands.flatMap((demand) => {
    if (!field.items?.fieldType.isScalar) return []
    const room: AllowedValues = { ...roomOf(field.items, free), mayBeMissing: true }
    narrow(room, field, demand)
    return [{ room, demand }]
  })
  const rooms = narrowed.map(({ room }) => room)
  // `$exists`, `$ne` and `$nin` need no element, because an array may exist and be empty.
  const wanted = narrowed.flatMap(({ room, demand: { operator } }) =>
    room.mayBeMissing || ['$exists', '$ne', '$nin'].includes(operator) ? [] : [room],
  )
  const isThere = known ? !isGone : isAlwaysThere(field.path, situation) || situation.there?.has(field.path)
  if (isThere && rooms.some(({ mayBeThere }) => !mayBeThere)) return false
  if (isGone && rooms.some(({ mayBeMissing }) => !mayBeMissing)) return false
  if (wanted.length === 0) return true
  if (rooms.some(({ mayBeThere }) => !mayBeThere)) return false
  const without = rooms.flatMap((room) => room.without)
  return wanted.every(
    ({ only }) =>
      only === null || only.some((value) => !without.includes(value) && canStore(field, value, situation)),
  )
}

/** Whether a field with a known value meets a demand. True if the demand depends on variables. */
function isMetBy(value: unknown, field: Field, demand: Demand): boolean {
  const filter = variablesIn(demand).length > 0 ? null : filterOf(field, demand.operator, demand.operand)
  return filter === null || matches(filter, nest(field.path.split('.'), value))
}

/** Returns objects inside one another, by their names, around a value. */
const nest = (names: readonly string[], value: unknown): JsonObject =>
  names.reduceRight<unknown>((inside, name) => ({ [name]: inside }), value) as JsonObject

/** Whether the schema accepts a value for a field, or for an element of its array. */
function canStore(field: Field, value: Scalar, situation: Situation): boolean {
  const { paths, validate } = situation
  const names = field.path.split('.')
  const [top = ''] = names
  // Known values exist already, and the service itself sets system fields, so neither needs validation.
  if (
    findKnown(field.path, situation) ||
    paths.get(top)?.definition === undefined ||
    SYSTEM.includes(top) ||
    top === 'createdBy'
  )
    return true
  const inner: unknown = field.items ? [value] : value
  const pointer = names.map(toPointerPart).join('') + (field.items ? '/0' : '')
  const isRelevant = ({ path }: { readonly path: string }): boolean => path === pointer
  return validate(nest(names, inner), { limit: 1, isRelevant }).length === 0
}
