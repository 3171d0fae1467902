import type { Mentions, Rule } from '../../../../core/permissions/grants.js'
import type { BoundParts, Where } from '../../../../core/query/where.js'

/** Returns a function that describes a rule, or another object, as a string, and caches the result. */
export function remembered<Of extends object = Rule>(write: (one: Of) => unknown): (one: Of) => string {
  const keys = new WeakMap<Of, string>()
  return (one) => {
    const key = keys.get(one) ?? JSON.stringify(write(one))
    keys.set(one, key)
    return key
  }
}

/** Describes how a rule changes a body, and the `check` of the rule. */
export const keyOfEffect = remembered(({ properties: { pick, omit }, set, acceptsRole, check }) => [
  pick && [...pick].sort(),
  [...omit].sort(),
  [...set].sort(([a], [b]) => (a < b ? -1 : 1)),
  acceptsRole,
  keyOfWhere(check),
])

/** Describes a rule. Two rules with the same description have the same meaning. */
export const keyOfRule = remembered((rule) => [rule.subject, keyOfWhere(rule.where), keyOfEffect(rule)])

/** Whether two rules have the same meaning, or are both missing. */
export const isSameRule = (one: Rule | null, other: Rule | null): boolean =>
  one && other ? keyOfRule(one) === keyOfRule(other) : one === other

/** Whether two lists have the same rules in the same order, or are both missing. */
export const areSameRules = (
  some: readonly Rule[] | undefined,
  others: readonly Rule[] | undefined,
): boolean =>
  some && others
    ? some.length === others.length && some.every((rule, i) => isSameRule(rule, others[i] ?? null))
    : some === others

function keyOfWhere(where: Where): unknown {
  return where.kind === 'fixed' ? where.filter : keyOfParts(where.parts)
}

function keyOfParts(parts: BoundParts): unknown {
  if (parts.kind !== 'condition') return [parts.kind, parts.wheres.map(keyOfWhere)]
  return [parts.field.path, parts.field.type, parts.operator, parts.operand]
}

/** Describes the rules of all subjects that mention an operation. */
export const keyOfMentions = remembered((mentions: Mentions) =>
  [...mentions].map(([subject, rules]) => [subject, rules.map(keyOfRule)]),
)
