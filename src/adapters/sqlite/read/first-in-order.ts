import { bounds } from '../../../bounds.js'
import { mergeSort } from '../../../filter/order.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { HeldKeys } from './held-keys.js'
import type { MatchingDocument } from './matches.js'

/** Finds the first documents in an order. It holds the keys of each, and documents up to `bounds.firstCharacters`. */
export interface FirstInOrder {
  add(match: MatchingDocument, slice: Slice): void
  /** Whether it holds enough surplus documents for a `drop`. */
  isFull(): boolean
  /** Drops documents that are not among the first. */
  drop(slice: Slice): Sliced<void>
  /** The first matches, each as a document or, if it is not held, as its id. */
  finish(slice: Slice): Sliced<readonly (MatchingDocument | string)[]>
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
