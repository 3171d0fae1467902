/** The milliseconds without data after which a stream is considered lost. The service sends a comment every 15 s. */
const SILENCE = 45_000

/** Returns the result of `work`, and calls `give` if `work` takes longer than `milliseconds`. */
export async function watch<T>(work: Promise<T>, give: () => void, milliseconds = SILENCE): Promise<T> {
  const timer = setTimeout(give, milliseconds)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A random pause before the next attempt, in milliseconds. Its upper bound is 500 ms, doubled with each failure up to
 * 30 s; its lower bound is half the upper bound.
 */
export const pauseAfter = (failures: number): number =>
  (Math.min(30_000, 500 * 2 ** failures) * (1 + Math.random())) / 2

/** Creates a controller that aborts when `signal` aborts. */
export function follow(signal: AbortSignal | undefined): AbortController {
  const own = new AbortController()
  signal?.addEventListener('abort', () => own.abort(), { signal: own.signal })
  return own
}

/** Waits so many milliseconds, or until the signal aborts. Does not reject. */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const own = follow(signal)
  const aborted = new Promise((resolve) => own.signal.addEventListener('abort', resolve))
  await watch(aborted, () => own.abort(), milliseconds)
}
