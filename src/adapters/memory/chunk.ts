import { compare, type Ordered } from '../../filter/compare.js'

/** A chunk of twice this length is split. */
export const CHUNK = 256

/** Elements with their values in all columns but the last. Most comparisons need only those columns. */
export interface Chunk<T> {
  readonly keys: readonly Ordered[][]
  readonly elements: T[]
}

/** The elements to insert, and their values by column, in any order. */
export interface PendingInserts<T> {
  readonly elements: readonly T[]
  readonly table: readonly (readonly Ordered[])[]
}

/**
 * Merges insertions, named in ascending order, into a chunk, each before the element at its place. Each element moves
 * once.
 */
export function merge<T>(
  { keys, elements }: Chunk<T>,
  { elements: waiting, table }: PendingInserts<T>,
  named: readonly number[],
  places: readonly number[],
): void {
  insertAll(
    elements,
    places,
    named.map((one) => waiting[one] as T),
  )
  for (const [i, column] of keys.entries())
    insertAll(
      column,
      places,
      named.map((one) => table[i]?.[one]),
    )
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

/**
 * Splits a chunk into pieces of the length of one; the last may be longer. Each piece is a copy: an array that has
 * grown, or from which elements were removed, keeps memory for up to twice its elements.
 */
export const split = <T>({ keys, elements }: Chunk<T>): readonly Chunk<T>[] => {
  const pieces = Math.max(1, Math.floor(elements.length / CHUNK))
  return Array.from({ length: pieces }, (_, i) => {
    const [from, end] = [i * CHUNK, i === pieces - 1 ? elements.length : (i + 1) * CHUNK]
    return { keys: keys.map((column) => column.slice(from, end)), elements: elements.slice(from, end) }
  })
}

/** Joins the elements of two adjacent chunks. */
export const join = <T>(a: Chunk<T>, b: Chunk<T>): Chunk<T> => ({
  keys: a.keys.map((column, i) => [...column, ...(b.keys[i] ?? [])]),
  elements: [...a.elements, ...b.elements],
})

/** Characters whose order by code points differs from their order in UTF-16. */
const SPECIAL = /[\ud800-\uffff]/

/** Whether a text is ordered equally by code points and by UTF-16. */
export const isPlain = (value: Ordered): boolean => typeof value !== 'string' || !SPECIAL.test(value)

/** The same as `compare`, for plain texts; JavaScript's own comparison of texts is ten times as fast. */
export function comparePlain(a: Ordered, b: Ordered): number {
  // With known types, V8 compiles a direct comparison.
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : a < b ? -1 : 1
  return compare(a, b)
}

/** The places of rows in ascending order, in a table given by columns. */
export function sortPlaces(
  table: readonly (readonly Ordered[])[],
  compareValues: (a: Ordered, b: Ordered) => number,
): readonly number[] {
  const [lead = []] = table
  const compareRows = (a: number, b: number): number => {
    const [x, y] = [lead[a], lead[b]]
    // Usually the first column decides.
    if (typeof x === 'number' && typeof y === 'number' && x !== y) return x - y
    let order = 0
    for (let i = 0; order === 0 && i < table.length; i++) order = compareValues(table[i]?.[a], table[i]?.[b])
    return order
  }
  const places = [...lead.keys()]
  // Ids and times are often sorted already: checking that costs less than sorting.
  const isSorted = places.every((place) => place === 0 || compareRows(place - 1, place) < 0)
  return isSorted ? places : places.sort(compareRows)
}

/** The index of the last of some ascending numbers that is not above a number. */
export function findLast(numbers: readonly number[], number: number): number {
  let low = 0
  let high = numbers.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((numbers[middle] ?? 0) <= number) low = middle
    else high = middle - 1
  }
  return low
}

/**
 * The first place from `from` to `end` where `isBefore` is false; `end` if there is none. Searches near `from` first,
 * which is the result for the preceding value.
 */
export function search(from: number, end: number, isBefore: (place: number) => boolean): number {
  let low = from
  let high = end
  for (let step = 1; from > 0 && low + step < high; step *= 2) {
    if (isBefore(low + step - 1)) low += step
    else high = low + step - 1
  }
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
