import { Worker } from 'node:worker_threads'
import { createHasherOn, createWorkQueue, MAX_COST, MAX_WAITING } from '../core/accounts/auth/hasher.js'
import { createThreads } from '../core/accounts/auth/threads.js'
import { requireOptions, wholeNumber } from '../core/options.js'
import type { Hasher } from '../core/types/host.js'

/** The options of `createWorkerHasher`. */
export interface WorkerHasherOptions {
  /** The cost of bcrypt, 10 to 15. This hasher does not read `auth.cost`, so use the same value here. Default 12. */
  readonly cost?: number
  /** The number of threads, 1 to 64. Default 2. */
  readonly threads?: number
}

const DEFAULT_COST = 12
const MIN_COST = 10
const DEFAULT_THREADS = 2
const MAX_THREADS = 64

const OPTIONS = { cost: wholeNumber(MIN_COST, MAX_COST), threads: wholeNumber(1, MAX_THREADS) }

/**
 * Creates a hasher that runs bcrypt in worker threads, so that it does not block the event loop. The threads start when
 * they are first needed, do not keep the process alive, and are replaced when they crash. `hash` and `verify` reject
 * with `overloaded` when more than 128 secrets wait. Throws `ConfigError`.
 *
 * @example
 * ```ts
 * createCollectionService(config, adapter, { hasher: createWorkerHasher({ threads: 4 }) })
 * ```
 */
export function createWorkerHasher(options: WorkerHasherOptions = {}): Hasher {
  requireOptions(options, OPTIONS)
  const { cost = DEFAULT_COST, threads = DEFAULT_THREADS } = options
  return createHasherOn(createThreads(Worker, threads), cost, createWorkQueue(MAX_WAITING, threads))
}
