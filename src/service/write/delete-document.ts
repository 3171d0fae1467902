import type { Collection, Referrer } from '../../config/plan.js'
import { ServiceError } from '../../errors.js'
import { and, type FieldRef, type Filter, isId, or } from '../../filter/filter.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { Call, Service } from '../call.js'
import { inUse } from '../refusals.js'
import type { Attempt } from '../store.js'
import { findTarget, type Target } from './find-target.js'

/** CONTRACT.md §2: how many documents may go with one that is deleted. */
const MAX_CASCADE = 1000

/**
 * Deletes a document, in the version on which its rule was judged, and all that go with it: documents that refer to it
 * with `cascade`, a user's sessions. One write. Throws what `findTarget` does, and `reference_in_use`,
 * `cascade_too_large`, `overloaded`.
 */
export const deleteDocument = (call: Call, target: Target): Promise<void> =>
  call.store.write(async () => {
    const { stored } = await findTarget(call, target)
    const doomed = await findDoomed(call, target.collection, stored)
    return planRemoval(call.service, target.collection, stored, doomed)
  })

/** The ids that go, by collection. */
type Doomed = ReadonlyMap<string, ReadonlySet<string>>

/** What refers to a document with `cascade`, and what refers to that, and so on. In the service's own right. */
async function findDoomed(
  { service, store }: Call,
  { name }: Collection,
  { _id }: StoredDocument,
): Promise<Doomed> {
  const doomed = new Map([[name, new Set([_id])]])
  let wave: readonly (readonly [collection: string, ids: readonly string[]])[] = [[name, [_id]]]
  let count = 0
  while (wave.length > 0) {
    const next: [string, string[]][] = []
    for (const [collection, ids] of wave) {
      for (const { collection: from, field } of referrersOf(service, collection, 'cascade')) {
        const known = doomed.get(from) ?? new Set<string>()
        const limit = MAX_CASCADE + 1 + known.size
        const found = await store.own(from).list({ filter: refersTo(field, ids), limit })
        const fresh = found.map((document) => document._id).filter((id) => !known.has(id))
        count += fresh.length
        if (count > MAX_CASCADE) throw tooLarge()
        for (const id of fresh) known.add(id)
        doomed.set(from, known)
        if (fresh.length > 0) next.push([from, fresh])
      }
    }
    wave = next
  }
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

/** The removal of all that go; then nothing may refer to any of them any more. */
function planRemoval(
  { plan, attachments }: Service,
  collection: Collection,
  stored: StoredDocument,
  doomed: Doomed,
): Attempt<void> {
  const steps: WriteStep[] = [{ in: collection.name, remove: versionFilter(stored), expect: 1 }]
  for (const [name, ids] of doomed) {
    const others = [...ids].filter((id) => name !== collection.name || id !== stored._id)
    if (others.length > 0) steps.push({ in: name, remove: or(others.map(isId)) })
    if (ids.size > 0) steps.push(...(attachments.get(name)?.takeWithDelete(ids) ?? []))
  }
  const restricts = new Set<number>()
  for (const [name, ids] of doomed) {
    for (const { collection: from, field, onDelete } of plan.referrers.get(name) ?? []) {
      if (ids.size === 0) continue
      // What came to refer to them meanwhile is found by the next attempt.
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

/** One version of one document. */
const versionFilter = ({ _id, _version }: StoredDocument): Filter =>
  and([isId(_id), { kind: 'eq', field: VERSION, value: _version }])
