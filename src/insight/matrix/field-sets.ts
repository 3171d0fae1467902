import type { Collection } from '../../config/plan.js'
import { includesProperty, type Rule, type RuleOperation } from '../../permissions/grants.js'
import { acceptsProperty } from '../../permissions/write-rules.js'
import { SYSTEM_FIELDS } from '../../schema/names.js'
import type { MatrixFields } from './types.js'

/** The names that an operation could ever concern. */
export interface FieldScope {
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
export function unite(a: MatrixFields, b: MatrixFields): MatrixFields {
  if (a.kind === 'all' || b.kind === 'all') return ALL
  if (a.kind === 'only' && b.kind === 'only') return { kind: 'only', names: [...a.names, ...b.names] }
  const [except, other] = a.kind === 'except' ? [a, b] : [b, a]
  return { kind: 'except', names: except.names.filter((name) => !hasField(other, name)) }
}

/** Whether a set contains all of another. */
export function covers(outer: MatrixFields, inner: MatrixFields): boolean {
  if (outer.kind === 'all') return true
  if (inner.kind === 'only') return inner.names.every((name) => hasField(outer, name))
  const missing = inner.kind === 'all' ? [] : inner.names
  return outer.kind === 'except' && outer.names.every((name) => missing.includes(name))
}
