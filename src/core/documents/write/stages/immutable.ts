import { findImmutableChanges, immutable as isImmutable } from '../../../fields/schema/changes.js'
import { toPointerPart } from '../../../json/pointer.js'
import type { Stage } from '../draft.js'

/** Rejects updates of immutable properties. */
export const immutable: Stage = {
  name: 'immutable',
  judge(draft) {
    const { before, after, closed } = draft.seen
    draft.faults = [
      // A hidden immutable property in a body always causes a validation error: otherwise the stored value could be
      // guessed.
      ...closed.map(({ name }) => isImmutable(toPointerPart(name))),
      ...draft.faults,
      ...findImmutableChanges(draft.collection.fields, before, after),
    ]
    return undefined
  },
}
