import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { ServeArguments } from '../arguments/arguments.js'
import type { Terminal } from '../terminal.js'
import { type OnStart, serve } from './serve.js'

/** The pauses before a process that ends repeatedly is replaced, in milliseconds; they double. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000

/** A process that has served for this many milliseconds is replaced at once when it ends. */
const STEADY = 10_000

/**
 * Serves a configuration by several processes on one port. A process that ends is replaced; if the first one cannot
 * start, none does, and its exit code is that of the command.
 */
export async function serveProcesses(
  { processes }: ServeArguments,
  { print, complain }: Terminal,
  onStart: OnStart,
): Promise<number> {
  const pauses = new Set<ReturnType<typeof setTimeout>>()
  let isStopping = false

  /** Starts a process, and its successors. Resolves when it serves, or with the exit code of one that never did. */
  const begin = (before = 0): Promise<number | undefined> => {
    const worker = cluster.fork()
    let served: number | undefined
    const ended = once(worker, 'exit').catch((thrown: unknown) => [null, String(thrown)]) as Promise<
      [code: number | null, reason: string | null]
    >
    const serves = once(worker, 'listening').then(() => {
      served = performance.now()
    })
    const ends = ended.then(([code, reason]) => {
      if (isStopping || isFirst(worker, served)) return code ?? 1
      const isSteady = served !== undefined && performance.now() - served >= STEADY
      const pause = isSteady ? 0 : Math.min(LONGEST_PAUSE, before * 2 || FIRST_PAUSE)
      const after = pause === 0 ? 'at once' : `in ${pause} ms`
      complain(`Process ${worker.process.pid} ended (${reason ?? code}); another one begins ${after}.`)
      beginLater(pause)
      return undefined
    })
    return Promise.race([serves.then(() => undefined), ends])
  }
  const beginLater = (pause: number): void => {
    const timer = setTimeout(() => {
      pauses.delete(timer)
      void begin(pause)
    }, pause)
    pauses.add(timer)
  }
  // Before the first process prints its address: from then on, the command may be stopped.
  onStart(async () => {
    isStopping = true
    for (const timer of pauses) clearTimeout(timer)
    const workers = listWorkers()
    const ends = workers.map((worker) => once(worker, 'exit'))
    for (const { process } of workers) process.kill('SIGTERM')
    await Promise.all(ends)
  })

  const refusal = await begin()
  if (isStopping) return 0
  if (refusal !== undefined) return refusal
  const others = Array.from({ length: processes - 1 }, () => begin())
  void Promise.all(others).then(() => {
    const ids = listWorkers().map(({ process: { pid } }) => pid)
    if (!isStopping) print(`${processes} processes serve: ${ids.join(', ')}.`)
  })
  return 0
}

const listWorkers = (): readonly Worker[] =>
  Object.values(cluster.workers ?? {}).flatMap((worker) => (worker ? [worker] : []))

/** The process that prints the messages, and the only one that stores a seed. */
const FIRST = 1

/** Whether the first process never served: its successors would not either. */
const isFirst = ({ id }: Worker, served: number | undefined): boolean => id === FIRST && served === undefined

/** Serves as one of several processes. */
export async function serveAsOne(args: ServeArguments, terminal: Terminal, onStart: OnStart): Promise<void> {
  const leads = cluster.worker?.id === FIRST
  const own = { ...terminal, ...(leads ? {} : { announce() {} }) }
  await serve(leads ? args : { ...args, seed: undefined }, own, (stop) =>
    onStart(async () => {
      await stop()
      // The channel to the first process would otherwise keep this one alive.
      process.disconnect()
    }),
  )
}
