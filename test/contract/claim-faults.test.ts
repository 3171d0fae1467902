import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §5, "Claims" and "Warnings"

const USER = { user: '$user._id' }
const teamsOf = { from: 'memberships', where: USER, take: 'team' }

const memberships = (permissions: object = {}, more: object = {}) => ({
  schema: {
    user: { type: 'reference', collection: 'users' },
    team: { type: 'reference', collection: 'teams' },
    role: { type: 'string', enum: ['admin', 'guest'] },
    since: { type: 'timestamp' },
    rank: { type: 'integer' },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 20 },
    place: { type: 'object', properties: { city: { type: 'string' } } },
  },
  permissions,
  ...more,
})

interface Parts {
  readonly claims?: object
  /** The permissions of memberships. */
  readonly joining?: object
  readonly memberships?: object
  /** The rule by which `user` reads notes, and the one by which it creates them. */
  readonly read?: unknown
  readonly create?: unknown
  readonly auth?: object
}

const configOf = (parts: Parts) => ({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
        nick: { type: 'string' },
      },
    },
    teams: { schema: { name: { type: 'string' } }, permissions: { user: { create: true } } },
    memberships: memberships(parts.joining, parts.memberships),
    notes: {
      schema: {
        text: { type: 'string' },
        team: { type: 'reference', collection: 'teams' },
        n: { type: 'integer' },
        at: { type: 'timestamp' },
        isDone: { type: 'boolean' },
        teams: { type: 'array', items: { type: 'string' } },
        numbers: { type: 'array', items: { type: 'integer' } },
        more: { type: 'json' },
        deep: { type: 'object', properties: { teams: { type: 'array', items: { type: 'string' } } } },
      },
      permissions: { user: { read: parts.read ?? false, create: parts.create ?? false } },
    },
  },
  auth: { claims: parts.claims ?? { teams: teamsOf }, ...parts.auth },
})

function faultsOf(parts: Parts, options: object = {}): readonly string[] {
  try {
    createTestService(configOf(parts), options)
    return []
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.faults.map(({ path }) => path)
    throw thrown
  }
}

const C = '/auth/claims/teams'
const N = '/collections/notes/permissions/user'
const claim = (changed: object) => ({ claims: { teams: { ...teamsOf, ...changed } } })
const reads = (where: object) => ({ read: { where } })
const sets = (set: object) => ({ create: { set } })

const IN = { team: { $in: '$user.teams' } }
const IN_MORE = { team: { $in: '$user.more' } }
const M = '/auth/claims/more/where'
const T = '/auth/claims/third/where/team/$in'
const OWN = { own: { from: 'teams', where: { createdBy: '$user._id' }, take: '_id' } }
const PEOPLE = { people: { ...teamsOf, take: 'user' } }
const RANKS = { ranks: { ...teamsOf, take: 'rank' } }
const ROLES = { roles_: { ...teamsOf, take: 'role' } }
const more = (where: object, others: object = {}) => ({
  claims: { teams: teamsOf, ...others, more: { ...teamsOf, where } },
})

describe.each([
  ['where the service keeps the accounts', {}],
  ['where a host names callers', { authenticate: () => null }],
])('a wrong claim is a fault %s', (_, options) => {
  test.each<[name: string, parts: Parts, faults: readonly string[]]>([
    ['nothing is wrong', {}, []],
    ['its collection is unknown', claim({ from: 'membership' }), [`${C}/from`]],
    ['its field is unknown', claim({ take: 'teem' }), [`${C}/take`]],
    ['its field is a system field', claim({ take: 'createdBy' }), [`${C}/take`]],
    ['its field is an array', claim({ take: 'tags' }), [`${C}/take`]],
    ['its field is an object', claim({ take: 'place' }), [`${C}/take`]],
    ['its field lies in an object', claim({ take: 'place.city' }), [`${C}/take`]],
    [
      'it takes a secret',
      claim({ from: 'users', where: { _id: '$user._id' }, take: 'password' }),
      [`${C}/take`],
    ],
    ['it takes the id', claim({ from: 'users', where: { _id: '$user._id' }, take: '_id' }), []],
    ['it has no collection', claim({ from: undefined }), [`${C}/from`]],
    ['it has no condition', claim({ where: undefined }), [`${C}/where`]],
    ['it takes nothing', claim({ take: undefined }), [`${C}/take`]],
    ['it has another attribute', claim({ takes: 'team' }), [`${C}/takes`]],
    ['it has a comment', claim({ $comment: 'who belongs where' }), []],
    ['its condition names no field', claim({ where: { usr: '$user._id' } }), [`${C}/where/usr`]],
    [
      'its condition has a wrong operator',
      claim({ where: { rank: { $above: 1 } } }),
      [`${C}/where/rank/$above`],
    ],
    ['its condition has a wrong value', claim({ where: { rank: 'high' } }), [`${C}/where/rank`]],
    ['its condition has a wrong variable', claim({ where: { user: '$me._id' } }), [`${C}/where/user`]],
    ['it uses a claim', more(IN), []],
    ['it uses a claim in a branch', more({ $or: [USER, { team: { $nin: '$user.teams' } }] }), []],
    [
      'it uses a claim that uses a claim',
      { claims: { ...more(IN).claims, third: { ...teamsOf, where: IN_MORE } } },
      [T],
    ],
    ['it uses itself', claim({ where: IN }), [`${C}/where/team/$in`]],
    ['it uses a claim beside another operator', more({ team: '$user.teams' }), [`${M}/team`]],
    ['it uses a claim in a list', more({ team: { $in: ['$user.teams'] } }), [`${M}/team/$in`]],
    ['it compares a claim with another type', more({ rank: { $in: '$user.teams' } }), [`${M}/rank/$in`]],
    ['it compares references with text', more({ role: { $in: '$user.teams' } }), [`${M}/role/$in`]],
    [
      'it compares references to other collections',
      more({ user: { $in: '$user.teams' } }),
      [`${M}/user/$in`],
    ],
    ['it compares ids with references', more({ team: { $in: '$user.own' } }, OWN), []],
    [
      'it compares ids with references to others',
      more({ user: { $in: '$user.own' } }, OWN),
      [`${M}/user/$in`],
    ],
    ['it compares ids with its own', more({ _id: { $in: '$user.own' } }, OWN), [`${M}/_id/$in`]],
    ['it compares ids with text', more({ role: { $in: '$user.own' } }, OWN), []],
    ['it compares creators with references', more({ createdBy: { $in: '$user.people' } }, PEOPLE), []],
    ['it compares integers', more({ rank: { $in: '$user.ranks' } }, RANKS), []],
    ['it compares elements', more({ tags: { $in: '$user.roles_' } }, ROLES), []],
    [
      'what uses a claim with a fault has none',
      { claims: { teams: { ...teamsOf, take: 5 }, more: { ...teamsOf, where: IN } } },
      [`${C}/take`],
    ],
    ['it has the name of a field of users', { claims: { nick: teamsOf } }, ['/auth/claims/nick']],
    ['its name is id', { claims: { id: teamsOf } }, ['/auth/claims/id']],
    ['its name is _id', { claims: { _id: teamsOf } }, ['/auth/claims/_id']],
    ['its name is roles', { claims: { roles: teamsOf } }, ['/auth/claims/roles']],
    ['its name is reserved', { claims: { createdBy: teamsOf } }, ['/auth/claims/createdBy']],
    ['its name is no name', { claims: { 'my.teams': teamsOf } }, ['/auth/claims/my.teams']],
    ['two names differ by case', { claims: { teams: teamsOf, Teams: teamsOf } }, ['/auth/claims/Teams']],
    ['it is no object', { claims: { teams: 'memberships' } }, [C]],
    ['the claims are no object', { claims: [] }, ['/auth/claims']],
    ['it stands beside $in', reads({ team: { $in: '$user.teams' } }), []],
    ['it stands beside $nin', reads({ $or: [{ text: { $nin: '$user.teams' } }] }), []],
    ['it stands alone', reads({ team: '$user.teams' }), [`${N}/read/where/team`]],
    ['it stands beside $ne', reads({ team: { $ne: '$user.teams' } }), [`${N}/read/where/team/$ne`]],
    ['it stands beside $gt', reads({ text: { $gt: '$user.teams' } }), [`${N}/read/where/text/$gt`]],
    [
      'it stands beside $exists',
      reads({ text: { $exists: '$user.teams' } }),
      [`${N}/read/where/text/$exists`],
    ],
    ['it stands in a list', reads({ team: { $in: ['$user.teams'] } }), [`${N}/read/where/team/$in`]],
    [
      'something in it is asked for',
      reads({ team: { $in: '$user.teams.name' } }),
      [`${N}/read/where/team/$in`],
    ],
    ['texts are compared with numbers', reads({ n: { $in: '$user.teams' } }), [`${N}/read/where/n/$in`]],
    [
      'texts are compared with booleans',
      reads({ isDone: { $nin: '$user.teams' } }),
      [`${N}/read/where/isDone/$nin`],
    ],
    [
      'numbers are compared with texts',
      { ...claim({ take: 'rank' }), ...reads({ text: { $in: '$user.teams' } }) },
      [`${N}/read/where/text/$in`],
    ],
    [
      'times are compared with times',
      { ...claim({ take: 'since' }), ...reads({ at: { $in: '$user.teams' } }) },
      [],
    ],
    ['it is compared with JSON', reads({ more: { $in: '$user.teams' } }), [`${N}/read/where/more/$in`]],
    ['it is set in an array', sets({ teams: '$user.teams' }), []],
    ['it is set in an array in an object', sets({ deep: { teams: '$user.teams' } }), []],
    ['it is set in a string', sets({ text: '$user.teams' }), [`${N}/create/set/text`]],
    ['it is set in a reference', sets({ team: '$user.teams' }), [`${N}/create/set/team`]],
    ['it is set in JSON', sets({ more: '$user.teams' }), [`${N}/create/set/more`]],
    ['it is an element of what is set', sets({ teams: ['$user.teams'] }), [`${N}/create/set/teams`]],
    ['texts are set among numbers', sets({ numbers: '$user.teams' }), [`${N}/create/set/numbers`]],
    [
      'what uses a claim with a fault has none',
      { claims: { teams: { ...teamsOf, take: 5 } }, ...reads({ team: { $in: '$user.teams' } }) },
      [`${C}/take`],
    ],
  ])('%s', (_, parts, faults) => {
    const found = faultsOf(parts, options)
    expect([...new Set(found)]).toEqual(faults)
  })
})

test.each<[name: string, parts: Parts, message: string]>([
  [
    'a claim over claims that is used',
    { claims: { ...more(IN).claims, third: { ...teamsOf, where: IN_MORE } } },
    'the claim third cannot use the claim more, which uses the claim teams: a claim that uses claims is used by no claim',
  ],
  [
    'itself',
    claim({ where: IN }),
    'the claim teams cannot use itself: a claim that uses claims is used by no claim',
  ],
  [
    'another name',
    more({ team: { $in: '$user.teems' } }),
    '$user.teems has no value: "users" has no such readable field, and there is no such claim; did you mean "$user.teams"?',
  ],
  [
    'ids of others',
    more({ user: { $in: '$user.teams' } }),
    '$user.teams contains _ids of teams, but the field contains _ids of users',
  ],
  [
    'another type',
    more({ role: { $in: '$user.teams' } }),
    '$user.teams contains _ids of teams, but the field contains values of type string',
  ],
])('the fault of a claim that uses %s says what is wrong', (_, parts, message) => {
  expect(() => createTestService(configOf(parts))).toThrow(message)
})

test('a misspelt claim is one, where the service keeps the accounts', () => {
  expect(faultsOf(reads({ team: { $in: '$user.team' } }))).toEqual([`${N}/read/where/team/$in`])
  expect(faultsOf(reads({ team: { $in: '$user.team' } }), { authenticate: () => null })).toEqual([])
})

const warningsOf = (parts: Parts): readonly string[] =>
  createTestService(configOf(parts)).logged.map(([text]) => String(text).split(': ')[0] ?? '')

const TEAM = 'team'

test.each<[name: string, parts: Parts, warnings: readonly string[]]>([
  ['nothing is to be warned of', {}, []],
  ['no index answers a claim', claim({ where: { role: 'admin' } }), [`${C}/where`]],
  ['no index answers one that asks for all', claim({ where: {} }), [`${C}/where`]],
  ['no index answers one branch', claim({ where: { $or: [USER, { role: 'admin' }] } }), [`${C}/where`]],
  ['an index answers all branches', claim({ where: { $or: [USER, { ...USER, rank: 1 }] } }), []],
  ['no index answers a range', claim({ where: { user: { $gt: '$user._id' } } }), [`${C}/where`]],
  [
    'an index is declared',
    { ...claim({ where: { role: 'admin' } }), memberships: { indexes: [{ fields: ['role'] }] } },
    [],
  ],
  [
    'an index begins with another field',
    { ...claim({ where: { role: 'admin' } }), memberships: { indexes: [{ fields: ['rank', 'role'] }] } },
    [`${C}/where`],
  ],
  ...(
    [
      ['an index of array elements answers', [{ fields: ['tags', 'rank'] }], []],
      ['an index asks for an element too', [{ fields: ['rank', 'tags'] }], [`${C}/where`]],
    ] as const
  ).map(([name, indexes, warnings]): [string, Parts, readonly string[]] => [
    name,
    { ...claim({ where: { tags: '$user._id' } }), memberships: { indexes } },
    warnings,
  ]),
  ['the id answers', claim({ from: 'users', where: { _id: '$user._id' }, take: '_id' }), []],
  [
    'the time answers',
    claim({ from: 'teams', where: { createdBy: '$user._id', createdAt: '$now' }, take: '_id' }),
    [],
  ],

  ['a claim uses a claim, and an index answers it', more(IN), []],
  [
    'a claim uses a claim, and no index answers it',
    more({ rank: { $in: '$user.ranks' } }, RANKS),
    ['/auth/claims/more/where'],
  ],
  [
    'a claim uses one that its subject may create',
    { ...more(IN), joining: { user: { create: { set: USER } } } },
    [C, '/auth/claims/more', '/auth/claims/more', '/auth/claims/more'],
  ],
  [
    'a claim uses one that believes an unverified identifier',
    {
      claims: {
        teams: { from: 'teams', where: { createdBy: '$user._id', name: '$user.email' }, take: '_id' },
        more: { ...teamsOf, where: IN },
      },
    },
    [`${C}/where`, C, '/auth/claims/more'],
  ],
  [
    'a claim compares ids with text',
    more({ role: { $in: '$user.own' } }, OWN),
    ['/auth/claims/own/where', '/auth/claims/more/where', '/auth/claims/more'],
  ],

  ['its subject may create it', { joining: { user: { create: { set: USER } } } }, [C]],
  [
    'its subject may create it, in a team of its own',
    { joining: { user: { create: { set: USER, check: IN } } } },
    [],
  ],
  [
    'its subject may create it in one of two ways',
    { joining: { user: { create: { set: USER, check: { $or: [IN, { role: 'guest' }] } } } } },
    [C],
  ],
  ['its subject cannot say where', { joining: { user: { create: { set: USER, omit: [TEAM] } } } }, []],
  [
    'its subject may create another role alone',
    {
      ...claim({ where: { ...USER, role: 'admin' } }),
      joining: { user: { create: { set: USER, check: { role: 'guest' } } } },
    },
    [],
  ],
  ['its subject may move it', { joining: { user: { update: { where: USER, pick: [TEAM] } } } }, [C]],
  [
    'its subject may move it where it is',
    { joining: { user: { update: { where: { ...USER, ...IN }, pick: [TEAM] } } } },
    [],
  ],
  [
    'its subject may move it anywhere',
    { joining: { user: { update: { where: { ...USER, ...IN }, check: {}, pick: [TEAM] } } } },
    [C],
  ],
  [
    'its subject may change something else',
    { joining: { user: { update: { where: USER, pick: ['rank'] } } } },
    [],
  ],
  [
    'its subject may promote itself',
    {
      ...claim({ where: { ...USER, role: 'admin' } }),
      joining: { user: { update: { where: USER, pick: ['role'] } } },
    },
    [C],
  ],
  ['a role that may do everything may do this', { joining: { boss: true } }, []],
  ['a role may', { joining: { clerk: { create: { set: USER } } } }, [C]],
  [
    'its subject may be a member of anything',
    { ...claim({ from: 'teams', where: { name: '$user.nick' }, take: '_id' }) },
    [`${C}/where`, C],
  ],

  ['others may create it', { joining: { user: { create: { check: IN } } } }, [C]],
  [
    'others may create it once',
    {
      joining: { user: { create: { check: IN } } },
      memberships: { indexes: [{ fields: ['user'], unique: true }] },
    },
    [],
  ],
  [
    'others may create it once for each role',
    {
      joining: { user: { create: { check: IN } } },
      memberships: { indexes: [{ fields: ['user', 'role'], unique: true }] },
    },
    [],
  ],
  [
    'others may create it once for each team',
    {
      joining: { user: { create: { check: IN } } },
      memberships: { indexes: [{ fields: ['user', TEAM], unique: true }] },
    },
    [C],
  ],
  ['only its subject may create it', { joining: { user: { create: { check: { ...IN, ...USER } } } } }, []],
  ['others create it for nobody', { joining: { user: { create: { omit: ['user'], check: IN } } } }, []],

  ['text is compared with ids', reads({ text: { $in: '$user.teams' } }), [N]],
  ['a list of texts is compared with ids', reads({ teams: { $nin: '$user.teams' } }), [N]],
  ['a reference is compared with ids', reads({ team: { $in: '$user.teams' } }), []],
  ['its own id is compared with ids', reads({ _id: { $in: '$user.teams' } }), []],
  [
    'ids are compared with text',
    { ...claim({ take: 'role' }), ...reads({ team: { $in: '$user.teams' } }) },
    [N],
  ],
  [
    'text is compared with text',
    { ...claim({ take: 'role' }), ...reads({ text: { $in: '$user.teams' } }) },
    [],
  ],

  ['a rule believes an unverified identifier', reads({ text: '$user.email' }), [N]],
  ['a set believes one', sets({ text: '$user.email' }), [N]],
  [
    'a claim believes one',
    claim({ from: 'teams', where: { name: '$user.email', createdBy: '$user._id' }, take: '_id' }),
    [`${C}/where`, C],
  ],
  ['a rule believes another field', reads({ text: '$user.nick' }), []],
])('a warning: %s', (_, parts, warnings) => {
  expect(warningsOf(parts)).toEqual(warnings)
})
