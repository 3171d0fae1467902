import { bounds } from '../bounds.js'
import type { Collection } from '../config/plan.js'
import { readFields, updateStoredDocument } from '../documents/write/stored-document.js'
import type { Field } from '../fields/field-type.js'
import { holdsReference } from '../fields/schema/references.js'
import { type Filter, or } from '../filter/filter.js'
import { isObject } from '../json/own-properties.js'
import { boundBytes, createByteBudget } from '../request/byte-budget.js'
import type { Call } from '../request/call.js'
import { readByIds } from '../request/read-by-ids.js'
import type { Agreement } from '../request/store/attempt.js'
import { inSlices } from '../slices.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'
import { planAgreements } from './matches.js'

/** The maximum number of other documents that one delete may remove or change (CONTRACT.md §2). */
export const MAX_CASCADE = 1000

/** The versions of the documents to delete, by collection and `_id`. */
export type Cascade = ReadonlyMap<string, ReadonlyMap<string, number>>

/** The steps that remove references from documents, and the conditions on the changed documents. */
interface Unsetting {
  readonly steps: readonly WriteStep[]
  readonly agreements: readonly Agreement[]
}

/** The approximate bytes of a document that are changed in one step. */
const BYTES_A_STEP = 24

/**
 * Plans the removal of the `unset` references to documents that will be deleted. Uses the rights of the service itself
 * to find the documents that contain such references. Throws `document_too_large` if these exceed 16 MiB in total, and
 * the errors of `count`, which gets their number.
 */
export function planUnset(
  call: Call,
  cascade: Cascade,
  count: (documents: number) => void,
): MaybePromise<Unsetting> {
  const { plan } = call.service
  const budget = createByteBudget(
    bounds.writtenBytes,
    'The documents that would lose a reference to a deleted document exceed 16 MiB in total.',
  )
  const steps: WriteStep[] = []
  const agreements: Agreement[] = []
  return inSlices(
    async (slices) => {
      for await (const { collection, before } of findUnset(call, cascade, count)) {
        const fields = withoutCascade(collection, readFields(before), cascade)
        const after = updateStoredDocument(before, fields, call.binding.now)
        budget.take(after)
        steps.push({ in: collection.name, replace: after, version: before._version })
        agreements.push(...planAgreements(plan, collection, { before, after }))
        slices.left -= boundBytes(after) / BYTES_A_STEP
        if (slices.left <= 0) await slices.next()
      }
      return { steps, agreements }
    },
    () => call.deadline.signal,
    bounds.longFirstSlice,
  )
}

/** A document whose `unset` reference points to a document that will be deleted. */
export interface Holder {
  readonly collection: Collection
  readonly before: StoredDocument
}

/** Finds the documents that lose references. Calls `count` with their number; `count` throws if it is too large. */
export async function* findUnset(
  call: Call,
  cascade: Cascade,
  count: (documents: number) => void,
): AsyncGenerator<Holder, void, undefined> {
  for (const [name, filter] of findUnsetting(call, cascade)) {
    const collection = call.service.plan.collections.get(name)
    if (!collection) continue
    for await (const batch of readAll(call, name, filter, cascade.get(name)?.size ?? 0)) {
      const others = batch.filter(({ _id }) => !isInCascade(cascade, name, _id))
      count(others.length)
      for (const before of others) yield { collection, before }
    }
  }
}

/** Returns the fields of a document without its references to documents that will be deleted. */
export const withoutCascade = ({ fields }: Collection, values: JsonObject, cascade: Cascade): JsonObject =>
  withoutReferences(fields, values, (collection, id) => isInCascade(cascade, collection, id))

const isInCascade = (cascade: Cascade, collection: string, id: unknown): boolean =>
  typeof id === 'string' && cascade.get(collection)?.has(id) === true

/**
 * Returns, for each collection, a filter for the documents whose `unset` reference points to a document that will be
 * deleted.
 */
function findUnsetting({ service }: Call, cascade: Cascade): ReadonlyMap<string, Filter> {
  const found = new Map<string, Filter>()
  for (const [name, versions] of cascade)
    for (const { collection, field, onDelete } of service.plan.referrers.get(name) ?? []) {
      if (onDelete !== 'unset' || versions.size === 0) continue
      const refers = Array.from(versions.keys(), (value): Filter => ({ kind: 'eq', field, value }))
      const known = found.get(collection)
      found.set(collection, or(known ? [known, ...refers] : refers))
    }
  return found
}

/**
 * Reads documents a few at a time, because they may be large. `known` is the number of matches that do not count
 * towards the limit, because they are already in the cascade.
 */
export async function* readAll(
  { store }: Call,
  collection: string,
  filter: Filter,
  known: number,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  const reader = store.own(collection)
  const listed = await reader.list({ filter, limit: MAX_CASCADE + 1 + known, bytes: bounds.readBytes })
  yield listed
  if (listed.rest) yield* readByIds(reader, { filter }, listed.rest)
}

type IsGone = (collection: string, id: unknown) => boolean

/** Returns an object without its `unset` references to deleted documents, in properties or arrays. */
const withoutReferences = (fields: readonly Field[], value: JsonObject, isGone: IsGone): JsonObject => {
  const left = { ...value }
  for (const field of fields.filter(holdsReference)) {
    if (!Object.hasOwn(left, field.name)) continue
    const kept = without(field, left[field.name], isGone)
    if (kept === undefined) delete left[field.name]
    else left[field.name] = kept
  }
  return left
}

/** Returns a value without its references to deleted documents; `undefined` if the value is such a reference. */
function without(field: Field, value: unknown, isGone: IsGone): unknown {
  const { definition, items, properties } = field
  if (definition.type === 'reference')
    return definition.onDelete === 'unset' && isGone(definition.collection, value) ? undefined : value
  if (items && Array.isArray(value))
    return value.map((element) => without(items, element, isGone)).filter((element) => element !== undefined)
  return properties.length > 0 && isObject(value) ? withoutReferences(properties, value, isGone) : value
}
