import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { ArgumentsOf } from '../arguments/commands.js'
import type { Terminal } from '../terminal.js'
import { describeStop, type OnStart, serve } from './serve.js'

/**
 * The first and the longest pause before a process that has ended is replaced, in milliseconds. The pause doubles if
 * the new process ends soon too.
 */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000

/** A process that has served for at least this many milliseconds is replaced immediately when it ends. */
const STEADY = 10_000

/**
 * Serves a configuration with several processes on one port. A process that ends is replaced. If the first process
 * cannot start, no other is started, and the command ends with the exit code of that process.
 */
export async function serveProcesses(
  { processes }: ArgumentsOf<'serve'>,
  { print, complain }: Terminal,
  onStart: OnStart,
): Promise<number> {
  const pauses = new Set<ReturnType<typeof setTimeout>>()
  let isStopping = false

  /**
   * Starts a process, and replaces it when it ends. Resolves with `undefined` when the process serves, or with the exit
   * code of the process if it is the first one and never serves.
   */
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
      const after = pause === 0 ? 'immediately' : `in ${pause} ms`
      const { pid } = worker.process
      const event = pid === undefined ? 'A process cannot start' : `Process ${pid} ended`
      complain(`${event} (${reason ?? code}). A new process starts ${after}.`)
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
  // `onStart` is called before the first process prints its address, because the command may be stopped from then on.
  onStart(async (signal) => {
    isStopping = true
    if (signal !== undefined) print(describeStop(signal))
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
    if (!isStopping) print(`${processes} processes are serving: ${ids.join(', ')}.`)
  })
  return 0
}

const listWorkers = (): readonly Worker[] =>
  Object.values(cluster.workers ?? {}).flatMap((worker) => (worker ? [worker] : []))

/** The id of the worker that prints the messages, and alone stores the seed and migrates the stored documents. */
const FIRST = 1

/** Whether a worker is the first one and never served. It is not replaced, because another worker would fail too. */
const isFirst = ({ id }: Worker, served: number | undefined): boolean => id === FIRST && served === undefined

/** Serves in one of several processes. */
export async function serveAsOne(
  args: ArgumentsOf<'serve'>,
  terminal: Terminal,
  onStart: OnStart,
): Promise<void> {
  const leads = cluster.worker?.id === FIRST
  const own = { ...terminal, ...(leads ? {} : { announce() {}, warn() {} }) }
  await serve(leads ? args : { ...args, seed: undefined, migrates: false }, own, (stop) =>
    onStart(async () => {
      await stop()
      // Without `disconnect`, the channel to the first process would keep this worker alive.
      process.disconnect()
    }),
  )
}
