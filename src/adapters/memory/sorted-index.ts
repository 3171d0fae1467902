import { compileField } from '../../filter/compare.js'
import type { FieldRef } from '../../filter/filter.js'
import type { StoredDocument } from '../../storage.js'
import { createSortedList, type SortedList } from './sorted-list.js'

/**
 * Documents sorted by some fields, then by `_id`. A value that is not of its field's type counts as missing. They are held
 * themselves, not by their rows: a scan is as fast as what it reads lies close.
 */
export interface SortedIndex {
  readonly fields: readonly FieldRef[]
  readonly documents: SortedList<StoredDocument>
  /** All current documents in this order; reads before the next write share one copy. */
  copyDocuments(): readonly StoredDocument[]
}

/** Creates an index that is sorted by fields. */
export function createSortedIndex(fields: readonly FieldRef[]): SortedIndex {
  const documents = createSortedList<StoredDocument>(fields.map(compileField), ({ _id }) => _id)
  // Only the walks that read it keep it alive.
  let copy: { readonly version: number; readonly all: WeakRef<readonly StoredDocument[]> } | undefined
  return {
    fields,
    documents,
    copyDocuments() {
      const shared = copy?.version === documents.version ? copy.all.deref() : undefined
      const all = shared ?? documents.map((document) => document)
      if (!shared) copy = { version: documents.version, all: new WeakRef(all) }
      return all
    },
  }
}
