import type { ChangePage, ChangeQuery } from '../../core/storage.js'

/** Notifies waiting readers of the log that there may be changes. */
export interface Notifier {
  /** No effect if no reader waits. */
  notify(): void
  /** Reads until there are changes or a gap, or the wait times out. Rejects with the reason of an aborted signal. */
  readWhenNotified(read: () => Promise<ChangePage>, query: ChangeQuery): Promise<ChangePage>
}

/**
 * Creates a notifier. `look`: the milliseconds after which a waiting reader reads without a notification, because
 * other processes write as well.
 */
export function createNotifier(look = Number.POSITIVE_INFINITY): Notifier {
  const listening = new Set<() => void>()

  return {
    notify() {
      for (const wakeUp of listening) wakeUp()
    },
    async readWhenNotified(read, { wait = 0, signal }) {
      const end = performance.now() + wait
      for (;;) {
        signal?.throwIfAborted()
        // It listens before it reads, so that it notices a change after the read.
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

/** The longest pause, in milliseconds, while another process assigns positions to the next changes. */
const BUSY = 10

/** The longest pause that timers support, about 24 days. */
const MAX_PAUSE = 2 ** 31 - 1

// Captured on load: the fake timers of a test must not stop this module.
const later = setTimeout
const cancel = clearTimeout

/** Begins to listen. `wait` returns at once if `notify` was called since. */
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
