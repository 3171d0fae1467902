import { FairQueue } from '../../../core/fair-queue.js'
import { classify, explain, isRepeatable, outcomeUnknown, overloaded, unavailable } from '../faults.js'
import { cancelRead, withinGrace } from './cancel.js'
import type { PoolSource, PostgresClient, PostgresPool } from './pool.js'
import { createSessions, type DatabaseSession, type DatabaseSessions, ignore, toRows } from './session.js'
import { COMMIT, isBegin, ROLLBACK } from './transaction.js'
import { LEAVE, LEFT, type LongWaitListener, SILENCE, type Watch } from './watch.js'

/** Work for one connection. */
interface Job {
  /** Long work shares half of the connections, so that it never blocks short work. */
  readonly mayBeLong: boolean
  /** Writes share three quarters of the connections, so that reads are served while writes hang. */
  readonly writes: boolean
  /** The keys of the callers in fair queues. */
  readonly callers: readonly (string | undefined)[]
  /** Starts the work on a session. The job uses the session until it calls `done`. */
  start(session: DatabaseSession): void
  fail(thrown: unknown): void
}

/** Assigns connections to jobs, fairly among callers. */
interface Queue {
  /** Whether long work would have to wait. */
  isFullOfLong(): boolean
  /**
   * Adds a job. If the queue is full, rejects the last job of the caller with the most jobs, which may be this job.
   * Throws if too many requests wait for the host application's pool.
   */
  enter(job: Job): void
  /** Removes a job. Returns whether it was still waiting. */
  leave(job: Job): boolean
  /** Takes back the session of a job that has ended. */
  done(job: Job, session: DatabaseSession): void
  /** Resolves when no job waits and all connections were returned. */
  idle(): Promise<void>
}

/**
 * The maximum number of jobs that wait for a connection. If there are more, the last job of the caller with the most
 * jobs is rejected immediately.
 */
export const MAX_WAITING = 256

/** The number of connections assumed for a pool of unknown size, which is the default of `pg`. */
const DEFAULT_SIZE = 10

/**
 * The share of the connections that one kind of work may use. `places`: how many connections it may still take.
 * `waiting`: the jobs that wait for one of them.
 */
interface ConnectionShare {
  places: number
  readonly waiting: FairQueue<Job>
}

/**
 * Creates the queue of a pool. A connection passes from job to job. It returns to the pool when no job waits, or when
 * other code of the host application waits for a connection. `onFull` may remove jobs that were given up.
 */
function createQueue({ pool }: PoolSource, sessions: DatabaseSessions, onFull: () => void): Queue {
  const size = pool.options?.max ?? DEFAULT_SIZE
  const share = (places: number): ConnectionShare => ({
    places: Math.max(1, places),
    waiting: new FairQueue(MAX_WAITING),
  })
  const long = share(Math.floor(size / 2))
  const writing = share(size - Math.ceil(size / 4))
  const [none, ofLong, ofWrites, ofBoth] = [[], [long], [writing], [long, writing]]
  const sharesOf = ({ mayBeLong, writes }: Job): readonly ConnectionShare[] =>
    mayBeLong ? (writes ? ofBoth : ofLong) : writes ? ofWrites : none
  const waiting = new FairQueue<Job>(MAX_WAITING)
  let held = 0
  let connecting = 0
  let onIdle: (() => void) | undefined
  const isIdle = (): boolean => held + connecting + waiting.length === 0

  const checkRoom = ({ length }: FairQueue<Job>): void => {
    if (length >= MAX_WAITING) onFull()
    if (pool.waitingCount >= MAX_WAITING) throw overloaded()
  }
  const wait = (queue: FairQueue<Job>, job: Job): void => {
    const refused = queue.add(job, ...job.callers)
    if (!refused) return
    const shares = sharesOf(refused)
    const at = shares.findIndex((share) => share.waiting === queue)
    shares.slice(0, at < 0 ? shares.length : at).forEach(giveBack)
    refused.fail(overloaded())
  }
  /** Takes one of the `places` of each share of a job. If a share has none, the job waits for it. */
  const take = (job: Job, [share, ...others]: readonly ConnectionShare[]): void => {
    if (!share) wait(waiting, job)
    else if (share.places === 0) wait(share.waiting, job)
    else {
      share.places -= 1
      share.waiting.pass(job.callers[0])
      take(job, others)
    }
  }
  const giveBack = (share: ConnectionShare): void => {
    const next = share.waiting.take()
    if (next) {
      const shares = sharesOf(next)
      take(next, shares.slice(shares.indexOf(share) + 1))
    } else share.places += 1
  }
  const connect = (): void => {
    // A waiting job may also get a connection that is in use, so connections in use count towards the size of the
    // pool.
    if (connecting >= waiting.length || connecting + held >= size) return
    connecting += 1
    pool.connect().then(
      (client) => {
        connecting -= 1
        held += 1
        const session = sessions.open(client)
        // The adapter may have discarded the pool while this connection was being opened.
        if (sessions.isUsable(session)) next(session)
        else replace(session)
      },
      (thrown: unknown) => {
        connecting -= 1
        if (held === 0) failNext(thrown)
        tellIdle()
      },
    )
  }
  const failNext = (thrown: unknown): void => {
    const job = waiting.take()
    if (!job) return
    sharesOf(job).forEach(giveBack)
    job.fail(explain(classify(thrown)))
    connect()
  }
  const tellIdle = (): void => {
    if (isIdle()) onIdle?.()
  }
  const next = (session: DatabaseSession): void => {
    const job = waiting.take()
    if (job) job.start(session)
    else release(session)
  }
  const release = (session: DatabaseSession): void => {
    held -= 1
    sessions.close(session)
    tellIdle()
  }
  const replace = (session: DatabaseSession): void => {
    release(session)
    connect()
  }

  return {
    isFullOfLong: () => long.places === 0,
    enter(job) {
      const shares = sharesOf(job)
      checkRoom(shares.find(({ places }) => places === 0)?.waiting ?? waiting)
      take(job, shares)
      connect()
    },
    leave(job) {
      const shares = sharesOf(job)
      const at = shares.findIndex((share) => share.waiting.delete(job))
      if (at < 0 && !waiting.delete(job)) return false
      shares.slice(0, at < 0 ? shares.length : at).forEach(giveBack)
      connect()
      tellIdle()
      return true
    },
    done(job, session) {
      sharesOf(job).forEach(giveBack)
      if (pool.waitingCount > 0 || !sessions.isUsable(session)) release(session)
      else next(session)
      connect()
    },
    idle: () =>
      new Promise((resolve) => {
        onIdle = resolve
        tellIdle()
      }),
  }
}

/** Milliseconds between two checks of work that runs. */
const LOOK = 1000

/** Decides how long to keep the connection of work whose caller no longer waits. */
interface KeepAlive {
  /**
   * Waits until a write that was given up has ended, and returns true. Returns false if the server no longer reports
   * the write as running.
   */
  wait(client: PostgresClient, writing: Promise<unknown>): Promise<boolean>
  /** Whether the server is still busy with a client's statement; `undefined` if the service cannot find out. */
  goesOn(client: PostgresClient): Promise<boolean | undefined>
  /** Ends all waits and sends no more queries. Resolves when the running query has ended. */
  stop(): Promise<unknown>
}

/**
 * Creates a `KeepAlive`. It waits as long as the server reports a write as running, for example because the write waits
 * for a standby. If the connection were closed, the server would still keep its process, and each further write would
 * need another process. If the server does not know the connection, the connection is dead or leads to another server.
 */
function createKeepAlive(pool: PostgresPool): KeepAlive {
  // Checks run one at a time. If all connections are in use, the first connection that is dropped makes room for the
  // next check.
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(look: () => Promise<T>): Promise<T> => {
    const looking = turn.then(look)
    turn = looking
    return looking
  }
  const stopping = new AbortController()
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const look = async (client: PostgresClient): Promise<boolean | undefined> => {
    const process = processOf(client)
    if (typeof process !== 'number' || stopping.signal.aborted) return undefined
    return withinGrace(ask(pool, process, stopping.signal).catch(() => undefined))
  }
  return {
    async wait(client, writing) {
      let isOver = false
      const over = (): void => {
        isOver = true
      }
      const ended = writing.then(over, over)
      const hasMore = async (): Promise<boolean> =>
        !stopping.signal.aborted && (isOver || (await look(client)) === true)
      do await Promise.race([ended, stopped, new Promise((resolve) => startTimer(resolve, LOOK).unref())])
      while (!isOver && (await inTurn(hasMore)))
      return isOver
    },
    goesOn: (client) => inTurn(() => look(client)),
    stop() {
      stopping.abort()
      return turn
    },
  }
}

const processOf = (client: PostgresClient): number | null | undefined =>
  (client as { readonly processID?: number | null }).processID

async function ask(pool: PostgresPool, process: number, stopped: AbortSignal): Promise<boolean | undefined> {
  const other = await pool.connect()
  if (stopped.aborted) {
    other.release()
    return undefined
  }
  other.on('error', ignore)
  const text = `SELECT count(*) AS total, pg_backend_pid() AS own FROM pg_stat_activity WHERE pid = $1 AND state IS DISTINCT FROM 'idle'`
  const answer = await withinGrace(other.query({ text, values: [process] })).catch(() => undefined)
  other.removeListener('error', ignore)
  other.release(answer === undefined)
  const [found] = toRows(answer).rows
  if (Number(found?.total) === 1) return true
  // A pooler reports its own process numbers, which the server does not know.
  return found && Number(found.own) === processOf(other) ? false : undefined
}

// Captured when this module loads, so that the fake timers of a test do not stop it.
const startTimer = setTimeout

/** The caller of database work. */
export interface WorkCaller {
  /** The key of the caller in fair queues. The getter may be costly. */
  readonly caller?: string | undefined
  /** The callers of shared work, used instead of `caller`. */
  readonly callers?: readonly (string | undefined)[]
  /** Aborts the work: reads are cancelled. The getter may be costly. */
  readonly signal?: AbortSignal | undefined
  /** Whether the signal may never abort, however long the work takes. Default: true if there is no signal. */
  readonly isUnhurried?: boolean
}

/** Whether nothing but the adapter can end the caller's wait. */
export const isUnhurried = (caller: WorkCaller): boolean => caller.isUnhurried ?? !caller.signal

/** How work uses its connection. */
export interface WorkOptions {
  /** Whether the work may be long. Such work shares half of the connections. */
  readonly mayBeLong?: boolean
  /**
   * Whether the work is a write. A write is never cancelled, because it may be committing. After it was given up, it
   * can send only a ROLLBACK, and it returns its connection when it has ended.
   */
  readonly writes?: boolean
  /** Whether the work may take as long as the server is busy with it, for example when it builds an index. */
  readonly mayKeepAlive?: boolean
}

/** The connections to one database. */
export interface Connections {
  /** Whether work that may be long would have to wait for a connection. */
  isFullOfLong(): boolean
  /** Runs `work` on a connection. Retries it a few times after errors that had no effect (`isRepeatable`). */
  use<T>(work: (session: DatabaseSession) => Promise<T>, caller: WorkCaller, manner?: WorkOptions): Promise<T>
  /**
   * Opens no more connections, waits for `last`, and resolves when all connections are closed or returned. Gives up
   * work that does not end soon.
   */
  close(last?: Promise<unknown>): Promise<void>
}

/** Creates the connections of a pool. */
export function createConnections(source: PoolSource, watch: Watch): Connections {
  const keepAlive = createKeepAlive(source.pool)
  const queue = createQueue(source, createSessions(source), watch.hurry)
  /** The functions that give up work that has waited long. `close` calls them all. */
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
        // Work that was given up returns its session only when it has ended and no cancellation is running.
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
      // The wait is limited, because the host application's pool may never answer a `connect`.
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

/** The progress of a write. */
interface WorkProgress {
  isGivenUp: boolean
  /** Whether the transaction of the write is open and no COMMIT was sent, so that giving it up has no effect. */
  isOpen: boolean
}

/** Creates a session for a write. After the write was given up, the session accepts only ROLLBACK. */
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

/** The maximum number of retries, and the maximum pause before the first, in milliseconds. Later pauses are longer. */
const MAX_RETRIES = 3
const PAUSE = 50

/** Runs `attempt`. Retries it a limited number of times after repeatable errors. */
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

// Captured when this module loads, so that the fake timers of a test do not stop it.
const [later, clear] = [setTimeout, clearTimeout]
