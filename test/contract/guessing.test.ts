import { describe, expect, test } from 'vitest'
import type { Hasher } from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §4, "Login", "Throttle", "Sessions"

const config = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
      permissions: { owner: { read: true } },
    },
    things: { schema: { x: { type: 'string' } }, permissions: { user: { read: true } } },
  },
}

const ann = { email: 'ann@example.com', password: 'correct horse' }
const MINUTE = 60_000

/** A service whose clock stands until it is moved, and whose clients say who they are. */
function createStage() {
  let time = Date.parse('2026-11-20T08:00:00Z')
  const service = createTestService(config, {
    now: () => time,
    clientAddress: (request) => request.headers.get('x-test-client') ?? 'home',
  })
  const login = (email: string, password: string, client = 'home') =>
    service.send('POST /auth/login', { body: { email, password }, headers: { 'x-test-client': client } })
  return {
    ...service,
    login,
    async guess(email: string, times: number, client?: string): Promise<number[]> {
      const statuses: number[] = []
      for (let i = 0; i < times; i++) statuses.push((await login(email, `guess ${i}`, client)).status)
      return statuses
    },
    wait(milliseconds: number): void {
      time += milliseconds
    },
  }
}

describe('guessing a secret', () => {
  test.each(['ann@example.com', 'nobody@example.com'])(
    'is refused after ten failures in 15 minutes for one identifier from one client, account or not: %s',
    async (email) => {
      const { register, guess, login, wait } = createStage()
      await register(ann)
      expect(await guess(email, 10)).toEqual(Array(10).fill(401))
      const refused = await login(email, ann.password)
      expect(refused.status).toBe(429)
      expect(refused.body.code).toBe('too_many_attempts')
      expect(refused.headers.get('retry-after')).toBe(String(15 * 60))
      wait(15 * MINUTE - 1000)
      expect((await login(email, ann.password)).headers.get('retry-after')).toBe('1')
      wait(1000)
      expect((await login(email, ann.password)).status).toBe(email === ann.email ? 200 : 401)
    },
  )

  test('counts an identifier in its stored form', async () => {
    const { guess, login } = createStage()
    await guess('Ann@Example.com', 5)
    await guess('ANN@example.com', 5)
    expect((await login('ann@example.com', 'x')).status).toBe(429)
  })

  test('leaves other identifiers and other clients alone', async () => {
    const { register, guess, login } = createStage()
    await register(ann)
    await guess(ann.email, 10, 'a stranger')
    expect((await login(ann.email, ann.password, 'a stranger')).status).toBe(429)
    expect((await login(ann.email, ann.password, 'home')).status).toBe(200)
    expect((await login('bob@example.com', 'x', 'a stranger')).status).toBe(401)
  })

  test('is refused after a hundred failures for one identifier from anywhere', async () => {
    const { guess, login } = createStage()
    for (let client = 0; client < 10; client++) await guess(ann.email, 10, `client ${client}`)
    expect((await login(ann.email, 'x', 'a new client')).status).toBe(429)
    expect((await login('bob@example.com', 'x', 'a new client')).status).toBe(401)
  })

  test('begins anew after a success', async () => {
    const { register, guess, login } = createStage()
    await register(ann)
    await guess(ann.email, 9)
    expect((await login(ann.email, ann.password)).status).toBe(200)
    expect(await guess(ann.email, 10)).toEqual(Array(10).fill(401))
  })

  test('is counted for attempts side by side', async () => {
    const { login } = createStage()
    const attempts = await Promise.all(Array.from({ length: 20 }, (_, i) => login(ann.email, `guess ${i}`)))
    expect(attempts.filter(({ status }) => status === 429)).toHaveLength(10)
  })

  test('lets those who know the secret in, however many come at once', async () => {
    const { register, login } = createStage()
    await register(ann)
    const answers = await Promise.all(Array.from({ length: 25 }, () => login(ann.email, ann.password)))
    expect(answers.map(({ status }) => status)).toEqual(Array(25).fill(200))
    const guesses = Array.from({ length: 8 }, (_, i) => login(ann.email, `guess ${i}`))
    const mixed = await Promise.all([...guesses, login(ann.email, ann.password), ...guesses])
    expect(mixed.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('counts only from anywhere where no client is known, and the log says so once', async () => {
    for (const address of [undefined, null, '']) {
      const { register, send, logged } = createTestService(config, {
        hasher: { hash: async (secret) => secret, verify: async (secret, hash) => secret === hash },
        ...(address === undefined ? {} : { clientAddress: () => address }),
      })
      await register(ann)
      expect(logged).toEqual([])
      const login = async (password: string) =>
        (await send('POST /auth/login', { body: { ...ann, password } })).status
      for (let i = 0; i < 99; i++) expect(await login('wrong')).toBe(401)
      // A success of somebody unknown lifts nothing: others may have used up what there is.
      expect(await login(ann.password)).toBe(200)
      expect(await login('wrong')).toBe(401)
      expect(await login(ann.password)).toBe(429)
      expect(logged).toHaveLength(1)
      expect(logged[0]?.[0]).toContain('clientAddress')
    }
  })

  test('does not count what is no guess', async () => {
    const { send, login } = createStage()
    for (let i = 0; i < 12; i++) await send('POST /auth/login', { body: { email: ann.email } })
    expect((await login(ann.email, 'x')).status).toBe(401)
  })
})

describe('an unknown identifier and a wrong secret', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['a wrong secret', ann.email, 'wrong horse'],
    ['an unknown identifier', 'nobody@example.com', 'correct horse'],
    ['a secret that could not be stored', ann.email, 'é'.repeat(40)],
    ['an identifier that could not be stored', 'a\u0000', 'correct horse'],
    ['an account without a secret', 'without@example.com', 'correct horse'],
  ]
  test('take the same number of hashes, at the same cost, and get the same answer', async () => {
    const inner = createTestHasher()
    const costs: string[] = []
    const hasher: Hasher = {
      hash(secret) {
        costs.push('hash')
        return inner.hash(secret)
      },
      verify(secret, hash) {
        costs.push(hash.slice(0, 7))
        return inner.verify(secret, hash)
      },
    }
    const { register, send, handler, adapter } = createTestService(config, { hasher })
    await register(ann)
    const plain = { _id: '0190163d-8694-7000-8000-000000000001', _version: 1, email: 'without@example.com' }
    await adapter.write([{ in: 'users', insert: plain }], {})
    // The first of all makes what it is compared with where there is no account.
    await send('POST /auth/login', { body: { email: 'x', password: 'y' } })
    const seen: unknown[] = []
    for (const [what, email, password] of cases) {
      costs.length = 0
      const { status, body, headers } = await send('POST /auth/login', { body: { email, password } })
      const { requestId, ...rest } = body
      seen.push([what, { status, rest, headers: [...headers], costs: [...costs] }])
    }
    const [[, first] = []] = seen as [string, { costs: string[] }][]
    expect(first?.costs).toEqual(['$2b$04$'])
    expect(seen).toEqual(cases.map(([what]) => [what, first]))
    await handler.close()
  })
})

describe('sessions', () => {
  test('logout-all ends every session of the user at once, and of nobody else', async () => {
    const { register, login, send } = createStage()
    const { token } = await register(ann)
    const bob = await register({ email: 'bob@example.com', password: 'battery staple' })
    const second = (await login(ann.email, ann.password)).body.token
    expect((await send('POST /auth/logout-all', { token: second })).status).toBe(204)
    expect((await send('GET /auth/me', { token })).status).toBe(401)
    expect((await send('GET /auth/me', { token: second })).status).toBe(401)
    expect((await send('GET /auth/me', { token: bob.token })).status).toBe(200)
    const third = (await login(ann.email, ann.password)).body.token
    expect((await send('GET /auth/me', { token: third })).status).toBe(200)
  })

  test('logout-all needs a token', async () => {
    const { send } = createStage()
    expect((await send('POST /auth/logout-all')).body.code).toBe('unauthenticated')
    expect((await send('GET /auth/logout-all')).status).toBe(405)
  })

  test('a session counts only while it holds the stamp of its user', async () => {
    const { register, send, adapter } = createStage()
    const { token, id } = await register(ann)
    const field = { path: '_id', type: 'string', each: false } as const
    const [user] = await adapter.list('users', {
      filter: { kind: 'eq', field, value: id },
      sort: [],
      skip: 0,
      limit: 1,
    })
    if (!user) throw new Error('the user is stored')
    const written = await adapter.write(
      [
        {
          in: 'users',
          replace: { ...user, _version: user._version + 1, _stamp: 'another' },
          version: user._version,
        },
      ],
      {},
    )
    expect(written).toMatchObject({ ok: true })
    expect((await send('GET /auth/me', { token })).body.code).toBe('invalid_token')
    expect((await send('GET /things', { token })).body.code).toBe('invalid_token')
  })

  test('what has expired is cleared away when a session is opened, a bounded number at a time', async () => {
    const { register, login, adapter, wait } = createStage()
    await register(ann)
    for (let i = 0; i < 3; i++) await login(ann.email, ann.password)
    const everything = { kind: 'and', filters: [] } as const
    expect(await adapter.count('_sessions', everything, {})).toBe(4)
    wait(31 * 24 * 60 * MINUTE)
    expect((await login(ann.email, ann.password)).status).toBe(200)
    expect(await adapter.count('_sessions', everything, {})).toBe(1)
  })
})
