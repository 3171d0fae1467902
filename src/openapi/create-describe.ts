import { createBoundedMap } from '../filter/bounded-map.js'
import type { Describe } from '../http/routes/create-exchange.js'
import type { KnownCaller } from '../permissions/caller.js'
import { OPERATIONS } from '../permissions/grants.js'
import type { KeptText } from '../permissions/kept-texts.js'
import { whenReady } from '../promises.js'
import { runWithin } from '../service/call.js'
import { describeInSlices, writeInSlices } from './describe-service.js'
import type { Described } from './scope.js'

/** The bytes of documents that are kept: fifty collections with thirty fields each take eight million. */
const MAX_KEPT = 32 * 1024 * 1024

/** Creates what describes a service to its callers. Callers with the same subjects share a document, which is kept. */
export function createDescribe(service: Omit<Described, 'hasAccountRoutes'>): Describe {
  const kept = createBoundedMap<string, KeptText>(MAX_KEPT, ({ bytes }) => bytes.length)
  const subjects = findSubjects(service)
  return (call, { prefix, hasAccountRoutes }) => {
    const { caller } = call
    const key = JSON.stringify([prefix, hasAccountRoutes, caller && rolesOf(caller, subjects)])
    const known = kept.get(key)
    if (known) return known
    const text = runWithin(call, function* (slice) {
      const own = { ...service, hasAccountRoutes }
      return yield* writeInSlices(yield* describeInSlices(own, caller, prefix, slice), slice)
    })
    return whenReady(text, (written): KeptText => {
      const document = { bytes: encoder.encode(written) }
      kept.set(key, document)
      return document
    })
  }
}

const encoder = new TextEncoder()

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
