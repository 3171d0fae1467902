import { describe, expect, test } from 'vitest'
import { type Caller, ConfigError, ServiceError } from '../../src/index.js'
import { type AnyConfig, createTestService, faultsOf } from '../support/service.js'
import { ann, configOf, login, outcomeOf, register, type Settings } from './support/accounts.js'

const unreachable = (): never => {
  throw new Error('was asked')
}

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
