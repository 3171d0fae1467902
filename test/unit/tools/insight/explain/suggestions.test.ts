import { expect, test } from 'vitest'
import { explainRequest, explainWith } from '../../../../../src/tools/insight/explain/explain-request.js'
import type { ExplainedRequest } from '../../../../../src/tools/insight/explain/explanation.js'
import { ann, articles, bob, DRAFT, documents, editor, NOBODYS, PUBLISHED } from './articles.js'

// CONTRACT.md §8, "Explain"

/** The right that is missing, and then the grant: to whom, what, with which names and how many conditions more. */
type Expected = readonly [
  missing: string | null,
  grant?: readonly [subject: string, rules: object, names?: readonly string[], conditions?: number],
]

const patch = (id: string, body: object): Partial<ExplainedRequest> => ({
  method: 'PATCH',
  path: `/articles/${id}`,
  body,
})

test.each<readonly [what: string, request: Partial<ExplainedRequest>, expected: Expected]>([
  ['nothing, where nothing is missing', { path: `/articles/${PUBLISHED}` }, [null]],
  ['nothing, where the body is wrong', { method: 'POST', path: '/articles', caller: bob, body: {} }, [null]],
  ['nothing, where the document does not exist', { path: `/articles/${NOBODYS}`, caller: bob }, [null]],
  [
    'to everyone, where nobody is signed in: a new rule with the names of the body',
    { method: 'POST', path: '/articles', body: { title: 'A', tags: [], _id: 'x' } },
    ['create', ['*', { create: { pick: ['title', 'tags'] } }, ['title', 'tags']]],
  ],
  [
    'to the owner: another case of the check, and the name that is dropped',
    { ...patch(DRAFT, { status: 'published', views: 1 }), caller: ann },
    [
      'update',
      [
        'owner',
        { update: { check: { $or: [{ status: { $ne: 'published' } }, { status: 'published' }] } } },
        ['views'],
        1,
      ],
    ],
  ],
  [
    'to a role: the rule of the owner, without more',
    { method: 'DELETE', path: `/articles/${PUBLISHED}`, caller: editor },
    ['delete', ['editor', { delete: true }]],
  ],
  [
    'to a role that nothing mentions, after those that something does',
    { method: 'DELETE', path: `/articles/${PUBLISHED}`, caller: { id: 'bob', roles: ['clerk', 'editor'] } },
    ['delete', ['editor', { delete: true }]],
  ],
  [
    'to who is signed in: another case of reading',
    { path: `/articles/${DRAFT}`, caller: bob },
    [
      'read',
      [
        'user',
        { read: { where: { $or: [{ status: 'published' }, { status: 'draft' }] }, omit: ['views'] } },
        [],
        1,
      ],
    ],
  ],
  [
    'two rights at once, where both are missing',
    { ...patch(DRAFT, { title: 'New' }), caller: bob },
    [
      'read',
      [
        'user',
        {
          read: { where: { $or: [{ status: 'published' }, { status: 'draft' }] }, omit: ['views'] },
          update: { omit: ['views'], check: { status: { $ne: 'published' } } },
        },
        [],
        1,
      ],
    ],
  ],
  [
    'two rights at once, where the one that is there drops a part of the body',
    { ...patch(DRAFT, { title: 'New', views: 1 }), caller: bob },
    [
      'read',
      [
        'user',
        {
          read: { where: { $or: [{ status: 'published' }, { status: 'draft' }] }, omit: ['views'] },
          update: { check: { status: { $ne: 'published' } } },
        },
        ['views'],
        1,
      ],
    ],
  ],
  [
    'for HEAD as for GET',
    { method: 'HEAD', path: `/articles/${DRAFT}`, caller: bob },
    [
      'read',
      [
        'user',
        { read: { where: { $or: [{ status: 'published' }, { status: 'draft' }] }, omit: ['views'] } },
        [],
        1,
      ],
    ],
  ],
  [
    'for each operation of a batch',
    {
      method: 'POST',
      path: '/_batch',
      caller: bob,
      body: {
        operations: [
          { method: 'POST', path: '/articles', body: { title: 'A' } },
          { method: 'DELETE', path: `/articles/${PUBLISHED}` },
        ],
      },
    },
    ['delete', ['user', { delete: true }]],
  ],
])('%s', async (_, request, [missing, grant]) => {
  const asked = { method: 'GET', path: '/', caller: null, documents, ...request }
  const explained = await explainRequest(articles, asked)
  expect(explained.missing?.operation ?? null).toBe(missing)
  const { suggestion } = explained
  const [subject, rules, names = [], conditions = 0] = grant ?? []
  if (!grant) expect(suggestion).toBeNull()
  else expect(suggestion).toMatchObject({ collection: 'articles', subject, rules, names, conditions })
})

const schema = {
  s: { type: 'string' },
  team: { type: 'string' },
  tags: { type: 'array', items: { type: 'string' } },
}
const stored = { things: [{ _id: DRAFT, s: 'a', tags: ['x'], createdBy: 'ann' }] }
const ofThings = (permissions: object) => ({ collections: { things: { schema, permissions } } })

test.each<
  readonly [what: string, permissions: object, request: Partial<ExplainedRequest>, grant: object | null]
>([
  [
    'a collection without permissions gets some',
    {},
    {},
    {
      rules: { read: true },
      patch: [{ op: 'add', path: '/collections/things/permissions', value: { user: { read: true } } }],
    },
  ],
  [
    'what a plain grant says stays',
    { user: { pick: ['s'] } },
    { method: 'DELETE' },
    {
      patch: [
        {
          op: 'add',
          path: '/collections/things/permissions/user',
          value: { read: true, create: { pick: ['s'] }, delete: true },
        },
      ],
    },
  ],
  [
    'what true says stays, of owners what they can do',
    { user: { read: true }, owner: false },
    { method: 'DELETE', caller: ann },
    {
      subject: 'owner',
      patch: [
        {
          op: 'add',
          path: '/collections/things/permissions/owner',
          value: { read: false, update: false, delete: true },
        },
      ],
    },
  ],
  [
    'a value that is missing is compared with null',
    { user: { read: { where: { team: '$user.team' } } } },
    {},
    { subject: 'user', rules: { read: { where: { $or: [{ team: '$user.team' }, { team: null }] } } } },
  ],
  [
    'of an array, an element',
    { user: { read: { where: { tags: 'y' } } } },
    {},
    { rules: { read: { where: { $or: [{ tags: 'y' }, { tags: 'x' }] } } } },
  ],
  [
    'one more of several cases',
    { user: { read: { where: { $or: [{ s: 'b' }, { s: 'c' }] } } } },
    {},
    { rules: { read: { where: { $or: [{ s: 'b' }, { s: 'c' }, { s: 'a' }] } } } },
  ],
  [
    'a case of the where and one of the check that follows it',
    { user: { read: true, update: { where: { s: 'b' } } } },
    { method: 'PATCH', body: { s: 'c' } },
    {
      conditions: 2,
      rules: {
        update: {
          where: { $or: [{ s: 'b' }, { s: 'a' }] },
          check: { $or: [{ s: 'b' }, { s: 'a' }, { s: 'c' }] },
        },
      },
    },
  ],
  [
    'a rule of its own is widened, and never replaced',
    { clerk: { update: { where: { s: 'b' }, pick: ['s'] } }, user: { read: true }, owner: { update: true } },
    { method: 'PATCH', body: { s: 'c', team: 'x' }, caller: { id: 'bob', roles: ['clerk'] } },
    { subject: 'clerk', names: ['team'], conditions: 2 },
  ],
  [
    'none, where a set lacks a value',
    { user: { create: { set: { team: '$user.team' } } } },
    { method: 'POST', path: '/things', body: {} },
    null,
  ],
  [
    'a name that no rule can keep is left out',
    { user: { read: true } },
    { method: 'POST', path: '/things', body: { s: 'a', odd: 1 } },
    { rules: { create: { pick: ['s'] } }, names: ['s'] },
  ],
])('%s', async (_, permissions, request, grant) => {
  const asked = { method: 'GET', path: `/things/${DRAFT}`, caller: bob, documents: stored, ...request }
  const { missing, suggestion } = await explainRequest(ofThings(permissions), asked, { authenticate: true })
  expect(missing).not.toBeNull()
  if (!grant) expect(suggestion).toBeNull()
  else expect(suggestion).toMatchObject(grant)
})

test('the role field is accepted where pick names it', async () => {
  const config = {
    collections: {
      users: {
        schema: { name: { type: 'string' }, role: { type: 'string' } },
        permissions: { user: { read: true } },
      },
    },
    auth: { roleField: 'role' },
  }
  const asked = { method: 'POST', path: '/users', caller: bob, body: { name: 'B', role: 'editor' } }
  const { suggestion } = await explainRequest(config, asked)
  expect(suggestion?.rules).toEqual({ create: { pick: ['name', 'role'] } })
})

test('no grant opens a registration that is closed', async () => {
  const schema = { email: { type: 'string', unique: true }, password: { type: 'hash' } }
  const config = {
    collections: { users: { schema, permissions: { '*': { create: true } } } },
    auth: { register: false },
  }
  const asked = { method: 'POST', path: '/users', caller: null, body: { email: 'a', password: 'b' } }
  const { answer, missing, judgements, suggestion } = await explainRequest(config, asked)
  expect(answer.status).toBe(403)
  expect(missing).toEqual({ operation: 'create', collection: 'users', document: null })
  expect(judgements[0]?.rules.map(({ verdict }) => verdict)).toEqual(['refused'])
  expect(suggestion).toBeNull()
})

test('what opens is told by comparePermissions', async () => {
  const permissions = { user: { read: { where: { s: 'b' } } } }
  const asked = { method: 'GET', path: `/things/${DRAFT}`, caller: bob, documents: stored }
  const { suggestion } = await explainRequest(ofThings(permissions), asked)
  // Who may read a document is told 403 in place of 404 where they change it.
  expect(new Set(suggestion?.diff.map(({ kind }) => kind))).toEqual(new Set(['widening', 'changed']))
})

test('with a suggestion comes how the configurations differ', async () => {
  const asked = { method: 'POST', path: '/articles', caller: null, body: { title: 'A' } }
  const compared: unknown[] = []
  const { suggestion } = await explainWith(articles, asked, {}, (before, after) => {
    compared.push(before, after)
    return []
  })
  const { articles: before } = articles.collections
  expect(suggestion?.diff).toEqual([])
  expect(compared).toEqual([
    articles,
    {
      collections: {
        articles: {
          ...before,
          permissions: {
            ...before.permissions,
            '*': { ...before.permissions['*'], create: { pick: ['title'] } },
          },
        },
      },
    },
  ])
})

test('a rule that is there is widened by what it drops, once its document can be read', async () => {
  const rules = { user: { read: { where: { s: 'b' } }, update: { pick: ['s'] } } }
  for (const method of ['PATCH', 'PUT']) {
    const body = { s: 'c', team: 'd' }
    const asked = { method, path: `/things/${DRAFT}`, caller: bob, body, documents: stored }
    const { missing, suggestion } = await explainRequest(ofThings(rules), asked)
    expect(missing?.operation).toBe('read')
    expect(suggestion?.rules).toEqual({
      read: { where: { $or: [{ s: 'b' }, { s: 'a' }] } },
      update: { pick: ['s', 'team'] },
    })
  }
})

test('who creates a document in a batch owns it in the rest of that', async () => {
  const own = `/things/${NOBODYS}`
  const operations = [
    { method: 'PUT', path: own, ifNoneMatch: '*', body: {} },
    { method: 'DELETE', path: own },
  ]
  const { missing, suggestion } = await explainRequest(ofThings({ user: { read: true, create: true } }), {
    method: 'POST',
    path: '/_batch',
    caller: bob,
    body: { operations },
  })
  expect([missing?.operation, suggestion?.subject]).toEqual(['delete', 'owner'])
})
