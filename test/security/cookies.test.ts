import { inspect } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  CLEARED,
  cookieOf,
  DEAD,
  join,
  NAME,
  SAME,
  tokenOf,
  withCookie,
} from '../contract/support/cookies.js'
import { type AnyConfig, createTestService, type Sent, type TestService } from '../support/service.js'

// CONTRACT.md §4, "Sessions in cookies"; rows 192 to 209 of the attacks

const ANN = { email: 'ann@example.com', password: 'ann-secret-1' }
const BEN = { email: 'ben@example.com', password: 'ben-secret-2' }

const CONFIG = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true, minLength: 8 },
        role: { type: 'string' },
      },
      permissions: { owner: { read: true, delete: true }, admin: true },
    },
    notes: {
      schema: { text: { type: 'string' } },
      permissions: { '*': { read: true }, user: { create: true }, owner: { update: true, delete: true } },
    },
  },
  auth: { roleField: 'role', cookie: true },
} as const satisfies AnyConfig

let clock = 0
let service: TestService
beforeEach(() => {
  clock = Date.parse('2026-11-20T08:00:00.000Z')
  service = createTestService(CONFIG, { now: () => clock, clientAddress: () => '192.0.2.1' })
})

/** What a client sees of an answer, without what differs by chance. */
const seen = ({ status, headers, text }: Sent): unknown => [
  status,
  [...headers].sort(),
  text.replace(/"requestId":"[^"]*"/, ''),
]

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const claims = { sub: 'ann', role: 'admin', exp: 9_999_999_999 }

describe('a text that is no token', () => {
  test.each([
    ...['none', 'None', 'nOnE', 'HS256'].map((alg) => `${encode({ alg, typ: 'JWT' })}.${encode(claims)}.`),
    `${encode({ alg: 'HS256', kid: '../../x', jku: 'http://evil.example', crit: ['x'] })}.${encode(claims)}.c2ln`,
    `${encode({ typ: 'refresh' })}.${encode(claims)}`,
    `${encode(claims)}.${encode(claims)}.c2ln.c2ln`,
    `${DEAD}=`,
    `${DEAD}==`,
    DEAD.slice(1),
    `${DEAD}A`,
    encode({ role: 'constructor', roles: ['admin'] }),
    '%41'.repeat(43),
    "' or 1=1 --",
    DEAD,
  ])('is a 401 in a cookie, and as a Bearer token: %s', async (text) => {
    await join(service, ANN)
    const cookie = await service.send('GET /notes', { headers: withCookie(text) })
    expect([cookie.status, cookie.body.code, cookieOf(cookie)]).toEqual([401, 'invalid_token', CLEARED])
    const bearer = await service.send('GET /notes', { token: text })
    expect([bearer.status, bearer.body.code, cookieOf(bearer)]).toEqual([401, 'invalid_token', undefined])
  })

  test('a token in the query or in the body is none', async () => {
    const { token } = await join(service, ANN)
    const query = await service.send(`GET /notes?access_token=${token}`)
    expect([query.status, query.body.code]).toEqual([400, 'invalid_query'])
    const body = await service.send('POST /notes', { body: { access_token: token, text: 'x' } })
    expect(body.status).toBe(401)
  })

  test('a token of another service is none here', async () => {
    const other = createTestService(CONFIG)
    const { token } = await join(other, ANN)
    await join(service, ANN)
    const answer = await service.send('GET /notes', { headers: withCookie(token) })
    expect([answer.status, answer.body.code]).toEqual([401, 'invalid_token'])
  })
})

describe('a session in a cookie ends', () => {
  const dead = async (token: string): Promise<void> => {
    const answer = await service.send('GET /auth/me', { headers: withCookie(token) })
    expect([answer.status, answer.body.code, cookieOf(answer)]).toEqual([401, 'invalid_token', CLEARED])
  }

  test('with its account, with its role at once, and with its time', async () => {
    const { token, id } = await join(service, ANN)
    const all = async () => (await service.send('GET /users', { headers: withCookie(token) })).body.length
    const ben = await join(service, BEN)
    expect(await all()).toBe(1)
    await service.send(`PATCH /users/${id}`, { system: {}, body: { role: 'admin' } })
    expect(await all()).toBe(2)
    for (const role of ['constructor', '__proto__', 'toString', '*', 'owner', '["admin"]', 'unknown']) {
      await service.send(`PATCH /users/${id}`, { system: {}, body: { role } })
      expect([role, await all()]).toEqual([role, 1])
    }
    await service.send(`DELETE /users/${id}`, { system: {} })
    await dead(token)
    clock += 30 * 86_400_000 - 1
    expect((await service.send('GET /auth/me', { headers: withCookie(ben.token) })).status).toBe(200)
    clock += 1
    await dead(ben.token)
  })

  test('with a new secret, and with a logout, whose replay is refused', async () => {
    const { token } = await join(service, ANN)
    const second = tokenOf(await service.send('POST /auth/login', { body: ANN, headers: SAME }))
    const body = { current: ANN.password, new: 'a new secret' }
    const renewed = await service.send('POST /auth/change-secret', { headers: withCookie(second), body })
    await dead(token)
    await dead(second)
    const headers = withCookie(tokenOf(renewed))
    expect((await service.send('POST /auth/logout', { headers })).status).toBe(204)
    const replay = await service.send('POST /auth/logout', { headers })
    expect([replay.status, replay.body.code]).toEqual([401, 'invalid_token'])
    await dead(tokenOf(renewed))
  })

  test('a delivered token counts once among twenty requests, and one of them gets the cookie', async () => {
    const tokens: string[] = []
    service = createTestService(CONFIG, {
      deliver: (delivery) => void ('token' in delivery && tokens.push(delivery.token)),
    })
    await join(service, ANN)
    await service.send('POST /auth/request-reset', { body: { email: ANN.email } })
    await expect.poll(() => tokens.length).toBe(1)
    const body = { token: tokens[0], new: 'a new secret' }
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.send('POST /auth/reset', { body, headers: SAME })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.flatMap((answer) => cookieOf(answer) ?? [])).toHaveLength(1)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400]))
  })
})

describe('a page of another site', () => {
  const FOREIGN: readonly { readonly [name: string]: string }[] = [
    {},
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'http://sub.service.test' },
    { 'sec-fetch-site': 'same-site', origin: 'http://service.test' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://service.test' },
    { 'sec-fetch-site': 'Same-Origin' },
    { origin: 'http://service.test.evil.example' },
    { origin: 'https://service.test' },
    { origin: 'http://service.test:8080' },
    { referer: 'http://service.test/', host: 'service.test' },
  ]
  const WRITES = [
    'POST /notes',
    'POST /notes/bulk',
    'POST /_batch',
    'PATCH /notes/0190163d-8694-7000-8000-000000000001',
    'PUT /notes/0190163d-8694-7000-8000-000000000001',
    'DELETE /notes/0190163d-8694-7000-8000-000000000001',
    'POST /auth/logout',
    'POST /auth/logout-all',
    'POST /auth/change-secret',
    'DELETE /auth/sessions/x',
  ]

  test.each(FOREIGN)(
    'may not write, whatever it sends, and learns nothing of the session: %j',
    async (headers) => {
      const { token } = await join(service, ANN)
      const cookies = [token, DEAD, 'x', '', `${token}; ${NAME}=${token}`]
      for (const line of WRITES) {
        for (const type of ['text/plain', 'application/json', 'application/x-www-form-urlencoded']) {
          const answers: unknown[] = []
          for (const cookie of cookies) {
            const sent = await service.send(line, {
              raw: line.startsWith('DELETE') ? undefined : new TextEncoder().encode('{"text":"forged"}'),
              headers: { ...headers, cookie: `${NAME}=${cookie}`, 'content-type': type },
            } as object)
            expect([line, sent.status, sent.body.code]).toEqual([line, 403, 'cross_site'])
            answers.push(seen(sent))
          }
          for (const answer of answers) expect(answer).toEqual(answers[0])
        }
      }
      expect((await service.send('GET /notes')).body).toEqual([])
      expect((await service.send('GET /auth/me', { headers: withCookie(token) })).status).toBe(200)
    },
  )

  test('may not write where the service has no origin, as a page that has none', async () => {
    const { token } = await join(service, ANN)
    const headers = { cookie: `${NAME}=${token}`, origin: 'null', 'content-type': 'application/json' }
    const request = new Request('app://service.test/notes', { method: 'POST', headers, body: '{}' })
    const answer = await service.handler(request)
    expect([answer.status, (await answer.json()).code]).toEqual([403, 'cross_site'])
  })

  test('cannot sign a browser in or out', async () => {
    await join(service, ANN)
    for (const headers of FOREIGN) {
      const answer = await service.send('POST /auth/login', {
        raw: new TextEncoder().encode(JSON.stringify(ANN)),
        headers: { ...headers, 'content-type': 'text/plain' },
      })
      expect([answer.status, cookieOf(answer)]).toEqual([200, undefined])
    }
  })

  test('a cookie that is no session is the same 401 whichever way it is none', async () => {
    const { token } = await join(service, ANN)
    await service.send('POST /auth/logout', { token })
    const cookies = [token, DEAD, 'x', '', `${DEAD}; ${NAME}=${DEAD}`]
    for (const line of ['GET /notes', 'POST /notes', 'GET /auth/me']) {
      const answers = await Promise.all(
        cookies.map((cookie) =>
          service.send(line, {
            headers: { cookie: `${NAME}=${cookie}`, ...SAME },
            body: line.startsWith('POST') ? { text: 'x' } : undefined,
          }),
        ),
      )
      for (const answer of answers) expect(seen(answer)).toEqual(seen(answers[0] as Sent))
    }
  })
})

test('no line of the log has a token of a cookie', async () => {
  const seen: string[] = []
  service = createTestService(CONFIG, { observe: (event) => void seen.push(JSON.stringify(event)) })
  const { token } = await join(service, ANN)
  const headers = withCookie(token)
  await service.send('POST /notes', { headers, body: { text: 1 } })
  await service.send('POST /notes', { headers: { ...headers, 'sec-fetch-site': 'cross-site' }, body: {} })
  await service.send('POST /auth/logout', { headers })
  await service.send('GET /notes', { headers })
  const failing = createTestService(CONFIG, {
    adapter: { ...service.adapter, list: () => Promise.reject(new Error('the disk is gone')) },
  })
  await failing.send('GET /notes', { headers, mayFail: true })
  await expect.poll(() => seen.length).toBe(5)
  const lines = [...seen, ...[...service.logged, ...failing.logged].map((entry) => inspect(entry))]
  for (const line of lines) expect(line).not.toMatch(/[\w-]{43}/)
})

describe('a cookie opens nothing else', () => {
  test('failed logins count the same with any cookie, and no cookie lifts them', async () => {
    const { token } = await join(service, ANN)
    const attempt = (password: string, own: string) =>
      service.send('POST /auth/login', { body: { ...ANN, password }, headers: withCookie(own) })
    for (let i = 0; i < 10; i++)
      expect((await attempt('a wrong secret', i % 2 ? token : DEAD)).status).toBe(401)
    const last = await attempt(ANN.password, token)
    expect([last.status, last.body.code, cookieOf(last)]).toEqual([429, 'too_many_attempts', undefined])
    expect((await service.send('GET /auth/me', { headers: withCookie(token) })).status).toBe(200)
  })

  test('a registration and a login say the same of an account with any cookie', async () => {
    const { token } = await join(service, ANN)
    for (const cookie of [token, DEAD, 'x']) {
      const headers = withCookie(cookie)
      const login = (body: object) => service.send('POST /auth/login', { body, headers })
      const [known, unknown] = [
        await login({ ...ANN, password: 'a wrong secret' }),
        await login({ ...BEN, password: 'a wrong secret' }),
      ]
      expect(seen(known)).toEqual(seen(unknown))
      const taken = await service.send('POST /auth/register', { body: ANN, headers })
      expect([taken.status, cookieOf(taken)]).toEqual([409, undefined])
    }
  })

  test('when the storage fails, a cookie is refused and not anonymous', async () => {
    const { token } = await join(service, ANN)
    const { adapter } = service
    const failing = createTestService(CONFIG, {
      adapter: Object.assign(Object.create(adapter), {
        open: async () => {},
        state: undefined,
        readLinked: undefined,
        list: async () => {
          throw new Error('the disk is gone')
        },
      }),
    })
    const answer = await failing.send('GET /notes', { headers: withCookie(token), mayFail: true })
    expect([answer.status, answer.body.code, cookieOf(answer)]).toEqual([
      503,
      'storage_unavailable',
      undefined,
    ])
  })

  test('a header of a cookie that never ends is read once', async () => {
    const { token } = await join(service, ANN)
    const many = `${'a=b; '.repeat(20_000)}${NAME}=${token}`
    expect((await service.send('GET /auth/me', { headers: { cookie: many } })).status).toBe(200)
    const spaced = `${NAME}=${' '.repeat(100_000)}x`
    expect((await service.send('GET /auth/me', { headers: { cookie: spaced } })).status).toBe(401)
  })
})
