import type { Collection } from '../../../config/plan.js'
import type { Rule } from '../../../permissions/grants.js'
import type { BoundParts, Where } from '../../../query/where.js'

/** Writes a text for each rule, or for each of other things, once. */
export function remembered<Of extends object = Rule>(write: (one: Of) => unknown): (one: Of) => string {
  const keys = new WeakMap<Of, string>()
  return (one) => {
    const key = keys.get(one) ?? JSON.stringify(write(one))
    keys.set(one, key)
    return key
  }
}

/** The properties that a rule includes, as text. */
export const keyOfProperties = remembered(({ properties: { pick, omit } }) => [
  pick && [...pick].sort(),
  [...omit].sort(),
])

/** What a rule makes of a body where it runs, as text. */
export const keyOfWriting = remembered((rule) => [
  keyOfProperties(rule),
  [...rule.set].sort(([a], [b]) => (a < b ? -1 : 1)),
  rule.acceptsRole,
])

/** What a rule does where it applies, as text. */
export const keyOfEffect = remembered((rule) => [keyOfWriting(rule), keyOfWhere(rule.check)])

/** A rule as text: two rules with the same text mean the same. */
export const keyOfRule = remembered((rule) => [rule.subject, keyOfWhere(rule.where), keyOfEffect(rule)])

function keyOfWhere(where: Where): unknown {
  return where.kind === 'fixed' ? where.filter : keyOfParts(where.parts)
}

function keyOfParts(parts: BoundParts): unknown {
  if (parts.kind !== 'condition') return [parts.kind, parts.wheres.map(keyOfWhere)]
  return [parts.field.path, parts.field.type, parts.operator, parts.operand]
}

type Mentions = Collection['permissions']['read']

/** What the subjects that mention an operation say, as text. */
export const keyOfMentions = remembered((mentions: Mentions) =>
  [...mentions].map(([subject, rule]) => [subject, rule && keyOfRule(rule)]),
)
