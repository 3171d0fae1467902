import { bounds } from '../../../core/bounds.js'
import {
  type CompareItems,
  compileDocumentOrder,
  compileField,
  compileOrder,
  mergeSort,
  type Ordered,
} from '../../../core/filter/compare.js'
import type { Slice, Sliced } from '../../../core/slices.js'
import type { SortKey, StoredDocument } from '../../../core/storage.js'
import type { MatchingDocument } from './matches.js'

/**
 * The maximum length of a string among the cached sort keys. Longer strings are cut. A cut may split a character, which
 * is harmless, because strings are compared one UTF-16 unit at a time.
 */
export const HELD = 64

/** The sort keys of documents. Each document has a slot, which is an index in `ids` and in each of `columns`. */
interface HeldKeys {
  readonly ids: readonly string[]
  readonly columns: readonly (readonly Ordered[])[]
  /** Replaces the content of a slot with the id and the sort keys of a document. */
  put(slot: number, document: StoredDocument): void
  /** Compares two slots. If both keys were cut and are equal up to the cut, reads the documents again. */
  readonly order: CompareItems<number>
}

/** Creates empty sort keys. `read` reads a document again, in the same snapshot, and takes its steps from the slice. */
export function createHeldKeys(
  sort: readonly SortKey[],
  read: (id: string, slice: Slice) => StoredDocument,
): HeldKeys {
  const ids: string[] = []
  const keys = sort.map((key) => {
    const column: Ordered[] = []
    const held = compileOrder<number>([key], [(slot) => column[slot]])
    const whole = compileDocumentOrder([key])
    const order: CompareItems<number> = (a, b, slice) =>
      held(a, b, slice) || (isLong(column[a]) ? whole(readAgain(a, slice), readAgain(b, slice), slice) : 0)
    return { column, read: compileField(key.field), order }
  })
  // The last two documents are cached, because sorting compares one document with many others.
  let recent: readonly StoredDocument[] = []
  const readAgain = (slot: number, slice: Slice): StoredDocument => {
    const id = ids[slot] ?? ''
    const document = recent.find(({ _id }) => _id === id) ?? read(id, slice)
    recent = [document, ...recent.filter((other) => other !== document).slice(0, 1)]
    return document
  }
  return {
    ids,
    columns: keys.map(({ column }) => column),
    put(slot, document) {
      ids[slot] = document._id
      for (const { column, read } of keys) column[slot] = beginningOf(read(document))
    },
    order(a, b, slice) {
      for (const key of keys) {
        const order = key.order(a, b, slice)
        if (order !== 0) return order
      }
      return 0
    },
  }
}

const isLong = (value: Ordered): boolean => typeof value === 'string' && value.length >= HELD

/** Cuts a string. `slice` alone would keep the whole string in memory. */
const beginningOf = (value: Ordered): Ordered =>
  typeof value === 'string' && value.length > HELD
    ? (JSON.parse(JSON.stringify(value.slice(0, HELD))) as string)
    : value

/**
 * Collects the documents that come first in an order. Holds the sort keys of each candidate, and documents up to a
 * total of `bounds.firstCharacters`.
 */
export interface FirstInOrder {
  add(match: MatchingDocument, slice: Slice): void
  /** Whether there are enough surplus documents to make `drop` worthwhile. */
  isFull(): boolean
  /** Drops the documents that cannot be among the first. */
  drop(slice: Slice): Sliced<void>
  /** Returns the first matches in order: each as a document or, if the document is not in memory, as its id. */
  finish(slice: Slice): Sliced<readonly (MatchingDocument | string)[]>
}

/** The minimum number of documents for which `drop` is worthwhile. */
const MIN_HELD = 1024

/** Creates a collector of the first `count` documents in an order. */
export function createFirstInOrder({ ids, put, order }: HeldKeys, count: number): FirstInOrder {
  let held: number[] = []
  const free: number[] = []
  let slots = 0
  /** The slot of the `count`th document so far. Documents that sort after it are not among the first. */
  let last: number | undefined
  const matches = new Map<number, MatchingDocument>()
  let characters = 0
  const capacity = Math.max(2 * count, MIN_HELD)
  const release = (slot: number): void => {
    characters -= matches.get(slot)?.text.length ?? 0
    matches.delete(slot)
    free.push(slot)
  }
  return {
    add(match, slice) {
      const slot = free.pop() ?? slots++
      put(slot, match.document)
      if (last !== undefined && order(slot, last, slice) >= 0) {
        free.push(slot)
        return
      }
      held.push(slot)
      const { length } = match.text
      if (characters + length > bounds.firstCharacters) return
      matches.set(slot, match)
      characters += length
    },
    isFull: () => held.length >= capacity,
    *drop(slice) {
      const sorted = yield* mergeSort(held, order, slice)
      for (const slot of sorted.slice(count)) release(slot)
      held = sorted.slice(0, count)
      last = held[count - 1]
    },
    *finish(slice) {
      const sorted = yield* mergeSort(held, order, slice)
      return sorted.slice(0, count).map((slot) => matches.get(slot) ?? ids[slot] ?? '')
    },
  }
}
