import type { ServicePlan } from '../../../config/plan.js'
import { EVERYONE, isRole } from '../../../permissions/grants.js'
import type { Asker } from './deciding.js'
import type { Sides } from './universe.js'

/** The roles that some rules of two collections name, in their order. */
export function findRoles(sides: Sides, operations: readonly ('create' | 'read' | 'update' | 'delete')[]) {
  const subjects = operations.flatMap((operation) => [
    ...sides.before.permissions[operation].keys(),
    ...sides.after.permissions[operation].keys(),
  ])
  return [...new Set(subjects.filter(isRole))]
}

/** Everyone who may ask, the anonymous caller first, then by the number of their roles. */
export function* listAskers(roles: readonly string[], most: number): Generator<Asker> {
  yield null
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
