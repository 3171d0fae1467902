import { isLost, isRepeatable, outcomeUnknown, unavailable } from '../faults.js'
import { cancelRead } from './cancel.js'
import { createKeepAlive } from './keep-alive.js'
import type { PoolSource } from './pool.js'
import { createQueue, type Job } from './queue.js'
import { createSessions, type DatabaseSession } from './session.js'
import { COMMIT, isBegin, ROLLBACK } from './transaction.js'
import { LEAVE, LEFT, type LongWaitListener, SILENCE, type Watch } from './watch.js'

/** The caller of database work. */
export interface WorkCaller {
  /** The key of the caller in fair queues. The getter may be costly. */
  readonly caller?: string | undefined
  /** The callers of shared work; replaces `caller`. */
  readonly callers?: readonly (string | undefined)[]
  /** Aborts the work: reads are cancelled. The getter may be costly. */
  readonly signal?: AbortSignal | undefined
  /** Whether the signal may never abort, however long the work takes. Default: whether there is no signal. */
  readonly isUnhurried?: boolean
}

/** Whether only the adapter can end the caller's wait. */
export const isUnhurried = (caller: WorkCaller): boolean => caller.isUnhurried ?? !caller.signal

/** How work uses its connection. */
export interface WorkOptions {
  /** Work that may be long shares half of the connections. */
  readonly mayBeLong?: boolean
  /**
   * A write is never cancelled, because it may be committing. After it was given up, it sends only a ROLLBACK, and
   * returns its connection when it ends.
   */
  readonly writes?: boolean
  /** Work that may take as long as the server is busy with it, like building an index. */
  readonly mayKeepAlive?: boolean
}

/** The connections to one database. */
export interface Connections {
  /** Whether work that may be long would wait for a connection. */
  isFullOfLong(): boolean
  /** Runs `work` on a connection, and retries it a few times after errors without effect (`isRepeatable`). */
  use<T>(work: (session: DatabaseSession) => Promise<T>, caller: WorkCaller, manner?: WorkOptions): Promise<T>
  /**
   * Opens no more connections, waits for `last`, and resolves when all connections are closed or returned. Work that
   * does not end soon is given up.
   */
  close(last?: Promise<unknown>): Promise<void>
}

/** Creates the connections of a pool. */
export function createConnections(source: PoolSource, watch: Watch): Connections {
  const keepAlive = createKeepAlive(source.pool)
  const queue = createQueue(source, createSessions(source), watch.hurry)
  /** Work that has waited long; `close` gives it up. */
  const late = new Set<() => void>()
  let isLeaving = false
  let isClosed = false
  const useOnce: Connections['use'] = (work, caller, manner = {}) =>
    new Promise((resolve, reject) => {
      if (isClosed) throw unavailable(new Error('the connections are closed'))
      const { mayBeLong = false, writes = false, mayKeepAlive = false } = manner
      let session: DatabaseSession | undefined
      let working: Promise<unknown> | undefined
      let signal: AbortSignal | undefined
      const progress: WorkProgress = { isGivenUp: false, isOpen: false }
      let looking: ReturnType<typeof setTimeout> | undefined
      let hasFailed = false
      const forget = (): void => {
        watch.delete(job)
        late.delete(giveUp)
        signal?.removeEventListener('abort', giveUp)
        clear(looking)
      }
      const end = (given: DatabaseSession): void => {
        // Work that was given up returns its session when it has ended and no cancellation is under way.
        if (progress.isGivenUp) return
        session = undefined
        forget()
        queue.done(job, given)
      }
      const job: Job & LongWaitListener = {
        mayBeLong,
        writes,
        callers: caller.callers ?? [caller.caller],
        start(given) {
          session = given
          working = work(writes ? endingWith(given, progress) : given)
          working.then(
            (value) => {
              end(given)
              resolve(value as never)
            },
            (thrown: unknown) => {
              end(given)
              reject(!writes && caller.signal?.aborted ? unavailable(thrown) : thrown)
            },
          )
        },
        fail(thrown) {
          hasFailed = true
          forget()
          reject(thrown)
        },
        onLongWait() {
          source.hosts?.doubt()
          late.add(giveUp)
          signal = caller.signal
          if (isLeaving || signal?.aborted) return giveUp()
          signal?.addEventListener('abort', giveUp, { once: true })
          if (isUnhurried(caller)) lookLater()
        },
      }
      const lookLater = (): void => {
        const [given, sent] = [session, session?.sent]
        const look = async (): Promise<void> => {
          const isSilent = (): boolean =>
            late.has(giveUp) &&
            (given === undefined ? !session : given.sent === sent && given.answered !== sent)
          const goesOn = async (): Promise<boolean> =>
            mayKeepAlive && given !== undefined && (await keepAlive.goesOn(given.client)) !== false
          if (isSilent() && !(await goesOn()) && isSilent()) giveUp()
          else if (late.has(giveUp)) lookLater()
        }
        looking = later(() => void look(), SILENCE)
        looking.unref()
      }
      const giveUp = (): void => {
        forget()
        progress.isGivenUp = true
        const reason = signal?.aborted ? signal.reason : new Error('the database did not respond in time')
        const isUnsent = queue.leave(job) || !session || !working
        reject(writes && !isUnsent && !progress.isOpen ? outcomeUnknown(reason) : unavailable(reason))
        if (isUnsent || !session || !working) return
        const given = session
        const ending = writes ? keepAlive.wait(given.client, working) : cancelRead(given, working)
        void ending.then((hasEnded) => {
          given.isLost ||= !hasEnded
          queue.done(job, given)
        })
      }
      queue.enter(job)
      if (!hasFailed) watch.add(job)
    })
  return {
    isFullOfLong: queue.isFullOfLong,
    use: (work, caller, manner) => retry(() => useOnce(work, caller, manner), caller),
    async close(last) {
      isClosed = true
      const stopped = keepAlive.stop()
      const leave = (): void => {
        isLeaving = true
        for (const giveUp of late) giveUp()
      }
      const leaving = later(leave, LEAVE)
      await last
      await stopped
      // The host's pool may never answer a `connect`.
      let left: ReturnType<typeof setTimeout> | undefined
      await Promise.race([
        queue.idle(),
        new Promise((resolve) => {
          left = later(resolve, LEAVE + LEFT)
        }),
      ])
      clear(left)
      clear(leaving)
      await source.end()
    },
  }
}

/** Retries reads once after a lost connection (CONTRACT.md §10, "Several hosts"). */
export const repeatReads =
  (use: Connections['use']): Connections['use'] =>
  (work, caller, manner) =>
    use(work, caller, manner).catch((thrown: unknown) => {
      if (!isLost(thrown) || caller.signal?.aborted) throw thrown
      return use(work, caller, manner)
    })

/** The progress of a write. */
interface WorkProgress {
  isGivenUp: boolean
  /** Whether its transaction is open and no COMMIT was sent: giving it up then leaves no effect. */
  isOpen: boolean
}

/** A session that only accepts ROLLBACK after its write was given up. */
function endingWith(session: DatabaseSession, progress: WorkProgress): DatabaseSession {
  const check = (text: string): void => {
    if (progress.isGivenUp && text !== ROLLBACK) throw unavailable(new Error('the write was given up'))
    progress.isOpen = isBegin(text) || (progress.isOpen && text !== COMMIT)
  }
  return {
    ...session,
    async run(text, values) {
      check(text)
      return session.run(text, values)
    },
    async write(text, ...others) {
      check(text)
      return session.write(text, ...others)
    },
  }
}

/** The most retries, and the longest pause before one, in milliseconds. */
const MAX_RETRIES = 3
const PAUSE = 50

/** Runs `attempt`, and retries repeatable errors a limited number of times. */
async function retry<T>(attempt: () => Promise<T>, caller: WorkCaller): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt()
    } catch (thrown) {
      if (!isRepeatable(thrown) || retries >= MAX_RETRIES || caller.signal?.aborted) throw thrown
      await new Promise((resolve) => setTimeout(resolve, Math.random() * PAUSE * (retries + 1)))
    }
  }
}

// Captured on load: the fake timers of a test must not stop this module.
const [later, clear] = [setTimeout, clearTimeout]
