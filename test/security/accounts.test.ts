import { beforeEach, describe, expect, test } from 'vitest'
import type { Hasher, StoredDocument } from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { faultsOf, type SendOptions } from '../support/service.js'
import {
  ALL,
  ANN,
  type Attacked,
  attack,
  BEN,
  type Case,
  CONFIG,
  FORBIDDEN,
  INVALID_BODY,
  INVALID_CREDENTIALS,
  INVALID_QUERY,
  INVALID_TOKEN,
  logIn,
  SECRETS,
  TAKEN,
  ZOE,
} from './fixture.js'

// CONTRACT.md §1, "Accounts", §4, "Uniqueness", "Registration"

let service: Attacked
beforeEach(async () => {
  service = await attack()
})

const LONG_ENOUGH = 'longenough1'
const register = (fields: object): SendOptions => ({
  body: { email: 'n@x.co', password: LONG_ENOUGH, ...fields },
})
const storedUsers = async (): Promise<readonly StoredDocument[]> => service.adapter.list('users', ALL)

test('a registration stores a hash, and the secret nowhere', async () => {
  const sent = await service.send('POST /auth/register', register({}))
  expect(sent.status).toBe(201)
  expect(sent.headers.get('cache-control')).toBe('no-store')
  expect(sent.body.user).toEqual({
    _id: expect.any(String),
    email: 'n@x.co',
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
    createdBy: sent.body.user._id,
  })
  const dump = await service.dump()
  expect(JSON.stringify((await storedUsers()).at(-1))).toMatch(
    /"password":"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}"/,
  )
  expect(dump).not.toContain(LONG_ENOUGH)
  expect(dump).not.toContain(sent.body.token)
  expect(sent.text).not.toMatch(/longenough1|\$2|_hashes|_version/)
  expect(service.logged).toEqual([])
})

test('the built-in hash costs what the configuration says', async () => {
  const own = await attack(CONFIG, { hasher: undefined as unknown as Hasher })
  expect((await own.send('POST /auth/register', register({}))).status).toBe(201)
  expect(await own.dump()).toMatch(/\$2[aby]\$10\$/)
})

test.each<Case<[extra: object]>>([
  ['a role', { role: 'admin' }],
  ['a role that is none', { role: { $ne: 1 } }],
  ['roles', { roles: ['admin'] }],
  ['a flag', { isAdmin: true, admin: true }],
  ['an id', { _id: ZOE }],
  ['times and a creator', { createdAt: 0, updatedAt: 0, createdBy: ZOE }],
  ['permissions', { permissions: { '*': true } }],
  ['a hash', { _hashes: { password: '$2b$04$x' }, hash: 'x' }],
  ['the key of an engine', { $loki: 1, meta: null }],
])('a registration drops %s', async (_what, extra) => {
  const { status, body } = await service.send('POST /auth/register', register(extra))
  expect(status).toBe(201)
  const stored = (await storedUsers()).find(({ _id }) => _id === body.user._id)
  expect(Object.keys(stored ?? {}).sort()).toEqual(
    ['_hashes', '_id', '_stamp', '_version', 'createdAt', 'createdBy', 'email', 'updatedAt'].sort(),
  )
  expect(stored).toMatchObject({ createdBy: body.user._id, createdAt: expect.stringMatching(/^20/) })
  expect(body.user._id).not.toBe(ZOE)
  await service.refuse('GET /locked', FORBIDDEN, { token: body.token })
  expect((await service.list('/users', 'email', { token: body.token })).filter((email) => email)).toEqual([])
})

test('a stranger cannot take a role through the plain route either', async () => {
  const sent = await service.refuse('POST /users', INVALID_BODY, register({ role: 'admin', nick: 'x' }))
  expect(faultsOf(sent)).toEqual({ '/email': 'required', '/password': 'required' })
})

test.each<Case<[password: string]>>([
  ['eight blanks', '        '],
  ['sixteen code points that are eight letters', 'e\u0301'.repeat(8)],
  ['72 bytes', 'a'.repeat(72)],
  ['24 letters of three bytes', '€'.repeat(24)],
])('a registration takes a secret of %s, and it alone opens a session', async (_what, password) => {
  expect((await service.send('POST /auth/register', register({ password }))).status).toBe(201)
  const login = (secret: string) => ({ body: { email: 'n@x.co', password: secret } })
  expect((await service.send('POST /auth/login', login(password))).status).toBe(200)
  for (const wrong of [
    `${password}X`,
    `${password}\u0000`,
    `${password}\u0000${password}`,
    password.normalize('NFC').slice(1),
    '',
  ]) {
    await service.refuse('POST /auth/login', INVALID_CREDENTIALS, login(wrong))
  }
})

test.each(['N@X.CO', ' n@x.co', 'n@x.co ', '\tN@x.co\n', '\u00a0n@x.co\ufeff'])(
  'an identifier that is stored the same is taken: %j',
  async (email) => {
    expect((await service.send('POST /auth/register', register({}))).status).toBe(201)
    const sent = await service.refuse('POST /auth/register', TAKEN, register({ email }))
    expect(faultsOf(sent)).toEqual({ '/email': 'taken' })
    expect((await service.send('POST /auth/login', register({ email }))).status).toBe(200)
  },
)

test('a letter that folds to another makes no second account', async () => {
  expect((await service.send('POST /auth/register', register({ email: 'k@x.co' }))).status).toBe(201)
  const { status } = await service.send('POST /auth/register', register({ email: '\u212a@x.co' }))
  expect([400, 409]).toContain(status)
  expect((await storedUsers()).filter(({ email }) => email === 'k@x.co')).toHaveLength(1)
})

test('of 50 equal registrations at once one succeeds', async () => {
  const before = (await storedUsers()).length
  const sent = await Promise.all(
    Array.from({ length: 50 }, (_, i) => service.send('POST /auth/register', register({ nick: `n${i}` }))),
  )
  expect(sent.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(sent.filter(({ status }) => status === 409)).toHaveLength(49)
  expect(await storedUsers()).toHaveLength(before + 1)
})

test('what was refused for one unique value leaves the other one free', async () => {
  await service.refuse('POST /auth/register', TAKEN, register({ mobile: '+431' }))
  await service.refuse('POST /auth/login', INVALID_CREDENTIALS, register({}))
  const zoe = await logIn(service, 'zoe')
  expect(await service.list('/users?q[email]="n@x.co"', '_id', { token: zoe })).toEqual([])
  expect((await service.send('POST /auth/register', register({ mobile: '+439' }))).status).toBe(201)
  expect(await storedUsers()).toHaveLength(4)
})

test('when hashing fails nothing is stored, and the next attempt succeeds', async () => {
  const hasher = createTestHasher()
  let broken = true
  const own = await attack(undefined, {
    hasher: {
      ...hasher,
      async hash(secret) {
        if (broken) throw new Error(`no entropy for ${secret}`)
        return hasher.hash(secret)
      },
    },
  })
  const before = await own.dump()
  const sent = await own.send('POST /auth/register', { ...register({}), mayFail: true })
  expect(sent).toMatchObject({ status: 500, body: { code: 'internal_error' } })
  expect(sent.text).not.toContain('entropy')
  expect(await own.dump()).toBe(before)
  broken = false
  expect((await own.send('POST /auth/register', register({}))).status).toBe(201)
})

test('a hasher that failed once does not lock everybody out', async () => {
  const { hash, verify } = createTestHasher()
  let failures = 0
  const own = await attack(undefined, {
    documents: { users: [{ _id: ANN, email: 'ann@example.com', password: SECRETS.ann }] },
    hasher: {
      verify,
      async hash(secret) {
        if (failures === 1) {
          failures += 1
          throw new Error('busy')
        }
        return hash(secret)
      },
    },
  })
  failures = 1
  const login = { body: { email: 'ann@example.com', password: SECRETS.ann }, mayFail: true }
  await own.send('POST /auth/login', login)
  expect((await own.send('POST /auth/login', login)).status).toBe(200)
})

test('more registrations at once than can wait are turned away, and nothing of them is stored', async () => {
  const sent = await Promise.all(
    Array.from({ length: 180 }, (_, i) =>
      service.send('POST /auth/register', { ...register({ email: `n${i}@x.co` }), mayFail: true }),
    ),
  )
  const refused = sent.filter(({ status }) => status !== 201)
  expect(refused.length).toBeGreaterThan(0)
  for (const { status, body, headers } of refused) {
    expect({ status, code: body.code }).toEqual({ status: 503, code: 'overloaded' })
    expect(headers.get('retry-after')).toMatch(/^\d+$/)
  }
  expect(await storedUsers()).toHaveLength(3 + sent.length - refused.length)
})

test('identifier and secret may have other names', async () => {
  const users = {
    schema: { mobile: { type: 'string', unique: true }, pin: { type: 'hash', minLength: 4 } },
  }
  const own = await attack({ collections: { users } }, {})
  const body = { mobile: '+43', pin: '12345' }
  expect((await own.send('POST /auth/register', { body })).status).toBe(201)
  expect((await own.send('POST /auth/login', { body })).status).toBe(200)
  expect(
    faultsOf(await own.send('POST /auth/register', { body: { email: 'n@x.co', password: LONG_ENOUGH } })),
  ).toEqual({
    '/mobile': 'required',
    '/pin': 'required',
  })
})

test('closed registration is closed on every way', async () => {
  const own = await attack({ ...CONFIG, auth: { ...CONFIG.auth, register: false } })
  await own.refuse('POST /auth/register', FORBIDDEN, register({}))
  await own.refuse('POST /auth/register', FORBIDDEN, { raw: '{' })
  await own.refuse('POST /users', FORBIDDEN, register({}))
  expect((await own.send('POST /users', { ...register({}), token: await logIn(own, 'zoe') })).status).toBe(
    201,
  )
})

describe('a token', () => {
  test('is one of 256 random bits, and what is stored does not open the door', async () => {
    const tokens = [await logIn(service, 'ann'), await logIn(service, 'ann'), await logIn(service, 'zoe')]
    expect(new Set(tokens).size).toBe(3)
    for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
    const sessions = await service.adapter.list('_sessions', ALL)
    for (const { _id } of sessions) {
      expect(tokens).not.toContain(_id)
      await service.refuse('GET /auth/me', INVALID_TOKEN, { token: _id })
    }
  })

  test('is in no page of sessions, nor its digest, and a place in those of another account shows nothing of them', async () => {
    const tokens = [await logIn(service, 'ann'), await logIn(service, 'ann'), await logIn(service, 'zoe')]
    const [token = '', , other = ''] = tokens
    const page = await service.send('GET /auth/sessions?limit=1', { token })
    const after = page.headers.get('next-cursor') ?? ''
    const told = `${page.text}${Buffer.from(after, 'base64url')}${page.headers.get('link')}`
    const sessions = await service.adapter.list('_sessions', ALL)
    for (const secret of [...tokens, ...sessions.map(({ _id }) => _id)]) expect(told).not.toContain(secret)
    const namesOf = async (by: string) =>
      (await service.send('GET /auth/sessions', { token: by })).body.map(({ _id }: { _id: string }) => _id)
    const theirs = await service.send(`GET /auth/sessions?after=${after}`, { token: other })
    for (const { _id } of theirs.body) expect(await namesOf(other)).toContain(_id)
  })

  test('differs from none in a single letter', async () => {
    const token = await logIn(service, 'ann')
    const flipped = (token.startsWith('A') ? 'B' : 'A') + token.slice(1)
    await service.refuse('GET /auth/me', INVALID_TOKEN, { token: flipped })
    await service.refuse('GET /auth/me', INVALID_TOKEN, {
      token: token.toLowerCase() === token ? token.toUpperCase() : token.toLowerCase(),
    })
    expect(
      (await service.send('GET /auth/me', { headers: { authorization: `bearer ${token}` } })).body._id,
    ).toBe(ANN)
  })

  test('is dead after logout, and that of another session lives', async () => {
    const [first, second] = [await logIn(service, 'ann'), await logIn(service, 'ann')]
    expect((await service.send('POST /auth/logout', { token: first })).status).toBe(204)
    for (const line of ['GET /auth/me', 'GET /posts', 'POST /auth/logout']) {
      await service.refuse(line, INVALID_TOKEN, { token: first })
    }
    expect((await service.send('GET /auth/me', { token: second })).status).toBe(200)
  })

  test('lives as long as the configuration says and not a millisecond more', async () => {
    let time = Date.parse('2026-01-01')
    const own = await attack({ ...CONFIG, auth: { ...CONFIG.auth, sessionDays: 2 } }, { now: () => time })
    const { body } = await own.send('POST /auth/register', register({}))
    expect(body.expiresAt).toBe('2026-01-03T00:00:00.000Z')
    time = Date.parse(body.expiresAt) - 1
    expect((await own.send('GET /auth/me', { token: body.token })).status).toBe(200)
    time += 1
    await own.refuse('GET /auth/me', INVALID_TOKEN, { token: body.token })
  })

  test('dies with its user, and holds no role but that of the stored user', async () => {
    const zoe = await logIn(service, 'zoe')
    const [user] = (await storedUsers()).filter(({ _id }) => _id === ZOE)
    expect((await service.send('GET /locked', { token: zoe })).status).toBe(403)
    expect(await service.list('/posts?q[secret]="zeta"', 'secret', { token: zoe })).toEqual(['zeta'])
    for (const role of ['editor', 'constructor', '__proto__', '*', ['admin'], { $ne: 1 }, null, undefined]) {
      const replace = { ...user, role } as unknown as StoredDocument
      const steps = [{ in: 'users', replace, version: replace._version }]
      expect(await service.adapter.write(steps, {})).toMatchObject({ ok: true })
      await service.refuse('GET /posts?q[secret]="zeta"', INVALID_QUERY, { token: zoe })
    }
    const filter = { kind: 'eq', field: { path: '_id', type: 'string', each: false }, value: ZOE } as const
    await service.adapter.write([{ in: 'users', remove: filter }], {})
    await service.refuse('GET /posts', INVALID_TOKEN, { token: zoe })
  })

  test('shows its own account only: identifier, what one may read, and nothing else', async () => {
    const { body, headers } = await service.send('GET /auth/me', { token: await logIn(service, 'ben') })
    expect(body).toEqual({
      _id: BEN,
      email: 'ben@example.com',
      nick: 'ben',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      createdBy: BEN,
    })
    expect(headers.get('cache-control')).toBe('no-store')
  })
})
