import type { Collection } from '../../config/plan.js'
import { isId } from '../../filter/filter.js'
import type { MaybePromise } from '../../types.js'
import type { Call } from '../call.js'
import { askHook } from '../hooks.js'
import { createCount, findDoomed, planReferrers, requireFound, takeWithDelete } from './find-doomed.js'
import { findTarget, type Target } from './find-target.js'
import { readFields, updateStoredDocument } from './stored-document.js'
import { type Doomed, findUnset, goesWithDoomed, type Holder, withoutDoomed } from './unset-references.js'
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
  const gone = new Map(Array.from(doomed, ([name, versions]) => [name, new Map(versions)]))
  for (const [name, versions] of doomed) {
    const below = service.plan.collections.get(name)
    if (!below) continue
    for (const id of [...versions.keys()].sort()) {
      const isTarget = name === collection.name && id === target.id
      if (!isTarget && !(await deleteBelow(call, below, id, gone))) gone.get(name)?.delete(id)
    }
  }
  const holders: Holder[] = []
  for await (const holder of findUnset(call, gone, count)) holders.push(holder)
  await store.write(() => ({
    steps: holders.map(({ collection: { name }, before: { _id, _version } }) => ({
      ...{ in: name, require: _id, version: _version },
    })),
    done: undefined,
  }))
  holders.sort(({ before: a }, { before: b }) => (a._id < b._id ? -1 : 1))
  for (const { collection, before } of holders) await unsetAsked(call, collection, before._id, gone)
  const standing = await findStanding(call, gone)
  await store.write(() => ({
    ...planReferrers(service.plan, gone, (name, id) => standing.has(`${name}/${id}`)),
    done: undefined,
  }))
}

/** What hooks have put where a document was deleted. */
async function findStanding({ store }: Call, gone: Doomed): Promise<ReadonlySet<string>> {
  const standing = new Set<string>()
  for (const [name, versions] of gone)
    for (const id of versions.keys()) if (await store.own(name).find(id)) standing.add(`${name}/${id}`)
  return standing
}

/**
 * Deletes a document with others, and says whether it is gone: a hook may have deleted it before, or led it elsewhere.
 */
const deleteBelow = (call: Call, collection: Collection, id: string, gone: Doomed): MaybePromise<boolean> =>
  call.store.write(async () => {
    const { name } = collection
    const stored = await call.store.own(name).find(id)
    if (!stored) return { steps: [], done: true }
    if (!goesWithDoomed(collection, readFields(stored), gone)) return { steps: [], done: false }
    const asked = await askHook(call, { collection, before: stored, after: null })
    const steps = [{ in: name, remove: isId(id) }, ...takeWithDelete(call.service, name, [id])]
    return { steps, done: true, behind: asked?.behind }
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
