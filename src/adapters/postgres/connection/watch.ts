/** Work that may wait for the database longer than usual. */
export interface LongWaitListener {
  /** Called at most once, after a long wait. */
  onLongWait(): void
}

/**
 * Watches waiting work with one shared timer. Because most work ends soon, a timer and a signal listener for each
 * piece of work would be too costly.
 */
export interface Watch {
  add(waiting: LongWaitListener): void
  delete(waiting: LongWaitListener): void
  /** Treats all waiting work as if it had waited long. */
  hurry(): void
}

/**
 * Work without a signal is given up after this many milliseconds without an answer to its statement. It is longer than
 * `BOUND_STATEMENT`.
 */
export const SILENCE = 65_000

/** Milliseconds for which `close` waits for connections in use. */
export const LEAVE = 5000

/** Further milliseconds in which work that `close` has given up may return its connection. */
export const LEFT = 2000

/** Milliseconds between two checks. Work that two checks in a row find has waited long. */
const PAUSE = 100

/** Creates a watch. Its timer runs only while work waits. */
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

// Captured when this module loads, so that the fake timers of a test do not stop it.
const later = setTimeout
