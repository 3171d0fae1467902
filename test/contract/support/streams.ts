import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, vi } from 'vitest'
import type { StorageAdapter } from '../../../src/index.js'
import { toNodeHandler } from '../../../src/mounts/node.js'
import { encodePath, type TestService } from '../../support/service.js'
import { idOf, isOfStart, openStored } from '../../support/stored.js'

/** What the tests of lists without a limit have in common. */

type Json = { readonly [name: string]: unknown }

const config = {
  collections: {
    things: {
      schema: {
        n: { type: 'integer', index: true },
        m: { type: 'integer' },
        s: { type: 'string' },
        secret: { type: 'string' },
        r: { type: 'reference', collection: 'people' },
      },
      permissions: { '*': { read: { omit: ['secret'], where: { s: { $ne: 'hidden' } } } } },
    },
    people: { schema: { name: { type: 'string' } }, permissions: { '*': { read: true } } },
  },
}

export const SIZE = 2800

/** Ties and missing values in both orders, every seventh hidden. */
export const thingOf = (i: number): Json => ({
  ...(i % 50 === 0 ? {} : { n: (i * 7919) % 997 }),
  ...(i % 41 === 0 ? {} : { m: (i * 31) % 23 }),
  s: i % 7 === 0 ? 'hidden' : `s${i % 5}`,
  secret: 'secret',
  ...(i % 3 === 0 ? { r: idOf((i % 5) + 1) } : {}),
})

export const things = Array.from({ length: SIZE }, (_, i) => thingOf(i))
export const people = [{ name: 'ann' }, { name: 'bob' }, { name: 'eve' }]

export const ask = ({ handler }: TestService, path: string, init: RequestInit = {}): Promise<Response> =>
  handler(new Request(`http://service.test${encodePath(path)}`, init))

export function readerOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (!response.body) throw new Error('the response has no body')
  return response.body.getReader()
}

/** Whether the rest of a response arrives, without its text. */
export const outcomeOf = (response: Response): Promise<'whole' | 'broken'> =>
  response.text().then(
    () => 'whole',
    () => 'broken',
  )

export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Lets everything happen that does not wait for something outside. */
export async function settle(turns = 50): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** What was read of an answer before its connection ended, and whether it was the whole. */
export async function readFrom(
  url: string,
): Promise<{ text: string; isWhole: boolean; message: IncomingMessage }> {
  const request = get(url)
  const [message] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  message.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  message.on('error', () => {})
  await once(message, 'close').catch(() => {})
  return { text, isWhole: message.complete, message }
}

/** Counts what a storage is asked for; `before` runs first, and may throw. */
export function observe(
  inner: StorageAdapter,
  before: (count: number, collection: string) => void | Promise<void> = () => {},
): { readonly adapter: StorageAdapter; count: number; closed: number } {
  const seen = { count: 0, closed: 0 }
  const step = async (collection: string): Promise<void> => {
    seen.count += 1
    await before(seen.count, collection)
  }
  const adapter: StorageAdapter = {
    ...inner,
    async list(collection, query) {
      if (!isOfStart(query)) await step(collection)
      return inner.list(collection, query)
    },
    async *stream(collection, query) {
      if (!inner.stream) throw new Error('this storage does not stream')
      for await (const batch of inner.stream(collection, query)) {
        await step(collection)
        yield batch
      }
    },
    async close() {
      seen.closed += 1
      await inner.close()
    },
  }
  return Object.assign(seen, { adapter })
}

interface Opener {
  open(
    adapter: StorageAdapter,
    stored?: { readonly [collection: string]: readonly Json[] },
    limits?: Json,
  ): Promise<TestService>
  /** Serves through a socket, and gives the origin. */
  listen(service: TestService): Promise<string>
  /** The connections to all servers of the test. */
  readonly connections: readonly Socket[]
}

/** Services and servers, which are closed when a test is over. */
export function useServices(): Opener {
  const opened: TestService[] = []
  const servers: Server[] = []
  const connections: Socket[] = []
  afterEach(async () => {
    vi.useRealTimers()
    connections.length = 0
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
    await Promise.all(opened.splice(0).map(({ handler }) => handler.close()))
  })
  return {
    // Long enough for any machine: where time is asked about, it is another.
    async open(adapter, stored = { things, people }, limits = { requestSeconds: 120 }) {
      const service = await openStored({ ...config, limits }, stored, { adapter, authenticate: () => null })
      opened.push(service)
      return service
    },
    async listen(service) {
      const server = createServer(toNodeHandler(service.handler))
      servers.push(server)
      server.on('connection', (socket: Socket) => connections.push(socket))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    connections,
  }
}

export const INDEXED = '/things?sort[n]=1'
export const UNINDEXED = '/things?sort[m]=1'
