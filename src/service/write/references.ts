import type { Collection } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import { and, isId, or } from '../../filter/filter.js'
import { bindingOf, type KnownCaller } from '../../permissions/caller.js'
import type { Rule } from '../../permissions/grants.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { bindSet } from '../../permissions/write-rules.js'
import { isUuid } from '../../schema/names.js'
import { applyDefaults, normaliseProperties } from '../../schema/normalise.js'
import {
  collectReferences,
  findNewReferences,
  holdsReference,
  type Reference,
} from '../../schema/references.js'
import { MAX_FAULTS } from '../../schema/validator.js'
import type { WriteStep } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import { gateOf } from '../authorize.js'
import type { RequestScope, ServiceContext } from '../context.js'
import { listStored } from '../find-documents.js'
import { invalid } from './rules/apply-rule.js'

/** Whether a caller may refer to what a reference names: that it exists and may be read. */
export type Referable = (reference: Reference) => boolean

/** Where nothing refers to anything. */
export const anyReferable: Referable = () => true

/**
 * Finds out what a caller may refer to, of all that a body and the rules could bring in, before they are judged: one
 * query for each collection that is named.
 */
export async function findReferable(
  context: ServiceContext,
  scope: RequestScope,
  { collection, caller, rules }: Referring,
  bodies: readonly JsonObject[],
): Promise<Referable> {
  if (!collection.hasReferences) return anyReferable
  const binding = bindingOf(caller, context.clock)
  const sets: readonly JsonObject[] = rules.map((rule) => bindSet(rule, binding) ?? {})
  const now = context.clock()
  const fields = collection.fields.filter(holdsReference)
  // Whatever a rule drops makes room for a default: without any of them there are all defaults.
  const references = [{}, ...bodies, ...sets].flatMap((one) => {
    const named = fields.filter(({ name }) => Object.hasOwn(one, name)).map(({ name }) => [name, one[name]])
    const possible = normaliseProperties(fields, Object.fromEntries(named))
    return collectReferences(fields, applyDefaults(fields, possible, now))
  })
  const found = new Map<string, ReadonlySet<string>>()
  for (const [name, ids] of groupIds(references)) {
    const target = context.plan.collections.get(name)
    const access = target && gateOf(context, target, caller)
    if (!access) continue
    found.set(name, await findReadable(context, scope, name, access, ids))
  }
  return (reference) => found.get(reference.collection)?.has(reference.id) ?? false
}

/** Who writes where, under which rules. */
export interface Referring {
  readonly collection: Collection
  readonly caller: KnownCaller | null
  readonly rules: readonly Rule[]
}

/** Ids that are asked for at once: more than a body of the default size can hold, fewer than engines take. */
const MAX_IDS = 30_000

/** Which of these ids belong to documents that may be read with an access to their collection. */
async function findReadable(
  context: ServiceContext,
  scope: RequestScope,
  name: string,
  access: ReadAccess,
  ids: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const possible = [...ids].filter(isUuid)
  for (let i = 0; i < possible.length; i += MAX_IDS) {
    const filter = and([access.filter, or(possible.slice(i, i + MAX_IDS).map(isId))])
    // Only the ids are of interest: what need not be read is not.
    const query = { filter, sort: [], skip: 0, limit: null, bytes: 1 }
    const listed = await listStored(context, scope, name, query)
    for (const { _id } of listed) found.add(_id)
    for (const id of listed.rest ?? []) found.add(id)
  }
  return found
}

const groupIds = (references: readonly Reference[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const byCollection = new Map<string, Set<string>>()
  for (const { collection, id } of references) {
    const ids = byCollection.get(collection)
    if (ids) ids.add(id)
    else byCollection.set(collection, new Set([id]))
  }
  return byCollection
}

/** One and the same fault for what does not exist and for what may not be read (CONTRACT.md §2). */
const unknownReference = ({ path, collection }: Reference): Fault => ({
  path,
  code: 'unknown_reference',
  message: `must be the _id of a document of ${collection} that you may read`,
})

/** The faults of references that are new in `after`. */
export const judgeReferences = (
  collection: Collection,
  before: JsonObject,
  after: JsonObject,
  referable: Referable,
): readonly Fault[] =>
  collection.hasReferences
    ? findNewReferences(collection.fields, before, after)
        .filter((reference) => !referable(reference))
        .slice(0, MAX_FAULTS)
        .map(unknownReference)
    : []

/** References that must hold when a write takes effect, each of them once. */
export function referencesToHold(
  collection: Collection,
  before: JsonObject,
  after: JsonObject,
): readonly Reference[] {
  if (!collection.hasReferences) return []
  const references = findNewReferences(collection.fields, before, after)
  return [
    ...new Map(
      references.map((reference) => [`${reference.collection} ${reference.id}`, reference]),
    ).values(),
  ]
}

/** The step that has a reference hold. */
export const requireReference = ({ collection, id }: Reference): WriteStep => ({
  in: collection,
  require: id,
})

/** What is answered where a document was deleted while another was to refer to it. */
export const brokenReference = (reference: Reference | undefined) =>
  invalid(reference ? [unknownReference(reference)] : [])
