import { compare, compileField, findPlace, type Ordered } from '../../../core/filter/compare.js'
import type { SortKey, StoredDocument } from '../../../core/storage.js'
import type { DocumentRow, SortedIndex } from '../rows.js'
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
    const place = findPlace(0, heads.length, (at) => compareHeads(heads[at] as CursorHead, head) > 0)
    heads.splice(place, 0, head)
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
  /**
   * Returns a cursor over the current documents, starting at index `place`. It is valid until the next write. With
   * `isCopied`, it remains valid, and later writes do not change its result.
   */
  read(place: number, isCopied?: boolean): Cursor
}

/** A range of an index. `way` is the number of the filter alternative that the range serves. */
interface IndexRange {
  readonly index: SortedIndex
  readonly range: Range
  readonly way: number
  /** Whether the documents of the range are already in the requested order. */
  readonly isOrdered: boolean
}

const lengthOf = ({ first, end }: Range): number => Math.max(0, end - first)

const countAll = (parts: readonly IndexRange[]): number =>
  parts.reduce((total, { range }) => total + lengthOf(range), 0)

/** Candidates that are given as a short array of rows. */
export const candidatesOf = (rows: readonly DocumentRow[]): CandidateList => ({
  length: rows.length,
  steps: 1,
  read(place) {
    const documents = rows.map(({ document }) => document)
    return { way: 0, next: readArray(documents, { first: place, end: documents.length, isBackwards: false }) }
  },
})

/** Candidates from several ranges, one range after the other. */
export const candidatesInAll = (parts: readonly IndexRange[]): CandidateList => ({
  length: countAll(parts),
  steps: 1,
  read(place, isCopied = false) {
    let left = place
    const cursors = parts.flatMap((part) => {
      const passed = Math.min(left, lengthOf(part.range))
      left -= passed
      const range = behind(part.range, passed)
      return lengthOf(range) === 0 ? [] : readPart({ ...part, range }, isCopied)
    })
    return readInTurn(cursors)
  },
})

/** Candidates from several ranges, merged lazily into one sorted order. */
export const candidatesMerged = (parts: readonly IndexRange[], sort: readonly SortKey[]): CandidateList => ({
  length: countAll(parts),
  steps: 1 + Math.ceil(2 * Math.log2(1 + parts.length)),
  read(place, isCopied = false) {
    const cursors = parts.map((part) => {
      const cursor = readPart(part, isCopied)
      return part.isOrdered ? cursor : sortCursor(cursor, sort)
    })
    const merged = mergeCursors(cursors, sort)
    for (let left = place; left > 0 && merged.next(); ) left -= 1
    return merged
  },
})

/** Returns the range without the first `skip` documents that would be read from it. */
const behind = ({ first, end, isBackwards }: Range, skip: number): Range =>
  isBackwards ? { first, end: end - skip, isBackwards } : { first: first + skip, end, isBackwards }

const readPart = ({ index, range, way }: IndexRange, isCopied: boolean): Cursor => ({
  way,
  next: isCopied ? readArray(index.copyDocuments(), range) : index.documents.read(range),
})

function readArray(
  documents: readonly StoredDocument[],
  { first, end, isBackwards }: Range,
): () => StoredDocument | undefined {
  let place = isBackwards ? end - 1 : first
  const step = isBackwards ? -1 : 1
  return () => {
    if (place < first || place >= end) return undefined
    const document = documents[place]
    place += step
    return document
  }
}

function readInTurn(cursors: readonly Cursor[]): Cursor {
  const [only] = cursors
  if (only && cursors.length === 1) return only
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
