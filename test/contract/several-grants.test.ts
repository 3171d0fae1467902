import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { type AnyConfig, createTestService, type TestService } from '../support/service.js'
import {
  ALL,
  ann,
  as,
  configOf,
  FORBIDDEN,
  faultPaths,
  ID,
  NOT_FOUND,
  outcome,
  type Permissions,
  schema,
  serve,
  titles,
  UNAUTHENTICATED,
} from './support/permissions.js'

describe('reading adds up', () => {
  const permissions = {
    '*': { read: { where: { status: 'published' }, pick: ['title', 'status'] } },
    user: { read: { where: { status: 'published' }, pick: ['views'] } },
    owner: { read: { pick: ['title', 'secret'] } },
    editor: { read: { pick: ['title', 'createdBy'] } },
    critic: { read: { where: { views: { $gte: 4 } }, pick: ['secret'] } },
  }
  const service = serve(permissions)
  const shown = async (caller: Caller | null): Promise<{ [id: string]: object }> => {
    const { body } = await service.send('GET /items', { caller })
    for (const document of body) {
      expect((await service.send(`GET /items/${document._id}`, { caller })).body).toEqual(document)
    }
    return Object.fromEntries(body.map(({ _id, ...rest }: { _id: string }) => [Number(_id.slice(-2)), rest]))
  }

  test.each<[string, Caller | null, object]>([
    [
      'nobody',
      null,
      { 1: { title: 'public', status: 'published' }, 3: { title: 'own public', status: 'published' } },
    ],
    [
      'a user',
      as(),
      {
        1: { title: 'public', status: 'published', views: 1 },
        3: { title: 'own public', status: 'published', views: 3 },
      },
    ],
    [
      'an owner',
      ann,
      {
        1: { title: 'public', status: 'published', views: 1 },
        2: { title: 'own', secret: 's2' },
        3: { title: 'own public', status: 'published', secret: 's3', views: 3 },
      },
    ],
    [
      'several roles',
      as('critic', 'editor'),
      {
        1: { title: 'public', status: 'published', views: 1, createdBy: null },
        2: { title: 'own', createdBy: 'ann' },
        3: { title: 'own public', status: 'published', views: 3, createdBy: 'ann' },
        4: { title: 'foreign', secret: 's4', createdBy: 'bob' },
      },
    ],
  ])('to %s', async (_, caller, expected) => {
    expect(await shown(caller)).toEqual(expected)
  })

  test('a refusal takes nothing away that another grant gives', async () => {
    const refusing = serve({
      '*': { read: true },
      user: { read: false },
      editor: false,
      owner: { read: false },
    })
    expect(await titles(refusing, { id: 'ann', roles: ['editor'] })).toEqual(ALL)
  })

  test('no list of roles is taken for another, whichever came first', async () => {
    const odd = serve({
      a: { read: { pick: ['title'] } },
      b: { read: { pick: ['views'] } },
      'a\nb': { read: true },
      'a,b': { read: { pick: ['status'] } },
    })
    const fields = async (...roles: string[]) => {
      const { body } = await odd.send(`GET /items/${ID(1)}`, { caller: as(...roles) })
      return Object.keys(body)
    }
    expect(await fields('a\nb')).toContain('secret')
    expect(await fields('a,b')).toEqual(['_id', 'status'])
    expect(await fields('a', 'b')).toEqual(['_id', 'title', 'views'])
    expect(await fields('b', 'a')).toEqual(['_id', 'title', 'views'])
    expect(await fields('a')).toEqual(['_id', 'title'])
  })

  test('hidden fields are absent, never null', async () => {
    const { text } = await service.send('GET /items')
    expect(text).not.toMatch(/null|views|secret|createdBy/)
  })
})

describe('writing: the most specific subject that mentions the operation decides', () => {
  const body = { title: 't', status: 's' }
  const written = async (permissions: Permissions, caller: Caller | null, sent: object = body) => {
    const service = serve({ ...permissions, reader: { read: true } })
    const answer = await service.send('POST /items', { body: sent, caller })
    if (answer.status !== 201) return [answer.status, answer.body.code]
    const read = await service.send(`GET /items/${answer.body._id}`, { caller: as('reader') })
    const { _id, createdAt, updatedAt, createdBy, ...rest } = read.body
    return rest
  }

  test.each<[string, Permissions, Caller | null, unknown]>([
    [
      'a role before user and *',
      { '*': { create: true }, user: { create: true }, editor: { create: { pick: ['status'] } } },
      as('editor'),
      { status: 's' },
    ],
    ['user before *', { '*': { create: true }, user: { create: { pick: ['title'] } } }, ann, { title: 't' }],
    [
      '* for a user whom nothing else mentions',
      { '*': { create: { pick: ['title'] } }, user: { read: true } },
      ann,
      { title: 't' },
    ],
    [
      'user where the role mentions other operations only',
      { user: { create: { pick: ['title'] } }, editor: { read: true } },
      as('editor'),
      { title: 't' },
    ],
    [
      '* for nobody in particular',
      { '*': { create: { pick: ['title'] } }, user: { create: true } },
      null,
      { title: 't' },
    ],
    [
      'a role that refuses, against user that grants',
      { user: { create: true }, editor: { create: false } },
      as('editor'),
      FORBIDDEN,
    ],
    [
      'a role that is false, against user that grants',
      { user: true, editor: false },
      as('editor'),
      FORBIDDEN,
    ],
    [
      'user that refuses, against * that grants',
      { '*': { create: true }, user: { create: false } },
      ann,
      FORBIDDEN,
    ],
    [
      'one role that refuses and one that grants',
      { editor: { create: false }, writer: { create: { pick: ['title'] } } },
      as('editor', 'writer'),
      { title: 't' },
    ],
    [
      'a role of another, which decides nothing',
      { user: { create: { pick: ['title'] } }, editor: { create: false } },
      as('writer'),
      { title: 't' },
    ],
    ['owner never creates', { owner: true }, ann, FORBIDDEN],
  ])('%s', async (_, permissions, caller, expected) => {
    expect(await written(permissions, caller)).toEqual(expected)
  })

  const two = { editor: { create: { pick: ['title'] } }, writer: { create: { pick: ['status'] } } }
  const three = { ...two, chief: { create: { pick: ['title', 'status'] } } }
  test.each<[string, Permissions, string[], object, unknown]>([
    ['the first role in the order of the configuration', two, ['writer', 'editor'], body, { title: 't' }],
    ['a rule that drops nothing goes first', two, ['editor', 'writer'], { status: 's' }, { status: 's' }],
    [
      'a later rule that drops nothing goes first',
      three,
      ['editor', 'writer', 'chief'],
      body,
      { title: 't', status: 's' },
    ],
    ['never a mixture', two, ['editor', 'writer'], { ...body, views: 1 }, { title: 't' }],
    [
      'system fields do not count as dropped',
      two,
      ['editor', 'writer'],
      { title: 't', _id: 1, createdBy: 'x' },
      { title: 't' },
    ],
    [
      'undeclared ones do',
      { editor: { create: { pick: ['title'] } }, writer: { create: { omit: ['status'] } } },
      ['editor', 'writer'],
      { title: 't', nonsense: 1 },
      [400, 'validation_failed'],
    ],
    [
      'faults of the first rule tried are the answer',
      three,
      ['editor', 'writer', 'chief'],
      { title: 't', status: 1 },
      [400, 'validation_failed'],
    ],
  ])('several roles: %s', async (_, permissions, roles, sent, expected) => {
    expect(await written(permissions, as(...roles), sent)).toEqual(expected)
  })
})

describe('the role field', () => {
  const usersConfig = (permissions: Permissions, users: object = {}): AnyConfig => ({
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true, required: true },
          password: { type: 'hash', required: true },
          name: { type: 'string' },
          role: { type: 'string' },
        },
        permissions: { reader: { read: true }, ...permissions },
        ...users,
      },
    },
    auth: { roleField: 'role' },
  })
  const body = { email: 'new@x.org', password: 'secret', name: 'n', role: 'admin' }

  test.each<[string, Permissions, Caller | null, string | undefined]>([
    [
      'a pick that names it',
      { editor: { create: { pick: ['email', 'password', 'role'] } } },
      as('editor'),
      'admin',
    ],
    [
      'a pick of user that names it',
      { user: { create: { pick: ['email', 'password', 'role'] } } },
      ann,
      'admin',
    ],
    [
      'the plain form that names it',
      { editor: { pick: ['email', 'password', 'role'] } },
      as('editor'),
      'admin',
    ],
    ['a role whose whole grant is true', { editor: true }, as('editor'), 'admin'],
    ['a role with true for the operation only', { editor: { create: true } }, as('editor'), undefined],
    ['a role that only omits others', { editor: { create: { omit: ['name'] } } }, as('editor'), undefined],
    ['the plain form that only omits others', { editor: { omit: ['name'] } }, as('editor'), undefined],
    ['true of *', { '*': true }, null, undefined],
    ['true of * for a user', { '*': true }, ann, undefined],
    ['true of user', { user: true }, ann, undefined],
    [
      'a pick that names it and an omit that takes it away',
      { editor: { create: { pick: ['email', 'password', 'role'], omit: ['role'] } } },
      as('editor'),
      undefined,
    ],
  ])('%s', async (_, permissions, caller, expected) => {
    const service = createTestService(usersConfig(permissions))
    const answer = await service.send('POST /users', { body, caller })
    expect(answer.status, answer.text).toBe(201)
    const read = await service.send(`GET /users/${answer.body._id}`, { caller: as('reader') })
    expect(read.body.role).toBe(expected)
  })

  test('what it holds is the role of the signed-in user', async () => {
    const service = createTestService(usersConfig({ user: { read: { pick: [] } }, admin: true }))
    const { token } = await service.register({ email: 'a@x.org', password: 'secret' })
    expect(Object.keys((await service.send('GET /users', { token })).body[0])).toEqual(['_id'])
    await service.send('POST /users', { body: { ...body, email: 'boss@x.org' }, caller: as('admin') })
    const boss = await service.send('POST /auth/login', { body: { email: 'boss@x.org', password: 'secret' } })
    const { body: seen } = await service.send('GET /users', { token: boss.body.token })
    expect(seen.map(({ email }: { email: string }) => email)).toEqual(['a@x.org', 'boss@x.org'])
  })

  test.each(['*', 'user', 'owner'])('a user whose role is %s has none', async (role) => {
    const service = createTestService(
      usersConfig({ '*': { create: false }, user: { create: false }, owner: { read: true }, admin: true }),
    )
    await service.send('POST /users', { body: { ...body, role }, caller: as('admin') })
    await service.send('POST /users', { body: { ...body, email: 'other@x.org' }, caller: as('admin') })
    const login = await service.send('POST /auth/login', { body: { email: body.email, password: 'secret' } })
    expect(await service.list('/users', 'email', { token: login.body.token })).toEqual([body.email])
  })

  test('without auth.roleField nobody has a role of their own', async () => {
    const { collections } = usersConfig({ admin: { read: true } }) as { collections: object }
    const service = createTestService({ collections }, { documents: { users: [body] } })
    const login = await service.send('POST /auth/login', { body: { email: body.email, password: 'secret' } })
    const answer = await service.send('GET /users', { token: login.body.token })
    expect(answer.status).toBe(403)
  })

  test.each<[string, object, object]>([
    ['a field that users do not have', { roleField: 'rôle' }, {}],
    ['a hash', { roleField: 'password' }, {}],
    ['a number', { roleField: 'level' }, { level: { type: 'integer' } }],
  ])('%s is a fault of the configuration', (_, auth, more) => {
    const schemaOfUsers = { email: { type: 'string', unique: true }, password: { type: 'hash' }, ...more }
    expect(faultPaths({ collections: { users: { schema: schemaOfUsers } }, auth })).toEqual([
      '/auth/roleField',
    ])
  })
})

describe('denied', () => {
  const service = serve({
    '*': { read: { where: { status: 'published' } } },
    owner: { read: true },
    editor: { read: true, create: true },
  })
  const closed = serve({ owner: { read: true } })
  const none = serve({ admin: true })
  const [shown, hidden, missing] = [`/items/${ID(1)}`, `/items/${ID(4)}`, `/items/${ID(99)}`]

  test.each<[string, TestService, string, Caller | null, unknown]>([
    ['a readable document', service, shown, null, 200],
    ['one outside the where', service, hidden, null, NOT_FOUND],
    ['one that does not exist', service, missing, null, NOT_FOUND],
    ['an _id that is none', service, '/items/1', null, NOT_FOUND],
    ['an _id of another case', service, `/items/${ID(4).toUpperCase()}`, null, NOT_FOUND],
    ['a readable one of another case', service, `/items/${ID(1).toUpperCase()}`, null, 200],
    ['one of somebody else', closed, hidden, ann, NOT_FOUND],
    ['an own one', closed, `/items/${ID(2)}`, ann, 200],
    ['nobody signed in, whom * does not let read: one that exists', closed, shown, null, UNAUTHENTICATED],
    ['one that does not exist', closed, missing, null, UNAUTHENTICATED],
    ['an _id that is none', closed, '/items/1', null, UNAUTHENTICATED],
    ['a caller whom no rule lets read: one that exists', none, shown, ann, NOT_FOUND],
    ['one that does not exist', none, missing, ann, NOT_FOUND],
  ])('a document: %s', async (_, target, path, caller, expected) => {
    expect(await outcome(target, `GET ${path}`, caller)).toEqual(expected)
    expect((await target.send(`HEAD ${path}`, { caller })).status).toBe(
      Array.isArray(expected) ? expected[0] : expected,
    )
  })

  test('a document that is hidden and one that is missing get the same answer', async () => {
    const answer = async (path: string) => {
      const { body, status, headers } = await service.send(`GET ${path}`)
      const { requestId, ...rest } = body
      expect(requestId).toEqual(expect.any(String))
      return { status, rest, headers: [...headers].sort() }
    }
    expect(await answer(hidden)).toEqual(await answer(missing))
  })

  test('a collection: 401 when nobody is signed in, else 403', async () => {
    for (const line of ['GET /items', 'GET /items/count', 'POST /items']) {
      expect(await outcome(none, line, null)).toEqual(UNAUTHENTICATED)
      expect(await outcome(none, line, ann)).toEqual(FORBIDDEN)
    }
  })

  test('a signed-in caller of whom nothing is known may still read own documents: none is an empty list', async () => {
    expect(await outcome(closed, 'GET /items', as())).toBe(200)
    expect(await titles(closed, as())).toEqual([])
  })
})

describe('everything for everyone', () => {
  const open: [string, unknown][] = [
    ['true', true],
    ['four operations', { create: true, read: true, update: true, delete: true }],
    ['empty rules', { create: {}, read: {}, update: {}, delete: {} }],
    [
      'rules that exclude nothing',
      { create: { omit: [] }, read: { omit: [], where: {} }, update: { where: {} }, delete: { where: {} } },
    ],
  ]
  test.each(open)('is a warning at start, and a fault in production: %s', (_, grant) => {
    const config = configOf({ '*': grant })
    const { logged } = createTestService(config)
    expect(logged).toHaveLength(1)
    expect(faultPaths(config, true)).toEqual(['/*'])
  })

  test.each<[string, unknown]>([
    ['one operation less', { create: true, read: true, update: true }],
    ['one refused', { create: true, read: true, update: true, delete: false }],
    ['a condition', { create: true, read: true, update: true, delete: { where: { status: 'draft' } } }],
    ['a pick', { create: { pick: ['title'] }, read: true, update: true, delete: true }],
    ['the plain form', { omit: [] }],
  ])('anything less is neither: %s', (_, grant) => {
    const config = configOf({ '*': grant, user: true, editor: true })
    expect(createTestService(config).logged).toEqual([])
    expect(faultPaths(config, true)).toEqual([])
  })

  test('every open collection is named', () => {
    const closed = { schema, permissions: { user: true } }
    const openOne = { schema, permissions: { '*': true } }
    const config = { collections: { a: openOne, b: closed, c: openOne } }
    expect(faultPaths(config, true)).toEqual(['/collections/a/permissions/*', '/collections/c/permissions/*'])
    expect(createTestService(config).logged).toHaveLength(2)
  })

  test.each<[string, string]>([
    ['*', 'pick'],
    ['*', 'omit'],
    ['user', 'pick'],
  ])('the plain form on users shows every account, and is a warning: %s, %s', (subject, word) => {
    const users = {
      schema: {
        email: { type: 'string', unique: true, lowercase: true },
        password: { type: 'hash' },
        name: { type: 'string' },
      },
      permissions: { [subject]: { [word]: ['name'] } },
    }
    expect(createTestService({ collections: { users } }).logged).toHaveLength(1)
    expect(createTestService({ collections: { members: users } }).logged).toEqual([])
  })
})
