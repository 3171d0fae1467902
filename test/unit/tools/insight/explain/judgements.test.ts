import { expect, test } from 'vitest'
import { explainRequest } from '../../../../../src/tools/insight/explain/explain-request.js'
import type {
  ExplainedRequest,
  JudgedCondition,
  Judgement,
} from '../../../../../src/tools/insight/explain/explanation.js'
import { ann, articles, bob, DRAFT, documents, editor, NOBODYS, PUBLISHED } from './articles.js'

// CONTRACT.md §8, "Explain"

type Json = { readonly [name: string]: unknown }

/** `field operator operand found`, marked by whether it holds. */
const sayCondition = (condition: JudgedCondition): unknown =>
  condition.kind === 'comparison'
    ? `${condition.holds ? '+' : '-'}${condition.field} ${condition.operator} ${JSON.stringify(
        'bound' in condition ? condition.bound : condition.operand,
      )} ${condition.isLacking ? 'lacking' : JSON.stringify(condition.found ?? null)}`
    : { [`${condition.holds ? '+' : '-'}${condition.kind}`]: condition.parts.map(sayCondition) }

/** What is worth saying of a judgement, by subject. */
const say = ({ operation, document, place, rules }: Judgement): Json => ({
  [`${operation}${place}${document === null ? '' : ` ${document.at(-1)}`}`]: Object.fromEntries(
    rules.map(({ subject, verdict, where, check, lacking, dropped, faults }) => [
      subject,
      [
        verdict,
        ...[where, check].flatMap((one) => (one ? [sayCondition(one)] : [])),
        ...lacking,
        ...dropped.map(({ name, why }) => `${why} ${name}`),
        ...faults.map(({ path, code }) => `${code} ${path}`),
      ],
    ]),
  ),
})

const silent = ['silent']

const ALL_KINDS = {
  collections: {
    things: {
      schema: {
        s: { type: 'string' },
        n: { type: 'integer' },
        team: { type: 'string' },
        tags: { type: 'array', items: { type: 'string' } },
      },
      permissions: {
        '*': { create: { set: { team: '$user.team' } } },
        user: {
          create: true,
          read: { where: { $or: [{ n: { $gt: 1, $lte: 3 } }, { tags: { $in: ['b'] } }] } },
        },
        clerk: { create: { set: { team: '$user.team', n: 1 } }, update: false },
        owner: { read: { where: { team: '$user.team' } }, update: { where: { s: 'a' } } },
        member: { read: { where: { team: { $in: '$user.teams' } } } },
      },
    },
    members: { schema: { of: { type: 'string' }, team: { type: 'string' } } },
  },
  auth: { claims: { teams: { from: 'members', where: { of: '$user._id' }, take: 'team' } } },
}
const kinds = {
  things: [{ _id: DRAFT, s: 'a', n: 2, team: 'red', createdBy: 'ann' }],
  members: [{ of: 'ann', team: 'red' }],
}

test.each<readonly [what: string, request: Partial<ExplainedRequest>, judgements: readonly Json[]]>([
  [
    'a document that is shown by one of the rules, which hides a field',
    { path: `/articles/${PUBLISHED}` },
    [{ 'read 2': { '*': ['granted', '+status $eq "published" "published"', 'omit views'] } }],
  ],
  [
    'a document that no rule shows',
    { path: `/articles/${DRAFT}`, caller: bob },
    [
      {
        'read 1': {
          user: silent,
          '*': ['where', '-status $eq "published" "draft"'],
          owner: ['where', '-createdBy $eq "bob" "ann"'],
        },
      },
    ],
  ],
  [
    'one that is not there',
    { path: `/articles/${NOBODYS}`, caller: bob },
    [{ read: { user: silent, '*': ['open'], owner: ['open'] } }],
  ],
  [
    'a list, document by document',
    { path: '/articles?q[status]=draft' },
    [
      { 'read 1': { '*': ['where', '-status $eq "published" "draft"'] } },
      { 'read 2': { '*': ['granted', '+status $eq "published" "published"', 'omit views'] } },
    ],
  ],
  [
    'a create, and what it drops',
    { method: 'POST', path: '/articles', caller: bob, body: { title: 'A', views: 1, _id: 'x' } },
    [{ create: { user: ['granted', 'pick views', 'service _id'], '*': silent } }],
  ],
  [
    'a create with faults',
    { method: 'POST', path: '/articles', caller: bob, body: { tags: 1 } },
    [{ create: { user: ['faults', 'required /title', 'wrong_type /tags'], '*': silent } }],
  ],
  [
    'an update whose result its rule does not take',
    { method: 'PATCH', path: `/articles/${DRAFT}`, caller: ann, body: { status: 'published', views: 1 } },
    [
      {
        'read 1': {
          user: silent,
          '*': ['where', '-status $eq "published" "draft"'],
          owner: ['granted', '+createdBy $eq "ann" "ann"'],
        },
      },
      {
        'update 1': {
          user: silent,
          '*': silent,
          owner: ['check', '+createdBy $eq "ann" "ann"', '-status $ne "published" "published"', 'omit views'],
        },
      },
    ],
  ],
  [
    'a more specific subject decides, and the first rule that fits runs',
    {
      method: 'PUT',
      path: `/articles/${DRAFT}`,
      caller: { id: 'ann', roles: ['editor', 'admin'] },
      body: { title: 'A' },
    },
    [
      {
        'read 1': {
          editor: ['granted'],
          admin: ['granted'],
          user: silent,
          '*': ['where', '-status $eq "published" "draft"'],
          owner: ['granted', '+createdBy $eq "ann" "ann"'],
        },
      },
      {
        'update 1': {
          editor: ['granted-before', 'pick title'],
          admin: ['granted'],
          user: silent,
          '*': silent,
          owner: ['granted-before', '+createdBy $eq "ann" "ann"'],
        },
      },
    ],
  ],
  [
    'a delete',
    { method: 'DELETE', path: `/articles/${PUBLISHED}`, caller: editor },
    [
      {
        'read 2': {
          editor: ['granted'],
          user: silent,
          '*': ['granted', '+status $eq "published" "published"', 'omit views'],
          owner: ['where', '-createdBy $eq "bob" "ann"'],
        },
      },
      {
        'delete 2': {
          editor: silent,
          user: silent,
          '*': silent,
          owner: ['where', '-createdBy $eq "bob" "ann"'],
        },
      },
    ],
  ],
  [
    'an anonymous caller, refused without a look at the document',
    { method: 'DELETE', path: `/articles/${PUBLISHED}` },
    [{ delete: { '*': silent } }],
  ],
  [
    'each operation of a batch',
    {
      method: 'POST',
      path: '/_batch',
      caller: bob,
      body: {
        operations: [
          { method: 'POST', path: '/articles', body: { title: 'A' } },
          { method: 'GET', path: `/articles/${PUBLISHED}` },
        ],
      },
    },
    [
      { 'create/operations/0': { user: ['granted'], '*': silent } },
      {
        'read/operations/1 2': {
          user: silent,
          '*': ['granted', '+status $eq "published" "published"', 'omit views'],
          owner: ['where', '-createdBy $eq "bob" "ann"'],
        },
      },
    ],
  ],
  [
    'each document of a bulk',
    {
      method: 'POST',
      path: '/articles/bulk',
      caller: bob,
      body: { documents: [{ title: 'A' }, { status: 1 }] },
    },
    [
      { 'create/documents/0': { user: ['granted'], '*': silent } },
      { 'create/documents/1': { user: ['faults', 'pick status', 'required /title'], '*': silent } },
    ],
  ],
  ['what no rule is about', { path: '/nothing' }, []],
])('%s', async (_, request, judgements) => {
  const asked = { method: 'GET', path: '/', caller: null, documents, ...request }
  const explanation = await explainRequest(articles, asked)
  expect(explanation.judgements.map(say)).toEqual(judgements)
})

test.each<readonly [what: string, request: Partial<ExplainedRequest>, judgement: Json]>([
  [
    'groups, several operators and arrays',
    { caller: { id: 'bob' } },
    {
      'read 1': {
        user: ['granted', { '+any': [{ '+all': ['+n $gt 1 2', '+n $lte 3 2'] }, '-tags $in ["b"] null'] }],
        '*': silent,
        owner: ['where', { '-all': ['-createdBy $eq "bob" "ann"', '-team $eq "$user.team" lacking'] }],
      },
    },
  ],
  [
    'what the caller is, and a claim',
    { caller: { id: 'ann', team: 'red', roles: ['member'] } },
    {
      'read 1': {
        member: ['granted', '+team $in ["red"] "red"'],
        user: ['granted', { '+any': [{ '+all': ['+n $gt 1 2', '+n $lte 3 2'] }, '-tags $in ["b"] null'] }],
        '*': silent,
        owner: ['granted', { '+all': ['+createdBy $eq "ann" "ann"', '+team $eq "red" "red"'] }],
      },
    },
  ],
  [
    'a set that the caller lacks',
    { method: 'POST', path: '/things', caller: { id: 'ann', roles: ['clerk'] }, body: { n: 2 } },
    { create: { clerk: ['set', '$user.team', 'set n'], user: ['outranked'], '*': ['outranked'] } },
  ],
  [
    'a set of another form',
    { method: 'POST', path: '/things', caller: { id: 'ann', roles: ['clerk'], team: 1 }, body: {} },
    { create: { clerk: ['set', '$user.team'], user: ['outranked'], '*': ['outranked'] } },
  ],
  [
    'a check that is its where',
    { method: 'PATCH', caller: { id: 'ann', team: 'red', roles: ['clerk'] }, body: { s: 'b' } },
    {
      'update 1': {
        clerk: ['refused'],
        user: silent,
        '*': silent,
        owner: ['check', { '+all': ['+createdBy $eq "ann" "ann"', '+s $eq "a" "a"'] }, '-s $eq "a" "b"'],
      },
    },
  ],
])('%s', async (_, request, judgement) => {
  const asked = { method: 'GET', path: `/things/${DRAFT}`, caller: null, documents: kinds, ...request }
  const explanation = await explainRequest(ALL_KINDS, asked, { authenticate: true })
  expect(explanation.judgements.map(say).at(-1)).toEqual(judgement)
})

test('the lines of a configuration', async () => {
  const body = { status: 'published', views: 1 }
  const asked = { method: 'PATCH', path: `/articles/${DRAFT}`, caller: ann, body, documents }
  const { judgements, subjects } = await explainRequest(articles, asked)
  const rule = judgements.at(-1)?.rules.at(-1)
  const at = '/collections/articles/permissions/owner/update'
  expect(rule?.pointer).toBe(at)
  expect(rule?.check?.pointer).toBe(`${at}/check/status/$ne`)
  expect(rule?.dropped).toEqual([{ name: 'views', by: `${at}/omit/0`, why: 'omit' }])
  expect(subjects).toEqual(['user', '*', 'owner'])
})

test('a stream of changes has a status and no body', async () => {
  const { collections } = articles
  const told = { collections: { articles: { ...collections.articles, changes: true } } }
  const { answer } = await explainRequest(told, {
    method: 'GET',
    path: '/articles/changes',
    caller: null,
    documents,
  })
  expect([answer.status, answer.body]).toEqual([200, undefined])
})

test('the time is that of the request', async () => {
  const schema = { at: { type: 'timestamp' } }
  const permissions = { '*': { read: { where: { at: { $lte: '$now' } } } } }
  const stored = { things: [{ _id: DRAFT, at: '2026-01-02' }] }
  const statusAt = async (now: number | string): Promise<number> => {
    const asked = { method: 'GET', path: `/things/${DRAFT}`, caller: null, documents: stored, now }
    return (await explainRequest({ collections: { things: { schema, permissions } } }, asked)).answer.status
  }
  expect(await statusAt('2026-01-01')).toBe(404)
  expect(await statusAt(Date.parse('2026-01-03'))).toBe(200)
})

test('the faults of what the caller may neither read nor write are all told', async () => {
  const required = { type: 'string', required: true }
  const schema = { a: { type: 'integer' }, s1: required, s2: required }
  const permissions = { '*': { create: { pick: ['a'] }, read: { pick: ['a'] } } }
  const asked = { method: 'POST', path: '/things', caller: null, body: { a: 'x' } }
  const { answer, judgements } = await explainRequest(
    { collections: { things: { schema, permissions } } },
    asked,
  )
  const faults = judgements.flatMap(({ rules }) =>
    rules.flatMap((rule) => rule.faults.map(({ path }) => path)),
  )
  expect(faults).toEqual(['/a', '/s1', '/s2'])
  expect(answer.errors.map(({ path }) => path)).toEqual(['/a', ''])
})

test('a text is sent as it is', async () => {
  const asked = { method: 'POST', path: '/articles', caller: bob, body: '{"title"' }
  expect((await explainRequest(articles, asked)).answer.code).toBe('invalid_json')
})

test.each<readonly [what: string, config: unknown, request: Partial<ExplainedRequest>, error: object]>([
  ['what is below /auth', articles, { path: '/auth/login' }, { name: 'TypeError' }],
  ['a body of a GET', articles, { method: 'GET', body: {} }, { name: 'TypeError' }],
  ['a path without a slash', articles, { path: 'articles' }, { name: 'TypeError' }],
  ['a time that is none', articles, { now: 'yesterday' }, { name: 'TypeError' }],
  ['a wrong configuration', { collections: 1 }, {}, { code: 'invalid_config' }],
  [
    'documents that cannot be stored',
    articles,
    { documents: { articles: [{ title: 1 }] } },
    { errors: [{ path: '/articles/0/title', code: 'wrong_type', message: expect.any(String) }] },
  ],
])('not explained: %s', async (_, config, request, error) => {
  const asked = { method: 'GET', path: '/articles', caller: null, ...request }
  await expect(explainRequest(config, asked)).rejects.toMatchObject(error)
})

test('a rule with a claim is evaluated beside one that already shows everything', async () => {
  const config = {
    auth: { claims: { teams: { from: 'members', where: { of: '$user._id' }, take: 'team' } } },
    collections: {
      things: {
        schema: { team: { type: 'string' } },
        permissions: { '*': { read: true }, clerk: { read: { where: { team: { $in: '$user.teams' } } } } },
      },
      members: { schema: { of: { type: 'string' }, team: { type: 'string' } }, permissions: {} },
    },
  }
  const _id = '01890163-8694-7000-8000-000000000001'
  const asked = {
    caller: { id: 'ann', roles: ['clerk'] },
    documents: { things: [{ _id, team: 'a' }], members: [{ of: 'ann', team: 'b' }] },
  }
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? { team: 'b' } : undefined
    const path = `/things/${_id}`
    const { judgements } = await explainRequest(
      config,
      { ...asked, method, path, ...(body ? { body } : {}) } as ExplainedRequest,
      { authenticate: true },
    )
    const [read] = judgements
    const verdicts = read?.rules.map(({ subject, verdict }) => [subject, verdict])
    expect(verdicts).toEqual(
      expect.arrayContaining([
        ['*', 'granted'],
        ['clerk', 'where'],
      ]),
    )
  }
})
