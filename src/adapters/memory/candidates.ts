import type { StoredDocument } from '../../storage.js'
import type { Row } from './row.js'
import type { SortedIndex } from './sorted-index.js'
import type { Range } from './sorted-list.js'

/** The rows that may match a filter, in some order. They change with the next write. */
export interface Candidates {
  readonly length: number
  /** Gives the documents behind the first `skip` to `visit` until it returns false. */
  walk(skip: number, visit: (document: StoredDocument) => boolean): void
  /** The current documents from a place on: later writes do not change them. */
  copyFrom(place: number): Iterator<StoredDocument>
}

/** A few rows. */
export const candidatesOf = (rows: readonly Row[]): Candidates => ({
  length: rows.length,
  walk(skip, visit) {
    for (const { document } of rows.slice(skip)) if (!visit(document)) return
  },
  copyFrom: (place) =>
    rows
      .slice(place)
      .map(({ document }) => document)
      [Symbol.iterator](),
})

/** The rows in a part of an index. */
export const candidatesIn = (index: SortedIndex, { first, end, isBackwards }: Range): Candidates => ({
  length: Math.max(0, end - first),
  walk(skip, visit) {
    const rest = isBackwards
      ? { first, end: end - skip, isBackwards }
      : { first: first + skip, end, isBackwards }
    index.rows.walk(rest, ({ document }) => visit(document))
  },
  copyFrom: (place) => walkCopy(index.copyDocuments(), { first, end, isBackwards }, place),
})

function* walkCopy(
  documents: readonly StoredDocument[],
  { first, end, isBackwards }: Range,
  place: number,
): Generator<StoredDocument, void, void> {
  for (let i = first + place; i < end; i++) {
    const document = documents[isBackwards ? first + end - 1 - i : i]
    if (document) yield document
  }
}
