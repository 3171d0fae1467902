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

/** The class of threads, in Node alone: other runtimes with this module cannot run a thread from a text. */
function findThreads({ process, navigator }: Host): ThreadClass | undefined {
  const { bun, deno } = process?.versions ?? {}
  if (bun ?? deno ?? navigator?.userAgent?.startsWith('Cloudflare')) return undefined
  return process?.getBuiltinModule?.('node:worker_threads')?.Worker
}

/** Hashes in a thread, or in this one where no thread can start, as under Node's permission model. */
function createEngine(): BcryptEngine {
  const threads = findThreads(globalThis as Host)
  if (!threads) return inProcess
  const engine = createThreads(threads, 1)
  return {
    hash: (secret, cost) => engine.hash(secret, cost).catch(() => inProcess.hash(secret, cost)),
    compare: (secret, hash) => engine.compare(secret, hash).catch(() => inProcess.compare(secret, hash)),
  }
}

/** One engine for the process, shared by all services. */
const engine = createEngine()

/**
 * The hasher of a service without the option `hasher`: bcrypt at `cost` (2^cost rounds), one secret at a time in the
 * process, in Node in a thread. In the thread of requests, bcryptjs would block for 100 ms at a time, and a read of
 * PostgreSQL needs about four turns of the event loop (`npm run bench -- fairness`). Rejects with `overloaded` when
 * more than 128 wait.
 */
export const createDefaultHasher = (cost: number): BuiltInHasher => createHasherOn(engine, cost, processQueue)
