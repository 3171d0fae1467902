import { vi } from 'vitest'

/** Work that never ends, and the moment at which it was begun. */
export interface Stall {
  readonly begin: <T>() => Promise<T>
  readonly begun: Promise<void>
}

export function createStall(): Stall {
  let resolve = (): void => {}
  const begun = new Promise<void>((settle) => {
    resolve = settle
  })
  return {
    begin: () => {
      resolve()
      return new Promise(() => {})
    },
    begun,
  }
}

/**
 * The answer to a request whose time is over. The clock of deadlines stands still until what the request waits for was
 * begun, and is then put forward: how long the machine takes does not matter.
 */
export async function answerAtDeadline<T>(begun: Promise<unknown>, send: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    let isAnswered = false
    const answer = send().finally(() => {
      isAnswered = true
    })
    await Promise.race([begun, answer])
    while (!isAnswered) {
      await new Promise((resolve) => setImmediate(resolve))
      vi.advanceTimersByTime(30_000)
    }
    return await answer
  } finally {
    vi.useRealTimers()
  }
}
