import { compare, type Ordered } from '../../filter/compare.js'
import { CHUNK, type Chunk, comparePlain, type Fresh, isPlain, merge, split } from './chunk.js'

/** The position of an element: the number of elements before it. */
export type Rank = number

/** A part of a list; with `isBackwards`, from its end. */
export interface Range {
  readonly first: Rank
  readonly end: Rank
  readonly isBackwards: boolean
}

/**
 * Sorted elements, in chunks: an insertion moves the elements of one chunk, not of the whole list. What is
 * inserted is put in order when somebody next asks: what comes together then goes together to its places.
 */
export interface SortedList<T> {
  readonly length: number
  /** Changes with each change of the list. */
  readonly version: number
  insert(element: T): void
  /**
   * Puts what was inserted in order if it is much, and says whether it was: asked for where no more comes, for a million are
   * sorted best at once.
   */
  tidy(): boolean
  remove(element: T): void
  /**
   * The number of elements whose first columns are before some values; with `isBehind`, also of those that are
   * equal in them.
   */
  rank(values: readonly Ordered[], isBehind: boolean): Rank
  /** Gives the elements of a part to `visit` until it returns false. */
  walk(range: Range, visit: (element: T) => boolean): void
  /** The results of `read` for all elements, in order. */
  map<U>(read: (element: T) => U): U[]
}

/** So many insertions are much: putting them in order takes some milliseconds, in a list of a million, too. */
const MAX_FRESH = 1024

/** Values of the first columns; with `isBehind`, the place behind all that are equal in them. */
interface Bound {
  readonly values: readonly Ordered[]
  readonly isBehind?: boolean
}

/**
 * Creates an empty list in the order of some columns; no two elements have all of them equal. The last column
 * is a text that mostly ascends, as ids do.
 */
export function createSortedList<T>(
  others: readonly ((element: T) => Ordered)[],
  last: (element: T) => string,
): SortedList<T> {
  const columns = [...others, last]
  const readAll = (element: T): readonly Ordered[] => columns.map((read) => read(element))
  const chunks: Chunk<T>[] = []
  /** The rank of each chunk's first element; `undefined` after a change. */
  let starts: Rank[] | undefined
  let length = 0
  let version = 0
  let fresh: T[] = []
  // From the first other text on, texts are compared by their code points.
  let compareValues = comparePlain

  /** Whether an element is before some values in its first columns. */
  const isBefore = ({ keys, elements }: Chunk<T>, place: number, { values, isBehind }: Bound): boolean => {
    for (let i = 0; i < values.length; i++) {
      const column = keys[i]
      const order = compareValues(column ? column[place] : last(elements[place] as T), values[i])
      if (order !== 0) return order < 0
    }
    return isBehind === true
  }
  /** The first chunk whose last element is not before some values; the number of chunks if there is none. */
  const findChunk = (bound: Bound, from = 0): number =>
    search(from, chunks.length, (place) => {
      const chunk = chunks[place] as Chunk<T>
      return isBefore(chunk, chunk.elements.length - 1, bound)
    })
  const findInside = (chunk: Chunk<T>, bound: Bound, from = 0): number =>
    search(from, chunk.elements.length, (place) => isBefore(chunk, place, bound))
  /** The places of ascending insertions: what comes together often goes side by side. */
  const findPlaces = (chunk: Chunk<T>, rows: readonly Fresh<T>[]): readonly number[] => {
    let place = 0
    return rows.map((row) => {
      place = findInside(chunk, row, place)
      return place
    })
  }
  /** Puts what waits in order. */
  const settle = (): void => {
    if (fresh.length === 0) return
    starts = undefined
    const waiting = fresh
    fresh = []
    // Column by column: numbers that lie side by side are compared much faster.
    const table = columns.map((read) => waiting.map(read))
    if (!table.every((values) => values.every(isPlain))) compareValues = compare
    const places = [...waiting.keys()].sort((a, b) => {
      let order = 0
      for (let i = 0; order === 0 && i < table.length; i++)
        order = compareValues(table[i]?.[a], table[i]?.[b])
      return order
    })
    const readRow = (place: number): Fresh<T> => ({
      element: waiting[place] as T,
      values: table.map((values) => values[place]),
    })
    const hadNone = chunks.length === 0
    let open = chunks.at(-1) ?? { keys: others.map(() => []), elements: [] }
    if (hadNone) chunks.push(open)
    let appended = 0
    for (const place of places) {
      // What goes behind all others needs no search.
      const { element, values } = readRow(place)
      const { keys, elements } = open
      if (!hadNone && !isBefore(open, elements.length - 1, { values })) break
      appended += 1
      elements.push(element)
      for (let k = 0; k < keys.length; k++) keys[k]?.push(values[k])
      if (elements.length >= 2 * CHUNK) {
        open = split(open)
        chunks.push(open)
      }
    }
    const rows = places.slice(appended).map(readRow)
    let index = 0
    for (let begin = 0, end = 0; begin < rows.length; begin = end) {
      const final = chunks.length - 1
      index = final === 0 ? 0 : Math.min(findChunk(rows[begin] as Fresh<T>, index), final)
      const chunk = chunks[index] as Chunk<T>
      const last = chunk.elements.length - 1
      do end += 1
      while (end < rows.length && (index === final || !isBefore(chunk, last, rows[end] as Fresh<T>)))
      const own = rows.slice(begin, end)
      merge(chunk, own, findPlaces(chunk, own))
      while (chunk.elements.length >= 2 * CHUNK) chunks.splice(index + 1, 0, split(chunk))
    }
  }
  const findStarts = (): Rank[] => {
    let rank = 0
    return chunks.map(({ elements }) => {
      const start = rank
      rank += elements.length
      return start
    })
  }
  const change = (by: 1 | -1): void => {
    length += by
    version += 1
    starts = undefined
  }

  return {
    get length() {
      return length
    },
    get version() {
      return version
    },
    insert(element) {
      change(1)
      fresh.push(element)
    },
    tidy() {
      const isMuch = fresh.length >= MAX_FRESH
      if (isMuch) settle()
      return isMuch
    },
    remove(element) {
      settle()
      const values = readAll(element)
      const index = findChunk({ values })
      const chunk = chunks[index]
      const place = chunk ? findInside(chunk, { values }) : 0
      if (chunk?.elements[place] !== element) return
      chunk.elements.splice(place, 1)
      for (const column of chunk.keys) column.splice(place, 1)
      change(-1)
      if (chunk.elements.length === 0) chunks.splice(index, 1)
    },
    rank(values, isBehind) {
      settle()
      const bound = { values, isBehind }
      const index = findChunk(bound)
      const chunk = chunks[index]
      if (!chunk) return length
      starts ??= findStarts()
      return (starts[index] ?? 0) + findInside(chunk, bound)
    },
    walk({ first: from, end, isBackwards }, visit) {
      if (from >= end) return
      settle()
      starts ??= findStarts()
      const step = isBackwards ? -1 : 1
      const start = isBackwards ? end - 1 : from
      let index = findLast(starts, start)
      let place = start - (starts[index] ?? 0)
      let elements = chunks[index]?.elements ?? []
      for (let left = end - from; left > 0; left--) {
        if (!visit(elements[place] as T)) return
        place += step
        if (place >= 0 && place < elements.length) continue
        index += step
        elements = chunks[index]?.elements ?? []
        place = isBackwards ? elements.length - 1 : 0
      }
    },
    map(read) {
      settle()
      const all: ReturnType<typeof read>[] = []
      for (const { elements } of chunks) for (const element of elements) all.push(read(element))
      return all
    },
  }
}

/** The place of the last of some ascending numbers that is not above a number. */
function findLast(numbers: readonly number[], number: number): number {
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
 * The first place from `from` to `end` where `isBefore` is false, `end` for none: first near `from`, if that was
 * found for what comes before.
 */
function search(from: number, end: number, isBefore: (place: number) => boolean): number {
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
