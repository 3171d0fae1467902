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
/** Entries kept of each kind: some megabytes. Those whose window began first are forgotten first. */
const MAX_ENTRIES = 20_000

interface Entry {
  failures: number
  readonly since: number
}

/** Failures by key; an entry is there only while it counts some. */
interface Counter {
  /** The milliseconds to wait where there have been too many; zero else. */
  waitFor(key: string, now: number): number
  count(key: string, now: number): void
  takeBack(key: string): void
  forget(key: string): void
}

function createCounter(maximum: number): Counter {
  // In the order in which windows began, so the oldest entry is the first.
  const entries = new Map<string, Entry>()
  const find = (key: string, now: number): Entry | undefined => {
    const entry = entries.get(key)
    // A clock that went back must not lock anybody out for longer.
    const lives = entry && now - entry.since < WINDOW && now >= entry.since
    if (entry && !lives) entries.delete(key)
    return lives ? entry : undefined
  }
  return {
    waitFor(key, now) {
      const entry = find(key, now)
      return entry && entry.failures >= maximum ? entry.since + WINDOW - now : 0
    },
    count(key, now) {
      const entry = find(key, now)
      if (entry) entry.failures += 1
      else {
        if (entries.size >= MAX_ENTRIES)
          for (const oldest of entries.keys()) if (entries.delete(oldest)) break
        entries.set(key, { failures: 1, since: now })
      }
    },
    takeBack(key) {
      const entry = entries.get(key)
      if (!entry) return
      entry.failures -= 1
      if (entry.failures <= 0) entries.delete(key)
    },
    forget: (key) => void entries.delete(key),
  }
}

export function createThrottle(): Throttle {
  const fromOne = createCounter(MAX_FROM_ONE_CLIENT)
  const fromAnywhere = createCounter(MAX_FROM_ANYWHERE)
  const pair = (identifier: string, client: string): string => JSON.stringify([identifier, client])
  return {
    attempt(identifier, client, now) {
      const wait = Math.max(
        fromOne.waitFor(pair(identifier, client), now),
        fromAnywhere.waitFor(identifier, now),
      )
      if (wait > 0) return { waitSeconds: Math.ceil(wait / 1000) }
      fromOne.count(pair(identifier, client), now)
      fromAnywhere.count(identifier, now)
      return undefined
    },
    forgive(identifier, client) {
      fromOne.takeBack(pair(identifier, client))
      fromAnywhere.takeBack(identifier)
    },
    succeed(identifier, client) {
      fromOne.forget(pair(identifier, client))
      fromAnywhere.forget(identifier)
    },
  }
}
