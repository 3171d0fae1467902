import { compileField, type Ordered } from '../../../filter/compare.js'
import { type CompareItems, compileDocumentOrder, compileOrder } from '../../../filter/order.js'
import type { Slice } from '../../../slices.js'
import type { SortKey, StoredDocument } from '../../../storage.js'

/**
 * The most characters held of a text; the rest is cut off. Texts are compared unit by unit, so the cut may split a
 * character.
 */
export const HELD = 64

/** The sort keys of documents: each slot has an id and its keys. A column has one value per slot. */
export interface HeldKeys {
  readonly ids: readonly string[]
  readonly columns: readonly (readonly Ordered[])[]
  /** Puts a document's keys into a slot, in place of the old ones. */
  put(slot: number, document: StoredDocument): void
  /** Compares slots. If two texts were cut and are equal up to the cut, it reads the documents. */
  readonly order: CompareItems<number>
}

/** Creates the keys. `read` returns a document again, in the same snapshot, and takes its steps from the slice. */
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
  // Sorting compares one document with many.
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

/** A substring would keep the whole text in memory. */
const beginningOf = (value: Ordered): Ordered =>
  typeof value === 'string' && value.length > HELD
    ? (JSON.parse(JSON.stringify(value.slice(0, HELD))) as string)
    : value
