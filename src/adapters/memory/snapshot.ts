import { PAGE } from '../../core/filter/after-id.js'
import { compareText } from '../../core/json/compare-text.js'
import type { Snapshot, StoredDocument } from '../../core/storage.js'

/** Creates a snapshot of documents that are sorted by `_id`. They are frozen, so no copies are needed. */
export function createSnapshot(held: ReadonlyMap<string, readonly StoredDocument[]>): Snapshot {
  return {
    collections: () => [...held.keys()],
    next(collection, after) {
      const documents = held.get(collection) ?? []
      const start = countUpTo(documents, after)
      return documents.slice(start, start + PAGE)
    },
    async close() {},
  }
}

/** Counts the documents whose `_id`s are at most `id`. */
function countUpTo(documents: readonly StoredDocument[], id: string): number {
  let [start, end] = [0, documents.length]
  while (start < end) {
    const middle = (start + end) >>> 1
    if (compareText(documents[middle]?._id ?? '', id) > 0) end = middle
    else start = middle + 1
  }
  return start
}
