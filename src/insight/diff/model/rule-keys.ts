import type { Collection } from '../../../config/plan.js'
import type { Rule } from '../../../permissions/grants.js'
import type { BoundParts, Where } from '../../../query/where.js'

const keys = new WeakMap<Rule, string>()

/** A rule as text: two rules with the same text mean the same. */
export function keyOfRule(rule: Rule): string {
  const known = keys.get(rule)
  if (known !== undefined) return known
  const { subject, properties, where, check, set, acceptsRole } = rule
  const key = JSON.stringify([
    subject,
    properties.pick && [...properties.pick].sort(),
    [...properties.omit].sort(),
    keyOfWhere(where),
    keyOfWhere(check),
    [...set].sort(([a], [b]) => (a < b ? -1 : 1)),
    acceptsRole,
  ])
  keys.set(rule, key)
  return key
}

const keyOfWhere = (where: Where): unknown =>
  where.kind === 'fixed' ? where.filter : keyOfParts(where.parts)

function keyOfParts(parts: BoundParts): unknown {
  if (parts.kind !== 'condition') return [parts.kind, parts.wheres.map(keyOfWhere)]
  return [parts.field.path, parts.field.type, parts.operator, parts.operand]
}

type Mentions = Collection['permissions']['read']

/** What the subjects that mention an operation say, as text. */
export const keyOfMentions = (mentions: Mentions): string =>
  JSON.stringify([...mentions].map(([subject, rule]) => [subject, rule && keyOfRule(rule)]))
