import { afterEach, expect, vi } from 'vitest'
import type { Caller, ServiceOptions, StorageAdapter } from '../../../src/index.js'
import { type OpenStream, readStream, watchLog } from '../../support/event-streams.js'
import { type AnyConfig, createTestService, encodePath, type TestService } from '../../support/service.js'

/** What the tests of streams of changes have in common. */

const grant = { read: true, create: true, update: true, delete: true }

export const config = {
  collections: {
    notes: {
      changes: true,
      schema: {
        text: { type: 'string' },
        status: { type: 'string' },
        secret: { type: 'string' },
        team: { type: 'string' },
        from: { type: 'timestamp' },
      },
      permissions: {
        '*': { read: { where: { status: 'open' }, pick: ['text', 'status'] } },
        owner: { read: { omit: ['secret'] } },
        member: { read: { where: { team: '$user.team' }, pick: ['text', 'team'] } },
        editor: { read: { omit: ['secret'] } },
        admin: grant,
      },
    },
    plain: { schema: { text: { type: 'string' } }, permissions: { '*': grant } },
    users: {
      schema: {
        name: { type: 'string', unique: true, required: true, lowercase: true },
        pin: { type: 'hash', required: true },
        role: { type: 'string' },
        team: { type: 'string' },
        note: { type: 'string' },
      },
      permissions: { admin: true },
    },
  },
  auth: { roleField: 'role' },
} as const

export const ADMIN: Caller = { id: 'admin', roles: ['admin'] }

/** How a stream is asked for. */
interface Asked {
  readonly token?: string
  readonly caller?: Caller | null
  readonly headers?: { readonly [name: string]: string }
}

export interface StreamingService extends TestService {
  /** Asks for a stream. */
  ask(path: string, asked?: Asked): Promise<Response>
  /** Asks for a stream, and waits for its first event. */
  open(path: string, asked?: Asked): Promise<OpenStream>
  /** Writes as an admin, and waits until all who listen were told. */
  write(line: string, body?: object): Promise<{ readonly [name: string]: unknown }>
  quiet(): Promise<void>
  /** Makes writes, as an admin, of which all who listen are told together. */
  together(writes: readonly (readonly [line: string, body?: object])[]): Promise<void>
  /** How often the log was read. */
  readonly reads: () => number
}

/** Services and their streams, which are closed when a test is over. */
export function useStreams(): (options: {
  readonly adapter: StorageAdapter
  readonly config?: AnyConfig
  readonly options?: ServiceOptions
}) => Promise<StreamingService> {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    vi.useRealTimers()
    for (const close of closing.splice(0).reverse()) await close()
  })
  return async ({ adapter: inner, config: asked = config, options = {} }) => {
    const { adapter, begin, quiet: taken, hold, reads } = watchLog(inner)
    const streams: OpenStream[] = []
    // Where nobody listens, nobody reads the log.
    const quiet = async (): Promise<void> => {
      await Promise.race([taken(), Promise.all(streams.map(({ ended }) => ended))])
    }
    const service = createTestService(asked, { adapter, ...options })
    closing.push(() => service.handler.close())
    await service.handler.ready()
    await begin()
    const ask = (path: string, { token, caller, headers }: Asked = {}): Promise<Response> => {
      const target = caller === undefined ? service.handler : service.handler.as(caller)
      const all = { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
      return target(new Request(`http://service.test${encodePath(path)}`, { headers: all }))
    }
    const change = async (line: string, body?: object): Promise<{ readonly [name: string]: unknown }> => {
      const sent = await service.send(line, { caller: ADMIN, ...(body ? { body } : {}) })
      expect(sent.status).toBeLessThan(300)
      return sent.body
    }
    return {
      ...service,
      ask,
      async open(path, asked) {
        const response = await ask(path, asked)
        expect(response.status).toBe(200)
        const stream = readStream(response)
        streams.push(stream)
        closing.push(() => stream.close())
        await stream.until(1)
        return stream
      },
      async write(line, body) {
        const answered = await change(line, body)
        await quiet()
        return answered
      },
      async together(writes) {
        const release = hold()
        for (const [line, body] of writes) await change(line, body)
        await release()
        await quiet()
      },
      quiet,
      reads,
    }
  }
}
