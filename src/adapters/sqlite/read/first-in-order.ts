import { mergeSort } from '../../../filter/order.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { StoredDocument } from '../../../storage.js'
import type { HeldKeys } from './held-keys.js'

/** Finds the ids of the first documents in an order; of each it keeps only what it is ordered by. */
export interface FirstInOrder {
  add(document: StoredDocument, slice: Slice): void
  /** Whether more is held than was asked for, by so much that it is to be dropped. */
  readonly isFull: boolean
  /** Drops what is behind the first. */
  drop(slice: Slice): Sliced<void>
  finish(slice: Slice): Sliced<readonly string[]>
}

/** Below this it is not worth dropping anything. */
const MIN_HELD = 1024

export function createFirstInOrder({ ids, put, order }: HeldKeys, count: number): FirstInOrder {
  let held: number[] = []
  const free: number[] = []
  let slots = 0
  /** What comes behind it is not among the first. */
  let last: number | undefined
  const capacity = Math.max(2 * count, MIN_HELD)
  return {
    add(document, slice) {
      const slot = free.pop() ?? slots++
      put(slot, document)
      const isBehind = last !== undefined && order(slot, last, slice) >= 0
      ;(isBehind ? free : held).push(slot)
    },
    get isFull() {
      return held.length >= capacity
    },
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
