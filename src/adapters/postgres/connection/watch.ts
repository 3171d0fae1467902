/** Work that may wait for the database longer than usual. */
export interface LongWaitListener {
  /** Called at most once, after a long wait. */
  onLongWait(): void
}

/**
 * Watches waiting work with one shared timer: most of it ends at once, and timers and signals of its own would be
 * costly.
 */
export interface Watch {
  add(waiting: LongWaitListener): void
  delete(waiting: LongWaitListener): void
  /** Treats all work as having waited long. */
  hurry(): void
}

/**
 * Milliseconds without an answer to a statement after which work without a signal is given up: longer than
 * `BOUND_STATEMENT`.
 */
export const SILENCE = 65_000

/** Milliseconds for which `close` waits for connections in use. */
export const LEAVE = 5000

/** Further milliseconds for which work that `close` gave up may return its connection. */
export const LEFT = 2000

/** Milliseconds between checks: work that two checks in a row find has waited long. */
const PAUSE = 100

/** Creates a watch. Its timer runs while work waits. */
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

// Captured on load: the fake timers of a test must not stop this module.
const later = setTimeout
