import { describe, expect, test } from 'vitest'
import { type Caller, ConfigError } from '../../src/index.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §5, "Variables"

const schema = {
  name: { type: 'string' },
  team: { type: 'string' },
  tags: { type: 'array', items: { type: 'string' } },
  level: { type: 'integer' },
  at: { type: 'timestamp' },
  notes: { type: 'json' },
}

const DOCUMENTS = [
  { name: 'in red', team: 'red', tags: ['red'], level: 1 },
  { name: 'in blue', team: 'blue', tags: ['blue', 'green'], level: 2 },
  { name: 'in none' },
]

/** Not a copy: what is inherited stays so. */
const callerWith = (fields: object): Caller => Object.assign(fields, { id: 'ann' })
const auditor: Caller = { id: 'zoe', roles: ['auditor'] }

/**
 * What each of some conditions lets a caller read, count and create of the three documents: every one of them is the
 * `where` and the `check` of a role.
 */
async function reachesOf(conditions: readonly unknown[], fields: object) {
  const roles = conditions.map((condition, i) => [`role ${i}`, condition] as const)
  const granted = roles.map(([role, where]) => [role, { read: { where }, create: { check: where } }])
  const { list, send } = createTestService(
    {
      collections: {
        things: { schema, permissions: { ...Object.fromEntries(granted), auditor: { read: true } } },
      },
    },
    { authenticate: () => null, documents: { things: DOCUMENTS } },
  )
  const reaches: { read: unknown[]; created: string[] }[] = []
  for (const [role] of roles) {
    const caller = Object.assign(callerWith(fields), { roles: [role] })
    const read = await list('/things', 'name', { caller })
    expect((await send('GET /things/count', { caller })).body).toEqual({ total: read.length })
    reaches.push({ read, created: [] })
  }
  for (const [i, [role]] of roles.entries()) {
    const caller = Object.assign(callerWith(fields), { roles: [role] })
    for (const body of DOCUMENTS) {
      const { status } = await send('POST /things', { body, caller })
      expect([201, 403]).toContain(status)
      if (status === 201) reaches[i]?.created.push(body.name)
    }
  }
  const stored = (await send('GET /things/count', { caller: auditor })).body.total
  expect(stored).toBe(DOCUMENTS.length + reaches.flatMap(({ created }) => created).length)
  return reaches
}

const reachOf = async (condition: unknown, fields: object) => (await reachesOf([condition], fields))[0]

/** That none of some conditions lets a caller read or create anything. */
async function expectNothing(conditions: readonly unknown[], fields: object): Promise<void> {
  expect(await reachesOf(conditions, fields)).toEqual(conditions.map(() => NOTHING))
}

const NOTHING = { read: [], created: [] }
const only = (...names: string[]) => ({ read: names, created: names })

class Member {
  readonly own = 'blue'
  get team(): string {
    return 'red'
  }
}

const NOT_HELD: readonly (readonly [what: string, teams: unknown])[] = [
  ['null alone', [null]],
  ['null among others', ['red', null]],
  ['null before others', [null, 'red', 'blue']],
  ['undefined alone', [undefined]],
  ['undefined among others', ['red', undefined]],
  ['an array in an array', [['red']]],
  ['an array beside a value', ['red', ['blue']]],
  ['an array of null in an array', [[null]]],
  ['an empty array in an array', [[]]],
  ['an object', [{ team: 'red' }]],
  ['a value of another type', ['red', 5]],
  ['a boolean', [true]],
  ['no number', ['red', Number.NaN]],
]

describe('a list that the caller does not hold in full matches nothing', () => {
  test.each(NOT_HELD)('%s', async (_, teams) => {
    const conditions = ['team', 'tags'].flatMap((field) =>
      ['$in', '$nin'].map((operator) => ({ [field]: { [operator]: '$user.teams' } })),
    )
    await expectNothing(conditions, { teams })
  })

  test.each([
    ['nothing', {}],
    ['null', { teams: null }],
    ['undefined', { teams: undefined }],
    ['text', { teams: 'red' }],
    ['an object', { teams: { 0: 'red', length: 1 } }],
    ['a set', { teams: new Set(['red']) }],
  ])('no list at all: %s', async (_, fields) => {
    await expectNothing([{ team: { $in: '$user.teams' } }, { team: { $nin: '$user.teams' } }], fields)
  })

  test('beside what holds', async () => {
    const fields = { teams: [null], team: 'red' }
    const both = { $or: [{ team: { $nin: '$user.teams' } }, { team: '$user.team' }] }
    expect(await reachOf(both, fields)).toEqual(only('in red'))
    const all = { $and: [{ team: { $nin: '$user.teams' } }, { team: '$user.team' }] }
    expect(await reachOf(all, fields)).toEqual(NOTHING)
  })
})

describe('a list that the caller holds', () => {
  test.each<[what: string, condition: object, teams: string[], expected: string[]]>([
    ['$in', { team: { $in: '$user.teams' } }, ['red', 'green'], ['in red']],
    ['$nin', { team: { $nin: '$user.teams' } }, ['red', 'green'], ['in blue', 'in none']],
    ['$in of an array', { tags: { $in: '$user.teams' } }, ['green'], ['in blue']],
    ['$nin of an array', { tags: { $nin: '$user.teams' } }, ['green'], ['in red', 'in none']],
    ['an empty $in', { team: { $in: '$user.teams' } }, [], []],
    ['an empty $nin', { team: { $nin: '$user.teams' } }, [], ['in red', 'in blue', 'in none']],
  ])('decides: %s', async (_, condition, teams, expected) => {
    expect(await reachOf(condition, { teams })).toEqual(only(...expected))
  })
})

describe('a value that the caller does not hold matches nothing, whatever the operator', () => {
  const OPERATORS = ['$eq', '$ne', '$gt', '$lt', '$gte', '$lte']

  test.each<[what: string, fields: object]>([
    ['null', { team: null }],
    ['undefined', { team: undefined }],
    ['nothing', {}],
    ['a number for a text', { team: 5 }],
    ['an array', { team: ['red'] }],
    ['an array of null', { team: [null] }],
    ['an empty array', { team: [] }],
    ['an object', { team: {} }],
    ['a function', { team: () => 'red' }],
  ])('%s', async (_, fields) => {
    const compared = OPERATORS.map((operator) => ({ team: { [operator]: '$user.team' } }))
    const listed = ['$in', '$nin'].map((operator) => ({ team: { [operator]: ['blue', '$user.team'] } }))
    await expectNothing([{ team: '$user.team' }, ...compared, ...listed], fields)
  })

  test.each<[path: string, fields: object]>([
    ['toString', {}],
    ['constructor', {}],
    ['constructor.name', {}],
    ['hasOwnProperty', {}],
    ['__proto__', {}],
    ['profile.toString', { profile: {} }],
    ['profile.team', { profile: new Member() }],
    ['profile.team', { profile: Object.create({ team: 'red' }) }],
    ['team.length', { team: 'red' }],
    ['teams.length', { teams: ['red'] }],
    ['teams.0', { teams: ['red'] }],
    ['group', Object.create({ group: 'red' })],
  ])('what is not its own: $user.%s', async (path, fields) => {
    const variable = `$user.${path}`
    await expectNothing([{ team: { $eq: variable } }, { team: { $ne: variable } }], fields)
  })

  test.each(['toString', 'constructor', '__proto__', 'profile.toString', 'missing', 'nothing'])(
    'and is set nowhere: $user.%s',
    async (path) => {
      const { send } = createTestService(
        {
          collections: {
            things: {
              schema,
              permissions: { user: { create: { set: { notes: `$user.${path}` } }, read: true } },
            },
          },
        },
        { authenticate: () => null },
      )
      const caller = callerWith({ profile: {}, nothing: null })
      expect((await send('POST /things', { body: { name: 'a' }, caller })).status).toBe(403)
      expect((await send('GET /things/count', { caller })).body).toEqual({ total: 0 })
    },
  )

  test('what is own of an instance counts', async () => {
    expect(await reachOf({ team: '$user.profile.own' }, { profile: new Member() })).toEqual(only('in blue'))
  })
})

describe('what looks like a variable and is none keeps the service from starting', () => {
  const faultsOf = (permissions: object, hasHost = true): readonly string[] => {
    const config = {
      collections: {
        things: { schema, permissions },
        users: {
          schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } },
          permissions: {},
        },
      },
    }
    try {
      createTestService(config, hasHost ? { authenticate: () => null } : {})
    } catch (thrown) {
      if (thrown instanceof ConfigError) return thrown.faults.map(({ path }) => path)
      throw thrown
    }
    return []
  }
  const at = '/collections/things/permissions/user'

  test.each([
    '$user',
    '$user.',
    '$users.team',
    '$User.team',
    '$USER.team',
    '$user:team',
    '$user[team]',
    '$user team',
    '$NOW',
    '$Now',
    '$now()',
    '$now.date',
    '$me',
    '$me.team',
    '$usr.team',
    '$nwo',
    '$nowhere',
    '$usera',
    '$CURRENT_USER',
    '$auth.uid',
    '$_id',
  ])('%s', (text) => {
    expect(faultsOf({ user: { read: { where: { team: text } } } })).toEqual([`${at}/read/where/team`])
    expect(faultsOf({ user: { read: { where: { team: { $ne: text } } } } })).toEqual([
      `${at}/read/where/team/$ne`,
    ])
    expect(faultsOf({ user: { read: { where: { team: { $in: ['a', text] } } } } })).toEqual([
      `${at}/read/where/team/$in`,
    ])
    expect(faultsOf({ user: { create: { check: { $or: [{ team: text }] } } } })).toEqual([
      `${at}/create/check/$or/0/team`,
    ])
    expect(faultsOf({ user: { create: { set: { team: text } } } })).toEqual([`${at}/create/set/team`])
    expect(faultsOf({ user: { create: { set: { notes: { deep: [text] } } } } })).toEqual([
      `${at}/create/set/notes`,
    ])
  })

  test.each(['$100', '$5', '$', '$$now', '$.team', 'user.team', ' $now', 'a $user.team'])(
    'but not text with a dollar: %j',
    (text) => {
      expect(
        faultsOf({ user: { read: { where: { team: text } }, create: { set: { team: text } } } }),
      ).toEqual([])
    },
  )

  test('but not a pattern', async () => {
    expect(faultsOf({ user: { read: { where: { team: { $regex: '$user' } } } } })).toEqual([])
    const reach = { user: { read: { where: { team: { $regex: '^\\$ref$' } } } } }
    const { list } = createTestService(
      { collections: { things: { schema, permissions: reach } } },
      { authenticate: () => null, documents: { things: [{ team: '$ref' }, { team: '$refs' }] } },
    )
    expect(await list('/things', 'team', { caller: auditor })).toEqual(['$ref'])
  })

  test.each<[text: string, meant: string | undefined]>([
    ['$usr.team', '"$user.team"'],
    ['$User.team', '"$user.team"'],
    ['$nwo', '"$now"'],
    ['$CURRENT_USER', undefined],
  ])('and it says what may be meant: %s', (text, meant) => {
    const create = () =>
      createTestService(
        { collections: { things: { schema, permissions: { user: { read: { where: { team: text } } } } } } },
        { authenticate: () => null },
      )
    expect(create).toThrow(ConfigError)
    if (meant) expect(create).toThrow(`did you mean ${meant}?`)
    else expect(create).not.toThrow('did you mean')
  })

  test('in a claim', () => {
    const claims = { own: { from: 'things', where: { team: '$usr.team' }, take: 'name' } }
    expect(() =>
      createTestService(
        { collections: { things: { schema, permissions: {} } }, auth: { claims } },
        { authenticate: () => null },
      ),
    ).toThrow('/auth/claims/own/where/team')
  })

  test.each<[definition: object, isFault: boolean]>([
    [{ type: 'string', default: '$user._id' }, true],
    [{ type: 'string', default: '$now' }, true],
    [{ type: 'string', default: '$nwo' }, true],
    [{ type: 'reference', collection: 'things', default: '$user._id' }, true],
    [{ type: 'array', items: { type: 'string' }, default: ['a', '$user.team'] }, true],
    [{ type: 'json', default: { at: '$now' } }, true],
    [{ type: 'timestamp', default: '$user.at' }, true],
    [{ type: 'timestamp', default: '$now' }, false],
    [{ type: 'string', default: '$5' }, false],
    [{ type: 'json', default: { $now: 'a' } }, false],
  ])('in a default: %j', (definition, isFault) => {
    const faults: string[] = []
    for (const [field, at] of [
      [definition, 'x/default'],
      [{ type: 'object', properties: { x: definition } }, 'x/properties/x/default'],
    ]) {
      try {
        createTestService({ collections: { things: { schema: { x: field }, permissions: {} } } })
      } catch (thrown) {
        if (!(thrown instanceof ConfigError)) throw thrown
        faults.push(...thrown.faults.map(({ path }) => path))
      }
      expect(faults.splice(0)).toEqual(isFault ? [`/collections/things/schema/${at}`] : [])
    }
  })

  test.each(['$user.missing', '$user.password', '$user.toString', '$user.__proto__', '$user.email.x'])(
    'nor is a name that accounts do not have: %s',
    (text) => {
      expect(faultsOf({ user: { read: { where: { team: text } } } }, false)).toEqual([
        `${at}/read/where/team`,
      ])
      expect(faultsOf({ user: { create: { set: { team: text } } } }, false)).toEqual([
        `${at}/create/set/team`,
      ])
    },
  )
})

describe('$now', () => {
  const NOON = Date.parse('2026-11-20T12:00:00Z')
  const times = [
    { name: 'before', at: '2026-11-20T11:59:59.999Z' },
    { name: 'at noon', at: '2026-11-20T13:00:00+01:00' },
    { name: 'after', at: '2026-11-20T12:00:00.001Z' },
    { name: 'never' },
  ]

  test.each<[condition: unknown, expected: string[]]>([
    ['$now', ['at noon']],
    [{ $lte: '$now' }, ['before', 'at noon']],
    [{ $lt: '$now' }, ['before']],
    [{ $gte: '$now' }, ['at noon', 'after']],
    [{ $gt: '$now' }, ['after']],
    [{ $ne: '$now' }, ['before', 'after', 'never']],
    [{ $in: ['$now', '2026-11-20T12:00:00.001Z'] }, ['at noon', 'after']],
    [{ $nin: ['$now'] }, ['before', 'after', 'never']],
    [{ $gt: '2026-11-20', $lt: '$now' }, ['before']],
  ])('in a where is the time of the request: %j', async (at, expected) => {
    const { list, send } = createTestService(
      { collections: { things: { schema, permissions: { '*': { read: { where: { at } } } } } } },
      { now: () => NOON, documents: { things: times } },
    )
    expect(await list('/things', 'name')).toEqual(expected)
    expect((await send('GET /things/count')).body).toEqual({ total: expected.length })
  })

  test('moves with the clock', async () => {
    let now = NOON
    const { list } = createTestService(
      {
        collections: {
          things: { schema, permissions: { '*': { read: { where: { at: { $lte: '$now' } } } } } },
        },
      },
      { now: () => now, documents: { things: times } },
    )
    expect(await list('/things', 'name')).toEqual(['before', 'at noon'])
    now += 1
    expect(await list('/things', 'name')).toEqual(['before', 'at noon', 'after'])
    now -= 60_000
    expect(await list('/things', 'name')).toEqual([])
  })

  test('decides on creations too, for system fields as well', async () => {
    const check = { createdAt: '$now', at: { $gte: '$now' } }
    const { send } = createTestService(
      { collections: { things: { schema, permissions: { '*': { create: { check }, read: true } } } } },
      { now: () => NOON },
    )
    const statuses: number[] = []
    for (const body of times) statuses.push((await send('POST /things', { body })).status)
    expect(statuses).toEqual([403, 201, 201, 403])
  })
})

describe('a form that can never hold is a fault of the configuration', () => {
  const fields = {
    ...schema,
    teams: { type: 'array', items: { type: 'string' } },
    place: {
      type: 'object',
      properties: { city: { type: 'string' }, roads: { type: 'array', items: { type: 'string' } } },
    },
  }
  /** Where a condition is at fault, as the `where` of a read and the `check` of a create. */
  const faultsOf = (
    condition: object,
    options: { readonly authenticate?: () => null },
  ): readonly string[] => {
    const permissions = { user: { read: { where: condition }, create: { check: condition } } }
    const config = { collections: { users: { schema: fields }, things: { schema, permissions } } }
    try {
      createTestService(config, options)
      return []
    } catch (thrown) {
      if (thrown instanceof ConfigError) return thrown.faults.map(({ path }) => path)
      throw thrown
    }
  }
  const at = (path: string): readonly string[] =>
    ['create/check', 'read/where'].map((rule) => `/collections/things/permissions/user/${rule}/${path}`)

  const LISTS = ['$in', '$nin']
  const SINGLES = ['$eq', '$ne', '$gt', '$lte']
  const NEVER = [
    ...LISTS.flatMap((operator) => [
      ['at', operator, '$now'],
      ['name', operator, '$user._id'],
    ]),
  ]
  const NEVER_BY_SCHEMA = [
    ...LISTS.flatMap((operator) =>
      [
        '$user.team',
        '$user.createdAt',
        '$user.createdBy',
        '$user.place.city',
        '$user.place',
        ['$user.teams'],
        ['a', '$user.place'],
      ].map((operand) => ['name', operator, operand]),
    ),
    ...SINGLES.flatMap((operator) =>
      ['$user.teams', '$user.place', '$user.place.roads'].map((operand) => ['name', operator, operand]),
    ),
  ]
  const EVER = [
    ...LISTS.flatMap((operator) =>
      [
        ['at', ['$now']],
        ['name', ['$user._id', 'a']],
        ['name', ['$user.team']],
        ['name', '$user.teams'],
        ['name', '$user.place.roads'],
        ['name', '$user.notes'],
        ['name', ['$user.notes']],
      ].map(([field, operand]) => [field, operator, operand]),
    ),
    ...SINGLES.map((operator) => ['name', operator, '$user.notes']),
    ...SINGLES.map((operator) => ['at', operator, '$now']),
  ]

  test.each(NEVER)('%s: { %s: %j }, for every caller', (field, operator, operand) => {
    const condition = { [String(field)]: { [String(operator)]: operand } }
    for (const options of [{}, { authenticate: () => null }]) {
      expect([...faultsOf(condition, options)].sort()).toEqual(at(`${field}/${operator}`))
    }
  })

  test.each(NEVER_BY_SCHEMA)(
    '%s: { %s: %j }, unless a host knows its callers',
    (field, operator, operand) => {
      const condition = { [String(field)]: { [String(operator)]: operand } }
      expect([...faultsOf(condition, {})].sort()).toEqual(at(`${field}/${operator}`))
      expect(faultsOf(condition, { authenticate: () => null })).toEqual([])
    },
  )

  test.each(EVER)('not %s: { %s: %j }', (field, operator, operand) => {
    const condition = { [String(field)]: { [String(operator)]: operand } }
    for (const options of [{}, { authenticate: () => null }]) expect(faultsOf(condition, options)).toEqual([])
  })

  test('nor a plain value that is one', () => {
    expect([...faultsOf({ name: '$user.teams' }, {})].sort()).toEqual(at('name'))
    expect(faultsOf({ name: '$user.team' }, {})).toEqual([])
  })
})
