import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  ConfigError,
  createCollectionService,
  createMemoryAdapter,
  ServiceError,
  type ServiceOptions,
  type StorageAdapter,
} from '../../src/index.js'
import { createTestHasher } from '../../src/testing/index.js'
import { answerAtDeadline, createStall } from '../support/deadlines.js'
import {
  type AnyConfig,
  createTestService,
  faultsOf,
  type Sent,
  type TestService,
} from '../support/service.js'

const collections = {
  users: {
    schema: { email: { type: 'string', unique: true }, password: { type: 'hash' }, role: { type: 'string' } },
    permissions: { '*': { create: true }, owner: { read: true }, admin: true },
  },
  items: {
    schema: { title: { type: 'string' }, code: { type: 'string', unique: true } },
    permissions: { '*': { read: true }, user: { create: true }, guest: { create: false } },
  },
  open: { schema: { title: { type: 'string' } }, permissions: { '*': { pick: ['title'] } } },
  'with-dash_1': { schema: {}, permissions: { '*': { read: true } } },
}

const config: AnyConfig = { collections, auth: { roleField: 'role' } }

const ID = '0189abcd-0000-7000-8000-000000000001'
const MISSING = '0189abcd-0000-7000-8000-00000000dead'

const ann = { email: 'ann', password: 'secret' }
const documents = {
  items: [{ _id: ID, title: 'one', code: 'a' }],
  users: [{ email: 'gus', password: 'secret', role: 'guest' }],
}

const service = createTestService(config, { documents })

const codeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body.code])

const stepOut = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A promise that is settled from outside. */
function defer<T>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

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
    expect([...head.headers]).toEqual([...get.headers])
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

describe('limits', () => {
  const stream = (chunks: readonly string[]) =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
        controller.close()
      },
    })
  const sized = (length: number) => `{"title":"${'x'.repeat(length - 12)}"}`

  test('bodyBytes, at the limit and beyond, in one piece and in many', async () => {
    const small = createTestService({ collections, limits: { bodyBytes: 50 } })
    const post = async (raw: BodyInit) => codeOf(await small.send('POST /open', { raw }))
    expect(await post(sized(50))).toBe(201)
    expect(await post(sized(51))).toEqual([413, 'body_too_large'])
    expect(await post(stream(sized(50).match(/.{1,7}/g) ?? []))).toBe(201)
    expect(await post(stream(sized(51).match(/.{1,7}/g) ?? []))).toEqual([413, 'body_too_large'])
    // Bytes, not characters.
    expect(await post(`{"title":"${'ä'.repeat(20)}"}`)).toEqual([413, 'body_too_large'])
  })

  test('by default a body has at most 1,048,576 bytes, a query string 8,192', async () => {
    const post = async (raw: string) => codeOf(await service.send('POST /open', { raw }))
    expect(await post(sized(1_048_576))).toBe(201)
    expect(await post(sized(1_048_577))).toEqual([413, 'body_too_large'])
    const get = async (length: number) =>
      codeOf(await service.send(`GET /items?q[title]=${'x'.repeat(length - 9)}`))
    expect(await get(8192)).toBe(200)
    expect(await get(8193)).toEqual([414, 'query_too_long'])
  })

  test('an endless body is cut off at the limit', async () => {
    let sent = 0
    const cancelled = defer<boolean>()
    const raw = new ReadableStream({
      pull(controller) {
        sent += 1000
        controller.enqueue(new Uint8Array(1000).fill(0x20))
      },
      cancel: () => cancelled.resolve(true),
    })
    const small = createTestService({ collections, limits: { bodyBytes: 5000 } })
    expect(codeOf(await small.send('POST /open', { raw }))).toEqual([413, 'body_too_large'])
    expect(await cancelled.promise).toBe(true)
    expect(sent).toBeLessThan(20_000)
  })
})

describe('limits: requestSeconds', () => {
  const patient = (adapter: StorageAdapter, options: ServiceOptions = {}) =>
    createTestService({ collections }, { ...options, adapter })
  const ask = (begun: Promise<unknown>, target: TestService, line: string, options = {}) =>
    answerAtDeadline(begun, () => target.send(line, { ...options, mayFail: true }))

  test('a body that does not end is a 408, and is given up', async () => {
    const cancelled = defer<boolean>()
    const { begin, begun } = createStall()
    const raw = new ReadableStream(
      { pull: begin, cancel: () => cancelled.resolve(true) },
      { highWaterMark: 0 },
    )
    const answer = await ask(begun, patient(createMemoryAdapter()), 'POST /open', { raw })
    expect(codeOf(answer)).toEqual([408, 'request_timeout'])
    expect(await cancelled.promise).toBe(true)
  })

  test('a storage that does not answer is a 503, and is told to stop', async () => {
    const signals: (AbortSignal | undefined)[] = []
    for (const path of ['/items', '/items/count', `/items/${ID}`]) {
      const { begin, begun } = createStall()
      const adapter: StorageAdapter = {
        ...createMemoryAdapter(),
        list: (_, { signal }) => {
          signals.push(signal)
          return begin()
        },
        count: (_, __, { signal }) => {
          signals.push(signal)
          return begin()
        },
      }
      const answer = await ask(begun, patient(adapter), `GET ${path}`)
      expect(codeOf(answer)).toEqual([503, 'storage_unavailable'])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true, true])
  })

  test('a storage that does not open is a 503', async () => {
    const { begin, begun } = createStall()
    const answer = await ask(begun, patient({ ...createMemoryAdapter(), open: begin }), 'GET /items')
    expect(codeOf(answer)).toEqual([503, 'storage_unavailable'])
  })

  test('a write that is not confirmed is a 503 of unknown outcome', async () => {
    const { begin, begun } = createStall()
    const stalled = patient({ ...createMemoryAdapter(), write: begin })
    const answer = await ask(begun, stalled, 'POST /open', { body: { title: 'x' } })
    expect(codeOf(answer)).toEqual([503, 'outcome_unknown'])
  })

  test('a secret that is not hashed in time is a 503, and nothing is written afterwards', async () => {
    const hashing = defer<string>()
    const written: unknown[] = []
    const memory = createMemoryAdapter()
    const adapter: StorageAdapter = {
      ...memory,
      write: (steps, options) => {
        written.push(steps)
        return memory.write(steps, options)
      },
    }
    const begun = defer<boolean>()
    const hash = () => {
      begun.resolve(true)
      return hashing.promise
    }
    const hasher = { hash, verify: async () => false }
    const answer = await ask(begun.promise, patient(adapter, { hasher }), 'POST /auth/register', {
      body: ann,
    })
    expect(codeOf(answer)).toEqual([503, 'overloaded'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    hashing.resolve('hash')
    await stepOut()
    expect(written).toEqual([])
  })

  test('a caller who is not identified in time is a 503', async () => {
    const { begin, begun } = createStall()
    const answer = await ask(begun, patient(createMemoryAdapter(), { authenticate: begin }), 'GET /items')
    expect(answer.status).toBe(503)
  })

  test('a client that has gone away is still answered, and nothing is written', async () => {
    const started = defer<boolean>()
    const controller = new AbortController()
    const patient = createTestService({ collections }, { adapter: createMemoryAdapter() })
    const raw = new ReadableStream({ pull: () => started.resolve(true) }, { highWaterMark: 0 })
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      body: raw,
      signal: controller.signal,
      duplex: 'half',
    }
    const answering = patient.handler(new Request('http://x/open', init))
    await started.promise
    controller.abort()
    expect((await answering).status).toBeGreaterThanOrEqual(400)
    const late = patient.handler(new Request('http://x/open', { ...init, body: '{"title":"x"}' }))
    expect((await late).status).toBeGreaterThanOrEqual(400)
    expect((await patient.send('GET /open/count')).body).toEqual({ total: 0 })
  })
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
      'POST /auth/logout',
    ]) {
      expect(await cache(line, { token }), line).toBe('no-store')
    }
    expect(await cache('GET /items', { caller: { id: 'ann' } })).toBe('no-store')
    for (const line of ['GET /items', 'GET /items/count', `GET /items/${ID}`])
      expect(await cache(line)).toBeNull()
  })
})

describe('pages of other origins', () => {
  const origin = 'https://a.example'
  const grants = ({ headers }: Sent) =>
    [...headers.keys()].filter((name) => name.startsWith('access-control-'))
  const exposed = ['ETag', 'Ignored-Properties', 'Link', 'Location', 'Retry-After', 'X-Total-Count']

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
      /authorization.*content-type/,
    )
    const refused = await opened.send('OPTIONS /items', preflight('https://evil.example'))
    expect(refused.status).toBe(204)
    expect(grants(refused)).toEqual([])
  })

  test('a request without an origin is answered without grants', async () => {
    const opened = createTestService(config, { cors: { origins: [origin] }, documents })
    expect(grants(await opened.send('GET /items'))).toEqual([])
  })
})

describe('a storage that throws', () => {
  const SECRET = 'dbpass'
  const brand = Symbol.for('collection-service.ServiceError')
  const odd: [string, () => unknown][] = [
    ['an error', () => new Error(SECRET)],
    ['an error with a cause', () => new TypeError(SECRET, { cause: new Error(SECRET) })],
    ['text', () => SECRET],
    ['a number', () => 404],
    ['undefined', () => undefined],
    ['null', () => null],
    ['a symbol', () => Symbol(SECRET)],
    [
      'an object that looks like an answer',
      () => ({ status: 200, code: 'not_found', message: SECRET, body: SECRET }),
    ],
    ['an object without a prototype', () => Object.assign(Object.create(null), { message: SECRET })],
    [
      'an object that cannot be read',
      () =>
        new Proxy(
          {},
          {
            get: () => {
              throw new Error(SECRET)
            },
            has: () => {
              throw new Error(SECRET)
            },
          },
        ),
    ],
    [
      'an error that cannot be read',
      () =>
        Object.defineProperty(new Error(), 'message', {
          get: () => {
            throw new Error(SECRET)
          },
        }),
    ],
    ['a function', () => () => SECRET],
    [
      'an internal error of this library',
      () => new ServiceError('internal_error', SECRET, { cause: new Error(SECRET) }),
    ],
    [
      'an error of a newer copy of this library',
      () => Object.assign(new Error(SECRET), { [brand]: true, code: 'unheard_of', errors: [] }),
    ],
    ['an error with the mark of this library and nothing else', () => ({ [brand]: true, message: SECRET })],
    [
      'the same with the name of a property of every object',
      () => ({ [brand]: true, code: 'constructor', message: SECRET, errors: [] }),
    ],
  ]
  test.each(odd)('%s: 500, and nothing of it leaves the process', async (_, make) => {
    const fail = async (): Promise<never> => {
      throw make()
    }
    const throwing = createTestService(config, {
      adapter: { ...createMemoryAdapter(), list: fail, count: fail, write: fail },
    })
    for (const [line, body] of [
      ['GET /items'],
      ['GET /items/count'],
      [`GET /items/${ID}`],
      ['POST /open', { title: 'x' }],
    ] as const) {
      const logged = throwing.logged.length
      const answer = await throwing.send(line, { body, mayFail: true })
      expect(codeOf(answer), line).toEqual([500, 'internal_error'])
      expect(answer.text).not.toContain(SECRET)
      expect(answer.body).not.toHaveProperty('errors')
      // The cause is in the log, once, under the id that the client was given.
      expect(throwing.logged).toHaveLength(logged + 1)
      expect(throwing.logged.at(-1)).toContainEqual(
        expect.objectContaining({ requestId: answer.body.requestId }),
      )
    }
  })

  test('at once, instead of rejecting', async () => {
    const throwing = createTestService(config, {
      adapter: {
        ...createMemoryAdapter(),
        list() {
          throw new Error(SECRET)
        },
      },
    })
    expect(codeOf(await throwing.send('GET /items', { mayFail: true }))).toEqual([500, 'internal_error'])
  })

  test.each<['storage_unavailable' | 'outcome_unknown' | 'overloaded', boolean]>([
    ['storage_unavailable', true],
    ['overloaded', true],
    ['outcome_unknown', false],
  ])('%s is what it says, and its cause stays inside', async (code, hasRetry) => {
    const fail = async (): Promise<never> => {
      throw new ServiceError(code, 'gone', { cause: new Error(SECRET) })
    }
    const throwing = createTestService(config, { adapter: { ...createMemoryAdapter(), list: fail } })
    const answer = await throwing.send('GET /items', { mayFail: true })
    expect(codeOf(answer)).toEqual([503, code])
    expect(answer.text).not.toContain(SECRET)
    if (hasRetry) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(JSON.stringify(throwing.logged)).toContain(answer.body.requestId)
  })

  test('a log that fails fails no request', async () => {
    const boom = (): never => {
      throw new Error(SECRET)
    }
    const throwing = createTestService(config, {
      adapter: { ...createMemoryAdapter(), list: boom },
      logger: { error: boom, warn: boom, info: boom },
    })
    expect(codeOf(await throwing.send('GET /items', { mayFail: true }))).toEqual([500, 'internal_error'])
  })

  test('a hasher that fails is a 500 too', async () => {
    const fail = async (): Promise<never> => {
      throw new Error(SECRET)
    }
    const throwing = createTestService(config, { hasher: { hash: fail, verify: fail } })
    for (const path of ['/auth/register', '/auth/login']) {
      const answer = await throwing.send(`POST ${path}`, { body: ann, mayFail: true })
      expect(codeOf(answer)).toEqual([500, 'internal_error'])
      expect(answer.text).not.toContain(SECRET)
    }
  })

  test.each<[string, () => BodyInit]>([
    [
      'a body that breaks',
      () => new ReadableStream({ pull: (controller) => controller.error(new Error(SECRET)) }),
    ],
    [
      'a body of no bytes',
      () =>
        new ReadableStream({
          start(controller) {
            controller.enqueue(SECRET)
            controller.close()
          },
        }),
    ],
  ])('%s is answered', async (_, raw) => {
    const answer = await service.send('POST /open', { raw: raw(), mayFail: true })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.text).not.toContain(SECRET)
  })

  test('a body that the host has read already is a 500', async () => {
    const request = new Request('http://x/open', { method: 'POST', body: '{"title":"x"}' })
    await request.text()
    const fresh = createTestService(config)
    const answer = await fresh.handler(request)
    expect(answer.status).toBe(500)
    expect(fresh.logged.at(-1)?.[1]).toEqual({
      requestId: (await answer.json()).requestId,
      cause: expect.objectContaining({ message: expect.stringContaining('new Request(request, {') }),
    })
    const again = new Request(request, { body: JSON.stringify({ title: 'x' }) })
    expect((await fresh.handler(again)).status).toBe(201)
  })
})

describe('opening the storage', () => {
  afterEach(() => vi.useRealTimers())

  /** An adapter whose `open` fails until it is mended. */
  function breakable(cause: unknown) {
    const memory = createMemoryAdapter()
    const state = { isBroken: true, opened: 0 }
    const adapter: StorageAdapter = {
      ...memory,
      async open(plans) {
        state.opened += 1
        if (state.isBroken) throw cause
        await memory.open(plans)
      },
    }
    return { adapter, state }
  }

  test('nothing is opened before it is needed, and then once', async () => {
    const { adapter, state } = breakable(null)
    state.isBroken = false
    const lazy = createTestService(config, { adapter })
    await stepOut()
    expect(state.opened).toBe(0)
    await Promise.all([
      lazy.handler.ready(),
      lazy.send('GET /items'),
      lazy.handler.ready(),
      lazy.send('GET /items/count'),
    ])
    await lazy.handler.ready()
    await lazy.handler.as(null).ready()
    expect(state.opened).toBe(1)
  })

  test('ready rejects with the cause, requests answer 503, and it is tried again at most once a second', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] })
    const cause = new Error('dbpass')
    const { adapter, state } = breakable(cause)
    const failing = createTestService(config, { adapter })
    await expect(failing.handler.ready()).rejects.toBe(cause)
    const ask = () => failing.send('GET /items', { mayFail: true })
    for (let i = 0; i < 3; i++) {
      const answer = await ask()
      expect(codeOf(answer)).toEqual([503, 'storage_unavailable'])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.text).not.toContain('dbpass')
    }
    expect(state.opened).toBe(1)
    vi.advanceTimersByTime(1100)
    expect((await ask()).status).toBe(503)
    expect((await ask()).status).toBe(503)
    expect(state.opened).toBe(2)
    await expect(failing.handler.ready()).rejects.toBe(cause)
    state.isBroken = false
    vi.advanceTimersByTime(1100)
    expect((await ask()).status).toBe(200)
    await failing.handler.ready()
    expect(state.opened).toBe(3)
  })

  test('routes and methods are told apart without the storage', async () => {
    const { adapter } = breakable(new Error('x'))
    const failing = createTestService(config, { adapter })
    expect((await failing.send('GET /nowhere')).status).toBe(404)
    expect((await failing.send('DELETE /items')).status).toBe(405)
    expect((await failing.send('OPTIONS /items')).status).toBe(204)
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['text', 'dbpass'],
    ['an error of this library', new ServiceError('unique_violation', 'dbpass')],
  ])('whatever is thrown, the answer is the same: %s', async (_, cause) => {
    const { adapter } = breakable(cause)
    const failing = createTestService(config, { adapter })
    const answer = await failing.send('GET /items', { mayFail: true })
    expect(codeOf(answer)).toEqual([503, 'storage_unavailable'])
    expect(answer.text).not.toContain('dbpass')
    await expect(failing.handler.ready()).rejects.toBe(cause)
  })
})

describe('closing', () => {
  function slow() {
    const steps: string[] = []
    const asked = defer<boolean>()
    const listing = defer<[]>()
    const adapter: StorageAdapter = {
      ...createMemoryAdapter(),
      list() {
        asked.resolve(true)
        return listing.promise
      },
      async close() {
        steps.push('closed')
      },
    }
    return { adapter, steps, asked: asked.promise, answer: () => listing.resolve([]) }
  }

  test('requests in flight end first, then the adapter, once', async () => {
    const { adapter, steps, asked, answer } = slow()
    const closing = createTestService(config, { adapter })
    const listed = closing.send('GET /items').then(({ status }) => steps.push(`answered ${status}`))
    await asked
    const closed = [closing.handler.close(), closing.handler.close(), closing.handler.as(null).close()]
    await stepOut()
    expect(steps).toEqual([])
    answer()
    await Promise.all([listed, ...closed])
    expect(steps.toSorted()).toEqual(['answered 200', 'closed'])
    await closing.handler.close()
    expect(steps).toHaveLength(2)
  })

  test('afterwards requests answer 503 and ready rejects', async () => {
    const closing = createTestService(config)
    expect((await closing.send('GET /items')).status).toBe(200)
    await closing.handler.close()
    expect(codeOf(await closing.send('GET /items', { mayFail: true }))).toEqual([503, 'storage_unavailable'])
    await expect(closing.handler.ready()).rejects.toBeDefined()
  })

  test('what was never opened closes too', async () => {
    await expect(createTestService(config).handler.close()).resolves.toBeUndefined()
  })
})

describe('creating a service', () => {
  const plain = {
    collections: {
      items: { schema: { title: { type: 'string' } }, permissions: { '*': { pick: ['title'] } } },
    },
  }

  test('a configuration alone is enough', async () => {
    const handler = createCollectionService(plain)
    const create = () => handler(new Request('http://x/items', { method: 'POST', body: '{"title":"x"}' }))
    expect((await create()).status).toBe(201)
    expect(await (await handler(new Request('http://x/items/count'))).json()).toEqual({ total: 1 })
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['text', 'config.json'],
    ['a list', []],
    ['an empty object', {}],
    ['a function', () => plain],
    ['a promise', Promise.resolve(plain)],
    ['a map', new Map()],
    ['collections that are a list', { collections: [] }],
    ['a collection without a schema', { collections: { items: {} } }],
    ['a function inside', { collections: { items: { schema: () => ({}) } } }],
    [
      'a date inside',
      { collections: { items: { schema: { a: { type: 'timestamp', default: new Date(0) } } } } },
    ],
    ['a number that is no JSON', { ...plain, limits: { values: Number.NaN } }],
    [
      'itself inside',
      Object.assign(
        { collections: {} },
        {
          get limits() {
            return this
          },
        },
      ),
    ],
  ])('what is no configuration is a ConfigError: %s', (_, wrong) => {
    expect(() => createCollectionService(wrong as typeof plain)).toThrow(ConfigError)
  })

  test('all faults are listed, each with its place', () => {
    const wrong = {
      collection: {},
      collections: {
        auth: { schema: {} },
        '1st': { schema: {} },
        items: {
          schema: { title: { type: 'strin' }, other: { type: 'string', uniqe: true } },
          permissions: { user: { reed: true } },
        },
        Items: { schema: {} },
      },
      limits: { bodyBytes: 0, bodybytes: 5 },
      auth: { cost: 9, sessionDays: 0 },
    }
    let faults: readonly string[] = []
    try {
      createCollectionService(wrong)
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'invalid_config' })
      faults = (thrown as ConfigError).faults.map(({ path }) => path)
    }
    expect([...faults].sort()).toEqual([
      '/auth/cost',
      '/auth/sessionDays',
      '/collection',
      '/collections/1st',
      '/collections/Items',
      '/collections/auth',
      '/collections/items/permissions/user/reed',
      '/collections/items/schema/other/uniqe',
      '/collections/items/schema/title/type',
      '/limits/bodyBytes',
      '/limits/bodybytes',
    ])
  })

  test.each<[string, object, string]>([
    ['a default above the maximum', { defaultLimit: 3, maxLimit: 2 }, '/limits/defaultLimit'],
    ['a limit of nothing', { maxLimit: 0 }, '/limits/maxLimit'],
    ['a part of a document', { defaultLimit: 1.5 }, '/limits/defaultLimit'],
    ['text', { values: '100' }, '/limits/values'],
    ['no time at all', { requestSeconds: 0 }, '/limits/requestSeconds'],
  ])('limits that cannot be: %s', (_, limits, path) => {
    try {
      createCollectionService({ ...plain, limits })
    } catch (thrown) {
      expect((thrown as ConfigError).faults.map((fault) => fault.path)).toEqual([path])
      return
    }
    expect.unreachable()
  })

  test('the configuration is copied: what happens to it later changes nothing', async () => {
    const own = structuredClone(plain)
    const handler = createCollectionService(own)
    own.collections.items.permissions['*'].pick = []
    Object.assign(own.collections.items.schema.title, { type: 'integer' })
    const response = await handler(new Request('http://x/items', { method: 'POST', body: '{"title":"x"}' }))
    expect(await response.json()).toMatchObject({ title: 'x' })
  })

  test('$schema is ignored, and so is what is undefined', () => {
    expect(() => createCollectionService({ $schema: './any.json', auth: undefined, ...plain })).not.toThrow()
  })

  test('open doors are a fault where NODE_ENV says production, unless options.production says otherwise', () => {
    const open = { collections: { items: { schema: {}, permissions: { '*': true } } } }
    const logger = { warn() {} }
    vi.stubEnv('NODE_ENV', 'production')
    try {
      expect(() => createCollectionService(open, undefined, { logger })).toThrow(ConfigError)
      expect(() => createCollectionService(open, undefined, { logger, production: false })).not.toThrow()
    } finally {
      vi.unstubAllEnvs()
    }
    expect(() => createCollectionService(open, undefined, { logger })).not.toThrow()
  })

  const loud = { collections: { items: { schema: {}, permissions: { '*': true } } } }
  class ClassLogger {
    readonly lines: string[] = []
    info(message: string): void {
      this.lines.push(`info ${message}`)
    }
    warn(message: string): void {
      this.lines.push(`warn ${message}`)
    }
    error(message: string): void {
      this.lines.push(`error ${message}`)
    }
  }

  test('a logger may be an instance of a class', async () => {
    const logger = new ClassLogger()
    const fallback = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')].map((spy) =>
      spy.mockImplementation(() => {}),
    )
    try {
      const adapter: StorageAdapter = { ...createMemoryAdapter(), list: () => Promise.reject(new Error('x')) }
      const handler = createCollectionService(loud, adapter, { logger, production: false })
      expect((await handler(new Request('http://x/items'))).status).toBe(500)
      expect(logger.lines.map((line) => line.split(' ')[0])).toEqual(['warn', 'error'])
      for (const spy of fallback) expect(spy).not.toHaveBeenCalled()
    } finally {
      for (const spy of fallback) spy.mockRestore()
    }
  })

  test('nothing but a ConfigError is thrown, even where the logger fails', () => {
    const warn = (): never => {
      throw new Error('disk full')
    }
    expect(() =>
      createCollectionService(loud, createMemoryAdapter(), { logger: { warn }, production: false }),
    ).not.toThrow()
  })

  test('a hasher, a clock and a log of the host are used', async () => {
    const { hash, verify } = createTestHasher()
    const hashed: string[] = []
    const handler = createCollectionService(config, createMemoryAdapter(), {
      hasher: {
        hash: (secret, signal) => {
          hashed.push(secret)
          return hash(secret, signal)
        },
        verify,
      },
      now: () => 86_400_000,
      logger: {},
    })
    const response = await handler(
      new Request('http://x/auth/register', { method: 'POST', body: JSON.stringify(ann) }),
    )
    expect(await response.json()).toMatchObject({ user: { createdAt: '1970-01-02T00:00:00.000Z' } })
    expect(hashed).toEqual(['secret'])
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
