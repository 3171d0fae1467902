import type { StoredDocument } from '../../../storage.js'
import type { Row } from '../row.js'
import type { SortedIndex } from '../sorted-index.js'
import type { Range } from '../sorted-list.js'

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

/** The rows of a set. */
export const candidatesOfSet = (rows: ReadonlySet<Row>): Candidates => ({
  length: rows.size,
  walk(skip, visit) {
    let left = skip
    for (const { document } of rows) {
      if (left > 0) left -= 1
      else if (!visit(document)) return
    }
  },
  copyFrom: (place) => candidatesOf([...rows]).copyFrom(place),
})

/** The rows of several parts of an index that have none in common, part by part. */
export const candidatesInAll = (index: SortedIndex, ranges: readonly Range[]): Candidates => {
  const parts = ranges.map((range) => candidatesIn(index, range))
  return {
    length: parts.reduce((total, { length }) => total + length, 0),
    walk(skip, visit) {
      let left = skip
      let isOver = false
      for (const part of parts) {
        if (left >= part.length) left -= part.length
        else {
          part.walk(left, (document) => {
            isOver = !visit(document)
            return !isOver
          })
          left = 0
        }
        if (isOver) return
      }
    },
    copyFrom: (place) => walkCopies(index.copyDocuments(), ranges, place),
  }
}

function* walkCopies(
  documents: readonly StoredDocument[],
  ranges: readonly Range[],
  place: number,
): Generator<StoredDocument, void, void> {
  let left = place
  for (const range of ranges) {
    const length = Math.max(0, range.end - range.first)
    if (left < length) yield* walkCopy(documents, range, left)
    left = Math.max(0, left - length)
  }
}

/** The rows in a part of an index. */
export const candidatesIn = (index: SortedIndex, { first, end, isBackwards }: Range): Candidates => ({
  length: Math.max(0, end - first),
  walk(skip, visit) {
    const rest = isBackwards
      ? { first, end: end - skip, isBackwards }
      : { first: first + skip, end, isBackwards }
    index.documents.walk(rest, visit)
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
