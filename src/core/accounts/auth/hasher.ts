import bcrypt from 'bcryptjs'
import { ServiceError } from '../../errors.js'
import type { Hasher } from '../../types/host.js'
import { WaitingLine, type WaitOptions } from '../../waiting-line.js'

/** A queue that runs a few tasks at a time and serves callers in turn. */
interface WorkQueue {
  /**
   * Runs a task when its turn comes. Rejects with `overloaded` if `signal` aborts while the task waits, or if the queue
   * is full and no other caller has more tasks in the queue.
   */
  run<T>(task: () => Promise<T>, options?: WaitOptions): Promise<T>
  /** Whether as many tasks wait as may wait. */
  isFull(): boolean
}

/** Creates a queue in which at most `capacity` tasks wait and at most `width` tasks run at the same time. */
export function createWorkQueue(capacity: number, width = 1): WorkQueue {
  const waiting = new WaitingLine(capacity, overloaded)
  let running = 0

  return {
    async run(task, options = {}) {
      if (options.signal?.aborted) throw overloaded()
      if (running >= width) await waiting.wait(undefined, options)
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
    isFull: () => waiting.isClosedToNewCallers,
  }
}

const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many secrets are waiting to be hashed. Try again in a moment.')

/** The maximum number of secrets that wait for hashing in this process. */
export const MAX_WAITING = 128

/** Returns a decoy: it looks like a bcrypt hash at `cost`, but matches no secret. */
const decoyOf = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`

/** The lowest cost of bcrypt. */
const MIN_COST = 4

/** The highest cost of a hash that is verified. A higher cost would block the process for minutes. */
export const MAX_COST = 15

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/

/** Whether the bcrypt hash `hash` has a lower cost than `other`; false if one of them is not a bcrypt hash. */
export const isCheaper = (hash: string, other: string): boolean =>
  Number(BCRYPT.exec(hash)?.[1]) < Number(BCRYPT.exec(other)?.[1])

/**
 * The queue that all services of the process share: hashing two secrets at the same time would delay all other work
 * twice as long.
 */
export const processQueue = createWorkQueue(MAX_WAITING)

/** An implementation of bcrypt. */
export interface BcryptEngine {
  hash(secret: string, cost: number): Promise<string>
  compare(secret: string, hash: string): Promise<boolean>
}

/** bcrypt in the calling thread. It blocks the thread for 100 ms at a time. */
export const inProcess: BcryptEngine = bcrypt

/** A hasher with a decoy that is known without computing a hash. */
export interface BuiltInHasher extends Hasher {
  /** A hash that matches no secret, with this hasher's cost. */
  readonly decoy: string
}

/**
 * Creates a hasher that uses bcrypt at `cost` (2^cost rounds), one secret at a time in the process. Its methods reject
 * with `overloaded` if more than 128 secrets wait. The caller ensures that a secret has at most 72 bytes and no NUL.
 */
export const createBcryptHasher = (cost: number): BuiltInHasher =>
  createHasherOn(inProcess, cost, processQueue)

/** Creates a hasher that uses `engine`. Secrets wait in `queue` for hashing. */
export function createHasherOn(engine: BcryptEngine, cost: number, queue: WorkQueue): BuiltInHasher {
  const decoy = decoyOf(cost)
  return {
    hash: (secret, signal, caller) => queue.run(() => engine.hash(secret, cost), { signal, caller }),
    verify: (secret, hash, signal, caller) =>
      queue.run(
        async () => {
          // An unreadable hash is replaced with the decoy, so that the comparison takes as much work.
          const written = Number(BCRYPT.exec(hash)?.[1])
          const isReadable = written >= MIN_COST && written <= MAX_COST
          const isRight = await engine.compare(secret, isReadable ? hash : decoy)
          // A hash with a lower cost must take as much work as one with `cost`. Work doubles with each step of the
          // cost, so one more comparison at each missing step makes up the difference.
          for (let step = isReadable ? written : cost; step < cost; step++)
            await engine.compare(secret, decoyOf(step))
          return isRight && isReadable
        },
        { signal, caller },
      ),
    isOverloaded: queue.isFull,
    decoy,
  }
}
