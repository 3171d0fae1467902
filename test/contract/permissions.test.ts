import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { type AnyConfig, createTestService, faultsOf } from '../support/service.js'
import {
  ALL,
  ann,
  as,
  configOf,
  documents,
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
