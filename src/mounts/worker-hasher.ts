// The text of the module: bundlers lose files that are only named.
import bcryptSource from 'bcryptjs?raw'
import { Worker } from 'node:worker_threads'
import { type BcryptEngine, createHasherOn, MAX_COST, MAX_WAITING } from '../auth/hasher.js'
import { createWorkQueue } from '../auth/work-queue.js'
import { requireOptions, wholeNumber } from '../options.js'
import type { Hasher } from '../types/host.js'

/** The options of `createWorkerHasher`. */
export interface WorkerHasherOptions {
  /** bcrypt's cost, 10 to 15; use that of `auth.cost`, which this hasher ignores. Default 12. */
  readonly cost?: number
  /** Threads, 1 to 64. Default 2. */
  readonly threads?: number
}

const DEFAULT_COST = 12
const MIN_COST = 10
const DEFAULT_THREADS = 2
const MAX_THREADS = 64

const OPTIONS = { cost: wholeNumber(MIN_COST, MAX_COST), threads: wholeNumber(1, MAX_THREADS) }

/**
 * Creates a hasher that runs bcrypt in threads of its own, so that nothing else waits. The threads start when
 * first needed, do not keep the process alive, and are replaced when they crash. `hash` and `verify` reject
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
  return createHasherOn(createThreads(threads), cost, createWorkQueue(MAX_WAITING, threads))
}

/** The code of a thread, after that of bcrypt, whose functions are in its scope. */
const LISTEN = `
import { parentPort } from 'node:worker_threads'
parentPort.on('message', ([kind, secret, other]) => {
  parentPort.postMessage(kind === 'hash' ? hashSync(secret, other) : compareSync(secret, other))
})`

const WORKER_URL = `data:text/javascript,${encodeURIComponent(bcryptSource + LISTEN)}`

type Task = readonly [kind: 'hash', secret: string, cost: number] | readonly ['compare', string, hash: string]

/** How many threads try a task, when they crash under it. */
const MAX_ATTEMPTS = 2

/**
 * Creates threads that take one task at a time; the queue before them never lets in more tasks than threads.
 */
function createThreads(count: number): BcryptEngine {
  const idle: Worker[] = []
  const run = async (task: Task): Promise<unknown> => {
    for (let attempt = 1; ; attempt++) {
      const worker = idle.pop() ?? startThread()
      try {
        const result = await ask(worker, task)
        if (idle.length < count) idle.push(worker)
        return result
      } catch (thrown) {
        if (attempt >= MAX_ATTEMPTS) throw thrown
      }
    }
  }
  const startThread = (): Worker => {
    const worker = new Worker(new URL(WORKER_URL))
    // A thread that crashes while it waits must not end the process; it is then not used again.
    worker.on('error', () => {})
    worker.on('exit', () => {
      const place = idle.indexOf(worker)
      if (place >= 0) idle.splice(place, 1)
    })
    return worker
  }
  return {
    hash: async (secret, cost) => String(await run(['hash', secret, cost])),
    compare: async (secret, hash) => (await run(['compare', secret, hash])) === true,
  }
}

/** Gives a thread a task, during which it keeps the process alive. Rejects when the thread dies. */
function ask(worker: Worker, task: Task): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      worker.off('message', onMessage).off('exit', onExit)
      worker.unref()
      settle()
    }
    const onMessage = (result: unknown): void => finish(() => resolve(result))
    const onExit = (): void => finish(() => reject(new Error('a thread that hashed has died')))
    worker.on('message', onMessage).on('exit', onExit)
    worker.ref()
    worker.postMessage(task)
  })
}
