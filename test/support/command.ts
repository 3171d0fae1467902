import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, vi } from 'vitest'
import { main } from '../../src/tools/cli/main.js'

/** This repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

export const command = join(root, 'dist', 'cli.js')

/** Where a command that serves says that it does. */
export const ORIGIN = /http:\/\/[^/\s]+:(\d+)/

const SERVES = /^Serving /m

/** A stack, which says nothing to the one who typed a command. */
export const STACK = /\bat .+:\d+:\d+/

/** Whether a process runs. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A command that runs. */
export interface Command {
  /** What it has written so far. */
  stdout(): string
  stderr(): string
  /** The next moment at which it has written what is looked for. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  complained(pattern: RegExp): Promise<RegExpExecArray>
  readonly ended: Promise<number | null>
  /** Tells it to end. */
  stop(): void
}

/** One in a process of its own. */
export interface SpawnedCommand extends Command {
  readonly child: ChildProcess
}

/** What a command has written, and the moments at which it has. */
function createTexts(ended: Promise<unknown>) {
  const texts = { stdout: '', stderr: '' }
  const wrote = new EventEmitter().setMaxListeners(0)
  let hasEnded = false
  void ended.finally(() => {
    hasEnded = true
  })
  const find = async (name: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(texts[name])
      if (match) return match
      if (hasEnded) throw new Error(`it ended: ${texts.stderr}`)
      await Promise.race([once(wrote, name), ended])
    }
  }
  return {
    write(name: 'stdout' | 'stderr', text: string): void {
      texts[name] += text
      wrote.emit(name)
    },
    read: {
      stdout: () => texts.stdout,
      stderr: () => texts.stderr,
      printed: (pattern: RegExp) => find('stdout', pattern),
      complained: (pattern: RegExp) => find('stderr', pattern),
    },
  }
}

/** Commands that can be stopped, and end by themselves. */
const ENDING: ReadonlySet<string> = new Set(['dump', 'load', 'migrate', 'backup', 'restore'])

/** Variables of an environment. */
type Env = { readonly [name: string]: string }

const ENV: Env = { NODE_ENV: 'test', NODE_OPTIONS: '', PORT: '' }

/** Runs the built command. */
function spawnCommand(cwd: string, env: Env, args: readonly string[]): SpawnedCommand {
  const child = spawn(process.execPath, [command, ...args], {
    cwd,
    env: { ...process.env, ...ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const { write, read } = createTexts(ended)
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text) => write(name, text))
  return { ...read, child, ended, stop: () => void child.kill('SIGTERM') }
}

/** Runs the command in this process, whose folder is the one in which it is called. */
function callCommand(env: Env, args: readonly string[], input: readonly string[] = []): Command {
  for (const [name, value] of Object.entries({ ...ENV, ...env })) vi.stubEnv(name, value)
  let stop: (() => Promise<void>) | undefined
  let end: (code: number | null) => void = () => {}
  const ended = new Promise<number | null>((resolve) => {
    end = resolve
  })
  const { write, read } = createTexts(ended)
  const streamOf = (name: 'stdout' | 'stderr') => ({
    write(text: string, onWritten?: () => void) {
      write(name, text)
      onWritten?.()
    },
    on: () => {},
  })
  // What the service says itself goes to the console.
  const say = (text: string): void => write('stderr', `${text}\n`)
  const spies = (['warn', 'error'] as const).map((level) => vi.spyOn(console, level).mockImplementation(say))
  const finish = (code: number | null): void => {
    for (const spy of spies) spy.mockRestore()
    end(code)
  }
  const io = {
    env: { ...ENV, ...env },
    stdout: streamOf('stdout'),
    stderr: streamOf('stderr'),
    openOutput: () => streamOf('stdout'),
    openInput: () => Readable.from(input.map((text) => Buffer.from(text))),
    version: '0.0.0',
    onStop(given: () => Promise<void>) {
      stop = given
    },
  }
  void main(args, io).then((code) => {
    if (code !== 0 || !stop || ENDING.has(args[0] ?? '')) finish(code)
  })
  return { ...read, ended, stop: () => void stop?.().then(() => finish(0)) }
}

/** The command in a temporary folder; what still runs after a test is ended. */
export function useCommand() {
  let folder: string
  const before = process.cwd()
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collection-service-cli-'))
    process.chdir(folder)
  })
  afterAll(async () => {
    process.chdir(before)
    await rm(folder, { recursive: true, force: true })
  })
  const running = new Set<Command>()
  const children = new Set<ChildProcess>()
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL')
    children.clear()
    for (const one of running) one.stop()
    await Promise.all([...running].map(({ ended }) => ended))
    running.clear()
    vi.unstubAllEnvs()
  })

  const startIn = (env: Env, ...args: string[]): Command => {
    const started = callCommand(env, args)
    running.add(started)
    return started
  }
  const start = (...args: string[]): Command => startIn({}, ...args)

  const spawnIn = (env: Env, ...args: string[]): SpawnedCommand => {
    const started = spawnCommand(folder, env, args)
    children.add(started.child)
    return started
  }
  /** Until it ends by itself; one that serves after all is told to end. */
  const finish = async (started: Command) => {
    await Promise.race([started.ended, started.printed(SERVES).catch(() => {})])
    if (SERVES.test(started.stdout())) started.stop()
    const code = await started.ended
    return { code, stdout: started.stdout(), stderr: started.stderr() }
  }

  return {
    folder: () => folder,
    /** Begins the command in this process. */
    start,
    /** With more variables in its environment. */
    startIn,
    /** Runs the command in this process until it ends by itself. */
    run: (...args: string[]) => finish(start(...args)),
    /** The same with an input. */
    async runOn(input: string | readonly string[], ...args: string[]) {
      const started = callCommand({}, args, [input].flat())
      running.add(started)
      return finish(started)
    },
    /** The same with the built command, in processes of their own. */
    spawn: (...args: string[]): SpawnedCommand => spawnIn({}, ...args),
    spawnIn,
    runSpawned: (...args: string[]) => finish(spawnIn({}, ...args)),
    async writeFiles(files: { readonly [name: string]: unknown }): Promise<void> {
      for (const [name, content] of Object.entries(files)) {
        await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
      }
    },
  }
}
