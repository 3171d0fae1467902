import type { ServicePlan } from '../../../config/plan.js'
import { EVERYONE, isRole, type Rule } from '../../../permissions/grants.js'
import type { Asker } from './deciding.js'
import { keyOfRule } from './rule-keys.js'
import type { Sides } from './universe.js'

type CallerOperation = 'create' | 'read' | 'update' | 'delete'

/** The roles that some rules of two collections name, in their order. */
export function findRoles(sides: Sides, operations: readonly CallerOperation[]) {
  const subjects = operations.flatMap((operation) => [
    ...sides.before.permissions[operation].keys(),
    ...sides.after.permissions[operation].keys(),
  ])
  return [...new Set(subjects.filter(isRole))]
}

/**
 * Finds out whether callers meet a change: all do, unless only rules of some roles differ and the others keep their
 * order.
 */
export function findMeeting(sides: Sides, operations: readonly CallerOperation[]): (asker: Asker) => boolean {
  const changed = new Set<string>()
  for (const operation of operations) {
    const [before, after] = [sides.before.permissions[operation], sides.after.permissions[operation]]
    for (const subject of new Set([...before.keys(), ...after.keys()]))
      if (!isSameRule(before.get(subject), after.get(subject))) changed.add(subject)
    const same = [...before.keys()].filter((subject) => after.has(subject))
    if (same.join('\0') !== [...after.keys()].filter((subject) => before.has(subject)).join('\0'))
      return () => true
  }
  return [...changed].every(isRole)
    ? (asker) => asker?.roles.some((role) => changed.has(role)) ?? false
    : () => true
}

const isSameRule = (one: Rule | null | undefined, other: Rule | null | undefined): boolean =>
  one && other ? keyOfRule(one) === keyOfRule(other) : one === other

/** All signed-in callers, by the number of their roles; a generator, because there may be billions. */
export function* listAskers(roles: readonly string[], most: number): Generator<Asker> {
  for (let size = 0; size <= Math.min(most, roles.length); size++)
    for (const chosen of subsets(roles, size)) yield { id: EVERYONE, roles: chosen, fields: {} }
}

function* subsets(values: readonly string[], size: number): Generator<readonly string[]> {
  if (size === 0) yield []
  else
    for (const [i, first] of values.entries())
      for (const rest of subsets(values.slice(i + 1), size - 1)) yield [first, ...rest]
}

/** The most roles that a caller can have. */
export function mostRoles({ auth }: ServicePlan, authenticate: boolean): number {
  if (!auth || authenticate) return Number.POSITIVE_INFINITY
  const { fields, roleField } = auth.users
  const isText = fields.some(({ name, type }) => name === roleField && type === 'string')
  return isText ? 1 : Number.POSITIVE_INFINITY
}
