/** The position of an element: the number of elements before it. */
export type Rank = number

/** Sorted elements, in chunks: an insertion moves the elements of one chunk, not of the whole list. */
export interface SortedList<T> {
  readonly length: number
  /** Changes with each change of the list. */
  readonly version: number
  /** No two elements may be equal in the order. */
  insert(element: T): void
  remove(element: T): void
  /** The number of elements for which `isBefore` is true; these must be the first ones. */
  findRank(isBefore: (element: T) => boolean): Rank
  /** The elements from `first` to before `end`; with `isBackwards`, from the last of them. */
  slice(first: Rank, end: Rank, isBackwards: boolean): Iterable<T>
  /** The results of `read` for all elements, in order. */
  map<U>(read: (element: T) => U): U[]
}

/** A chunk of twice this length is split. */
const CHUNK = 512

/** Creates an empty list. */
export function createSortedList<T>(compare: (a: T, b: T) => number): SortedList<T> {
  const chunks: T[][] = []
  let length = 0
  let version = 0

  /** The first chunk whose last element is not before; the number of chunks if there is none. */
  const findChunk = (isBefore: (element: T) => boolean): number => {
    let low = 0
    let high = chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const last = chunks[middle]?.at(-1)
      if (last !== undefined && isBefore(last)) low = middle + 1
      else high = middle
    }
    return low
  }
  const findInside = (chunk: readonly T[], isBefore: (element: T) => boolean): number => {
    let low = 0
    let high = chunk.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(chunk[middle] as T)) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    get length() {
      return length
    },
    get version() {
      return version
    },
    insert(element) {
      version += 1
      const isBefore = (other: T): boolean => compare(other, element) < 0
      // An element behind all others goes to the end of the last chunk: ids and times ascend.
      const index = Math.min(findChunk(isBefore), chunks.length - 1)
      const chunk = chunks[index]
      length += 1
      if (!chunk) {
        chunks.push([element])
        return
      }
      chunk.splice(findInside(chunk, isBefore), 0, element)
      if (chunk.length >= 2 * CHUNK) chunks.splice(index + 1, 0, chunk.splice(CHUNK))
    },
    remove(element) {
      version += 1
      const isBefore = (other: T): boolean => compare(other, element) < 0
      const index = findChunk(isBefore)
      const chunk = chunks[index]
      const place = chunk ? findInside(chunk, isBefore) : 0
      if (chunk?.[place] !== element) return
      chunk.splice(place, 1)
      length -= 1
      if (chunk.length === 0) chunks.splice(index, 1)
    },
    findRank(isBefore) {
      const index = findChunk(isBefore)
      let rank = 0
      for (let i = 0; i < index; i++) rank += chunks[i]?.length ?? 0
      const chunk = chunks[index]
      return chunk ? rank + findInside(chunk, isBefore) : rank
    },
    map(read) {
      const all: ReturnType<typeof read>[] = []
      for (const chunk of chunks) for (const element of chunk) all.push(read(element))
      return all
    },
    *slice(first, end, isBackwards) {
      let index = 0
      let before = 0
      const start = isBackwards ? end - 1 : first
      if (first >= end) return
      while (index < chunks.length - 1 && before + (chunks[index]?.length ?? 0) <= start) {
        before += chunks[index]?.length ?? 0
        index += 1
      }
      let place = start - before
      for (let left = end - first; left > 0; left--) {
        const chunk = chunks[index]
        if (!chunk) return
        yield chunk[place] as T
        place += isBackwards ? -1 : 1
        if (place >= chunk.length) {
          index += 1
          place = 0
        } else if (place < 0) {
          index -= 1
          place = (chunks[index]?.length ?? 0) - 1
        }
      }
    },
  }
}
