import { ServiceError } from '../../errors.js'
import { FairQueue } from '../../fair-queue.js'

/** The caller of a task, and its signal. */
export interface TaskOptions {
  readonly signal?: AbortSignal | undefined
  /** Callers are served in turn. Absent: one common caller. */
  readonly caller?: string | undefined
}

/** Runs a few tasks at a time, callers in turn. */
export interface WorkQueue {
  /**
   * Runs a task in its turn. Rejects with `overloaded` when the queue is full and no other caller has more tasks in it,
   * and when `signal` aborts before its turn.
   */
  run<T>(task: () => Promise<T>, options?: TaskOptions): Promise<T>
}

/** A queued task. */
interface QueuedTask {
  start(): void
  refuse(): void
}

/** Creates a queue with at most `capacity` waiting tasks and `width` running at once. */
export function createWorkQueue(capacity: number, width = 1): WorkQueue {
  const waiting = new FairQueue<QueuedTask>(capacity)
  let running = 0

  return {
    async run(task, options = {}) {
      if (options.signal?.aborted) throw overloaded()
      if (running >= width) await waitForTurn(waiting, options)
      else {
        running += 1
        waiting.pass(options.caller)
      }
      try {
        return await task()
      } finally {
        // The next task starts synchronously: a new one cannot overtake it.
        const next = waiting.take()
        if (next) next.start()
        else running -= 1
      }
    },
  }
}

const waitForTurn = (waiting: FairQueue<QueuedTask>, { signal, caller }: TaskOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    const leave = (): void => {
      waiting.delete(entry)
      entry.refuse()
    }
    const entry: QueuedTask = {
      start() {
        signal?.removeEventListener('abort', leave)
        resolve()
      },
      refuse() {
        signal?.removeEventListener('abort', leave)
        reject(overloaded())
      },
    }
    signal?.addEventListener('abort', leave, { once: true })
    waiting.add(entry, caller)?.refuse()
  })

const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many secrets are waiting for hashing. Try again in a moment.')
