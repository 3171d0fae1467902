import { describe, expect, test } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { call, useListen } from '../mounts/support/node.js'
import { type AnyConfig, createTestService, type Sent, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { ann, configOf, outcomeOf } from './support/accounts.js'
import { CLEARED, cookieOf, DEAD, join, NAME, SAME, tokenOf, withCookie } from './support/cookies.js'

// CONTRACT.md §4, "Sessions in cookies"

const storages = useStorages()
const opened = closeAfterEach()
const listen = useListen()

const APP = 'https://app.example'
const bob = { email: 'bob@example.org', password: 'secret of bob' }
const permissions = { owner: { read: true, update: true, delete: true }, admin: true }
const config = (cookie: unknown = true, more: object = {}): AnyConfig =>
  configOf({ permissions, auth: { roleField: 'role', cookie, ...more } })

const INVALID = [401, 'invalid_token']
const CROSS_SITE = [403, 'cross_site']

describe.each(storages)('in %s,', (_, create) => {
  const open = (given = config(), options: object = {}): TestService => {
    const service = createTestService(given, { adapter: create(), ...options })
    opened.push(service)
    return service
  }

  test('a session in a cookie is one like any other', async () => {
    const service = open()
    const { send } = service
    const { token, id } = await join(service, ann)
    const headers = withCookie(token)
    const me = await send('GET /auth/me', { headers })
    expect([me.status, me.body._id]).toEqual([200, id])
    const created = await send('POST /notes', { headers, body: { text: 'x' } })
    expect([created.status, created.body.createdBy]).toEqual([201, id])
    expect((await send('GET /auth/me', { token })).body._id).toBe(id)
    const { body: sessions } = await send('GET /auth/sessions', { headers })
    expect(sessions.map(({ isCurrent }: { isCurrent: boolean }) => isCurrent)).toEqual([true])
    expect(cookieOf(me) ?? cookieOf(created)).toBeUndefined()
  })

  test('the cookie is cleared where its session has ended by this request, and nowhere else', async () => {
    const service = open()
    const { send } = service
    const { token, id } = await join(service, ann)
    const headers = withCookie(token)
    const login = async () => tokenOf(await send('POST /auth/login', { headers: SAME, body: ann }))
    const dies = async (line: string, own: string, body?: object) => {
      const answer = await send(line, { headers: withCookie(own), body })
      expect([line, answer.status < 300, cookieOf(answer)]).toEqual([line, true, CLEARED])
      expect(outcomeOf(await send('GET /news', { headers: withCookie(own) }))).toEqual(INVALID)
    }
    const lives = async (line: string, body?: object) => {
      const answer = await send(line, { headers, body })
      expect([line, answer.status < 300, cookieOf(answer)]).toEqual([line, true, undefined])
    }
    await dies('POST /auth/logout', await login())
    const [first, second] = [await login(), await login()]
    const named = async (own: string) =>
      (await send('GET /auth/sessions', { headers: withCookie(own) })).body.find(
        ({ isCurrent }: { isCurrent: boolean }) => isCurrent,
      )._id
    await lives(`DELETE /auth/sessions/${await named(first)}`)
    await dies(`DELETE /auth/sessions/${await named(second)}`, second)
    await lives(`PATCH /users/${id}`, { name: 'Ann' })
    // The session that sets a new secret by an update goes on.
    await lives(`PATCH /users/${id}`, { password: ann.password })
    await dies('POST /auth/logout-all', await login())
    expect(outcomeOf(await send('GET /auth/me', { headers }))).toEqual(INVALID)
    const last = await login()
    await dies('POST /_batch', last, { operations: [{ method: 'DELETE', path: `/users/${id}` }] })
  })

  test('it is cleared where the account is deleted, by another path too', async () => {
    const users = {
      email: { type: 'string', unique: true, required: true },
      password: { type: 'hash', required: true },
      team: { type: 'reference', collection: 'teams', onDelete: 'cascade' },
    }
    const teams = { schema: { name: { type: 'string' } }, permissions: { user: true } }
    const service = open({
      collections: { users: { schema: users, permissions: { owner: { read: true, update: true } } }, teams },
      auth: { cookie: true },
    } as AnyConfig)
    const { send } = service
    const { token, id } = await join(service, ann)
    const headers = withCookie(token)
    const { body: team } = await send('POST /teams', { headers, body: { name: 'a' } })
    await send(`PATCH /users/${id}`, { headers, body: { team: team._id } })
    expect(cookieOf(await send('POST /teams', { headers, body: { name: 'b' } }))).toBeUndefined()
    expect(cookieOf(await send(`DELETE /teams/${team._id}`, { headers }))).toBe(CLEARED)
  })

  test('it is cleared where a hook deletes the account, or a write ends its verification', async () => {
    const schema = {
      email: { type: 'string', unique: true, required: true },
      password: { type: 'hash', required: true },
      verifiedAt: { type: 'timestamp' },
      name: { type: 'string' },
    }
    const given = {
      collections: {
        users: { schema, permissions: { owner: { read: true, update: { pick: ['name'] } } } },
        farewells: { schema: { text: { type: 'string' } }, permissions: { user: true } },
      },
      auth: { cookie: true, verifiedField: 'verifiedAt', requireVerified: true },
    } as AnyConfig
    const tokens: string[] = []
    const service = open(given, {
      deliver: (delivery: object) => {
        if ('token' in delivery) tokens.push(String(delivery.token))
      },
      hooks: {
        farewells: {
          before: ({ caller }: { caller: { id: string } }) => ({
            also: [{ method: 'DELETE', path: `/users/${caller.id}`, system: true }],
          }),
        },
      },
    })
    const { send } = service
    await send('POST /auth/register', { headers: SAME, body: ann })
    await expect.poll(() => tokens.length).toBe(1)
    expect(
      cookieOf(
        await send('POST /auth/verify', { headers: SAME, body: { token: tokens[0], current: ann.password } }),
      ),
    ).toBeUndefined()
    const token = tokenOf(await send('POST /auth/login', { headers: SAME, body: ann }))
    const answer = await send('POST /farewells', { headers: withCookie(token), body: { text: 'x' } })
    expect([answer.status, cookieOf(answer)]).toEqual([201, CLEARED])
  })

  test('a new secret renews the cookie', async () => {
    const service = open()
    const { send } = service
    const { token } = await join(service, ann)
    const body = { current: ann.password, new: 'another' }
    const renewed = await send('POST /auth/change-secret', { headers: withCookie(token), body })
    expect([renewed.status, Object.keys(renewed.body)]).toEqual([200, ['user', 'expiresAt']])
    expect(outcomeOf(await send('GET /auth/me', { headers: withCookie(token) }))).toEqual(INVALID)
    expect((await send('GET /auth/me', { headers: withCookie(tokenOf(renewed)) })).status).toBe(200)
    const { body: given } = await send('POST /auth/login', { body: { ...ann, password: 'another' } })
    const byToken = await send('POST /auth/change-secret', {
      token: given.token,
      headers: { ...SAME, prefer: 'session=cookie' },
      body: { current: 'another', new: ann.password },
    })
    expect([typeof byToken.body.token, cookieOf(byToken)]).toEqual(['string', undefined])
  })

  test('a write whose session ends meanwhile is a 401 that clears the cookie', async () => {
    let end = async (): Promise<unknown> => undefined
    const service = open(config(), { hooks: { notes: { before: async () => void (await end()) } } })
    const { send } = service
    const { token } = await join(service, ann)
    end = () => send('POST /auth/logout', { token })
    const answer = await send('POST /notes', { headers: withCookie(token), body: { text: 'x' } })
    expect([...outcomeOf(answer), cookieOf(answer)]).toEqual([...INVALID, CLEARED])
  })
})

describe('a session is put into a cookie where the request asks for that', () => {
  const now = () => Date.parse('2026-11-20T08:00:00.000Z')
  const cors = { origins: [APP, 'https://other.example'] }
  const open = (cookie: unknown = { origins: [APP] }, more: object = {}) =>
    createTestService(config(cookie, more), { cors, now })
  const ask = async (service: TestService, headers: { readonly [name: string]: string }): Promise<Sent> =>
    service.send('POST /auth/login', { headers, body: ann })

  test.each<[string, { readonly [name: string]: string }, boolean]>([
    ['nothing', {}, false],
    ['a page of the same origin', SAME, true],
    ['one of the same site', { 'sec-fetch-site': 'same-site' }, false],
    ['one of another site', { 'sec-fetch-site': 'cross-site' }, false],
    ['an address that was typed', { 'sec-fetch-site': 'none' }, false],
    ['a trusted origin', { 'sec-fetch-site': 'cross-site', origin: APP }, true],
    ['another origin of cors', { origin: 'https://other.example' }, false],
    ['an origin that begins like a trusted one', { origin: `${APP}.evil.example` }, false],
    ['a preference', { prefer: 'session=cookie' }, true],
    ['a preference among others', { prefer: 'handling=strict, Session="cookie"; x=1' }, true],
    ['a preference for the token', { ...SAME, prefer: 'session=token' }, false],
    ['two preferences', { prefer: 'session=token, session=cookie' }, false],
    ['another preference', { prefer: 'session=other' }, false],
    ['another preference of the same origin', { ...SAME, prefer: 'session=other' }, true],
    ['a malformed preference', { prefer: 'session=' }, false],
    ['its own origin, without Sec-Fetch-Site', { origin: 'http://service.test' }, false],
  ])('%s', async (_, headers, isAsked) => {
    const service = open()
    await service.send('POST /auth/register', { body: ann })
    const { status, body, headers: answered } = await ask(service, headers)
    expect(status).toBe(200)
    expect('token' in body).toBe(!isAsked)
    expect(answered.getSetCookie()).toHaveLength(isAsked ? 1 : 0)
    expect(answered.get('cache-control')).toBe('private, no-store')
  })

  test.each<[string, unknown, { readonly [name: string]: string }, string]>([
    ['the defaults', true, SAME, '__Host-session=T; HttpOnly; Secure; SameSite=Lax; Path=/; Max-Age=2592000'],
    [
      'other settings',
      { name: 'sid', sameSite: 'strict' },
      SAME,
      'sid=T; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=2592000',
    ],
    ...['http://localhost', 'http://localhost:5173', 'http://127.0.0.1:3000'].map(
      (origin): [string, unknown, { readonly [name: string]: string }, string] => [
        origin,
        true,
        { ...SAME, origin },
        'session=T; HttpOnly; SameSite=Lax; Path=/; Max-Age=2592000',
      ],
    ),
    ...[
      'https://localhost',
      'http://localhost.evil.example',
      'http://127.0.0.1.evil.example',
      'http://[::1]',
    ].map((origin): [string, unknown, { readonly [name: string]: string }, string] => [
      origin,
      true,
      { ...SAME, origin },
      '__Host-session=T; HttpOnly; Secure; SameSite=Lax; Path=/; Max-Age=2592000',
    ]),
    [
      'another prefix, from a local page',
      { name: '__Secure-sid' },
      { ...SAME, origin: 'http://localhost' },
      'sid=T; HttpOnly; SameSite=Lax; Path=/; Max-Age=2592000',
    ],
  ])('its form: %s', async (_, cookie, headers, text) => {
    const service = open(cookie)
    const answer = await service.send('POST /auth/register', { body: ann, headers })
    expect(cookieOf(answer)?.replace(/=[\w-]{43};/, '=T;')).toBe(text)
  })

  test('another path has another name', async () => {
    const service = createTestService(config({ path: '/api' }), { basePath: '/api', now })
    const answer = await service.send('POST /api/auth/register', { body: ann, headers: SAME })
    expect(cookieOf(answer)).toMatch(
      /^session=[\w-]{43}; HttpOnly; Secure; SameSite=Lax; Path=\/api; Max-Age=2592000$/,
    )
  })

  test('Max-Age has whole seconds, and none that the session lacks', async () => {
    const service = open(true, { sessionDays: 1.5 / 86_400 })
    expect(cookieOf(await service.send('POST /auth/register', { body: ann, headers: SAME }))).toMatch(
      /; Max-Age=1$/,
    )
  })

  test('a registration that reveals nothing sets no cookie', async () => {
    const schema = {
      email: { type: 'string', unique: true },
      password: { type: 'hash' },
      at: { type: 'timestamp' },
    }
    const service = createTestService(
      configOf({ schema, auth: { cookie: true, verifiedField: 'at', requireVerified: true } }),
      { deliver: () => {} },
    )
    const { status, text, headers } = await service.send('POST /auth/register', { body: ann, headers: SAME })
    expect([status, text, headers.getSetCookie()]).toEqual([202, '{}', []])
  })

  test('without auth.cookie, nothing asks for one, and none is read', async () => {
    const service = createTestService(config(false))
    const { body, headers } = await service.send('POST /auth/register', {
      body: ann,
      headers: { ...SAME, prefer: 'session=cookie' },
    })
    expect([typeof body.token, headers.getSetCookie()]).toEqual(['string', []])
    const me = await service.send('GET /auth/me', { headers: withCookie(body.token) })
    expect(outcomeOf(me)).toEqual([401, 'unauthenticated'])
    expect(me.headers.get('vary')).toBe('Authorization')
    expect(me.headers.get('cache-control')).toBe('no-store')
  })
})

describe('a cookie that is no session', () => {
  const open = async () => {
    const service = createTestService(config())
    return { ...service, ...(await join(service, ann)) }
  }
  test.each<[string, (token: string) => string]>([
    ['a dead one', () => `${NAME}=${DEAD}`],
    ['a malformed one', () => `${NAME}=x`],
    ['an empty one', () => `${NAME}=`],
    ['one in quotes', (token) => `${NAME}="${token}"`],
    ['two of the name', (token) => `${NAME}=${token}; ${NAME}=${token}`],
    ['two, of which one is empty', (token) => `${NAME}=; a=b;${NAME}=${token}`],
    ['two as a list', (token) => `${NAME}=${token}, ${NAME}=${token}`],
    ['a dead one, and a local one', (token) => `${NAME}=${DEAD}; session=${token}`],
  ])('%s is a 401 that clears it, on public data too', async (_, write) => {
    const { send, token } = await open()
    const headers = { cookie: write(token), ...SAME }
    for (const line of ['GET /news', 'GET /auth/me', 'GET /', 'POST /notes', 'POST /auth/logout']) {
      const answer = await send(line, { headers, body: line.endsWith('notes') ? {} : undefined })
      expect([line, ...outcomeOf(answer), cookieOf(answer)]).toEqual([line, ...INVALID, CLEARED])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
    }
    const [missing, wrong] = [await send('GET /none/x/y', { headers }), await send('PUT /notes', { headers })]
    expect([missing.status, wrong.status]).toEqual([404, 405])
    expect(cookieOf(missing) ?? cookieOf(wrong)).toBeUndefined()
    const preflight = await send('OPTIONS /notes', { headers })
    expect([preflight.status, cookieOf(preflight)]).toEqual([204, undefined])
  })

  test.each<[string, (token: string) => string]>([
    ['another name', (token) => `session=${token}`],
    ['a longer name', (token) => `x${NAME}=${token}; ${NAME}x=${token}`],
    ['a name in another case', (token) => `__host-session=${token}`],
    ['a name without a value', () => NAME],
    // Only a space and a tab separate cookies: another subdomain can set all of these.
    ...['\u00a0', '\v', '\f'].map((space): [string, (token: string) => string] => [
      `a name after ${JSON.stringify(space)}`,
      (token) => `a=b; ${space}${NAME}=${token}`,
    ]),
    ['a name before a space', (token) => `${NAME} =${token}`],
    ['a value with the name in it', (token) => `a=${NAME}=${token}`],
    ['no cookie', () => ''],
  ])('%s is no cookie of the service', async (_, write) => {
    const { send, token } = await open()
    const answer = await send('GET /news', { headers: { cookie: write(token) } })
    expect([answer.status, cookieOf(answer)]).toEqual([200, undefined])
    expect(outcomeOf(await send('GET /auth/me', { headers: { cookie: write(token) } }))).toEqual([
      401,
      'unauthenticated',
    ])
  })

  test('routes that begin a session, or need none, look at no cookie', async () => {
    const service = createTestService(
      configOf({
        schema: {
          email: { type: 'string', unique: true },
          password: { type: 'hash' },
          at: { type: 'timestamp' },
        },
        auth: { cookie: true, verifiedField: 'at' },
      }),
      { deliver: () => {} },
    )
    const { email, password } = ann
    const bodies: { readonly [way: string]: readonly [number, object] } = {
      register: [201, ann],
      login: [200, ann],
      'request-reset': [202, { email }],
      'request-verification': [202, { email }],
      reset: [400, { token: DEAD, new: 'a new one' }],
      verify: [400, { token: DEAD, current: password }],
    }
    for (const [way, [status, body]] of Object.entries(bodies)) {
      const cookies = [`${NAME}=${DEAD}`, `${NAME}=x; ${NAME}=y`]
      for (const cookie of way === 'register' ? cookies.slice(1) : cookies) {
        const answer = await service.send(`POST /auth/${way}`, {
          body,
          headers: { cookie, 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' },
        })
        expect([way, answer.status, cookieOf(answer)]).toEqual([way, status, undefined])
      }
    }
    const health = await service.send('GET /_health/ready', { headers: { cookie: `${NAME}=${DEAD}` } })
    expect([health.status, cookieOf(health)]).toEqual([200, undefined])
  })

  test('handlers for a caller, and those with full rights, look at none', async () => {
    const { send, token, id } = await open()
    for (const own of [{ caller: null }, { caller: { id } }, { system: {} }]) {
      for (const cookie of [token, DEAD]) {
        const answer = await send('GET /news', { ...own, headers: withCookie(cookie) })
        expect([answer.status, cookieOf(answer)]).toEqual([200, undefined])
        const foreign = { cookie: `${NAME}=${cookie}`, 'sec-fetch-site': 'cross-site' }
        const write = await send('POST /notes', { ...own, headers: foreign, body: { text: 'x' } })
        expect(write.status).toBe('caller' in own && own.caller === null ? 401 : 201)
        expect(write.body.createdBy ?? null).toBe('caller' in own ? (own.caller?.id ?? null) : null)
        expect(write.headers.get('vary')).toContain('Cookie')
      }
    }
  })
})

describe('Authorization decides where both are there', () => {
  test('the cookie is not looked at', async () => {
    const service = createTestService(config())
    const { send } = service
    const { token } = await join(service, ann)
    const other = await join(service, bob)
    const asBob = await send('GET /auth/me', { token: other.token, headers: withCookie(token) })
    expect(asBob.body._id).toBe(other.id)
    const dead = await send('GET /news', { token: DEAD, headers: withCookie(token) })
    expect([...outcomeOf(dead), cookieOf(dead)]).toEqual([...INVALID, undefined])
    const basic = await send('GET /news', { headers: { ...withCookie(token), authorization: 'Basic YTpi' } })
    expect([...outcomeOf(basic), cookieOf(basic)]).toEqual([...INVALID, undefined])
    const foreign = {
      cookie: `${NAME}=${DEAD}`,
      'sec-fetch-site': 'cross-site',
      'content-type': 'text/plain',
    }
    const write = await send('POST /notes', { token: other.token, headers: foreign, raw: '{"text":"x"}' })
    expect([write.status, write.body.createdBy, cookieOf(write)]).toEqual([201, other.id, undefined])
    const out = await send('POST /auth/logout', { token: other.token, headers: withCookie(token) })
    expect([out.status, cookieOf(out)]).toEqual([204, undefined])
  })

  test('with accounts beside authenticate, the cookie of the name is the service’s', async () => {
    const asked: string[] = []
    const service = createTestService(config(), {
      accounts: true,
      authenticate: (request) => {
        asked.push(request.method)
        const id = request.headers.get('x-user')
        return id === null ? null : { id }
      },
    })
    const { send } = service
    const { token, id } = await join(service, ann)
    asked.length = 0
    const headers = { ...withCookie(token), 'x-user': 'of the host' }
    expect((await send('POST /notes', { headers, body: { text: 'x' } })).body.createdBy).toBe(id)
    const dead = await send('GET /news', { headers: { ...withCookie(DEAD), 'x-user': 'of the host' } })
    expect([...outcomeOf(dead), cookieOf(dead)]).toEqual([...INVALID, CLEARED])
    const foreign = { ...headers, 'sec-fetch-site': 'cross-site' }
    expect(outcomeOf(await send('POST /notes', { headers: foreign, body: {} }))).toEqual(CROSS_SITE)
    expect(asked).toEqual([])
    const others = { cookie: 'sid=1', 'x-user': 'of the host', 'sec-fetch-site': 'cross-site' }
    const theirs = await send('POST /notes', { headers: others, body: { text: 'x' } })
    expect([theirs.status, theirs.body.createdBy]).toEqual([201, 'of the host'])
    const basic = { ...headers, authorization: 'Basic YTpi' }
    expect((await send('POST /notes', { headers: basic, body: {} })).body.createdBy).toBe('of the host')
    expect(asked).toEqual(['POST', 'POST'])
  })
})

test('a request that prefers a token looks at no cookie', async () => {
  const service = createTestService(config(), {
    accounts: true,
    authenticate: (request) => {
      const id = request.headers.get('x-user')
      return id === null ? null : { id }
    },
  })
  const { send } = service
  const { token } = await join(service, ann)
  for (const own of [token, DEAD]) {
    const headers = { cookie: `${NAME}=${own}`, prefer: 'handling=lenient, session=token' }
    const read = await send('GET /news', { headers })
    expect([read.status, cookieOf(read)]).toEqual([200, undefined])
    expect(outcomeOf(await send('GET /auth/me', { headers }))).toEqual([401, 'unauthenticated'])
    const write = await send('POST /notes', { headers: { ...headers, 'x-user': 'theirs' }, body: {} })
    expect([write.status, write.body.createdBy, cookieOf(write)]).toEqual([201, 'theirs', undefined])
  }
  expect((await send('GET /auth/me', { headers: withCookie(token) })).status).toBe(200)
})

describe('the local name', () => {
  test.each<[string, { readonly [name: string]: string }, boolean]>([
    ['from a local origin', { origin: 'http://localhost:5173' }, true],
    ['from a local origin, to another host', { origin: 'http://127.0.0.1', host: 'a.example' }, true],
    ['without an origin, to a local host', { host: 'localhost:3000' }, true],
    ['without an origin, to another host', { host: 'a.example' }, false],
    ['without an origin and a host', {}, false],
    ['from another origin, to a local host', { origin: 'https://a.example', host: 'localhost' }, false],
    ['to a host that only begins like a local one', { host: 'localhost.a.example' }, false],
  ])('%s', async (_, headers, isRead) => {
    const service = createTestService(config())
    const { token } = await join(service, ann)
    const { status } = await service.send('GET /auth/me', {
      headers: { ...headers, cookie: `session=${token}` },
    })
    expect(status).toBe(isRead ? 200 : 401)
    const dead = await service.send('GET /news', { headers: { ...headers, cookie: `session=${DEAD}` } })
    const secure = headers.origin === undefined ? 'Secure; ' : ''
    expect([dead.status, cookieOf(dead)]).toEqual(
      isRead ? [401, `session=; HttpOnly; ${secure}SameSite=Lax; Path=/; Max-Age=0`] : [200, undefined],
    )
    const both = await service.send('GET /auth/me', {
      headers: { ...headers, cookie: `session=${DEAD}; ${NAME}=${token}` },
    })
    expect(both.status).toBe(200)
  })

  test('is read and renewed under its own name', async () => {
    const service = createTestService(config())
    const headers = { ...SAME, origin: 'http://localhost:3000' }
    const first = await service.send('POST /auth/register', { body: ann, headers })
    const body = { current: ann.password, new: 'another' }
    const own = { ...headers, cookie: `session=${tokenOf(first)}` }
    const renewed = await service.send('POST /auth/change-secret', { headers: own, body })
    expect(cookieOf(renewed)).toMatch(/^session=[\w-]{43}; HttpOnly; SameSite=Lax; /)
    const out = await service.send('POST /auth/logout', {
      headers: { ...headers, cookie: `session=${tokenOf(renewed)}` },
    })
    expect(cookieOf(out)).toBe('session=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0')
  })

  test('behind a URL of the runtime, without Host', async () => {
    const service = createTestService(config())
    const { token } = await join(service, ann)
    for (const [url, status] of [
      ['http://localhost:3000', 200],
      ['http://service.test', 401],
    ] as const) {
      const request = new Request(`${url}/auth/me`, { headers: { cookie: `session=${token}` } })
      expect((await service.handler(request)).status).toBe(status)
    }
  })
})

describe('bodies, caches and pages of other origins', () => {
  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])(
    'a body of the type %j is a 415 for the cookie alone',
    async (type) => {
      const service = createTestService(config())
      const { send } = service
      const { token } = await join(service, ann)
      const sent = { raw: new TextEncoder().encode('{"text":"x"}') }
      const typed: { [name: string]: string } = type === '' ? {} : { 'content-type': type }
      const answer = await send('POST /notes', { ...sent, headers: { ...withCookie(token), ...typed } })
      expect([...outcomeOf(answer), cookieOf(answer)]).toEqual([415, 'unsupported_media_type', undefined])
      const isPlain = type === 'text/plain' || type === ''
      expect((await send('POST /notes', { ...sent, token, headers: typed })).status).toBe(isPlain ? 201 : 415)
      const json = { ...withCookie(token), 'content-type': 'application/merge-patch+json' }
      expect((await send('POST /notes', { ...sent, headers: json })).status).toBe(201)
    },
  )

  test('every answer varies with the cookie, and those of known callers are private', async () => {
    const service = createTestService(
      configOf({
        permissions: { user: { read: true } },
        auth: { cookie: true },
      }),
    )
    const { send } = service
    const { token, id } = await join(service, ann)
    const cached = async (line: string, sent: object) => {
      const { headers } = await send(line, sent)
      expect(headers.get('vary')).toBe('Authorization, Cookie')
      return headers.get('cache-control')
    }
    expect(await cached('GET /news', {})).toBe('no-cache')
    expect(await cached('GET /news', { headers: withCookie(token) })).toBe('private, no-store')
    expect(await cached('GET /news', { token })).toBe('private, no-store')
    expect(await cached(`GET /users/${id}`, { headers: withCookie(token) })).toBe('private, no-store')
    expect(await cached('GET /none', { headers: withCookie(token) })).toBe('private, no-store')
    expect(await cached('OPTIONS /news', {})).toBe('no-cache')
  })

  test('a call without a valid request is answered with the same headers', async () => {
    const { handler } = createTestService(config({ origins: [APP] }), { cors: { origins: [APP] } })
    const { status, headers } = await handler({} as Request)
    expect([status, headers.get('vary'), headers.get('cache-control')]).toEqual([
      500,
      'Authorization, Cookie, Origin',
      'private, no-store',
    ])
  })

  const cors = [
    ['a list', { origins: [APP, 'https://other.example'] }],
    ['all', { origins: '*' }],
  ] as const
  test.each(cors)(
    'credentials are for the origins of the cookie alone, with %s in cors',
    async (_, given) => {
      const service = createTestService(config({ origins: [APP] }), { cors: given } as object)
      const isAll = given.origins === '*'
      const answer = async (line: string, origin: string, more: object = {}) => {
        const { headers } = await service.send(line, { headers: { origin, ...more } })
        expect(headers.get('vary')).toBe('Authorization, Cookie, Origin')
        return ['origin', 'credentials'].map((name) => headers.get(`access-control-allow-${name}`))
      }
      const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'prefer' }
      for (const [line, more] of [['GET /news'], ['GET /none'], ['OPTIONS /notes', asked]] as const) {
        expect(await answer(line, APP, more)).toEqual([APP, 'true'])
        expect(await answer(line, 'https://other.example', more)).toEqual([
          isAll ? '*' : 'https://other.example',
          null,
        ])
        expect(await answer(line, 'https://evil.example', more)).toEqual([isAll ? '*' : null, null])
      }
      const { headers } = await service.send('OPTIONS /notes', { headers: { origin: APP, ...asked } })
      expect(headers.get('access-control-allow-headers')).toContain('Prefer')
    },
  )
})

describe('service.identify', () => {
  test('knows the caller of a cookie, and nobody where it would be answered with an error', async () => {
    const { handler, send } = createTestService(config({ origins: [APP] }), { cors: { origins: [APP] } })
    const { token, id } = await join({ send }, ann)
    const identify = async (method: string, headers: { readonly [name: string]: string }) =>
      (await handler.identify(new Request('http://a.test/own', { method, headers })))?.id ?? null
    expect(await identify('GET', { cookie: `${NAME}=${token}` })).toBe(id)
    expect(await identify('POST', withCookie(token))).toBe(id)
    expect(await identify('POST', { cookie: `${NAME}=${token}`, origin: APP })).toBe(id)
    expect(await identify('POST', { cookie: `${NAME}=${token}`, origin: 'http://a.test' })).toBe(id)
    expect(await identify('POST', { cookie: `${NAME}=${token}` })).toBeNull()
    expect(await identify('POST', { ...withCookie(token), 'sec-fetch-site': 'cross-site' })).toBeNull()
    expect(await identify('GET', withCookie(DEAD))).toBeNull()
    expect(await identify('POST', { ...withCookie(DEAD), authorization: `Bearer ${token}` })).toBe(id)
  })

  test('a request that the Node mount made has no origin of its own', async () => {
    const seen: (string | null)[] = []
    const { handler, send } = createTestService(config(), {
      accounts: true,
      authenticate: async (request) => {
        const cookie = request.headers.get('x-cookie')
        if (cookie === null) return null
        request.headers.set('cookie', cookie)
        seen.push((await handler.identify(request))?.id ?? null)
        return null
      },
    })
    const { token, id } = await join({ send }, ann)
    const port = await listen(toNodeHandler(handler))
    const headers = { 'x-cookie': `${NAME}=${token}`, 'content-type': 'application/json' }
    for (const own of ['http://localhost', `http://127.0.0.1:${port}`])
      await call(port, 'POST /notes', { headers: { ...headers, origin: own }, body: '{}' })
    await call(port, 'POST /notes', { headers: { ...headers, ...SAME }, body: '{}' })
    expect(seen).toEqual([null, null, id])
  })
})

test('the description has the cookie, its header and its error, where there is one', async () => {
  const described = async (cookie: boolean) =>
    (await createTestService(config(cookie), { openapi: true }).send('GET /_openapi.json')).body
  const [{ components, paths }, plain] = [await described(true), await described(false)]
  expect(components.securitySchemes.cookie).toMatchObject({ type: 'apiKey', in: 'cookie', name: NAME })
  expect(paths['/auth/logout'].post.security).toEqual([{ session: [] }, { cookie: [] }])
  expect(paths['/auth/login'].post.responses[200].headers).toHaveProperty('Set-Cookie')
  expect(paths['/auth/logout'].post.responses).toHaveProperty('403')
  expect(paths['/auth/login'].post.responses).not.toHaveProperty('403')
  expect(JSON.stringify(plain)).not.toMatch(/cookie|cross_site/i)
})
