import { compare, type Ordered } from '../../core/filter/compare.js'

/** A chunk of twice this length is split. */
const CHUNK = 256

/** Elements with their values in all columns but the last. Most comparisons need only those columns. */
interface Chunk<T> {
  readonly keys: readonly Ordered[][]
  readonly elements: T[]
}

/** The elements to insert, and their values by column, in any order. */
interface PendingInserts<T> {
  readonly elements: readonly T[]
  readonly table: readonly (readonly Ordered[])[]
}

/**
 * Merges insertions, named in ascending order, into a chunk, each before the element at its place. Each element moves
 * once.
 */
function merge<T>(
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
const split = <T>({ keys, elements }: Chunk<T>): readonly Chunk<T>[] => {
  const pieces = Math.max(1, Math.floor(elements.length / CHUNK))
  return Array.from({ length: pieces }, (_, i) => {
    const [from, end] = [i * CHUNK, i === pieces - 1 ? elements.length : (i + 1) * CHUNK]
    return { keys: keys.map((column) => column.slice(from, end)), elements: elements.slice(from, end) }
  })
}

/** Joins the elements of two adjacent chunks. */
const join = <T>(a: Chunk<T>, b: Chunk<T>): Chunk<T> => ({
  keys: a.keys.map((column, i) => [...column, ...(b.keys[i] ?? [])]),
  elements: [...a.elements, ...b.elements],
})

/** Characters whose order by code points differs from their order in UTF-16. */
const SPECIAL = /[\ud800-\uffff]/

/** Whether a text is ordered equally by code points and by UTF-16. */
const isPlain = (value: Ordered): boolean => typeof value !== 'string' || !SPECIAL.test(value)

/** The same as `compare`, for plain texts; JavaScript's own comparison of texts is ten times as fast. */
function comparePlain(a: Ordered, b: Ordered): number {
  // With known types, V8 compiles a direct comparison.
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : a < b ? -1 : 1
  return compare(a, b)
}

/** The places of rows in ascending order, in a table given by columns. */
function sortPlaces(
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
 * The first place from `from` to `end` where `isBefore` is false; `end` if there is none. Searches near `from` first,
 * which is the result for the preceding value.
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

/** The position of an element: the number of elements before it. */
export type Rank = number

/** A part of a list; with `isBackwards`, from its end. */
export interface Range {
  readonly first: Rank
  readonly end: Rank
  readonly isBackwards: boolean
}

/**
 * Sorted elements, in chunks: an insertion moves the elements of one chunk, not of the whole list. Insertions are
 * sorted lazily, by the next read: insertions that arrive together are then merged together.
 */
export interface SortedList<T> {
  readonly length: number
  /** Changes with each change of the list. */
  readonly version: number
  insert(element: T): void
  /**
   * Sorts pending insertions if they are many. Returns whether they were. Called after the last insertion of a batch,
   * because a million are sorted best at once.
   */
  tidy(): boolean
  remove(element: T): void
  /** Replaces an element, and moves it if its values changed. */
  exchange(before: T, after: T): void
  /** The number of elements whose first columns are before some values; with `isBehind`, equal ones are included. */
  rank(values: readonly Ordered[], isBehind: boolean): Rank
  /** Passes the elements of a part to `visit` until it returns false. */
  walk(range: Range, visit: (element: T) => boolean): void
  /** Returns the elements of a part one by one, until the list changes. */
  read(range: Range): () => T | undefined
  /** The results of `read` for all elements, in order. */
  map<U>(read: (element: T) => U): U[]
}

/** A column in which an element has any number of distinct values: the list holds it once for each of them. */
export interface SpreadColumn<T> {
  /** The place of the column. */
  readonly column: number
  readonly valuesOf: (element: T) => ReadonlySet<Ordered>
}

/**
 * The number of pending insertions that are sorted at once: that takes some milliseconds, even in a list of a
 * million.
 */
const MAX_FRESH = 1024

/** A chunk with fewer elements is joined with an adjacent one. */
const MIN_CHUNK = CHUNK / 2

/** Values of the first columns; with `isBehind`, the place after all elements that are equal in them. */
interface RangeBound {
  readonly values: readonly Ordered[]
  readonly isBehind?: boolean
}

/**
 * Creates an empty list in the order of some columns; no two elements have all of them equal. The last column is a
 * text that mostly ascends, as ids do. The column of `spread` is not read from `others`.
 */
export function createSortedList<T>(
  others: readonly ((element: T) => Ordered)[],
  last: (element: T) => string,
  spread?: SpreadColumn<T>,
): SortedList<T> {
  const columns = [...others, last]
  const readAll = (element: T, value: Ordered): readonly Ordered[] =>
    columns.map((read, i) => (i === spread?.column ? value : read(element)))
  const chunks: Chunk<T>[] = []
  /** The rank of each chunk's first element; `undefined` after a change. */
  let starts: Rank[] | undefined
  let length = 0
  let version = 0
  let fresh: T[] = []
  /** Their values in the column of `spread`. */
  let freshValues: Ordered[] = []
  // After the first text that is not plain, texts are compared by their code points.
  let compareValues = comparePlain

  /** Whether an element is before some values in its first columns. */
  const isBefore = (
    { keys, elements }: Chunk<T>,
    place: number,
    { values, isBehind }: RangeBound,
  ): boolean => {
    for (let i = 0; i < values.length; i++) {
      const column = keys[i]
      const order = compareValues(column ? column[place] : last(elements[place] as T), values[i])
      if (order !== 0) return order < 0
    }
    return isBehind === true
  }
  /** The first chunk whose last element is not before some values; the number of chunks if there is none. */
  const findChunk = (bound: RangeBound, from = 0): number =>
    search(from, chunks.length, (place) => {
      const chunk = chunks[place] as Chunk<T>
      return isBefore(chunk, chunk.elements.length - 1, bound)
    })
  const findInside = (chunk: Chunk<T>, bound: RangeBound, from = 0): number =>
    search(from, chunk.elements.length, (place) => isBefore(chunk, place, bound))
  /** Sorts the pending insertions into the chunks. */
  const settle = (): void => {
    if (fresh.length === 0) return
    starts = undefined
    const [waiting, values] = [fresh, freshValues]
    fresh = []
    freshValues = []
    // By column: adjacent numbers are compared much faster.
    const table = columns.map((read, i) => (i === spread?.column ? values : readEach(waiting, read)))
    if (!table.every((values) => values.every(isPlain))) compareValues = compare
    const named = sortPlaces(table, compareValues)
    // One object for all insertions: each bound is used before the next one is requested.
    const row: Ordered[] = []
    const bound: RangeBound = { values: row }
    const boundOf = (one: number): RangeBound => {
      for (let i = 0; i < table.length; i++) row[i] = table[i]?.[one]
      return bound
    }
    const rows = { elements: waiting, table }
    const open = chunks.at(-1)
    // Insertions after all elements need no search.
    if (!open || isBefore(open, open.elements.length - 1, boundOf(named[0] as number))) append(rows, named)
    else insertAmid(rows, named, boundOf)
  }
  /** Merges ascending insertions into their places. */
  const insertAmid = (
    rows: PendingInserts<T>,
    named: readonly number[],
    boundOf: (one: number) => RangeBound,
  ): void => {
    let index = 0
    for (let begin = 0, end = 0; begin < named.length; begin = end) {
      const final = chunks.length - 1
      index = final === 0 ? 0 : Math.min(findChunk(boundOf(named[begin] as number), index), final)
      const chunk = chunks[index] as Chunk<T>
      const last = chunk.elements.length - 1
      do end += 1
      while (end < named.length && (index === final || !isBefore(chunk, last, boundOf(named[end] as number))))
      const own = named.slice(begin, end)
      let place = 0
      // Insertions that arrive together often have adjacent places.
      const places = own.map((one) => {
        place = findInside(chunk, boundOf(one), place)
        return place
      })
      merge(chunk, rows, own, places)
      if (chunk.elements.length >= 2 * CHUNK) chunks.splice(index, 1, ...split(chunk))
    }
  }
  /** Appends ascending insertions. */
  const append = ({ elements: waiting, table }: PendingInserts<T>, named: readonly number[]): void => {
    let open = chunks.at(-1)
    for (const one of named) {
      if (!open || open.elements.length >= 2 * CHUNK) {
        const pieces = open ? split(open) : [{ keys: others.map(() => []), elements: [] }]
        chunks.splice(-1, 1, ...pieces)
        open = chunks.at(-1) as Chunk<T>
      }
      open.elements.push(waiting[one] as T)
      for (let k = 0; k < open.keys.length; k++) open.keys[k]?.push(table[k]?.[one])
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

  /** The place of an element, after pending insertions are sorted. */
  const find = (
    element: T,
    value?: Ordered,
  ): { readonly chunk: Chunk<T>; readonly place: number } | undefined => {
    settle()
    const bound = { values: readAll(element, value) }
    const chunk = chunks[findChunk(bound)]
    if (!chunk) return undefined
    // `indexOf` compares references in one array; a search would compare values spread over memory. With `spread`, an
    // element may be its own neighbour, so it is searched.
    const place = spread ? findInside(chunk, bound) : chunk.elements.indexOf(element)
    return chunk.elements[place] === element ? { chunk, place } : undefined
  }
  const insertOne = (element: T): void => {
    change(1)
    fresh.push(element)
  }
  const insertAt = (element: T, value: Ordered): void => {
    insertOne(element)
    freshValues.push(value)
  }
  const removeOne = (element: T, value?: Ordered): void => {
    const found = find(element, value)
    if (!found) return
    const { chunk, place } = found
    chunk.elements.splice(place, 1)
    for (const column of chunk.keys) column.splice(place, 1)
    change(-1)
    if (chunk.elements.length < MIN_CHUNK) joinNeighbours(chunk)
  }
  /** Joins a chunk that has become short with an adjacent one, so that many removals leave few chunks. */
  const joinNeighbours = (chunk: Chunk<T>): void => {
    const index = chunks.indexOf(chunk)
    const [first, second] = chunks.slice(Math.max(0, index - 1), Math.max(2, index + 1))
    if (first && second) chunks.splice(Math.max(0, index - 1), 2, ...split(join(first, second)))
    else if (chunk.elements.length === 0) chunks.length = 0
  }
  const exchangeOne = (before: T, after: T, value?: Ordered): void => {
    const found = find(before, value)
    if (!found) return
    found.chunk.elements[found.place] = after
    version += 1
  }
  /** Whether two elements have the same values in all columns but that of `spread`. */
  const isSame = (a: T, b: T): boolean =>
    columns.every((read, i) => i === spread?.column || compareValues(read(a), read(b)) === 0)
  /** Each value has a place of its own for the element. */
  const exchangeSpread = (before: T, after: T, { valuesOf }: SpreadColumn<T>): void => {
    const [old, next] = [valuesOf(before), valuesOf(after)]
    const stays = isSame(before, after)
    for (const value of old) {
      if (stays && next.has(value)) exchangeOne(before, after, value)
      else removeOne(before, value)
    }
    for (const value of next) if (!stays || !old.has(value)) insertAt(after, value)
  }

  const readRange = ({ first, end, isBackwards }: Range): (() => T | undefined) => {
    if (first >= end) return () => undefined
    settle()
    starts ??= findStarts()
    const step = isBackwards ? -1 : 1
    const start = isBackwards ? end - 1 : first
    let left = end - first
    let index = findLast(starts, start)
    let place = start - (starts[index] ?? 0)
    let elements = chunks[index]?.elements ?? []
    return () => {
      if (left === 0) return undefined
      left -= 1
      const element = elements[place]
      place += step
      if (place >= 0 && place < elements.length) return element
      index += step
      elements = chunks[index]?.elements ?? []
      place = isBackwards ? elements.length - 1 : 0
      return element
    }
  }

  return {
    get length() {
      return length
    },
    get version() {
      return version
    },
    insert(element) {
      if (!spread) insertOne(element)
      else for (const value of spread.valuesOf(element)) insertAt(element, value)
    },
    tidy() {
      const isMuch = fresh.length >= MAX_FRESH
      if (isMuch) settle()
      return isMuch
    },
    remove(element) {
      if (!spread) removeOne(element)
      else for (const value of spread.valuesOf(element)) removeOne(element, value)
    },
    exchange(before, after) {
      if (spread) exchangeSpread(before, after, spread)
      else if (isSame(before, after)) exchangeOne(before, after)
      else {
        removeOne(before)
        insertOne(after)
      }
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
    walk(range, visit) {
      const next = readRange(range)
      for (let element = next(); element !== undefined && visit(element); ) element = next()
    },
    read: readRange,
    map(read) {
      settle()
      const all: ReturnType<typeof read>[] = []
      for (const { elements } of chunks) for (const element of elements) all.push(read(element))
      return all
    },
  }
}

const readEach = <T>(elements: readonly T[], read: (element: T) => Ordered): Ordered[] =>
  elements.map((one) => read(one))
