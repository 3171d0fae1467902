import { describe, expect, test } from 'vitest'
import { type Caller, ConfigError } from '../../src/index.js'
import { type AnyConfig, createTestService, faultsOf, type TestService } from '../support/service.js'

const schema = {
  title: { type: 'string' },
  status: { type: 'string' },
  secret: { type: 'string' },
  views: { type: 'integer' },
}

type Permissions = { readonly [subject: string]: unknown }

const configOf = (permissions: Permissions, settings: object = {}): AnyConfig => ({
  collections: { items: { schema, permissions, ...settings } },
})

const ID = (n: number): string => `0189abcd-0000-7000-8000-${String(n).padStart(12, '0')}`

const documents = {
  items: [
    { _id: ID(1), title: 'public', status: 'published', secret: 's1', views: 1, createdBy: null },
    { _id: ID(2), title: 'own', status: 'draft', secret: 's2', views: 2, createdBy: 'ann' },
    { _id: ID(3), title: 'own public', status: 'published', secret: 's3', views: 3, createdBy: 'ann' },
    { _id: ID(4), title: 'foreign', status: 'draft', secret: 's4', views: 4, createdBy: 'bob' },
  ],
}

const ALL = ['public', 'own', 'own public', 'foreign']

const serve = (permissions: Permissions, settings?: object): TestService =>
  createTestService(configOf(permissions, settings), { documents })

const ann: Caller = { id: 'ann' }
const as = (...roles: string[]): Caller => ({ id: 'eve', roles })

const titles = (service: TestService, caller: Caller | null): Promise<unknown[]> =>
  service.list('/items', 'title', { caller })

/** What a caller is answered to a request: the status and, of a fault, the code. */
async function outcome(
  service: TestService,
  line: string,
  caller: Caller | null,
  body?: unknown,
): Promise<unknown> {
  const sent = body === undefined ? { caller } : { caller, body }
  const answer = await service.send(line, sent)
  return answer.status < 400 ? answer.status : [answer.status, answer.body.code]
}

const UNAUTHENTICATED = [401, 'unauthenticated']
const FORBIDDEN = [403, 'forbidden']
const NOT_FOUND = [404, 'not_found']

function faultPaths(config: AnyConfig, production = false): readonly string[] {
  try {
    createTestService(config, { production })
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ConfigError)
    return (thrown as ConfigError).faults.map(({ path }) =>
      path.replace('/collections/items/permissions', ''),
    )
  }
  return []
}

describe('nothing is granted that is not written', () => {
  test.each<[string, Permissions | undefined]>([
    ['no permissions', undefined],
    ['empty permissions', {}],
    ['false', { '*': false, user: false, owner: false, editor: false }],
    ['an empty grant', { '*': {}, user: {}, editor: {} }],
    ['only what nobody here may use', { admin: true }],
  ])('%s', async (_, permissions) => {
    const config = { collections: { items: permissions ? { schema, permissions } : { schema } } }
    const service = createTestService(config, { documents })
    for (const line of ['GET /items', 'GET /items/count']) {
      expect(await outcome(service, line, null)).toEqual(UNAUTHENTICATED)
      expect(await outcome(service, line, as('editor'))).toEqual(FORBIDDEN)
    }
    expect(await outcome(service, 'POST /items', null, {})).toEqual(UNAUTHENTICATED)
    expect(await outcome(service, 'POST /items', as('editor'), {})).toEqual(FORBIDDEN)
    expect(await outcome(service, `GET /items/${ID(1)}`, null)).toEqual(UNAUTHENTICATED)
    expect(await outcome(service, `GET /items/${ID(1)}`, as('editor'))).toEqual(NOT_FOUND)
  })
})

describe('subjects', () => {
  test.each<[string, Permissions, Caller | null, readonly string[]]>([
    ['* is everyone', { '*': { read: true } }, null, ALL],
    ['* is everyone, signed in too', { '*': { read: true } }, ann, ALL],
    ['user is any signed-in caller', { user: { read: true } }, ann, ALL],
    ['owner is the creator of the document at hand', { owner: { read: true } }, ann, ['own', 'own public']],
    ['owner, to somebody who created nothing', { owner: { read: true } }, as(), []],
    [
      'owner, to a caller called null: nobody owns what nobody created',
      { owner: { read: true } },
      { id: 'null' },
      [],
    ],
    ['owner, to a caller without a name', { owner: { read: true } }, { id: '' }, []],
    ['any other key is a role', { editor: { read: true } }, as('editor'), ALL],
    ['one of several roles', { editor: { read: true } }, as('writer', 'editor'), ALL],
    ['a role with an odd name', { 'Chief Editor/1': { read: true } }, as('Chief Editor/1'), ALL],
    [
      'a role with the name of a property of every object',
      { constructor: { read: true } },
      as('constructor'),
      ALL,
    ],
  ])('%s', async (_, permissions, caller, expected) => {
    expect(await titles(serve(permissions), caller)).toEqual(expected)
  })

  test.each<[string, Permissions, Caller | null, unknown]>([
    ['user is nobody anonymous', { user: { read: true } }, null, UNAUTHENTICATED],
    ['owner is nobody anonymous', { owner: { read: true } }, null, UNAUTHENTICATED],
    ['a role that the caller lacks', { editor: { read: true } }, as('writer'), FORBIDDEN],
    ['roles are exact', { editor: { read: true } }, as('Editor', 'editor ', 'edit'), FORBIDDEN],
    [
      'no role of a name that every object has',
      { editor: { read: true } },
      as('toString', '__proto__'),
      FORBIDDEN,
    ],
  ])('%s', async (_, permissions, caller, expected) => {
    expect(await outcome(serve(permissions), 'GET /items', caller)).toEqual(expected)
  })

  test('*, user and owner as roles count for nothing', async () => {
    const pretender = as('*', 'user', 'owner')
    const service = serve({ '*': { create: false }, owner: { read: true }, user: { create: { pick: [] } } })
    expect(await titles(service, pretender)).toEqual([])
    // Not the deciding subject `*`, which refuses, but `user`.
    expect(await outcome(service, 'POST /items', pretender, {})).toBe(201)
    expect(
      await outcome(serve({ '*': { create: true }, user: { create: false } }), 'POST /items', as('*'), {}),
    ).toEqual(FORBIDDEN)
  })
})

describe('grants', () => {
  const body = { title: 'x', status: 'y', secret: 'z' }
  test.each<[string, unknown, { read: boolean; create: boolean }]>([
    ['true', true, { read: true, create: true }],
    ['false', false, { read: false, create: false }],
    ['{ read: true }', { read: true }, { read: true, create: false }],
    ['{ create: true }', { create: true }, { read: false, create: true }],
    ['{ read: true, create: false }', { read: true, create: false }, { read: true, create: false }],
    ['{ read: {}, create: {} }', { read: {}, create: {} }, { read: true, create: true }],
    ['{ update: true, delete: true }', { update: true, delete: true }, { read: false, create: false }],
    ['{ pick }', { pick: ['title'] }, { read: true, create: true }],
    ['{ omit }', { omit: ['title'] }, { read: true, create: true }],
  ])('%s', async (_, grant, { read, create }) => {
    for (const [subject, caller] of [
      ['*', null],
      ['user', ann],
      ['editor', as('editor')],
    ] as const) {
      const denied = caller === null ? UNAUTHENTICATED : FORBIDDEN
      const service = serve({ [subject]: grant })
      expect(await outcome(service, 'GET /items', caller)).toEqual(read ? 200 : denied)
      expect(await outcome(service, 'POST /items', caller, body)).toEqual(create ? 201 : denied)
    }
  })

  test('the plain form stands for reading all and creating with these properties', async () => {
    const service = serve({ '*': { pick: ['title', 'status'], omit: ['status'] } })
    const { body: created } = await service.send('POST /items', { body })
    expect(created).toMatchObject({ title: 'x' })
    expect(created).not.toHaveProperty('status')
    expect(created).not.toHaveProperty('secret')
    expect((await service.send(`GET /items/${ID(1)}`)).body).toMatchObject({
      status: 'published',
      secret: 's1',
      views: 1,
    })
  })

  test('true under owner reads own documents and creates nothing', async () => {
    const service = serve({ owner: true })
    expect(await titles(service, ann)).toEqual(['own', 'own public'])
    expect(await outcome(service, 'POST /items', ann, {})).toEqual(FORBIDDEN)
  })

  test.each<[string, Permissions, string[]]>([
    ['create under owner', { owner: { create: true } }, ['/owner/create']],
    ['a refused create under owner', { owner: { create: false } }, ['/owner/create']],
    ['the plain form under owner', { owner: { pick: ['title'] } }, ['/owner']],
    ['an unknown operation', { user: { list: true } }, ['/user/list']],
    ['text', { user: 'read' }, ['/user']],
    ['a list', { user: ['read'] }, ['/user']],
    ['null', { user: null }, ['/user']],
    ['an operation that is text', { user: { read: 'yes' } }, ['/user/read']],
    ['an unknown word in a rule', { user: { read: { only: ['title'] } } }, ['/user/read/only']],
    ['a subject without a name', { '': true }, ['/']],
    ['the plain form beside an operation', { user: { pick: ['title'], read: true } }, ['/user/read']],
  ])('%s is a fault of the configuration', (_, permissions, paths) => {
    expect(faultPaths(configOf(permissions))).toEqual(paths)
  })
})

describe('rules: pick and omit', () => {
  const fields = ['title', 'status', 'secret', 'views', 'createdAt', 'updatedAt', 'createdBy']
  test.each<[string, object, readonly string[]]>([
    ['pick shows only these', { pick: ['title', 'views'] }, ['title', 'views']],
    ['an empty pick shows none', { pick: [] }, []],
    [
      'omit shows all but these',
      { omit: ['secret', 'views'] },
      fields.filter((f) => f !== 'secret' && f !== 'views'),
    ],
    ['an empty omit shows all', { omit: [] }, fields],
    ['with both, pick comes first', { pick: ['title', 'secret'], omit: ['secret', 'views'] }, ['title']],
    ['a pick may name system fields', { pick: ['title', 'createdAt'] }, ['title', 'createdAt']],
    ['an omit may name system fields', { omit: ['createdAt', 'updatedAt', 'createdBy'] }, fields.slice(0, 4)],
    ['an _id in a pick is no fault', { pick: ['_id', 'title'] }, ['title']],
  ])('reading: %s, and _id always', async (_, rule, expected) => {
    const service = serve({ '*': { read: rule } })
    const [listed] = (await service.send('GET /items')).body
    const single = (await service.send(`GET /items/${ID(1)}`)).body
    expect(Object.keys(listed)).toEqual(['_id', ...expected])
    expect(single).toEqual(listed)
  })

  test.each<[string, object, object]>([
    ['pick keeps only these', { pick: ['title', 'views'] }, { title: 't', views: 1 }],
    ['an empty pick keeps none', { pick: [] }, {}],
    ['omit keeps all but these', { omit: ['secret'] }, { title: 't', status: 's', views: 1 }],
    ['with both, pick comes first', { pick: ['title', 'secret'], omit: ['secret'] }, { title: 't' }],
  ])('writing: %s, and drops the rest without a fault', async (_, rule, kept) => {
    const service = serve({ '*': { create: rule, read: true } })
    const body = { title: 't', status: 's', secret: 'x', views: 1 }
    const answer = await service.send('POST /items', { body })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      _id: expect.any(String),
      ...kept,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      createdBy: null,
    })
  })

  test('what is dropped is not judged, what is kept is', async () => {
    const service = serve({ '*': { create: { pick: ['title'] } } })
    expect(
      await outcome(service, 'POST /items', null, { title: 'x', views: 'many', nonsense: 1, _odd: 1 }),
    ).toBe(201)
    const omitting = serve({ '*': { create: { omit: ['views'] } } })
    const answer = await omitting.send('POST /items', { body: { title: 1, views: 'many', nonsense: 1 } })
    expect(answer.status).toBe(400)
    expect(Object.keys(faultsOf(answer)).sort()).toEqual(['/nonsense', '/title'])
  })

  test('with additionalProperties they may name undeclared ones', async () => {
    const settings = { additionalProperties: true }
    const service = serve({ '*': { create: { omit: ['bad'] }, read: { omit: ['hidden'] } } }, settings)
    const { body } = await service.send('POST /items', { body: { title: 't', good: 1, bad: 2, hidden: 3 } })
    expect(body).toMatchObject({ title: 't', good: 1 })
    expect(body).not.toHaveProperty('bad')
    expect(body).not.toHaveProperty('hidden')
    const picking = serve({ '*': { pick: ['title', 'good'] } }, settings)
    const picked = await picking.send('POST /items', { body: { title: 't', good: 1, bad: 2 } })
    expect(picked.body).toMatchObject({ title: 't', good: 1 })
    expect(picked.body).not.toHaveProperty('bad')
  })

  test('the answer shows what the writer may read of it, and always _id', async () => {
    const shown = async (permissions: Permissions, caller: Caller | null) => {
      const { status, body } = await serve(permissions).send('POST /items', {
        body: { title: 't', secret: 's' },
        caller,
      })
      expect(status).toBe(201)
      return body
    }
    const only = { _id: expect.any(String) }
    expect(await shown({ '*': { create: true } }, null)).toEqual(only)
    expect(await shown({ '*': { create: true, read: { pick: ['title'] } } }, null)).toEqual({
      ...only,
      title: 't',
    })
    expect(await shown({ '*': { create: true, read: { where: { title: 'other' } } } }, null)).toEqual(only)
    expect(await shown({ user: { create: true }, owner: { read: { pick: ['secret'] } } }, ann)).toEqual({
      ...only,
      secret: 's',
    })
  })

  test.each<[string, Permissions, string[]]>([
    ['a name that no field has', { user: { read: { pick: ['title', 'titel'] } } }, ['/user/read/pick/1']],
    ['the same in the plain form', { user: { omit: ['nonsense'] } }, ['/user/omit/0']],
    ['a dotted name', { user: { read: { omit: ['title.x'] } } }, ['/user/read/omit/0']],
    ['_id in an omit', { user: { read: { omit: ['_id'] } } }, ['/user/read/omit/0']],
    ['_id in a pick of a write', { user: { create: { pick: ['_id'] } } }, ['/user/create/pick/0']],
    [
      'a system field in a write rule',
      { user: { update: { omit: ['createdBy'] } } },
      ['/user/update/omit/0'],
    ],
    ['a system field in the plain form', { user: { pick: ['createdAt'] } }, ['/user/pick/0']],
    ['a name twice', { user: { read: { pick: ['title', 'title'] } } }, ['/user/read/pick']],
    ['pick on delete', { user: { delete: { pick: ['title'] } } }, ['/user/delete/pick']],
    ['where on create', { user: { create: { where: {} } } }, ['/user/create/where']],
  ])('%s is a fault of the configuration', (_, permissions, paths) => {
    expect(faultPaths(configOf(permissions))).toEqual(paths)
  })

  test('a hash in the pick of a read rule is a fault, in its omit and in a write rule it is none', () => {
    const withHash = (permissions: Permissions): AnyConfig => ({
      collections: { items: { schema: { ...schema, pin: { type: 'hash' } }, permissions } },
    })
    expect(faultPaths(withHash({ user: { read: { pick: ['pin'] } } }))).toEqual(['/user/read/pick/0'])
    expect(faultPaths(withHash({ user: { read: { omit: ['pin'] }, create: { pick: ['pin'] } } }))).toEqual([])
  })
})

describe('rules: where', () => {
  test.each<[object, readonly string[]]>([
    [{}, ALL],
    [{ status: 'published' }, ['public', 'own public']],
    [{ status: { $ne: 'published' } }, ['own', 'foreign']],
    [{ status: 'draft', views: { $gt: 2 } }, ['foreign']],
    [{ views: { $gte: 2, $lt: 4 } }, ['own', 'own public']],
    [{ title: { $in: ['own', 'foreign'] } }, ['own', 'foreign']],
    [{ title: { $nin: ['own', 'foreign'] } }, ['public', 'own public']],
    [{ title: { $regex: 'PUBLIC', $options: 'i' } }, ['public', 'own public']],
    [{ title: { $regex: '^own' } }, ['own', 'own public']],
    [{ createdBy: null }, ['public']],
    [{ createdBy: 'bob' }, ['foreign']],
    [{ secret: 's4' }, ['foreign']],
    [{ views: null }, []],
    [{ views: { $exists: true } }, ALL],
    [{ createdAt: { $gt: '2999-01-01' } }, []],
  ])('only the documents that match %j are there', async (where, expected) => {
    const service = serve({ '*': { read: { where, omit: ['secret'] } } })
    expect(await titles(service, null)).toEqual(expected)
    expect((await service.send('GET /items/count')).body).toEqual({ total: expected.length })
    for (const { _id, title } of documents.items) {
      expect(await outcome(service, `GET /items/${_id}`, null)).toEqual(
        expected.includes(title) ? 200 : NOT_FOUND,
      )
    }
  })

  test('it is compared in normalised form, into objects and arrays', async () => {
    const service = createTestService(
      {
        collections: {
          items: {
            schema: {
              email: { type: 'string', trim: true, lowercase: true },
              at: { type: 'timestamp' },
              address: { type: 'object', properties: { city: { type: 'string' } } },
              tags: { type: 'array', items: { type: 'string' } },
            },
            permissions: {
              '*': {
                read: { where: { email: ' ANN@x.org', at: '2026-01-01', 'address.city': 'Oslo', tags: 'a' } },
              },
            },
          },
        },
      },
      {
        documents: {
          items: [
            { email: 'ann@x.org', at: '2026-01-01', address: { city: 'Oslo' }, tags: ['a', 'b'] },
            { email: 'ann@x.org', at: '2026-01-01', address: { city: 'Oslo' }, tags: ['b'] },
          ],
        },
      },
    )
    expect(await service.list('/items', 'tags')).toEqual([['a', 'b']])
  })

  test.each<[string, unknown, string]>([
    ['an unknown field', { titel: 'x' }, '/titel'],
    ['a value that the field can never hold', { views: 'many' }, '/views'],
    ['an array without $in', { title: ['x'] }, '/title'],
    ['no operator', { title: {} }, '/title'],
    ['an unknown operator', { title: { $like: 'x' } }, '/title/$like'],
    ['an order of nothing', { views: { $gt: null } }, '/views/$gt'],
    ['a pattern outside the portable core', { title: { $regex: '(?=a)' } }, '/title/$regex'],
    ['options without a pattern', { title: { $options: 'i', $eq: 'a' } }, '/title/$options'],
    ['options other than i', { title: { $regex: 'a', $options: 'g' } }, '/title/$options'],
    ['a hash', { pin: 'x' }, '/pin'],
    ['an undeclared property', { extra: 1 }, '/extra'],
  ])('%s is a fault of the configuration', (_, where, path) => {
    const config = {
      collections: {
        items: {
          schema: { ...schema, pin: { type: 'hash' } },
          additionalProperties: true,
          permissions: { user: { read: { where } } },
        },
      },
    }
    expect(faultPaths(config)).toEqual([`/user/read/where${path}`])
  })

  test.each(['read', 'update', 'delete'])('it is checked under %s', (operation) => {
    const permissions = { user: { [operation]: { where: { titel: 1 } } } }
    expect(faultPaths(configOf(permissions))).toEqual([`/user/${operation}/where/titel`])
  })
})

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

  test('no list of roles is taken for another, whoever asked before', async () => {
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
    ['an _id of another case', service, `/items/${ID(1).toUpperCase()}`, null, NOT_FOUND],
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
