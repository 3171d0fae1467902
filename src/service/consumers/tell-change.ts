import { digest } from '../../auth/token.js'
import type { Collection } from '../../config/plan.js'
import type { ConsumerChange } from '../../consumers.js'
import { formatTimestamp } from '../../fields/timestamp.js'
import { isEqualJson } from '../../json/equality.js'
import type { Change } from '../../storage.js'
import { showStored } from '../hooks/show-change.js'

/**
 * The name of a change: no two have the same one, for a version of a document is written once, and once more where a
 * restored backup has undone it, at another time.
 */
export const nameChange = (change: Change): string =>
  digest(JSON.stringify([...partsOf(change), change.time]))

/** Whether a change has a name, also one of an earlier version, which did not depend on the time. */
export const isNamed = (change: Change, name: string): boolean =>
  name === nameChange(change) || name === digest(JSON.stringify(partsOf(change)))

const partsOf = ({ in: collection, id, before, after }: Change): readonly unknown[] => [
  collection,
  id,
  before?._version ?? null,
  after?._version ?? null,
]

/**
 * A change as consumers are told of it; `undefined` where only what nobody sees has changed, as when all
 * sessions of a user end.
 */
export function tellChange(
  collection: Collection,
  { before, after, time, by }: Change,
): ConsumerChange | undefined {
  const shown = showStored(collection, before, after)
  if (isEqualJson(shown.before, shown.after)) return undefined
  // A custom adapter may be older than `by`.
  const change = { collection: collection.name, time: formatTimestamp(time), by: by ?? null, ...shown }
  // The operation says which of the documents there are.
  return Object.freeze(change) as ConsumerChange
}
