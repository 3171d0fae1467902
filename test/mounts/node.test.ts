import { EventEmitter, once } from 'node:events'
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import express from 'express'
import { createRequest, createResponse, type RequestOptions } from 'node-mocks-http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Handler } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { answerAtDeadline } from '../support/deadlines.js'
import { type AnyConfig, createTestService, type TestService } from '../support/service.js'

const config = {
  collections: {
    articles: {
      schema: {
        title: { type: 'string', required: true, maxLength: 900 },
        tags: { type: 'array', items: { type: 'string' } },
      },
      permissions: { '*': { read: true, create: true } },
    },
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
      },
    },
  },
  limits: { bodyBytes: 1000 },
} as const satisfies AnyConfig

const seeded = (): TestService => createTestService(config, { documents: { articles: [{ title: 'Hello' }] } })

const servers: Server[] = []

/** Listens on a free port until the tests of the block are over. */
async function listen(listener: RequestListener, options: ServerOptions = {}): Promise<number> {
  const server = createServer(options, listener)
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

afterAll(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any
}

interface Call {
  readonly headers?: { readonly [name: string]: string | string[] }
  readonly body?: string | Buffer
  readonly agent?: Agent
}

/** Sends a request line such as `GET /articles` as it is, without a URL in between. */
async function call(port: number, line: string, { headers = {}, body, agent }: Call = {}): Promise<Answer> {
  const [method = 'GET', path = '/'] = line.split(' ')
  const request = httpRequest({ port, host: '127.0.0.1', method, path, headers, ...(agent ? { agent } : {}) })
  request.end(body)
  const [response] = await once(request, 'response')
  // A service that refuses a body hangs up on whoever goes on sending it.
  request.on('error', () => {})
  const text = Buffer.concat(await response.toArray()).toString()
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

const JSON_BODY = { 'content-type': 'application/json' }
const post = (port: number, body: object | string, headers: Call['headers'] = JSON_BODY): Promise<Answer> =>
  call(port, 'POST /articles', { headers, body: typeof body === 'string' ? body : JSON.stringify(body) })

/** Opens a socket and writes to it as it is. */
async function open(port: number, ...lines: string[]): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(lines.join('\r\n'), 'latin1')
  return socket
}

/** What comes back until the other side hangs up. */
async function readAll(socket: Socket): Promise<{ status: number; text: string }> {
  const text = Buffer.concat(await socket.toArray()).toString('latin1')
  return { status: Number(text.split(' ', 2)[1]), text }
}

/** Sends a head without a body, and `Connection: close`. */
const sendHead = async (port: number, ...lines: string[]) =>
  readAll(await open(port, ...lines, 'Connection: close', '', ''))

const titlesOf = (text: string): string[] =>
  JSON.parse(text.slice(text.indexOf('['))).map(({ title }: { title: string }) => title)

describe('a request line through a socket', () => {
  let service: TestService
  let port: number
  beforeAll(async () => {
    service = seeded()
    port = await listen(toNodeHandler(service.handler))
  })
  afterEach(async () => {
    expect((await call(port, 'GET /articles/count')).body).toEqual({ total: 1 })
    expect(service.logged).toEqual([])
  })

  test.each([
    ['a path and a query in Host', 'GET /articles HTTP/1.1', 'Host: h/users?x='],
    ['a user in Host', 'GET /articles HTTP/1.1', 'Host: good@evil'],
    ['a path that begins with two slashes in Host', 'GET /articles HTTP/1.1', 'Host: //evil.com/users'],
    ['two Host lines', 'GET /articles HTTP/1.1', 'Host: one', 'Host: two/users'],
    ['an empty Host', 'GET /articles HTTP/1.1', 'Host:'],
    ['no Host, in HTTP/1.0', 'GET /articles HTTP/1.0'],
    [
      'a forwarded host and path',
      'GET /articles HTTP/1.1',
      'Host: h',
      'X-Forwarded-Host: evil',
      'X-Original-URL: /users',
    ],
    ['an override of the method', 'GET /articles HTTP/1.1', 'Host: h', 'X-HTTP-Method-Override: DELETE'],
    ['a target in absolute form', 'GET http://other/articles HTTP/1.1', 'Host: h'],
    [
      'a target in absolute form with a port and a query',
      'GET HTTP://other:81/articles?limit=1 HTTP/1.1',
      'Host: h',
    ],
    ['a trailing slash', 'GET /articles/ HTTP/1.1', 'Host: h'],
    ['an encoded letter', 'GET /%61rticles HTTP/1.1', 'Host: h'],
  ])('alone decides the path: %s', async (_, ...head) => {
    const { status, text } = await sendHead(port, ...head)
    expect(status, text).toBe(200)
    expect(titlesOf(text)).toEqual(['Hello'])
  })

  test.each([
    ['the host of an absolute form', 'http://articles/users', 401],
    ['an absolute form without a path', 'http://articles/?limit=1', 400],
    ['an absolute form of another scheme', 'ftp://h/articles', 404],
    ['two slashes in front', '//evil.com/articles', 404],
    ['three slashes in front', '///articles', 404],
    ['two slashes within', '/articles//count', 404],
    ['a backslash', '/articles\\count', 404],
    ['dots', '/articles/../users', 404],
    ['dots from nowhere', '/a/../articles', 404],
    ['a single dot', '/./articles', 404],
    ['encoded dots', '/articles/%2e%2e/users', 404],
    ['encoded dots alone', '/articles/%2e%2e', 404],
    ['an encoded slash', '/articles%2fcount', 404],
    ['encoded dots and slash', '/articles/..%2fusers', 404],
    ['a letter encoded twice', '/%2561rticles', 404],
    ['an encoded NUL', '/articles%00', 404],
    ['percent signs that are no UTF-8', '/%ff', 404],
    ['percent signs that are no UTF-8 as an id', '/articles/%ff', 404],
    ['a fragment', '/articles#/users', 404],
    ['a parameter of the path', '/articles;v=1', 404],
    ['another case', '/Articles', 404],
    ['two slashes alone', '//', 404],
    ['an asterisk', '*', 404],
    ['the name of an inherited property', '/__proto__', 404],
  ])('never reaches the articles by %s', async (_, target, expected) => {
    const { status, text } = await sendHead(port, `GET ${target} HTTP/1.1`, 'Host: h')
    expect(status, text).toBe(expected)
    expect(text).not.toContain('Hello')
  })

  test.each([
    ['a method in lower case', ['get /articles HTTP/1.1', 'Host: h'], 400],
    ['an unknown method', ['FOO /articles HTTP/1.1', 'Host: h'], 400],
    ['no Host', ['GET /articles HTTP/1.1'], 400],
    ['a path in raw UTF-8', ['GET /articl\u00c3\u00a9s HTTP/1.1', 'Host: h'], 400],
    ['a line of 17 kB', [`GET /articles?q[title]=${'x'.repeat(17_000)} HTTP/1.1`, 'Host: h'], 431],
    [
      'a header of 64 kB of blanks',
      ['GET /articles HTTP/1.1', 'Host: h', `Accept: a${' '.repeat(65_536)}b`],
      431,
    ],
    [
      'a length beside chunks',
      ['POST /articles HTTP/1.1', 'Host: h', 'Content-Length: 5', 'Transfer-Encoding: chunked'],
      400,
    ],
  ])('is refused before the service sees it: %s', async (_, head, expected) => {
    expect((await sendHead(port, ...head)).status).toBe(expected)
  })

  test('is answered once where its chunks are broken, and nothing is stored', async () => {
    const socket = await open(
      port,
      'POST /articles HTTP/1.1',
      'Host: h',
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
      '',
      '5',
      '{"tit',
      'zz',
      '',
      '',
    )
    expect((await readAll(socket)).status).toBe(400)
  })

  test('may carry 200 headers, one called __proto__ and one in Latin-1', async () => {
    const many = Array.from({ length: 200 }, (_, i) => `X-Header-${i}: ${i}`)
    const { status } = await sendHead(
      port,
      'GET /articles HTTP/1.1',
      'Host: h',
      '__proto__: x',
      'X-Name: \u00e9',
      ...many,
    )
    expect(status).toBe(200)
  })

  test.each([
    'GET /articles',
    'GET /articles?limit=0',
    'GET /articles/count',
    'GET /articles?nope=1',
    'GET /users',
    'GET /nosuch',
  ])('%s has the same status and headers with HEAD, and no body', async (line) => {
    const get = await call(port, line)
    const head = await call(port, line.replace('GET', 'HEAD'))
    const { date: _, ...expected } = get.headers
    const { date: __, ...found } = head.headers
    expect(head.status).toBe(get.status)
    expect(found).toEqual(expected)
    expect(Number(found['content-length'])).toBe(Buffer.byteLength(get.text))
    expect(head.text).toBe('')
  })

  test.each([
    ['/articles', 'GET, HEAD, POST, OPTIONS'],
    ['/users', 'GET, HEAD, POST, OPTIONS'],
    ['/articles/count', 'GET, HEAD, OPTIONS'],
    ['/auth/register', 'POST, OPTIONS'],
  ])('OPTIONS %s says what is allowed without looking at a token', async (path, allow) => {
    const answer = await call(port, `OPTIONS ${path}`, { headers: { authorization: 'Bearer nonsense' } })
    expect(answer.status).toBe(204)
    expect(answer.headers.allow).toBe(allow)
    expect(answer.text).toBe('')
  })

  test.each([
    ['TRACE /articles', 'GET, HEAD, POST, OPTIONS'],
    ['PURGE /articles', 'GET, HEAD, POST, OPTIONS'],
    ['PUT /articles', 'GET, HEAD, POST, OPTIONS'],
    ['DELETE /articles/count', 'GET, HEAD, OPTIONS'],
    ['TRACE /articles/count', 'GET, HEAD, OPTIONS'],
    ['GET /auth/register', 'POST, OPTIONS'],
  ])('%s is not allowed and says what is', async (line, allow) => {
    const { status, headers, body } = await call(port, line)
    expect(status).toBe(405)
    expect(headers.allow).toBe(allow)
    expect(body).toMatchObject({ status: 405, code: 'method_not_allowed' })
  })

  test('of an unknown path is not found, whatever the method', async () => {
    expect((await call(port, 'TRACE /nosuch')).status).toBe(404)
    expect((await call(port, 'OPTIONS /nosuch')).status).toBe(404)
  })
})

describe('a body through a socket', () => {
  let service: TestService
  let port: number
  beforeEach(async () => {
    service = createTestService(config)
    port = await listen(toNodeHandler(service.handler))
  })

  const count = async (): Promise<number> => (await call(port, 'GET /articles/count')).body.total

  test('is read whole, and the connection serves the next request', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ports = new Set<number | undefined>()
    agent.on('free', (socket: Socket) => ports.add(socket.localPort))
    const created = await call(port, 'POST /articles', {
      agent,
      headers: JSON_BODY,
      body: JSON.stringify({ title: 'Grüße' }),
    })
    expect(created.status).toBe(201)
    expect(created.headers.location).toBe(`/articles/${created.body._id}`)
    expect(Number(created.headers['content-length'])).toBe(Buffer.byteLength(created.text))
    const read = await call(port, `GET ${created.headers.location}`, { agent })
    expect(read.body).toEqual(created.body)
    expect(read.headers.connection).not.toBe('close')
    agent.destroy()
    expect(ports.size).toBe(1)
  })

  test('may follow another request on the same connection at once', async () => {
    const body = JSON.stringify({ title: 'First' })
    const socket = await open(
      port,
      'POST /articles HTTP/1.1',
      'Host: h',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      `${body}GET /articles/count HTTP/1.1`,
      'Host: h',
      'Connection: close',
      '',
      '',
    )
    const { text } = await readAll(socket)
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 201', 'HTTP/1.1 200'])
  })

  test('may be waited for with 100 Continue', async () => {
    const socket = await open(
      port,
      'POST /articles HTTP/1.1',
      'Host: h',
      'Expect: 100-continue',
      'Content-Length: 13',
      'Connection: close',
      '',
      '',
    )
    const [first] = await once(socket, 'data')
    expect(String(first)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('{"title":"A"}')
    expect((await readAll(socket)).status).toBe(201)
  })

  test('that nobody will read does not leak into the next request', async () => {
    const smuggled = 'GET /articles HTTP/1.1\r\nHost: h\r\n\r\n'
    const socket = await open(
      port,
      'POST /users HTTP/1.1',
      'Host: h',
      `Content-Length: ${smuggled.length}`,
      '',
      smuggled,
    )
    const { status, text } = await readAll(socket)
    expect(status).toBe(401)
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })

  const sized = (bytes: number): string => JSON.stringify({ title: 'x', tags: ['y'.repeat(bytes - 25)] })

  test('of exactly the limit is taken', async () => {
    expect(sized(1000)).toHaveLength(1000)
    expect((await post(port, sized(1000))).status).toBe(201)
  })

  test.each([
    ['by one byte, with its length', 1001, {}],
    ['by one byte, in chunks', 1001, { 'transfer-encoding': 'chunked' }],
    ['by megabytes, with its length', 4_000_000, {}],
    ['by megabytes, in chunks', 4_000_000, { 'transfer-encoding': 'chunked' }],
  ])('above the limit %s is refused and not stored', async (_, bytes, headers) => {
    const { status, body } = await post(port, sized(bytes), { ...JSON_BODY, ...headers })
    expect(status).toBe(413)
    expect(body).toMatchObject({ code: 'body_too_large' })
    expect(await count()).toBe(0)
  })

  test('that announces too much is refused before it comes', async () => {
    const socket = await open(port, 'POST /articles HTTP/1.1', 'Host: h', 'Content-Length: 1000001', '', '')
    expect((await readAll(socket)).status).toBe(413)
  })

  test.each([
    ['with its length', 'Content-Length: 100', '{"title":'],
    ['in chunks', 'Transfer-Encoding: chunked', '9\r\n{"title":\r\n'],
  ])('that stalls %s is given up with 408', async (_, header, part) => {
    const slow = createTestService(config)
    const answer = toNodeHandler(slow.handler)
    const arrival = new EventEmitter()
    const slowPort = await listen((request, response) => {
      arrival.emit('request', answer(request, response))
    })
    const { status, text } = await answerAtDeadline(once(arrival, 'request'), async () =>
      readAll(await open(slowPort, 'POST /articles HTTP/1.1', 'Host: h', header, '', part)),
    )
    expect(status).toBe(408)
    expect(text).toContain('"code":"request_timeout"')
    expect((await call(slowPort, 'GET /articles/count')).body).toEqual({ total: 0 })
    expect(slow.logged).toEqual([])
  })

  test.each([
    ['a body with its length', 'Content-Length: 100', '{"title":"half'],
    ['a body in chunks', 'Transfer-Encoding: chunked', '9\r\n{"title":\r\n'],
    ['a body that has not begun', 'Content-Length: 100', ''],
  ])('whose sender leaves is forgotten: %s', async (_, header, part) => {
    const answer = toNodeHandler(service.handler)
    const arrival = new EventEmitter()
    const leavingPort = await listen((request, response) => {
      arrival.emit('request', { answered: answer(request, response) })
    })
    const arrived = once(arrival, 'request')
    const socket = await open(leavingPort, 'POST /articles HTTP/1.1', 'Host: h', header, '', part)
    const [{ answered }] = await arrived
    socket.destroy()
    await answered
    expect(await count()).toBe(0)
    expect((await post(port, { title: 'Next' })).status).toBe(201)
    expect(service.logged).toEqual([])
  })
})

describe('a header of 64 kB of blanks that the server lets in', () => {
  const blanks = ' '.repeat(65_536)
  test.each([
    ['before a token', 'Authorization', `Bearer ${blanks}x`, 401],
    ['after a token', 'Authorization', `Bearer x${blanks}y`, 401],
    ['in place of a token', 'Authorization', `Bearer${blanks}.`, 401],
    ['before a charset', 'Content-Type', `application/json;${blanks}charset=latin1`, 415],
    ['within a type', 'Content-Type', `application/${blanks}+json`, 415],
    ['within an encoding', 'Content-Encoding', `a${blanks}b`, 415],
    ['within an origin', 'Origin', `http://a${blanks}b`, 201],
    ['between types', 'Accept', `a${blanks}b`, 201],
    ['between tags', 'If-None-Match', `"a"${blanks}"b"`, 201],
  ])('is judged like any other: %s', async (_, name, value, expected) => {
    const service = createTestService(config, { cors: { origins: ['http://a'] } })
    const port = await listen(toNodeHandler(service.handler), { maxHeaderSize: 1 << 20 })
    const { status, headers } = await post(
      port,
      { title: 'x' },
      { ...JSON_BODY, [name.toLowerCase()]: value },
    )
    expect(status).toBe(expected)
    expect(headers).not.toHaveProperty('access-control-allow-origin')
  })
})

/** Answers through node-mocks-http, whose requests are no streams. */
async function callGlue(handler: Handler, options: RequestOptions): Promise<Answer> {
  const request = createRequest(options)
  if ('body' in options) request.body = options.body
  // As Express has it in an application that is mounted nowhere.
  if (options.baseUrl === undefined) request.baseUrl = ''
  const response = createResponse({ req: request })
  await toNodeHandler(handler)(request, response)
  const text = response._getBuffer().toString() || response._getData()
  const headers = response.getHeaders() as IncomingHttpHeaders
  return { status: response.statusCode, headers, text, body: text === '' ? undefined : JSON.parse(text) }
}

describe('a body that something before has parsed', () => {
  const create = (body: unknown, headers: { [name: string]: string } = JSON_BODY): Promise<Answer> =>
    callGlue(createTestService(config).handler, {
      method: 'POST',
      url: '/articles',
      headers,
      body: body as object,
    })

  test.each([
    ['an object', { title: 'Hello' }],
    ['a text', '{"title":"Hello"}'],
    ['a Buffer', Buffer.from('{"title":"Hello"}')],
    ['an array of bytes', new TextEncoder().encode('{"title":"Hello"}')],
    ['an object without a prototype', Object.assign(Object.create(null), { title: 'Hello' })],
  ])('is taken as it is: %s', async (_, body) => {
    const { status, body: created, headers } = await create(body)
    expect(status).toBe(201)
    expect(created).toMatchObject({ title: 'Hello' })
    expect(headers.location).toBe(`/articles/${created._id}`)
  })

  const cycle: { title: string; self?: object } = { title: 'x' }
  cycle.self = cycle
  let deep: object = {}
  for (let i = 0; i < 100_000; i++) deep = { deep }

  test.each<[string, unknown, number, string]>([
    ['a cycle', cycle, 400, 'invalid_json'],
    ['a depth that overflows the stack', { title: 'x', deep }, 400, 'invalid_json'],
    ['a number that JSON lacks', { title: 1n }, 400, 'invalid_json'],
    [
      'a getter that throws',
      Object.defineProperty({}, 'title', {
        enumerable: true,
        get() {
          throw new Error('secret')
        },
      }),
      400,
      'invalid_json',
    ],
    ['an own __proto__', JSON.parse('{"title":"x","__proto__":{"admin":true}}'), 400, 'validation_failed'],
    [
      'an own __proto__ deep inside',
      JSON.parse('{"title":"x","a":[{"__proto__":1}]}'),
      400,
      'validation_failed',
    ],
    ['an array', [{ title: 'x' }], 400, 'validation_failed'],
    ['a number', 42, 400, 'validation_failed'],
    ['a function', () => ({ title: 'x' }), 400, 'invalid_json'],
    ['an operator in place of a value', { title: { $gt: '' } }, 400, 'validation_failed'],
    ['a title that is no text when written out', { title: { toJSON: () => 7 } }, 400, 'validation_failed'],
    ['a text that is no JSON', 'title=x', 400, 'invalid_json'],
    ['an empty text', '', 400, 'invalid_json'],
    ['null', null, 400, 'validation_failed'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 400, 'invalid_json'],
    ['an object above the limit', { title: 'x', tags: ['y'.repeat(2000)] }, 413, 'body_too_large'],
    [
      'a text above the limit',
      JSON.stringify({ title: 'x', tags: ['y'.repeat(2000)] }),
      413,
      'body_too_large',
    ],
  ])('is judged like one that was sent: %s', async (_, body, status, code) => {
    const answer = await create(body)
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code })
    expect(answer.text).not.toContain('secret')
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('keeps the media type that it was sent with', async () => {
    const form = await create({ title: 'x' }, { 'content-type': 'application/x-www-form-urlencoded' })
    expect(form.status).toBe(415)
  })

  test('is not asked for by a request that has none', async () => {
    const { handler } = createTestService(config)
    const { status, body, headers } = await callGlue(handler, { method: 'GET', url: '/articles/count' })
    expect(status).toBe(200)
    expect(body).toEqual({ total: 0 })
    expect(headers['content-length']).toBe(11)
    const head = await callGlue(handler, { method: 'HEAD', url: '/articles/count' })
    expect({ status: head.status, text: head.text, length: head.headers['content-length'] }).toEqual({
      status: 200,
      text: '',
      length: 11,
    })
  })

  test('is served where a mocked request is left as it was made', async () => {
    const { handler } = createTestService(config)
    const request = createRequest({
      method: 'POST',
      url: '/articles',
      headers: JSON_BODY,
      body: { title: 'x' },
    })
    const response = createResponse({ req: request })
    await toNodeHandler(handler)(request, response)
    expect(response.statusCode).toBe(201)
  })

  /** A middleware that leaves the stream alone, as Express 4 parsers do with types that are none of theirs. */
  const listenBehind = (parsed: object): Promise<number> => {
    const answer = toNodeHandler(createTestService(config).handler)
    return listen((request, response) => void answer(Object.assign(request, parsed), response))
  }

  test('is read from the stream where a parser has only put an empty object in its place', async () => {
    const port = await listenBehind({ body: {} })
    const { status, body } = await post(
      port,
      { title: 'Sent' },
      { 'content-type': 'application/merge-patch+json' },
    )
    expect(status).toBe(201)
    expect(body).toMatchObject({ title: 'Sent' })
    expect((await post(port, '')).body).toMatchObject({ code: 'invalid_json' })
  })

  test('counts where the parser says so, though the stream has not ended', async () => {
    const port = await listenBehind({ body: { title: 'Parsed' }, _body: true })
    const { status, body } = await post(port, { title: 'Sent' })
    expect(status).toBe(201)
    expect(body).toMatchObject({ title: 'Parsed' })
  })

  const form = '{"title":"Hello"}'
  test.each([
    ['json', express.json(), JSON_BODY],
    ['json of any type', express.json({ type: () => true }), { 'content-type': 'application/ld+json' }],
    ['text', express.text({ type: () => true }), JSON_BODY],
    ['raw', express.raw({ type: () => true }), JSON_BODY],
    ['urlencoded, which is not for it', express.urlencoded({ extended: true }), JSON_BODY],
    ['none at all', (_request: unknown, _response: unknown, next: () => void) => next(), JSON_BODY],
  ])('comes through a parser of Express: %s', async (_, parser, headers) => {
    const app = express()
    app.use(parser, toNodeHandler(createTestService(config).handler))
    const port = await listen(app)
    const { status, body } = await post(port, form, headers)
    expect(status).toBe(201)
    expect(body).toMatchObject({ title: 'Hello' })
  })
})

test('Express with settings and parsers of its own gives the answers of the bare handler', async () => {
  const service = seeded()
  const app = express()
  app.set('query parser', () => ({ q: { title: 'Bye' } }))
  app.set('trust proxy', true)
  app.use(express.json(), express.urlencoded({ extended: true }))
  app.use(toNodeHandler(service.handler))
  const port = await listen(app)
  const lines: readonly [line: string, body?: string | undefined, headers?: { [name: string]: string }][] = [
    ['GET /articles'],
    ['GET /articles?q[title]=Hello&q[title][$ne]=x'],
    ['GET /articles?q[title][$gt]=%22A%22&limit=1&sort[title]=-1'],
    ['GET /articles?q[__proto__]=x'],
    ['GET /articles?q[title]=a&limit=1&limit=2'],
    ['GET /articles?project=%ff'],
    ['GET /articles?_method=DELETE'],
    ['GET /articles/count?q[title]=Hello'],
    ['GET /articles/nothing'],
    ['GET /users'],
    ['GET /users', undefined, { authorization: 'Bearer x' }],
    ['GET /auth/me'],
    ['GET /__proto__'],
    ['PUT /articles', '{}', JSON_BODY],
    ['POST /articles', '{"title":1}', JSON_BODY],
    ['POST /articles', '[]', JSON_BODY],
    ['POST /articles', '{"title":"x"}', { 'content-type': 'text/html' }],
    ['POST /articles', 'title=x', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['POST /articles', '{"__proto__":1}', JSON_BODY],
    ['POST /users', '{"title":', { 'content-type': 'text/plain' }],
    ['POST /auth/login', '{"email":1,"password":"x"}', JSON_BODY],
    ['POST /auth/login', '{"email":"a","password":"x"}', JSON_BODY],
  ]
  const strip = (text: string): string => text.replace(/"requestId":"[^"]*"/, '')
  for (const [line, body, headers = {}] of lines) {
    const proxied = { ...headers, 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
    const through = await call(port, line, { headers: proxied, ...(body === undefined ? {} : { body }) })
    const bare = await service.send(line, { headers, ...(body === undefined ? {} : { raw: body }) })
    expect([line, through.status, strip(through.text)]).toEqual([line, bare.status, strip(bare.text)])
    for (const name of ['content-type', 'vary', 'cache-control', 'allow', 'www-authenticate']) {
      expect([line, name, through.headers[name] ?? null]).toEqual([line, name, bare.headers.get(name)])
    }
  }
})

describe('a text that a parser has left in place of a body', () => {
  const object = '{"title":"x"}'
  const inQuotes = JSON.stringify(object)
  const TEXT_BODY = { 'content-type': 'text/plain' }
  const chunked = { ...JSON_BODY, 'transfer-encoding': 'chunked' }
  const anyJson = express.json({ strict: false, type: () => true })
  const anyText = express.text({ type: () => true })

  test.each<
    [what: string, parser: express.RequestHandler, raw: string, headers: Call['headers'], expected: unknown]
  >([
    ['JSON of a text', express.json({ strict: false }), inQuotes, JSON_BODY, ['validation_failed', ['']]],
    [
      'JSON of a text, in chunks',
      express.json({ strict: false }),
      inQuotes,
      chunked,
      ['validation_failed', ['']],
    ],
    ['JSON of an empty text', express.json({ strict: false }), '""', JSON_BODY, ['validation_failed', ['']]],
    ['JSON of a text with escapes', anyJson, '"\\u007b\\u007d"', JSON_BODY, ['validation_failed', ['']]],
    ['JSON of a number', express.json({ strict: false }), '5', JSON_BODY, ['validation_failed', ['']]],
    ['JSON of an object', express.json({ strict: false }), object, JSON_BODY, 201],
    ['text of an object', express.text(), object, TEXT_BODY, 201],
    ['text of an object, in chunks', express.text(), object, { ...chunked, ...TEXT_BODY }, 201],
    ['text of an object that was sent as JSON', anyText, object, JSON_BODY, 201],
    ['text of more than ASCII that was sent as JSON', anyText, '{"title":"é\u{1f600}"}', JSON_BODY, 201],
    ['text of a text', express.text(), inQuotes, TEXT_BODY, ['validation_failed', ['']]],
    ['text of a text that was sent as JSON', anyText, inQuotes, JSON_BODY, ['validation_failed', ['']]],
    ['text of no JSON', express.text(), 'title=x', TEXT_BODY, ['invalid_json', undefined]],
    ['bytes of an object', express.raw({ type: () => true }), object, JSON_BODY, 201],
    ['bytes of a text', express.raw({ type: () => true }), inQuotes, JSON_BODY, ['validation_failed', ['']]],
  ])('is what was sent: %s', async (_, parser, raw, headers, expected) => {
    const { handler } = createTestService(config)
    const port = await listen(express().use(parser, toNodeHandler(handler)))
    const { status, body } = await post(port, raw, headers)
    const faults = body.errors?.map(({ path }: { path: string }) => path)
    expect(status === 201 ? 201 : [body.code, faults]).toEqual(expected)
  })
})

describe('a body that the host has read', () => {
  /** Reads the body as a framework does, whatever the request says of it. */
  const parse = async (request: AsyncIterable<Buffer>): Promise<unknown> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString())
  }

  test('is a fault of the host where it is handed over to nobody, and the log says how', async () => {
    const { handler, logged } = createTestService(config)
    const port = await listen(async (request, response) => {
      await parse(request)
      void toNodeHandler(handler)(request, response)
    })
    const answer = await post(port, { title: 'x' })
    expect([answer.status, answer.body.code]).toEqual([500, 'internal_error'])
    expect(logged).toHaveLength(1)
    expect(logged.flat()).toContainEqual({
      requestId: answer.body.requestId,
      cause: expect.objectContaining({ message: expect.stringContaining('request.body') }),
    })
  })

  test('is taken where it is put on the request of node', async () => {
    const { handler } = createTestService(config)
    const port = await listen(async (request, response) => {
      const body = await parse(request)
      void toNodeHandler(handler)(Object.assign(request, { body }), response)
    })
    expect((await post(port, { title: 'x' })).status).toBe(201)
    const answer = await post(port, '"{}"')
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, ''])
    expect((await call(port, 'POST /articles', { body: '{"title":"x"}' })).status).toBe(201)
  })
})

describe('a handler that a host calls without toNodeHandler', () => {
  const mounts: readonly [string, (handler: Handler) => RequestListener][] = [
    ['node:http', (handler) => handler as never],
    ['Express', (handler) => express().use('/api', handler as never)],
    ['Express, for every path', (handler) => express().use(handler as never)],
    ['Express, as a route', (handler) => express().all('/{*path}', handler as never)],
    ['on the word of the host', (handler) => express().use(handler.as({ id: 'ann' }) as never)],
  ]
  test.each(mounts)('answers 500 and logs what to write: %s', async (_, mount) => {
    const { handler, logged } = createTestService(config)
    const port = await listen(mount(handler))
    for (const line of ['GET /api/articles', 'POST /api/articles', 'OPTIONS /api/articles']) {
      logged.length = 0
      const { status, headers, body } = await call(port, line)
      expect([status, body.code]).toEqual([500, 'internal_error'])
      expect(headers).toMatchObject({
        'content-type': 'application/problem+json',
        'x-content-type-options': 'nosniff',
        vary: 'Authorization',
      })
      expect(logged.map(([, details]) => details)).toEqual([
        {
          requestId: body.requestId,
          cause: expect.objectContaining({ message: expect.stringContaining('toNodeHandler(handler)') }),
        },
      ])
    }
    expect((await call(port, 'HEAD /api/articles')).status).toBe(500)
  })

  const unreachable = (): never => {
    throw new Error('was answered already')
  }
  test.each<[string, readonly unknown[]]>([
    ['nothing', []],
    ['text', ['http://x/articles']],
    ['a request of node alone', [createRequest()]],
    ['a response that cannot be written', [createRequest(), { writeHead: unreachable, end: unreachable }]],
  ])('never throws and never rejects: %s', async (_, args) => {
    const { handler, logged } = createTestService(config)
    const response = await (handler as (...args: readonly unknown[]) => Promise<Response>)(...args)
    expect(response.status).toBe(500)
    expect(logged.length).toBeGreaterThan(0)
  })
})

describe('headers that something before has set', () => {
  /** As cors, compression and sessions set theirs. */
  const before = {
    vary: 'Origin, accept-encoding',
    link: ['<https://a.example>; rel="author"', '<https://b.example/?a,b>; rel="help"'],
    'access-control-expose-headers': 'X-Mine, etag',
    'set-cookie': ['a=1', 'b=2'],
    'x-powered-by': 'the host',
    'cache-control': 'public, max-age=60',
    'www-authenticate': 'Basic realm="a, b"',
    'content-type': 'text/html',
    etag: '"of the host"',
  }
  const mounts: readonly [string, (handler: Handler) => RequestListener][] = [
    [
      'node:http',
      (handler) => (request, response) => {
        for (const [name, value] of Object.entries(before)) response.setHeader(name, value)
        void toNodeHandler(handler)(request, response)
      },
    ],
    [
      'Express',
      (handler) =>
        express()
          .disable('x-powered-by')
          .use((_, response, next) => {
            response.set(before)
            next()
          })
          .use(toNodeHandler(handler)),
    ],
  ]
  test.each(mounts)('stay, and those that are lists get ours as well: %s', async (_, mount) => {
    const { handler } = createTestService(config, {
      cors: { origins: ['https://c.example'] },
      documents: { articles: [{ title: 'a' }, { title: 'b' }] },
    })
    const port = await listen(mount(handler))
    const names = (list: unknown): string[] => String(list).toLowerCase().split(', ')

    const headers = { origin: 'https://c.example' }
    const list = await call(port, 'GET /articles?limit=1', { headers })
    expect(list.status).toBe(200)
    expect(names(list.headers.vary)).toEqual(['origin', 'accept-encoding', 'authorization'])
    expect(list.headers.link).toMatch(
      /^<https:\/\/a.example>; rel="author", <https:\/\/b.example\/\?a,b>; rel="help", <\/articles\?[^>]*>; rel="next"$/,
    )
    const exposed = names(list.headers['access-control-expose-headers'])
    expect(exposed.slice(0, 2)).toEqual(['x-mine', 'etag'])
    expect(exposed).toContain('location')
    expect(new Set(exposed).size).toBe(exposed.length)
    expect(list.headers['set-cookie']).toEqual(['a=1', 'b=2'])
    expect(list.headers['x-powered-by']).toBe('the host')
    expect(list.headers['content-type']).toBe('application/json')
    expect(list.headers['cache-control']).toBe('public, max-age=60')

    const created = await post(port, { title: 'c' })
    expect(created.headers.etag).not.toContain('host')

    const refused = await call(port, 'GET /auth/me', { headers: { authorization: 'Bearer x' } })
    expect(refused.status).toBe(401)
    expect(refused.headers['cache-control']).toBe('no-store')
    expect(refused.headers['www-authenticate']).toBe('Basic realm="a, b", Bearer error="invalid_token"')
    expect(names(refused.headers.vary)).toContain('authorization')
    expect(refused.headers['set-cookie']).toEqual(['a=1', 'b=2'])
  })
})

describe('below a path of the host', () => {
  const nested = (handler: Handler) => {
    const inner = express.Router()
    inner.use('/api', toNodeHandler(handler))
    return express().use('/v1', inner)
  }
  test.each<[string, string, string, (handler: Handler) => RequestListener]>([
    ['mounted at /api', '', '/api', (handler) => express().use('/api', toNodeHandler(handler))],
    [
      'mounted at /api, which is the base path too',
      '/api',
      '/api',
      (handler) => express().use('/api', toNodeHandler(handler)),
    ],
    [
      'mounted at /v1, with a base path below',
      '/api',
      '/v1/api',
      (handler) => express().use('/v1', toNodeHandler(handler)),
    ],
    [
      'mounted at /v1, with a base path from the root',
      '/v1/api',
      '/v1/api',
      (handler) => express().use('/v1', toNodeHandler(handler)),
    ],
    ['mounted by a router in a router', '', '/v1/api', nested],
    ['mounted by a router in a router, with all of it as the base path', '/v1/api', '/v1/api', nested],
    [
      'mounted at the root, with a base path',
      '/api',
      '/api',
      (handler) => express().use(toNodeHandler(handler)),
    ],
    [
      'as a route with a wildcard',
      '/api',
      '/api',
      (handler) => express().all('/api{/*path}', toNodeHandler(handler)),
    ],
    ['on node:http, with a base path', '/api', '/api', toNodeHandler],
    [
      'where a framework keeps only the original target',
      '/api',
      '/api',
      (handler) => (request, response) => {
        const originalUrl = request.url
        const url = request.url?.slice('/api'.length)
        void toNodeHandler(handler)(Object.assign(request, { originalUrl, url }), response)
      },
    ],
    [
      'where a framework puts a slash in the place of nothing, as Connect does',
      '',
      '/api',
      (handler) => (request, response) => {
        const originalUrl = request.url ?? ''
        const [, left] = /^\/api(|[/?].*)$/.exec(originalUrl) ?? []
        const url = left?.startsWith('/') ? left : `/${left}`
        if (left === undefined) response.writeHead(404).end()
        else void toNodeHandler(handler)(Object.assign(request, { originalUrl, url }), response)
      },
    ],
  ])('the service lives there and nowhere else: %s', async (_, basePath, prefix, mount) => {
    const { handler } = createTestService(config, { basePath })
    const port = await listen(mount(handler))
    const created = await call(port, `POST ${prefix}/articles`, { headers: JSON_BODY, body: '{"title":"x"}' })
    expect(created.status).toBe(201)
    expect(created.headers.location).toBe(`${prefix}/articles/${created.body._id}`)
    const read = await call(port, `GET ${created.headers.location}`)
    expect(read.body).toEqual(created.body)
    expect((await call(port, `GET ${prefix}/articles?q[title]=x`)).body).toHaveLength(1)
    const root = { collections: [{ name: 'articles', href: `${prefix}/articles` }] }
    for (const target of prefix === '' ? ['/'] : [prefix, `${prefix}/`, `${prefix}?`])
      expect((await call(port, `GET ${target}`)).body, target).toMatchObject(root)
    for (const target of [`${prefix}articles`, `${prefix}//articles`, `${prefix}/../articles`]) {
      expect(await rawStatus(port, target), target).toBe(404)
    }
    if (prefix !== '') expect(await rawStatus(port, '/articles')).toBe(404)
  })

  const rawStatus = async (port: number, target: string): Promise<number> =>
    (await sendHead(port, `GET ${target} HTTP/1.1`, 'Host: h')).status

  test.each([
    ['/api', '', '/api'],
    ['/api', '/api', '/api'],
    ['/v1', '/api', '/v1/api'],
    ['/API', '', '/API'],
    ['/%61pi', '/api', '/%61pi'],
    ['/a%20b', '/a%20b', '/a%20b'],
  ])('a mocked request at %s with the base path "%s" is served as %s', async (baseUrl, basePath, prefix) => {
    const { handler } = createTestService(config, { basePath })
    const created = await callGlue(handler, {
      method: 'POST',
      originalUrl: `${prefix}/articles?`,
      baseUrl,
      url: `${prefix.slice(baseUrl.length)}/articles?`,
      headers: JSON_BODY,
      body: { title: 'x' },
    })
    expect(created.status).toBe(201)
    expect(created.headers.location).toBe(`${prefix}/articles/${created.body._id}`)
  })
})

test('a mount path that its client has spelled ends no header', async () => {
  const { handler } = createTestService(config, { documents: { articles: [{ title: 'a' }, { title: 'b' }] } })
  const baseUrl = '/x>; rel="next", <https://evil.example'
  const url = '/articles?limit=1'
  const { status, headers } = await callGlue(handler, {
    method: 'GET',
    originalUrl: baseUrl + url,
    baseUrl,
    url,
  })
  expect(status).toBe(200)
  expect(headers.link).toMatch(
    /^<\/x%3E;%20rel=%22next%22,%20%3Chttps:\/\/evil\.example\/articles\?[^<>" ]+>; rel="next"$/,
  )
})

describe('the request that a host identifies callers by', () => {
  const hostConfig = {
    collections: {
      articles: {
        schema: config.collections.articles.schema,
        permissions: { user: { read: true, create: true } },
      },
    },
  } as const satisfies AnyConfig

  const identify = () => {
    const seen: Request[] = []
    const service = createTestService(hostConfig, {
      authenticate: (request) => {
        seen.push(request)
        return /\bsession=ann\b/.test(request.headers.get('cookie') ?? '') ? { id: 'ann' } : null
      },
    })
    return { seen, service }
  }

  test('has the whole target, the method and the headers below a mount', async () => {
    const { seen, service } = identify()
    const port = await listen(express().use('/api', express.json(), toNodeHandler(service.handler)))
    const cookie = { cookie: 'theme=dark; session=ann' }
    expect(
      (await call(port, 'GET /api/articles?limit=1', { headers: { ...cookie, host: 'evil/x' } })).status,
    ).toBe(200)
    const created = await call(port, 'POST /api/articles', {
      headers: { ...cookie, ...JSON_BODY },
      body: '{"title":"x"}',
    })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({ createdBy: 'ann' })
    expect((await call(port, 'HEAD /api/articles/count')).status).toBe(401)
    expect(seen.map(({ method, url }) => [method, new URL(url).pathname + new URL(url).search])).toEqual([
      ['GET', '/api/articles?limit=1'],
      ['POST', '/api/articles'],
      ['HEAD', '/api/articles/count'],
    ])
    for (const { url } of seen) expect(new URL(url).hostname).toBe('localhost')
    expect(seen[1]?.headers.get('content-type')).toBe('application/json')
  })

  test.each([
    ['two cookie lines', 'GET /articles HTTP/1.1', 'Host: h', 'Cookie: theme=dark', 'Cookie: session=ann'],
    ['a target in absolute form', 'GET http://evil/articles HTTP/1.1', 'Host: h', 'Cookie: session=ann'],
    ['a header called __proto__', 'GET /articles HTTP/1.1', 'Host: h', '__proto__: x', 'Cookie: session=ann'],
    ['a header in Latin-1', 'GET /articles HTTP/1.1', 'Host: h', 'X-Name: \u00e9', 'Cookie: session=ann'],
    ['a Host that is none', 'GET /articles HTTP/1.1', 'Host: [', 'Cookie: session=ann'],
    [
      'brackets and bars in the query',
      'GET /articles?q[title]=a|b{} HTTP/1.1',
      'Host: h',
      'Cookie: session=ann',
    ],
  ])('is made of any request that node lets in: %s', async (_, ...head) => {
    const { seen, service } = identify()
    const port = await listen(toNodeHandler(service.handler))
    const { status, text } = await sendHead(port, ...head)
    expect(status, text).toBe(200)
    expect(seen.map(({ url }) => new URL(url).host + new URL(url).pathname)).toEqual(['localhost/articles'])
  })

  test('has the headers of a request that is no stream', async () => {
    const { service } = identify()
    const { status } = await callGlue(service.handler, {
      method: 'GET',
      url: '/articles',
      headers: { cookie: 'session=ann' },
    })
    expect(status).toBe(200)
  })

  test('is not asked for where the host has said who calls', async () => {
    const { seen, service } = identify()
    const port = await listen(toNodeHandler(service.handler.as({ id: 'bob' })))
    expect((await post(port, { title: 'x' })).body).toMatchObject({ createdBy: 'bob' })
    expect(seen).toEqual([])
  })
})

test('only a handler of the service can be mounted', () => {
  const stranger = Object.assign(async () => new Response(), {})
  expect(() => toNodeHandler(stranger as unknown as Handler)).toThrow(TypeError)
})
