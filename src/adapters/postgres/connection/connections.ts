import { isLost, isRepeatable, outcomeUnknown, unavailable } from '../faults.js'
import { cancelRead } from './cancel.js'
import { createKeepAlive } from './keep-alive.js'
import type { PoolSource } from './pool.js'
import { createQueue, type Job } from './queue.js'
import { createSessions, type DatabaseSession } from './session.js'
import { COMMIT, isBegin, ROLLBACK } from './transaction.js'
import { LEAVE, LEFT, type LongWaitListener, SILENCE, type Watch } from './watch.js'

/** Whom work is for. */
export interface WorkCaller {
  /** The caller, in queues that serve callers in turn. It may be costly to get. */
  readonly caller?: string | undefined
  /** Several callers instead, of work that they share. */
  readonly callers?: readonly (string | undefined)[]
  /** When it aborts, work is given up: what only reads is cancelled. It may be costly to get. */
  readonly signal?: AbortSignal | undefined
  /** Whether the signal need not come, however long work takes. Default: whether there is none. */
  readonly isUnhurried?: boolean
}

/** Whether nobody but the adapter ends what a caller waits for. */
export const isUnhurried = (caller: WorkCaller): boolean => caller.isUnhurried ?? !caller.signal

/** How work uses its connection. */
export interface WorkOptions {
  /** What may be long shares half of the connections. */
  readonly mayBeLong?: boolean
  /**
   * A write is never cancelled, because it may be committing: it ends by itself, begins nothing more than to roll its
   * transaction back, and gives its connection back then.
   */
  readonly writes?: boolean
  /** What may take as long as the server is at it, as the building of an index. */
  readonly mayKeepAlive?: boolean
}

/** The connections to one database. */
export interface Connections {
  /** Whether what may be long would wait for a connection. */
  isFullOfLong(): boolean
  /** Runs `work` on a connection of its own, and again where it loses against other transactions. */
  use<T>(work: (session: DatabaseSession) => Promise<T>, caller: WorkCaller, manner?: WorkOptions): Promise<T>
  /**
   * Closes them once `last` is over: resolves when all are closed or given back, and opens none from then on. What is not
   * over soon is given up.
   */
  close(last?: Promise<unknown>): Promise<void>
}

/** Creates the connections of a pool. */
export function createConnections(source: PoolSource, watch: Watch): Connections {
  const keepAlive = createKeepAlive(source.pool)
  const queue = createQueue(source, createSessions(source), watch.hurry)
  /** What has waited long: it is given up at the end. */
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
        // What was given up gives its session back when it has ended, and nothing can still be cancelled.
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
        const reason = signal?.aborted ? signal.reason : new Error('nothing was heard of it')
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
      // A host's pool may never answer who asks it for a connection.
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

/** The same for reads: one whose connection broke is tried once more (CONTRACT.md §10, "Several hosts"). */
export const repeatReads =
  (use: Connections['use']): Connections['use'] =>
  (work, caller, manner) =>
    use(work, caller, manner).catch((thrown: unknown) => {
      if (!isLost(thrown) || caller.signal?.aborted) throw thrown
      return use(work, caller, manner)
    })

/** How far a write is. */
interface WorkProgress {
  isGivenUp: boolean
  /** Whether it is in a transaction whose end was not sent: if it is given up, nothing of it happens. */
  isOpen: boolean
}

/** A session on which nothing more begins once its work was given up: a transaction that is open is rolled back. */
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

/**
 * The most attempts after losing against another transaction, and the longest pause before one, in
 * milliseconds.
 */
const MAX_RETRIES = 3
const PAUSE = 50

/** Runs `attempt` again, a limited number of times, while it loses against other transactions. */
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

// Read at start: a fake clock of a test must not stop what others wait for.
const [later, clear] = [setTimeout, clearTimeout]
