import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const script = fileOf('worker.mjs')

const children = new Set<ChildProcess>()

/** Ends the processes that the tests of a file leave behind. */
export function endWorkers(): void {
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
    children.clear()
  })
}

/** Processes that all tests of a file share: starting one costs more than most of what it does. */
export function useWorkers(size: number): readonly Worker[] {
  const workers: Worker[] = []
  beforeAll(() => {
    for (let i = 0; i < size; i++) workers.push(startWorker())
  })
  endWorkers()
  return workers
}

/** Another process that uses the same storage; its tasks are in `worker.mjs`. */
export interface Worker {
  /** Starts a task. */
  begin(task: string, options: object): void
  /** Tells the task to come to its end. */
  stop(): void
  /** What the task that was started last gives. Rejects where it fails, or the process ends before. */
  finish<T>(): Promise<T>
  run<T>(task: string, options: object): Promise<T>
  /** The next line that matches, behind those that have been waited for. */
  printed(pattern: RegExp): Promise<string>
  /** The whole lines so far: a process that is killed may have begun one more. */
  lines(): readonly string[]
  /** Ends the process without a chance to do anything. */
  kill(): Promise<void>
  /** Stops the process where it is, or lets it go on. */
  send(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Settles when the process has ended. */
  readonly ended: Promise<void>
}

/** `limit`: a command of the shell that runs before, such as `ulimit`. */
export function startWorker(limit?: string): Worker {
  return limit === undefined
    ? startProcess(process.execPath, [script])
    : startProcess('sh', ['-c', `${limit}; exec "$0" "$1"`, process.execPath, script])
}

/** A process with a consumer, whose tasks are in `consumer-worker.mjs`. */
export const startConsumer = (): Worker => startProcess(process.execPath, [fileOf('consumer-worker.mjs')])

/**
 * A process that migrates, whose task is in `migrate-worker.mjs`. `isHasty`: its clock is faster, so that the turn of a killed
 * one ends in less than half a second; it then has no patience with a file to which many write.
 */
export const startMigrator = (isHasty = false): Worker =>
  startProcess(process.execPath, [
    ...(isHasty ? ['--import', new URL('short-waits.mjs', import.meta.url).href] : []),
    fileOf('migrate-worker.mjs'),
  ])

function startProcess(command: string, args: readonly string[]): Worker {
  const child = spawn(command, args, {
    env: { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  children.add(child)
  let rest = ''
  let complaints = ''
  const lines: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const [first = '', ...others] = text.split('\n')
    const parts = [rest + first, ...others]
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  // Writing to a process that has ended is told by its end.
  child.stdin.on('error', () => {})
  let isOver = false
  const ended = once(child, 'close').then(() => {
    isOver = true
  })

  let seen = 0
  const printed = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      for (; seen < lines.length; seen++) {
        const line = lines[seen] ?? ''
        if (!pattern.test(line)) continue
        seen += 1
        return line
      }
      if (isOver) throw new Error(`the worker ended: ${complaints}`)
      await Promise.race([once(child.stdout, 'data'), ended])
    }
  }
  let tasks = 0
  const begin = (task: string, options: object): void => {
    tasks += 1
    child.stdin.write(`${JSON.stringify({ id: tasks, task, ...options })}\n`)
  }
  const finish = async <T>(): Promise<T> => {
    const line = await printed(new RegExp(`^(?:done|failed) ${tasks} `))
    const outcome: unknown = JSON.parse(line.replace(/^\S+ \S+ /, ''))
    if (line.startsWith('failed')) throw new Error(`the task failed: ${outcome}`)
    return outcome as T
  }
  return {
    begin,
    stop: () => void child.stdin.write('"stop"\n'),
    finish,
    async run<T>(task: string, options: object): Promise<T> {
      begin(task, options)
      return finish<T>()
    },
    printed,
    lines: () => lines,
    send: (signal) => void child.kill(signal),
    ended,
    async kill() {
      child.kill('SIGKILL')
      await ended
      children.delete(child)
    },
  }
}

/** Runs one task in several processes at once, which are there before any of them begins. */
export async function runTogether<T>(
  workers: readonly Worker[],
  task: string,
  optionsOf: (place: number) => object,
): Promise<T[]> {
  return Promise.all(workers.map((worker, i) => worker.run<T>(task, optionsOf(i))))
}
