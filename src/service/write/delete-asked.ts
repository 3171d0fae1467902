import type { Collection } from '../../config/plan.js'
import { isId } from '../../filter/filter.js'
import type { MaybePromise } from '../../types.js'
import type { Call } from '../call.js'
import { askHook } from '../hooks.js'
import { createCount, findDoomed, planReferrers, requireFound, takeWithDelete } from './find-doomed.js'
import { findTarget, type Target } from './find-target.js'
import { readFields, updateStoredDocument } from './stored-document.js'
import { type Doomed, findUnset, type Holder, withoutDoomed } from './unset-references.js'
import { askUpdateHook, planReplace } from './update-document.js'

/**
 * Deletes a document and all that goes with it one after another, each once its hook was asked, so that a hook
 * sees what the ones before have left, in an order that is the same on every storage. Only where writes are held back:
 * together they take effect.
 */
export async function deleteAsked(call: Call, target: Target): Promise<void> {
  const { store, service } = call
  const { collection } = target
  const count = createCount(call)
  const doomed = await store.write(async () => {
    const { stored } = await findTarget(call, target)
    const asked = await askHook(call, { collection, before: stored, after: null })
    const done = await findDoomed(call, { collection, stored, count })
    const steps = [
      // One that changes meanwhile may refer elsewhere by then.
      ...requireFound(done),
      { in: collection.name, remove: isId(stored._id) },
      ...takeWithDelete(service, collection.name, [stored._id]),
    ]
    return { steps, done, behind: asked?.behind }
  })
  for (const [name, versions] of doomed) {
    const below = service.plan.collections.get(name)
    for (const id of [...versions.keys()].sort()) if (below) await deleteBelow(call, below, id)
  }
  const holders: Holder[] = []
  for await (const holder of findUnset(call, doomed, count)) holders.push(holder)
  await store.write(() => ({
    steps: holders.map(({ collection: { name }, before: { _id, _version } }) => ({
      ...{ in: name, require: _id, version: _version },
    })),
    done: undefined,
  }))
  holders.sort(({ before: a }, { before: b }) => (a._id < b._id ? -1 : 1))
  for (const { collection, before } of holders) await unsetAsked(call, collection, before._id, doomed)
  await store.write(() => ({ ...planReferrers(service.plan, doomed), done: undefined }))
}

/** Deletes a document with another; a hook may have deleted it before. */
const deleteBelow = (call: Call, collection: Collection, id: string): MaybePromise<void> =>
  call.store.write(async () => {
    const { name } = collection
    const stored = await call.store.own(name).find(id)
    if (!stored) return NOTHING
    const asked = await askHook(call, { collection, before: stored, after: null })
    const steps = [{ in: name, remove: isId(id) }, ...takeWithDelete(call.service, name, [id])]
    return { steps, done: undefined, behind: asked?.behind }
  })

/** Takes the references to what was deleted from a document; a hook may have changed it before. */
const unsetAsked = (call: Call, collection: Collection, id: string, doomed: Doomed): MaybePromise<void> =>
  call.store.write(async () => {
    const { name } = collection
    const before = await call.store.own(name).find(id)
    if (!before) return NOTHING
    const fields = withoutDoomed(collection, readFields(before), doomed)
    const { now } = call.binding
    const asked = await askUpdateHook(call, collection, before, { fields, now })
    const after = updateStoredDocument(before, asked?.fields ?? fields, now, { hashes: new Map() })
    return {
      ...planReplace(call, collection, { before, after }),
      done: undefined,
      behind: asked?.behind,
    }
  })

const NOTHING = { steps: [], done: undefined }
