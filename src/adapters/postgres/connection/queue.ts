import { FairQueue } from '../../../fair-queue.js'
import { classify, explain, overloaded } from '../faults.js'
import type { PoolSource } from './pool.js'
import type { DatabaseSession, DatabaseSessions } from './session.js'

/** Work for one connection. */
export interface Job {
  /** Long work shares half of the connections, so that it never blocks short work. */
  readonly mayBeLong: boolean
  /** Writes share three quarters of the connections, so that reads are served while writes hang. */
  readonly writes: boolean
  /** The keys of the callers in fair queues. */
  readonly callers: readonly (string | undefined)[]
  /** Uses a session until it is passed to `done`. */
  start(session: DatabaseSession): void
  fail(thrown: unknown): void
}

/** Assigns connections to jobs, fairly among callers. */
export interface Queue {
  /** Whether long work would wait. */
  isFullOfLong(): boolean
  /**
   * Adds a job. If the queue is full, rejects the last job of the caller with the most jobs, which may be this one.
   * Throws if the host's pool is full.
   */
  enter(job: Job): void
  /** Removes a job. Returns whether it was still waiting. */
  leave(job: Job): boolean
  /** Takes back the session of a job that is over. */
  done(job: Job, session: DatabaseSession): void
  /** Resolves when no job waits, and every requested connection was returned. */
  idle(): Promise<void>
}

/**
 * The most jobs that wait for a connection. Beyond, the last job of the caller with the most jobs is rejected at
 * once.
 */
export const MAX_WAITING = 256

/** The connections of a pool with no known size: the default of `pg`. */
const DEFAULT_SIZE = 10

/** The connections that one kind of work may use, and the jobs that wait for one of them. */
interface ConnectionShare {
  places: number
  readonly waiting: FairQueue<Job>
}

/**
 * Creates the queue of a pool. A connection passes from job to job, and returns to the pool when no job waits or the
 * host's own code waits for one. `onFull` may remove jobs that were given up.
 */
export function createQueue({ pool }: PoolSource, sessions: DatabaseSessions, onFull: () => void): Queue {
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
  /** Takes a place of each share, or waits for the first share that has none. */
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
    // Connections in use are passed on to waiting jobs, so they count.
    if (connecting >= waiting.length || connecting + held >= size) return
    connecting += 1
    pool.connect().then(
      (client) => {
        connecting -= 1
        held += 1
        const session = sessions.open(client)
        // The pool may have been discarded while it connected.
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
