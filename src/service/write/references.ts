import type { Collection } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import { isId, or } from '../../filter/filter.js'
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
import type { JsonObject, MaybePromise } from '../../types.js'
import type { Permit } from '../authorize.js'
import type { Call } from '../call.js'
import { unknownReference } from '../refusals.js'

/** Whether a caller may refer to the document that a reference names: it exists and is readable. */
export type Referable = (reference: Reference) => boolean

/** Accepts every reference: for documents without any. */
export const anyReferable: Referable = () => true

/**
 * Finds the documents that a caller may refer to, among all ids in the bodies and the rules, before they are
 * judged: one query per collection.
 */
export const findReferable = (
  call: Call,
  permit: Permit,
  bodies: readonly JsonObject[],
): MaybePromise<Referable> =>
  permit.collection.hasReferences ? askReferable(call, permit, bodies) : anyReferable

async function askReferable(
  call: Call,
  { collection, rules }: Permit,
  bodies: readonly JsonObject[],
): Promise<Referable> {
  const sets: readonly JsonObject[] = rules.map((rule) => bindSet(rule, call) ?? {})
  const now = call.service.clock()
  const fields = collection.fields.filter(holdsReference)
  // A property that a rule drops may get a default, so the defaults of an empty body count too.
  const references = [{}, ...bodies, ...sets].flatMap((one) => {
    const named = fields.filter(({ name }) => Object.hasOwn(one, name)).map(({ name }) => [name, one[name]])
    const possible = normaliseProperties(fields, Object.fromEntries(named))
    return collectReferences(fields, applyDefaults(fields, possible, now))
  })
  const found = new Map<string, ReadonlySet<string>>()
  for (const [name, ids] of groupIds(references)) {
    const access = call.access({ name })
    if (access) found.set(name, await findReadable(call, access, ids))
  }
  return (reference) => found.get(reference.collection)?.has(reference.id) ?? false
}

/** The most ids in one query: more than a body of the default size can hold, fewer than engines take. */
const MAX_IDS = 30_000

/** The ids among these whose documents may be read with an access to their collection. */
async function findReadable(
  { store }: Call,
  access: ReadAccess,
  ids: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const possible = [...ids].filter(isUuid)
  for (let i = 0; i < possible.length; i += MAX_IDS) {
    const filter = or(possible.slice(i, i + MAX_IDS).map(isId))
    // Only the ids matter, so `bytes` keeps the storage from reading more than it must.
    const listed = await store.read(access).list({ filter, bytes: 1 })
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

/** The references that must be valid when a write takes effect, each once. */
export const referencesToHold = (
  collection: Collection,
  before: JsonObject,
  after: JsonObject,
): readonly Reference[] =>
  collection.hasReferences ? eachOnce(findNewReferences(collection.fields, before, after)) : []

/** The references to different documents. */
export const eachOnce = (references: readonly Reference[]): readonly Reference[] => [
  ...new Map(references.map((reference) => [`${reference.collection} ${reference.id}`, reference])).values(),
]

/** The step that requires a reference to be valid. */
export const requireReference = ({ collection, id }: Reference): WriteStep => ({
  in: collection,
  require: id,
})
