import { canHold, compare, isComparable } from './compare.js'
import {
  type FieldRef,
  type Filter,
  type Leaf,
  not,
  nothing,
  or,
  readEqualities,
  type Scalar,
} from './filter.js'
import { LAST } from './pattern/syntax/code-points.js'
import type { Pattern } from './pattern/syntax/pattern.js'

/**
 * Returns the literal text with which every match of a pattern begins; `undefined` if the pattern does not begin with
 * `^` and literal text. `isAll`: the pattern matches all strings with this prefix.
 */
function prefixOf(pattern: Pattern): { readonly prefix: string; readonly isAll: boolean } | undefined {
  if (pattern.kind !== 'sequence') return undefined
  const [start, text, ...more] = pattern.parts
  if (start?.kind !== 'start' || text?.kind !== 'text' || text.text === '') return undefined
  return { prefix: text.text, isAll: more.length === 0 }
}

const [FIRST_SURROGATE, LAST_SURROGATE] = [0xd800, 0xdfff]

/**
 * Returns the first string, by code points, after all strings with a prefix; `undefined` if there is none.
 */
function findSuccessor(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === LAST) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  const next = last + 1 === FIRST_SURROGATE ? LAST_SURROGATE + 1 : last + 1
  return String.fromCodePoint(...points, next)
}

/** A comparison that limits a field from below or from above. */
interface ComparisonBound {
  readonly kind: 'lt' | 'lte' | 'gt' | 'gte'
  readonly field: FieldRef
  readonly value: Scalar
}

/** The combined constraint of all conditions on one field. */
export interface Constraint {
  readonly field: FieldRef
  /** The allowed values; `undefined` if any value is allowed. */
  readonly values: ReadonlySet<Scalar> | undefined
  readonly excluded: ReadonlySet<Scalar>
  readonly lower: ComparisonBound | undefined
  readonly upper: ComparisonBound | undefined
  readonly isPresent: boolean
  readonly isMissing: boolean
}

/** The constraint of a condition on one field. `isWhole`: the condition requires nothing else. */
export interface FieldConstraint {
  readonly constraint: Constraint
  readonly isWhole: boolean
}

const NO_VALUES: ReadonlySet<Scalar> = new Set()

const nothingSaid = (field: FieldRef): Constraint => ({
  field,
  values: undefined,
  excluded: NO_VALUES,
  lower: undefined,
  upper: undefined,
  isPresent: false,
  isMissing: false,
})

/**
 * Reads the constraint of a condition. Returns `undefined` for a condition on several fields, on array
 * elements, or on values without an order.
 */
export function readConstraint(filter: Filter): FieldConstraint | undefined {
  switch (filter.kind) {
    case 'and':
      return undefined
    case 'or': {
      const equal = readValues(filter)
      return equal && whole(equal.field, { values: equal.values })
    }
    case 'not':
      return readNegation(filter.filter)
    default:
      return isPlain(filter.field) ? readLeaf(filter) : undefined
  }
}

const whole = (field: FieldRef, said: Partial<Constraint>): FieldConstraint => ({
  constraint: { ...nothingSaid(field), ...said },
  isWhole: true,
})

function readNegation(filter: Filter): FieldConstraint | undefined {
  if (filter.kind === 'present')
    return isPlain(filter.field) ? whole(filter.field, { isMissing: true }) : undefined
  const equal = readValues(filter)
  return equal && whole(equal.field, { excluded: equal.values })
}

function readLeaf(leaf: Leaf): FieldConstraint | undefined {
  const { kind, field } = leaf
  switch (kind) {
    case 'present':
      return whole(field, { isPresent: true })
    case 'match': {
      const found = field.type === 'string' ? prefixOf(leaf.pattern) : undefined
      if (!found) return undefined
      const below = findSuccessor(found.prefix)
      const lower: ComparisonBound = { kind: 'gte', field, value: found.prefix }
      const upper: ComparisonBound | undefined =
        below === undefined ? undefined : { kind: 'lt', field, value: below }
      return { constraint: { ...nothingSaid(field), lower, upper }, isWhole: found.isAll }
    }
    case 'eq':
      return whole(field, { values: new Set(canHold(field.type, leaf.value) ? [leaf.value] : []) })
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      const bound: ComparisonBound = { kind, field, value: leaf.value }
      if (!canHold(field.type, leaf.value)) return whole(field, { values: NO_VALUES })
      return whole(field, kind === 'gt' || kind === 'gte' ? { lower: bound } : { upper: bound })
    }
    default:
      return kind satisfies never
  }
}

/** Whether a field has a single value (not array elements) of a type that has an order. */
const isPlain = ({ each, type }: FieldRef): boolean => !each && isComparable(type)

/** Reads an equality, or an `or` of equalities, on one plain field. A value of another type never matches. */
function readValues(
  filter: Filter,
): { readonly field: FieldRef; readonly values: ReadonlySet<Scalar> } | undefined {
  const equal = readEqualities(filter)
  if (!equal || !isPlain(equal.field)) return undefined
  const { field, values } = equal
  return { field, values: new Set(values.filter((value) => canHold(field.type, value))) }
}

/** Combines two constraints on one field: a value must satisfy both. */
export function join(a: Constraint, b: Constraint): Constraint {
  const joined: Constraint = {
    field: a.field,
    values: a.values && b.values ? intersect(a.values, b.values) : (a.values ?? b.values),
    excluded: new Set([...a.excluded, ...b.excluded]),
    lower: stronger(a.lower, b.lower, 1),
    upper: stronger(a.upper, b.upper, -1),
    isPresent: a.isPresent || b.isPresent,
    isMissing: a.isMissing || b.isMissing,
  }
  const { values, excluded, lower, upper } = joined
  if (!values || (excluded.size === 0 && !lower && !upper)) return joined
  const left = [...values].filter((value) => allows(joined, value))
  return left.length === values.size ? joined : { ...joined, values: new Set(left) }
}

function intersect(a: ReadonlySet<Scalar>, b: ReadonlySet<Scalar>): ReadonlySet<Scalar> {
  const [fewer, more] = a.size <= b.size ? [a, b] : [b, a]
  return new Set([...fewer].filter((value) => more.has(value)))
}

/** Returns the stricter of two bounds. `direction` is 1 for lower bounds and -1 for upper bounds. */
function stronger(
  a: ComparisonBound | undefined,
  b: ComparisonBound | undefined,
  direction: 1 | -1,
): ComparisonBound | undefined {
  if (!a || !b) return a ?? b
  const order = compare(a.value, b.value) * direction
  if (order !== 0) return order > 0 ? a : b
  return isStrict(b) && !isStrict(a) ? b : a
}

const isStrict = ({ kind }: ComparisonBound): boolean => kind === 'gt' || kind === 'lt'

/** Whether a value is within the bounds and not excluded. */
function allows({ excluded, lower, upper }: Constraint, value: Scalar): boolean {
  if (excluded.has(value)) return false
  if (lower) {
    const order = compare(value, lower.value)
    if (order < 0 || (order === 0 && isStrict(lower))) return false
  }
  if (upper) {
    const order = compare(value, upper.value)
    if (order > 0 || (order === 0 && isStrict(upper))) return false
  }
  return true
}

/** Whether no value of the field can satisfy a constraint. */
export function isImpossible({ values, lower, upper, isPresent, isMissing }: Constraint): boolean {
  if (values?.size === 0) return true
  if (isMissing) return values !== undefined || lower !== undefined || upper !== undefined || isPresent
  if (!lower || !upper) return false
  const order = compare(lower.value, upper.value)
  return order > 0 || (order === 0 && (isStrict(lower) || isStrict(upper)))
}

/** Builds the conditions that express a constraint, without those that `given` already implies. */
export function writeConditions(constraint: Constraint, given: Constraint | undefined): readonly Filter[] {
  const { field, values, excluded, lower, upper } = constraint
  if (isImpossible(constraint)) return [nothing]
  if (values) {
    if (given?.values?.size === values.size) return []
    return [or([...values].map((value) => ({ kind: 'eq', field, value })))]
  }
  if (constraint.isMissing) return given?.isMissing ? [] : [not({ kind: 'present', field })]
  const conditions: Filter[] = []
  if (lower && lower !== given?.lower) conditions.push(lower)
  if (upper && upper !== given?.upper) conditions.push(upper)
  if (constraint.isPresent && !lower && !upper && !given?.isPresent)
    conditions.push({ kind: 'present', field })
  const others = [...excluded].filter(
    (value) => !given?.excluded.has(value) && allows({ ...constraint, excluded: NO_VALUES }, value),
  )
  if (others.length > 0) conditions.push(not(or(others.map((value) => ({ kind: 'eq', field, value })))))
  return conditions
}
