import { isLost, isRepeatable, unavailable } from '../faults.js'
import { cancelWork } from './cancel.js'
import type { PoolSource } from './pool.js'
import { createQueue, type Job } from './queue.js'
import { createSessions, type Session } from './session.js'
import type { Waiting, Watch } from './watch.js'

/** Whom work is for. */
export interface Caller {
  /** When it aborts, work is cancelled and its connection released. It may be costly to get. */
  readonly signal?: AbortSignal | undefined
}

/** The connections to one database. */
export interface Connections {
  /**
   * Runs `work` on a connection of its own, and again where it loses against other transactions. What may be long
   * shares half of the connections.
   */
  use<T>(work: (session: Session) => Promise<T>, caller: Caller, mayBeLong?: boolean): Promise<T>
  close(): Promise<void>
}

/** Creates the connections of a pool. */
export function createConnections(source: PoolSource, watch: Watch): Connections {
  const queue = createQueue(source, createSessions(source), watch.hurry)
  const useOnce: Connections['use'] = (work, caller, mayBeLong = false) =>
    new Promise((resolve, reject) => {
      let session: Session | undefined
      let working: Promise<unknown> | undefined
      let signal: AbortSignal | undefined
      const forget = (): void => {
        if (signal) signal.removeEventListener('abort', giveUp)
        else watch.delete(job)
      }
      const end = (given: Session): void => {
        // What was given up gives its session back when it is cancelled.
        if (signal?.aborted) return
        session = undefined
        forget()
        queue.done(job, given)
      }
      const job: Job & Waiting = {
        mayBeLong,
        start(given) {
          session = given
          working = work(given)
          working.then(
            (value) => {
              end(given)
              resolve(value as never)
            },
            (thrown: unknown) => {
              end(given)
              reject(caller.signal?.aborted ? unavailable(thrown) : thrown)
            },
          )
        },
        fail(thrown) {
          forget()
          reject(thrown)
        },
        onLongWait() {
          source.hosts?.doubt()
          signal = caller.signal
          if (signal?.aborted) giveUp()
          else signal?.addEventListener('abort', giveUp, { once: true })
        },
      }
      const giveUp = (): void => {
        reject(unavailable(signal?.reason))
        if (queue.leave(job) || !session || !working) return
        const given = session
        void cancelWork(source.pool, given.client, working).then((hasEnded) => {
          given.isLost ||= !hasEnded
          queue.done(job, given)
        })
      }
      queue.enter(job)
      watch.add(job)
    })
  return {
    use: (work, caller, mayBeLong) => retry(() => useOnce(work, caller, mayBeLong), caller),
    close: source.end,
  }
}

/** The same for reads: one whose connection broke is tried once more (CONTRACT.md §10, "Several hosts"). */
export const repeatReads =
  (use: Connections['use']): Connections['use'] =>
  (work, caller, mayBeLong) =>
    use(work, caller, mayBeLong).catch((thrown: unknown) => {
      if (!isLost(thrown) || caller.signal?.aborted) throw thrown
      return use(work, caller, mayBeLong)
    })

/**
 * The most attempts after losing against another transaction, and the longest pause before one, in
 * milliseconds.
 */
const MAX_RETRIES = 3
const PAUSE = 50

/** Runs `attempt` again, a limited number of times, while it loses against other transactions. */
async function retry<T>(attempt: () => Promise<T>, caller: Caller): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt()
    } catch (thrown) {
      if (!isRepeatable(thrown) || retries >= MAX_RETRIES || caller.signal?.aborted) throw thrown
      await new Promise((resolve) => setTimeout(resolve, Math.random() * PAUSE * (retries + 1)))
    }
  }
}
