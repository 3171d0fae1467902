import { compare, type Ordered } from '../../filter/compare.js'

/** The position of an element: the number of elements before it. */
export type Rank = number

/** A part of a list; with `isBackwards`, from its end. */
export interface Range {
  readonly first: Rank
  readonly end: Rank
  readonly isBackwards: boolean
}

/** Sorted elements, in chunks: an insertion moves the elements of one chunk, not of the whole list. */
export interface SortedList<T> {
  readonly length: number
  /** Changes with each change of the list. */
  readonly version: number
  insert(element: T): void
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

/** A chunk of twice this length is split. */
const CHUNK = 512

/** Elements side by side with their values in all columns but the last, which most comparisons need alone. */
interface Chunk<T> {
  readonly keys: readonly Ordered[][]
  readonly elements: T[]
}

/** Texts of which both orders, that of code points and that of UTF-16, are the same. */
const isPlain = (value: Ordered): boolean => typeof value !== 'string' || !/[\ud800-\uffff]/.test(value)

/** The same as `compare`, for plain texts; engines compare the texts themselves ten times as fast. */
function comparePlain(a: Ordered, b: Ordered): number {
  if (typeof a !== 'string' || typeof b !== 'string') return compare(a, b)
  return a === b ? 0 : a < b ? -1 : 1
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
  /** The chunk and the place of the last insertion: what is written together often lies together, and ascends. */
  let recent = 0
  let latest = 0
  // From the first other text on, texts are compared by their code points.
  let arePlain = true

  /** Compares an element with values in its first columns. */
  const compareTo = (
    { keys, elements }: Chunk<T>,
    place: number,
    values: readonly Ordered[],
    depth: number,
  ): number => {
    const compareValues = arePlain ? comparePlain : compare
    let order = 0
    for (let i = 0; order === 0 && i < depth; i++) {
      const column = keys[i]
      order = compareValues(column ? column[place] : last(elements[place] as T), values[i])
    }
    return order
  }
  /** The first chunk whose last element is not before the values; the number of chunks if there is none. */
  const findChunk = (values: readonly Ordered[], depth: number, isBehind: boolean): number => {
    let low = 0
    let high = chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const chunk = chunks[middle] as Chunk<T>
      const order = compareTo(chunk, chunk.elements.length - 1, values, depth)
      if (order < 0 || (isBehind && order === 0)) low = middle + 1
      else high = middle
    }
    return low
  }
  const findInside = (
    chunk: Chunk<T>,
    values: readonly Ordered[],
    depth: number,
    isBehind: boolean,
  ): number => {
    let low = 0
    let high = chunk.elements.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const order = compareTo(chunk, middle, values, depth)
      if (order < 0 || (isBehind && order === 0)) low = middle + 1
      else high = middle
    }
    return low
  }
  /** The chunk for an element behind all that are equal in the columns but the last. */
  const findPlace = (values: readonly Ordered[]): number => {
    const depth = others.length
    const chunk = chunks[recent]
    const isIn =
      chunk &&
      compareTo(chunk, 0, values, depth) <= 0 &&
      (recent === chunks.length - 1 || compareTo(chunk, chunk.elements.length - 1, values, depth) > 0)
    return isIn ? recent : Math.min(findChunk(values, depth, true), chunks.length - 1)
  }
  /** Finds where an element belongs. Nearly always it comes behind all that are equal in the other columns. */
  const findPosition = (values: readonly Ordered[]): void => {
    if (chunks.length === 0) {
      chunks.push({ keys: others.map(() => []), elements: [] })
      ;[recent, latest] = [0, 0]
      return
    }
    recent = findPlace(values)
    let chunk = chunks[recent] as Chunk<T>
    latest = findInside(chunk, values, others.length, true)
    if (latest > 0 && compareTo(chunk, latest - 1, values, columns.length) <= 0) return
    recent = Math.min(findChunk(values, columns.length, false), chunks.length - 1)
    chunk = chunks[recent] as Chunk<T>
    latest = findInside(chunk, values, columns.length, false)
  }
  /** Whether an element belongs right behind the last insertion. */
  const isNext = (values: readonly Ordered[]): boolean => {
    const chunk = chunks[recent]
    if (!chunk || latest >= chunk.elements.length) return false
    if (compareTo(chunk, latest, values, columns.length) >= 0) return false
    return latest + 1 < chunk.elements.length
      ? compareTo(chunk, latest + 1, values, columns.length) > 0
      : recent === chunks.length - 1
  }
  const put = (element: T, values: readonly Ordered[]): void => {
    const chunk = chunks[recent] as Chunk<T>
    insertAt(chunk.elements, latest, element)
    for (let i = 0; i < others.length; i++) insertAt(chunk.keys[i] as Ordered[], latest, values[i])
    if (chunk.elements.length < 2 * CHUNK) return
    chunks.splice(recent + 1, 0, split(chunk))
    if (latest >= CHUNK) [recent, latest] = [recent + 1, latest - CHUNK]
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
      const values = readAll(element)
      arePlain &&= values.every(isPlain)
      change(1)
      if (isNext(values)) latest += 1
      else findPosition(values)
      put(element, values)
    },
    remove(element) {
      const values = readAll(element)
      const index = findChunk(values, columns.length, false)
      const chunk = chunks[index]
      const place = chunk ? findInside(chunk, values, columns.length, false) : 0
      if (chunk?.elements[place] !== element) return
      chunk.elements.splice(place, 1)
      for (const column of chunk.keys) column.splice(place, 1)
      change(-1)
      if (chunk.elements.length === 0) chunks.splice(index, 1)
    },
    rank(values, isBehind) {
      const index = findChunk(values, values.length, isBehind)
      const chunk = chunks[index]
      if (!chunk) return length
      starts ??= findStarts()
      return (starts[index] ?? 0) + findInside(chunk, values, values.length, isBehind)
    },
    walk({ first: from, end, isBackwards }, visit) {
      if (from >= end) return
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
      const all: ReturnType<typeof read>[] = []
      for (const { elements } of chunks) for (const element of elements) all.push(read(element))
      return all
    },
  }
}

/** Puts an element before the one at a place; at the end, nothing has to move. */
function insertAt<E>(elements: E[], place: number, element: E): void {
  if (place === elements.length) elements.push(element)
  else elements.splice(place, 0, element)
}

/** Cuts a chunk in half; the result is the second. */
const split = <T>({ keys, elements }: Chunk<T>): Chunk<T> => ({
  keys: keys.map((column) => column.splice(CHUNK)),
  elements: elements.splice(CHUNK),
})

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
