import { compare, type Ordered } from '../../filter/compare.js'

/** A chunk of twice this length is split. */
export const CHUNK = 256

/** Elements side by side with their values in all columns but the last, which most comparisons need alone. */
export interface Chunk<T> {
  readonly keys: readonly Ordered[][]
  readonly elements: T[]
}

/** An insertion, with its values in all columns. */
export interface Fresh<T> {
  readonly element: T
  readonly values: readonly Ordered[]
}

/** Puts ascending insertions into a chunk, each before the element at its place: so each element moves once. */
export function merge<T>(
  { keys, elements }: Chunk<T>,
  rows: readonly Fresh<T>[],
  places: readonly number[],
): void {
  const inserted = rows.map(({ element }) => element)
  insertAll(elements, places, inserted)
  for (const [i, column] of keys.entries()) {
    const values = rows.map(({ values }) => values[i])
    insertAll(column, places, values)
  }
}

function insertAll<E>(elements: E[], places: readonly number[], all: readonly E[]): void {
  if (all.length === 1) {
    elements.splice(places[0] ?? 0, 0, ...all)
    return
  }
  let from = elements.length
  for (const one of all) elements.push(one)
  for (let left = all.length; left > 0; left--) {
    const place = places[left - 1] ?? 0
    while (from > place) {
      from -= 1
      elements[from + left] = elements[from] as E
    }
    elements[place + left - 1] = all[left - 1] as E
  }
}

/** Cuts off the last elements of a chunk. */
export const split = <T>({ keys, elements }: Chunk<T>): Chunk<T> => ({
  keys: keys.map((column) => column.splice(-CHUNK)),
  elements: elements.splice(-CHUNK),
})

/** Characters that come in another order by their code points than in UTF-16. */
const SPECIAL = /[\ud800-\uffff]/

/** Texts of which both orders, that of code points and that of UTF-16, are the same. */
export const isPlain = (value: Ordered): boolean => typeof value !== 'string' || !SPECIAL.test(value)

/** The same as `compare`, for plain texts; engines compare the texts themselves ten times as fast. */
export function comparePlain(a: Ordered, b: Ordered): number {
  // Where the types are known, engines need not ask what to compare by.
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : a < b ? -1 : 1
  return compare(a, b)
}
