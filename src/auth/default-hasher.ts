import { type BcryptEngine, type BuiltInHasher, createHasherOn, inProcess, processQueue } from './hasher.js'
import { createThreads, type ThreadClass } from './threads.js'

/** What this asks of `process`, where there is one. */
interface Host {
  readonly process?: {
    readonly versions?: { readonly bun?: string; readonly deno?: string }
    getBuiltinModule?(id: string): { readonly Worker?: ThreadClass } | undefined
  }
  readonly navigator?: { readonly userAgent?: string }
}

/** The class of threads, in Node alone: the others that have the module run no thread from a text. */
function findThreads({ process, navigator }: Host): ThreadClass | undefined {
  const { bun, deno } = process?.versions ?? {}
  if (bun ?? deno ?? navigator?.userAgent?.startsWith('Cloudflare')) return undefined
  return process?.getBuiltinModule?.('node:worker_threads')?.Worker
}

/** Hashes in a thread, and in this one where none can be started, as under Node's permission model. */
function createEngine(): BcryptEngine {
  const threads = findThreads(globalThis as Host)
  if (!threads) return inProcess
  const engine = createThreads(threads, 1)
  return {
    hash: (secret, cost) => engine.hash(secret, cost).catch(() => inProcess.hash(secret, cost)),
    compare: (secret, hash) => engine.compare(secret, hash).catch(() => inProcess.compare(secret, hash)),
  }
}

/** The process has one engine, however many services it has. */
const engine = createEngine()

/**
 * The hasher of a service without the option `hasher`: bcrypt at `cost` (2^cost rounds), one secret at a time in the process,
 * in Node in a thread. bcryptjs in the thread of requests computes for 100 ms at a time, and a read of PostgreSQL needs some
 * four turns of the event loop (`npm run bench -- fairness`). Rejects with `overloaded` when more than 128 wait.
 */
export const createDefaultHasher = (cost: number): BuiltInHasher => createHasherOn(engine, cost, processQueue)
