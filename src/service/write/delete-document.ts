import { SESSIONS, sessionsOf } from '../../auth/sessions.js'
import type { Collection } from '../../config/plan.js'
import { ServiceError } from '../../errors.js'
import { and, type FieldRef, type Filter, isId, or } from '../../filter/filter.js'
import type { StoredDocument, WriteResult, WriteStep } from '../../storage.js'
import { isAccounts, type RequestScope, type ServiceContext } from '../context.js'
import { lazySignal, listStored } from '../find-documents.js'
import { findTarget, MAX_ATTEMPTS, overtaken, type Target } from './update-document.js'

/** CONTRACT.md §2: how many documents may go with one that is deleted. */
const MAX_CASCADE = 1000

/**
 * Deletes a document, in the version on which its rule was judged, and all that go with it: documents that refer to it
 * with `cascade`, a user's sessions. One write. Throws what `findTarget` does, and `reference_in_use`,
 * `cascade_too_large`, `overloaded`.
 */
export async function deleteDocument(
  context: ServiceContext,
  scope: RequestScope,
  target: Target,
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { stored } = await findTarget(context, scope, target)
    const doomed = await findDoomed(context, scope, target.collection, stored)
    const { steps, restricts } = planRemoval(context, target.collection, stored, doomed)
    scope.enter('write')
    const result = await context.adapter.write(steps, lazySignal(scope))
    if (result.ok) return
    if (isRestricted(result, restricts)) throw inUse()
  }
  throw overtaken()
}

/** The ids that go, by collection. */
type Doomed = ReadonlyMap<string, ReadonlySet<string>>

/** What refers to a document with `cascade`, and what refers to that, and so on. In the service's own right. */
async function findDoomed(
  context: ServiceContext,
  scope: RequestScope,
  { name }: Collection,
  { _id }: StoredDocument,
): Promise<Doomed> {
  const doomed = new Map([[name, new Set([_id])]])
  let wave: readonly (readonly [collection: string, ids: readonly string[]])[] = [[name, [_id]]]
  let count = 0
  while (wave.length > 0) {
    const next: [string, string[]][] = []
    for (const [collection, ids] of wave) {
      for (const { collection: from, field } of referrersOf(context, collection, 'cascade')) {
        const known = doomed.get(from) ?? new Set<string>()
        const found = await listStored(context, scope, from, {
          filter: refersTo(field, ids),
          sort: [],
          skip: 0,
          limit: MAX_CASCADE + 1 + known.size,
        })
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

const referrersOf = ({ plan }: ServiceContext, collection: string, onDelete: 'restrict' | 'cascade') =>
  (plan.referrers.get(collection) ?? []).filter((referrer) => referrer.onDelete === onDelete)

const refersTo = (field: FieldRef, ids: Iterable<string>): Filter =>
  or(Array.from(ids, (value): Filter => ({ kind: 'eq', field, value })))

/** The removal of all that go; then nothing may refer to any of them any more. */
function planRemoval(
  context: ServiceContext,
  collection: Collection,
  stored: StoredDocument,
  doomed: Doomed,
): { readonly steps: readonly WriteStep[]; readonly restricts: ReadonlySet<number> } {
  const steps: WriteStep[] = [{ in: collection.name, remove: versionFilter(stored), expect: 1 }]
  for (const [name, ids] of doomed) {
    const others = [...ids].filter((id) => name !== collection.name || id !== stored._id)
    if (others.length > 0) steps.push({ in: name, remove: or(others.map(isId)) })
    const users = context.plan.collections.get(name)
    if (users && isAccounts(context, users) && ids.size > 0)
      steps.push({ in: SESSIONS, remove: or([...ids].map(sessionsOf)) })
  }
  const restricts = new Set<number>()
  for (const [name, ids] of doomed) {
    for (const { collection: from, field, onDelete } of context.plan.referrers.get(name) ?? []) {
      if (ids.size === 0) continue
      // What came to refer to them meanwhile is found by the next attempt.
      if (onDelete === 'restrict') restricts.add(steps.length)
      steps.push({ in: from, refuse: refersTo(field, ids) })
    }
  }
  return { steps, restricts }
}

const isRestricted = (result: WriteResult, restricts: ReadonlySet<number>): boolean =>
  !result.ok && result.reason === 'found' && restricts.has(result.step)

const inUse = (): ServiceError =>
  new ServiceError('reference_in_use', 'Other documents refer to this one, or to one that would go with it.')

const tooLarge = (): ServiceError =>
  new ServiceError('cascade_too_large', `More than ${MAX_CASCADE} other documents would go with this one.`)

const VERSION: FieldRef = { path: '_version', type: 'integer', each: false }

/** One version of one document. */
const versionFilter = ({ _id, _version }: StoredDocument): Filter =>
  and([isId(_id), { kind: 'eq', field: VERSION, value: _version }])
