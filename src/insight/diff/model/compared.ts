import type { Field } from '../../../fields/field-type.js'
import type { Filter, Scalar } from '../../../filter/filter.js'
import { parsePattern } from '../../../filter/pattern/parse-pattern.js'
import type { Pattern } from '../../../filter/pattern/syntax/pattern.js'
import { isObject } from '../../../json/own-properties.js'
import { OWNER, type Rule } from '../../../permissions/grants.js'
import { isVariable } from '../../../query/variable.js'
import type { Where } from '../../../query/where.js'
import { leavesOf } from './filters.js'
import { CALLER_ID, sourceOfVariable, storedKey, TIME } from './sources.js'

/** Values that the rules compare with each other: fields, values of the caller, and the time. */
export interface ComparedGroup {
  /** The fields by path; the caller's values and the time by key. */
  readonly keys: Set<string>
  readonly named: Set<Scalar>
  readonly patterns: Map<string, Pattern>
}

/** Collects the groups of some rules and fields. */
export interface Comparisons {
  /** The group of a key. */
  groupOf(key: string): ComparedGroup
  /** All keys of the caller, in the order in which the rules name them. */
  readonly callerKeys: ReadonlySet<string>
}

const isSingle = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/** The key of a field in its group; that of the stored document also stands for the body's. */
export const fieldKey = (path: string): string => storedKey(path)

/** Finds the values that some rules compare, and those that the fields themselves name. */
export function findComparisons(rules: readonly Rule[], fields: readonly Field[]): Comparisons {
  const groups = new Map<string, ComparedGroup>()
  const callerKeys = new Set<string>()
  const groupOf = (key: string): ComparedGroup => {
    const known = groups.get(key)
    if (known) return known
    const group = { keys: new Set([key]), named: new Set<Scalar>(), patterns: new Map<string, Pattern>() }
    groups.set(key, group)
    if (key !== TIME && key.startsWith('caller.')) callerKeys.add(key)
    return group
  }
  const join = (a: string, b: string): void => {
    const [one, other] = [groupOf(a), groupOf(b)]
    if (one === other) return
    for (const key of other.keys) {
      one.keys.add(key)
      groups.set(key, one)
    }
    for (const value of other.named) one.named.add(value)
    for (const [name, pattern] of other.patterns) one.patterns.set(name, pattern)
  }
  const name = (key: string, value: unknown): void => {
    for (const one of [value].flat()) if (isSingle(one)) groupOf(key).named.add(one)
  }
  const addWritten = (key: string, value: unknown): void => {
    if (isVariable(value)) {
      const source = sourceOfVariable(value)
      if (source.kind === 'variable') join(key, source.key)
    } else if (Array.isArray(value)) for (const one of value) addWritten(key, one)
    else if (isObject(value))
      for (const [inner, one] of Object.entries(value)) addWritten(`${key}.${inner}`, one)
    else name(key, value)
  }
  const addFilter = (filter: Filter): void => {
    for (const leaf of leavesOf(filter)) {
      const key = fieldKey(leaf.field.path)
      if (leaf.kind === 'match') groupOf(key).patterns.set(JSON.stringify(leaf.pattern), leaf.pattern)
      else if (leaf.kind !== 'present') name(key, leaf.value)
    }
  }
  const addWhere = (where: Where): void => {
    if (where.kind === 'fixed') addFilter(where.filter)
    else if (where.parts.kind !== 'condition') where.parts.wheres.forEach(addWhere)
    else if (where.parts.field.ref) addWritten(fieldKey(where.parts.field.ref.path), where.parts.operand)
  }
  for (const rule of rules) {
    if (rule.subject === OWNER) join(fieldKey('createdBy'), CALLER_ID)
    addWhere(rule.where)
    addWhere(rule.check)
    // A write gives these values to the document that is checked.
    for (const path of pathsOf(rule.check)) {
      if (path === 'createdBy') join(fieldKey(path), CALLER_ID)
      else if (path === 'createdAt' || path === 'updatedAt') join(fieldKey(path), TIME)
    }
    for (const [field, value] of rule.set) addWritten(fieldKey(field), value)
  }
  for (const field of fields) {
    addAttributes(field, name, addWritten)
    const { definition, fieldType } = field.items ?? field
    const written = fieldType.patternOf?.(definition)
    const pattern = written === undefined ? undefined : parsePattern(written, { ignoreCase: false })
    if (pattern) groupOf(fieldKey(field.path)).patterns.set(JSON.stringify(pattern), pattern)
  }
  return { groupOf, callerKeys }
}

/** The fields that a condition names. */
function pathsOf(where: Where): readonly string[] {
  if (where.kind === 'fixed') return [...leavesOf(where.filter)].map(({ field }) => field.path)
  if (where.parts.kind !== 'condition') return where.parts.wheres.flatMap(pathsOf)
  return [where.parts.field.path]
}

/** The values that a definition names: limits, choices, default. */
function addAttributes(
  { path, definition, items }: Field,
  name: (key: string, value: unknown) => void,
  addWritten: (key: string, value: unknown) => void,
): void {
  const own = new Map<string, unknown>(Object.entries(definition))
  for (const attribute of ['enum', 'minimum', 'maximum']) name(fieldKey(path), own.get(attribute))
  if (own.has('default')) addWritten(fieldKey(path), own.get('default'))
  const { enum: choice } = (items?.definition ?? {}) as { readonly enum?: unknown }
  name(fieldKey(path), choice)
}
