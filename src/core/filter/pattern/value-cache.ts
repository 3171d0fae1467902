/** A cache of values that can be created again. The total of their bytes is limited. */
export interface ValueCache {
  /**
   * Returns a getter that returns the cached value, or creates it again if it was evicted. `make` creates the
   * value, and reports its bytes then and whenever the value grows.
   */
  keep<T extends object>(make: (onGrow: (bytes: number) => void) => T): () => T
  readonly bytes: number
}

/** A cached value. It has no reference to its getter, so that an unused getter can be garbage collected. */
interface Entry {
  value: object | undefined
  bytes: number
  /** Whether the value was used since the cache last looked for entries to evict. */
  isUsed: boolean
}

/** Creates a cache. When it is full, it evicts entries that were not used recently (second chance). */
export function createValueCache(maxBytes: number): ValueCache {
  const entries = new Set<Entry>()
  let total = 0

  const makeRoom = (): void => {
    // A used entry moves to the end, so the loop reaches it a second time.
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
   * Not a closure of `keep`, because the value references this function: a closure would prevent the garbage
   * collection of everything that `keep` references.
   */
  const growing =
    (entry: Entry) =>
    (bytes: number): void => {
      // An evicted value may still be in use and grow. Its bytes no longer count.
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
