import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { serve as serveByHono } from '@hono/node-server'
import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import type { HookChange } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { type AnyConfig, createTestService, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf } from '../support/stored.js'
import { until } from '../support/until.js'
import { call, JSON_BODY, useListen } from './support/node.js'

/**
 * CONTRACT.md §7, "Handler": what hosts make of a request. §6, "Deadlines": a client that goes. RFC 9110 §9.3.2: the length
 * of HEAD.
 */

const config: AnyConfig = {
  collections: {
    notes: {
      schema: { title: { type: 'string' } },
      permissions: { '*': { read: true, create: true, update: true, delete: true } },
    },
  },
  limits: { bulk: 5 },
}

const ID = idOf(1)
const BODY = '{"title":"b"}'

const storages = useStorages()
const opened = closeAfterEach()
const listen = useListen()

/** A service with one note. */
async function open(options: NonNullable<Parameters<typeof createTestService>[1]>): Promise<TestService> {
  const service = createTestService(config, options)
  opened.push(service)
  const sent = { headers: { 'if-none-match': '*' }, body: { title: 'a' } }
  expect((await service.send(`PUT /notes/${ID}`, sent)).status).toBe(201)
  // What the start has said.
  service.logged.length = 0
  return service
}

const countNotes = async ({ adapter }: TestService): Promise<number> => adapter.count('notes', everything, {})

/** A request as a host makes it, of the parts of a real one. */
const partsOf = (request: Request) => ({
  method: request.method,
  url: request.url,
  headers: request.headers,
  body: request.body,
  bodyUsed: false,
  signal: request.signal,
})

const ask = ({ handler }: TestService, request: object): Promise<Response> => handler(request as Request)

const requestOf = (method: string, path: string, body?: string): Request =>
  new Request(`http://service.test${path}`, { method, headers: JSON_BODY, ...(body ? { body } : {}) })

const WRITES: readonly [method: string, path: string, body: string | undefined, status: number][] = [
  ['POST', '/notes', BODY, 201],
  ['PATCH', `/notes/${ID}`, BODY, 200],
  ['PUT', `/notes/${ID}`, BODY, 200],
  ['POST', '/notes/bulk', `{"documents":[${BODY},${BODY}]}`, 201],
  ['POST', '/_batch', `{"operations":[{"method":"POST","path":"/notes","body":${BODY}}]}`, 200],
  ['DELETE', `/notes/${ID}`, undefined, 204],
]

describe.each(storages)('on %s', (_, createAdapter) => {
  test.each(WRITES)(
    'a request without a signal is answered like any other: %s %s',
    async (method, path, body, status) => {
      const throwing = {
        get signal(): never {
          throw new Error('not here')
        },
      }
      for (const lack of [{ signal: undefined }, { signal: null }, { signal: {} }, throwing]) {
        const service = await open({ adapter: createAdapter() })
        const request = Object.defineProperties(
          partsOf(requestOf(method, path, body)),
          Object.getOwnPropertyDescriptors(lack),
        )
        expect((await ask(service, request)).status).toBe(status)
        expect(
          (await ask(service, { ...partsOf(requestOf('GET', '/notes')), signal: undefined })).status,
        ).toBe(200)
        expect(service.logged).toEqual([])
      }
    },
  )

  test.each<[lack: string, parts: () => object]>([
    ['a method', () => ({ method: undefined })],
    ['an absolute URL', () => ({ url: '/notes' })],
    ['a URL', () => ({ url: undefined })],
    ['headers', () => ({ headers: undefined })],
    ['headers that can be asked', () => ({ headers: { 'content-type': 'application/json' } })],
    ['a body that can be asked', () => ({ body: undefined })],
    ['a web-standard body', () => ({ body: Readable.from([BODY]) })],
    [
      'a URL that can be read',
      () => ({
        get url(): string {
          throw new Error('not here')
        },
      }),
    ],
    [
      'headers that can be read',
      () => ({
        get headers(): Headers {
          throw new Error('not here')
        },
      }),
    ],
    [
      'a body that can be read',
      () => ({
        get body(): null {
          throw new Error('not here')
        },
      }),
    ],
  ])('one that lacks %s is a 500, which the log explains, and nothing is stored', async (_, parts) => {
    const service = await open({ adapter: createAdapter() })
    const request = partsOf(requestOf('POST', '/notes', BODY))
    Object.defineProperties(request, Object.getOwnPropertyDescriptors(parts()))
    const response = await ask(service, request)
    expect([response.status, (await response.json()).code]).toEqual([500, 'internal_error'])
    expect(service.logged).toHaveLength(1)
    expect(await countNotes(service)).toBe(1)
  })

  test.each(WRITES)(
    'a signal that aborts once the body was given stops no write: %s %s',
    async (method, path, body, status) => {
      const events: unknown[] = []
      const service = await open({ adapter: createAdapter(), observe: (event) => events.push(event) })
      // As Hattip makes requests of node's own.
      const port = await listen(async (incoming, outgoing) => {
        const controller = new AbortController()
        incoming.once('close', () => {
          if (!outgoing.writableEnded) controller.abort()
        })
        const init = {
          method: String(incoming.method),
          headers: incoming.headers as Record<string, string>,
          body: incoming as never,
          signal: controller.signal,
          duplex: 'half',
        }
        const response = await service.handler(
          new Request(`http://service.test${incoming.url}`, init as RequestInit),
        )
        outgoing.writeHead(response.status).end(await response.text())
      })
      events.length = 0
      const sent = await call(port, `${method} ${path}`, { headers: JSON_BODY, ...(body ? { body } : {}) })
      expect(sent.status).toBe(status)
      expect(events).toMatchObject([{ status, aborted: false }])
      expect(service.logged).toEqual([])
    },
  )

  test.each(WRITES)(
    'nor does a client that goes while its hook is asked: %s %s',
    async (method, path, body, status) => {
      let go = (): void => {}
      let signal: AbortSignal | undefined
      const asked = new Promise<void>((resolve) => {
        go = resolve
      })
      let leave = (): void => {}
      const left = new Promise<void>((resolve) => {
        leave = resolve
      })
      let isSetUp = false
      const before = async (change: HookChange): Promise<undefined> => {
        if (!isSetUp) return
        signal = change.signal
        go()
        await left
      }
      const service = await open({ adapter: createAdapter(), hooks: { notes: { before } } })
      isSetUp = true
      const client = new AbortController()
      const request = new Request(`http://service.test${path}`, {
        method,
        headers: JSON_BODY,
        signal: client.signal,
        ...(body ? { body } : {}),
      })
      const answering = service.handler(request)
      await asked
      client.abort()
      expect(signal?.aborted).toBe(false)
      leave()
      expect((await answering).status).toBe(status)
      expect(service.logged).toEqual([])
    },
  )

  test('a read ends with its client, also where its signal was aborted before', async () => {
    const service = await open({ adapter: createAdapter(), authenticate: async () => null })
    const aborted = new Request('http://service.test/notes', { signal: AbortSignal.abort() })
    expect((await service.handler(aborted)).status).toBe(503)
  })
})

test('over Node, a client that goes once its body has arrived stops no write', async () => {
  let go = (): void => {}
  const asked = new Promise<void>((resolve) => {
    go = resolve
  })
  let leave = (): void => {}
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const signals: AbortSignal[] = []
  const before = async ({ signal }: HookChange): Promise<undefined> => {
    signals.push(signal)
    if (signals.length === 1) return
    go()
    await left
  }
  const service = await open({ hooks: { notes: { before } } })
  let closed: Promise<unknown> | undefined
  const serve = toNodeHandler(service.handler)
  const port = await listen((incoming, outgoing) => {
    closed = once(outgoing, 'close')
    void serve(incoming, outgoing)
  })
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /notes HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  )
  await asked
  socket.destroy()
  await closed
  expect(signals[1]?.aborted).toBe(false)
  leave()
  await until(async () => (await countNotes(service)) === 2)
  expect(service.logged).toEqual([])
})

describe('a body that the host parses when it is asked for', () => {
  /** As Vercel's helpers do: the stream is read, and `body` is a getter. */
  const lazily =
    (serve: (request: IncomingMessage, response: ServerResponse) => void) =>
    async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
      const text = Buffer.concat(await incoming.toArray()).toString()
      Object.defineProperty(incoming, 'body', {
        get() {
          return JSON.parse(text)
        },
      })
      serve(incoming, outgoing)
    }

  test.each([
    ['{"title":', 400, 'invalid_json'],
    ['{"title":"x"} x', 400, 'invalid_json'],
    ['[1]', 400, 'validation_failed'],
    ['{"title":"x"}', 201, undefined],
  ])('%s', async (body, status, code) => {
    const service = await open({})
    const serve = toNodeHandler(service.handler)
    const port = await listen(lazily((incoming, outgoing) => void serve(incoming, outgoing)))
    const sent = await call(port, 'POST /notes', { headers: JSON_BODY, body })
    expect([sent.status, sent.body.code]).toEqual([status, code])
    expect(service.logged).toEqual([])
    expect(await countNotes(service)).toBe(status === 201 ? 2 : 1)
  })

  test('is not asked for where the stream is still to be read', async () => {
    const service = await open({})
    const serve = toNodeHandler(service.handler)
    const port = await listen((incoming, outgoing) => {
      Object.defineProperty(incoming, 'body', {
        get() {
          throw new Error('not read yet')
        },
      })
      void serve(incoming, outgoing)
    })
    expect((await call(port, 'POST /notes', { headers: JSON_BODY, body: BODY })).status).toBe(201)
  })
})

describe('HEAD tells the length that GET has', () => {
  const large = Array.from({ length: 1600 }, (_, n) => ({ _id: idOf(n + 1), title: `é${n}` }))
  const PATHS = [`/notes/${ID}`, '/notes?limit=3', '/notes/count', '/', '/nothing', '/notes?nothing']
  const service = createTestService(config, { documents: { notes: large } })

  test.each(PATHS)('%s', async (path) => {
    const get = await service.send(`GET ${path}`)
    const head = await service.send(`HEAD ${path}`)
    expect([head.status, head.text]).toEqual([get.status, ''])
    // Bytes, not characters.
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)))
  })

  test('and none for what is streamed, nor for what is known', async () => {
    const head = await service.send('HEAD /notes')
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', null])
    const etag = String((await service.send(`GET /notes/${ID}`)).headers.get('etag'))
    const known = await service.send(`HEAD /notes/${ID}`, { headers: { 'if-none-match': etag } })
    expect([known.status, known.headers.get('content-length')]).toEqual([304, null])
  })

  test.each<[server: string, open: () => Promise<number>]>([
    ['node:http', () => listen(toNodeHandler(service.handler))],
    [
      '@hono/node-server',
      () =>
        new Promise((resolve) =>
          serveByHono({ fetch: service.handler, port: 0 }, ({ port }) => resolve(port)),
        ),
    ],
  ])('over %s', async (_, serve) => {
    const port = await serve()
    for (const path of PATHS) {
      const { text } = await call(port, `GET ${path}`)
      const { headers } = await call(port, `HEAD ${path}`)
      expect([path, headers['content-length']]).toEqual([path, String(Buffer.byteLength(text))])
    }
    expect((await call(port, 'HEAD /notes')).headers['content-length']).toBeUndefined()
  })
})
