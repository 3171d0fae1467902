import type { Collection } from '../config/plan.js'
import type { Fault } from '../errors.js'
import { findImmutableChanges, isChange } from '../fields/schema/changes.js'
import { isSystemField } from '../fields/schema/names.js'
import { addNearNames } from '../fields/schema/near-names.js'
import { findNewReferences, type Reference } from '../fields/schema/references.js'
import { normaliseUpdate, updateFields } from '../fields/schema/update-fields.js'
import { isId, or } from '../filter/filter.js'
import { toPointerPart } from '../json/pointer.js'
import { isUuid } from '../json/uuid.js'
import type { Call } from '../request/call.js'
import { invalid } from '../request/refusals.js'
import { inSlices } from '../slices.js'
import type { JsonObject } from '../types.js'
import type { PlannedDocument } from './where-hooked.js'

/** A document that is being written, and in which a hook sets properties. */
interface Setting extends PlannedDocument {
  readonly collection: Collection
  readonly isNew: boolean
}

/**
 * Merges the properties that a hook sets into the fields of a document, as a PUT would (CONTRACT.md §9, "Before a
 * write"). `null` removes a property, or gives it its default. Throws if a value violates the schema, which is an error
 * of the hook.
 */
export async function applySet(
  call: Call,
  { collection, fields, system, isNew }: Setting,
  set: JsonObject,
): Promise<JsonObject> {
  const declared = collection.fields
  const given = Object.fromEntries(
    Object.entries(set).map(([name, value]) => [name, value === null ? undefined : value]),
  )
  const after = updateFields(declared, fields, {
    mode: 'put',
    named: normaliseUpdate(declared, 'put', given),
    replaced: NONE,
    now: String(system.updatedAt),
  })
  const known = [
    ...findClosed(collection, set),
    ...(isNew ? [] : findImmutableChanges(declared, fields, after)),
    ...(await findBroken(call, findNewReferences(declared, fields, after))),
  ]
  const isRelevant = (fault: Fault): boolean => isNew || isChange(fault, set, fields, after)
  const faults = await inSlices(
    (slices) => collection.validate.inSlices(after, slices, { known, isRelevant }),
    () => call.deadline.signal,
  )
  if (faults.length > 0)
    throw new TypeError(`the hook's \`set\` is not valid: ${invalid(addNearNames(faults, declared)).message}`)
  return after
}

const NONE: ReadonlySet<string> = new Set()

/** Finds the properties in `set` that no hook may set. */
const findClosed = ({ hashes, verifiedField }: Collection, set: JsonObject): readonly Fault[] =>
  Object.keys(set)
    .filter(
      (name) => isSystemField(name) || name === verifiedField || hashes.some((hash) => hash.name === name),
    )
    .map((name) => ({ path: toPointerPart(name), code: 'not_allowed', message: 'cannot be set by a hook' }))

/** Finds references to documents that do not exist. */
async function findBroken({ store }: Call, references: readonly Reference[]): Promise<readonly Fault[]> {
  const faults: Fault[] = []
  for (const { path, collection, id } of references) {
    const [found] = isUuid(id) ? await store.own(collection).list({ filter: or([isId(id)]), bytes: 1 }) : []
    if (!found) faults.push({ path, code: 'unknown_reference', message: 'must be the _id of a document' })
  }
  return faults
}
