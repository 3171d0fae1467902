import { digest } from '../accounts/auth/token.js'
import type { Collection } from '../config/plan.js'
import { formatTimestamp } from '../fields/timestamp.js'
import { showStored } from '../hooks/show-change.js'
import { isEqualJson } from '../json/equality.js'
import type { Change } from '../storage.js'
import type { ConsumerChange } from './types.js'

/**
 * The name of a change, which is unique: a version of a document is written once, and once more, at another time, if a
 * restored backup has undone it.
 */
export const nameChange = (change: Change): string =>
  digest(JSON.stringify([...partsOf(change), change.time]))

/** Whether a change has a name, in the current or an earlier format, which did not depend on the time. */
export const isNamed = (change: Change, name: string): boolean =>
  name === nameChange(change) || name === digest(JSON.stringify(partsOf(change)))

const partsOf = ({ in: collection, id, before, after }: Change): readonly unknown[] => [
  collection,
  id,
  before?._version ?? null,
  after?._version ?? null,
]

/**
 * A change as consumers receive it; `undefined` if only hidden state has changed, as when all sessions of a user end.
 */
export function tellChange(
  collection: Collection,
  { before, after, time, by }: Change,
): ConsumerChange | undefined {
  const shown = showStored(collection, before, after)
  if (isEqualJson(shown.before, shown.after)) return undefined
  // A custom adapter may be older than `by`.
  const change = { collection: collection.name, time: formatTimestamp(time), by: by ?? null, ...shown }
  // The operation determines which of the documents exist.
  return Object.freeze(change) as ConsumerChange
}
