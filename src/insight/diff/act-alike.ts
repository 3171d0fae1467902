import type { Collection } from '../../config/plan.js'
import type { Rule } from '../../permissions/grants.js'
import { holdsImmutable } from '../../schema/changes.js'
import type { Sight } from './model/deciding.js'
import { keyOfEffect, keyOfProperties, keyOfRule } from './model/rule-keys.js'
import type { Sides } from './model/universe.js'
import type { DocumentOperation } from './types.js'

/** The rules of one side that may decide about a request. */
export interface Deciders {
  readonly sight: Sight
  readonly rules: readonly Rule[]
  /** The names that it depends on whether they are shown; `null` where no document is stored yet. */
  readonly namesShown: readonly string[] | null
}

/**
 * Whether those rules that differ do the same with this request on both sides. All else is the same there, and need not
 * be asked: most of what can be asked of a request is about rules that nobody changed.
 */
export const actAlike = (before: Deciders, after: Deciders): boolean =>
  (before.rules.length === 0) === (after.rules.length === 0) &&
  areAlike(before, after, keyOfEffect) &&
  (before.namesShown === null ||
    areAlike(readersOf(before), readersOf(after), keyOfProperties) ||
    showAlike(before, after))

const readersOf = ({ sight }: Deciders): Deciders => ({ sight, rules: sight.readers, namesShown: [] })

/** Whether both sides show all that a write depends on. */
const showAlike = ({ sight: before, namesShown }: Deciders, { sight: after }: Deciders): boolean =>
  before.isReadable() === after.isReadable() &&
  (!before.isReadable() || (namesShown ?? []).every((name) => before.shows(name) === after.shows(name)))

function areAlike(before: Deciders, after: Deciders, keyOf: (rule: Rule) => string): boolean {
  const later = new Map(after.rules.map((rule) => [rule.subject, rule]))
  const shared = before.rules.filter(({ subject }) => later.has(subject))
  const earlier = new Set(shared.map(({ subject }) => subject))
  const still = after.rules.filter(({ subject }) => earlier.has(subject))
  if (!shared.every(({ subject }, i) => still[i]?.subject === subject)) return false
  const applies = ({ sight, namesShown }: Deciders, rule: Rule): boolean =>
    namesShown === null || sight.appliesTo(rule)
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

/** The names of which a write depends on whether they are shown. */
export function namesShownTo(
  operation: DocumentOperation,
  { before, after }: Sides,
  names: readonly string[],
): readonly string[] | null {
  if (operation === 'create') return null
  if (operation === 'delete') return []
  const fields = [...before.fields, ...after.fields]
  if (operation === 'put') return [...new Set([...fields.map(({ name }) => name), ...names])]
  const judged = fields.filter((field) => field.definition.required === true || holdsImmutable(field))
  return [...new Set(judged.map(({ name }) => name))]
}
