import { describe, expect, test } from 'vitest'
import type { ServiceOptions } from '../../src/index.js'
import { createTestService, faultsOf, type Sent } from '../support/service.js'
import { ann, codeOf, collections, config, documents, ID } from './support/http.js'

const MISSING = '0189abcd-0000-7000-8000-00000000dead'
const service = createTestService(config, { documents })

describe('operations', () => {
  test('every route answers with its status and body', async () => {
    const fresh = createTestService(config, { documents })
    const registered = await fresh.send('POST /auth/register', { body: ann })
    expect(registered.status).toBe(201)
    expect(Object.keys(registered.body)).toEqual(['user', 'token', 'expiresAt'])
    const signedIn = await fresh.send('POST /auth/login', { body: ann })
    expect(signedIn.status).toBe(200)
    expect(Object.keys(signedIn.body)).toEqual(['user', 'token', 'expiresAt'])
    const { token } = signedIn.body
    const me = await fresh.send('GET /auth/me', { token })
    expect([me.status, me.body]).toEqual([200, signedIn.body.user])
    const created = await fresh.send('POST /items', { token, body: { title: 'two' } })
    expect(created.status).toBe(201)
    expect(created.headers.get('location')).toBe(`/items/${created.body._id}`)
    const list = await fresh.send('GET /items')
    expect(list.status).toBe(200)
    expect(list.body).toHaveLength(2)
    const count = await fresh.send('GET /items/count')
    expect([count.status, count.body]).toEqual([200, { total: 2 }])
    const document = await fresh.send(`GET ${created.headers.get('location')}`)
    expect([document.status, document.body]).toEqual([200, created.body])
    const out = await fresh.send('POST /auth/logout', { token })
    expect([out.status, out.text]).toEqual([204, ''])
    for (const { headers } of [registered, signedIn, me, created, list, count, document]) {
      expect(headers.get('content-type')).toBe('application/json')
    }
  })

  test.each([
    '/items',
    '/items/count',
    `/items/${ID}`,
    '/items?limit=0',
    '/items?q[titel]=1',
    '/auth/me',
    '/nowhere',
    `/items/${MISSING}`,
  ])('HEAD %s answers like GET, without the body', async (path) => {
    const [head, get] = [await service.send(`HEAD ${path}`), await service.send(`GET ${path}`)]
    expect(head.text).toBe('')
    expect(get.text).not.toBe('')
    expect(head.status).toBe(get.status)
    const { 'content-length': length, ...others } = Object.fromEntries(head.headers)
    expect(others).toEqual(Object.fromEntries(get.headers))
    expect(Number(length)).toBe(Buffer.byteLength(get.text))
  })

  const allowed: [string, string[]][] = [
    ['/items', ['GET', 'HEAD', 'OPTIONS', 'POST']],
    ['/items/count', ['GET', 'HEAD', 'OPTIONS']],
    ['/auth/register', ['OPTIONS', 'POST']],
    ['/auth/login', ['OPTIONS', 'POST']],
    ['/auth/logout', ['OPTIONS', 'POST']],
    ['/auth/me', ['GET', 'HEAD', 'OPTIONS']],
  ]
  const allowOf = ({ headers }: Sent): readonly string[] => (headers.get('allow') ?? '').split(', ').sort()
  test.each(allowed)(
    'OPTIONS %s answers 204 with Allow, and never looks at a token',
    async (path, methods) => {
      for (const headers of [{}, { authorization: 'Bearer nonsense' }]) {
        const answer = await service.send(`OPTIONS ${path}?any=1`, { headers })
        expect([answer.status, answer.text]).toEqual([204, ''])
        expect(allowOf(answer)).toEqual(methods)
      }
    },
  )
  test.each(allowed)('another method on %s is a 405 with Allow', async (path, methods) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PURGE', 'QUERY']) {
      if (methods.includes(method)) continue
      const answer = await service.send(`${method} ${path}`)
      expect(codeOf(answer), method).toEqual([405, 'method_not_allowed'])
      expect(allowOf(answer)).toEqual(methods)
    }
  })
  test('a document takes no POST', async () => {
    const answer = await service.send(`POST /items/${ID}`, { body: {} })
    expect(codeOf(answer)).toEqual([405, 'method_not_allowed'])
    expect(allowOf(answer)).toEqual(expect.arrayContaining(['GET', 'HEAD', 'OPTIONS']))
    expect(allowOf(answer)).not.toContain('POST')
    expect((await service.send(`OPTIONS /items/${MISSING}`)).status).toBe(204)
  })
})

describe('paths', () => {
  test.each<[string, number]>([
    ['/items', 200],
    ['/items/', 200],
    ['/items?', 200],
    ['/items/?limit=1', 200],
    ['/items/count/', 200],
    [`/items/${ID}/`, 200],
    ['/auth/me/', 401],
    ['/with-dash_1', 200],
    ['/%69tems', 200],
    ['/items/%63ount', 200],
    [`/items/%30${ID.slice(1)}`, 200],
    ['/%61uth/me', 401],
    ['/%2569tems', 404],
    ['/', 200],
    ['//', 404],
    ['//items', 404],
    ['/items//', 404],
    ['/items//count', 404],
    ['/items/count//', 404],
    ['/Items', 404],
    ['/items%20', 404],
    ['/items%2F', 404],
    [`/items%2F${ID}`, 404],
    ['/items/Count', 404],
    ['/items/count/x', 404],
    [`/items/${ID}/title`, 404],
    ['/items/%zz', 404],
    ['/%ff', 404],
    ['/items/%00', 404],
    ['/_sessions', 404],
    ['/constructor', 404],
    ['/__proto__', 404],
    ['/toString', 404],
    ['/auth', 404],
    ['/auth/', 404],
    ['/auth/Me', 404],
    ['/auth/me/x', 404],
    ['/auth/count', 404],
    ['/auth/constructor', 404],
  ])('GET %s: %i', async (path, status) => {
    expect((await service.send(`GET ${path}`)).status).toBe(status)
  })

  test('a fragment is no part of what is asked', async () => {
    expect((await service.handler(new Request('http://x/items#?q[nonsense]=1'))).status).toBe(200)
    expect((await service.handler(new Request('http://x/items?limit=0#/nowhere'))).status).toBe(200)
  })

  test('with a base path all of it lives there', async () => {
    const based = createTestService(config, { basePath: '/api/v1', documents })
    const statuses = [
      '/api/v1/items',
      '/api/v1/items/count',
      '/api/v1/auth/me',
      '/items',
      '/api/v1',
      '/api/v1/',
      '/api/v1items',
      '/api/items',
      '/api/v1/api/v1/items',
    ]
    const found = await Promise.all(statuses.map(async (path) => (await based.send(`GET ${path}`)).status))
    expect(found).toEqual([200, 200, 401, 404, 200, 200, 404, 404, 404])
    const { headers, body } = await based.send('POST /api/v1/open', { body: { title: 'x' } })
    expect(headers.get('location')).toBe(`/api/v1/open/${body._id}`)
    expect((await based.send(`GET ${headers.get('location')}`)).status).toBe(200)
  })

  test('what other frameworks pass behind the request is ignored', async () => {
    const response = await service.handler(
      new Request('http://x/items'),
      { params: { id: 1 }, writeHead: 1 },
      { end() {}, writeHead() {} },
    )
    expect(response.status).toBe(200)
  })
})

describe('the order of faults', () => {
  const small = createTestService(
    { collections, auth: { roleField: 'role' }, limits: { bodyBytes: 100, queryBytes: 100 } },
    { documents },
  )
  const big = 'x'.repeat(200)
  const png = { 'content-type': 'image/png' }
  const json = { 'content-type': 'application/json' }
  const bearer = async (email: string) => {
    const { body } = await small.send('POST /auth/login', { body: { email, password: 'secret' } })
    return body.token
  }

  test('creating: each fault goes before all that come later', async () => {
    const { token } = await small.register(ann)
    const guest = await bearer('gus')
    const bad = { raw: big, headers: png }
    const ask = async (line: string, options: object) => codeOf(await small.send(line, options))
    expect(await ask(`PURGE /nowhere?${big}`, { ...bad, token: 'bad' })).toEqual([404, 'not_found'])
    expect(await ask(`PURGE /items?${big}`, { ...bad, token: 'bad' })).toEqual([405, 'method_not_allowed'])
    expect(await ask(`POST /items?${big}`, { ...bad, token: 'bad' })).toEqual([401, 'invalid_token'])
    expect(await ask(`POST /items?${big}`, bad)).toEqual([401, 'unauthenticated'])
    expect(await ask(`POST /items?${big}`, { ...bad, token: guest })).toEqual([403, 'forbidden'])
    expect(await ask(`POST /items?${big}`, { ...bad, token })).toEqual([414, 'query_too_long'])
    expect(await ask('POST /items?any=1', { ...bad, token })).toEqual([400, 'invalid_query'])
    expect(await ask('POST /items', { ...bad, token })).toEqual([415, 'unsupported_media_type'])
    expect(await ask('POST /items', { raw: big, headers: json, token })).toEqual([413, 'body_too_large'])
    expect(await ask('POST /items', { raw: '{"title":1', headers: json, token })).toEqual([
      400,
      'invalid_json',
    ])
    expect(await ask('POST /items', { body: { title: 1, code: 'a' }, token })).toEqual([
      400,
      'validation_failed',
    ])
    expect(await ask('POST /items', { body: { title: 'x', code: 'a' }, token })).toEqual([
      409,
      'unique_violation',
    ])
    expect(await ask('POST /items', { body: { title: 'x', code: 'b' }, token })).toBe(201)
  })

  test('registering and signing in', async () => {
    const ask = async (line: string, options: object) => codeOf(await small.send(line, options))
    for (const path of ['/auth/register', '/auth/login']) {
      expect(await ask(`GET ${path}`, { token: 'bad' })).toEqual([405, 'method_not_allowed'])
      expect(await ask(`POST ${path}?any=1`, { raw: big, headers: png, token: 'bad' })).toEqual([
        401,
        'invalid_token',
      ])
      expect(await ask(`POST ${path}?any=1`, { raw: big, headers: png })).toEqual([400, 'invalid_query'])
      expect(await ask(`POST ${path}`, { raw: big, headers: png })).toEqual([415, 'unsupported_media_type'])
      expect(await ask(`POST ${path}`, { raw: big, headers: json })).toEqual([413, 'body_too_large'])
      expect(await ask(`POST ${path}`, { raw: '{', headers: json })).toEqual([400, 'invalid_json'])
      expect(await ask(`POST ${path}`, { body: {} })).toEqual([400, 'validation_failed'])
    }
  })

  test('reading', async () => {
    const ask = async (line: string, options = {}) => codeOf(await small.send(line, options))
    expect(await ask('GET /nowhere?any=1', { token: 'bad' })).toEqual([404, 'not_found'])
    for (const path of ['/items', '/items/count', `/items/${MISSING}`]) {
      expect(await ask(`GET ${path}?any=1`, { token: 'bad' })).toEqual([401, 'invalid_token'])
      expect(await ask(`GET ${path}?${big}`)).toEqual([414, 'query_too_long'])
      expect(await ask(`GET ${path}?any=1`)).toEqual([400, 'invalid_query'])
    }
    expect(await ask(`GET /items/${MISSING}`)).toEqual([404, 'not_found'])
    for (const path of ['/users', '/users/count', `/users/${MISSING}`]) {
      expect(await ask(`GET ${path}?any=1`)).toEqual([401, 'unauthenticated'])
    }
    expect(await ask('GET /auth/me?any=1')).toEqual([401, 'unauthenticated'])
    expect(await ask('GET /auth/me?any=1', { token: await bearer('gus') })).toEqual([400, 'invalid_query'])
  })

  test.each<[string, string, object]>([
    ['denied', 'POST /items', {}],
    ['an unknown route', 'POST /nowhere', {}],
    ['another method', 'PUT /items', {}],
    ['a bad token', 'POST /items', { authorization: 'Bearer nonsense' }],
    ['a bad query', 'POST /open?any=1', {}],
    ['a wrong type', 'POST /open', { 'content-type': 'text/html' }],
    [
      'a length that is announced as too large',
      'POST /open',
      { 'content-length': '1048577', 'content-type': 'application/json' },
    ],
  ])('the body of a refused request is not read: %s', async (_, line, headers) => {
    let pulled = 0
    const raw = new ReadableStream(
      {
        pull(controller) {
          pulled += 1
          controller.enqueue(new TextEncoder().encode('{}'))
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const answer = await service.send(line, { raw, headers: { ...headers } })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(pulled).toBe(0)
  })
})

describe('media types', () => {
  const raw = new TextEncoder().encode('{"title":"x"}')
  const statusOf = async (headers: { [name: string]: string }) =>
    (await service.send('POST /open', { raw, headers })).status
  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/problem+json',
    'application/vnd.api+json; profile=x',
    'text/plain',
    'text/plain;charset=UTF-8',
  ])('%s is JSON', async (type) => {
    expect(await statusOf({ 'content-type': type })).toBe(201)
  })
  test('none is JSON too, and so is what a Request sets by itself', async () => {
    expect(await statusOf({})).toBe(201)
    expect((await service.send('POST /open', { raw: '{"title":"x"}' })).status).toBe(201)
  })
  test.each([
    'text/html',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/jsonx',
    'application/+json',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-16',
    'text/plain; charset=latin1',
    'application/json, text/plain',
    '*/*',
  ])('%s is not', async (type) => {
    expect(await statusOf({ 'content-type': type })).toBe(415)
  })
  test.each(['gzip', 'br', 'deflate', 'identity, gzip', 'x'])(
    'a content encoding is refused: %s',
    async (encoding) => {
      expect(await statusOf({ 'content-type': 'application/json', 'content-encoding': encoding })).toBe(415)
    },
  )
})

describe('problem documents', () => {
  test('they say what is wrong, and errors are there only where something can be pointed at', async () => {
    const answers: [string, object, boolean][] = [
      ['GET /nowhere', {}, false],
      ['DELETE /items', {}, false],
      ['GET /users', {}, false],
      ['GET /items', { token: 'bad' }, false],
      ['GET /items?any=1', {}, true],
      ['POST /open', { raw: '{' }, false],
      ['POST /open', { body: { title: 1 } }, true],
      ['POST /open', { raw: '{}', headers: { 'content-type': 'image/png' } }, false],
      ['POST /auth/login', { body: { email: 'nobody', password: 'x' } }, false],
    ]
    const ids = new Set<string>()
    for (const [line, options, pointed] of answers) {
      const { body, headers, status } = await service.send(line, options)
      expect(headers.get('content-type')).toBe('application/problem+json')
      const members = ['title', 'status', 'code', 'detail', 'requestId', ...(pointed ? ['errors'] : [])]
      expect(Object.keys(body), line).toEqual(members)
      expect(body).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) })
      for (const error of body.errors ?? []) {
        expect(error).toEqual({
          path: expect.any(String),
          code: expect.stringMatching(/^[a-z_]+$/),
          message: expect.any(String),
        })
      }
      ids.add(body.requestId)
    }
    expect(ids.size).toBe(answers.length)
  })

  test('what a client sends is never an error in the log', async () => {
    const quiet = createTestService(config, { documents })
    await quiet.send('GET /items?any=1')
    await quiet.send('GET /items', { token: 'bad' })
    await quiet.send('POST /open', { raw: '{' })
    await quiet.send(`GET /items/${MISSING}`)
    expect(quiet.logged.filter(([message]) => !String(message).startsWith('/collections/'))).toEqual([])
  })
})

describe('headers', () => {
  const varyOf = async (options: ServiceOptions, line = 'GET /items') => {
    const { headers } = await createTestService(config, { ...options, documents }).send(line)
    return (headers.get('vary') ?? '').split(', ').sort()
  }
  test('every answer says what it varies with', async () => {
    expect(await varyOf({})).toEqual(['Authorization'])
    expect(await varyOf({ authenticate: () => null })).toEqual(['Authorization', 'Cookie'])
    expect(await varyOf({ cors: { origins: ['https://a.org'] } })).toEqual(['Authorization', 'Origin'])
    expect(await varyOf({ cors: { origins: '*' } })).toEqual(['Authorization'])
    expect(await varyOf({ authenticate: () => null }, 'OPTIONS /items')).toEqual(['Authorization', 'Cookie'])
    expect(await varyOf({ authenticate: () => null }, 'GET /nowhere')).toEqual(['Authorization', 'Cookie'])
  })

  test('what a signed-in caller gets, or holds a token, is not to be stored', async () => {
    const fresh = createTestService(config, { documents })
    const cache = async (line: string, options = {}) =>
      (await fresh.send(line, options)).headers.get('cache-control')
    expect(await cache('POST /auth/register', { body: ann })).toBe('no-store')
    expect(await cache('POST /auth/login', { body: ann })).toBe('no-store')
    const { body } = await fresh.send('POST /auth/login', { body: ann })
    const { token } = body
    for (const line of [
      'GET /items',
      'GET /items/count',
      `GET /items/${ID}`,
      'HEAD /items',
      'GET /auth/me',
      `GET /items/${MISSING}`,
      'GET /items?any=1',
      'PUT /items',
      'POST /auth/logout',
    ]) {
      expect(await cache(line, { token }), line).toBe('no-store')
    }
    expect(await cache('GET /items', { caller: { id: 'ann' } })).toBe('no-store')
  })

  test('a cache may store any other answer, and asks again each time', async () => {
    const fresh = createTestService(config, { documents, openapi: true })
    const tag = async (line: string) => (await fresh.send(line)).headers.get('etag') ?? ''
    for (const [line, status, options = {}] of [
      ['GET /', 200],
      ['GET /items', 200],
      ['GET /items?limit=1', 200],
      ['HEAD /items', 200],
      ['GET /items/count', 200],
      [`GET /items/${ID}`, 200],
      [`HEAD /items/${ID}`, 200],
      [`GET /items/${ID}`, 304, { headers: { 'if-none-match': await tag(`GET /items/${ID}`) } }],
      ['GET /_openapi.json', 200],
      ['GET /_openapi.json', 304, { headers: { 'if-none-match': await tag('GET /_openapi.json') } }],
      ['OPTIONS /items', 204],
      ['OPTIONS /items', 204, { token: 'bad' }],
      ['POST /_batch', 200, { body: { operations: [{ method: 'GET', path: `/items/${ID}` }] } }],
    ] as const) {
      const { status: answered, headers } = await fresh.send(line, options)
      expect([line, answered, headers.get('cache-control')]).toEqual([line, status, 'no-cache'])
    }
  })

  test('no error is stored, whoever gets it', async () => {
    const fresh = createTestService(config, { documents })
    for (const line of [
      'GET /nowhere',
      'GET /users',
      'PUT /items',
      'GET /items?any=1',
      `GET /items/${MISSING}`,
    ])
      expect((await fresh.send(line)).headers.get('cache-control'), line).toBe('no-store')
  })
})

describe('pages of other origins', () => {
  const origin = 'https://a.example'
  const grants = ({ headers }: Sent) =>
    [...headers.keys()].filter((name) => name.startsWith('access-control-'))
  const exposed = [
    ...['ETag', 'Ignored-Properties', 'Link', 'Location', 'Next-Cursor', 'Next-Skip'],
    ...['Preference-Applied', 'Retry-After', 'X-Total-Count'],
  ]

  test.each<[string, ServiceOptions['cors'], string, string | null]>([
    ['nobody by default', undefined, origin, null],
    ['no origin', { origins: [] }, origin, null],
    ['a listed origin', { origins: ['https://b.example', origin] }, origin, origin],
    ['one that is not listed', { origins: ['https://b.example'] }, origin, null],
    ['an origin is exact', { origins: [origin] }, 'https://a.example.evil', null],
    ['null is no origin that a list holds', { origins: [origin] }, 'null', null],
    ['everybody', { origins: '*' }, origin, '*'],
  ])('%s may read answers', async (_, cors, asking, expected) => {
    const opened = createTestService(config, { ...(cors ? { cors } : {}), documents })
    for (const line of [
      'GET /items',
      'HEAD /items',
      'GET /nowhere',
      'GET /users',
      'DELETE /items',
      'GET /items?any=1',
      'OPTIONS /items',
    ]) {
      const answer = await opened.send(line, { headers: { origin: asking } })
      expect(answer.headers.get('access-control-allow-origin'), line).toBe(expected)
      if (expected === null) expect(grants(answer)).toEqual([])
      else
        expect((answer.headers.get('access-control-expose-headers') ?? '').split(', ').sort()).toEqual(
          exposed,
        )
      expect(grants(answer)).not.toContain('access-control-allow-credentials')
    }
  })

  test('leave is given before a request, without looking at a token', async () => {
    const opened = createTestService(config, { cors: { origins: [origin] } })
    const preflight = (asking: string) => ({
      headers: {
        origin: asking,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })
    const granted = await opened.send('OPTIONS /items', preflight(origin))
    expect(granted.status).toBe(204)
    expect(granted.headers.get('access-control-allow-origin')).toBe(origin)
    expect(granted.headers.get('access-control-allow-methods')).toContain('POST')
    expect(granted.headers.get('access-control-allow-headers')?.toLowerCase()).toMatch(
      /authorization.*content-type.*prefer/,
    )
    const refused = await opened.send('OPTIONS /items', preflight('https://evil.example'))
    expect(refused.status).toBe(204)
    expect(grants(refused)).toEqual([])
  })

  test('may send what clients that cache and tracers send, and the headers that the host names', async () => {
    const allowed = async (cors: ServiceOptions['cors']) => {
      const { headers } = await createTestService(config, { ...(cors ? { cors } : {}) }).send(
        'OPTIONS /items',
        {
          headers: { origin, 'access-control-request-method': 'GET' },
        },
      )
      return (headers.get('access-control-allow-headers') ?? '').toLowerCase().split(', ')
    }
    const always = await allowed({ origins: '*' })
    expect(always).toEqual(
      expect.arrayContaining([
        ...['authorization', 'content-type', 'if-match', 'if-none-match', 'last-event-id'],
        ...['cache-control', 'pragma', 'expires', 'traceparent', 'tracestate', 'baggage'],
      ]),
    )
    expect(new Set(always).size).toBe(always.length)
    expect(await allowed({ origins: [origin], headers: [] })).toEqual(always)
    expect(await allowed({ origins: [origin], headers: ['X-Request-Id', 'b3'] })).toEqual([
      ...always,
      'x-request-id',
      'b3',
    ])
    expect(await allowed({ origins: [], headers: ['X-Request-Id'] })).toEqual([''])
  })

  test('a request without an origin is answered without grants', async () => {
    const opened = createTestService(config, { cors: { origins: [origin] }, documents })
    expect(grants(await opened.send('GET /items'))).toEqual([])
  })
})

describe('a conflict', () => {
  test('names the fields, never the other document', async () => {
    const clashing = createTestService(config, { documents })
    const answer = await clashing.send('POST /items', { body: { code: 'a' }, caller: { id: 'x' } })
    expect(codeOf(answer)).toEqual([409, 'unique_violation'])
    expect(Object.keys(faultsOf(answer))).toEqual(['/code'])
    expect(answer.text).not.toContain(ID)
  })
})
