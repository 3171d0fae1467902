import type { RequestListener } from 'node:http'
import express from 'express'
import { createRequest, createResponse } from 'node-mocks-http'
import { describe, expect, test } from 'vitest'
import type { Handler } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { createTestService } from '../support/service.js'
import {
  type Answer,
  type Call,
  call,
  callGlue,
  config,
  JSON_BODY,
  post,
  seeded,
  useListen,
} from './support/node.js'

const listen = useListen()

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
    ['a form', new URLSearchParams('title=x'), 400, 'invalid_json'],
    ['a form of parts', new FormData(), 400, 'invalid_json'],
    ['a map inside', { title: 'x', more: new Map([['a', 1]]) }, 400, 'invalid_json'],
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
    ['a number that was too large', { title: 'x', n: Number.POSITIVE_INFINITY }, 400, 'validation_failed'],
    ['one below all', { title: 'x', list: [Number.NEGATIVE_INFINITY] }, 400, 'validation_failed'],
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

  test('is none where nothing was sent, whatever a parser has made of it', async () => {
    const answer = await create({}, { ...JSON_BODY, 'content-length': '0' })
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_json'])
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
    'cache-control':
      'public, max-age=60, Private="x-a, max-age", no-transform, x-mine="a, b", stale-if-error = 9',
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
    const kept = ', Private="x-a, max-age", no-transform, x-mine="a, b"'
    expect(list.headers['cache-control']).toBe(`no-cache${kept}`)

    const created = await post(port, { title: 'c' })
    expect(created.headers.etag).not.toContain('host')

    const refused = await call(port, 'GET /auth/me', { headers: { authorization: 'Bearer x' } })
    expect(refused.status).toBe(401)
    expect(refused.headers['cache-control']).toBe(`no-store${kept}`)
    expect(refused.headers['www-authenticate']).toBe('Basic realm="a, b", Bearer error="invalid_token"')
    expect(names(refused.headers.vary)).toContain('authorization')
    expect(refused.headers['set-cookie']).toEqual(['a=1', 'b=2'])
  })
})

test('only a handler of the service can be mounted', () => {
  const stranger = Object.assign(async () => new Response(), {})
  expect(() => toNodeHandler(stranger as unknown as Handler)).toThrow(TypeError)
})

describe('a header of which node keeps the first', () => {
  test.each<[string, string, string[], number, string | undefined]>([
    ['one token', 'authorization', ['Bearer TOKEN'], 200, undefined],
    ['the same token twice', 'Authorization', ['Bearer TOKEN', 'Bearer TOKEN'], 401, 'invalid_token'],
    ['a token and another', 'authorization', ['Bearer TOKEN', 'Bearer other'], 401, 'invalid_token'],
    ['a token and nothing', 'AUTHORIZATION', ['Bearer TOKEN', ''], 401, 'invalid_token'],
  ])('counts as often as it was sent: %s', async (_, name, values, status, code) => {
    const users = { email: { type: 'string', unique: true }, password: { type: 'hash' } }
    const service = createTestService({ collections: { users: { schema: users, permissions: {} } } })
    const { token } = await service.register({ email: 'ann', password: 'secret' })
    const port = await listen(toNodeHandler(service.handler))
    const headers = { [name]: values.map((value) => value.replace('TOKEN', token)) }
    const answer = await call(port, 'GET /auth/me', { headers })
    expect([answer.status, answer.body.code]).toEqual([status, code])
  })

  test('of two media types none is JSON', async () => {
    const port = await listen(toNodeHandler(createTestService(config).handler))
    const answer = await post(port, { title: 'x' }, { 'content-type': ['application/json', 'text/html'] })
    expect(answer.status).toBe(415)
  })

  test('is joined for those who authenticate, but not where a framework has replaced it', async () => {
    const seen: (string | null)[] = []
    const { handler } = createTestService(config, {
      authenticate(request) {
        seen.push(request.headers.get('authorization'))
        return null
      },
    })
    const glue = toNodeHandler(handler)
    const plain = await listen(glue)
    const replacing = await listen((request, response) => {
      request.headers.authorization = 'Basic c'
      glue(request, response)
    })
    for (const port of [plain, replacing])
      await call(port, 'GET /articles', { headers: { authorization: ['Basic a', 'Basic b'] } })
    expect(seen).toEqual(['Basic a, Basic b', 'Basic c'])
  })
})

test('a link leads where the request went, whatever its target held', async () => {
  const { handler } = createTestService(config, {
    documents: { articles: ['a', 'b', 'c'].map((title) => ({ title })) },
  })
  const port = await listen(toNodeHandler(handler))
  const answer = await call(port, 'GET /articles?q[title][$ne]=a#b&limit=2')
  expect(answer.body).toHaveLength(2)
  const next = /<([^>]*)>/.exec(String(answer.headers.link))?.[1] ?? ''
  expect(new URL(next, 'http://x').searchParams.get('q[title][$ne]')).toBe('a#b')
  expect((await call(port, `GET ${next}`)).body).toHaveLength(1)
})
