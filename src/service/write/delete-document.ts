import { isId, or } from '../../filter/filter.js'
import type { WriteStep } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import { attempt } from '../authorize.js'
import type { Call } from '../call.js'
import type { Attempt } from '../store/attempt.js'
import { deleteAsked } from './delete-asked.js'
import {
  createCount,
  findCascade,
  planReferrers,
  type Removal,
  takeWithDelete,
  versionFilter,
} from './find-cascade.js'
import { findTarget, type WriteTarget } from './find-target.js'
import { type Cascade, planUnset } from './unset-references.js'

/**
 * Deletes a document in the version for which its rule was checked, with its dependants: documents that refer to it
 * with `cascade`, in the version in which they do, and a user's sessions. Documents that refer to any of them with
 * `unset` lose the reference. It is one write. Throws the errors of `findTarget`, and `reference_in_use`,
 * `cascade_too_large`, `document_too_large`, `overloaded`.
 */
export const deleteDocument = (call: Call, target: WriteTarget): MaybePromise<void> => {
  const { hooks } = call.service
  if (hooks?.hasBelow(target.collection.name))
    return hooks.together(call, (all) => attempt(all, target, deleteAsked))
  return call.store.write(() =>
    attempt(call, target, async (own, present) => {
      const { stored } = await findTarget(own, present)
      const count = createCount(own)
      const cascade = await findCascade(own, { collection: target.collection, stored, count })
      return planRemoval(own, { collection: target.collection, stored, cascade, count })
    }),
  )
}

/** The steps that delete all of them, and then require that no document refers to any of them. */
async function planRemoval(
  call: Call,
  { collection, stored, cascade, count }: Removal & { readonly cascade: Cascade },
): Promise<Attempt<void>> {
  const { service } = call
  const unsetting = await planUnset(call, cascade, count)
  const steps: WriteStep[] = [{ in: collection.name, remove: versionFilter(stored), expect: 1 }]
  /** Only accounts have such a function. */
  let after: Attempt<void>['after']
  for (const [name, versions] of cascade) {
    const others = [...versions].filter(([id]) => name !== collection.name || id !== stored._id)
    // A document that has changed may refer to another one now.
    steps.push(...others.map(([id, version]) => ({ in: name, require: id, version })))
    if (others.length > 0) steps.push({ in: name, remove: or(others.map(([id]) => isId(id))) })
    if (versions.size === 0) continue
    const taken = await takeWithDelete(call, name, [...versions.keys()])
    steps.push(...taken.steps)
    if (taken.after) after = taken.after
  }
  steps.push(...unsetting.steps)
  const behind = planReferrers(service.plan, cascade)
  return {
    steps: [...steps, ...behind.steps],
    agreements: unsetting.agreements,
    after,
    done: undefined,
    refuse: (failure) => behind.refuse({ ...failure, step: failure.step - steps.length }),
  }
}
