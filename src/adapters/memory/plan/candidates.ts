import { compare, compileField, type Ordered } from '../../../core/filter/compare.js'
import type { SortKey, StoredDocument } from '../../../core/storage.js'
import type { DocumentRow } from '../row.js'
import type { SortedIndex } from '../rows.js'
import type { Range } from '../sorted-list.js'

/**
 * Returns documents one by one. `way` is the number of the filter alternative that found the last returned document.
 */
export interface Cursor {
  way: number
  next(): StoredDocument | undefined
}

/** A document with its values of the sort fields. */
interface KeyedDocument {
  readonly document: StoredDocument
  readonly values: readonly Ordered[]
}

/** The next document of a cursor, read ahead for a merge. */
interface CursorHead extends KeyedDocument {
  readonly cursor: Cursor
}

type ReadSortValues = (document: StoredDocument) => readonly Ordered[]

/**
 * Compiles a function that returns the values of a document's sort fields. Each document's values are read only once,
 * because a merge compares them several times.
 */
function compileValues(sort: readonly SortKey[]): ReadSortValues {
  const readers = sort.map(({ field }) => compileField(field))
  return (document) => readers.map((read) => read(document))
}

function compileComparison(sort: readonly SortKey[]): (a: KeyedDocument, b: KeyedDocument) => number {
  const signs = sort.map(({ descending }) => (descending ? -1 : 1))
  return (a, b) => {
    for (let i = 0; i < signs.length; i++) {
      const order = compare(a.values[i], b.values[i])
      if (order !== 0) return order * (signs[i] ?? 1)
    }
    return 0
  }
}

/** Merges ordered cursors into one ordered cursor. Reads one document ahead from each cursor. */
function mergeCursors(cursors: readonly Cursor[], sort: readonly SortKey[]): Cursor {
  const [only] = cursors
  if (only && cursors.length === 1) return only
  const valuesOf = compileValues(sort)
  const compareHeads = compileComparison(sort)
  /** Sorted in reverse, so that `pop` returns the next document. */
  const heads: CursorHead[] = []
  const advance = (cursor: Cursor): void => {
    const document = cursor.next()
    if (!document) return
    const head = { document, values: valuesOf(document), cursor }
    let low = 0
    let high = heads.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareHeads(heads[middle] as CursorHead, head) > 0) low = middle + 1
      else high = middle
    }
    heads.splice(low, 0, head)
  }
  for (const cursor of cursors) advance(cursor)
  const merged: Cursor = {
    way: 0,
    next() {
      const head = heads.pop()
      if (!head) return undefined
      merged.way = head.cursor.way
      advance(head.cursor)
      return head.document
    },
  }
  return merged
}

/** Sorts the documents of a cursor, without pauses. The caller limits the number of documents. */
function sortCursor(cursor: Cursor, sort: readonly SortKey[]): Cursor {
  const valuesOf = compileValues(sort)
  const all: KeyedDocument[] = []
  for (let document = cursor.next(); document; document = cursor.next())
    all.push({ document, values: valuesOf(document) })
  all.sort(compileComparison(sort))
  let place = 0
  return { way: cursor.way, next: () => all[place++]?.document }
}

/** The documents that may match a filter. The next write may change this list. */
export interface CandidateList {
  readonly length: number
  /** The number of steps, of a slice's budget, that finding one document costs. */
  readonly steps: number
  /** Skips `skip` documents and passes the others to `visit` until `visit` returns false. */
  walk(skip: number, visit: (document: StoredDocument, way: number) => boolean): void
  /** Returns a cursor over the current documents, starting at index `place`. Later writes do not change its result. */
  copyFrom(place: number): Cursor
}

/** A range of an index. `way` is the number of the filter alternative that the range serves. */
export interface IndexRange {
  readonly index: SortedIndex
  readonly range: Range
  readonly way: number
  /** Whether the documents of the range are already in the requested order. */
  readonly isOrdered: boolean
}

const lengthOf = ({ first, end }: Range): number => Math.max(0, end - first)

/** Candidates that are given as a short array of rows. */
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

/** Candidates that are the documents of one range of an index. */
export const candidatesIn = (index: SortedIndex, range: Range): CandidateList => ({
  length: lengthOf(range),
  steps: 1,
  walk: (skip, visit) => index.documents.walk(behind(range, skip), (document) => visit(document, 0)),
  copyFrom: (place) => readCopy(index.copyDocuments(), behind(range, place), 0),
})

/** Candidates from several ranges, one range after the other. */
export const candidatesInAll = (parts: readonly IndexRange[]): CandidateList => ({
  length: parts.reduce((total, { range }) => total + lengthOf(range), 0),
  steps: 1,
  walk: (skip, visit) => visitAll(readInTurn(partsBehind(parts, skip).map(readPart)), visit),
  copyFrom: (place) => readInTurn(partsBehind(parts, place).map(readPartCopy)),
})

/** Candidates from several ranges, merged lazily into one sorted order. */
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

/** Returns the range without the first `skip` documents that would be read from it. */
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
