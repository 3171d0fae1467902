import type { Rule } from '../../permissions/grants.js'
import type { Sight } from './model/deciding.js'
import { keyOfRule } from './model/rule-keys.js'

const isSameRule = (rule: Rule, others: readonly Rule[]): boolean =>
  others.some((other) => keyOfRule(other) === keyOfRule(rule))

/** Whether one of the rules applies that only one side has; where it does on both, nothing differs. */
export function isTold(
  before: Sight,
  after: Sight,
  isAsked: (rule: Rule) => boolean,
): readonly [boolean, boolean] {
  const rulesOf = (sight: Sight, other: Sight) =>
    sight.readers.filter((rule) => isAsked(rule) && !isSameRule(rule, other.readers))
  const own = rulesOf(before, after).some(before.appliesTo)
  const others = rulesOf(after, before).some(after.appliesTo)
  if (own === others) return [true, true]
  const shared = before.readers.filter((rule) => isAsked(rule) && isSameRule(rule, after.readers))
  return shared.some(before.appliesTo) ? [true, true] : [own, others]
}
