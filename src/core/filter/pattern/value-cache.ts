/** A cache of values that can be created again, up to a number of bytes in total. */
export interface ValueCache {
  /**
   * Returns a getter of a value that is cached, or created again. `make` reports the bytes that it takes, at first and
   * whenever it grows.
   */
  keep<T extends object>(make: (onGrow: (bytes: number) => void) => T): () => T
  readonly bytes: number
}

/** A cached value. It does not reference its creator, which may be garbage collected before it. */
interface Entry {
  value: object | undefined
  bytes: number
  /** Whether it was used since the cache last passed over it. */
  isUsed: boolean
}

/** Creates a cache. When it is full, it evicts entries that were not used for some time (second chance). */
export function createValueCache(maxBytes: number): ValueCache {
  const entries = new Set<Entry>()
  let total = 0

  const makeRoom = (): void => {
    // An entry that is put back comes last, so the loop reaches it again.
    for (const entry of entries) {
      if (total <= maxBytes) return
      entries.delete(entry)
      if (entry.isUsed) {
        entry.isUsed = false
        entries.add(entry)
      } else {
        total -= entry.bytes
        entry.value = undefined
      }
    }
  }
  /**
   * Not a closure of `keep`: the value references this function, and would then retain everything that `keep`
   * references.
   */
  const growing =
    (entry: Entry) =>
    (bytes: number): void => {
      // An evicted value may still be in use.
      if (!entries.has(entry)) return
      entry.bytes += bytes
      total += bytes
      makeRoom()
    }

  return {
    keep(make) {
      type Made = ReturnType<typeof make>
      let entry: Entry | undefined
      return () => {
        const kept = entry?.value as Made | undefined
        if (entry && kept) {
          entry.isUsed = true
          return kept
        }
        entry = { value: undefined, bytes: 0, isUsed: true }
        entries.add(entry)
        const value = make(growing(entry))
        if (entries.has(entry)) entry.value = value
        return value
      }
    },
    get bytes() {
      return total
    },
  }
}
