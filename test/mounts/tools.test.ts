import { once } from 'node:events'
import { createServer as createPlain } from 'node:http'
import { type ClientHttp2Stream, connect, createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { inject } from 'light-my-request'
import { http } from 'msw'
import { setupServer } from 'msw/node'
import serverless from 'serverless-http'
import request from 'supertest'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §7, "The Node mount" and "Handler": what testers and hosts make of node's requests is served like what they send.

const config = {
  collections: {
    notes: {
      changes: true,
      schema: { title: { type: 'string', maxLength: 900 } },
      permissions: { '*': { read: true, create: true, update: true, delete: true } },
    },
  },
  limits: { bodyBytes: 1000 },
} as const

const serviceOf = (options = {}) => createTestService(config, { basePath: '/api', ...options })
const handlerOf = () => toNodeHandler(serviceOf().handler)

const TITLE = 'Hellö'
const PATH = /^\/api\/notes\/[\w-]{36}$/

/** What any of them asks, in its own way. */
interface Asked {
  readonly status: number
  readonly header: (name: string) => string | undefined
  readonly body: unknown
}
type Ask = (
  method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  headers?: { readonly [name: string]: string },
) => Promise<Asked>

/** A document's life, and what is refused. */
async function checkLife(ask: Ask): Promise<void> {
  const created = await ask('POST', '/api/notes', { title: TITLE })
  expect([created.status, created.body]).toEqual([201, expect.objectContaining({ title: TITLE })])
  const path = String(created.header('location'))
  expect(path).toMatch(PATH)
  const etag = String(created.header('etag'))
  const read = await ask('GET', `${path}?project=["title"]`)
  expect([read.status, read.header('etag'), read.body]).toEqual([
    200,
    etag,
    { _id: path.slice(11), title: TITLE },
  ])
  expect((await ask('GET', path, undefined, { 'if-none-match': etag })).status).toBe(304)
  const changed = await ask('PATCH', path, { title: 'b' }, { 'if-match': etag })
  expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ title: 'b' })])
  expect((await ask('PATCH', path, { title: 'c' }, { 'if-match': etag })).status).toBe(412)
  const listed = await ask('GET', '/api/notes?q[title][$in]=["b","ö"]&total=true')
  expect([listed.status, listed.header('x-total-count'), listed.body]).toEqual([200, '1', [changed.body]])
  expect((await ask('HEAD', path)).status).toBe(200)
  const deleted = await ask('DELETE', path)
  expect(deleted.status).toBe(204)
  for (const [sent, status, code] of [
    [{ title: 5 }, 400, 'validation_failed'],
    [[1], 400, 'validation_failed'],
    [{ title: 'x'.repeat(2000) }, 413, 'body_too_large'],
  ] as const)
    expect(await ask('POST', '/api/notes', sent)).toMatchObject({ status, body: { code } })
  expect(await ask('GET', path)).toMatchObject({ status: 404, body: { code: 'not_found' } })
}

/** Paths as they are sent. */
const encode = (path: string): string => path.replace(/[[\]"]|[^\x21-\x7e]/gu, encodeURIComponent)

describe('supertest', () => {
  test.each([
    ['a listener', () => createPlain(handlerOf())],
    ['Express', () => express().use('/api', handlerOf())],
    ['Express, with its parser', () => express().use(express.json({ strict: false }), handlerOf())],
  ])('%s', async (_, app) => {
    const server = app()
    await checkLife(async (method, path, body, headers = {}) => {
      const name = method.toLowerCase() as 'get'
      const asking = request(server)[name](encode(path)).set(headers)
      const answer = await (body === undefined ? asking : asking.send(body as object))
      return { status: answer.status, header: (name) => answer.headers[name], body: answer.body }
    })
  })
})

test('light-my-request', async () => {
  const listener = handlerOf()
  await checkLife(async (method, path, body, headers = {}) => {
    const answer = await inject(listener, {
      method,
      url: encode(path),
      headers,
      ...(body === undefined ? {} : { payload: body as object }),
    })
    return {
      status: answer.statusCode,
      header: (name) => answer.headers[name] as string | undefined,
      body: answer.payload === '' ? undefined : answer.json(),
    }
  })
})

describe('msw', () => {
  const { handler } = serviceOf()
  const server = setupServer(http.all('http://service.test/api/*', ({ request: sent }) => handler(sent)))
  afterAll(() => server.close())

  test('answers fetch, and the client', async () => {
    server.listen({ onUnhandledRequest: 'error' })
    await checkLife(async (method, path, body, headers = {}) => {
      const answer = await fetch(`http://service.test${encode(path)}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      return {
        status: answer.status,
        header: (name) => answer.headers.get(name) ?? undefined,
        body: text === '' ? undefined : JSON.parse(text),
      }
    })
    const notes = createClient<typeof config>('http://service.test/api').collection('notes')
    const note = await notes.create({ title: TITLE })
    expect(await notes.update(note, { title: 'b' })).toMatchObject({ title: 'b' })
  })
})

describe('HTTP/2 without TLS', () => {
  const servers: Http2Server[] = []
  afterAll(() => {
    for (const server of servers) server.close()
  })

  async function open(options = {}) {
    const service = serviceOf(options)
    const server = createServer(toNodeHandler(service.handler) as never)
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const begin = (method: string, path: string, headers = {}): ClientHttp2Stream =>
      session.request({ ':method': method, ':path': encode(path), ...headers }, { endStream: false })
    const finish = async (stream: ClientHttp2Stream): Promise<Asked> => {
      const [answered] = await once(stream, 'response')
      const text = Buffer.concat(await stream.toArray()).toString()
      return {
        status: answered[':status'],
        header: (name) => answered[name],
        body: text === '' ? undefined : JSON.parse(text),
      }
    }
    return { service, server, session, begin, finish }
  }

  test('is served', async () => {
    const { session, begin, finish } = await open()
    await checkLife((method, path, body, headers = {}) => {
      const text = body === undefined ? '' : JSON.stringify(body)
      const stream = begin(method, path, text ? { 'content-type': 'application/json', ...headers } : headers)
      stream.end(text)
      return finish(stream)
    })
    session.close()
  })

  test('many requests at once share a connection, and a length is taken as it is over HTTP/1.1', async () => {
    const { session, begin, finish } = await open()
    const titles = Array.from({ length: 30 }, (_, i) => `${i}`)
    const answers = await Promise.all(
      titles.map((title) => {
        const body = JSON.stringify({ title })
        const stream = begin('POST', '/api/notes', {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        })
        stream.end(body)
        return finish(stream)
      }),
    )
    expect(answers.map(({ body }) => (body as { title: string }).title)).toEqual(titles)
    session.close()
  })

  test('what is refused before its body was read leaves the connection as it is', async () => {
    const { session, begin, finish } = await open()
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    for (const headers of [
      { 'content-type': 'image/png', 'content-length': 10 },
      { 'content-type': 'application/json', 'content-length': 2000 },
    ]) {
      const stream = begin('POST', '/api/notes', headers)
      stream.on('error', () => {})
      const answer = finish(stream)
      stream.write('{')
      expect([413, 415]).toContain((await answer).status)
      stream.destroy()
    }
    const after = begin('GET', '/api/notes')
    after.end()
    expect((await finish(after)).status).toBe(200)
    // Node warns of a header that HTTP/2 does not have, such as `Connection`.
    expect(warned).not.toHaveBeenCalled()
    session.close()
  })

  test('a stream of changes shares the connection', async () => {
    const { session, begin, finish } = await open()
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    const stream = begin('GET', '/api/notes/changes')
    stream.end()
    const [answered] = await once(stream, 'response')
    expect([answered[':status'], answered['content-type']]).toEqual([200, 'text/event-stream'])
    const other = begin('GET', '/api/notes')
    other.end()
    expect((await finish(other)).status).toBe(200)
    expect(warned).not.toHaveBeenCalled()
    stream.close(8)
    session.close()
  })

  test('a client that goes while its body arrives stores nothing', async () => {
    const { service, server, session, begin } = await open()
    const stream = begin('POST', '/api/notes', { 'content-type': 'application/json' })
    stream.on('error', () => {})
    stream.write('{"title":')
    await once(server, 'request')
    stream.close(8)
    await once(stream, 'close')
    const next = await service.send('GET /api/notes/count')
    expect(next.body).toEqual({ total: 0 })
    session.close()
  })
})

describe('serverless-http', () => {
  type Event = { readonly [name: string]: unknown }
  type Method = Parameters<Ask>[0]
  const context = { callbackWaitsForEmptyEventLoop: false }

  /** The event of a REST API (version 1 of payloads), and of an HTTP API (version 2). */
  const EVENTS: readonly (readonly [version: string, event: (...asked: Parameters<Ask>) => Event])[] = [
    [
      '1.0',
      (method: Method, path, body, headers = {}) => {
        const [, at = '', query = ''] = /^([^?]*)\??(.*)$/.exec(path) ?? []
        const pairs = [...new URLSearchParams(query)]
        return {
          version: '1.0',
          httpMethod: method,
          path: at,
          resource: '/{proxy+}',
          headers: { 'Content-Type': 'application/json', ...headers },
          multiValueHeaders: Object.fromEntries(
            Object.entries({ 'Content-Type': 'application/json', ...headers }).map(([name, value]) => [
              name,
              [value],
            ]),
          ),
          queryStringParameters: Object.fromEntries(pairs),
          multiValueQueryStringParameters: Object.fromEntries(pairs.map(([name, value]) => [name, [value]])),
          requestContext: { identity: { sourceIp: '127.0.0.1' } },
          body: body === undefined ? null : JSON.stringify(body),
          isBase64Encoded: false,
        }
      },
    ],
    [
      '2.0',
      (method: Method, path, body, headers = {}) => {
        const [, at = '', query = ''] = /^([^?]*)\??(.*)$/.exec(encode(path)) ?? []
        const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body)).toString('base64')
        return {
          version: '2.0',
          routeKey: '$default',
          rawPath: at,
          rawQueryString: query,
          headers: { 'content-type': 'application/json', ...headers },
          requestContext: { http: { method, path: at, sourceIp: '127.0.0.1' }, stage: '$default' },
          ...(text === undefined ? {} : { body: text, isBase64Encoded: true }),
        }
      },
    ],
  ]

  test.each(EVENTS)('payloads of version %s', async (_, eventOf) => {
    const run = serverless(handlerOf() as never)
    await checkLife(async (...asked) => {
      const answer = (await run(eventOf(...asked), context)) as {
        readonly statusCode: number
        readonly headers: { readonly [name: string]: string }
        readonly body: string
      }
      return {
        status: answer.statusCode,
        header: (name) => answer.headers[name],
        body: answer.body ? JSON.parse(answer.body) : undefined,
      }
    })
  })
})
