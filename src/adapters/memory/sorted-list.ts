import { compare, findPlace, type Ordered } from '../../core/filter/compare.js'

/** A chunk that has twice this length is split into pieces of this length. */
const CHUNK = 256

/** Elements, with their values in all columns except the last. Most comparisons need only these columns. */
interface Chunk<T> {
  readonly keys: readonly Ordered[][]
  readonly elements: T[]
}

/** The elements to insert, and for each column the values of these elements. The elements are not sorted. */
interface PendingInserts<T> {
  readonly elements: readonly T[]
  readonly table: readonly (readonly Ordered[])[]
}

/**
 * Merges insertions into a chunk. `named` lists the insertions in ascending order by their index in `elements`. For
 * each of them, `places` contains the index of the chunk's element before which it is inserted. Each element of the
 * chunk moves at most once.
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
 * Splits a chunk into pieces of `CHUNK` elements; the last piece may be longer. Each piece is copied to save memory: an
 * array that has grown or shrunk may occupy twice the memory that its elements need.
 */
const split = <T>({ keys, elements }: Chunk<T>): readonly Chunk<T>[] => {
  const pieces = Math.max(1, Math.floor(elements.length / CHUNK))
  return Array.from({ length: pieces }, (_, i) => {
    const [from, end] = [i * CHUNK, i === pieces - 1 ? elements.length : (i + 1) * CHUNK]
    return { keys: keys.map((column) => column.slice(from, end)), elements: elements.slice(from, end) }
  })
}

const join = <T>(a: Chunk<T>, b: Chunk<T>): Chunk<T> => ({
  keys: a.keys.map((column, i) => [...column, ...(b.keys[i] ?? [])]),
  elements: [...a.elements, ...b.elements],
})

/** Matches the UTF-16 units whose order may differ from the order of code points. */
const SPECIAL = /[\ud800-\uffff]/

/** Whether a value has the same order by code points as by UTF-16 units. */
const isPlain = (value: Ordered): boolean => typeof value !== 'string' || !SPECIAL.test(value)

/**
 * Compares like `compare`, but is correct only for plain strings (`isPlain`). JavaScript's own comparison of strings is
 * ten times as fast.
 */
function comparePlain(a: Ordered, b: Ordered): number {
  // V8 compiles a direct comparison if both types are known.
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : a < b ? -1 : 1
  return compare(a, b)
}

/** Returns the indexes of the rows of a table, sorted by the rows' values. The table is given as columns. */
function sortPlaces(
  table: readonly (readonly Ordered[])[],
  compareValues: (a: Ordered, b: Ordered) => number,
): readonly number[] {
  const [lead = []] = table
  const compareRows = (a: number, b: number): number => {
    const [x, y] = [lead[a], lead[b]]
    // The first column usually decides.
    if (typeof x === 'number' && typeof y === 'number' && x !== y) return x - y
    let order = 0
    for (let i = 0; order === 0 && i < table.length; i++) order = compareValues(table[i]?.[a], table[i]?.[b])
    return order
  }
  const places = [...lead.keys()]
  // Ids and times are often already sorted, and checking for that costs less than sorting.
  const isSorted = places.every((place) => place === 0 || compareRows(place - 1, place) < 0)
  return isSorted ? places : places.sort(compareRows)
}

/** Returns the index of the last number that is not greater than `number`. `numbers` is ascending. */
const findLast = (numbers: readonly number[], number: number): number =>
  findPlace(1, numbers.length, (place) => (numbers[place] ?? 0) <= number) - 1

/**
 * Returns the first index from `from` to `end` for which `isBefore` is false, or `end` if there is none. Searches near
 * `from` first, because `from` is the result for the preceding value and the next result is often close.
 */
function search(from: number, end: number, isBefore: (place: number) => boolean): number {
  let low = from
  let high = end
  for (let step = 1; from > 0 && low + step < high; step *= 2) {
    if (isBefore(low + step - 1)) low += step
    else high = low + step - 1
  }
  return findPlace(low, high, isBefore)
}

/** The position of an element, which is the number of elements before it. */
type Rank = number

/**
 * The elements from `first` up to but not including `end`. With `isBackwards`, they are read from the last to the
 * first.
 */
export interface Range {
  readonly first: Rank
  readonly end: Rank
  readonly isBackwards: boolean
}

/** A column in which an element has a set of values. The list contains the element once for each of these values. */
interface SpreadColumn<T> {
  /** The index of the column. */
  readonly column: number
  readonly valuesOf: (element: T) => ReadonlySet<Ordered>
}

/**
 * From this number of pending insertions on, `tidy` sorts them. Sorting so many takes some milliseconds, even in a list
 * of a million elements.
 */
const MAX_FRESH = 1024

/** A chunk with fewer elements than this is joined with an adjacent chunk. */
const MIN_CHUNK = CHUNK / 2

/**
 * A position in the order, given by values of the first columns. It is before all elements with these values or, with
 * `isBehind`, after all of them.
 */
interface RangeBound {
  readonly values: readonly Ordered[]
  readonly isBehind?: boolean
}

/** The values of an element of a list without such a column. */
const ONE_VALUE: ReadonlySet<Ordered> = new Set([undefined])

/**
 * A sorted list, stored in chunks, so that an insertion moves only the elements of one chunk. Insertions are not sorted
 * until the next read, so that insertions that arrive together are merged together.
 */
export class SortedList<T> {
  readonly #last: (element: T) => string
  readonly #columns: readonly ((element: T) => Ordered)[]
  readonly #spread: Partial<SpreadColumn<T>>
  readonly #chunks: Chunk<T>[] = []
  /** The rank of the first element of each chunk, or `undefined` after a change. */
  #starts: Rank[] | undefined
  #length = 0
  #version = 0
  #fresh: T[] = []
  /** For each element of `#fresh`, its value in the column of `#spread`, if there is one. */
  #freshValues: Ordered[] = []
  // Replaced with `compare` as soon as the list contains a string that is not plain (`isPlain`).
  #compareValues = comparePlain

  /**
   * Creates an empty list that is sorted by the columns `others`, then `last`. No two elements may be equal in all
   * columns. `last` reads a string that is usually greater than all earlier ones, as ids are. The column of `spread` is
   * read with `spread.valuesOf` instead of `others`.
   */
  constructor(
    others: readonly ((element: T) => Ordered)[],
    last: (element: T) => string,
    spread: Partial<SpreadColumn<T>> = {},
  ) {
    this.#last = last
    this.#columns = [...others, last]
    this.#spread = spread
  }

  get length(): number {
    return this.#length
  }

  /** Increases with every change of the list. */
  get version(): number {
    return this.#version
  }

  insert(element: T): void {
    for (const value of this.#valuesOf(element)) this.#insertAt(element, value)
  }

  /**
   * If there are many pending insertions, sorts them and returns true. The caller calls this after the last insertion
   * of a batch, because a million insertions are sorted fastest in one go.
   */
  tidy(): boolean {
    const isMuch = this.#fresh.length >= MAX_FRESH
    if (isMuch) this.#settle()
    return isMuch
  }

  remove(element: T): void {
    for (const value of this.#valuesOf(element)) this.#removeAt(element, value)
  }

  /** Replaces an element, and moves it if its values in the columns changed. */
  exchange(before: T, after: T): void {
    const [old, next] = [this.#valuesOf(before), this.#valuesOf(after)]
    const stays = this.#isSame(before, after)
    for (const value of old) {
      if (stays && next.has(value)) this.#exchangeAt(before, after, value)
      else this.#removeAt(before, value)
    }
    for (const value of next) if (!stays || !old.has(value)) this.#insertAt(after, value)
  }

  /**
   * Returns the number of elements whose first columns sort before the given values. With `isBehind`, elements with
   * equal values are counted too.
   */
  rank(values: readonly Ordered[], isBehind: boolean): Rank {
    this.#settle()
    const bound = { values, isBehind }
    const index = this.#findChunk(bound)
    const chunk = this.#chunks[index]
    if (!chunk) return this.#length
    return (this.#rankEach()[index] ?? 0) + this.#findInside(chunk, bound)
  }

  /** Returns a function that returns the next element of the range with each call, until the list changes. */
  read({ first, end, isBackwards }: Range): () => T | undefined {
    if (first >= end) return () => undefined
    this.#settle()
    const starts = this.#rankEach()
    const chunks = this.#chunks
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

  /** Returns all elements in order. */
  toArray(): T[] {
    this.#settle()
    const all: T[] = []
    for (const { elements } of this.#chunks) for (const element of elements) all.push(element)
    return all
  }

  /** Whether the element at `place` is before a bound. */
  #isBefore({ keys, elements }: Chunk<T>, place: number, { values, isBehind }: RangeBound): boolean {
    for (let i = 0; i < values.length; i++) {
      const column = keys[i]
      const value = column ? column[place] : this.#last(elements[place] as T)
      const order = this.#compareValues(value, values[i])
      if (order !== 0) return order < 0
    }
    return isBehind === true
  }

  /**
   * Returns the index of the first chunk whose last element is not before the bound, or the number of chunks if there
   * is none.
   */
  #findChunk(bound: RangeBound, from = 0): number {
    return search(from, this.#chunks.length, (place) => {
      const chunk = this.#chunks[place] as Chunk<T>
      return this.#isBefore(chunk, chunk.elements.length - 1, bound)
    })
  }

  #findInside(chunk: Chunk<T>, bound: RangeBound, from = 0): number {
    return search(from, chunk.elements.length, (place) => this.#isBefore(chunk, place, bound))
  }

  /** Merges the pending insertions into the chunks. */
  #settle(): void {
    if (this.#fresh.length === 0) return
    this.#starts = undefined
    const [waiting, values] = [this.#fresh, this.#freshValues]
    this.#fresh = []
    this.#freshValues = []
    // The values are stored by column, because adjacent numbers are compared much faster.
    const table = this.#columns.map((read, i) =>
      i === this.#spread.column ? values : waiting.map((element) => read(element)),
    )
    if (!table.every((values) => values.every(isPlain))) this.#compareValues = compare
    const named = sortPlaces(table, this.#compareValues)
    // One object serves all insertions, because each bound is used before the next is requested.
    const row: Ordered[] = []
    const bound: RangeBound = { values: row }
    const boundOf = (one: number): RangeBound => {
      for (let i = 0; i < table.length; i++) row[i] = table[i]?.[one]
      return bound
    }
    const rows = { elements: waiting, table }
    const open = this.#chunks.at(-1)
    // Insertions that belong after all existing elements need no search.
    if (!open || this.#isBefore(open, open.elements.length - 1, boundOf(named[0] as number)))
      this.#append(rows, named)
    else this.#insertAmid(rows, named, boundOf)
  }

  /** Merges sorted insertions into the chunks in which they belong. */
  #insertAmid(rows: PendingInserts<T>, named: readonly number[], boundOf: (one: number) => RangeBound): void {
    const chunks = this.#chunks
    let index = 0
    for (let begin = 0, end = 0; begin < named.length; begin = end) {
      const final = chunks.length - 1
      index = final === 0 ? 0 : Math.min(this.#findChunk(boundOf(named[begin] as number), index), final)
      const chunk = chunks[index] as Chunk<T>
      const last = chunk.elements.length - 1
      const isIn = (one: number): boolean => index === final || !this.#isBefore(chunk, last, boundOf(one))
      do end += 1
      while (end < named.length && isIn(named[end] as number))
      const own = named.slice(begin, end)
      let place = 0
      // The search continues from the last position, because insertions of a batch often belong close to each other.
      const places = own.map((one) => {
        place = this.#findInside(chunk, boundOf(one), place)
        return place
      })
      merge(chunk, rows, own, places)
      if (chunk.elements.length >= 2 * CHUNK) chunks.splice(index, 1, ...split(chunk))
    }
  }

  /** Appends sorted insertions to the last chunk. */
  #append({ elements: waiting, table }: PendingInserts<T>, named: readonly number[]): void {
    let open = this.#chunks.at(-1)
    for (const one of named) {
      if (!open || open.elements.length >= 2 * CHUNK) {
        const pieces = open ? split(open) : [{ keys: table.slice(0, -1).map(() => []), elements: [] }]
        this.#chunks.splice(-1, 1, ...pieces)
        open = this.#chunks.at(-1) as Chunk<T>
      }
      open.elements.push(waiting[one] as T)
      for (let k = 0; k < open.keys.length; k++) open.keys[k]?.push(table[k]?.[one])
    }
  }

  /** Returns the rank of the first element of each chunk. */
  #rankEach(): readonly Rank[] {
    let rank = 0
    this.#starts ??= this.#chunks.map(({ elements }) => {
      rank += elements.length
      return rank - elements.length
    })
    return this.#starts
  }

  #valuesOf(element: T): ReadonlySet<Ordered> {
    return this.#spread.valuesOf?.(element) ?? ONE_VALUE
  }

  #change(by: 1 | -1): void {
    this.#length += by
    this.#version += 1
    this.#starts = undefined
  }

  /** Returns the place of an element. Sorts pending insertions first. */
  #find(element: T, value: Ordered): { readonly chunk: Chunk<T>; readonly place: number } | undefined {
    this.#settle()
    const { column } = this.#spread
    const bound = { values: this.#columns.map((read, i) => (i === column ? value : read(element))) }
    const chunk = this.#chunks[this.#findChunk(bound)]
    if (!chunk) return undefined
    // `indexOf` compares references in one array, whereas a search compares values that are spread over memory. With
    // several values a search is needed, because the chunk may contain the element several times.
    const place = column !== undefined ? this.#findInside(chunk, bound) : chunk.elements.indexOf(element)
    return chunk.elements[place] === element ? { chunk, place } : undefined
  }

  #insertAt(element: T, value: Ordered): void {
    this.#change(1)
    this.#fresh.push(element)
    this.#freshValues.push(value)
  }

  #removeAt(element: T, value: Ordered): void {
    const found = this.#find(element, value)
    if (!found) return
    const { chunk, place } = found
    chunk.elements.splice(place, 1)
    for (const column of chunk.keys) column.splice(place, 1)
    this.#change(-1)
    if (chunk.elements.length < MIN_CHUNK) this.#joinNeighbours(chunk)
  }

  /**
   * Joins a chunk that has become short with an adjacent chunk, so that many removals do not leave many short chunks.
   */
  #joinNeighbours(chunk: Chunk<T>): void {
    const chunks = this.#chunks
    const index = chunks.indexOf(chunk)
    const [first, second] = chunks.slice(Math.max(0, index - 1), Math.max(2, index + 1))
    if (first && second) chunks.splice(Math.max(0, index - 1), 2, ...split(join(first, second)))
    else if (chunk.elements.length === 0) chunks.length = 0
  }

  #exchangeAt(before: T, after: T, value: Ordered): void {
    const found = this.#find(before, value)
    if (!found) return
    found.chunk.elements[found.place] = after
    this.#version += 1
  }

  /** Whether two elements have the same values in all columns except that of `#spread`. */
  #isSame(a: T, b: T): boolean {
    return this.#columns.every(
      (read, i) => i === this.#spread.column || this.#compareValues(read(a), read(b)) === 0,
    )
  }
}
