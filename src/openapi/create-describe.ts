import { createBoundedMap } from '../filter/bounded-map.js'
import type { Describe } from '../http/routes/create-exchange.js'
import type { KnownCaller } from '../permissions/caller.js'
import { OPERATIONS } from '../permissions/grants.js'
import { describeService } from './describe-service.js'
import type { Described } from './scope.js'

/** The documents that are kept, in units of text. */
const MAX_KEPT = 4 * 1024 * 1024

/** Creates what describes a service to its callers. Callers with the same subjects share a document, which is kept. */
export function createDescribe(service: Omit<Described, 'hasAccountRoutes'>): Describe {
  const kept = createBoundedMap<string, string>(MAX_KEPT, ({ length }) => length)
  const subjects = findSubjects(service)
  return ({ caller, prefix, hasAccountRoutes }) => {
    const key = JSON.stringify([prefix, hasAccountRoutes, caller && rolesOf(caller, subjects)])
    const known = kept.get(key)
    if (known !== undefined) return known
    const text = JSON.stringify(describeService({ ...service, hasAccountRoutes }, caller, prefix))
    kept.set(key, text)
    return text
  }
}

/** The subjects that some rule mentions. */
const findSubjects = ({ plan }: Pick<Described, 'plan'>): readonly string[] => [
  ...new Set(
    [...plan.collections.values()].flatMap(({ permissions }) =>
      OPERATIONS.flatMap((operation) => [...permissions[operation].keys()]),
    ),
  ),
]

/** The roles of a caller that make a difference. */
const rolesOf = ({ roles }: KnownCaller, subjects: readonly string[]): readonly string[] =>
  subjects.filter((subject) => roles.includes(subject))
