import { classify, explain, overloaded } from '../faults.js'
import type { PoolSource } from './pool.js'
import type { Session, Sessions } from './session.js'

/** Work for one connection. */
export interface Job {
  /** Long work shares half of the connections, so that it never blocks short work. */
  readonly mayBeLong: boolean
  /** Uses a session, until it is given to `done`. */
  start(session: Session): void
  fail(thrown: unknown): void
}

/** Gives connections to jobs, in order. */
export interface Queue {
  /** Throws where too many jobs wait already. */
  enter(job: Job): void
  /** Takes a job out. Returns whether it was still waiting. */
  leave(job: Job): boolean
  /** Takes the session of a job that is over. */
  done(job: Job, session: Session): void
}

/** The most jobs that wait for a connection; the next one is refused at once. */
export const MAX_WAITING = 256

/** The connections of a pool with no known size: the default of `pg`. */
const DEFAULT_SIZE = 10

/**
 * Creates the queue of a pool. A connection goes from job to job, and back into the pool where nobody waits or
 * the host does. `onFull` may take jobs out that are given up.
 */
export function createQueue({ pool }: PoolSource, sessions: Sessions, onFull: () => void): Queue {
  const size = pool.options?.max ?? DEFAULT_SIZE
  const waiting = new Set<Job>()
  const waitingLong = new Set<Job>()
  let longPlaces = Math.max(1, Math.floor(size / 2))
  let held = 0
  let connecting = 0

  const checkRoom = (jobs: ReadonlySet<Job>): void => {
    if (jobs.size >= MAX_WAITING) onFull()
    if (jobs.size >= MAX_WAITING || pool.waitingCount >= MAX_WAITING) throw overloaded()
  }
  const endLong = (): void => {
    const [next] = waitingLong
    if (!next) longPlaces += 1
    else {
      waitingLong.delete(next)
      waiting.add(next)
    }
  }
  const connect = (): void => {
    // Those that are held come to whom waits, too.
    if (connecting >= waiting.size || connecting + held >= size) return
    connecting += 1
    pool.connect().then(
      (client) => {
        connecting -= 1
        held += 1
        next(sessions.open(client))
      },
      (thrown: unknown) => {
        connecting -= 1
        const [job] = waiting
        if (!job || held > 0) return
        waiting.delete(job)
        if (job.mayBeLong) endLong()
        job.fail(explain(classify(thrown)))
        connect()
      },
    )
  }
  const next = (session: Session): void => {
    const [job] = waiting
    if (job) {
      waiting.delete(job)
      job.start(session)
    } else release(session)
  }
  const release = (session: Session): void => {
    held -= 1
    sessions.close(session)
  }

  return {
    enter(job) {
      const isInLine = job.mayBeLong && longPlaces === 0
      const line = isInLine ? waitingLong : waiting
      checkRoom(line)
      line.add(job)
      if (isInLine) return
      if (job.mayBeLong) longPlaces -= 1
      connect()
    },
    leave(job) {
      if (waitingLong.delete(job)) return true
      if (!waiting.delete(job)) return false
      if (job.mayBeLong) endLong()
      connect()
      return true
    },
    done(job, session) {
      if (job.mayBeLong) endLong()
      if (pool.waitingCount > 0 || !sessions.isUsable(session)) release(session)
      else next(session)
      connect()
    },
  }
}
