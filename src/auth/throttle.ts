/** Slows guessing down: counts failed attempts by identifier, from one client and from anywhere (contract §4). */
export interface Throttle {
  /**
   * Counts an attempt as failed until `succeed` says otherwise, so that attempts side by side do not slip through.
   * Returns the seconds to wait where there have been too many. `now` in milliseconds since 1970.
   */
  attempt(identifier: string, client: string, now: number): { readonly waitSeconds: number } | undefined
  /** Takes back an attempt that was neither right nor wrong. */
  forgive(identifier: string, client: string): void
  /** Forgets the failures of an identifier. */
  succeed(identifier: string, client: string): void
}

const WINDOW = 15 * 60 * 1000
const MAX_FROM_ONE_CLIENT = 10
const MAX_FROM_ANYWHERE = 100
/** Entries kept: some 2 MB. The oldest are forgotten first. */
const MAX_ENTRIES = 20_000

interface Entry {
  failures: number
  readonly since: number
}

export function createThrottle(): Throttle {
  // In the order in which windows began, so the oldest entry is the first.
  const entries = new Map<string, Entry>()
  const liveEntry = (key: string, now: number): Entry => {
    const known = entries.get(key)
    // A clock that went back must not lock anybody out for longer.
    if (known && now - known.since < WINDOW && now >= known.since) return known
    entries.delete(key)
    const fresh = { failures: 0, since: now }
    entries.set(key, fresh)
    if (entries.size > MAX_ENTRIES) for (const oldest of entries.keys()) if (entries.delete(oldest)) break
    return fresh
  }
  return {
    attempt(identifier, client, now) {
      const one = liveEntry(keyOf(identifier, client), now)
      const all = liveEntry(keyOf(identifier), now)
      const full =
        one.failures >= MAX_FROM_ONE_CLIENT ? one : all.failures >= MAX_FROM_ANYWHERE ? all : undefined
      if (full) return { waitSeconds: Math.max(1, Math.ceil((full.since + WINDOW - now) / 1000)) }
      one.failures += 1
      all.failures += 1
      return undefined
    },
    forgive(identifier, client) {
      for (const key of [keyOf(identifier, client), keyOf(identifier)]) {
        const entry = entries.get(key)
        if (entry && entry.failures > 0) entry.failures -= 1
      }
    },
    succeed(identifier, client) {
      entries.delete(keyOf(identifier, client))
      entries.delete(keyOf(identifier))
    },
  }
}

const keyOf = (identifier: string, client?: string): string => JSON.stringify([identifier, client])
