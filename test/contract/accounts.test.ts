import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { createTestService, faultsOf } from '../support/service.js'
import { ann, configOf, login, outcomeOf, register, watchWrites } from './support/accounts.js'

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
    const schema = { email: { type: 'string', unique: true, default: 'ann' }, password: { type: 'hash' } }
    const own = createTestService({ collections: { users: { schema, permissions: {} } } })
    expect(faultsOf(await register(own, { password: 'secret' }))).toEqual({ '/email': 'required' })
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
  test('signing in stays open, and who may create users still does', async () => {
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
    expect(Object.keys(body.user)).toEqual(expected)
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
