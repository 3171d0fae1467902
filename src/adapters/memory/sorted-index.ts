import { compileField, holdsType, type Ordered } from '../../filter/compare.js'
import type { FieldRef } from '../../filter/filter.js'
import { compilePath, isObject, thaw } from '../../json/own-properties.js'
import type { StoredDocument } from '../../storage.js'
import { createSortedList, type SortedList } from './sorted-list.js'

/**
 * Documents sorted by some fields, then by `_id`. A value that is not of its field's type counts as missing. An index
 * over elements of an array has a document once for each element, and not at all without elements. It holds
 * documents, not rows, because a scan is faster if its documents are close in memory.
 */
export interface SortedIndex {
  readonly fields: readonly FieldRef[]
  readonly documents: SortedList<StoredDocument>
  /** All current documents in this order; reads before the next write share one copy. */
  copyDocuments(): readonly StoredDocument[]
}

/** Creates an index that is sorted by fields. */
export function createSortedIndex(fields: readonly FieldRef[]): SortedIndex {
  const column = fields.findIndex(({ each }) => each)
  const elements = fields[column]
  const documents = createSortedList<StoredDocument>(
    fields.map(compileField),
    ({ _id }) => _id,
    elements && { column, valuesOf: compileElements(elements) },
  )
  // Only the walks that read the copy keep it alive.
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

/** Compiles a field of array elements to a getter of their distinct values; those of another type are missing. */
function compileElements({
  path,
  type,
  inside,
}: FieldRef): (document: StoredDocument) => ReadonlySet<Ordered> {
  const readArray = compilePath(path)
  const readInside = inside === undefined ? undefined : compilePath(inside)
  const holds = holdsType(type)
  return (document) => {
    const values = new Set<Ordered>()
    const elements = readArray(document)
    if (!Array.isArray(elements)) return values
    for (const element of thaw(elements)) {
      const value = !readInside ? element : isObject(element) ? readInside(element) : undefined
      if (holds(value)) values.add(value as Ordered)
    }
    return values
  }
}
