import type { Collection } from '../../config/plan.js'
import { FULL_RIGHTS } from '../../permissions/full-rights.js'
import { compileRules, type Service } from '../../request/call.js'
import { compileWrites } from './compile-write.js'

/**
 * Returns a service in which every caller has full rights (CONTRACT.md §7, "Full rights"): no rule restricts its calls.
 * Schemas, references, unique fields and limits still apply, and so do its hooks. `changed` replaces parts of its
 * collections. The rules of an explanation are not its rules, so it records no trace.
 */
export function withFullRights(
  { trace: _, ...service }: Service,
  changed: Partial<Pick<Collection, 'fills'>> = {},
): Service {
  const collections = new Map(
    Array.from(service.plan.collections, ([name, collection]): [string, Collection] => [
      name,
      { ...collection, ...changed, permissions: FULL_RIGHTS },
    ]),
  )
  const plan = { ...service.plan, collections }
  return {
    ...service,
    plan,
    hasFullRights: true,
    ...compileRules(plan, service.logger),
    writes: compileWrites({ ...service, plan }),
  }
}
