import { describe, expect, test } from 'vitest'
import { createCollectionService } from '../../../../src/index.js'
import {
  auth,
  faultsOf,
  field,
  limits,
  notes,
  pathsOf,
  permissions,
  schema,
  users,
  warningsOf,
  where,
} from './support/configs.js'

const EMAIL = { type: 'string', unique: true }
const HASH = { type: 'hash' }
const AT = '/collections/notes'
const FIELD = `${AT}/schema/field`
const READ = `${AT}/permissions/user/read`

const SEMANTIC: readonly (readonly [title: string, config: unknown, ...paths: string[]])[] = [
  ['a default that is too long', field({ type: 'string', maxLength: 2, default: 'abc' }), `${FIELD}/default`],
  ['a default outside the enum', field({ type: 'string', enum: ['a'], default: 'b' }), `${FIELD}/default`],
  [
    'a default that does not match the pattern',
    field({ type: 'string', pattern: '^a', default: 'b' }),
    `${FIELD}/default`,
  ],
  [
    'a default without the format',
    field({ type: 'string', format: 'email', default: 'b' }),
    `${FIELD}/default`,
  ],
  ['a default below the minimum', field({ type: 'number', minimum: 1, default: 0 }), `${FIELD}/default`],
  ['a default that is no time', field({ type: 'timestamp', default: 'tomorrow' }), `${FIELD}/default`],
  [
    'a default before the earliest time',
    field({ type: 'timestamp', minimum: '2020-01-02', default: '2020-01-01' }),
    `${FIELD}/default`,
  ],
  [
    'a default with a wrong element',
    field({ type: 'array', items: { type: 'integer' }, default: [1, 'a'] }),
    `${FIELD}/default`,
  ],
  [
    'a default with too few elements',
    field({ type: 'array', items: { type: 'integer' }, minItems: 2, default: [1] }),
    `${FIELD}/default`,
  ],
  [
    'a default with an unknown property',
    field({ type: 'object', properties: {}, default: { a: 1 } }),
    `${FIELD}/default`,
  ],
  [
    'a wrong default inside an object',
    field({ type: 'object', properties: { a: { type: 'string', maxLength: 1, default: 'ab' } } }),
    `${FIELD}/properties/a/default`,
  ],
  [
    'an integer that no double holds as a default',
    field({ type: 'integer', default: 2 ** 53 }),
    `${FIELD}/default`,
  ],
  [
    'lengths that exclude each other',
    field({ type: 'string', minLength: 3, maxLength: 2 }),
    `${FIELD}/minLength`,
  ],
  [
    'lengths of a hash that exclude each other',
    field({ type: 'hash', minLength: 3, maxLength: 2 }),
    `${FIELD}/minLength`,
  ],
  ['bounds that exclude each other', field({ type: 'number', minimum: 1, maximum: 0 }), `${FIELD}/minimum`],
  [
    'times that exclude each other',
    field({ type: 'timestamp', minimum: '2020-01-01T01:00:00+02:00', maximum: '2019-12-31' }),
    `${FIELD}/minimum`,
  ],
  ['a time that is none', field({ type: 'timestamp', minimum: '2020-02-30' }), `${FIELD}/minimum`],
  [
    'numbers of elements that exclude each other',
    field({ type: 'array', items: { type: 'json' }, minItems: 2, maxItems: 1 }),
    `${FIELD}/minItems`,
  ],
  [
    'a fault inside items',
    field({ type: 'array', items: { type: 'string', minLength: 2, maxLength: 1 } }),
    `${FIELD}/items/minLength`,
  ],
  ['a pattern that cannot be read', field({ type: 'string', pattern: '(' }), `${FIELD}/pattern`],
  ['a pattern that looks ahead', field({ type: 'string', pattern: '(?=a)' }), `${FIELD}/pattern`],
  ['a pattern that looks back', field({ type: 'string', pattern: '(a)\\1' }), `${FIELD}/pattern`],
  [
    'a pattern with too many nodes',
    field({ type: 'string', pattern: '((a{100}){100}){100}' }),
    `${FIELD}/pattern`,
  ],
  ['a pattern of 513 characters', field({ type: 'string', pattern: 'a'.repeat(513) }), `${FIELD}/pattern`],
  [
    'a choice that trim would change',
    field({ type: 'string', enum: ['a', ' b'], trim: true }),
    `${FIELD}/enum/1`,
  ],
  [
    'a choice that lowercase would change',
    field({ type: 'string', enum: ['A'], lowercase: true }),
    `${FIELD}/enum/0`,
  ],
  [
    'fields that differ by case alone',
    schema({ name: { type: 'json' }, Name: { type: 'json' } }),
    `${AT}/schema/Name`,
  ],
  [
    'properties that differ by case alone',
    field({ type: 'object', properties: { a: { type: 'json' }, A: { type: 'json' } } }),
    `${FIELD}/properties/A`,
  ],
  [
    'collections that differ by case alone',
    { collections: { notes: { schema: {} }, NOTES: { schema: {} } } },
    '/collections/NOTES',
  ],
  [
    'an index of an unknown field',
    notes({ indexes: [{ fields: ['text', 'nope'] }] }),
    `${AT}/indexes/0/fields/1`,
  ],
  [
    'an index of an array of any length',
    notes({ indexes: [{ fields: ['tags'] }] }),
    `${AT}/schema/tags/maxItems`,
  ],
  [
    'an index of a hash',
    { collections: { notes: { schema: { secret: HASH }, indexes: [{ fields: ['secret'] }] } } },
    `${AT}/indexes/0/fields/0`,
  ],
  ['an index of a path', notes({ indexes: [{ fields: ['text.a'] }] }), `${AT}/indexes/0/fields/0`],
  [
    'unknown names in rules',
    permissions({ user: { read: { pick: ['text', 'nope'], omit: ['nope'] }, create: { omit: ['nope'] } } }),
    `${AT}/permissions/user/create/omit/0`,
    `${READ}/omit/0`,
    `${READ}/pick/1`,
  ],
  [
    'an unknown name in the plain form',
    permissions({ user: { pick: ['nope'] } }),
    `${AT}/permissions/user/pick/0`,
  ],
  ['a path in a rule', permissions({ user: { read: { pick: ['tags.0'] } } }), `${READ}/pick/0`],
  ['hiding the _id', permissions({ user: { read: { omit: ['_id'] } } }), `${READ}/omit/0`],
  [
    'a system field in a rule for writing',
    permissions({ user: { create: { pick: ['createdAt'] }, update: { omit: ['createdBy'] } } }),
    `${AT}/permissions/user/create/pick/0`,
    `${AT}/permissions/user/update/omit/0`,
  ],
  [
    'showing a hash',
    {
      collections: {
        notes: { schema: { secret: HASH }, permissions: { user: { read: { pick: ['secret'] } } } },
      },
    },
    `${READ}/pick/0`,
  ],
  [
    'a name in a rule that no property may have',
    {
      collections: {
        notes: { schema: {}, additionalProperties: true, permissions: { user: { read: { pick: ['_x'] } } } },
      },
    },
    `${READ}/pick/0`,
  ],
  ['an owner who creates', permissions({ owner: { create: true } }), `${AT}/permissions/owner/create`],
  ['an owner in the plain form', permissions({ owner: { pick: ['text'] } }), `${AT}/permissions/owner`],
  ['a filter on an unknown field', where({ nope: 1 }), `${READ}/where/nope`],
  ['a filter on a hash', where({ secret: 'x' }), `${READ}/where/secret`],
  ['a filter into an array', where({ 'tags.0': 'x' }), `${READ}/where/tags.0`],
  [
    'a filter with a value that the field never holds',
    where({ views: 'many', text: 1 }),
    `${READ}/where/text`,
    `${READ}/where/views`,
  ],
  ['a filter with half an integer', where({ views: { $gt: 1.5 } }), `${READ}/where/views/$gt`],
  ['a filter with an unknown operator', where({ views: { $more: 1 } }), `${READ}/where/views/$more`],
  ['a filter with no operator', where({ views: {} }), `${READ}/where/views`],
  ['a filter that orders null', where({ views: { $gt: null } }), `${READ}/where/views/$gt`],
  ['a filter that matches numbers', where({ views: { $regex: '1' } }), `${READ}/where/views/$regex`],
  [
    'a filter with a pattern that cannot be read',
    where({ text: { $regex: '(' } }),
    `${READ}/where/text/$regex`,
  ],
  [
    'a filter with options alone',
    where({ text: { $options: 'i' } }),
    `${READ}/where/text`,
    `${READ}/where/text/$options`,
  ],
  ['a filter with a list that is none', where({ views: { $in: 1 } }), `${READ}/where/views/$in`],
  ['a filter with a flag that is none', where({ views: { $exists: 1 } }), `${READ}/where/views/$exists`],
  ['a filter on an object', where({ place: { city: 'x' } }), `${READ}/where/place/city`],
  ['groups that are no array', where({ $or: { text: 'x' } }), `${READ}/where/$or`],
  ['no group', where({ $or: [] }), `${READ}/where/$or`],
  ['a fault within a group', where({ $and: [{ text: 'x' }, { nope: 1 }] }), `${READ}/where/$and/1/nope`],
  ['a field that callers do not have', where({ text: '$user.name' }), `${READ}/where/text`],
  ['a variable without a field', where({ text: '$user.' }), `${READ}/where/text`],
  ['a misspelt variable', where({ text: { $in: ['$users.x'] } }), `${READ}/where/text/$in`],
  ['a time where numbers are', where({ views: { $gt: '$now' } }), `${READ}/where/views/$gt`],
  ['a variable in a flag', where({ text: { $exists: '$user._id' } }), `${READ}/where/text/$exists`],
  [
    'a set of a system field',
    permissions({ user: { create: { set: { _id: 'x' } } } }),
    '/collections/notes/permissions/user/create/set/_id',
  ],
  [
    'a set of an unknown field',
    permissions({ user: { create: { set: { txt: 'x' } } } }),
    '/collections/notes/permissions/user/create/set/txt',
  ],
  [
    'a set of what the field refuses',
    permissions({ user: { create: { set: { text: 5 } } } }),
    '/collections/notes/permissions/user/create/set/text',
  ],
  ['accounts without an identifier', users({ password: HASH }), '/auth/identifier'],
  [
    'accounts with two identifiers',
    users({ email: EMAIL, phone: EMAIL, password: HASH }),
    '/auth/identifier',
  ],
  ['accounts with two secrets', users({ email: EMAIL, password: HASH, pin: HASH }), '/auth/secret'],
  [
    'an identifier that is not unique',
    users({ email: EMAIL, name: { type: 'string' }, password: HASH }, { auth: { identifier: 'name' } }),
    '/auth/identifier',
  ],
  [
    'an identifier that is a number',
    users(
      { email: EMAIL, age: { type: 'integer', unique: true }, password: HASH },
      { auth: { identifier: 'age' } },
    ),
    '/auth/identifier',
  ],
  [
    'an identifier that is the secret',
    users({ email: EMAIL, password: HASH }, { auth: { identifier: 'password' } }),
    '/auth/identifier',
  ],
  [
    'a secret that is no hash',
    users({ email: EMAIL, password: HASH }, { auth: { secret: 'email' } }),
    '/auth/secret',
  ],
  [
    'a secret that is named but not there',
    users({ email: EMAIL }, { auth: { secret: 'password' } }),
    '/auth/secret',
  ],
  [
    'accounts without a collection',
    { collections: {}, auth: { identifier: 'email', secret: 'password' } },
    '/auth/identifier',
    '/auth/secret',
  ],
  [
    'a role field that is not there',
    users({ email: EMAIL, password: HASH }, { auth: { roleField: 'role' } }),
    '/auth/roleField',
  ],
  ['a role field that is a number', auth({ roleField: 'age' }), '/auth/roleField'],
  ['a role field that is the secret', auth({ roleField: 'password' }), '/auth/roleField'],
  ['limits that exclude each other', limits({ defaultLimit: 11, maxLimit: 10 }), '/limits/defaultLimit'],
]

describe('a configuration of the right shape is refused', () => {
  test.each(SEMANTIC)('for %s', (_, config, ...paths) => {
    expect([...pathsOf(config)].sort()).toEqual([...paths].sort())
  })

  test.each([
    ['true', true],
    ['all operations as true', { create: true, read: true, update: true, delete: true }],
    [
      'all operations without a condition',
      { create: {}, read: { where: {} }, update: { omit: [] }, delete: {} },
    ],
  ])('in production for doors open to everyone, written as %s', (_, grant) => {
    expect(faultsOf(permissions({ '*': grant }), true).map(({ path }) => path)).toEqual([
      '/collections/notes/permissions/*',
    ])
    expect(warningsOf(permissions({ '*': grant }))).toHaveLength(1)
  })

  test.each(['*', 'user', 'editor'])(
    'by nobody, but with a warning, where the plain form shows every account to %s',
    (subject) => {
      const accounts = { email: { ...EMAIL, lowercase: true }, password: HASH }
      const config = {
        collections: { users: { schema: accounts, permissions: { [subject]: { pick: ['email'] } } } },
      }
      expect(warningsOf(config).map(({ code, path }) => [code, path])).toEqual([
        ['plain_form_on_users', `/collections/users/permissions/${subject}`],
      ])
      expect(warningsOf(permissions({ [subject]: { pick: ['text'] } }))).toEqual([])
    },
  )

  test('with all its faults at once, structural or not', () => {
    const config = {
      collections: {
        notes: {
          schema: {
            text: { type: 'string', minLength: 2, maxLength: 1 },
            kind: { type: 'string', enum: ['A'], lowercase: true },
          },
          permissions: { user: { read: { pick: ['txt'], where: { text: 1 } } }, owner: { create: true } },
          indexes: [{ fields: ['kind', 'nope'] }],
        },
        broken: { schema: { a: { type: 'array' }, b: { type: 'int' } }, colour: 'red' },
        auth: { schema: {} },
      },
      auth: { cost: 4 },
      limits: { defaultLimit: 2, maxLimit: 1 },
    }
    expect([...pathsOf(config)].sort()).toEqual([
      '/auth/cost',
      '/collections/auth',
      '/collections/broken/colour',
      '/collections/broken/schema/a/items',
      '/collections/broken/schema/b/type',
      '/collections/notes/indexes/0/fields/1',
      '/collections/notes/permissions/owner/create',
      '/collections/notes/permissions/user/read/pick/0',
      '/collections/notes/permissions/user/read/where/text',
      '/collections/notes/schema/kind/enum/0',
      '/collections/notes/schema/text/minLength',
      '/limits/defaultLimit',
    ])
  })

  test.each([
    ['a setting', { collection: {} }, '/collection', 'collections'],
    ['a setting of a collection', notes({ permission: {} }), '/collections/notes/permission', 'permissions'],
    ['a type', field({ type: 'interger' }), `${FIELD}/type`, 'integer'],
    ['an attribute', field({ type: 'string', maxlength: 1 }), `${FIELD}/maxlength`, 'maxLength'],
    ['an operation', permissions({ user: { raed: true } }), `${AT}/permissions/user/raed`, 'read'],
    ['a field in a rule', permissions({ user: { read: { pick: ['tgas'] } } }), `${READ}/pick/0`, 'tags'],
    ['a field in a filter', where({ txet: 'x' }), `${READ}/where/txet`, 'text'],
    ['a path in a filter', where({ 'place.ciyt': 'x' }), `${READ}/where/place.ciyt`, 'place.city'],
    ['an operator', where({ text: { $regexp: 'x' } }), `${READ}/where/text/$regexp`, '$regex'],
    [
      'a field in an index',
      notes({ indexes: [{ fields: ['createdat'] }] }),
      `${AT}/indexes/0/fields/0`,
      'createdAt',
    ],
    ['a setting of accounts', auth({ sessionDay: 1 }), '/auth/sessionDay', 'sessionDays'],
    ['an identifier', auth({ identifier: 'emial' }), '/auth/identifier', 'email'],
    ['a role field', auth({ roleField: 'roles' }), '/auth/roleField', 'role'],
    ['a limit', limits({ bodyByte: 1 }), '/limits/bodyByte', 'bodyBytes'],
    ['a format', field({ type: 'string', format: 'emial' }), `${FIELD}/format`, 'email'],
  ])('with the name that was meant where %s is misspelt', (_, config, path, meant) => {
    const fault = faultsOf(config).find((candidate) => candidate.path === path)
    expect(fault?.message).toContain(JSON.stringify(meant))
  })

  test.each([
    ['fields around a schema', notes({ fields: {} }), `${AT}/fields`, 'define fields directly in "schema"'],
    ['a JSON Schema', schema({ type: 'object' }), `${AT}/schema/type`, 'define fields directly in "schema"'],
    ['a list of required fields', schema({ required: ['a'] }), `${AT}/schema/required`, '"required": true'],
    ['a type alone', field('string'), FIELD, 'write { "type": "string" }'],
    [
      'a type alone of what stands in an array',
      field({ type: 'array', items: 'integer' }),
      `${FIELD}/items`,
      'write { "type": "integer" }',
    ],
    ['roles by operation', permissions({ read: ['*'] }), `${AT}/permissions/read`, 'the role comes first'],
    [
      'a role under an operation',
      permissions({ create: { '*': true } }),
      `${AT}/permissions/create/*`,
      'the role comes first',
    ],
  ])('with the form that is meant where it has %s', (_, config, path, hint) => {
    const told = faultsOf(config).filter(({ message }) => message.includes('('))
    expect(told.map((fault) => fault.path)).toEqual([path])
    expect(told[0]?.message).toContain(hint)
  })

  test('by the service with the same faults, under a stable code', () => {
    const config = field({ type: 'strng' })
    expect(() => createCollectionService(config)).toThrow(
      expect.objectContaining({ code: 'invalid_config', faults: faultsOf(config) }),
    )
  })
})
