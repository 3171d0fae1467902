/**
 * Counts failed attempts within 15 minutes, and attempts under way, by key. Keys without either are dropped.
 */
export interface AttemptCounter {
  /** The milliseconds to wait after too many failures; zero where there is no need to wait. */
  waitFor(key: string): number
  /** Whether another attempt may start: even if all attempts under way fail, the maximum holds. */
  hasPlace(key: string): boolean
  begin(key: string): void
  end(key: string): void
  fail(key: string): void
  /** Drops the failures of a key. */
  forget(key: string): void
}

const WINDOW = 15 * 60 * 1000
/** The most entries of each kind: some megabytes. The entry with the oldest window is dropped first. */
const MAX_ENTRIES = 20_000
interface Entry {
  failures: number
  readonly since: number
}

/** Creates a counter of up to `maximum` failures per key. `now` gives milliseconds since 1970. */
export function createAttemptCounter(maximum: number, now: () => number): AttemptCounter {
  // A map keeps the order of insertion, so the first entry has the oldest window.
  const entries = new Map<string, Entry>()
  const running = new Map<string, number>()
  const find = (key: string): Entry | undefined => {
    const entry = entries.get(key)
    const age = entry && now() - entry.since
    // After the clock went back, a window with a negative age ends: it must not lock anybody out for longer.
    const lives = age !== undefined && age >= 0 && age < WINDOW
    if (entry && !lives) entries.delete(key)
    return lives ? entry : undefined
  }
  return {
    waitFor(key) {
      const entry = find(key)
      return entry && entry.failures >= maximum ? entry.since + WINDOW - now() : 0
    },
    hasPlace: (key) => (find(key)?.failures ?? 0) + (running.get(key) ?? 0) < maximum,
    begin: (key) => void running.set(key, (running.get(key) ?? 0) + 1),
    end(key) {
      const left = (running.get(key) ?? 0) - 1
      if (left > 0) running.set(key, left)
      else running.delete(key)
    },
    fail(key) {
      const entry = find(key)
      if (entry) entry.failures += 1
      else {
        if (entries.size >= MAX_ENTRIES)
          for (const oldest of entries.keys()) if (entries.delete(oldest)) break
        entries.set(key, { failures: 1, since: now() })
      }
    },
    forget: (key) => void entries.delete(key),
  }
}
