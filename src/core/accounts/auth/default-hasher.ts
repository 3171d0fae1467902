import { type BcryptEngine, type BuiltInHasher, createHasherOn, inProcess, processQueue } from './hasher.js'
import { createThreads, type ThreadClass } from './threads.js'

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
