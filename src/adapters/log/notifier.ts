import type { ChangePage, ChangeQuery } from '../../core/storage.js'

/**
 * Creates a notifier, which tells waiting readers of the log that there may be changes. A waiting reader reads again
 * after `look` milliseconds even without a notification, because other processes may have written.
 */
export function createNotifier(look = Number.POSITIVE_INFINITY) {
  const listening = new Set<() => void>()

  return {
    /** Wakes the waiting readers, if there are any. */
    notify(): void {
      for (const wakeUp of listening) wakeUp()
    },
    /**
     * Calls `read`, and calls it again after each notification, until it returns changes or a gap or until `wait`
     * milliseconds have passed. If `signal` aborts, rejects with its reason.
     */
    async readWhenNotified(
      read: () => Promise<ChangePage>,
      { wait = 0, signal }: ChangeQuery,
    ): Promise<ChangePage> {
      const end = performance.now() + wait
      for (;;) {
        signal?.throwIfAborted()
        // The listener is added before the read, so that it notices a change made during the read.
        const listener = listen(listening, look)
        try {
          const page = await read()
          const left = end - performance.now()
          if (page.changes.length > 0 || page.gap || left <= 0) return page
          await listener.wait(page.more ? Math.min(left, BUSY) : left, signal)
        } finally {
          listener.end()
        }
      }
    },
  }
}

/**
 * The longest pause between two reads, in milliseconds, while another process assigns positions to the next changes.
 */
const BUSY = 10

/** The longest pause that timers support, in milliseconds (about 24 days). */
const MAX_PAUSE = 2 ** 31 - 1

// Captured when this module loads, so that the fake timers of a test do not stop it.
const later = setTimeout
const cancel = clearTimeout

/** Adds a listener. `wait` returns immediately if `notify` was called after the listener was added. */
function listen(listening: Set<() => void>, look: number) {
  let isNotified = false
  let wake: (() => void) | undefined
  const wakeUp = (): void => {
    isNotified = true
    wake?.()
  }
  listening.add(wakeUp)
  return {
    end: () => void listening.delete(wakeUp),
    async wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
      if (isNotified || signal?.aborted) return
      let timer: ReturnType<typeof setTimeout> | undefined
      await new Promise<void>((resolve) => {
        wake = resolve
        signal?.addEventListener('abort', wakeUp, { once: true })
        timer = later(resolve, Math.min(milliseconds, look, MAX_PAUSE))
        // A waiting reader alone must not keep the process alive. Not every runtime has `unref`.
        timer.unref?.()
      })
      cancel(timer)
      signal?.removeEventListener('abort', wakeUp)
    },
  }
}
