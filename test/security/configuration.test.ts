import { afterEach, describe, expect, test, vi } from 'vitest'
import { ConfigError, createCollectionService } from '../../src/index.js'
import { createTestService, faultsOf } from '../support/service.js'
import { attack, type Case, CONFIG, FORBIDDEN, UNAUTHENTICATED } from './fixture.js'

// CONTRACT.md §1, "Faults", "Names"

type Json = { readonly [name: string]: unknown }

/** The places of a configuration at which faults are found. */
function faultPaths(config: unknown, options: { production?: boolean } = {}): readonly string[] {
  try {
    createTestService(config as Json, options)
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.faults.map(({ path }) => path)
    throw thrown
  }
  return []
}

const TEXT = { type: 'string' }
const withPermissions = (permissions: unknown, schema: Json = { x: TEXT }): Json => ({
  collections: { c: { schema, permissions } },
})
const withField = (x: unknown): Json => withPermissions({}, { x })
const withUsers = (schema: Json, auth?: Json): Json => ({
  collections: { users: { schema } },
  ...(auth ? { auth } : {}),
})

const EMAIL = { type: 'string', unique: true }
const SECRET = { type: 'hash' }

test.each<Case<[config: unknown, path: string]>>([
  ['nothing at all', {}, '/collections'],
  ['an array', [], ''],
  ['null', null, ''],
  ['a misspelt word at the top', { collections: {}, auht: {} }, '/auht'],
  ['misspelt permissions', { collections: { c: { schema: {}, permision: {} } } }, '/collections/c/permision'],
  ['no schema', { collections: { c: { permissions: {} } } }, '/collections/c/schema'],
  ['a misspelt attribute', withField({ type: 'string', uniq: true }), '/collections/c/schema/x/uniq'],
  ['a misspelt type', withField({ type: 'strng' }), '/collections/c/schema/x/type'],
  ['no type', withField({ unique: true }), '/collections/c/schema/x/type'],
  ['an inherited name as a type', withField({ type: 'toString' }), '/collections/c/schema/x/type'],
  ['an unknown format', withField({ type: 'string', format: 'mail' }), '/collections/c/schema/x/format'],
  ['an attribute of another type', withField({ type: 'number', trim: true }), '/collections/c/schema/x/trim'],
  ['a unique hash', withField({ type: 'hash', unique: true }), '/collections/c/schema/x/unique'],
  [
    'an index over an array of any length',
    withField({ type: 'array', items: { type: 'string' }, index: true }),
    '/collections/c/schema/x/maxItems',
  ],
  [
    'a unique array',
    withField({ type: 'array', items: { type: 'string' }, maxItems: 5, unique: true }),
    '/collections/c/schema/x/unique',
  ],
  ['a default secret', withField({ type: 'hash', default: 'changeme' }), '/collections/c/schema/x/default'],
  [
    'a hash inside an array',
    withField({ type: 'array', items: SECRET }),
    '/collections/c/schema/x/items/type',
  ],
  [
    'a hash inside an object',
    withField({ type: 'object', properties: { p: SECRET } }),
    '/collections/c/schema/x/properties/p/type',
  ],
  ['"true" as an attribute', withField({ type: 'string', unique: 'true' }), '/collections/c/schema/x/unique'],
  ['a pattern that is none', withField({ type: 'string', pattern: '(' }), '/collections/c/schema/x/pattern'],
  [
    'a pattern that looks ahead',
    withField({ type: 'string', pattern: '(?=a)' }),
    '/collections/c/schema/x/pattern',
  ],
  [
    'a pattern that refers back',
    withField({ type: 'string', pattern: '(a)\\1' }),
    '/collections/c/schema/x/pattern',
  ],
  ['a function', withField({ type: 'string', default: () => 'x' }), '/collections/c/schema/x/default'],
  ['a date', withField({ type: 'string', default: new Date(0) }), '/collections/c/schema/x/default'],
  ['not a number', { collections: {}, limits: { bodyBytes: Number.NaN } }, '/limits/bodyBytes'],
  ['a limit of nothing', { collections: {}, limits: { bodyBytes: 0 } }, '/limits/bodyBytes'],
  ['a limit as text', { collections: {}, limits: { queryBytes: '8192' } }, '/limits/queryBytes'],
  ['a misspelt limit', { collections: {}, limits: { bodybytes: 1 } }, '/limits/bodybytes'],
  ['no permissions but null', withPermissions(null), '/collections/c/permissions'],
  ['permissions as true', withPermissions(true), '/collections/c/permissions'],
  ...['true', 1, [], null, 0, '', 'read'].flatMap((grant): Case<[unknown, string]>[] => [
    [
      `the grant ${JSON.stringify(grant)} of a role`,
      withPermissions({ admin: grant }),
      '/collections/c/permissions/admin',
    ],
    [
      `the grant ${JSON.stringify(grant)} of everyone`,
      withPermissions({ '*': grant }),
      '/collections/c/permissions/*',
    ],
    [
      `the rule ${JSON.stringify(grant)}`,
      withPermissions({ '*': { read: grant } }),
      '/collections/c/permissions/*/read',
    ],
  ]),
  ['a subject without a name', withPermissions({ '': true }), '/collections/c/permissions/'],
  ['a misspelt operation', withPermissions({ '*': { reed: true } }), '/collections/c/permissions/*/reed'],
  [
    'a pick that is no array',
    withPermissions({ '*': { read: { pick: 'x' } } }),
    '/collections/c/permissions/*/read/pick',
  ],
  [
    'a pick that is true',
    withPermissions({ '*': { create: { pick: true } } }),
    '/collections/c/permissions/*/create/pick',
  ],
  [
    'an omit that is null',
    withPermissions({ '*': { read: { omit: null } } }),
    '/collections/c/permissions/*/read/omit',
  ],
  [
    'a pick of a number',
    withPermissions({ '*': { read: { pick: [0] } } }),
    '/collections/c/permissions/*/read/pick/0',
  ],
  [
    'a pick of an unknown field',
    withPermissions({ '*': { read: { pick: ['y'] } } }),
    '/collections/c/permissions/*/read/pick/0',
  ],
  [
    'an omit of an unknown field',
    withPermissions({ '*': { read: { omit: ['x', 'y'] } } }),
    '/collections/c/permissions/*/read/omit/1',
  ],
  [
    'a dotted omit',
    withPermissions({ '*': { read: { omit: ['x.y'] } } }, { x: { type: 'object', properties: { y: TEXT } } }),
    '/collections/c/permissions/*/read/omit/0',
  ],
  [
    'an omit of an inherited name',
    withPermissions({ '*': { read: { omit: ['constructor'] } } }),
    '/collections/c/permissions/*/read/omit/0',
  ],
  [
    'an omit of the id',
    withPermissions({ '*': { read: { omit: ['_id'] } } }),
    '/collections/c/permissions/*/read/omit/0',
  ],
  [
    'a system field to write',
    withPermissions({ '*': { create: { pick: ['createdBy'] } } }),
    '/collections/c/permissions/*/create/pick/0',
  ],
  [
    'a hash to read',
    withPermissions({ '*': { read: { pick: ['x'] } } }, { x: SECRET }),
    '/collections/c/permissions/*/read/pick/0',
  ],
  [
    'an owner who creates',
    withPermissions({ owner: { create: true } }),
    '/collections/c/permissions/owner/create',
  ],
  [
    'an owner in the plain form',
    withPermissions({ owner: { pick: ['x'] } }),
    '/collections/c/permissions/owner',
  ],
  [
    'a where on what is created',
    withPermissions({ '*': { create: { where: {} } } }),
    '/collections/c/permissions/*/create/where',
  ],
  [
    'a where on an unknown field',
    withPermissions({ '*': { read: { where: { y: 1 } } } }),
    '/collections/c/permissions/*/read/where/y',
  ],
  [
    'a where on a hash',
    withPermissions({ '*': { read: { where: { x: 'a' } } } }, { x: SECRET }),
    '/collections/c/permissions/*/read/where/x',
  ],
  [
    'a where with an unknown operator',
    withPermissions({ '*': { read: { where: { x: { $neq: 1 } } } } }),
    '/collections/c/permissions/*/read/where/x/$neq',
  ],
  [
    'a where with a value of another type',
    withPermissions({ '*': { read: { where: { x: 5 } } } }),
    '/collections/c/permissions/*/read/where/x',
  ],
  [
    'an empty condition',
    withPermissions({ '*': { read: { where: { x: {} } } } }),
    '/collections/c/permissions/*/read/where/x',
  ],
  [
    'a where that is an array',
    withPermissions({ '*': { read: { where: [] } } }),
    '/collections/c/permissions/*/read/where',
  ],
  ...[0, 3, 4, 9, 16, 32, '10', '12', 4.5, 10.5, Number.NaN, -1, null].map(
    (cost): Case<[unknown, string]> => [
      `hashes at cost ${typeof cost === 'string' ? JSON.stringify(cost) : cost}`,
      { ...CONFIG, auth: { ...CONFIG.auth, cost } },
      '/auth/cost',
    ],
  ),
  ['endless sessions', { ...CONFIG, auth: { ...CONFIG.auth, sessionDays: 1e9 } }, '/auth/sessionDays'],
  ['sessions without number', { ...CONFIG, auth: { ...CONFIG.auth, sessions: 1e9 } }, '/auth/sessions'],
  ['no sessions', { ...CONFIG, auth: { ...CONFIG.auth, sessions: 0 } }, '/auth/sessions'],
  ['sessions of no time', { ...CONFIG, auth: { ...CONFIG.auth, sessionDays: 0 } }, '/auth/sessionDays'],
  ['an identifier that is not unique', withUsers({ email: TEXT, pin: SECRET }), '/auth/identifier'],
  [
    'an identifier that is named and not unique',
    withUsers({ email: TEXT, pin: SECRET }, { identifier: 'email' }),
    '/auth/identifier',
  ],
  [
    'an identifier that is no text',
    withUsers({ n: { type: 'integer', unique: true }, pin: SECRET }, { identifier: 'n' }),
    '/auth/identifier',
  ],
  [
    'an identifier that is the secret',
    withUsers({ email: EMAIL, pin: SECRET }, { identifier: 'pin' }),
    '/auth/identifier',
  ],
  [
    'an identifier that is not there',
    withUsers({ email: EMAIL, pin: SECRET }, { identifier: 'toString' }),
    '/auth/identifier',
  ],
  [
    'two identifiers to choose from',
    withUsers({ email: EMAIL, mobile: EMAIL, pin: SECRET }),
    '/auth/identifier',
  ],
  [
    'a secret that is no hash',
    withUsers({ email: EMAIL, pin: SECRET, other: TEXT }, { secret: 'other' }),
    '/auth/secret',
  ],
  [
    'a secret that is the identifier',
    withUsers({ email: EMAIL, pin: SECRET }, { secret: 'email' }),
    '/auth/secret',
  ],
  ['two secrets to choose from', withUsers({ email: EMAIL, pin: SECRET, pass: SECRET }), '/auth/secret'],
  ['accounts without users', { collections: {}, auth: { identifier: 'email' } }, '/auth/identifier'],
  [
    'a role field that is not there',
    withUsers({ email: EMAIL, pin: SECRET }, { roleField: 'role' }),
    '/auth/roleField',
  ],
  [
    'a role field that is a number',
    withUsers({ email: EMAIL, pin: SECRET, role: { type: 'integer' } }, { roleField: 'role' }),
    '/auth/roleField',
  ],
])('a service does not start with %s', (_what, config, path) => {
  expect(faultPaths(config)).toContain(path)
})

const named = (name: string, value: unknown): Json =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`)

const NO_NAMES = [
  '__proto__',
  '_id',
  '_x',
  '$x',
  'a.b',
  'a[b]',
  'a b',
  '',
  '1a',
  'é',
  'a\n',
  'a/b',
  `a${'b'.repeat(63)}`,
]

test.each([...NO_NAMES, 'auth'])('no collection can be called %j', (name) => {
  const place = `/collections/${name.replaceAll('/', '~1')}`
  expect(faultPaths({ collections: named(name, { schema: {} }) })).toContain(place)
})

test.each([...NO_NAMES, 'constructor', 'prototype', 'createdAt', 'updatedAt', 'createdBy', 'a-b'])(
  'no field can be called %j',
  (name) => {
    const part = name.replaceAll('/', '~1')
    expect(faultPaths(withPermissions({}, named(name, TEXT)))).toContain(`/collections/c/schema/${part}`)
    const inside = withField({ type: 'object', properties: named(name, TEXT) })
    if (/^(?:created|updated)/.test(name)) return
    expect(faultPaths(inside)).toContain(`/collections/c/schema/x/properties/${part}`)
  },
)

test('names that differ by case alone are refused', () => {
  expect(faultPaths({ collections: { Posts: { schema: {} }, posts: { schema: {} } } })).toEqual([
    '/collections/posts',
  ])
  expect(faultPaths(withPermissions({}, { Title: TEXT, title: TEXT }))).toEqual([
    '/collections/c/schema/title',
  ])
})

test.each([
  'count',
  'auth',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'length',
  'meta',
  'id',
  `a${'b'.repeat(62)}`,
])('a field can be called %j, and works', async (name) => {
  const { send, list } = createTestService(withPermissions({ '*': true }, { [name]: TEXT }))
  expect((await send('POST /c', { body: { [name]: 'x' } })).status).toBe(201)
  expect((await send('POST /c', { body: {} })).status).toBe(201)
  expect(await list(`/c?q[${name}]="x"&project=["${name}"]`, name)).toEqual(['x'])
  const { body } = await send(`GET /c?sort[${name}]=-1`)
  expect(body.map((document: object) => Object.hasOwn(document, name))).toEqual([true, false])
  expect((await send(`GET /c/count?q[${name}]=null`)).body).toEqual({ total: 1 })
})

test('all faults are told at once', () => {
  const config = {
    collections: {
      'a.b': { schema: {} },
      c: { schema: { x: { type: 'strng' }, y: { type: 'string', uniq: true } } },
    },
    limits: { bulk: 0 },
    auht: {},
  }
  expect([...faultPaths(config)].sort()).toEqual(
    [
      '/auht',
      '/collections/a.b',
      '/collections/c/schema/x/type',
      '/collections/c/schema/y/uniq',
      '/limits/bulk',
    ].sort(),
  )
})

test.each<Case<[permissions: Json | undefined]>>([
  ['no permissions', undefined],
  ['empty permissions', {}],
  ['false for everyone', { '*': false }],
  ['no operation', { '*': {}, user: {} }],
  ['all operations false', { '*': { create: false, read: false, update: false, delete: false } }],
  ['grants for other roles only', { editor: true, User: true, Everyone: true }],
  ['grants for names of objects', { toString: true, constructor: true }],
])('%s means that nobody may do anything', async (_what, permissions) => {
  const config = { collections: { c: { schema: { x: TEXT }, ...(permissions ? { permissions } : {}) } } }
  const { refuse } = await attack(config, {})
  for (const line of ['GET /c', 'GET /c/count', 'POST /c']) {
    await refuse(line, UNAUTHENTICATED)
    await refuse(line, FORBIDDEN, {
      caller: { id: 'a', roles: ['admin', '__proto__', '*', 'user', 'owner'] },
    })
  }
})

test('an empty pick shows and accepts nothing', async () => {
  const permissions = {
    '*': { create: true, read: { pick: [] } },
    user: { create: { pick: [] }, read: { pick: [] } },
  }
  const { send } = await attack(withPermissions(permissions), {})
  const { status, body } = await send('POST /c', { body: { x: 'y' }, caller: { id: 'a' } })
  expect(status).toBe(201)
  expect(Object.keys(body)).toEqual(['_id'])
  expect(Object.keys((await send('POST /c', { body: { x: 'y' } })).body)).toEqual(['_id'])
  expect((await send('GET /c')).body.map((document: object) => Object.keys(document))).toEqual([
    ['_id'],
    ['_id'],
  ])
  expect(faultsOf(await send('GET /c?q[x]="y"'))).toEqual({ 'q[x]': 'unknown_field' })
})

test('a configuration that is changed afterwards changes nothing', async () => {
  const config = structuredClone(withPermissions({ user: { read: true } }))
  const { refuse } = await attack(config, {})
  const collection = (config.collections as { c: { permissions: { [subject: string]: unknown } } }).c
  collection.permissions['*'] = true
  collection.permissions.user = true
  await refuse('GET /c', UNAUTHENTICATED)
  await refuse('POST /c', FORBIDDEN, { caller: { id: 'a' }, body: {} })
})

test('a pattern in a schema takes linear time', async () => {
  const { send } = await attack(
    withPermissions(
      { '*': true },
      {
        x: { type: 'string', pattern: '^(a+)+$', maxLength: 5 },
        y: { type: 'string', pattern: '^(\\w+\\s?)*$' },
      },
    ),
    {},
  )
  const sent = await send('POST /c', { body: { x: `${'a'.repeat(60_000)}!`, y: `${'a'.repeat(60_000)}!` } })
  expect(sent.status).toBe(400)
  expect(Object.keys(faultsOf(sent))).toEqual(['/x', '/y'])
})

describe('a door that is open to everyone', () => {
  const EVERYTHING: readonly Case<[grant: unknown]>[] = [
    ['true', true],
    ['four times true', { create: true, read: true, update: true, delete: true }],
    ['four empty rules', { create: {}, read: {}, update: {}, delete: {} }],
    ['empty omits', { create: { omit: [] }, read: { omit: [] }, update: { omit: [] }, delete: true }],
    ['an empty where', { create: true, read: { where: {} }, update: { where: {} }, delete: { where: {} } }],
  ]

  test.each(EVERYTHING)('is a warning, and in production an error: %s', (_what, grant) => {
    for (const name of ['users', 'posts']) {
      const config = { collections: { [name]: { schema: { x: TEXT }, permissions: { '*': grant } } } }
      expect(createTestService(config).logged).toHaveLength(1)
      expect(faultPaths(config, { production: true })).toEqual([`/collections/${name}/permissions/*`])
    }
  })

  test.each<Case<[permissions: Json]>>([
    ['true for a role', { admin: true }],
    ['true for the signed-in', { user: true }],
    ['reading for everyone', { '*': { read: true } }],
    ['everything but deletion', { '*': { create: true, read: true, update: true } }],
    [
      'everything but one field',
      { '*': { create: true, read: { omit: ['x'] }, update: true, delete: true } },
    ],
    [
      'everything on some documents',
      { '*': { create: true, read: true, update: { where: { x: 'a' } }, delete: true } },
    ],
  ])('is not %s', (_what, permissions) => {
    expect(faultPaths(withPermissions(permissions), { production: true })).toEqual([])
    expect(createTestService(withPermissions(permissions)).logged).toEqual([])
  })

  test.each(['*', 'user', 'admin'])(
    'the plain form is a warning on users, where %j then reads every account',
    (subject) => {
      const collection = { schema: { x: TEXT }, permissions: { [subject]: { pick: ['x'] } } }
      expect(createTestService({ collections: { users: collection } }).logged).toHaveLength(1)
      expect(createTestService({ collections: { posts: collection } }).logged).toEqual([])
    },
  )

  afterEach(() => {
    vi.unstubAllEnvs()
  })

  test.each([
    ['production', ConfigError],
    ['development', null],
    ['', null],
  ])('is judged by the environment where nothing else is said: NODE_ENV=%j', (environment, error) => {
    vi.stubEnv('NODE_ENV', environment)
    const create = () =>
      createCollectionService(withPermissions({ '*': true }), undefined, { logger: { warn() {} } })
    if (error) expect(create).toThrow(error)
    else expect(create).not.toThrow()
  })
})
