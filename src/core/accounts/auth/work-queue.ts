import { ServiceError } from '../../errors.js'
import { FairQueue } from '../../fair-queue.js'

/** The caller of a task, and the task's abort signal. */
export interface TaskOptions {
  readonly signal?: AbortSignal | undefined
  /** Callers are served in turn; tasks without a caller count as tasks of one common caller. */
  readonly caller?: string | undefined
}

/** A queue that runs a few tasks at a time and serves callers in turn. */
export interface WorkQueue {
  /**
   * Runs a task when its turn comes. Rejects with `overloaded` if `signal` aborts while the task waits, or if the queue
   * is full and no other caller has more tasks in the queue.
   */
  run<T>(task: () => Promise<T>, options?: TaskOptions): Promise<T>
}

/** A queued task. */
interface QueuedTask {
  start(): void
  refuse(): void
}

/** Creates a queue in which at most `capacity` tasks wait and at most `width` tasks run at the same time. */
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
        // The next task starts synchronously, so that a task that arrives now cannot overtake it.
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
  new ServiceError('overloaded', 'Too many secrets are waiting to be hashed. Try again in a moment.')
