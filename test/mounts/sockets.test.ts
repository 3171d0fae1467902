import { EventEmitter, once } from 'node:events'
import { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { answerAtDeadline } from '../support/deadlines.js'
import { createTestService, type TestService } from '../support/service.js'
import { call, config, JSON_BODY, open, post, readAll, seeded, sendHead, useListen } from './support/node.js'

const listen = useListen()

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

describe('an answer that comes before its request has ended', () => {
  const limited = () =>
    createTestService({ ...config, limits: { ...config.limits, bodyBytes: 1000 } } as never).handler

  test('reaches who is still sending', async () => {
    const port = await listen(toNodeHandler(limited()))
    const part = new Uint8Array(65_536).fill(32)
    for (let i = 0; i < 8; i++) {
      let left = 40
      const body = new ReadableStream({
        async pull(controller) {
          await new Promise((resolve) => setImmediate(resolve))
          if (left-- > 0) controller.enqueue(part)
          else controller.close()
        },
      })
      const sent = await fetch(`http://127.0.0.1:${port}/articles`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
        duplex: 'half',
      } as RequestInit)
      expect(sent.status).toBe(413)
      expect(sent.headers.get('connection')).toBe('close')
      expect(await sent.json()).toMatchObject({ code: 'body_too_large' })
    }
  })

  test.each([
    ['says nothing more', 0],
    ['never ends', 1024 * 1024],
  ])('is the last of a connection on which somebody %s', async (_, size) => {
    const port = await listen(toNodeHandler(limited()))
    const socket = await open(
      port,
      'POST /articles HTTP/1.1',
      'Host: x',
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
      '',
      '',
    )
    socket.on('error', () => {})
    const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
    socket.write(`800\r\n${'x'.repeat(2048)}\r\n`)
    const go = (): void => void (size > 0 && !socket.destroyed && socket.write(chunk, () => setImmediate(go)))
    go()
    let text = ''
    socket.on('data', (data) => {
      text += data
    })
    await new Promise((resolve) => socket.once('close', resolve))
    expect(text).toMatch(/^HTTP\/1\.1 413 .*connection: close/is)
  })
})
