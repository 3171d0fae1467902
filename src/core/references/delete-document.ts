import { endByDelete } from '../accounts/end-sessions.js'
import { bounds } from '../bounds.js'
import type { Collection, Referrer, ServicePlan } from '../config/plan.js'
import { findTarget, type WriteTarget } from '../documents/write/find-target.js'
import { planNextVersion } from '../documents/write/plan-write.js'
import { readFields } from '../documents/write/stored-document.js'
import { ServiceError } from '../errors.js'
import { type FieldRef, type Filter, isId, or } from '../filter/filter.js'
import { askHook } from '../hooks/where-hooked.js'
import { attempt } from '../request/authorize.js'
import type { Call, Service } from '../request/call.js'
import { inUse } from '../request/refusals.js'
import type { Attempt, DocumentName, Leaving, Refusable } from '../request/store/attempt.js'
import { removeVersion } from '../request/store.js'
import { inSlices } from '../slices.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { MaybePromise } from '../types.js'
import { type Candidate, findGoing, keyOf, requireFound } from './find-cascade.js'
import {
  type Cascade,
  findUnset,
  type Holder,
  MAX_CASCADE,
  planUnset,
  readAll,
  withoutCascade,
} from './unset-references.js'

/** Adds to the number of other documents that a delete, or a whole batch, removes or changes. */
type Count = (documents: number) => void

/**
 * Returns a function that counts documents. It throws `cascade_too_large` above the limit of documents that a delete
 * may remove or change.
 */
function createCount({ shared }: Call): Count {
  let total = shared?.cascaded ?? 0
  return (documents) => {
    total += documents
    if (total > MAX_CASCADE)
      throw new ServiceError(
        'cascade_too_large',
        `The delete would also delete or change more than ${MAX_CASCADE} other documents.`,
      )
    if (shared) shared.cascaded = total
  }
}

/** A document that will be deleted. */
interface Removal {
  readonly collection: Collection
  readonly stored: StoredDocument
  readonly count: Count
}

/**
 * Finds the documents that refer to a document with `cascade`, directly or through other documents. The result also
 * contains the document itself. Reads with the rights of the service itself.
 */
async function findCascade(
  call: Call,
  { collection: { name }, stored: { _id, _version }, count }: Removal,
): Promise<Cascade> {
  const cascade = new Map([[name, new Map([[_id, _version]])]])
  let wave: readonly (readonly [collection: string, ids: readonly string[]])[] = [[name, [_id]]]
  while (wave.length > 0) {
    const next: [string, string[]][] = []
    for (const [collection, ids] of wave) {
      for (const { collection: from, field } of referrersOf(call.service, collection, 'cascade')) {
        const known = cascade.get(from) ?? new Map<string, number>()
        cascade.set(from, known)
        const fresh: string[] = []
        for await (const found of readAll(call, from, refersTo(field, ids), known.size)) {
          const others = found.filter((document) => !known.has(document._id))
          count(others.length)
          for (const document of others) {
            known.set(document._id, document._version)
            fresh.push(document._id)
          }
        }
        if (fresh.length > 0) next.push([from, fresh])
      }
    }
    wave = next
  }
  return cascade
}

const referrersOf = (
  { plan }: Service,
  collection: string,
  onDelete: Referrer['onDelete'],
): readonly Referrer[] =>
  (plan.referrers.get(collection) ?? []).filter((referrer) => referrer.onDelete === onDelete)

const refersTo = (field: FieldRef, ids: Iterable<string>): Filter =>
  or(Array.from(ids, (value): Filter => ({ kind: 'eq', field, value })))

/**
 * Returns the conditions that follow a delete: no document refers to a deleted document. If a deleted document was
 * created again under the same `_id` (`isStanding`), documents may refer to it.
 */
function planReferrers(
  { referrers }: ServicePlan,
  cascade: Cascade,
  isStanding: (name: DocumentName) => boolean = () => false,
): readonly Leaving[] {
  const leaving: Leaving[] = []
  for (const [collection, versions] of cascade) {
    const gone = [...versions.keys()].filter((id) => !isStanding({ collection, id }))
    if (gone.length === 0) continue
    for (const { collection: from, field, onDelete } of referrers.get(collection) ?? []) {
      // Only a reference that restricts the delete is an error. The next attempt finds other references that a
      // concurrent write has added.
      const isRestricting = onDelete === 'restrict'
      leaving.push({ step: { in: from, refuse: refersTo(field, gone) }, gone, isRestricting })
    }
  }
  return leaving
}

/**
 * Deletes a document and then the documents of its cascade, one after another. The hook of each document runs before
 * its delete, so it sees the effects of the earlier deletes. The order is the same on every storage. Only for a store
 * that keeps its writes pending, because they must take effect together.
 */
async function deleteAsked(call: Call, target: WriteTarget): Promise<void> {
  const { store } = call
  const { collection } = target
  const count = createCount(call)
  const { cascade, isLed } = await store.write(async () => {
    const { stored } = await findTarget(call, target)
    const asked = await askHook(call, { collection, before: stored, after: null })
    const done = await findCascade(call, { collection, stored, count })
    const taken = await endByDelete(call, collection.name, [stored._id])
    const steps = [
      // Requires the versions that were found: after a concurrent write, a document may refer to another document.
      ...requireFound(done),
      { in: collection.name, remove: isId(stored._id) },
      ...taken.steps,
    ]
    const isLed = asked?.behind !== undefined
    return { steps, done: { cascade: done, isLed }, behind: asked?.behind, after: taken.after }
  })
  const kept = await deleteAllBelow(call, target, cascade, isLed)
  const gone = new Map(
    Array.from(cascade, ([name, versions]) => [
      name,
      new Map([...versions].filter(([id]) => !kept.has(`${name}/${id}`))),
    ]),
  )
  const holders: Holder[] = []
  for await (const holder of findUnset(call, gone, count)) holders.push(holder)
  await store.write(() => ({
    steps: holders.map(({ collection: { name }, before: { _id, _version } }) => ({
      in: name,
      require: _id,
      version: _version,
    })),
    done: undefined,
  }))
  holders.sort(({ before: a }, { before: b }) => (a._id < b._id ? -1 : 1))
  for (const { collection, before } of holders) await unsetAsked(call, collection, before._id, gone)
  await store.write(() => ({
    steps: [],
    leave: (isStanding) => planReferrers(call.service.plan, gone, isStanding),
    refuse: refuseFound,
    done: undefined,
  }))
}

/** Throws if a document refers to a deleted document with a reference that restricts the delete. */
const refuseFound = ({ reason }: Refusable): void => {
  if (reason === 'found') throw inUse()
}

/**
 * Deletes the cascade of a document in the order of `_id`. Returns the keys of the documents that stay, with their own
 * cascade, because hooks have changed their references. `isLed` says whether a hook has already added operations.
 */
async function deleteAllBelow(
  call: Call,
  target: WriteTarget,
  cascade: Cascade,
  isLed: boolean,
): Promise<ReadonlySet<string>> {
  const all = [...cascade].flatMap(([name, versions]): Candidate[] => {
    const collection = call.service.plan.collections.get(name)
    return collection ? [...versions.keys()].sort().map((id) => ({ collection, id })) : []
  })
  const gone = new Set([keyOf(target)])
  const left = all.filter((one) => !gone.has(keyOf(one)))
  let going: ReadonlySet<string> = new Set(all.map(keyOf))
  let isStale = isLed
  // All checks share their slices, because a single check may be too short to pause.
  await inSlices(
    async (slices) => {
      for (const [i, one] of left.entries()) {
        if (isStale) going = await findGoing(call.store, gone, left.slice(i), slices)
        isStale = false
        if (!going.has(keyOf(one))) continue
        isStale = await deleteBelow(call, one)
        gone.add(keyOf(one))
      }
    },
    () => call.deadline.signal,
    bounds.longFirstSlice,
  )
  return new Set(left.map(keyOf).filter((key) => !gone.has(key)))
}

/** Deletes a document of a cascade, unless a hook already did. Returns whether its own hook added operations. */
const deleteBelow = (call: Call, { collection, id }: Candidate): MaybePromise<boolean> =>
  call.store.write(async () => {
    const { name } = collection
    const stored = await call.store.own(name).find(id)
    if (!stored) return { steps: [], done: false }
    const asked = await askHook(call, { collection, before: stored, after: null })
    const { steps, after } = await endByDelete(call, name, [id])
    return {
      steps: [{ in: name, remove: isId(id) }, ...steps],
      done: asked?.behind !== undefined,
      behind: asked?.behind,
      after,
    }
  })

/**
 * Removes the references to deleted documents from a document. Reads the document again, because a hook may have
 * changed it.
 */
const unsetAsked = (call: Call, collection: Collection, id: string, cascade: Cascade): MaybePromise<void> =>
  call.store.write(async () => {
    const { name } = collection
    const before = await call.store.own(name).find(id)
    if (!before) return NOTHING
    const fields = withoutCascade(collection, readFields(before), cascade)
    const planned = await planNextVersion(call, collection, before, { fields, now: call.binding.now })
    return { ...planned, done: undefined }
  })

const NOTHING = { steps: [], done: undefined }

/**
 * Deletes a document and its dependants in one write. Dependants are the documents that refer to it with `cascade`,
 * directly or through other documents, and the sessions of a user. Documents that refer to a deleted document with
 * `unset` lose the reference. The document must still be in the version for which its rule was checked, and each
 * dependant in the version that has the reference. Throws the errors of `findTarget`, and `reference_in_use`,
 * `cascade_too_large`, `document_too_large`, `overloaded`.
 */
export const deleteDocument = (call: Call, target: WriteTarget): MaybePromise<void> => {
  const { hooks } = call.service
  if (hooks?.hasBelow(target.collection.name))
    return hooks.together(call, (all) => attempt(all, target, deleteAsked))
  return call.store.write(() =>
    attempt(call, target, async (own, present) => {
      const { stored } = await findTarget(own, present)
      const isReferred = own.service.plan.referrers.has(target.collection.name)
      return isReferred
        ? planRemoval(own, { collection: target.collection, stored, count: createCount(own) })
        : planLoneRemoval(own, target.collection, stored)
    }),
  )
}

/** Plans the steps that delete a document to which no collection may refer. */
async function planLoneRemoval(
  call: Call,
  { name }: Collection,
  stored: StoredDocument,
): Promise<Attempt<void>> {
  const { steps, after } = await endByDelete(call, name, [stored._id])
  return { steps: [removeVersion(name, stored), ...steps], after, done: undefined }
}

/**
 * Plans the steps that delete a document and its cascade, and then require that no document refers to a deleted
 * document.
 */
async function planRemoval(call: Call, removal: Removal): Promise<Attempt<void>> {
  const { service } = call
  const { collection, stored, count } = removal
  const cascade = await findCascade(call, removal)
  const unsetting = await planUnset(call, cascade, count)
  const steps: WriteStep[] = [removeVersion(collection.name, stored)]
  /** Called after the write. Only accounts have such a function, so there is at most one. */
  let after: Attempt<void>['after']
  for (const [name, versions] of cascade) {
    const others = [...versions].filter(([id]) => name !== collection.name || id !== stored._id)
    // Requires the versions that were found: a document that has changed since then may refer to another document.
    steps.push(...others.map(([id, version]) => ({ in: name, require: id, version })))
    if (others.length > 0) steps.push({ in: name, remove: or(others.map(([id]) => isId(id))) })
    if (versions.size === 0) continue
    const taken = await endByDelete(call, name, [...versions.keys()])
    steps.push(...taken.steps)
    if (taken.after) after = taken.after
  }
  steps.push(...unsetting.steps)
  const planned = { agreements: unsetting.agreements, after, done: undefined }
  if (call.shared) {
    const leave: Attempt<void>['leave'] = (isStanding) => planReferrers(service.plan, cascade, isStanding)
    return { ...planned, steps, leave, refuse: refuseFound }
  }
  const behind = planReferrers(service.plan, cascade)
  return {
    ...planned,
    steps: [...steps, ...behind.map(({ step }) => step)],
    refuse({ reason, step }) {
      if (reason === 'found' && behind[step - steps.length]?.isRestricting) throw inUse()
    },
  }
}
