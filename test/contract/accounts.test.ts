import { describe, expect, test } from 'vitest'
import {
  type Caller,
  ConfigError,
  createMemoryAdapter,
  ServiceError,
  type StorageAdapter,
} from '../../src/index.js'
import { createTestHasher } from '../../src/testing/index.js'
import { type AnyConfig, createTestService, faultsOf, type TestService } from '../support/service.js'

const schema = {
  email: { type: 'string', format: 'email', unique: true, required: true, trim: true, lowercase: true },
  password: { type: 'hash', required: true, minLength: 4 },
  name: { type: 'string', maxLength: 10 },
  role: { type: 'string' },
  note: { type: 'string' },
}

interface Settings {
  readonly permissions?: object
  readonly auth?: object
  readonly schema?: object
}

const configOf = ({ permissions = {}, auth = {}, schema: own = schema }: Settings = {}): AnyConfig => ({
  collections: {
    users: { schema: own, permissions },
    notes: {
      schema: { text: { type: 'string' } },
      permissions: { user: { create: true }, owner: { read: true } },
    },
    news: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } },
  },
  auth,
})

const ann = { email: 'ann@example.org', password: 'secret' }

const register = (service: TestService, body: object) => service.send('POST /auth/register', { body })
const login = (service: TestService, body: object) => service.send('POST /auth/login', { body })

/** Status and code. */
const outcomeOf = ({ status, body }: { status: number; body: { code?: string } | undefined }) => [
  status,
  body?.code,
]

const DAY = 24 * 60 * 60 * 1000

const unreachable = (): never => {
  throw new Error('was asked')
}

/** An adapter that keeps what is written. */
function watchWrites(): { readonly adapter: StorageAdapter; readonly written: string[] } {
  const written: string[] = []
  const memory = createMemoryAdapter()
  const adapter: StorageAdapter = {
    ...memory,
    write(steps, options) {
      written.push(JSON.stringify(steps))
      return memory.write(steps, options)
    },
  }
  return { adapter, written }
}

describe('register', () => {
  test('creates the account and signs it in', async () => {
    const service = createTestService(configOf({ permissions: { owner: { read: true } } }), { now: () => 0 })
    const { status, body, headers } = await register(service, {
      email: ' ANN@Example.org ',
      password: 'secret',
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      user: {
        _id: expect.any(String),
        email: 'ann@example.org',
        createdAt: '1970-01-01T00:00:00.000Z',
        updatedAt: '1970-01-01T00:00:00.000Z',
        createdBy: body.user._id,
      },
      token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      expiresAt: '1970-01-31T00:00:00.000Z',
    })
    expect(headers.get('cache-control')).toBe('no-store')
    expect((await service.send('GET /auth/me', { token: body.token })).body).toEqual(body.user)
  })

  test.each<[string, object, { [path: string]: string }]>([
    ['identifier and secret are required', {}, { '/email': 'required', '/password': 'required' }],
    ['an identifier of another type', { ...ann, email: 1 }, { '/email': 'wrong_type' }],
    ['an identifier that the schema refuses', { ...ann, email: 'ann' }, { '/email': 'wrong_format' }],
    ['a secret that is too short', { ...ann, password: 'abc' }, { '/password': 'too_short' }],
    ['a secret over 72 bytes', { ...ann, password: 'ä'.repeat(37) }, { '/password': 'too_long' }],
    ['a secret with NUL', { ...ann, password: 'abcd\u0000' }, { '/password': 'invalid_text' }],
    ['a secret of another type', { ...ann, password: 12345 }, { '/password': 'wrong_type' }],
    ['a null', { ...ann, password: null }, { '/password': 'wrong_type' }],
  ])('%s', async (_, body, expected) => {
    const service = createTestService(configOf())
    const answer = await register(service, body)
    expect(outcomeOf(answer)).toEqual([400, 'validation_failed'])
    expect(faultsOf(answer)).toEqual(expected)
  })

  test('identifier and secret are required where the schema does not say so', async () => {
    const loose = {
      email: { type: 'string', unique: true, nullable: true },
      password: { type: 'hash', nullable: true },
    }
    const service = createTestService(configOf({ schema: loose }))
    expect(faultsOf(await register(service, {}))).toEqual({ '/email': 'required', '/password': 'required' })
    expect(faultsOf(await register(service, { email: null, password: null }))).toEqual({
      '/email': 'required',
      '/password': 'required',
    })
  })

  test('an identifier that is taken, in whatever form, is a 409 that names the field', async () => {
    const service = createTestService(configOf())
    await service.register(ann)
    const answer = await register(service, { email: ' Ann@EXAMPLE.org', password: 'other' })
    expect(outcomeOf(answer)).toEqual([409, 'unique_violation'])
    expect(Object.keys(faultsOf(answer))).toEqual(['/email'])
    // Nothing of it stays behind: the first account is as it was.
    expect((await login(service, ann)).status).toBe(200)
    expect((await login(service, { ...ann, password: 'other' })).status).toBe(401)
  })

  test('of many at the same time one is created', async () => {
    const service = createTestService(configOf())
    const answers = await Promise.all(
      [...Array(8)].map((_, i) => register(service, { ...ann, password: `secret${i}` })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409])
  })

  const body = { ...ann, name: 'Ann', note: 'n', role: 'admin' }
  test.each<[string, object, object]>([
    ['without a create rule of * everything else is dropped', {}, {}],
    ['a refused create drops it too', { '*': { create: false } }, {}],
    ['a create rule of user or a role does not count', { user: { create: true }, admin: true }, {}],
    ['a pick of * is kept', { '*': { create: { pick: ['name'] } } }, { name: 'Ann' }],
    ['an omit of * is dropped', { '*': { create: { omit: ['note'] } } }, { name: 'Ann' }],
    [
      'an omit of the identifier does not count',
      { '*': { create: { omit: ['email', 'password'] } } },
      { name: 'Ann', note: 'n' },
    ],
    ['a create of * keeps all but the role', { '*': { create: true } }, { name: 'Ann', note: 'n' }],
    [
      'the role is dropped even where a pick names it',
      { '*': { create: { pick: ['role', 'name'] } } },
      { name: 'Ann' },
    ],
  ])('%s', async (_, permissions, kept) => {
    const config = configOf({
      permissions: { owner: { read: true }, ...permissions },
      auth: { roleField: 'role' },
    })
    const answer = await register(createTestService(config), body)
    expect(answer.status, answer.text).toBe(201)
    const { _id, email, createdAt, updatedAt, createdBy, ...rest } = answer.body.user
    expect([_id, createdAt, updatedAt]).toEqual([createdBy, expect.any(String), createdAt])
    expect(email).toBe(ann.email)
    expect(rest).toEqual(kept)
  })

  test('what is dropped is not judged', async () => {
    const service = createTestService(configOf())
    expect((await register(service, { ...ann, name: 5, nonsense: '\u0000', _odd: 1 })).status).toBe(201)
    const keeping = createTestService(configOf({ permissions: { '*': { create: true } } }))
    const answer = await register(keeping, { ...ann, name: 5, nonsense: 1 })
    expect(faultsOf(answer)).toEqual({ '/name': 'wrong_type', '/nonsense': 'unknown_property' })
  })

  test('without auth.roleField a role is a field like any other', async () => {
    const service = createTestService(
      configOf({ permissions: { '*': { create: true }, owner: { read: true } } }),
    )
    expect((await register(service, body)).body.user.role).toBe('admin')
  })
})

describe('register: closed', () => {
  const closed = configOf({ auth: { register: false }, permissions: { '*': { create: true }, admin: true } })
  test('registering and an anonymous create of users are always 403', async () => {
    const service = createTestService(closed, { documents: { users: [ann] } })
    expect(outcomeOf(await register(service, ann))).toEqual([403, 'forbidden'])
    expect(outcomeOf(await service.send('POST /users', { body: ann }))).toEqual([403, 'forbidden'])
    expect(outcomeOf(await service.send('POST /users', { body: ann, caller: null }))).toEqual([
      403,
      'forbidden',
    ])
    const silent = createTestService(configOf({ auth: { register: false } }))
    expect(outcomeOf(await silent.send('POST /users', { body: ann }))).toEqual([403, 'forbidden'])
  })
  test('a body is not even looked at', async () => {
    const service = createTestService(closed)
    const answer = await service.send('POST /auth/register', {
      raw: '{',
      headers: { 'content-type': 'image/png' },
    })
    expect(answer.status).toBe(403)
  })
  test('signing in stays open, and whoever may create users still does', async () => {
    const service = createTestService(closed, { documents: { users: [ann] } })
    const { status, body } = await login(service, ann)
    expect(status).toBe(200)
    const other = { ...ann, email: 'b@x.org' }
    expect((await service.send('POST /users', { body: other, token: body.token })).status).toBe(201)
    expect((await login(service, other)).status).toBe(200)
  })
})

describe('accounts made with POST /users', () => {
  test('are created like any other document, can sign in, and are their own creators', async () => {
    const service = createTestService(
      configOf({ permissions: { '*': { create: { omit: ['note'] } }, owner: { read: true } } }),
    )
    const { status, body } = await service.send('POST /users', { body: { ...ann, name: 'Ann', note: 'x' } })
    expect(status).toBe(201)
    expect(Object.keys(body)).toEqual(['_id'])
    const signedIn = await login(service, ann)
    expect(signedIn.body.user).toMatchObject({ _id: body._id, name: 'Ann', createdBy: body._id })
    expect(signedIn.body.user).not.toHaveProperty('note')
  })
  test('so are those that somebody else creates', async () => {
    const service = createTestService(configOf({ permissions: { admin: true } }))
    const { body } = await service.send('POST /users', {
      body: ann,
      caller: { id: 'boss', roles: ['admin'] },
    })
    expect(body.createdBy).toBe(body._id)
  })
  test('a closed collection of users is 401 to nobody in particular', async () => {
    const service = createTestService(configOf())
    expect(outcomeOf(await service.send('POST /users', { body: ann }))).toEqual([401, 'unauthenticated'])
  })
})

describe('login', () => {
  test('opens another session each time', async () => {
    const service = createTestService(configOf(), { now: () => 0 })
    const registered = await register(service, ann)
    const { status, body, headers } = await login(service, { email: '  ANN@example.ORG', password: 'secret' })
    expect(status).toBe(200)
    expect(body).toEqual({
      user: registered.body.user,
      token: expect.any(String),
      expiresAt: '1970-01-31T00:00:00.000Z',
    })
    expect(body.token).not.toBe(registered.body.token)
    expect(headers.get('cache-control')).toBe('no-store')
    for (const token of [body.token, registered.body.token]) {
      expect((await service.send('GET /auth/me', { token })).status).toBe(200)
    }
  })

  const wrong: [string, object][] = [
    ['a wrong secret', { ...ann, password: 'Secret' }],
    ['a secret with a space more', { ...ann, password: 'secret ' }],
    ['an empty secret', { ...ann, password: '' }],
    ['an unknown identifier', { ...ann, email: 'bob@example.org' }],
    ['an identifier that the schema would refuse', { ...ann, email: 'nobody' }],
    ['an empty identifier', { ...ann, email: '' }],
    ['an identifier with NUL', { ...ann, email: 'a\u0000' }],
    ['an identifier with half a character', { ...ann, email: '\ud800' }],
    ['a very long identifier', { ...ann, email: 'a'.repeat(5000) }],
    ['a secret with NUL', { ...ann, password: 'secret\u0000' }],
    ['a secret with half a character', { ...ann, password: 'secret\ud800' }],
    ['a secret over 72 bytes', { ...ann, password: 'a'.repeat(73) }],
  ]
  test.each(wrong)('%s is a 401, after one hash at the same cost', async (_, body) => {
    const hasher = createTestHasher()
    const asked: (string | undefined)[] = []
    const service = createTestService(configOf(), {
      hasher: {
        hash: hasher.hash,
        verify(secret, hash, signal) {
          // The algorithm and the cost.
          asked.push(/^\$2[aby]\$\d\d\$/.exec(hash)?.[0])
          return hasher.verify(secret, hash, signal)
        },
      },
    })
    await service.register(ann)
    const answer = await login(service, body)
    expect(outcomeOf(answer)).toEqual([401, 'invalid_credentials'])
    expect(asked).toEqual(['$2b$04$'])
  })

  test('the answer is the same for an unknown identifier and for a wrong secret', async () => {
    const service = createTestService(configOf())
    await service.register(ann)
    const answers = await Promise.all(
      wrong.map(async ([, body]) => {
        const { status, headers, body: problem } = await login(service, body)
        const { requestId, ...rest } = problem
        return JSON.stringify([status, [...headers], rest, typeof requestId])
      }),
    )
    expect(new Set(answers).size).toBe(1)
  })

  test('a secret of 72 bytes does not match one that goes on', async () => {
    const service = createTestService(configOf())
    await service.register({ ...ann, password: 'a'.repeat(72) })
    expect((await login(service, { ...ann, password: 'a'.repeat(72) })).status).toBe(200)
    expect((await login(service, { ...ann, password: `${'a'.repeat(72)}b` })).status).toBe(401)
    expect((await login(service, { ...ann, password: 'a'.repeat(71) })).status).toBe(401)
  })

  test.each<[string, object, string[]]>([
    ['a number as secret', { ...ann, password: 123456 }, ['/password']],
    ['an object as identifier', { ...ann, email: { $ne: null } }, ['/email']],
    ['a list', { ...ann, email: ['ann@example.org'] }, ['/email']],
    ['null', { email: null, password: null }, ['/email', '/password']],
    ['true', { ...ann, password: true }, ['/password']],
    ['no secret', { email: 'ann@example.org' }, ['/password']],
    ['nothing', {}, ['/email', '/password']],
  ])('a credential that is no string is a 400: %s', async (_, body, paths) => {
    const service = createTestService(configOf())
    await service.register(ann)
    const answer = await login(service, body)
    expect(outcomeOf(answer)).toEqual([400, 'validation_failed'])
    expect(Object.keys(faultsOf(answer)).sort()).toEqual(paths)
  })

  test('a hasher that failed once is asked again', async () => {
    const hasher = createTestHasher()
    let failures = 0
    const service = createTestService(configOf(), {
      documents: { users: [ann] },
      hasher: {
        verify: hasher.verify,
        hash(secret, signal) {
          // The seed is hashed first; the next hash, whatever it is for, fails.
          if (failures++ === 1) return Promise.reject(new ServiceError('overloaded', 'busy'))
          return hasher.hash(secret, signal)
        },
      },
    })
    await service.send('POST /auth/login', { body: ann, mayFail: true })
    const again = await service.send('POST /auth/login', { body: ann, mayFail: true })
    expect(again.status).toBe(200)
  })
})

describe('what the answers and GET /auth/me show of the user', () => {
  const always = ['_id', 'email', 'createdAt', 'updatedAt', 'createdBy']
  test.each<[string, object, readonly string[]]>([
    ['without a read rule: _id, the identifier and the system fields', {}, always],
    [
      'what the owner may read',
      { owner: { read: { pick: ['name'] } } },
      ['_id', 'email', 'name', 'createdAt', 'updatedAt', 'createdBy'],
    ],
    [
      'what everyone and every user may read',
      { '*': { read: { pick: ['name'] } }, user: { read: { pick: ['note'] } } },
      ['_id', 'email', 'name', 'note', 'createdAt', 'updatedAt', 'createdBy'],
    ],
    [
      'the identifier even where it is omitted',
      { owner: { read: { omit: ['email', 'createdAt', 'note'] } } },
      ['_id', 'email', 'name', 'createdAt', 'updatedAt', 'createdBy'],
    ],
    [
      'nothing more of a document that no rule matches',
      { owner: { read: { where: { name: 'Bob' } } } },
      always,
    ],
    [
      'never the secret',
      { owner: { read: true } },
      ['_id', 'email', 'name', 'note', 'createdAt', 'updatedAt', 'createdBy'],
    ],
  ])('%s', async (_, permissions, expected) => {
    const service = createTestService(configOf({ permissions }), {
      documents: { users: [{ ...ann, name: 'Ann', note: 'n' }] },
    })
    const { body } = await login(service, ann)
    expect(Object.keys(body.user).sort()).toEqual([...expected].sort())
    const me = await service.send('GET /auth/me', { token: body.token })
    expect(me.status).toBe(200)
    expect(me.body).toEqual(body.user)
    expect(me.headers.get('cache-control')).toBe('no-store')
    expect(me.text).not.toMatch(/secret|password|\$2b/)
  })

  test('a role may show more of its own user', async () => {
    const config = configOf({ permissions: { admin: { read: true } }, auth: { roleField: 'role' } })
    const service = createTestService(config, {
      documents: { users: [{ ...ann, role: 'admin', name: 'Ann' }] },
    })
    expect((await login(service, ann)).body.user).toMatchObject({ role: 'admin', name: 'Ann' })
  })
})

describe('a signed-in user', () => {
  test('is the creator of what is created, and its owner', async () => {
    const service = createTestService(configOf())
    const [first, second] = [
      await service.register(ann),
      await service.register({ ...ann, email: 'b@x.org' }),
    ]
    const created = await service.send('POST /notes', { body: { text: 'mine' }, token: first.token })
    expect(created.body.createdBy).toBe(first.id)
    expect(await service.list('/notes', 'text', { token: first.token })).toEqual(['mine'])
    expect(await service.list('/notes', 'text', { token: second.token })).toEqual([])
    const foreign = await service.send(`GET /notes/${created.body._id}`, { token: second.token })
    expect(foreign.status).toBe(404)
  })
})

describe('logout', () => {
  test('ends this session at once and no other', async () => {
    const service = createTestService(configOf())
    const { token } = await service.register(ann)
    const { body: other } = await login(service, ann)
    const answer = await service.send('POST /auth/logout', { token })
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(outcomeOf(await service.send('GET /auth/me', { token }))).toEqual([401, 'invalid_token'])
    expect(outcomeOf(await service.send('POST /auth/logout', { token }))).toEqual([401, 'invalid_token'])
    expect((await service.send('GET /auth/me', { token: other.token })).status).toBe(200)
  })
  test.each(['POST /auth/logout', 'GET /auth/me'])('%s without a token is a 401', async (line) => {
    const service = createTestService(configOf())
    expect(outcomeOf(await service.send(line))).toEqual([401, 'unauthenticated'])
  })
})

describe('sessions', () => {
  test('a token is random, and only its SHA-256 is stored', async () => {
    const { adapter, written } = watchWrites()
    const service = createTestService(configOf(), { adapter })
    const { token } = await service.register(ann)
    const { body } = await login(service, ann)
    const all = written.join('\n')
    expect(all).not.toContain(token)
    expect(all).not.toContain(body.token)
    expect(all).not.toContain('secret"')
    for (const issued of [token, body.token]) {
      expect(Buffer.from(issued, 'base64url')).toHaveLength(32)
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(issued))
      expect(all).toContain(Buffer.from(digest).toString('hex'))
    }
  })

  test('they survive a restart and are shared by all services on the same storage', async () => {
    const adapter = createMemoryAdapter()
    const first = createTestService(configOf(), { adapter })
    const { token, id } = await first.register(ann)
    const second = createTestService(configOf(), { adapter })
    expect((await second.send('GET /auth/me', { token })).body._id).toBe(id)
    expect((await second.send('POST /auth/logout', { token })).status).toBe(204)
    expect((await first.send('GET /auth/me', { token })).status).toBe(401)
    expect((await login(second, ann)).status).toBe(200)
  })

  test.each<[string, object, number]>([
    ['30 days by default', {}, 30],
    ['sessionDays', { sessionDays: 2 }, 2],
    ['a part of a day', { sessionDays: 0.5 }, 0.5],
  ])('one lives %s', async (_, auth, days) => {
    const start = Date.parse('2026-01-01T00:00:00Z')
    let now = start
    const service = createTestService(configOf({ auth }), { now: () => now })
    const { body } = await register(service, ann)
    expect(body.expiresAt).toBe(new Date(start + days * DAY).toISOString())
    const status = async (): Promise<number> =>
      (await service.send('GET /auth/me', { token: body.token })).status
    now = start + days * DAY - 1
    expect(await status()).toBe(200)
    now = start + days * DAY
    expect(await status()).toBe(401)
    // Whoever signs in again has another whole period.
    const { body: renewed } = await login(service, ann)
    expect(renewed.expiresAt).toBe(new Date(now + days * DAY).toISOString())
  })

  const nobody = 'A'.repeat(43)
  test.each<[string, string]>([
    ['a token that nobody has', `Bearer ${nobody}`],
    ['a token cut short', `Bearer ${nobody.slice(1)}`],
    ['a token that goes on', `Bearer ${nobody}A`],
    ['other characters', `Bearer ${'*'.repeat(43)}`],
    ['no token', 'Bearer'],
    ['two tokens', `Bearer ${nobody} ${nobody}`],
    ['a very long one', `Bearer ${'A'.repeat(5000)}`],
    ['a JSON web token', 'Bearer eyJhbGciOiJub25lIn0.e30.'],
  ])('%s is a 401 on public data too', async (_, authorization) => {
    const service = createTestService(configOf())
    await service.register(ann)
    for (const line of ['GET /news', 'GET /news/count', 'GET /auth/me', 'POST /auth/logout', 'POST /notes']) {
      const answer = await service.send(line, { headers: { authorization } })
      expect(outcomeOf(answer), line).toEqual([401, 'invalid_token'])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    }
  })

  test('the scheme is of any case, and spaces may follow it', async () => {
    const service = createTestService(configOf())
    const { token } = await service.register(ann)
    for (const authorization of [`bearer ${token}`, `BEARER ${token}`, `Bearer   ${token}`]) {
      expect((await service.send('GET /auth/me', { headers: { authorization } })).status).toBe(200)
    }
  })

  test('a token is exact', async () => {
    const service = createTestService(configOf())
    const { token } = await service.register(ann)
    const changed = (token.startsWith('A') ? 'B' : 'A') + token.slice(1)
    for (const wrong of [changed, token.toLowerCase(), token.toUpperCase()]) {
      expect((await service.send('GET /auth/me', { token: wrong })).status).toBe(401)
    }
  })

  test('a token of a user of another storage is none', async () => {
    const { token } = await createTestService(configOf()).register(ann)
    expect((await createTestService(configOf()).send('GET /news', { token })).status).toBe(401)
  })
})

describe('any names work', () => {
  const names: Settings = {
    schema: {
      mobile: { type: 'string', unique: true, pattern: '^[0-9]+$' },
      pin: { type: 'hash', minLength: 4 },
      password: { type: 'string' },
    },
  }
  test('mobile and pin', async () => {
    const service = createTestService(configOf(names))
    const { status, body } = await register(service, { mobile: '123', pin: '0000' })
    expect(status).toBe(201)
    expect(body.user).toMatchObject({ mobile: '123' })
    expect((await login(service, { mobile: '123', pin: '0000' })).status).toBe(200)
    expect((await login(service, { mobile: '123', pin: '0001' })).status).toBe(401)
    expect(faultsOf(await login(service, { mobile: '123' }))).toEqual({ '/pin': 'required' })
  })

  const several = {
    email: { type: 'string', unique: true },
    nick: { type: 'string', unique: true },
    number: { type: 'integer', unique: true },
    password: { type: 'hash' },
    pin: { type: 'hash' },
  }
  test('auth names them where there are several', async () => {
    const service = createTestService(
      configOf({ schema: several, auth: { identifier: 'nick', secret: 'pin' } }),
    )
    expect((await register(service, { nick: 'ann', pin: 'secret' })).status).toBe(201)
    expect((await login(service, { nick: 'ann', pin: 'secret' })).status).toBe(200)
  })

  const { email, nick, password, pin, number } = several
  const text = { type: 'string' }
  test.each<[string, object, object, string[]]>([
    ['several of both', several, {}, ['/auth/identifier', '/auth/secret']],
    ['several identifiers', { email, nick, password }, {}, ['/auth/identifier']],
    ['several secrets', { email, password, pin }, {}, ['/auth/secret']],
    ['no identifier', { email: text, number, password }, {}, ['/auth/identifier']],
    ['no secret, though the identifier is named', { email }, { identifier: 'email' }, ['/auth/secret']],
    [
      'neither, though the secret is named',
      { email: text },
      { secret: 'password' },
      ['/auth/identifier', '/auth/secret'],
    ],
    [
      'an identifier that is not unique',
      { email, nick: text, password },
      { identifier: 'nick' },
      ['/auth/identifier'],
    ],
    [
      'an identifier that is no string',
      { email, number, password },
      { identifier: 'number' },
      ['/auth/identifier'],
    ],
    ['a secret that is no hash', { email, password }, { secret: 'email' }, ['/auth/secret']],
    ['a misspelt one', { email, password }, { identifier: 'emial' }, ['/auth/identifier']],
  ])('%s is a fault of the configuration', (_, own, auth, paths) => {
    const attempt = () => createTestService(configOf({ schema: own, auth }))
    expect(attempt).toThrow(ConfigError)
    try {
      attempt()
    } catch (thrown) {
      expect((thrown as ConfigError).faults.map(({ path }) => path).sort()).toEqual(paths)
    }
  })

  test('an auth that names a field without a collection of users is a fault', () => {
    expect(() => createTestService({ collections: {}, auth: { identifier: 'email' } })).toThrow(ConfigError)
  })
})

describe('no accounts', () => {
  const AUTH = ['POST /auth/register', 'POST /auth/login', 'POST /auth/logout', 'GET /auth/me']
  test.each<[string, AnyConfig]>([
    ['users without a hash field', configOf({ schema: { email: { type: 'string', unique: true } } })],
    ['no users', { collections: { news: { schema: {}, permissions: { '*': { read: true } } } } }],
  ])('%s: there are no routes, and the header is ignored', async (_, config) => {
    const service = createTestService(config)
    for (const line of AUTH) expect((await service.send(line)).status).toBe(404)
    const headers = { authorization: 'Bearer nonsense' }
    expect((await service.send('GET /news', { headers })).status).toBe(200)
  })
})

describe('own accounts: authenticate', () => {
  const config = configOf({ permissions: { '*': { create: true }, user: { read: true } } })
  /** Knows a caller by a header, as hosts know theirs by a cookie. */
  const authenticate = (request: Request): Caller | null => {
    const id = request.headers.get('x-user')
    return id === null ? null : { id, roles: ['editor'] }
  }
  const asHost = (id: string) => ({ headers: { 'x-user': id } })

  test('it says who calls, from the whole request', async () => {
    const seen: string[] = []
    const service = createTestService(config, {
      authenticate: (request) => {
        seen.push(`${request.method} ${request.url}`)
        return authenticate(request)
      },
    })
    expect((await service.send('POST /notes?', { body: { text: 'x' } })).status).toBe(401)
    const { body } = await service.send('POST /notes', { body: { text: 'x' }, ...asHost('ann') })
    expect(body.createdBy).toBe('ann')
    expect(await service.list('/notes', 'text', asHost('ann'))).toEqual(['x'])
    expect(await service.list('/notes', 'text', asHost('bob'))).toEqual([])
    expect(seen).toContain('GET http://service.test/notes')
  })

  test('it may answer later', async () => {
    const service = createTestService(config, { authenticate: async (request) => authenticate(request) })
    expect((await service.send('GET /users', asHost('ann'))).status).toBe(200)
    expect((await service.send('GET /users')).status).toBe(401)
  })

  test('there are no /auth routes, and a Bearer token is the affair of the host', async () => {
    const service = createTestService(config, { authenticate })
    for (const line of ['POST /auth/register', 'POST /auth/login', 'POST /auth/logout', 'GET /auth/me']) {
      expect((await service.send(line, { body: line.startsWith('POST') ? ann : undefined })).status).toBe(404)
    }
    expect((await service.send('GET /news', { token: 'of-the-host' })).status).toBe(200)
  })

  test('a user document has the creator that any other has', async () => {
    const service = createTestService(config, { authenticate })
    const { body } = await service.send('POST /users', { body: ann, ...asHost('boss') })
    const { body: read } = await service.send(`GET /users/${body._id}`, asHost('x'))
    expect(read.createdBy).toBe('boss')
  })

  test('a closed registration does not concern it', async () => {
    const closed = configOf({ permissions: { '*': { create: true } }, auth: { register: false } })
    const service = createTestService(closed, { authenticate })
    expect((await service.send('POST /users', { body: ann })).status).toBe(201)
  })

  const faulty: [string, () => unknown][] = [
    ['it throws', () => unreachable()],
    [
      'it throws nothing',
      () => {
        throw undefined
      },
    ],
    ['it rejects', async () => unreachable()],
    [
      'it throws an error of this library',
      () => {
        throw new ServiceError('not_found', 'secret detail')
      },
    ],
    ['undefined', () => undefined],
    ['false', () => false],
    ['text', () => 'ann'],
    ['a list', () => ['ann']],
    ['a caller without an id', () => ({ roles: ['admin'] })],
    ['an id that is a number', () => ({ id: 1 })],
    ['an id that is null', () => ({ id: null })],
    ['roles that are text', () => ({ id: 'ann', roles: 'admin' })],
    ['roles that are no texts', () => ({ id: 'ann', roles: [1] })],
    [
      'a caller that cannot be read',
      () => ({
        get id() {
          return unreachable()
        },
      }),
    ],
  ]
  test.each(faulty)('a fault in it is a 500 and makes nobody anonymous: %s', async (_, broken) => {
    const service = createTestService(config, { authenticate: broken as () => Caller })
    for (const line of ['GET /news', 'GET /users', 'GET /nowhere', 'POST /users']) {
      const answer = await service.send(line, { mayFail: true })
      expect(outcomeOf(answer), line).toEqual(
        line === 'GET /nowhere' ? [404, 'not_found'] : [500, 'internal_error'],
      )
      expect(answer.text).not.toMatch(/was asked|secret detail/)
    }
    expect(service.logged).toHaveLength(3)
  })

  test.each<[string, string | undefined, number]>([
    ['application/json', 'application/json', 201],
    ['with a charset', 'application/json; charset=utf-8', 201],
    ['another JSON type', 'application/vnd.api+json', 201],
    ['text/plain, which a form of another page can send', 'text/plain', 415],
    ['none', undefined, 415],
    ['a form', 'application/x-www-form-urlencoded', 415],
  ])('only the JSON types are accepted: %s', async (_, type, status) => {
    const service = createTestService(config, { authenticate })
    const raw = new TextEncoder().encode(JSON.stringify(ann))
    const headers: { [name: string]: string } = type === undefined ? {} : { 'content-type': type }
    expect((await service.send('POST /users', { raw, headers })).status).toBe(status)
  })
})

describe('own accounts beside those of the service: accounts: true', () => {
  const config = configOf({ permissions: { user: { read: true } } })
  const asked: (string | null)[] = []
  const service = createTestService(config, {
    accounts: true,
    authenticate: (request) => {
      const header = request.headers.get('authorization')
      asked.push(header)
      return request.headers.has('x-user') || header === 'Basic abc' ? { id: 'host' } : null
    },
  })

  test('a Bearer token is the own one of the service, and everything else goes to authenticate', async () => {
    const { token, id } = await service.register(ann)
    asked.length = 0
    expect((await service.send('GET /auth/me', { token })).body._id).toBe(id)
    expect((await service.send('GET /auth/me', { token: 'nonsense' })).status).toBe(401)
    expect(
      (await service.send('GET /auth/me', { headers: { authorization: 'Bearer', 'x-user': 'a' } })).status,
    ).toBe(401)
    expect(asked).toEqual([])
    expect((await service.send('GET /users', { headers: { authorization: 'Basic abc' } })).status).toBe(200)
    expect((await service.send('GET /users', { headers: { 'x-user': 'a' } })).status).toBe(200)
    expect((await service.send('GET /users')).status).toBe(401)
    expect(asked).toEqual(['Basic abc', null, null])
  })

  test('a caller of the host has no session of the service', async () => {
    for (const line of ['GET /auth/me', 'POST /auth/logout']) {
      expect((await service.send(line, { headers: { 'x-user': 'a' } })).status).toBe(401)
    }
  })

  test('without authenticate it changes nothing', async () => {
    const plain = createTestService(config, { accounts: true })
    const { token } = await plain.register(ann)
    expect((await plain.send('GET /users', { token })).status).toBe(200)
  })
})

describe('a handler for a caller on the word of the host: as()', () => {
  const config = configOf({ permissions: { user: { read: true }, admin: { create: true } } })
  const service = createTestService(config)

  test('it ignores Authorization and has no /auth routes', async () => {
    const headers = { authorization: 'Bearer nonsense' }
    expect((await service.send('GET /users', { caller: { id: 'ann' }, headers })).status).toBe(200)
    expect((await service.send('GET /news', { caller: null, headers })).status).toBe(200)
    const { token } = await service.register(ann)
    expect((await service.send('GET /users', { caller: null, token })).status).toBe(401)
    for (const line of ['GET /auth/me', 'POST /auth/register', 'POST /auth/login', 'POST /auth/logout']) {
      expect((await service.send(line, { caller: { id: 'ann' }, token })).status).toBe(404)
    }
  })

  test('handlers do not disturb each other, and share the storage', async () => {
    const note = { text: 'of bob' }
    expect((await service.send('POST /notes', { body: note, caller: { id: 'bob' } })).status).toBe(201)
    const [bob, eve] = [service.handler.as({ id: 'bob' }), service.handler.as({ id: 'eve' })]
    const count = async (handler: typeof bob) =>
      (await (await handler(new Request('http://x/notes/count'))).json()).total
    expect(
      await Promise.all([count(bob), count(eve), count(bob.as({ id: 'eve' })), count(eve.as({ id: 'bob' }))]),
    ).toEqual([1, 0, 0, 1])
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['text', 'ann'],
    ['no id', { roles: ['admin'] }],
    ['an id that is a number', { id: 7 }],
    ['roles that are no list', { id: 'ann', roles: 'admin' }],
  ])('a caller that is none is a 500: %s', async (_, caller) => {
    const response = await service.handler.as(caller as Caller)(new Request('http://x/news'))
    expect(response.status).toBe(500)
  })

  test('authenticate is not asked', async () => {
    const asked = createTestService(config, { authenticate: unreachable })
    expect((await asked.send('GET /users', { caller: { id: 'ann' } })).status).toBe(200)
  })
})

describe('secrets', () => {
  test('what the hasher gets and gives stays inside', async () => {
    const { adapter, written } = watchWrites()
    const service = createTestService(configOf({ permissions: { '*': { read: true } } }), {
      adapter,
      hasher: {
        hash: async (secret) => `hashed<${secret}>`,
        verify: async (secret, hash) => hash === `hashed<${secret}>`,
      },
    })
    await service.register(ann)
    expect(written.join()).toContain('hashed<secret>')
    expect((await login(service, ann)).status).toBe(200)
    expect((await login(service, { ...ann, password: 'wrong' })).status).toBe(401)
    expect((await service.send('GET /users')).text).not.toContain('hashed')
  })
})
