/** Something that may wait for the database longer than usual. */
export interface LongWaitListener {
  /** Is called at most once, when it has waited long. */
  onLongWait(): void
}

/**
 * Watches what waits. Most of it is over at once, and needs no timer and no signal of its own: both are costly.
 */
export interface Watch {
  add(waiting: LongWaitListener): void
  delete(waiting: LongWaitListener): void
  /** Takes all for what has waited long. */
  hurry(): void
}

/**
 * Milliseconds without an answer to a statement, after which what nobody else ends is given up: more than a statement may
 * take that bounds itself (`BOUND_STATEMENT`).
 */
export const SILENCE = 65_000

/** Milliseconds for which connections in use are waited for at the end. */
export const LEAVE = 5000

/** Milliseconds more, in which what was given up at the end gives its connection back. */
export const LEFT = 2000

/** Milliseconds between two looks: what is still there at the second one has waited long. */
const PAUSE = 100

/** Creates a watch. Its timer runs while something waits. */
export function createWatch(): Watch {
  let fresh = new Set<LongWaitListener>()
  let seen = new Set<LongWaitListener>()
  let isLooking = false
  const call = (all: ReadonlySet<LongWaitListener>): void => {
    for (const waiting of all) waiting.onLongWait()
  }
  const lookLater = (): void => {
    isLooking = true
    later(look, PAUSE).unref()
  }
  const look = (): void => {
    const late = seen
    seen = fresh
    fresh = new Set()
    isLooking = false
    if (seen.size > 0) lookLater()
    call(late)
  }
  return {
    add(waiting) {
      fresh.add(waiting)
      if (!isLooking) lookLater()
    },
    delete(waiting) {
      if (!fresh.delete(waiting)) seen.delete(waiting)
    },
    hurry() {
      const all = [seen, fresh]
      seen = new Set()
      fresh = new Set()
      all.forEach(call)
    },
  }
}

// Read at start: a fake clock of a test must not stop what others wait for.
const later = setTimeout
