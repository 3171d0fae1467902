import { mergeSort } from '../../../filter/order.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { StoredDocument } from '../../../storage.js'
import type { HeldKeys } from './held-keys.js'

/** Finds the ids of the first documents in an order; it holds only the keys of each. */
export interface FirstInOrder {
  add(document: StoredDocument, slice: Slice): void
  /** Whether it holds so many more than needed that it should drop some. */
  isFull(): boolean
  /** Drops those that are not among the first. */
  drop(slice: Slice): Sliced<void>
  finish(slice: Slice): Sliced<readonly string[]>
}

/** Below this number, dropping is not worthwhile. */
const MIN_HELD = 1024

/** Creates a collector of the first `count` documents. */
export function createFirstInOrder({ ids, put, order }: HeldKeys, count: number): FirstInOrder {
  let held: number[] = []
  const free: number[] = []
  let slots = 0
  /** Documents after this one are not among the first. */
  let last: number | undefined
  const capacity = Math.max(2 * count, MIN_HELD)
  return {
    add(document, slice) {
      const slot = free.pop() ?? slots++
      put(slot, document)
      const isBehind = last !== undefined && order(slot, last, slice) >= 0
      ;(isBehind ? free : held).push(slot)
    },
    isFull: () => held.length >= capacity,
    *drop(slice) {
      const sorted = yield* mergeSort(held, order, slice)
      for (const slot of sorted.slice(count)) free.push(slot)
      held = sorted.slice(0, count)
      last = held[count - 1]
    },
    *finish(slice) {
      const sorted = yield* mergeSort(held, order, slice)
      return sorted.slice(0, count).map((slot) => ids[slot] ?? '')
    },
  }
}
