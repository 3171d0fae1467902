import { describe, expect, test } from 'vitest'
import { LEDGERS_PLAN } from '../../src/core/accounts/auth/ledger.js'
import { createThrottle } from '../../src/core/accounts/throttle.js'
import type { Deadline } from '../../src/core/request/deadline.js'
import { createStore } from '../../src/core/request/store.js'
import { createMemoryAdapter, type Hasher, ServiceError, type StorageAdapter } from '../../src/index.js'
import { createTestService, type Sent, type TestService } from '../support/service.js'

const TEXT = { type: 'string' }
const NAMES = Array.from({ length: 10 }, (_, i) => `p${i}`)
const row = {
  type: 'object',
  properties: Object.fromEntries(NAMES.map((name) => [name, { ...TEXT, required: true }])),
}

const ALL = { '*': { create: true, read: true, update: true } }

const config = {
  collections: {
    things: {
      schema: {
        name: TEXT,
        rows: { type: 'array', items: row },
        few: { type: 'array', items: row, maxItems: 10 },
        words: { type: 'array', items: TEXT },
        inner: { type: 'object', properties: { name: TEXT } },
        grid: { type: 'array', items: { type: 'array', items: TEXT } },
      },
      permissions: ALL,
    },
    free: { schema: { name: TEXT }, additionalProperties: true, permissions: ALL },
    narrow: {
      schema: { name: TEXT },
      permissions: { '*': { create: { pick: ['name'] }, read: true } },
    },
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
      permissions: { owner: { read: true } },
    },
  },
}

const elements = (text: string): string => `[${Array(300_000).fill(text).join()}]`
const names = (prefix = 'u'): string =>
  `{${Array.from({ length: 80_000 }, (_, i) => `"${prefix}${i}":0`).join()}}`

/** The paths of an answer that refuses a body: few, and none twice. */
function refusedAt({ status, body, text }: Sent): string[] {
  expect([status, body.code]).toEqual([400, 'validation_failed'])
  const paths: string[] = body.errors.map(({ path }: { path: string }) => path)
  expect(new Set(paths).size).toBe(paths.length)
  expect(paths.length).toBeLessThanOrEqual(50)
  expect(text.length).toBeLessThan(65_536)
  return paths
}

const firstFifty = (path: (i: number) => string): string[] => Array.from({ length: 50 }, (_, i) => path(i))

describe('a body below the limit with faults without number is told the first fifty', () => {
  const bodies: readonly (readonly [what: string, path: string, raw: string, expected: string[]])[] = [
    [
      '300,000 objects that lack ten properties each',
      '/things',
      `{"rows":${elements('{}')}}`,
      firstFifty((i) => `/rows/${Math.floor(i / 10)}/p${i % 10}`),
    ],
    [
      '300,000 objects where ten are allowed',
      '/things',
      `{"few":${elements('{}')}}`,
      ['/few', ...firstFifty((i) => `/few/${Math.floor(i / 10)}/p${i % 10}`).slice(0, 49)],
    ],
    ['300,000 wrong scalars', '/things', `{"words":${elements('1')}}`, firstFifty((i) => `/words/${i}`)],
    [
      '300,000 wrong scalars in an array of an array',
      '/things',
      `{"grid":[["a"],${elements('1')}]}`,
      firstFifty((i) => `/grid/1/${i}`),
    ],
    ['80,000 undeclared names', '/things', names(), firstFifty((i) => `/u${i}`)],
    [
      '80,000 undeclared names in an object',
      '/things',
      `{"inner":${names()}}`,
      firstFifty((i) => `/inner/u${i}`),
    ],
    [
      '80,000 undeclared names in an element',
      '/things',
      `{"rows":[{${NAMES.map((name) => `"${name}":""`).join()}},${names()}]}`,
      firstFifty((i) => (i < 10 ? `/rows/1/p${i}` : `/rows/1/u${i - 10}`)),
    ],
    ['80,000 names that nothing may have', '/free', names('-'), firstFifty((i) => `/-${i}`)],
  ]

  test.each(bodies)('%s', async (_, path, raw, expected) => {
    expect(raw.length).toBeLessThan(1_048_576)
    const { send, handler } = createTestService(config)
    expect(refusedAt(await send(`POST ${path}`, { raw })).sort()).toEqual(expected.sort())
    expect((await send(`GET ${path}/count`)).body).toEqual({ total: 0 })
    await handler.close()
  })

  test.each(['PATCH', 'PUT'])('in a %s too', async (method) => {
    const { send } = createTestService(config)
    const { _id } = (await send('POST /things', { body: { name: 'a' } })).body
    const raw = `{"words":${elements('1')}}`
    expect(refusedAt(await send(`${method} /things/${_id}`, { raw }))).toHaveLength(50)
  })

  test('80,000 names that are no credentials', async () => {
    const { send } = createTestService(config)
    expect(refusedAt(await send('POST /auth/login', { raw: names() }))).toContain('/email')
  })

  test('80,000 names that the rule drops are no faults', async () => {
    const { send } = createTestService(config)
    const { status, body } = await send('POST /narrow', { raw: `${names().slice(0, -1)},"name":"a"}` })
    expect(status).toBe(201)
    expect(Object.keys(body).filter((name) => name.startsWith('u') && name !== 'updatedAt')).toEqual([])
    expect(body.name).toBe('a')
  })

  test('300,000 right elements are stored', async () => {
    const { send } = createTestService(config)
    const { status, body } = await send('POST /things', { raw: `{"words":${elements('""')}}` })
    expect(status).toBe(201)
    expect(body.words).toHaveLength(300_000)
  })
})

describe('case-insensitive patterns of 500 letters, many of them in one query', () => {
  const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
  const letters = (start: number): string =>
    Array.from({ length: 500 }, (_, i) => LETTERS[(i * 7 + start) % 26]).join('')
  const ask = (patterns: readonly string[]): string =>
    patterns.map((pattern) => `q[name][$regex]=${encodeURIComponent(pattern)}`).join('&')

  test.each<[what: string, count: number, pattern: (i: number) => string, total: number]>([
    ['letters', 90, letters, 1],
    ['letters beyond ASCII', 14, (i) => 'éßſкΣ'.repeat(100).slice(i), 0],
    ['classes', 90, (i) => '[a-z]'.repeat(100).slice(5 * i), 1],
    ['large classes', 90, (i) => `[^${letters(i).slice(0, 20)}]`.repeat(22), 0],
  ])('are answered: %s', async (_, count, pattern, total) => {
    const { send } = createTestService({ ...config, limits: { queryBytes: 200_000, patterns: 100 } })
    await send('POST /things', { body: { name: letters(0).toUpperCase() } })
    await send('POST /things', { body: { name: 'none' } })
    const patterns = Array.from({ length: count }, (_, i) => pattern(i))
    const answer = await send(`GET /things/count?${ask(patterns)}&q[name][$options]=i`)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ total })
  })
})

const NOW = Date.parse('2026-11-20T08:00:00Z')

describe('the throttle', () => {
  const MANY = 30_000
  const wrong = async (): Promise<never> => {
    throw new ServiceError('invalid_credentials', 'wrong')
  }
  const lost = async (): Promise<never> => {
    throw new ServiceError('storage_unavailable', 'lost')
  }
  const right = async (): Promise<string> => 'right'
  const logger = { info() {}, warn() {}, error() {} }
  const scope = { signal: new AbortController().signal }

  /** A deadline that is over when a signal aborts. */
  const until = (signal: AbortSignal): Deadline => ({
    signal,
    onOver(listener) {
      signal.addEventListener('abort', listener)
      return () => signal.removeEventListener('abort', listener)
    },
    enter() {
      if (signal.aborted) throw new ServiceError('overloaded', 'over')
    },
  })

  function createStage(now = () => NOW) {
    const throttle = createThrottle({ now, logger })
    const adapter = createMemoryAdapter()
    const opened = adapter.open([LEDGERS_PLAN])
    /** What comes of an attempt: its result, or a code. */
    const run = async (
      identifier: string,
      client: string | undefined,
      attempt: () => Promise<string>,
      signal = scope.signal,
    ): Promise<string> => {
      await opened
      const deadline = until(signal)
      const by = { deadline, store: createStore(adapter, deadline) }
      return throttle.run(by, { identifier, client }, attempt).catch(({ code }: ServiceError) => code)
    }
    /** How many wrong attempts at one identifier are let through, one after another. */
    const guess = async (identifier: string, clients: readonly (string | undefined)[]): Promise<number> => {
      let passed = 0
      for (const client of clients)
        if ((await run(identifier, client, wrong)) === 'invalid_credentials') passed++
      return passed
    }
    return { run, guess }
  }
  const clients = (count: number, name = 'client'): string[] =>
    Array.from({ length: count }, (_, i) => `${name} ${i}`)
  const one = (count: number): string[] => Array(count).fill('one')
  const unknown = (count: number): undefined[] => Array(count).fill(undefined)

  /** Attempts that end when they are told to. */
  function createAttempts() {
    const begun: ((settle: () => Promise<string>) => void)[] = []
    const attempt = () =>
      new Promise<string>((resolve) => {
        begun.push((settle) => resolve(settle()))
      })
    return { begun, attempt }
  }
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  test('lets ten of one client through, and a hundred of all', async () => {
    const { guess } = createStage()
    expect(await guess('ann', one(30))).toBe(10)
    expect(await guess('ann', clients(300))).toBe(90)
    expect(await guess('bob', one(1))).toBe(1)
  })

  test('lets a hundred through where no client is known', async () => {
    const { guess } = createStage()
    expect(await guess('ann', unknown(300))).toBe(100)
    expect(await guess('ann', one(1))).toBe(0)
    expect(await guess('bob', [...one(10), ...unknown(300)])).toBe(100)
  })

  test('keeps an identifier locked, however many others are tried without a failure', async () => {
    const { guess, run } = createStage()
    await guess('ann', one(10))
    await guess('eve', clients(100))
    for (let i = 0; i < MANY; i++) await run(`other ${i}`, `client ${i}`, lost)
    expect(await guess('ann', one(1))).toBe(0)
    expect(await guess('eve', ['a new client'])).toBe(0)
  })

  test('keeps an identifier locked, however many attempts at others are refused', async () => {
    const { guess } = createStage()
    await guess('ann', one(10))
    await guess('eve', clients(100))
    expect(await guess('bob', clients(MANY))).toBe(100)
    expect(await guess('ann', one(1))).toBe(0)
    expect(await guess('eve', ['a new client'])).toBe(0)
  })

  test('counts neither what was right nor what was lost', async () => {
    const { guess, run } = createStage()
    await guess('ann', one(9))
    for (let i = 0; i < 1000; i++) expect(await run('ann', 'one', lost)).toBe('storage_unavailable')
    expect(await guess('ann', one(5))).toBe(1)
    expect(await guess('ann', clients(300))).toBe(90)
    await guess('bob', one(9))
    expect(await run('bob', 'one', right)).toBe('right')
    expect(await guess('bob', one(30))).toBe(10)
  })

  test('begins a window with the first failure', async () => {
    let time = NOW
    const { guess, run } = createStage(() => time)
    await run('ann', 'one', lost)
    time += 14 * 60_000
    await guess('ann', one(10))
    expect(await guess('ann', one(1))).toBe(0)
    time += 15 * 60_000 - 1
    expect(await guess('ann', one(1))).toBe(0)
    time += 1
    expect(await guess('ann', one(1))).toBe(1)
  })

  test.each<[who: string, of: readonly (string | undefined)[], places: number]>([
    ['one client', one(40), 10],
    ['clients that are not known', unknown(140), 100],
    ['many clients', clients(140), 100],
  ])('lets no more run at a time than may fail, and the others after them: %s', async (_, of, places) => {
    const { run } = createStage()
    const { begun, attempt } = createAttempts()
    const answers = of.map((client) => run('ann', client, attempt))
    await settled()
    expect(begun).toHaveLength(places)
    for (let i = 0; i < of.length; i++) {
      begun[i]?.(right)
      await settled()
      expect(begun).toHaveLength(Math.min(places + i + 1, of.length))
    }
    expect(await Promise.all(answers)).toEqual(of.map(() => 'right'))
  })

  test('refuses those who wait once those before them have failed', async () => {
    const { run, guess } = createStage()
    await guess('ann', one(4))
    const { begun, attempt } = createAttempts()
    const answers = one(20).map((client) => run('ann', client, attempt))
    const other = run('ann', 'another', right)
    await settled()
    expect(begun).toHaveLength(6)
    // One that is lost makes room for another.
    begun[0]?.(lost)
    await settled()
    expect(begun).toHaveLength(7)
    for (const end of begun.slice(1)) end(wrong)
    expect(await other).toBe('right')
    expect(await Promise.all(answers)).toEqual([
      'storage_unavailable',
      ...Array(6).fill('invalid_credentials'),
      ...Array(13).fill('too_many_attempts'),
    ])
  })

  test('lets a bounded number wait, and nobody beyond their time', async () => {
    const { run } = createStage()
    const { begun, attempt } = createAttempts()
    const running = one(10).map((client) => run('ann', client, attempt))
    const leaving = new AbortController()
    const waiting = one(128).map((client) => run('ann', client, attempt, leaving.signal))
    expect(await run('ann', 'one', right)).toBe('overloaded')
    expect(await run('ann', 'another', right)).toBe('right')
    expect(await run('bob', 'one', right)).toBe('right')
    leaving.abort()
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['overloaded']))
    const late = run('ann', 'one', attempt)
    for (const end of begun) end(lost)
    await settled()
    expect(begun).toHaveLength(11)
    begun[10]?.(right)
    expect(await late).toBe('right')
    await Promise.all(running)
  })

  test('an attempt whose request is over holds no turn, and is answered by nothing', async () => {
    const { run, guess } = createStage()
    await guess('ann', one(8))
    const { begun, attempt } = createAttempts()
    const request = new AbortController()
    const attempts = one(2).map((client) => run('ann', client, attempt, request.signal))
    const next = run('ann', 'one', attempt)
    await settled()
    expect(begun).toHaveLength(2)
    request.abort()
    await settled()
    expect(begun).toHaveLength(3)
    begun[0]?.(right)
    begun[1]?.(wrong)
    begun[2]?.(wrong)
    expect(await Promise.all([...attempts, next])).toEqual([
      'overloaded',
      'overloaded',
      'invalid_credentials',
    ])
    expect(await guess('ann', one(2))).toBe(1)
  })
})

describe('signing in', () => {
  const hasher: Hasher = { hash: async (secret) => `hash of ${secret}`, verify: async () => false }

  /** Accounts whose storage can be lost, and whose clients say who they are. */
  function createGate() {
    const inner = createMemoryAdapter()
    const state = { isLost: false }
    const adapter: StorageAdapter = {
      ...inner,
      async list(...args) {
        if (state.isLost) throw new ServiceError('storage_unavailable', 'lost')
        return inner.list(...args)
      },
    }
    const service = createTestService(config, {
      adapter,
      hasher,
      now: () => NOW,
      logger: { warn() {} },
      clientAddress: (request) => {
        const client = request.headers.get('x-client') ?? 'home'
        return request.headers.has('x-long') ? 'x'.repeat(100_000) + client : client
      },
    })
    return { ...service, state }
  }

  const login = async (
    { handler }: TestService,
    email: string,
    client: string,
    headers: { readonly [name: string]: string } = {},
  ): Promise<number> => {
    const response = await handler(
      new Request('http://service.test/auth/login', {
        method: 'POST',
        body: JSON.stringify({ email, password: 'a guess' }),
        headers: { 'content-type': 'application/json', 'x-client': client, ...headers },
      }),
    )
    return response.status
  }

  const MANY = 1000

  test('a locked identifier stays locked while others are refused and the storage fails', async () => {
    const gate = createGate()
    for (let i = 0; i < 10; i++) expect(await login(gate, 'ann', 'home')).toBe(401)
    for (let i = 0; i < 100; i++) expect(await login(gate, 'bob', `client ${i}`)).toBe(401)
    for (let i = 0; i < 1000; i++) {
      if ((await login(gate, 'bob', `other ${i}`)) !== 429) expect.fail(`other ${i} was not refused`)
    }
    gate.state.isLost = true
    for (let i = 0; i < MANY; i++) {
      if ((await login(gate, `nobody ${i}`, 'home')) !== 503) expect.fail(`nobody ${i} was answered`)
    }
    gate.state.isLost = false
    expect(await login(gate, 'ann', 'home')).toBe(429)
    expect(await login(gate, 'bob', 'a new client')).toBe(429)
    expect(await login(gate, 'nobody 0', 'home')).toBe(401)
  })

  test('addresses of any length are told apart', async () => {
    const gate = createGate()
    const long = { 'x-long': '' }
    for (let i = 0; i < 10; i++) expect(await login(gate, 'ann', 'a', long)).toBe(401)
    expect(await login(gate, 'ann', 'a', long)).toBe(429)
    expect(await login(gate, 'ann', 'b', long)).toBe(401)
    expect(await login(gate, 'ann', 'b')).toBe(401)
  })

  test('what the storage could not answer counts as no attempt', async () => {
    const gate = createGate()
    await gate.handler.ready()
    gate.state.isLost = true
    for (let i = 0; i < 150; i++) expect(await login(gate, 'ann', `client ${i % 5}`)).toBe(503)
    gate.state.isLost = false
    for (let i = 0; i < 10; i++) expect(await login(gate, 'ann', 'client 0')).toBe(401)
    expect(await login(gate, 'ann', 'client 0')).toBe(429)
  })
})
