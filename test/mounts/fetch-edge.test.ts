import { getRequestListener } from '@hono/node-server'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import { type AnyConfig, createTestService, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf } from '../support/stored.js'
import { call, JSON_BODY, useListen } from './support/node.js'

/** CONTRACT.md §7, "Handler": what the handler reads of a web-standard request, and what it makes of an answer. */

const config: AnyConfig = {
  collections: {
    notes: {
      schema: { title: { type: 'string' } },
      permissions: { '*': { read: true, create: true } },
    },
  },
  limits: { bodyBytes: 1000 },
}

const ID = idOf(1)
const BODY = '{"title":"Hellö"}'

const storages = useStorages()
const opened = closeAfterEach()
const listen = useListen()

afterEach(() => vi.unstubAllGlobals())

/** A service with one note. */
async function open(
  options: NonNullable<Parameters<typeof createTestService>[1]> = {},
): Promise<TestService> {
  const service = createTestService(config, options)
  opened.push(service)
  const sent = { headers: { 'if-none-match': '*' }, body: { title: 'a' } }
  expect((await service.send(`PUT /notes/${ID}`, sent)).status).toBe(201)
  // What the start has said.
  service.logged.length = 0
  return service
}

const getOf = (path: string): Request => new Request(`http://service.test${path}`)

const postOf = (body: BodyInit, headers: { readonly [name: string]: string } = {}): Request =>
  new Request('http://service.test/notes', {
    method: 'POST',
    body,
    headers: { ...JSON_BODY, ...headers },
    duplex: 'half',
  } as RequestInit)

/** A request that notes each read of its parts, and of its headers by name. */
function watch(request: Request): { readonly watched: Request; readonly reads: string[] } {
  const reads: string[] = []
  const headers = {
    get(name: string): string | null {
      reads.push(name)
      return request.headers.get(name)
    },
  }
  const watched = new Proxy(request, {
    get(target, part) {
      reads.push(String(part))
      return part === 'headers' ? headers : Reflect.get(target, part, target)
    },
  })
  return { watched, reads }
}

/** The headers of proxies, of which the first requests of a service are searched (CONTRACT.md §7, "Addresses"). */
const FIRST = ['x-forwarded-for', 'forwarded'] as const

const READS: readonly [path: string, status: number, headers: readonly string[]][] = [
  [`/notes/${ID}`, 200, ['if-match', 'if-none-match']],
  [`/notes/${idOf(2)}`, 404, []],
  ['/notes?limit=1', 200, []],
  ['/notes/count', 200, []],
]

describe.each(storages)('on %s', (name, createAdapter) => {
  test.each(READS)('a read reads each part of its request once: %s', async (path, status, headers) => {
    const { handler } = await open({ adapter: createAdapter() })
    const { watched, reads } = watch(getOf(path))
    expect((await handler(watched)).status).toBe(status)
    // Only what waits listens to its client.
    const signals = reads.filter((part) => part === 'signal').length
    expect(signals).toBeLessThanOrEqual(name === 'memory' ? 0 : 1)
    expect(reads.filter((part) => part !== 'signal')).toEqual([
      'method',
      'url',
      'headers',
      ...FIRST,
      ...headers,
    ])
  })

  test('an answer that the runtime refuses is a 500, which the log explains', async () => {
    const { handler, logged } = await open({ adapter: createAdapter() })
    const Real = globalThis.Response
    const refused = new TypeError('not this one')
    vi.stubGlobal(
      'Response',
      class extends Real {
        constructor(body: BodyInit | null, init: ResponseInit) {
          if (init.status === 200) throw refused
          super(body, init)
        }
      },
    )
    expect((await handler(getOf(`/notes/${ID}`))).status).toBe(500)
    expect(logged.map(([, context]) => context)).toMatchObject([{ cause: refused }])
  })
})

test.each<[what: string, ask: readonly unknown[], status: number]>([
  ['a read', [getOf('/notes')], 200],
  ['a create', [postOf(BODY)], 201],
  ['nothing', [], 500],
  ['null', [null], 500],
  ['a URL', ['http://service.test/notes'], 500],
  ['what node calls a listener with', [{ headers: {} }, { writeHead() {}, end() {} }], 500],
])('the handler gives a promise for %s', async (_, args, status) => {
  const { handler } = await open()
  const answered = (handler as (...args: readonly unknown[]) => unknown)(...args)
  expect(answered).toBeInstanceOf(Promise)
  expect(((await answered) as Response).status).toBe(status)
})

test.each([
  ['http://service.test', '/', 200],
  ['http://service.test?limit=/notes', '/?limit=/notes', 400],
  ['http://service.test#/notes', '/', 200],
  ['http://service.test/notes#/?limit=x', '/notes', 200],
  ['http://service.test/notes?limit=1#?limit=x', '/notes?limit=1', 200],
  ['HTTPS://service.test/notes', '/notes', 200],
  ['capacitor://service.test/notes?limit=1', '/notes?limit=1', 200],
])('the URL %s asks for %s', async (url, path, status) => {
  const { handler } = await open()
  const ask = async (asked: string): Promise<unknown> => {
    const request = { method: 'GET', url: asked, headers: new Headers() }
    const response = await handler(request as Request)
    return [response.status, { ...(await response.json()), requestId: undefined }]
  }
  expect(await ask(url)).toEqual(await ask(`http://service.test${path}`))
  expect(await ask(url)).toMatchObject([status, {}])
})

test('who asks again and again in memory lets others have their turn each time', async () => {
  const { handler } = await open()
  let turns = 0
  let isAsking = true
  const other = (): void => {
    turns += 1
    if (isAsking) setImmediate(other)
  }
  setImmediate(other)
  for (let i = 0; i < 10; i++) await handler(getOf(`/notes/${ID}`))
  isAsking = false
  expect(turns).toBeGreaterThanOrEqual(9)
})

test('an answer is made of plain headers and bytes, which hosts send as they are', async () => {
  const { handler } = await open()
  const made: unknown[][] = []
  const Real = globalThis.Response
  vi.stubGlobal(
    'Response',
    class extends Real {
      constructor(body: BodyInit | null, init: ResponseInit) {
        made.push([body, init.headers])
        super(body, init)
      }
    },
  )
  for (const { 0: path } of READS) await handler(getOf(path))
  await handler(postOf(BODY))
  expect(made).toHaveLength(READS.length + 1)
  for (const [body, headers] of made) {
    expect(typeof body === 'string' || body instanceof Uint8Array).toBe(true)
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
  }
})

describe('a body that has another length than it says', () => {
  /** A body of so many pieces, and how many of them were taken. */
  function streamOf(piece: string, count: number) {
    const seen = { pulled: 0, isCancelled: false }
    const stream = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (seen.pulled === count) return controller.close()
          seen.pulled += 1
          controller.enqueue(new TextEncoder().encode(piece))
        },
        cancel() {
          seen.isCancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    return { stream, seen }
  }

  /** As a class of another library, with means of its own to read a body, however long that is. */
  const foreign = (request: Request) => ({
    method: request.method,
    url: request.url,
    headers: request.headers,
    signal: request.signal,
    body: request.body,
    bodyUsed: false,
    arrayBuffer: () => request.arrayBuffer(),
  })

  const KINDS: readonly [name: string, make: (request: Request) => object][] = [
    ['the runtime', (request) => request],
    ['another library', foreign],
  ]

  test.each(KINDS)('in a request of %s is cut off at the limit', async (_, make) => {
    const { handler, adapter } = await open()
    const { stream, seen } = streamOf(' '.repeat(400), 80)
    const response = await handler(make(postOf(stream, { 'content-length': '2' })) as Request)
    expect([response.status, (await response.json()).code]).toEqual([413, 'body_too_large'])
    expect(seen).toEqual({ pulled: 3, isCancelled: true })
    expect(await adapter.count('notes', everything, {})).toBe(1)
  })

  test.each(
    KINDS.flatMap(([name, make]) =>
      ['1', '900'].map((length): [string, string, (request: Request) => object] => [length, name, make]),
    ),
  )('is read as far as it goes: %s, in a request of %s', async (length, _, make) => {
    const { handler } = await open()
    const { stream } = streamOf(BODY, 1)
    const response = await handler(make(postOf(stream, { 'content-length': length })) as Request)
    expect(response.status).toBe(201)
    expect(await response.json()).toMatchObject({ title: 'Hellö' })
  })
})

describe('over @hono/node-server, a body of a known length', () => {
  const SENT: readonly [what: string, body: Buffer, status: number, code: string | undefined][] = [
    ['of UTF-8', Buffer.from(BODY), 201, undefined],
    ['of a mark and JSON', Buffer.from(`\ufeff${BODY}`), 201, undefined],
    ['of broken UTF-8', Buffer.from('{"title":"\xff"}', 'latin1'), 400, 'invalid_json'],
    ['of half a character', Buffer.from(BODY).subarray(0, 14), 400, 'invalid_json'],
    ['of a name twice', Buffer.from('{"title":"a","title":"b"}'), 201, undefined],
    ['of no JSON', Buffer.from('title'), 400, 'invalid_json'],
    ['of nothing', Buffer.from(''), 400, 'invalid_json'],
    ['of a list', Buffer.from('[]'), 400, 'validation_failed'],
  ]

  test.each(SENT)('%s is judged as that of a stream', async (_, body, status, code) => {
    const service = await open()
    const port = await listen(getRequestListener(service.handler, { overrideGlobalObjects: false }))
    const known = { ...JSON_BODY, 'content-length': String(body.length) }
    const sent = await call(port, 'POST /notes', { headers: known, body })
    const streamed = await service.handler(postOf(new Uint8Array(body)))
    expect([sent.status, sent.body.code]).toEqual([status, code])
    const judged = await streamed.json()
    expect([streamed.status, judged.code, judged.title]).toEqual([status, code, sent.body.title])
    expect(service.logged).toEqual([])
  })
})
