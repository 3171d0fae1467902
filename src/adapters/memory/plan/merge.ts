import { compare, compileField, type Ordered } from '../../../filter/compare.js'
import type { SortKey, StoredDocument } from '../../../storage.js'

/** Returns documents one by one; `way` is the alternative of the filter that found the last one. */
export interface Cursor {
  way: number
  next(): StoredDocument | undefined
}

/** A document with its values in an order. */
interface KeyedDocument {
  readonly document: StoredDocument
  readonly values: readonly Ordered[]
}

/** The next document of a cursor. */
interface CursorHead extends KeyedDocument {
  readonly cursor: Cursor
}

type ReadSortValues = (document: StoredDocument) => readonly Ordered[]

/** The values of each document are read once, because a merge compares them several times. */
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

/** Merges ordered cursors. It reads one document ahead from each cursor. */
export function mergeCursors(cursors: readonly Cursor[], sort: readonly SortKey[]): Cursor {
  const [only] = cursors
  if (only && cursors.length === 1) return only
  const valuesOf = compileValues(sort)
  const compareHeads = compileComparison(sort)
  /** In descending order: the next document is the last. */
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

/** Sorts the documents of a cursor without a pause; its caller limits their number. */
export function sortCursor(cursor: Cursor, sort: readonly SortKey[]): Cursor {
  const valuesOf = compileValues(sort)
  const all: KeyedDocument[] = []
  for (let document = cursor.next(); document; document = cursor.next())
    all.push({ document, values: valuesOf(document) })
  all.sort(compileComparison(sort))
  let place = 0
  return { way: cursor.way, next: () => all[place++]?.document }
}
