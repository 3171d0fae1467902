import type { StoredDocument } from '../../storage.js'
import type { Row } from './row.js'
import type { Rank, SortedList } from './sorted-list.js'

/** Rows among which those that match a filter are, in some order. They change with the next write. */
export interface Candidates extends Iterable<Row> {
  readonly length: number
  /** The documents from a place on, as they are now: what is written later does not change them. */
  copyFrom(place: number): Iterator<StoredDocument>
}

/** A few rows. */
export const candidatesOf = (rows: readonly Row[]): Candidates => ({
  length: rows.length,
  [Symbol.iterator]: () => rows[Symbol.iterator](),
  copyFrom: (place) => rows.slice(place).map(documentOf)[Symbol.iterator](),
})

/** A range of an index; `isBackwards` from its end. */
export function candidatesIn(
  rows: SortedList<Row>,
  first: Rank,
  end: Rank,
  isBackwards: boolean,
): Candidates {
  return {
    length: Math.max(0, end - first),
    [Symbol.iterator]: () => rows.slice(first, end, isBackwards)[Symbol.iterator](),
    copyFrom: (place) => walkCopy(copyDocuments(rows), first, end, isBackwards, place),
  }
}

const documentOf = ({ document }: Row): StoredDocument => document

interface Copy {
  readonly version: number
  /** Held by those who walk through it, and by nobody else. */
  readonly documents: WeakRef<readonly StoredDocument[]>
}

const copies = new WeakMap<SortedList<Row>, Copy>()

/** All documents of an index in its order: one copy for all who ask before the next write. */
function copyDocuments(rows: SortedList<Row>): readonly StoredDocument[] {
  const known = copies.get(rows)
  const shared = known?.version === rows.version ? known.documents.deref() : undefined
  if (shared) return shared
  const documents = rows.map(documentOf)
  copies.set(rows, { version: rows.version, documents: new WeakRef(documents) })
  return documents
}

function* walkCopy(
  documents: readonly StoredDocument[],
  first: Rank,
  end: Rank,
  isBackwards: boolean,
  place: number,
): Generator<StoredDocument, void, void> {
  for (let i = first + place; i < end; i++) {
    const document = documents[isBackwards ? first + end - 1 - i : i]
    if (document) yield document
  }
}
