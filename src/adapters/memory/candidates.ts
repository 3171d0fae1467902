import type { StoredDocument } from '../../storage.js'
import type { Row } from './row.js'
import type { SortedIndex } from './sorted-index.js'
import type { Rank } from './sorted-list.js'

/** The rows that may match a filter, in some order. They change with the next write. */
export interface Candidates extends Iterable<Row> {
  readonly length: number
  /** The current documents from a place on: later writes do not change them. */
  copyFrom(place: number): Iterator<StoredDocument>
}

/** A few rows. */
export const candidatesOf = (rows: readonly Row[]): Candidates => ({
  length: rows.length,
  [Symbol.iterator]: () => rows[Symbol.iterator](),
  copyFrom: (place) =>
    rows
      .slice(place)
      .map(({ document }) => document)
      [Symbol.iterator](),
})

/** A part of an index; with `isBackwards`, from its end. */
export interface Range {
  readonly first: Rank
  readonly end: Rank
  readonly isBackwards: boolean
}

/** The rows in a part of an index. */
export function candidatesIn(index: SortedIndex, range: Range): Candidates {
  const { first, end, isBackwards } = range
  return {
    length: Math.max(0, end - first),
    [Symbol.iterator]: () => index.rows.slice(first, end, isBackwards)[Symbol.iterator](),
    copyFrom: (place) => walkCopy(index.copyDocuments(), range, place),
  }
}

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
