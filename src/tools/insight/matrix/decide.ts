import type { Collection } from '../../../core/config/plan.js'
import { SYSTEM_FIELDS } from '../../../core/fields/schema/names.js'
import { includesProperty, type Rule, type RuleOperation } from '../../../core/permissions/grants.js'
import { acceptsProperty } from '../../../core/permissions/write-rules.js'
import type { MatrixCondition, MatrixFields, MatrixRule } from './types.js'

/** The names that an operation could ever concern. */
interface FieldScope {
  /** In the order of the schema, then of the rules. */
  readonly names: readonly string[]
  /** Whether there may be others that no schema declares: a body can have any property. */
  readonly isOpen: boolean
}

/** The fields that a collection could show, or accept from a body. */
export function scopeOf(
  { fields, additionalProperties, verifiedField }: Collection,
  operation: RuleOperation,
): FieldScope {
  const declared = fields.filter(({ name, type }) =>
    operation === 'read' ? type !== 'hash' : name !== verifiedField,
  )
  const system = operation === 'read' ? SYSTEM_FIELDS.filter((name) => name !== '_id') : []
  const isOpen = operation !== 'read' || additionalProperties
  return { names: [...declared.map(({ name }) => name), ...system], isOpen }
}

/** The fields that a rule shows, or accepts from a body. */
export function fieldsOf(rule: Rule, collection: Collection, operation: RuleOperation): MatrixFields {
  const scope = scopeOf(collection, operation)
  const { pick, omit } = rule.properties
  const includes = (name: string): boolean =>
    operation === 'read' ? includesProperty(rule.properties, name) : acceptsProperty(rule, name, collection)
  const undeclared = scope.isOpen ? [...(pick ?? omit)].filter((name) => !isDeclared(collection, name)) : []
  const names = [...scope.names, ...undeclared]
  return pick === null
    ? { kind: 'except', names: names.filter((name) => !includes(name)) }
    : { kind: 'only', names: names.filter(includes) }
}

const isDeclared = ({ fields }: Collection, name: string): boolean =>
  fields.some((field) => field.name === name) || (SYSTEM_FIELDS as readonly string[]).includes(name)

/** The shortest form of a set of fields; in the order of the schema, then of the alphabet. */
export function tidy(fields: MatrixFields, { names: known, isOpen }: FieldScope): MatrixFields {
  if (fields.kind === 'all') return ALL
  const place = (name: string): number => (known.includes(name) ? known.indexOf(name) : known.length)
  const names = [...new Set(fields.names)].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
  const isWhole =
    fields.kind === 'except' ? names.length === 0 : !isOpen && known.every((name) => names.includes(name))
  return isWhole ? ALL : { kind: fields.kind, names }
}

const ALL: MatrixFields = { kind: 'all' }

/** Whether a set has a field. */
export const hasField = (fields: MatrixFields, name: string): boolean =>
  fields.kind === 'all' || fields.names.includes(name) === (fields.kind === 'only')

/** The union of two sets. */
function unite(a: MatrixFields, b: MatrixFields): MatrixFields {
  if (a.kind === 'all' || b.kind === 'all') return ALL
  if (a.kind === 'only' && b.kind === 'only') return { kind: 'only', names: [...a.names, ...b.names] }
  const [except, other] = a.kind === 'except' ? [a, b] : [b, a]
  return { kind: 'except', names: except.names.filter((name) => !hasField(other, name)) }
}

/** Whether a set contains all of another. */
function covers(outer: MatrixFields, inner: MatrixFields): boolean {
  if (outer.kind === 'all') return true
  if (inner.kind === 'only') return inner.names.every((name) => hasField(outer, name))
  const missing = inner.kind === 'all' ? [] : inner.names
  return outer.kind === 'except' && outer.names.every((name) => missing.includes(name))
}

/** Whether two conditions hold for the same documents, as far as their text shows it. */
export const isSameCondition = (a: MatrixCondition | null, b: MatrixCondition | null): boolean =>
  a === null || b === null ? a === b : a.text === b.text

/** Whether every document of `inner` is one of `outer`, as far as their text shows it. */
const holdsFor = (outer: MatrixCondition | null, inner: MatrixCondition | null): boolean =>
  outer === null || isSameCondition(outer, inner)

/**
 * Combines rules for read or delete, which add up: rules for the same documents become one, and a rule that others
 * cover is left out.
 */
export function addUp(rules: readonly MatrixRule[], scope: FieldScope): readonly MatrixRule[] {
  const joined: MatrixRule[] = []
  for (const rule of rules) {
    const place = joined.findIndex(({ where }) => isSameCondition(where, rule.where))
    const known = joined[place]
    if (known) joined[place] = joinRules(known, rule, scope)
    else joined.push(rule)
  }
  const open = joined.find(({ where }) => where === null)
  return joined.filter((rule) => rule === open || !open || !coversRule(open, rule))
}

/** Two rules for the same documents as one. A rule whose fields the other includes is not named. */
function joinRules(a: MatrixRule, b: MatrixRule, scope: FieldScope): MatrixRule {
  if (a.fields && b.fields && !isSameRule(a, b)) {
    if (covers(a.fields, b.fields)) return a
    if (covers(b.fields, a.fields)) return b
  }
  const pointers = [...a.pointers, ...b.pointers]
  const fields = a.fields && b.fields && tidy(unite(a.fields, b.fields), scope)
  if (!a.where || !b.where) return { ...a, pointers, fields }
  const where = { ...a.where, pointers: [...new Set([...a.where.pointers, ...b.where.pointers])] }
  return { ...a, pointers, fields, where }
}

const coversRule = (outer: MatrixRule, inner: MatrixRule): boolean =>
  !outer.fields || !inner.fields || covers(outer.fields, inner.fields)

/**
 * The rules that can run, of those that are tried in order (CONTRACT.md §5): no rule after one that takes every
 * request, and none that is stricter than an earlier one with the same fields and values.
 */
export function cutUnreachable(rules: readonly MatrixRule[]): readonly MatrixRule[] {
  const [first] = rules
  if (first && takesAll(first)) return [first]
  return rules.filter((rule, i) => !rules.slice(0, i).some((earlier) => precludes(earlier, rule)))
}

/** A rule that takes every body is the last one tried: its validation errors are the answer. */
const takesAll = ({ where, fields, set, check }: MatrixRule): boolean =>
  where === null && fields?.kind === 'all' && Object.keys(set).length === 0 && check === null

const precludes = (earlier: MatrixRule, later: MatrixRule): boolean =>
  JSON.stringify([earlier.fields, earlier.set]) === JSON.stringify([later.fields, later.set]) &&
  holdsFor(earlier.where, later.where) &&
  holdsFor(earlier.check, later.check)

/** Whether two rules mean the same, apart from their places. */
const isSameRule = (a: MatrixRule, b: MatrixRule): boolean => keyOf([a]) === keyOf([b])

/** The meaning of rules without their places, as a text that is equal for equal rules. */
export const keyOf = (rules: readonly MatrixRule[]): string =>
  JSON.stringify(rules.map(({ where, fields, set, check }) => [where?.text, fields, set, check?.text]))

/** Whether all documents of the rules are among those that other rules show. */
export const isShown = (rules: readonly MatrixRule[], read: readonly MatrixRule[]): boolean =>
  rules.every(({ where }) => read.some((one) => holdsFor(one.where, where)))
