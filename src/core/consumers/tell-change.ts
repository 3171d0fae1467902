import type { Collection } from '../config/plan.js'
import { formatTimestamp } from '../fields/timestamp.js'
import { showStored } from '../hooks/show-change.js'
import { digest } from '../json/digest.js'
import { isEqualJson } from '../json/equality.js'
import type { Change } from '../storage.js'
import type { ConsumerChange } from './types.js'

/**
 * Names a change uniquely. A version of a document is usually written once. If a restored backup has undone the write,
 * the version is written again, at another time. `stored` is the stored name of the collection, because a collection may
 * be renamed between two attempts.
 */
export const nameChange = (stored: string, change: Change): string =>
  digest(JSON.stringify([...partsOf(stored, change), change.time]))

/** Whether a name is that of a change, in the current format or in an earlier one, which did not contain the time. */
export const isNamed = (stored: string, change: Change, name: string): boolean =>
  name === nameChange(stored, change) || name === digest(JSON.stringify(partsOf(stored, change)))

const partsOf = (stored: string, { id, before, after }: Change): readonly unknown[] => [
  stored,
  id,
  before?._version ?? null,
  after?._version ?? null,
]

/**
 * Converts a change to the form that consumers receive; `undefined` if only hidden state has changed, such as the end
 * of all sessions of a user.
 */
export function tellChange(
  collection: Collection,
  { before, after, time, by, isMigration }: Change,
): ConsumerChange | undefined {
  const shown = showStored(collection, before, after)
  if (isEqualJson(shown.before, shown.after)) return undefined
  // An adapter of the host may be older than `by`.
  const mark = isMigration ? { isMigration } : {}
  const change = {
    collection: collection.name,
    time: formatTimestamp(time),
    by: by ?? null,
    ...mark,
    ...shown,
  }
  // `operation` determines whether `before` and `after` exist, which the compiler does not know here.
  return Object.freeze(change) as ConsumerChange
}
