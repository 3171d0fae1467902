import type { Collection } from '../../../core/config/plan.js'
import { SYSTEM_FIELDS } from '../../../core/fields/schema/names.js'
import { includesProperty, type Rule, type RuleOperation } from '../../../core/permissions/grants.js'
import { acceptsProperty } from '../../../core/permissions/write-rules.js'
import type { MatrixCondition, MatrixFields, MatrixRule } from './types.js'

/** The property names that an operation can concern. */
interface FieldScope {
  /** The names in the order of the schema, then system fields. */
  readonly names: readonly string[]
  /** Whether there may be undeclared names too. A body can always contain them. */
  readonly isOpen: boolean
}

/** Returns the fields that a collection could show, or accept from a body. */
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

/** Returns the fields that a rule shows, or accepts from a body. */
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

/** Returns the shortest form of a set of fields. Undeclared names follow those of the schema. */
export function tidy(fields: MatrixFields, { names: known, isOpen }: FieldScope): MatrixFields {
  if (fields.kind === 'all') return ALL
  const place = (name: string): number => (known.includes(name) ? known.indexOf(name) : known.length)
  const names = [...new Set(fields.names)].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
  const isWhole =
    fields.kind === 'except' ? names.length === 0 : !isOpen && known.every((name) => names.includes(name))
  return isWhole ? ALL : { kind: fields.kind, names }
}

const ALL: MatrixFields = { kind: 'all' }

/** Whether a set contains a field. */
export const hasField = (fields: MatrixFields, name: string): boolean =>
  fields.kind === 'all' || fields.names.includes(name) === (fields.kind === 'only')

/** Returns the union of two sets. */
function unite(a: MatrixFields, b: MatrixFields): MatrixFields {
  if (a.kind === 'all' || b.kind === 'all') return ALL
  if (a.kind === 'only' && b.kind === 'only') return { kind: 'only', names: [...a.names, ...b.names] }
  const [except, other] = a.kind === 'except' ? [a, b] : [b, a]
  return { kind: 'except', names: except.names.filter((name) => !hasField(other, name)) }
}

/** Whether the set `outer` contains all fields of `inner`. */
function covers(outer: MatrixFields, inner: MatrixFields): boolean {
  if (outer.kind === 'all') return true
  if (inner.kind === 'only') return inner.names.every((name) => hasField(outer, name))
  const missing = inner.kind === 'all' ? [] : inner.names
  return outer.kind === 'except' && outer.names.every((name) => missing.includes(name))
}

/** Whether two conditions are true for the same documents, as far as their text shows. */
export const isSameCondition = (a: MatrixCondition | null, b: MatrixCondition | null): boolean =>
  a === null || b === null ? a === b : a.text === b.text

/** Whether each document that meets `inner` also meets `outer`, as far as their text shows. */
const holdsFor = (outer: MatrixCondition | null, inner: MatrixCondition | null): boolean =>
  outer === null || isSameCondition(outer, inner)

/**
 * Combines rules for read or delete, whose rights add up. Rules for the same documents are joined into one. A rule is
 * left out if a rule for all documents gives the same rights.
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

/**
 * Joins two rules for the same documents into one. If a rule has all fields of the other and more, it is the result.
 */
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
 * Returns the rules that can run, if the given rules are tried in order (CONTRACT.md §5). If the first rule accepts
 * every request, no other rule can run. A rule also cannot run after a rule with the same fields and values whose
 * conditions are the same or weaker.
 */
export function cutUnreachable(rules: readonly MatrixRule[]): readonly MatrixRule[] {
  const [first] = rules
  if (first && takesAll(first)) return [first]
  return rules.filter((rule, i) => !rules.slice(0, i).some((earlier) => precludes(earlier, rule)))
}

/** Whether a rule accepts every body. Then no other rule is tried, even after validation errors. */
const takesAll = ({ where, fields, set, check }: MatrixRule): boolean =>
  where === null && fields?.kind === 'all' && Object.keys(set).length === 0 && check === null

const precludes = (earlier: MatrixRule, later: MatrixRule): boolean =>
  JSON.stringify([earlier.fields, earlier.set]) === JSON.stringify([later.fields, later.set]) &&
  holdsFor(earlier.where, later.where) &&
  holdsFor(earlier.check, later.check)

/** Whether two rules have the same meaning, apart from their pointers. */
const isSameRule = (a: MatrixRule, b: MatrixRule): boolean => keyOf([a]) === keyOf([b])

/** Describes rules as a string, without their pointers. Rules with the same meaning have the same string. */
export const keyOf = (rules: readonly MatrixRule[]): string =>
  JSON.stringify(rules.map(({ where, fields, set, check }) => [where?.text, fields, set, check?.text]))

/** Whether all documents to which the rules apply can be read. */
export const isShown = (rules: readonly MatrixRule[], read: readonly MatrixRule[]): boolean =>
  rules.every(({ where }) => read.some((one) => holdsFor(one.where, where)))
