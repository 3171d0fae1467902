// The module as text: bundlers lose files that are only named.
import bcryptSource from 'bcryptjs?raw'
import type { BcryptEngine } from './hasher.js'

/** The part of a `Worker` of `node:worker_threads` that this module uses. */
interface Thread {
  on(event: 'message' | 'error' | 'exit', listener: (value: unknown) => void): this
  off(event: 'message' | 'exit', listener: (value: unknown) => void): this
  ref(): void
  unref(): void
  postMessage(task: Task): void
}

/** The class `Worker` of `node:worker_threads`. */
export type ThreadClass = new (url: URL) => Thread

/** The code of a thread, appended to that of bcrypt, whose functions are in its scope. */
const LISTEN = `
import { parentPort } from 'node:worker_threads'
parentPort.on('message', ([kind, secret, other]) => {
  parentPort.postMessage(kind === 'hash' ? hashSync(secret, other) : compareSync(secret, other))
})`

const WORKER_URL = `data:text/javascript,${encodeURIComponent(bcryptSource + LISTEN)}`

type Task = readonly [kind: 'hash', secret: string, cost: number] | readonly ['compare', string, hash: string]

/** How often a task is tried when threads crash during it. */
const MAX_ATTEMPTS = 2

/**
 * Creates an engine with at most `count` threads, each of which runs one task at a time; the caller's work queue has
 * the same width. The threads start when first needed, do not keep the process alive, and are replaced when they
 * crash. Rejects where no thread can start.
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
    // A thread that crashes while idle must not end the process; it is then not used again.
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

/** Runs a task in a thread, which keeps the process alive meanwhile. Rejects when the thread exits. */
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
