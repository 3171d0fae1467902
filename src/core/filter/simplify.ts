import {
  type Constraint,
  type FieldConstraint,
  isImpossible,
  join,
  readConstraint,
  writeConditions,
} from './constraint.js'
import {
  and,
  conditionsOf,
  everything,
  type Filter,
  isEverything,
  isNothing,
  nameField,
  not,
  nothing,
  or,
} from './filter.js'
import { groupEqualities } from './join-equalities.js'

/**
 * Simplifies a filter. The result matches the same documents (`matches`). Equalities, lists and bounds on one
 * field become one condition. An alternative disappears if other conditions imply or exclude it. A pattern
 * that begins with literal text also gets the range of strings with that prefix. Conditions keep their order,
 * so that those of a rule stay before those of a query.
 *
 * @example
 * ```ts
 * const [a, b] = ['a', 'b'].map((value): Filter => ({ kind: 'eq', field: team, value }))
 * simplify(and([or([a, b]), b])) // b
 * simplify(and([or([a, isMine]), b])) // b and isMine
 * ```
 */
export const simplify = (filter: Filter): Filter => within(filter, NONE)

/** The constraints that are already known to be true, by the name (`nameField`) of the field. */
type Context = ReadonlyMap<string, Constraint>

const NONE: Context = new Map()

/** Simplifies a filter under the assumption that the constraints of `given` are true. */
function within(filter: Filter, given: Context): Filter {
  const flat =
    filter.kind === 'and' && filter.filters.some(({ kind }) => kind === 'and') ? and(filter.filters) : filter
  const parts = conditionsOf(flat)
  const simplified = simplifyAll(parts, given)
  return simplified === parts ? flat : and(simplified)
}

/** The combined constraint of conditions on one field, and the number of these conditions. */
interface Gathered {
  readonly constraint: Constraint
  readonly count: number
}

/** Simplifies conditions that must all be true. Returns the same list if nothing can be simplified. */
function simplifyAll(parts: readonly Filter[], given: Context): readonly Filter[] {
  const readings = parts.map(readConstraint)
  const own = gather(readings)
  const context = new Map(given)
  for (const [name, { constraint }] of own) {
    const before = given.get(name)
    const now = before ? join(before, constraint) : constraint
    if (isImpossible(now)) return [nothing]
    context.set(name, now)
  }
  const done = new Set<string>()
  let hasNew = false
  const simplified = parts.flatMap((part, i): Filter | readonly Filter[] => {
    const reading = readings[i]
    if (!reading) {
      const other = simplifyOther(part, context)
      // If one alternative remains, it is an ordinary condition, so the whole list is simplified again.
      hasNew ||= part.kind === 'or' && other.kind !== 'or'
      return other
    }
    const name = nameField(reading.constraint.field)
    const left = reading.isWhole ? [] : [part]
    if (done.has(name)) return left
    done.add(name)
    const before = given.get(name)
    if (!before && own.get(name)?.count === 1 && part.kind !== 'match') return keepWhole(part, reading)
    const constraint = context.get(name) ?? reading.constraint
    return [...writeConditions(constraint, before), ...left]
  })
  if (hasNew) return conditionsOf(within(and(simplified), given))
  const isSame = simplified.length === parts.length && simplified.every((part, i) => part === parts[i])
  return isSame ? parts : simplified
}

/** Returns a single condition unchanged, but shortens a list that contains a repeated or impossible value. */
function keepWhole(part: Filter, { constraint }: FieldConstraint): Filter {
  const isShorter = part.kind === 'or' && constraint.values && constraint.values.size < part.filters.length
  return isShorter ? and(writeConditions(constraint, undefined)) : part
}

function gather(readings: readonly (FieldConstraint | undefined)[]): ReadonlyMap<string, Gathered> {
  const own = new Map<string, Gathered>()
  for (const reading of readings) {
    if (!reading) continue
    const name = nameField(reading.constraint.field)
    const before = own.get(name)
    own.set(name, {
      constraint: before ? join(before.constraint, reading.constraint) : reading.constraint,
      count: (before?.count ?? 0) + 1,
    })
  }
  return own
}

function simplifyOther(filter: Filter, context: Context): Filter {
  switch (filter.kind) {
    case 'or':
      return simplifyAny(filter.filters, context, filter)
    case 'not': {
      const inner = within(filter.filter, context)
      return isEverything(inner) || isNothing(inner) ? not(inner) : filter
    }
    default:
      return filter
  }
}

function simplifyAny(filters: readonly Filter[], context: Context, filter: Filter): Filter {
  const parts: Filter[] = []
  let isSame = true
  for (const part of groupEqualities(filters)) {
    const left = isOfElements(part) ? part : within(part, context)
    if (isEverything(left)) return everything
    isSame &&= left === part
    parts.push(left)
  }
  return isSame && parts.length > 0 ? filter : or(parts)
}

/**
 * Whether a filter is an `or` that begins with an equality on array elements. The constraints of other
 * conditions do not apply to elements.
 */
function isOfElements(filter: Filter): boolean {
  const [first] = filter.kind === 'or' ? filter.filters : []
  return first?.kind === 'eq' && first.field.each
}
