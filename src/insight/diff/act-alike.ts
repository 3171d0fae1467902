import type { Collection } from '../../config/plan.js'
import type { Rule } from '../../permissions/grants.js'
import type { Sight } from './model/deciding.js'
import { keyOfEffect, keyOfProperties, keyOfRule } from './model/rule-keys.js'
import type { Sides } from './model/universe.js'

/** The rules of one side that may decide about a request. */
export interface Deciders {
  readonly sight: Sight
  readonly rules: readonly Rule[]
  /** Whether a rule's `where` counts: a document that is created has none to meet. */
  readonly hasStored: boolean
}

/**
 * Whether those rules that differ do the same with this request on both sides. All else is the same there, and need not
 * be asked: most of what can be asked of a request is about rules that nobody changed.
 */
export const actAlike = (before: Deciders, after: Deciders): boolean =>
  (before.rules.length === 0) === (after.rules.length === 0) &&
  areAlike(before, after, keyOfEffect) &&
  areAlike(readersOf(before), readersOf(after), keyOfProperties)

const readersOf = ({ sight }: Deciders): Deciders => ({ sight, rules: sight.readers, hasStored: true })

function areAlike(before: Deciders, after: Deciders, keyOf: (rule: Rule) => string): boolean {
  const later = new Map(after.rules.map((rule) => [rule.subject, rule]))
  const shared = before.rules.filter(({ subject }) => later.has(subject))
  const earlier = new Set(shared.map(({ subject }) => subject))
  const still = after.rules.filter(({ subject }) => earlier.has(subject))
  if (!shared.every(({ subject }, i) => still[i]?.subject === subject)) return false
  const applies = ({ sight, hasStored }: Deciders, rule: Rule): boolean => !hasStored || sight.appliesTo(rule)
  return (
    shared.every((rule) => {
      const other = later.get(rule.subject)
      if (!other || keyOfRule(rule) === keyOfRule(other)) return true
      const holds = applies(before, rule)
      return holds === applies(after, other) && (!holds || keyOf(rule) === keyOf(other))
    }) &&
    !before.rules.some((rule) => !later.has(rule.subject) && applies(before, rule)) &&
    !after.rules.some((rule) => !earlier.has(rule.subject) && applies(after, rule))
  )
}

/** Whether both sides read bodies and documents alike, so that rules alone can make a difference. */
export const haveSameSchema = ({ before, after }: Sides): boolean => schemaOf(before) === schemaOf(after)

const schemaOf = ({ fields, additionalProperties, roleField, verifiedField }: Collection): string =>
  JSON.stringify([
    fields.map(({ name, definition }) => [name, definition]),
    additionalProperties,
    roleField,
    verifiedField,
  ])
