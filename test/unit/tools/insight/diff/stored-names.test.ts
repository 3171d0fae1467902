import { expect, test } from 'vitest'
import { comparePermissions, describeDifferences } from '../../../../../src/tools/insight/index.js'
import { runWitness } from '../../../../support/insight/run-witness.js'

// CONTRACT.md §8, "Diff": configurations are compared by stored name.

const TEXT = { type: 'string' }

const notes = (schema: object, read: unknown = true, others: object = {}) => ({
  collections: {
    notes: { schema, permissions: { '*': { read }, user: { create: true, update: true } }, ...others },
  },
})

const HOSTED = { authenticate: true }

test.each([
  ['a field', notes({ title: TEXT }), notes({ headline: { ...TEXT, stored: 'title' } })],
  ['a field back', notes({ headline: { ...TEXT, stored: 'title' } }), notes({ title: TEXT })],
  [
    'nothing, with its name written out',
    notes({ title: TEXT }),
    notes({ title: { ...TEXT, stored: 'title' } }),
  ],
  [
    'two fields that exchange their names',
    notes({ a: TEXT, b: TEXT }, { omit: ['b'], where: { a: 'x' } }),
    notes({ b: { ...TEXT, stored: 'a' }, a: { ...TEXT, stored: 'b' } }, { omit: ['a'], where: { b: 'x' } }),
  ],
  [
    'a field beside free properties',
    notes({ title: TEXT }, { pick: ['title', 'free'] }, { additionalProperties: true }),
    notes(
      { headline: { ...TEXT, stored: 'title' } },
      { pick: ['headline', 'free'] },
      { additionalProperties: true },
    ),
  ],
  [
    'a field that gets the name of an erased value',
    notes({ title: TEXT }, true, { erase: ['old'] }),
    notes({ old: { ...TEXT, stored: 'title' } }, true, { erase: ['old'] }),
  ],
  [
    'a field that gives its name to an erased value, beside free properties',
    notes({ old: { ...TEXT, stored: 'title' } }, true, { erase: ['old'], additionalProperties: true }),
    notes({ headline: { ...TEXT, stored: 'title' } }, true, { erase: ['old'], additionalProperties: true }),
  ],
  [
    'a field inside objects of an array, with a default',
    notes({
      links: { type: 'array', items: { type: 'object', properties: { to: TEXT } }, default: [{ to: 'x' }] },
    }),
    notes({
      links: {
        type: 'array',
        items: { type: 'object', properties: { target: { ...TEXT, stored: 'to' } } },
        default: [{ target: 'x' }],
      },
    }),
  ],
  [
    'a collection',
    { collections: { posts: { schema: { title: TEXT }, permissions: { '*': { read: true } } } } },
    {
      collections: {
        articles: { stored: 'posts', schema: { title: TEXT }, permissions: { '*': { read: true } } },
      },
    },
  ],
] as const)('a rename is no difference: %s', (_, before, after) => {
  expect(comparePermissions(before, after, HOSTED)).toEqual([])
})

test('a hidden field that a rename shows beside free properties is a widening', () => {
  const open = { additionalProperties: true }
  const before = notes({ title: TEXT, salary: TEXT }, { omit: ['salary'] }, open)
  const after = notes({ title: TEXT, wage: { ...TEXT, stored: 'salary' } }, true, open)
  const [first] = comparePermissions(before, after, HOSTED)
  expect(first).toMatchObject({
    kind: 'widening',
    collection: 'notes',
    operation: 'read',
    fields: ['wage'],
    roles: null,
    witness: {
      documents: { notes: [{ salary: expect.anything() }] },
      documentsAfter: { notes: [{ wage: expect.anything() }] },
    },
  })
})

type Json = { readonly [name: string]: unknown }

const stored = (name: string, definition: object = TEXT): object => ({ ...definition, stored: name })

const reference = (collection: string): object => ({ type: 'reference', collection })

/** Documents of teams, which give claims. */
const teams = (user: object, others: object = {}): Json => ({
  collections: {
    teams: { schema: { name: { ...TEXT, required: true } } },
    members: {
      schema: { user: { ...TEXT, required: true }, team: { ...reference('teams'), required: true } },
    },
    docs: { schema: { title: TEXT, team: reference('teams') }, permissions: { user }, ...others },
  },
  auth: { claims: { teams: { from: 'members', where: { user: '$user._id' }, take: 'team' } } },
})

/** The same documents under other names, some of which were those of others. */
const crews = (user: object, others: object = {}): Json => ({
  collections: {
    members: { stored: 'teams', schema: { label: stored('name', { ...TEXT, required: true }) } },
    people: {
      stored: 'members',
      schema: {
        team: stored('user', { ...TEXT, required: true }),
        crew: stored('team', { ...reference('members'), required: true }),
      },
    },
    papers: {
      stored: 'docs',
      schema: { team: stored('title'), title: stored('team', reference('members')) },
      permissions: { user },
      ...others,
    },
  },
  auth: { claims: { teams: { from: 'people', where: { team: '$user._id' }, take: 'crew' } } },
})

/** Accounts whose rules use their fields, and a claim with a name that a field gets. */
const accounts = (read: object): Json => ({
  collections: {
    users: {
      schema: {
        email: { ...TEXT, unique: true, required: true },
        password: { type: 'hash', required: true },
        team: TEXT,
      },
    },
    docs: { schema: { team: TEXT, crew: TEXT }, permissions: { user: { read, create: { pick: ['crew'] } } } },
  },
  auth: {
    identifier: 'email',
    claims: { group: { from: 'docs', where: { team: '$user.team' }, take: 'crew' } },
  },
})

const members = (read: object, claim = 'crews'): Json => ({
  collections: {
    users: {
      schema: {
        mail: stored('email', { ...TEXT, unique: true, required: true }),
        secret: stored('password', { type: 'hash', required: true }),
        group: stored('team'),
      },
    },
    docs: { schema: { team: TEXT, crew: TEXT }, permissions: { user: { read, create: { pick: ['crew'] } } } },
  },
  auth: {
    identifier: 'mail',
    claims: { [claim]: { from: 'docs', where: { team: '$user.group' }, take: 'crew' } },
  },
})

const IN_TEAM = { where: { team: { $in: '$user.teams' } } }
const IN_CREW = { where: { title: { $in: '$user.teams' } } }

test.each<[name: string, before: Json, after: Json]>([
  ['references and claims', teams({ read: IN_TEAM }), crews({ read: IN_CREW })],
  ['references and claims, back', crews({ read: IN_CREW }), teams({ read: IN_TEAM })],
])('a rename of %s is no difference', (_, before, after) => {
  expect(comparePermissions(before, after, HOSTED)).toEqual([])
})

test('a rename of accounts is no difference, but that of a claim is', () => {
  const [before, after] = [
    accounts({ where: { team: '$user.team' } }),
    members({ where: { team: '$user.group' } }),
  ]
  const claims = comparePermissions(before, after).map((one) => 'pointer' in one && one.pointer)
  expect(claims).toHaveLength(2)
  expect(claims).toContain('/auth/claims/crews')
})

test.each<[name: string, before: Json, after: Json, isHosted: boolean, kinds: readonly string[]]>([
  ['a claim', teams({ read: IN_TEAM }), crews({ read: true }), true, ['changed', 'widening']],
  ['a claim, back', crews({ read: IN_CREW }), teams({ read: true }), true, ['changed', 'widening']],
  [
    'a field in a body',
    teams({ read: true, create: { pick: ['title'] } }),
    crews({ read: true, create: true }),
    true,
    ['widening'],
  ],
  [
    'a value that a rule sets',
    teams({ read: true, update: { set: { title: 'x' } } }),
    crews({ read: true, update: { set: { team: 'y' } } }),
    true,
    ['changed'],
  ],
  [
    'free properties',
    teams({ read: { omit: ['title'] } }, { additionalProperties: true }),
    crews({ read: true }, { additionalProperties: true }),
    true,
    ['widening'],
  ],
  [
    'a field of the caller',
    accounts({ where: { team: '$user.team' } }),
    members({ where: { crew: '$user.group' } }),
    false,
    ['changed', 'narrowing', 'widening'],
  ],
])(
  'a renamed and changed configuration has counterexamples: %s',
  async (_, before, after, isHosted, kinds) => {
    const options = { authenticate: isHosted }
    const found = comparePermissions(before, after, options).flatMap((one) => ('witness' in one ? [one] : []))
    expect([...new Set(found.map(({ kind }) => kind))].sort()).toEqual(kinds)
    for (const one of found) await runWitness([before, after], one, options)
  },
)

test('names are those of the later configuration, and those of the earlier one for what it alone has', () => {
  const before = {
    collections: { posts: { schema: { title: { ...TEXT, maxLength: 5 }, old: TEXT, x: TEXT } } },
  }
  const after = {
    collections: {
      articles: { stored: 'posts', schema: { old: stored('title', { ...TEXT, maxLength: 9 }), x: TEXT } },
    },
  }
  expect(comparePermissions(before, after)).toEqual([
    {
      kind: 'schema',
      pointer: '/collections/articles/schema/old/maxLength',
      before: 5,
      after: 9,
      follows: [],
    },
    { kind: 'schema', pointer: '/collections/posts/schema/old', before: { type: 'string' }, follows: [] },
  ])
})

test('accounts that are stored elsewhere are a difference', () => {
  const users = { schema: { name: TEXT } }
  const [before, after] = [
    { collections: { users } },
    { collections: { users: { ...users, stored: 'members' } } },
  ]
  expect(comparePermissions(before, after)).toMatchObject([
    { kind: 'schema', pointer: '/collections/users/stored', before: 'users', after: 'members' },
  ])
})

test('hooks fill what they name, by the names of either configuration', () => {
  const needed = { ...TEXT, required: true }
  const [before, after] = [notes({ title: needed }), notes({ headline: stored('title', needed) })]
  for (const fills of [['title'], ['headline']]) {
    const options = { ...HOSTED, hooks: { notes: { fills, before() {} } } }
    expect(comparePermissions(before, after, options as object)).toEqual([])
  }
})

test('the description says the request of each configuration', () => {
  const differences = comparePermissions(
    teams({ read: true, create: { pick: ['title'] } }),
    crews({ read: true, create: true }),
    HOSTED,
  )
  const text = describeDifferences(differences)
  expect(text).toContain('POST /docs')
  expect(text).toContain('after: POST /papers')
})
