import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { Config } from '../../../../../src/index.js'
import {
  comparePermissions,
  type InsightOptions,
  type Witness,
} from '../../../../../src/tools/insight/index.js'
import { runWitness } from '../../../../support/insight/run-witness.js'

// CONTRACT.md §8, "Diff": the witness, run against both handlers, shows the difference

const text = { type: 'string' }
type Json = { readonly [name: string]: unknown }

/** A configuration with teams, their members, and documents of teams. */
const teams = (permissions: object, more: Json = {}): Json => ({
  collections: {
    teams: { schema: { name: { ...text, required: true }, open: { type: 'boolean' } }, permissions: {} },
    members: {
      schema: {
        user: { ...text, required: true, index: true },
        team: { type: 'reference', collection: 'teams', required: true },
        role: { ...text, enum: ['reader', 'admin'], required: true },
      },
      permissions: {},
    },
    docs: {
      schema: { title: text, team: { type: 'reference', collection: 'teams' } },
      permissions,
    },
    ...more,
  },
  auth: {
    claims: {
      teams: { from: 'members', where: { user: '$user._id' }, take: 'team' },
      adminOf: { from: 'members', where: { user: '$user._id', role: 'admin' }, take: 'team' },
      ofOrg: { from: 'members', where: { user: '$user.org' }, take: 'team' },
      open: { from: 'teams', where: { open: true }, take: '_id' },
      own: { from: 'docs', where: { createdBy: '$user._id' }, take: '_id' },
      around: { from: 'members', where: { team: { $in: '$user.teams' }, role: 'admin' }, take: 'team' },
    },
  },
})

const ID = '01990000-0000-7000-8000-000000000001'

const ALL = { read: true, delete: true }

const WRITING = { read: true, update: true }

/** Items with a default. */
const items = (user: object): Json => ({
  collections: { items: { schema: { n: { type: 'integer', default: 1 } }, permissions: { user } } },
})

/** Items with an object that has a default inside. */
const inside = (where: object): Json => {
  const properties = { x: { type: 'integer', default: 1 }, y: { type: 'integer' } }
  const schema = { o: { type: 'object', properties }, k: { type: 'integer' } }
  return { collections: { items: { schema, permissions: { user: { read: { where } } } } } }
}

/** Documents that give a claim by a text that they have, too. */
const giving = (more: object): Json => ({
  collections: {
    items: {
      schema: { s: text },
      permissions: { user: { read: { where: { s: { $nin: '$user.ofOrg' } } }, ...more } },
    },
  },
  auth: { claims: { ofOrg: { from: 'items', where: { s: '$user.org' }, take: 's' } } },
})

/** Items with an object, and a list, that cannot be empty. */
const filled = (user: object): Json => {
  const o = { type: 'object', properties: { x: { ...text, required: true }, y: text } }
  const l = { type: 'array', items: text, minItems: 2 }
  const m = { type: 'array', items: { type: 'boolean' }, minItems: 1 }
  return { collections: { items: { schema: { o, l, m }, permissions: { user } } } }
}

/** Items with a text that is stored in lower case, and lists of such. */
const cased = (where: object, more: object = {}): Json => {
  const lower = { ...text, lowercase: true, ...more }
  const schema = {
    k: text,
    s: { ...lower, default: 'a' },
    a: { type: 'array', items: text },
    l: { type: 'array', items: lower },
  }
  return { collections: { items: { schema, permissions: { user: { read: { where } } } } } }
}

const within = (claim: string) => ({ where: { team: { $in: `$user.${claim}` } } })

const accounts = (permissions: object): Json => ({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, format: 'email' },
        password: { type: 'hash', required: true, minLength: 12 },
        bio: text,
      },
      permissions,
    },
  },
})

/** Whether claims stand among the caller's fields, for no documents give them. */
const hasClaims = ({ caller }: Witness): boolean =>
  ['adminOf', 'worksIn', 'teams', 'founded', 'ofOrg', 'open', 'own'].some((name) => name in (caller ?? {}))

const HOST: InsightOptions = { authenticate: true }

describe('the witness of each difference can be run', () => {
  test.each<[name: string, before: Json, after: Json, options?: InsightOptions]>([
    ['a claim', teams({ user: { read: true } }), teams({ user: { read: within('teams') } }), HOST],
    ['a claim for nobody before', teams({}), teams({ user: { read: within('adminOf') } }), HOST],
    [
      'two claims',
      teams({ user: { read: within('adminOf') } }),
      teams({ user: { read: within('teams') } }),
      HOST,
    ],
    ['a claim that uses a claim', teams({}), teams({ user: { read: within('around') } }), HOST],
    [
      'a claim that uses a claim, no longer',
      teams({ user: { read: { where: { $or: [{ title: 'x' }, within('around').where] } } } }),
      teams({ user: { read: { where: { title: 'x' } } } }),
      HOST,
    ],
    ['a claim by a field of the caller', teams({}), teams({ user: { read: within('ofOrg') } }), HOST],
    ['a claim that all have', teams({}), teams({ '*': { read: within('open') } }), HOST],
    [
      'writes within a claim',
      teams({ user: { read: true, create: true, update: true, delete: true } }),
      teams({ user: { read: true, create: { check: within('teams').where }, update: within('adminOf') } }),
      HOST,
    ],
    ['a claim without values', giving({ delete: { where: { s: 'a' } } }), giving({}), HOST],
    ['an _id', teams({}), teams({ user: { read: { where: { _id: '$user._id' } } } }), HOST],
    ['a reference', teams({}), teams({ user: { read: { where: { team: '$user.team' } } } }), HOST],
    [
      'a reference that is there',
      teams({}),
      teams({ '*': { read: { where: { team: { $exists: true } } } } }),
    ],
    ['a default', items(ALL), items({ ...ALL, delete: { where: { n: 1 } } })],
    ['a default, and without', items({ read: true }), items({ read: { where: { n: { $exists: true } } } })],
    ['a default in an object', inside({ 'o.x': null, 'o.y': 1 }), inside({ k: 1 })],
    ['an object with a default', inside({ 'o.x': { $exists: true } }), inside({ k: 1 })],
    [
      'an object that cannot be empty',
      filled(WRITING),
      filled({ ...WRITING, update: { omit: ['o'] } }),
      HOST,
    ],
    ['a list that cannot be empty', filled(WRITING), filled({ ...WRITING, update: { omit: ['l'] } }), HOST],
    ['what is required beside', filled({}), filled({ create: { check: { 'o.y': 'b' } }, read: true }), HOST],
    ['a text of the caller', cased({ a: { $in: '$user.l' } }), cased({ s: '$user.s' }), HOST],
    ['a list of the caller', cased({ s: 'a' }), cased({ l: { $in: '$user.l' } }), HOST],
    ['not one of the caller', cased({ s: { $nin: '$user.l' } }), cased({ l: { $nin: '$user.l' } }), HOST],
    ['a late _id', items({ read: true }), items({ read: { where: { _id: { $lt: '5' } } } })],
    ['an early _id', items({ read: true }), items({ read: { where: { _id: { $gt: '0', $ne: ID } } } })],
    ['accounts', accounts({}), accounts({ user: { read: { omit: ['email'] } } }), {}],
    ['accounts of oneself', accounts({}), accounts({ user: { read: { where: { _id: '$user._id' } } } }), {}],
  ])('%s', async (_, before, after, options = HOST) => {
    const differences = comparePermissions(before, after, options)
    const found = differences.flatMap((one) => ('witness' in one && !hasClaims(one.witness) ? [one] : []))
    const fresh = found.filter(({ stale }) => !stale)
    expect(found.length).toBeGreaterThan(0)
    for (const one of fresh) await runWitness([before, after], one, options)
  })

  test('each right of the example for teams, taken away', async () => {
    const before: Json & Pick<Config, 'collections'> = JSON.parse(
      await readFile(new URL('../../../../../examples/teams/config.json', import.meta.url), 'utf8'),
    )
    const kept: string[] = []
    for (const [name, { permissions = {} }] of Object.entries(before.collections))
      for (const operation of ['read', 'create', 'update', 'delete']) {
        const after = structuredClone(before)
        for (const grant of Object.values(after.collections[name]?.permissions ?? {}))
          Reflect.deleteProperty(Object(grant), operation)
        if (JSON.stringify(after.collections[name]?.permissions) === JSON.stringify(permissions)) continue
        for (const one of comparePermissions(before, after))
          if ('witness' in one && !hasClaims(one.witness)) await runWitness([before, after], one, {})
          else kept.push(`${name} ${operation}`)
      }
    // Over the very documents that give the claims.
    expect(kept).toEqual(['memberships read', 'memberships read'])
  })
})

test.each<[what: string, before: object, after: object, of?: (user: object) => Json]>([
  ['without what is there by default', { read: true }, { read: { where: { n: { $exists: true } } } }],
  ['with an _id that is not a UUID', { read: true }, { read: { where: { _id: { $nin: ['x'] } } } }],
  [
    'with an object that lacks what is required',
    {},
    { read: { where: { o: { $exists: true }, 'o.x': null } } },
    filled,
  ],
  [
    'with a list that is too short',
    { read: true },
    { read: true, delete: { where: { m: { $exists: true, $nin: [true, false] } } } },
    filled,
  ],
])('a document %s is none that the former configuration would store', (_, before, after, of = items) => {
  const found = comparePermissions(of(before), of(after), HOST)
  expect(found.length).toBeGreaterThan(0)
  for (const one of found) expect(one).toMatchObject({ stale: true })
})

test.each<[what: string, before: Json, after: Json]>([
  ['shows a list that cannot be empty', filled({ read: true }), filled({ read: { omit: ['l'] } })],
  ['is about an element of one', filled({ read: true }), filled({ read: { where: { l: { $ne: 'b' } } } })],
  [
    'needs capitals',
    cased({ $and: [{ s: '$user.w' }, { s: 'hello' }, { k: '$user.w' }, { k: { $ne: 'hello' } }] }),
    cased({ k: { $in: [] } }),
  ],
  [
    'has the claim that all have who are signed in',
    teams({ user: { read: true } }),
    teams({ user: { read: { where: { title: { $nin: '$user.own' } } } } }),
  ],
])(
  'what %s is found, over a document that the former configuration would store',
  async (_, before, after) => {
    const found = comparePermissions(before, after, HOST).flatMap((one) =>
      'witness' in one && one.operation === 'read' && !one.stale ? [one] : [],
    )
    for (const one of found) if (!hasClaims(one.witness)) await runWitness([before, after], one, HOST)
    expect(found.length).toBeGreaterThan(0)
  },
)

test('claims that no documents give stay fields of the caller', () => {
  const after = teams({ user: { read: { where: { _id: { $in: '$user.own' } } } } })
  const [difference] = comparePermissions(teams({}), after, HOST)
  expect(difference).toMatchObject({ witness: { caller: { own: [expect.any(String)] } } })
  const [admins, members] = ['adminOf', 'teams'].map((claim) => teams({ user: { read: within(claim) } }))
  const kinds = comparePermissions(admins, members, HOST).flatMap((one) =>
    'witness' in one && one.operation === 'read' ? [[one.kind, hasClaims(one.witness)]] : [],
  )
  expect(kinds).toEqual([
    ['widening', false],
    // Who is an admin is a member too.
    ['narrowing', true],
  ])
})

test('what claims over accounts mean follows from which accounts count', () => {
  const config = (requireVerified: boolean): Json => ({
    collections: {
      users: {
        schema: {
          email: { ...text, unique: true, required: true },
          password: { type: 'hash', required: true },
          team: text,
          seen: { type: 'timestamp' },
        },
      },
      docs: {
        schema: { mail: text },
        permissions: { user: { read: { where: { mail: { $in: '$user.peers' } } } } },
      },
    },
    auth: {
      verifiedField: 'seen',
      requireVerified,
      claims: { peers: { from: 'users', where: { team: '$user.team' }, take: 'email' } },
    },
  })
  expect(comparePermissions(config(false), config(true))).toEqual([
    expect.objectContaining({
      pointer: '/auth/requireVerified',
      follows: ['/collections/docs/permissions/user/read'],
    }),
  ])
})

test('a claim that changes names the rules that use it, and those of claims that use it', () => {
  const before = teams({ user: { read: within('around') } })
  const after = structuredClone(before) as { auth: { claims: { teams: { where: object } } } }
  after.auth.claims.teams.where = { user: '$user._id', role: 'reader' }
  const differences = comparePermissions(before as never, after as never, HOST)
  expect(differences).toMatchObject([
    { pointer: '/auth/claims/teams', follows: ['is used by /collections/docs/permissions/user/read'] },
  ])
})
