/** Keeps values that can be made again, up to a number of bytes in total. */
export interface ValueCache {
  /**
   * Returns a getter of a value that is kept, or made anew. `make` reports how many bytes it takes, at first
   * and whenever it takes more.
   */
  keep<T extends object>(make: (onGrow: (bytes: number) => void) => T): () => T
  readonly bytes: number
}

/** A kept value. It holds nothing of what can make it again, which may be dropped before it. */
interface Entry {
  value: object | undefined
  bytes: number
  /** Whether it was used since the store last passed over it. */
  isUsed: boolean
}

/** Creates a store. When it is full, it drops entries that were not used for some time (second chance). */
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
  /** Not a closure of `keep`: a value holds it, and with it everything that `keep` holds. */
  const growing =
    (entry: Entry) =>
    (bytes: number): void => {
      // A dropped value may still be in use.
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
