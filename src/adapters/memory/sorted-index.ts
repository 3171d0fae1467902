import { compare, compileField, type Ordered } from '../../filter/compare.js'
import type { FieldRef } from '../../filter/filter.js'
import { compareText } from '../../json/compare-text.js'
import type { StoredDocument } from '../../storage.js'
import type { Row } from './row.js'
import { createSortedList, type SortedList } from './sorted-list.js'

/** Rows in the order of some fields, then of `_id`. A value of another type than its field's counts as missing. */
export interface SortedIndex {
  readonly fields: readonly FieldRef[]
  readonly rows: SortedList<Row>
  /** How the first fields of a row, the last of which is `_id`, compare with values. */
  comparePrefix(row: Row, values: readonly Ordered[]): number
  /** All documents in this order, as they are now: one copy for all who ask before the next write. */
  copyDocuments(): readonly StoredDocument[]
}

export function createSortedIndex(fields: readonly FieldRef[]): SortedIndex {
  const readers = fields.map((field) => {
    const read = compileField(field)
    return (row: Row): Ordered => read(row.document)
  })
  const compareRows = (a: Row, b: Row): number => {
    for (const read of readers) {
      const order = compare(read(a), read(b))
      if (order !== 0) return order
    }
    return compareText(a._id, b._id)
  }
  const rows = createSortedList(compareRows)
  // Held by those who walk through it, and by nobody else.
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
    comparePrefix(row, values) {
      for (let i = 0; i < values.length; i++) {
        const read = readers[i]
        const order = compare(read ? read(row) : row._id, values[i])
        if (order !== 0) return order
      }
      return 0
    },
  }
}
