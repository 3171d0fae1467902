import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll } from 'vitest'

/** This repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

export const command = join(root, 'dist', 'cli.js')

/** Where a command that serves says that it does. */
export const ORIGIN = /http:\/\/[^/\s]+:(\d+)/

const SERVES = /^Serving /m

/** A stack, which says nothing to the one who typed a command. */
export const STACK = /\bat .+:\d+:\d+/

/** A command that runs. */
export interface Command {
  readonly child: ChildProcess
  /** What it has written so far. */
  stdout(): string
  stderr(): string
  /** The next moment at which it has written what is looked for. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  complained(pattern: RegExp): Promise<RegExpExecArray>
  readonly ended: Promise<number | null>
}

/** The built command in a temporary folder; whatever still runs after a test is ended. */
export function useCommand() {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collection-service-cli-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const children = new Set<ChildProcess>()
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL')
    children.clear()
  })

  const startIn = (env: { readonly [name: string]: string }, ...args: string[]): Command => {
    const child = spawn(process.execPath, [command, ...args], {
      cwd: folder,
      env: { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '', PORT: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.add(child)
    const texts = { stdout: '', stderr: '' }
    const ended = once(child, 'close').then(([code]) => code as number | null)
    const wrote = async (name: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> => {
      for (;;) {
        const match = pattern.exec(texts[name])
        if (match) return match
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended: ${texts.stderr}`)
        await Promise.race([once(child[name], 'data'), ended])
      }
    }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text) => {
        texts[name] += text
      })
    }
    return {
      child,
      stdout: () => texts.stdout,
      stderr: () => texts.stderr,
      printed: (pattern) => wrote('stdout', pattern),
      complained: (pattern) => wrote('stderr', pattern),
      ended,
    }
  }
  const start = (...args: string[]): Command => startIn({}, ...args)

  return {
    folder: () => folder,
    start,
    /** With more variables in its environment. */
    startIn,
    /** Runs the command until it ends by itself; one that serves after all is ended, without a code. */
    async run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
      const started = start(...args)
      await Promise.race([started.ended, started.printed(SERVES).catch(() => {})])
      if (SERVES.test(started.stdout())) started.child.kill('SIGKILL')
      const code = await started.ended
      return { code, stdout: started.stdout(), stderr: started.stderr() }
    },
    async writeFiles(files: { readonly [name: string]: unknown }): Promise<void> {
      for (const [name, content] of Object.entries(files)) {
        await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
      }
    },
  }
}
