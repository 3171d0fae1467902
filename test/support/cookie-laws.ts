import { expect } from 'vitest'
import { type createCollectionService, createMemoryAdapter, type Hasher } from '../../src/index.js'
import fc from './fast-check.js'
import type { CreateAdapter } from './laws.js'
import { type AnyConfig, createTestService, type SendOptions, type TestService } from './service.js'
import { seedOf } from './tier.js'

/** What CONTRACT.md §4, "Sessions in cookies", says of every request, read by brute force. */

const NAME = '__Host-session'
const APP = 'https://app.example'
const OTHER = 'https://other.example'

export const COOKIE_OPTIONS = { cors: { origins: [APP, OTHER] } }

export const COOKIE_CONFIG = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
      },
      permissions: { owner: { read: true, delete: true } },
    },
    open: { schema: { text: { type: 'string' } }, permissions: { '*': { create: true, read: true } } },
    marks: {
      schema: { text: { type: 'string' }, by: { type: 'string' } },
      permissions: {
        '*': { read: true, update: { pick: ['text'], set: { by: 'nobody' } } },
        user: { create: true, update: { pick: ['text'], set: { by: '$user._id' } } },
        owner: { delete: true },
      },
    },
  },
  auth: { cookie: { origins: [APP] } },
} as const satisfies AnyConfig

/** An answer, from whatever edge. */
export interface EdgeAnswer {
  readonly status: number
  readonly text: string
  header(name: string): string | null
}

/** Sends a request through one edge of a service. */
export type Ask = (
  line: string,
  headers: { readonly [name: string]: string },
  body?: string,
) => Promise<EdgeAnswer>

/** The edge under test: how it is asked, and the origin that it has. */
export interface CookieEdge {
  readonly ask: Ask
  readonly own: string
  /** Whether the service knows this origin. */
  readonly knowsOwn: boolean
  /** Only each n-th combination is sent. Default: 1. */
  readonly every?: number
}

const SITES = [undefined, 'same-origin', 'same-site', 'cross-site', 'none', '', 'same-origin, cross-site']
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PATCH', 'PUT', 'DELETE']
const TOKENS = ['none', 'live', 'dead', 'basic'] as const
const COOKIES = ['none', 'live', 'dead', 'malformed', 'two', 'other'] as const

interface Combination {
  readonly site: string | undefined
  readonly origin: string | undefined
  readonly method: string
  readonly cookie: (typeof COOKIES)[number]
  readonly token: (typeof TOKENS)[number]
}

type Who = 'nobody' | 'ann' | 'bob'

/** Who a request comes from, or the error that it gets: the contract, sentence by sentence. */
function judge(
  { site, origin, method, cookie, token }: Combination,
  { own, knowsOwn }: CookieEdge,
): { readonly who: Who } | { readonly code: string; readonly clears: boolean } {
  if (token === 'live') return { who: 'bob' }
  if (token !== 'none') return { code: 'invalid_token', clears: false }
  if (cookie === 'none' || cookie === 'other') return { who: 'nobody' }
  const isTrusted = origin === APP
  const isSame = site === 'same-origin' || site === 'none'
  const isOwn = site === undefined && knowsOwn && origin === own
  const isWrite = method !== 'GET' && method !== 'HEAD'
  if (isWrite && !isTrusted && !isSame && !isOwn) return { code: 'cross_site', clears: false }
  return cookie === 'live' ? { who: 'ann' } : { code: 'invalid_token', clears: true }
}

/** Checks every combination, and that none of them answers otherwise. Returns how many were sent. */
export async function checkCookies({ send }: Pick<TestService, 'send'>, edge: CookieEdge): Promise<number> {
  const enter = async (email: string) => {
    const { body } = await send('POST /auth/register', { body: { email, password: 'secret-1' } })
    return { id: String(body.user._id), token: String(body.token) }
  }
  const people = { ann: await enter('ann@example.org'), bob: await enter('robert@example.org') }
  const { ann, bob } = people
  const { body: mark } = await send('POST /marks', { token: ann.token, body: { text: 'x' } })
  const dead = 'A'.repeat(43)
  const cookies: { readonly [kind in Combination['cookie']]: string } = {
    none: '',
    live: `a=b; ${NAME}=${ann.token}`,
    dead: `${NAME}=${dead}; a=b`,
    malformed: `${NAME}=${ann.token}x`,
    two: `${NAME}=${ann.token}; ${NAME}=${ann.token}`,
    other: `sid=${ann.token}`,
  }
  const tokens = { none: '', live: `Bearer ${bob.token}`, dead: `Bearer ${dead}`, basic: 'Basic YTpi' }
  const lengths = {
    ann: (await send('GET /auth/me', { token: ann.token })).text.length,
    bob: (await send('GET /auth/me', { token: bob.token })).text.length,
  }
  const paths: { readonly [method: string]: string } = { GET: '/auth/me', HEAD: '/auth/me', POST: '/open' }

  /** What an answer shows of its caller. */
  const outcomeOf = ({ method }: Combination, { status, text, header }: EdgeAnswer): unknown => {
    if (method === 'HEAD') return status === 200 ? [status, Number(header('content-length'))] : [status]
    const body = text === '' ? {} : JSON.parse(text)
    return [status, body.code ?? body.by ?? body.createdBy ?? null].concat(method === 'GET' ? [body._id] : [])
  }
  const wanted = (one: Combination): readonly unknown[] => {
    const { method } = one
    if (method === 'OPTIONS') return [204, null]
    const judged = judge(one, edge)
    const isHead = method === 'HEAD'
    if ('code' in judged) {
      const status = judged.code === 'cross_site' ? 403 : 401
      return isHead ? [status] : [status, judged.code].concat(method === 'GET' ? [undefined as never] : [])
    }
    const { who } = judged
    const id = who === 'nobody' ? null : people[who].id
    const answers: { readonly [method: string]: readonly unknown[] } = {
      GET: id === null ? [401, 'unauthenticated', undefined] : [200, id, id],
      HEAD: who === 'nobody' ? [401] : [200, lengths[who]],
      POST: [201, id],
      PATCH: [200, id ?? 'nobody'],
      PUT: [200, id ?? 'nobody'],
      DELETE: {
        nobody: [401, 'unauthenticated'],
        ann: [412, 'precondition_failed'],
        bob: [403, 'forbidden'],
      }[who],
    }
    return answers[method] ?? []
  }

  let sent = 0
  for (const one of combine([
    undefined,
    edge.own,
    APP,
    OTHER,
    'https://evil.example',
    'null',
    'http://localhost:1',
  ])) {
    sent += 1
    if (sent % (edge.every ?? 1) !== 0) continue
    const { site, origin, method, cookie, token } = one
    const hasBody = ['POST', 'PATCH', 'PUT'].includes(method)
    const headers: { [name: string]: string } = {
      ...(site === undefined ? {} : { 'sec-fetch-site': site }),
      ...(origin === undefined ? {} : { origin }),
      ...(cookie === 'none' ? {} : { cookie: cookies[cookie] }),
      ...(token === 'none' ? {} : { authorization: tokens[token] }),
      ...(method === 'DELETE' ? { 'if-match': '"-"' } : {}),
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
    }
    const path = paths[method] ?? `/marks/${mark._id}`
    const answer = await edge.ask(`${method} ${path}`, headers, hasBody ? '{"text":"x"}' : undefined)
    const judged = method === 'OPTIONS' ? { who: 'nobody' } : judge(one, edge)
    const isKnown = 'who' in judged && judged.who !== 'nobody'
    const found = {
      outcome: outcomeOf(one, answer),
      cookie: answer.header('set-cookie'),
      origin: answer.header('access-control-allow-origin'),
      credentials: answer.header('access-control-allow-credentials'),
      vary: answer.header('vary'),
      cache: answer.header('cache-control'),
    }
    expect(found, JSON.stringify(one)).toEqual({
      outcome: wanted(one),
      cookie:
        'clears' in judged && judged.clears
          ? `${NAME}=; HttpOnly; Secure; SameSite=Lax; Path=/; Max-Age=0`
          : null,
      origin: origin === APP || origin === OTHER ? origin : null,
      credentials: origin === APP ? 'true' : null,
      vary: 'Authorization, Cookie, Origin',
      cache: answer.status >= 400 || isKnown ? 'private, no-store' : 'no-cache',
    })
  }
  return sent
}

const combine = (origins: readonly (string | undefined)[]): readonly Combination[] =>
  SITES.flatMap((site) =>
    origins.flatMap((origin) =>
      METHODS.flatMap((method) =>
        COOKIES.flatMap((cookie) => TOKENS.map((token) => ({ site, origin, method, cookie, token }))),
      ),
    ),
  )

/** The edge of web-standard requests. */
export const fetchEdge = ({ handler }: Pick<TestService, 'handler'>, every = 1): CookieEdge => ({
  own: 'http://service.test',
  knowsOwn: true,
  every,
  async ask(line, headers, body) {
    const [method = '', path = ''] = line.split(' ')
    const answer = await handler(
      new Request(`http://service.test${path}`, { method, headers, ...(body === undefined ? {} : { body }) }),
    )
    return { status: answer.status, text: await answer.text(), header: (name) => answer.headers.get(name) }
  },
})

const PREFERENCES = [
  undefined,
  'session=cookie',
  'session=token',
  'session=x',
  'handling=strict, SESSION="cookie"',
]

/** Checks which logins get a cookie, and that each way to end its session clears it. Returns how many logins were sent. */
export async function checkIssued({ send }: Pick<TestService, 'send'>): Promise<number> {
  const account = { email: 'eve@example.org', password: 'secret-1' }
  const { body: first } = await send('POST /auth/register', { body: account })
  const login = async (headers: { readonly [name: string]: string }) =>
    send('POST /auth/login', { headers, body: account })
  let sent = 0
  for (const site of SITES)
    for (const origin of [undefined, 'http://service.test', APP, OTHER, 'null', 'http://localhost:1'])
      for (const prefer of PREFERENCES) {
        const { status, body, headers } = await login({
          ...(site === undefined ? {} : { 'sec-fetch-site': site }),
          ...(origin === undefined ? {} : { origin }),
          ...(prefer === undefined ? {} : { prefer }),
        })
        const isPreferred = prefer?.toLowerCase().includes('cookie')
        const isAsked =
          prefer !== 'session=token' && (isPreferred || site === 'same-origin' || origin === APP)
        const isLocal = origin === 'http://localhost:1'
        const [name, secure] = isLocal ? ['session', ''] : [NAME, 'Secure; ']
        const form = `${name}=T; HttpOnly; ${secure}SameSite=Lax; Path=/; Max-Age=N`
        const shape = headers
          .get('set-cookie')
          ?.replace(/=[\w-]{43};/, '=T;')
          .replace(/\d+$/, 'N')
        expect([status, 'token' in body, shape], JSON.stringify([site, origin, prefer])).toEqual([
          200,
          !isAsked,
          isAsked ? form : undefined,
        ])
        sent += 1
      }
  const same = { 'sec-fetch-site': 'same-origin' }
  const enter = async () => ({
    ...same,
    cookie: String((await login(same)).headers.get('set-cookie')?.split(';')[0]),
  })
  const cleared = `${NAME}=; HttpOnly; Secure; SameSite=Lax; Path=/; Max-Age=0`
  const renewing = { current: account.password, new: account.password }
  const headers = await enter()
  const renewed = await send('POST /auth/change-secret', { headers, body: renewing })
  expect(renewed.headers.get('set-cookie')).toMatch(new RegExp(`^${NAME}=[\\w-]{43}; `))
  expect('token' in renewed.body).toBe(false)
  const other = await send('POST /open', { headers: await enter(), body: {} })
  expect([other.status, other.headers.get('set-cookie')]).toEqual([201, null])
  for (const line of ['POST /auth/logout', 'POST /auth/logout-all', `DELETE /users/${first.user._id}`]) {
    const own = await enter()
    const ended = await send(line, { headers: own })
    expect([line, ended.status, ended.headers.get('set-cookie')]).toEqual([line, 204, cleared])
    const after = await send('GET /open', { headers: own })
    expect([after.status, after.headers.get('set-cookie')]).toEqual([401, cleared])
  }
  return sent
}

const plain: Hasher = {
  hash: async (secret) => `hash of ${secret}`,
  verify: async (secret, hash) => hash === `hash of ${secret}`,
}

const NAMES = ['ann@example.org', 'bob@example.org', 'nobody@example.org']

/** A login: of which account and client, after how many minutes, with which secret and with which headers. */
const attempts = fc.array(
  fc.record({
    who: fc.constantFrom(0, 0, 1, 2),
    client: fc.constantFrom('home', 'home', 'home', 'work'),
    minutes: fc.oneof({ weight: 40, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(5) }),
    isRight: fc.nat(15).map((n) => n === 0),
    cookie: fc.nat(4),
    more: fc.constantFrom(
      {},
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      { prefer: 'session=cookie' },
    ),
  }),
  { minLength: 50, maxLength: 80 },
)

/**
 * The throttle counts the same with and without cookies: of two services, one gets each login with a cookie and the headers of
 * a page, the other without them. Returns how many logins were refused. Throws on a counterexample.
 */
export async function checkThrottle(
  runs: number,
  create?: typeof createCollectionService,
  createAdapter: CreateAdapter = createMemoryAdapter,
): Promise<number> {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(attempts, async (all) => {
      let time = Date.parse('2026-11-20T08:00:00.000Z')
      const open = () =>
        createTestService(COOKIE_CONFIG, {
          ...COOKIE_OPTIONS,
          ...(create ? { create } : {}),
          adapter: createAdapter(),
          hasher: plain,
          now: () => time,
          clientAddress: (request) => request.headers.get('x-client'),
        })
      const [bare, dressed] = [open(), open()]
      const tokens: string[] = []
      for (const email of NAMES.slice(0, 2)) {
        const body = { email, password: 'right' }
        await bare.register(body)
        tokens.push((await dressed.register(body)).token)
      }
      const cookies = ['', ...[...tokens, 'A'.repeat(43), 'x'].map((token) => `${NAME}=${token}`)]
      const login = async ({ send }: TestService, options: SendOptions) => {
        const { status, headers } = await send('POST /auth/login', options)
        return [status, headers.get('retry-after')]
      }
      for (const { who, client, minutes, isRight, cookie, more } of all) {
        time += minutes * 60_000
        const body = { email: NAMES[who], password: isRight ? 'right' : 'wrong' }
        const own = cookies[cookie] ? { cookie: String(cookies[cookie]) } : {}
        const expected = await login(bare, { body, headers: { 'x-client': client } })
        const headers = { ...more, ...own, 'x-client': client }
        expect(await login(dressed, { body, headers })).toEqual(expected)
        if (expected[0] === 429) refused += 1
      }
      await Promise.all([bare, dressed].map(({ handler }) => handler.close()))
    }),
    { seed: seedOf(1), numRuns: runs, endOnFailure: true },
  )
  return refused
}
