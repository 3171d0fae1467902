import { compileField, type Ordered } from '../../filter/compare.js'
import type { FieldRef } from '../../filter/filter.js'
import type { StoredDocument } from '../../storage.js'
import type { Row } from './row.js'
import { createSortedList, type SortedList } from './sorted-list.js'

/** Rows sorted by some fields, then by `_id`. A value that is not of its field's type counts as missing. */
export interface SortedIndex {
  readonly fields: readonly FieldRef[]
  readonly rows: SortedList<Row>
  /** All current documents in this order; reads before the next write share one copy. */
  copyDocuments(): readonly StoredDocument[]
}

/** Creates an index that is sorted by fields. */
export function createSortedIndex(fields: readonly FieldRef[]): SortedIndex {
  const readers = fields.map((field) => {
    const read = compileField(field)
    return (row: Row): Ordered => read(row.document)
  })
  const rows = createSortedList<Row>(readers, ({ _id }) => _id)
  // Only the walks that read it keep it alive.
  let copy: { readonly version: number; readonly documents: WeakRef<readonly StoredDocument[]> } | undefined
  return {
    fields,
    rows,
    copyDocuments() {
      const shared = copy?.version === rows.version ? copy.documents.deref() : undefined
      const documents = shared ?? rows.map(({ document }) => document)
      if (!shared) copy = { version: rows.version, documents: new WeakRef(documents) }
      return documents
    },
  }
}
