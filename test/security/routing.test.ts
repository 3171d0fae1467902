import { beforeAll, describe, expect, test } from 'vitest'
import type { SendOptions } from '../support/service.js'
import {
  ANN,
  AS_ANN,
  type Attacked,
  attack,
  type Case,
  FORBIDDEN,
  INVALID_BODY,
  INVALID_JSON,
  INVALID_QUERY,
  INVALID_TOKEN,
  NOT_ALLOWED,
  NOT_FOUND,
  P1,
  type Refusal,
  TOO_LARGE,
  UNAUTHENTICATED,
  UNSUPPORTED,
  ZOE,
} from './fixture.js'

// CONTRACT.md §2, "Paths and methods", §5, "Denied"

let service: Attacked
beforeAll(async () => {
  service = await attack()
})

/** Sends a URL as the platform reads it, without the encoding that the support adds. */
async function sendRaw(url: string, init: RequestInit = {}, target = service): Promise<Response> {
  return target.handler(new Request(url, init))
}

describe('there is nothing at', () => {
  test.each([
    '/__proto__',
    '/constructor',
    '/hasOwnProperty',
    '/toString',
    '/prototype',
    '/valueOf',
    '/__proto__/count',
    '/constructor/count',
    '/nosuch',
    '/_sessions',
    '/count',
    '//posts',
    '///',
    '/posts//count',
    '/posts//',
    '/posts/count/x',
    '/posts/count//',
    `/posts/${P1}/x`,
    `/posts/${P1}/count`,
    '/POSTS',
    '/Posts',
    '/posts%20',
    '/posts%00',
    '/posts%0a',
    '/posts;v=1',
    '/posts.json',
    '/posts.css',
    '/p%C3%B6sts',
    '/posts%2Fcount',
    '/posts%5Ccount',
    '/%2570osts',
    '/posts%',
    '/%ff',
    '/auth',
    '/auth/',
    '/auth/x',
    '/auth/__proto__',
    '/auth/constructor',
    '/auth/Login',
    '/auth/login/x',
    '/auth/logout.json',
    '/auth%2Flogin',
    '/authx',
    '/locked%00',
    '/api/posts',
    '/.well-known/x',
    '/favicon.ico',
  ])('%s', async (path) => {
    for (const method of ['GET', 'POST']) await service.refuse(`${method} ${path}`, NOT_FOUND)
    const [answer, nosuch] = [await service.send(`GET ${path}`), await service.send('GET /nosuch')]
    expect({ ...answer.body, requestId: '' }).toEqual({ ...nosuch.body, requestId: '' })
  })

  test.each([
    '1',
    'x',
    '__proto__',
    'constructor',
    `${P1} `,
    `${P1}%00`,
    `${P1}.json`,
    P1.replaceAll('-', ''),
    `{${P1}}`,
    '*',
    'a'.repeat(5000),
    ANN,
    '..%2fusers',
    'Count',
    'count%20',
  ])('/posts/%s', async (id) => {
    await service.refuse(`GET /posts/${id}`, NOT_FOUND)
  })
})

test.each<Case<[path: string, same: string]>>([
  ['a slash at the end of a list', '/posts/', '/posts'],
  ['a slash at the end of a count', '/posts/count/', '/posts/count'],
  ['a slash at the end of a document', `/posts/${P1}/`, `/posts/${P1}`],
  ['an encoded letter', '/%70osts', '/posts'],
  ['an encoded letter of count', '/posts/%63ount', '/posts/count'],
  ['a collection behind a way up', '/users/../posts', '/posts'],
  ['a fragment', '/posts#/users', '/posts'],
])('one place has one answer: %s', async (_what, path, same) => {
  const answers = await Promise.all([path, same].map((each) => sendRaw(`http://service.test${each}`)))
  const [first, second] = await Promise.all(answers.map((answer) => answer.text()))
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(first).toBe(second)
})

test.each([
  '/posts/../users',
  '/posts/%2e%2e/users',
  '/posts/.%2e/users',
  '/posts/./../users',
  '/posts\\..\\users',
  '/\\users',
  '/./users',
])('the rules are those of the place that a path leads to in the end: %s', async (path) => {
  const { status } = await sendRaw(`http://service.test${path}`)
  expect([401, 404]).toContain(status)
})

test('a backslash is a slash, as URLs have it, and skips no rule', async () => {
  expect(await (await sendRaw('http://service.test/posts\\count')).json()).toEqual({ total: 4 })
  expect((await sendRaw('http://service.test/locked\\count')).status).toBe(401)
})

test.each([
  'http://evil.test/posts',
  'http://posts/posts',
  'https://service.test:8443/posts',
  'http://users.locked/posts',
])('the host of a request decides nothing: %s', async (url) => {
  const response = await sendRaw(url, {
    headers: { 'x-forwarded-host': 'evil.test', 'x-original-url': '/users', 'x-rewrite-url': '/users' },
  })
  expect(response.status).toBe(200)
  expect(await response.json()).toHaveLength(4)
})

describe.each([
  ['/posts', 'GET, HEAD, POST, OPTIONS', ['PUT', 'PATCH', 'DELETE', 'patch', 'FOO', 'QUERY', 'PROPFIND']],
  ['/posts/count', 'GET, HEAD, OPTIONS', ['POST', 'PUT', 'PATCH', 'DELETE', 'patch', 'FOO']],
  ['/locked', 'GET, HEAD, POST, OPTIONS', ['PUT', 'FOO']],
  ['/auth/register', 'POST, OPTIONS', ['GET', 'HEAD', 'PUT', 'FOO']],
  ['/auth/login', 'POST, OPTIONS', ['GET', 'PUT', 'DELETE']],
  ['/auth/logout', 'POST, OPTIONS', ['GET', 'DELETE']],
  ['/auth/me', 'GET, HEAD, OPTIONS', ['POST', 'PUT', 'PATCH', 'DELETE']],
])('the methods of %s', (path, allow, others) => {
  test.each(others)('do not include %s', async (method) => {
    const sent = await service.send(`${method} ${path}`, { token: 'none' })
    expect({ status: sent.status, allow: sent.headers.get('allow') }).toEqual({ status: 405, allow })
    if (method !== 'HEAD') expect(sent.body.code).toBe(NOT_ALLOWED.code)
  })

  test('are told to everyone, whatever token is sent', async () => {
    for (const options of [{}, { token: 'none' }, { caller: null }] as SendOptions[]) {
      if (path.startsWith('/auth') && 'caller' in options) continue
      const sent = await service.send(`OPTIONS ${path}`, options)
      expect({ status: sent.status, allow: sent.headers.get('allow'), text: sent.text }).toEqual({
        status: 204,
        allow,
        text: '',
      })
    }
  })
})

test('there are no methods where there is nothing', async () => {
  for (const method of ['OPTIONS', 'FOO', 'DELETE']) await service.refuse(`${method} /nosuch`, NOT_FOUND)
})

test.each([
  '/posts',
  '/posts/count',
  `/posts/${P1}`,
  '/locked',
  '/users',
  '/nosuch',
  '/posts?limit=x',
  '/posts/1',
  '/auth/me',
])('HEAD of %s is GET without a body', async (path) => {
  const [get, head] = [await service.send(`GET ${path}`), await service.send(`HEAD ${path}`)]
  expect(head.status).toBe(get.status)
  const { 'content-length': length, ...others } = Object.fromEntries(head.headers)
  expect([others, Number(length)]).toEqual([Object.fromEntries(get.headers), Buffer.byteLength(get.text)])
  expect(head.text).toBe('')
})

test.each<Case<[headers: { [name: string]: string }]>>([
  ['X-HTTP-Method-Override', { 'x-http-method-override': 'DELETE' }],
  ['X-HTTP-Method', { 'x-http-method': 'GET' }],
  ['X-Method-Override', { 'x-method-override': 'PUT' }],
])('a method is not overridden by %s', async (_what, headers) => {
  expect((await service.send('POST /open', { body: { name: 'x' }, headers })).status).toBe(201)
  expect((await service.send('GET /posts/count', { headers })).body).toEqual({ total: 4 })
})

test('odd headers do no harm', async () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, 'x']))
  for (const headers of [
    { ['__proto__']: 'x' },
    many,
    { 'x-latin': 'é' },
    { constructor: 'x' },
    { accept: 'text/html' },
  ]) {
    expect((await service.send('GET /posts/count', { headers })).body).toEqual({ total: 4 })
  }
})

test('an id in capitals is the same id, any other spelling names nothing', async () => {
  const _id = 'abcdef00-0000-7000-8000-000000000000'
  const own = await attack(undefined, { documents: { open: [{ _id, name: 'x' }] } })
  expect((await own.send(`GET /open/${_id}`)).body.name).toBe('x')
  expect((await own.send(`GET /open/${_id.toUpperCase()}`)).body).toMatchObject({ _id, name: 'x' })
  const others = [
    _id.replaceAll('-', ''),
    `{${_id}}`,
    `urn:uuid:${_id}`,
    _id.replace('a', 'а'),
    _id.replace('f', 'ｆ'),
    _id.toUpperCase().replace('0', 'O'),
    `${_id.toUpperCase()}%00`,
    `${_id.toUpperCase()}%0A`,
    `${_id.toUpperCase()} `,
  ]
  for (const other of others) await own.refuse(`GET /open/${other}`, NOT_FOUND)
})

describe('below a base path', () => {
  let based: Attacked
  beforeAll(async () => {
    based = await attack(undefined, { basePath: '/api', documents: { open: [{ name: 'x' }] } })
  })

  test.each([
    '/open',
    '/apiopen',
    '/API/open',
    '/',
    '/api%2f',
    '/api//open',
    '/api/../open',
    '/api/api/open',
    '/%2561pi/open',
    '/auth/login',
  ])('there is nothing at %s', async (path) => {
    expect((await sendRaw(`http://service.test${path}`, {}, based)).status).toBe(404)
  })

  test('everything is, addresses of new documents too', async () => {
    expect((await based.send('GET /api/open/count')).body).toEqual({ total: 1 })
    const { body, headers } = await based.send('POST /api/open', { body: { name: 'y' } })
    expect(headers.get('location')).toBe(`/api/open/${body._id}`)
    expect((await based.send(`GET ${headers.get('location')}`)).body).toEqual(body)
  })
})

describe('who may not', () => {
  test.each<Case<[line: string, expected: Refusal, options: SendOptions]>>([
    ['a stranger, a locked list', 'GET /locked', UNAUTHENTICATED, {}],
    ['a stranger, a locked count', 'GET /locked/count', UNAUTHENTICATED, {}],
    ['a stranger, a locked creation', 'POST /locked', UNAUTHENTICATED, { body: { x: 'y' } }],
    ['a stranger, a document of a locked collection', `GET /locked/${P1}`, UNAUTHENTICATED, {}],
    ['a stranger, an account that exists', `GET /users/${ZOE}`, UNAUTHENTICATED, {}],
    ['a stranger, an account that does not', `GET /users/${P1}`, UNAUTHENTICATED, {}],
    ['a stranger, an id that is none', 'GET /users/x', UNAUTHENTICATED, {}],
    ['a signed-in caller, a locked list', 'GET /locked', FORBIDDEN, { caller: AS_ANN }],
    ['a signed-in caller, a locked count', 'GET /locked/count', FORBIDDEN, { caller: AS_ANN }],
    [
      'a signed-in caller, a locked creation',
      'POST /locked',
      FORBIDDEN,
      { caller: AS_ANN, body: { x: 'y' } },
    ],
    [
      'a signed-in caller, a document of a locked collection',
      `GET /locked/${P1}`,
      NOT_FOUND,
      { caller: AS_ANN },
    ],
    ['a stranger without a token', 'GET /auth/me', UNAUTHENTICATED, {}],
    ['a stranger who leaves', 'POST /auth/logout', UNAUTHENTICATED, {}],
    [
      'a user, creating another account with a secret',
      'POST /users',
      INVALID_BODY,
      { caller: AS_ANN, body: { email: 'n@x.co', password: 'longenough1' } },
    ],
  ])('%s', async (_what, line, expected, options) => {
    await service.refuse(line, expected, options)
  })
})

/** Each request has two faults; the one that is judged first is the answer. */
test.each<Case<[line: string, expected: Refusal, options: SendOptions]>>([
  ['a place that is not there, before a token', 'GET /nosuch', NOT_FOUND, { token: 'x' }],
  ['a method, before a token', 'DELETE /posts', NOT_ALLOWED, { token: 'x' }],
  ['a token, before rights', 'GET /locked', INVALID_TOKEN, { token: 'x' }],
  ['a token, before a query', 'GET /posts?x=1', INVALID_TOKEN, { token: 'x' }],
  ['rights, before a query', 'GET /locked?x=1', UNAUTHENTICATED, {}],
  [
    'rights, before a media type',
    'POST /locked',
    FORBIDDEN,
    { caller: AS_ANN, raw: 'x', headers: { 'content-type': 'text/html' } },
  ],
  [
    'a query, before a media type',
    'POST /open?x=1',
    INVALID_QUERY,
    { raw: 'x', headers: { 'content-type': 'text/html' } },
  ],
  [
    'a media type, before a size',
    'POST /open',
    UNSUPPORTED,
    { raw: ' '.repeat(300_000), headers: { 'content-type': 'text/html' } },
  ],
  ['a size, before JSON', 'POST /open', TOO_LARGE, { raw: '['.repeat(300_000) }],
  ['JSON, before a schema', 'POST /open', INVALID_JSON, { raw: '{"name":5' }],
  ['a query, before a document', `GET /posts/${ZOE}?x=1`, INVALID_QUERY, {}],
])('of two faults %s', async (_what, line, expected, options) => {
  await service.refuse(line, expected, options)
})
