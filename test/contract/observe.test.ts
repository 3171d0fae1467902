import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { nameOperation } from '../../src/core/http/observe.js'
import { ROUTES } from '../../src/core/http/routes/table.js'
import type { RequestEvent } from '../../src/index.js'
import { createMemoryAdapter } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { useCaches } from '../support/caches.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf, replaceMethods } from '../support/stored.js'
import { until } from '../support/until.js'

// CONTRACT.md §8, "Observe"

const CONFIG = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
      },
      permissions: { owner: { read: true } },
    },
    notes: {
      changes: true,
      schema: { text: { type: 'string', required: true }, by: { type: 'reference', collection: 'users' } },
      permissions: { '*': { read: true }, user: true },
    },
  },
} as const

const NOTE = idOf(1)
const documents = { notes: [{ _id: NOTE, text: 'secret text' }] }
const credentials = { email: 'ann@example.com', password: 'secret password' }

const opened = closeAfterEach()

/** A service, and the events of its requests. */
function observed(options: Partial<Parameters<typeof createTestService>[1]> = {}) {
  const events: RequestEvent[] = []
  const service = createTestService(CONFIG, {
    adapter: createMemoryAdapter({ documents }),
    observe: (event) => void events.push(event),
    ...options,
  })
  opened.push(service)
  return { ...service, events }
}

type Expected = Pick<RequestEvent, 'operation' | 'collection' | 'route' | 'status' | 'code'>

const missing = idOf(9)
const requests: readonly (readonly [line: string, body: object | undefined, expected: Expected])[] = [
  ['GET /', undefined, { operation: 'collections', collection: null, route: '/', status: 200 }],
  [
    'GET /notes?q[text]=secret',
    undefined,
    { operation: 'list', collection: 'notes', route: '/notes', status: 200 },
  ],
  ['HEAD /notes', undefined, { operation: 'list', collection: 'notes', route: '/notes', status: 200 }],
  [
    'GET /notes/count',
    undefined,
    { operation: 'count', collection: 'notes', route: '/notes/count', status: 200 },
  ],
  [
    `GET /notes/${NOTE}`,
    undefined,
    { operation: 'read', collection: 'notes', route: '/notes/{id}', status: 200 },
  ],
  [
    `GET /notes/${missing}`,
    undefined,
    { operation: 'read', collection: 'notes', route: '/notes/{id}', status: 404, code: 'not_found' },
  ],
  [
    'POST /notes',
    { text: 'x' },
    { operation: 'create', collection: 'notes', route: '/notes', status: 401, code: 'unauthenticated' },
  ],
  [
    'GET /notes?secret=1',
    undefined,
    { operation: 'list', collection: 'notes', route: '/notes', status: 400, code: 'invalid_query' },
  ],
  [
    'DELETE /notes',
    undefined,
    { operation: null, collection: 'notes', route: '/notes', status: 405, code: 'method_not_allowed' },
  ],
  ['OPTIONS /notes', undefined, { operation: null, collection: 'notes', route: '/notes', status: 204 }],
  [
    'GET /secrets',
    undefined,
    { operation: null, collection: null, route: null, status: 404, code: 'not_found' },
  ],
  [
    'POST /auth/login',
    { ...credentials, password: 'wrong secret' },
    { operation: 'login', collection: null, route: '/auth/login', status: 401, code: 'invalid_credentials' },
  ],
  [
    'POST /_batch',
    { operations: [{ method: 'GET', path: `/notes/${NOTE}` }] },
    { operation: 'batch', collection: null, route: '/_batch', status: 200 },
  ],
]

describe('an observer is told of each request once', () => {
  test.each(requests)('%s', async (line, body, expected) => {
    const { send, events } = observed()
    await send(line, body ? { body } : {})
    await until(() => events.length > 0)
    const [event] = events
    const { operation, collection, route, status } = expected
    expect(event).toMatchObject({ operation, collection, route, status, method: line.split(' ')[0] })
    expect(event?.code).toBe(expected.code)
    expect([event?.aborted, event?.caller, events.length]).toEqual([false, 'anonymous', 1])
    // Nothing that was sent, asked for or stored.
    expect(JSON.stringify(events)).not.toMatch(/secret|ann@|0000/)
  })

  test('which has a name for each operation', () => {
    const all = ROUTES.flatMap(({ path, methods }) =>
      Object.keys(methods).map((method) => nameOperation(method, path)),
    )
    expect(new Set(all).size).toBe(all.length)
    for (const name of all) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/)
  })

  test('and who asks', async () => {
    const { send, events, handler } = observed()
    const { body } = await send('POST /auth/register', { body: credentials })
    await send('GET /notes', { token: body.token })
    await handler.as({ id: 'host' })(new Request('http://a/notes'))
    await until(() => events.length === 3)
    expect(events.map(({ operation, caller }) => [operation, caller])).toEqual([
      ['register', 'anonymous'],
      ['list', 'user'],
      ['list', 'host'],
    ])
  })

  test('under the id that a problem has, and the log', async () => {
    const list = () => Promise.reject(new Error('lost'))
    const broken = replaceMethods(createMemoryAdapter(), { list })
    const { send, events, logged } = observed({ adapter: broken })
    const { body } = await send('GET /notes', { mayFail: true })
    await until(() => events.length > 0)
    expect(events[0]).toMatchObject({ status: 500, code: 'internal_error', requestId: body.requestId })
    expect(events[0]?.storage).toMatchObject([{ operation: 'list', error: 'internal_error' }])
    expect(logged).toContainEqual(['request failed', expect.objectContaining({ requestId: body.requestId })])
  })

  test('but not of what a hook asks', async () => {
    const { handler, events } = observed({
      hooks: {
        notes: {
          async before({ api }) {
            await api(new Request('http://a/notes'))
          },
        },
      },
    })
    const body = JSON.stringify({ text: 'x' })
    const headers = { 'content-type': 'application/json' }
    await handler.as({ id: 'a' })(new Request('http://a/notes', { method: 'POST', body, headers }))
    await until(() => events.length > 0)
    expect(events.map(({ operation, status }) => [operation, status])).toEqual([['create', 201]])
    // The storage was asked by this request, even for another.
    expect(events[0]?.storage.map(({ operation }) => operation)).toEqual(['list', 'write'])
  })
})

describe.each(useStorages())('the calls of the storage, in %s,', (name, createAdapter) => {
  useCaches()

  test('are noted with their collections and times', async () => {
    const { send, events, handler } = observed({ adapter: await createAdapter() })
    await handler.ready()
    const begun = Date.now()
    const { token } = (await send('POST /auth/register', { body: credentials })).body
    await send('POST /notes', { token, body: { text: 'one' } })
    await send('GET /notes')
    await until(() => events.length === 3)
    const [, created, listed] = events
    const calls = (event?: RequestEvent) =>
      (event?.storage ?? []).map(({ operation, collection }) => `${operation} ${collection}`)
    // Who calls is found out before the body is read, and again once it was judged, unless the storage tells that nothing of it
    // was written meanwhile.
    const isTogether = name === 'PostgreSQL'
    const who = isTogether ? ['list _sessions'] : ['list _sessions', 'list users']
    expect(calls(created).slice(0, who.length)).toEqual(who)
    expect(calls(created).slice(who.length, -1)).toEqual(isTogether ? who : [])
    expect(calls(created).at(-1)).toBe('write notes')
    expect(calls(listed)).toEqual(['list notes'])
    const system = { memory: 'memory', SQLite: 'sqlite', PostgreSQL: 'postgresql' }[name]
    for (const event of events) {
      expect(Math.abs(event.startedAt - begun)).toBeLessThan(600_000)
      for (const call of event.storage) {
        expect(call.system).toBe(system)
        expect(call.startedAt).toBeGreaterThanOrEqual(event.startedAt)
        expect(call.startedAt + call.milliseconds).toBeLessThanOrEqual(
          event.startedAt + event.milliseconds + 0.001,
        )
      }
    }
  })
})

test('of calls of the storage, 100 are noted', async () => {
  const ids = Array.from({ length: 100 }, (_, i) => idOf(i))
  const notes = ids.map((_id) => ({ _id, text: 'x' }))
  const { handler, events } = observed({ adapter: createMemoryAdapter({ documents: { notes } }) })
  // Each of them is read, and then all are written.
  const operations = ids.map((id) => ({ method: 'DELETE', path: `/notes/${id}` }))
  const init = {
    method: 'POST',
    body: JSON.stringify({ operations }),
    headers: { 'content-type': 'application/json' },
  }
  await handler.as({ id: 'a' })(new Request('http://a/_batch', init))
  await until(() => events.length > 0)
  expect(events[0]?.status).toBe(200)
  expect(events[0]?.storage.map(({ operation }) => operation)).toEqual(ids.map(() => 'list'))
})

test.each([
  [
    'throws',
    () => {
      throw new Error('observer')
    },
  ],
  [
    'rejects',
    async () => {
      throw new Error('observer')
    },
  ],
])('an observer that %s changes nothing, and is logged', async (_, observe) => {
  const { send, logged } = observed({ observe })
  expect((await send('GET /notes')).status).toBe(200)
  await until(() => logged.length > 0)
  expect(logged).toEqual([
    ['options.observe failed', { requestId: expect.any(String), cause: new Error('observer') }],
  ])
})

describe('the end of a request', () => {
  const large = {
    notes: Array.from({ length: 1500 }, (_, i) => ({ _id: idOf(i), text: 'x'.repeat(20_000) })),
  }
  const context = new AsyncLocalStorage<string>()
  const servers: { close(): unknown; closeAllConnections(): void }[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  const observeContext = () => {
    const seen: (readonly [context: string | undefined, event: RequestEvent])[] = []
    const service = observed({
      adapter: createMemoryAdapter({ documents: large }),
      observe: (event) => void seen.push([context.getStore(), event]),
    })
    return { ...service, seen }
  }

  const serve = async (handler: ReturnType<typeof observed>['handler']): Promise<string> => {
    const answer = toNodeHandler(handler)
    const server = createServer((request, response) =>
      context.run(`of ${request.url}`, () => void answer(request, response)),
    )
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  test('comes when a stream was read, in the context of the request', async () => {
    const { handler, seen } = observeContext()
    const response = await context.run('of this request', () => handler(new Request('http://a/notes')))
    const reader = response.body?.getReader()
    await reader?.read()
    await new Promise((resolve) => setImmediate(resolve))
    expect(seen).toEqual([])
    while (!(await reader?.read())?.done);
    await until(() => seen.length > 0)
    expect(seen).toMatchObject([['of this request', { status: 200, aborted: false }]])
  })

  test('has the id under which the log says why a stream broke', async () => {
    const adapter = createMemoryAdapter({ documents: large })
    let lists = 0
    const list: typeof adapter.list = (...asked) => {
      lists += 1
      if (lists > 1) throw new Error('lost on the way')
      return adapter.list(...asked)
    }
    const { handler, events, logged } = observed({ adapter: replaceMethods(adapter, { list }) })
    const response = await handler(new Request('http://a/notes'))
    await expect(response.text()).rejects.toThrow()
    await until(() => events.length > 0)
    expect(events).toMatchObject([{ status: 200, aborted: true }])
    const requestId = events[0]?.requestId
    expect(logged).toContainEqual(['a response stream failed', expect.objectContaining({ requestId })])
  })

  test('comes when a stream is given up', async () => {
    const { handler, seen } = observeContext()
    const response = await context.run('of this request', () => handler(new Request('http://a/notes')))
    await response.body?.cancel()
    await until(() => seen.length > 0)
    expect(seen).toMatchObject([['of this request', { status: 200, aborted: true }]])
  })

  test.each(['/notes', '/notes/changes'])(
    'comes when the client of %s goes whose body nobody reads',
    async (path) => {
      const { handler, seen } = observeContext()
      const controller = new AbortController()
      const { signal } = controller
      const request = new Request(`http://a${path}`, { signal })
      expect((await context.run('of this request', () => handler(request))).status).toBe(200)
      await new Promise((resolve) => setImmediate(resolve))
      expect(seen).toEqual([])
      controller.abort()
      await until(() => seen.length > 0)
      await new Promise((resolve) => setImmediate(resolve))
      expect(seen).toMatchObject([['of this request', { status: 200, aborted: true }]])
    },
  )

  test('comes once where the client goes while its body is read', async () => {
    const { handler, seen } = observeContext()
    const controller = new AbortController()
    const response = await handler(new Request('http://a/notes', { signal: controller.signal }))
    const reader = response.body?.getReader()
    await reader?.read()
    controller.abort()
    while (!(await reader?.read().catch(() => ({ done: true })))?.done);
    await until(() => seen.length > 0)
    await new Promise((resolve) => setImmediate(resolve))
    expect(seen).toMatchObject([[undefined, { status: 200, aborted: true }]])
  })

  test('comes over Node when all was sent', async () => {
    const { handler, seen } = observeContext()
    const origin = await serve(handler)
    for (const path of ['/notes', `/notes/${idOf(1)}`, '/nosuch'])
      await (await fetch(`${origin}${path}`)).text()
    await until(() => seen.length === 3)
    expect(seen).toMatchObject([
      ['of /notes', { status: 200, aborted: false }],
      [`of /notes/${idOf(1)}`, { status: 200, aborted: false }],
      ['of /nosuch', { status: 404, aborted: false }],
    ])
  })

  test('comes over Node when the client goes', async () => {
    const { handler, seen } = observeContext()
    const asked = get(`${await serve(handler)}/notes`)
    const [response] = await once(asked, 'response')
    await once(response, 'data')
    response.destroy()
    await until(() => seen.length > 0)
    expect(seen).toMatchObject([['of /notes', { status: 200, aborted: true }]])
  })
})
