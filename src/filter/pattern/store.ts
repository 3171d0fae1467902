/** Keeps what can be made again, as long as all of it takes no more than a number of bytes. */
export interface Store {
  /** Returns what is kept, or makes it. `make` says how many bytes it takes, then and whenever it takes more. */
  keep<T extends object>(make: (onGrow: (bytes: number) => void) => T): () => T
  readonly bytes: number
}

interface Entry {
  bytes: number
  /** Whether it was asked for since it was last passed over. */
  isUsed: boolean
  drop(): void
}

/** Creates a store. Where there is no room, what was not used for some time is dropped, by the rule of second chances. */
export function createStore(maxBytes: number): Store {
  const entries = new Set<Entry>()
  let total = 0

  const makeRoom = (): void => {
    // What is put back comes last, and is met again.
    for (const entry of entries) {
      if (total <= maxBytes) return
      entries.delete(entry)
      if (entry.isUsed) {
        entry.isUsed = false
        entries.add(entry)
      } else {
        total -= entry.bytes
        entry.drop()
      }
    }
  }

  return {
    keep(make) {
      type Made = ReturnType<typeof make>
      let kept: { readonly value: Made; readonly entry: Entry } | undefined
      return () => {
        if (!kept) {
          const entry: Entry = {
            bytes: 0,
            isUsed: true,
            drop: () => {
              kept = undefined
            },
          }
          entries.add(entry)
          const value = make((bytes) => {
            // What was dropped may still be at work.
            if (!entries.has(entry)) return
            entry.bytes += bytes
            total += bytes
            makeRoom()
          })
          if (!entries.has(entry)) return value
          kept = { value, entry }
        }
        kept.entry.isUsed = true
        return kept.value
      }
    },
    get bytes() {
      return total
    },
  }
}
