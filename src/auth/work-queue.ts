import { ServiceError } from '../errors.js'

/** Runs tasks in order, a few at a time. */
export interface WorkQueue {
  /**
   * Runs a task in its turn. Rejects with `overloaded` when too many wait already, and when `signal` aborts
   * before its turn.
   */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>
}

/** Creates a queue in which at most `capacity` tasks wait, and `width` run at once. */
export function createWorkQueue(capacity: number, width = 1): WorkQueue {
  const waiting: (() => void)[] = []
  let running = 0

  const waitForTurn = (signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.splice(waiting.indexOf(start), 1)
        reject(overloaded())
      }
      const start = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      signal?.addEventListener('abort', leave, { once: true })
      waiting.push(start)
    })

  return {
    async run(task, signal) {
      if (signal?.aborted) throw overloaded()
      if (running >= width) {
        if (waiting.length >= capacity) throw overloaded()
        await waitForTurn(signal)
      } else running += 1
      try {
        return await task()
      } finally {
        // The turn passes on at once: a newcomer cannot take it in between.
        const next = waiting.shift()
        if (next) next()
        else running -= 1
      }
    },
  }
}

const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many secrets are waiting for their hash. Try again in a moment.')
