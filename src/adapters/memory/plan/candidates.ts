import type { SortKey, StoredDocument } from '../../../storage.js'
import type { DocumentRow } from '../row.js'
import type { SortedIndex } from '../sorted-index.js'
import type { Range } from '../sorted-list.js'
import { type Cursor, mergeCursors, sortCursor } from './merge.js'

/** The rows that may match a filter, in some order. They change with the next write. */
export interface CandidateList {
  readonly length: number
  /** The steps of finding one of them. */
  readonly steps: number
  /** Passes the documents after the first `skip` to `visit` until it returns false. */
  walk(skip: number, visit: (document: StoredDocument, way: number) => boolean): void
  /** The current documents from a place on: later writes do not change them. */
  copyFrom(place: number): Cursor
}

/** A part of an index whose documents belong to one alternative, `way`. */
export interface IndexRange {
  readonly index: SortedIndex
  readonly range: Range
  readonly way: number
  /** Whether its documents are in the requested order. */
  readonly isOrdered: boolean
}

const lengthOf = ({ first, end }: Range): number => Math.max(0, end - first)

/** A few rows. */
export const candidatesOf = (rows: readonly DocumentRow[]): CandidateList => ({
  length: rows.length,
  steps: 1,
  walk(skip, visit) {
    for (const { document } of rows.slice(skip)) if (!visit(document, 0)) return
  },
  copyFrom(place) {
    const documents = rows.slice(place).map(({ document }) => document)
    return readCopy(documents, { first: 0, end: documents.length, isBackwards: false }, 0)
  },
})

/** The rows in a part of an index. */
export const candidatesIn = (index: SortedIndex, range: Range): CandidateList => ({
  length: lengthOf(range),
  steps: 1,
  walk: (skip, visit) => index.documents.walk(behind(range, skip), (document) => visit(document, 0)),
  copyFrom: (place) => readCopy(index.copyDocuments(), behind(range, place), 0),
})

/** The rows of several parts of indexes, part by part. */
export const candidatesInAll = (parts: readonly IndexRange[]): CandidateList => ({
  length: parts.reduce((total, { range }) => total + lengthOf(range), 0),
  steps: 1,
  walk: (skip, visit) => visitAll(readInTurn(partsBehind(parts, skip).map(readPart)), visit),
  copyFrom: (place) => readInTurn(partsBehind(parts, place).map(readPartCopy)),
})

/** The rows of several parts of indexes in one order. They are merged lazily. */
export const candidatesMerged = (parts: readonly IndexRange[], sort: readonly SortKey[]): CandidateList => {
  const merge = (read: (part: IndexRange) => Cursor, skip: number): Cursor => {
    const merged = mergeCursors(
      parts.map((part) => (part.isOrdered ? read(part) : sortCursor(read(part), sort))),
      sort,
    )
    for (let left = skip; left > 0 && merged.next(); ) left -= 1
    return merged
  }
  return {
    length: parts.reduce((total, { range }) => total + lengthOf(range), 0),
    steps: 1 + Math.ceil(2 * Math.log2(1 + parts.length)),
    walk: (skip, visit) => visitAll(merge(readPart, skip), visit),
    copyFrom: (place) => merge(readPartCopy, place),
  }
}

function visitAll(cursor: Cursor, visit: (document: StoredDocument, way: number) => boolean): void {
  for (let document = cursor.next(); document && visit(document, cursor.way); ) document = cursor.next()
}

/** The rest of a range after its first documents. */
const behind = ({ first, end, isBackwards }: Range, skip: number): Range =>
  isBackwards ? { first, end: end - skip, isBackwards } : { first: first + skip, end, isBackwards }

function partsBehind(parts: readonly IndexRange[], skip: number): readonly IndexRange[] {
  let left = skip
  return parts.flatMap((part) => {
    const length = lengthOf(part.range)
    const passed = Math.min(left, length)
    left -= passed
    return passed === length ? [] : [{ ...part, range: behind(part.range, passed) }]
  })
}

const readPart = ({ index, range, way }: IndexRange): Cursor => ({ way, next: index.documents.read(range) })

const readPartCopy = ({ index, range, way }: IndexRange): Cursor =>
  readCopy(index.copyDocuments(), range, way)

function readCopy(
  documents: readonly StoredDocument[],
  { first, end, isBackwards }: Range,
  way: number,
): Cursor {
  let place = isBackwards ? end - 1 : first
  const step = isBackwards ? -1 : 1
  return {
    way,
    next() {
      if (place < first || place >= end) return undefined
      const document = documents[place]
      place += step
      return document
    },
  }
}

function readInTurn(cursors: readonly Cursor[]): Cursor {
  let place = 0
  const all: Cursor = {
    way: 0,
    next() {
      for (; place < cursors.length; place++) {
        const cursor = cursors[place]
        const document = cursor?.next()
        if (!cursor || !document) continue
        all.way = cursor.way
        return document
      }
      return undefined
    },
  }
  return all
}
