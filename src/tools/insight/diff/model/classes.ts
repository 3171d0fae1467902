import { SYSTEM_FIELD_PLANS } from '../../../../core/fields/compile-fields.js'
import type { Field } from '../../../../core/fields/field-type.js'
import { includesProperty, type Rule } from '../../../../core/permissions/grants.js'
import type { Where } from '../../../../core/query/where.js'
import { pathsOf } from './conditions.js'
import { findUndeclared, type Sides } from './universe.js'

/** Names that all rules treat alike. If one of these names shows a difference, all of them do. */
export type NameClass = readonly [first: string, ...others: string[]]

/** Divides the names that both configurations know into classes. */
export function findClasses(sides: Sides, rules: readonly Rule[], withSystem: boolean): readonly NameClass[] {
  const mentioned = new Set(rules.flatMap(({ where, check }) => [...namesIn(where), ...namesIn(check)]))
  const later = new Map(sides.after.fields.map((field) => [field.name, field]))
  const classes = new Map<string, [string, ...string[]]>()
  const add = (name: string, attributes: unknown): void => {
    const included = rules.map(({ properties, set, acceptsRole }) => [
      includesProperty(properties, name),
      set.has(name),
      acceptsRole,
    ])
    const key = JSON.stringify(mentioned.has(name) ? name : [included, attributes])
    const known = classes.get(key)
    if (known) known.push(name)
    else classes.set(key, [name])
  }
  for (const field of sides.before.fields) {
    const { name } = field
    const other = later.get(name)
    const ours = [
      sides.before.roleField,
      sides.before.verifiedField,
      sides.after.roleField,
      sides.after.verifiedField,
    ]
    if (!other) continue
    const isOwn = ours.includes(name) || [field, other].some(({ definition }) => definition.required === true)
    add(name, isOwn ? name : [attributesOf(field), attributesOf(other)])
  }
  for (const name of findUndeclared(sides, rules)) add(name, 'undeclared')
  if (withSystem) for (const { name } of SYSTEM_FIELD_PLANS) if (name !== '_id') add(name, 'system')
  return [...classes.values()]
}

const attributesOf = ({ type, definition }: Field): unknown => {
  const { immutable, nullable } = definition
  const written = 'default' in definition ? definition.default : undefined
  return [type === 'hash', type === 'object', immutable, nullable, written]
}

/** Returns the top-level names in a condition. */
const namesIn = (where: Where): readonly string[] => pathsOf(where).map(topOf)

/** Returns the top-level name of a path. */
export const topOf = (path: string): string => path.split('.')[0] ?? path
