import type { Collection, Referrer } from '../../config/plan.js'
import { ServiceError } from '../../errors.js'
import { and, type FieldRef, type Filter, isId, or } from '../../filter/filter.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import type { Call, Service } from '../call.js'
import { inUse } from '../refusals.js'
import type { Attempt } from '../store.js'
import { findTarget, type Target } from './find-target.js'

/** The most documents that one delete may remove beside its own (CONTRACT.md §2). */
const MAX_CASCADE = 1000

/**
 * Deletes a document in the version for which its rule was checked, with all that depends on it: documents
 * that refer to it with `cascade`, in the version in which they do, a user's sessions. It is one write. Throws what `findTarget` does, and
 * `reference_in_use`, `cascade_too_large`, `overloaded`.
 */
export const deleteDocument = (call: Call, target: Target): MaybePromise<void> =>
  call.store.write(async () => {
    const { stored } = await findTarget(call, target)
    const doomed = await findDoomed(call, target.collection, stored)
    return planRemoval(call.service, target.collection, stored, doomed)
  })

/** The versions of the documents to delete, by collection and `_id`. */
type Doomed = ReadonlyMap<string, ReadonlyMap<string, number>>

/**
 * Finds the documents that refer to a document with `cascade`, and those that refer to them, and so on. Reads
 * with the service's own authority.
 */
async function findDoomed(
  { service, store, shared }: Call,
  { name }: Collection,
  { _id, _version }: StoredDocument,
): Promise<Doomed> {
  const doomed = new Map([[name, new Map([[_id, _version]])]])
  let wave: readonly (readonly [collection: string, ids: readonly string[]])[] = [[name, [_id]]]
  let count = shared?.cascaded ?? 0
  while (wave.length > 0) {
    const next: [string, string[]][] = []
    for (const [collection, ids] of wave) {
      for (const { collection: from, field } of referrersOf(service, collection, 'cascade')) {
        const known = doomed.get(from) ?? new Map<string, number>()
        const limit = MAX_CASCADE + 1 + known.size
        const found = await store.own(from).list({ filter: refersTo(field, ids), limit })
        const fresh = found.filter((document) => !known.has(document._id))
        count += fresh.length
        if (count > MAX_CASCADE) throw tooLarge()
        for (const document of fresh) known.set(document._id, document._version)
        doomed.set(from, known)
        if (fresh.length > 0) next.push([from, fresh.map((document) => document._id)])
      }
    }
    wave = next
  }
  if (shared) shared.cascaded = count
  return doomed
}

const referrersOf = (
  { plan }: Service,
  collection: string,
  onDelete: Referrer['onDelete'],
): readonly Referrer[] =>
  (plan.referrers.get(collection) ?? []).filter((referrer) => referrer.onDelete === onDelete)

const refersTo = (field: FieldRef, ids: Iterable<string>): Filter =>
  or(Array.from(ids, (value): Filter => ({ kind: 'eq', field, value })))

/** The steps that delete all of them, and then require that nothing refers to any of them. */
function planRemoval(
  { plan, attachments }: Service,
  collection: Collection,
  stored: StoredDocument,
  doomed: Doomed,
): Attempt<void> {
  const steps: WriteStep[] = [{ in: collection.name, remove: versionFilter(stored), expect: 1 }]
  for (const [name, versions] of doomed) {
    const others = [...versions].filter(([id]) => name !== collection.name || id !== stored._id)
    // One that has changed may refer elsewhere by now.
    steps.push(...others.map(([id, version]) => ({ in: name, require: id, version })))
    if (others.length > 0) steps.push({ in: name, remove: or(others.map(([id]) => isId(id))) })
    if (versions.size > 0) steps.push(...(attachments.get(name)?.takeWithDelete(versions.keys()) ?? []))
  }
  const restricts = new Set<number>()
  for (const [name, versions] of doomed) {
    const ids = [...versions.keys()]
    for (const { collection: from, field, onDelete } of plan.referrers.get(name) ?? []) {
      if (ids.length === 0) continue
      // The next attempt finds references that were added meanwhile.
      if (onDelete === 'restrict') restricts.add(steps.length)
      steps.push({ in: from, refuse: refersTo(field, ids) })
    }
  }
  return {
    steps,
    done: undefined,
    refuse({ reason, step }) {
      if (reason === 'found' && restricts.has(step)) throw inUse()
    },
  }
}

const tooLarge = (): ServiceError =>
  new ServiceError('cascade_too_large', `More than ${MAX_CASCADE} other documents would go with this one.`)

const VERSION: FieldRef = { path: '_version', type: 'integer', each: false }

/** Matches one version of one document. */
const versionFilter = ({ _id, _version }: StoredDocument): Filter =>
  and([isId(_id), { kind: 'eq', field: VERSION, value: _version }])
