import type { ChangePage, ChangeQuery } from '../../storage.js'

/** Tells those who wait for changes that there may be some. */
export interface Notifier {
  /** Nothing happens where nobody waits. */
  notify(): void
  /**
   * Reads until there is something to tell, or the time to wait is over. Rejects with the reason of an aborted
   * signal.
   */
  readWhenNotified(read: () => Promise<ChangePage>, query: ChangeQuery): Promise<ChangePage>
}

/**
 * Creates a notifier. `look`: the milliseconds after which a reader that waits reads without being notified, because other
 * processes write as well.
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
        // It listens before it reads: a change behind the read is heard.
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

/** The milliseconds for which somebody else is busy with what will be read next. */
const BUSY = 10

/** The longest pause that timers know, about 24 days. */
const MAX_PAUSE = 2 ** 31 - 1

// Read at start: a fake clock of a test must not stop what others wait for.
const later = setTimeout
const cancel = clearTimeout

/** Begins to listen; the result waits until `notify` was called since. */
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
        // Who waits alone keeps no process alive; not every runtime has this.
        timer.unref?.()
      })
      cancel(timer)
      signal?.removeEventListener('abort', wakeUp)
    },
  }
}
