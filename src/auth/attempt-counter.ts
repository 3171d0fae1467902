/** Failures by key within 15 minutes, and attempts under way. Both are kept only while there are some. */
export interface AttemptCounter {
  /** The milliseconds to wait where there have been too many failures; zero else. */
  waitFor(key: string): number
  /** Whether one more attempt may fail. */
  hasPlace(key: string): boolean
  begin(key: string): void
  end(key: string): void
  fail(key: string): void
  /** Forgets the failures. */
  forget(key: string): void
}

const WINDOW = 15 * 60 * 1000
/** Entries kept of each kind: some megabytes. Those whose window began first are forgotten first. */
const MAX_ENTRIES = 20_000
interface Entry {
  failures: number
  readonly since: number
}

/** Counts up to `maximum` failures for each key. `now` in milliseconds since 1970. */
export function createAttemptCounter(maximum: number, now: () => number): AttemptCounter {
  // In the order in which windows began, so the oldest entry is the first.
  const entries = new Map<string, Entry>()
  const running = new Map<string, number>()
  const find = (key: string): Entry | undefined => {
    const entry = entries.get(key)
    const age = entry && now() - entry.since
    // A clock that went back must not lock anybody out for longer.
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
