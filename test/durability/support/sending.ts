import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'
import { type Config, createCollectionService, type StorageAdapter } from '../../../src/index.js'
import type { Store } from './stores.js'

/** A request. */
export interface Sending {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

/** Sends all at once and gives their outcomes: the status, and of an error the code. */
export type Send = (requests: readonly Sending[]) => Promise<readonly string[]>

const children = new Set<ChildProcess>()

/** Ends the processes of each test. */
export function useProcesses(): void {
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL')
    children.clear()
  })
}

/** Another process over the same store. */
export async function startProcess(store: Store, config: Config): Promise<Send> {
  const script = fileURLToPath(new URL('reference-worker.mjs', import.meta.url))
  const child = fork(script, { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } })
  children.add(child)
  const ended = once(child, 'exit').then(() => {
    throw new Error('the other process ended')
  })
  ended.catch(() => {})
  const call = async (message: object): Promise<readonly string[]> => {
    const answered = once(child, 'message')
    child.send(message)
    const [outcomes] = await Promise.race([answered, ended])
    return outcomes
  }
  await call({ serve: { config, store } })
  return (requests) => call({ requests })
}

/** A service in this process. */
export function startHere(adapter: StorageAdapter, config: Config): Send {
  const handler = createCollectionService(config, adapter, {
    production: false,
    logger: { info() {}, warn() {}, error() {} },
  })
  return (requests) =>
    Promise.all(
      requests.map(async ({ method, path, body }) => {
        const init = body === undefined ? {} : { body: JSON.stringify(body) }
        const headers = { 'content-type': 'application/json' }
        const response = await handler(
          new Request(`http://service.test${path}`, { method, headers, ...init }),
        )
        const text = await response.text()
        return response.status < 400 ? String(response.status) : `${response.status} ${JSON.parse(text).code}`
      }),
    )
}

export const post = (path: string, body: unknown): Sending => ({ method: 'POST', path, body })
export const patch = (path: string, body: unknown): Sending => ({ method: 'PATCH', path, body })
