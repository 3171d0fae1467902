// bcrypt's source is imported as text, because bundlers leave out a file that is only named in a string.
import bcryptSource from 'bcryptjs?raw'
import { type BcryptEngine, type BuiltInHasher, createHasherOn, inProcess, processQueue } from './hasher.js'

/** The methods of the class `Worker` of `node:worker_threads` that this module uses. */
interface Thread {
  on(event: 'message' | 'error' | 'exit', listener: (value: unknown) => void): this
  off(event: 'message' | 'exit', listener: (value: unknown) => void): this
  ref(): void
  unref(): void
  postMessage(task: Task): void
}

/** The class `Worker` of `node:worker_threads`. */
type ThreadClass = new (url: URL) => Thread

/** The code of a worker thread. It is appended to the source of bcrypt, so it can call bcrypt's functions. */
const LISTEN = `
import { parentPort } from 'node:worker_threads'
parentPort.on('message', ([kind, secret, other]) => {
  parentPort.postMessage(kind === 'hash' ? hashSync(secret, other) : compareSync(secret, other))
})`

const WORKER_URL = `data:text/javascript,${encodeURIComponent(bcryptSource + LISTEN)}`

type Task = readonly [kind: 'hash', secret: string, cost: number] | readonly ['compare', string, hash: string]

/** The maximum number of attempts at a task if its thread crashes. */
const MAX_ATTEMPTS = 2

/**
 * Creates an engine with at most `count` threads, each of which runs one task at a time. The caller must not run more
 * than `count` tasks at the same time. Threads start when first needed, do not keep the process alive, and are replaced
 * when they crash. The methods of the engine reject if no thread can start.
 */
export function createThreads(ThreadOfNode: ThreadClass, count: number): BcryptEngine {
  const idle: Thread[] = []
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
  const startThread = (): Thread => {
    const worker = new ThreadOfNode(new URL(WORKER_URL))
    // Without a listener, a thread that crashes while idle would end the process. The listener of `exit` handles the
    // crash.
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

/** Runs a task in a thread, and keeps the process alive until the task is done. Rejects if the thread exits first. */
function ask(worker: Thread, task: Task): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      worker.off('message', onMessage).off('exit', onExit)
      worker.unref()
    }
    const onMessage = (result: unknown): void => {
      finish()
      resolve(result)
    }
    const onExit = (): void => {
      finish()
      reject(new Error('a hashing thread has exited'))
    }
    worker.on('message', onMessage).on('exit', onExit)
    worker.ref()
    worker.postMessage(task)
  })
}

/** The properties of `process` and `navigator` that identify Node. */
interface Host {
  readonly process?: {
    readonly versions?: { readonly bun?: string; readonly deno?: string }
    getBuiltinModule?(id: string): { readonly Worker?: ThreadClass } | undefined
  }
  readonly navigator?: { readonly userAgent?: string }
}

/** Returns the class of worker threads, but only in Node: other runtimes cannot start a thread from source text. */
function findThreads({ process, navigator }: Host): ThreadClass | undefined {
  const { bun, deno } = process?.versions ?? {}
  if (bun ?? deno ?? navigator?.userAgent?.startsWith('Cloudflare')) return undefined
  return process?.getBuiltinModule?.('node:worker_threads')?.Worker
}

/**
 * Creates an engine that hashes in a worker thread. If no thread can start, as under Node's permission model, it hashes
 * in the calling thread.
 */
function createEngine(): BcryptEngine {
  const threads = findThreads(globalThis as Host)
  if (!threads) return inProcess
  const engine = createThreads(threads, 1)
  return {
    hash: (secret, cost) => engine.hash(secret, cost).catch(() => inProcess.hash(secret, cost)),
    compare: (secret, hash) => engine.compare(secret, hash).catch(() => inProcess.compare(secret, hash)),
  }
}

/** The engine that all services of the process share. */
const engine = createEngine()

/**
 * Creates the hasher that services have by default: bcrypt at `cost` (2^cost rounds), one secret at a time per process.
 * In Node, it uses a worker thread, because in the main thread bcryptjs would block the event loop for 100 ms at a
 * time, and a read from PostgreSQL needs about four iterations of the loop (`npm run bench -- fairness`). Its methods
 * reject with `overloaded` if more than 128 secrets wait.
 */
export const createDefaultHasher = (cost: number): BuiltInHasher => createHasherOn(engine, cost, processQueue)
