import { compare, type Ordered } from '../../filter/compare.js'
import { compileField } from '../../filter/compile-field.js'
import type { Slice, Sliced } from '../../slices.js'
import type { SortKey, StoredDocument } from '../../storage.js'
import { sortInSlices } from './sort-in-slices.js'

/** Finds the ids of the first documents in an order; of each it keeps only what it is ordered by. */
export interface FirstInOrder {
  add(document: StoredDocument): void
  /** Whether more is held than was asked for, by so much that it is to be dropped. */
  readonly isFull: boolean
  /** Drops what is behind the first. */
  drop(slice: Slice): Sliced<void>
  finish(slice: Slice): Sliced<readonly string[]>
}

interface Entry {
  readonly id: string
  readonly keys: readonly Ordered[]
}

/** Below this it is not worth dropping anything. */
const MIN_HELD = 1024

export function createFirstInOrder(sort: readonly SortKey[], count: number): FirstInOrder {
  const readers = sort.map(({ field }) => compileField(field))
  const signs = sort.map(({ descending }) => (descending ? -1 : 1))
  const order = (a: Entry, b: Entry): number => {
    for (let i = 0; i < signs.length; i++) {
      const first = compare(a.keys[i], b.keys[i])
      if (first !== 0) return first * (signs[i] ?? 1)
    }
    return 0
  }
  let held: Entry[] = []
  /** What comes behind it is not among the first. */
  let last: Entry | undefined
  const capacity = Math.max(2 * count, MIN_HELD)
  const sorted = (slice: Slice): Sliced<readonly Entry[]> => sortInSlices(held, order, slice)
  return {
    add(document) {
      const entry = { id: document._id, keys: readers.map((read) => read(document)) }
      if (!last || order(entry, last) < 0) held.push(entry)
    },
    get isFull() {
      return held.length >= capacity
    },
    *drop(slice) {
      held = (yield* sorted(slice)).slice(0, count)
      last = held[count - 1]
    },
    *finish(slice) {
      return (yield* sorted(slice)).slice(0, count).map(({ id }) => id)
    },
  }
}
