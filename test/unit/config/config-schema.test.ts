import { runInNewContext } from 'node:vm'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { compileConfig } from '../../../src/config/compile-config.js'
import { publishedConfigSchema } from '../../../src/config/shape/config-schema.js'
import {
  ConfigError,
  type ConfigFault,
  createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
} from '../../../src/index.js'

const field = (definition: unknown) => ({ collections: { notes: { schema: { field: definition } } } })
const schema = (fields: unknown) => ({ collections: { notes: { schema: fields } } })
const notes = (settings: object) => ({
  collections: {
    notes: {
      schema: { text: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
      ...settings,
    },
  },
})
const permissions = (grants: unknown) => notes({ permissions: grants })
const limits = (values: unknown) => ({ collections: {}, limits: values })
const auth = (values: unknown) => ({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true },
        password: { type: 'hash' },
        role: { type: 'string' },
        age: { type: 'integer' },
      },
    },
  },
  auth: values,
})

/** The faults of a configuration; anything but a `ConfigError` is thrown on. */
function faultsOf(config: unknown, production = false): readonly ConfigFault[] {
  try {
    compileConfig(config, { production, hasAuthenticate: false })
    return []
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.faults
    throw thrown
  }
}

const pathsOf = (config: unknown): readonly string[] => faultsOf(config).map(({ path }) => path)

const GOOD: readonly (readonly [title: string, config: unknown])[] = [
  ['no collections', { collections: {} }],
  ['a $schema', { $schema: './node_modules/collection-service/dist/config.schema.json', collections: {} }],
  ['an empty schema', schema({})],
  [
    'empty settings of every kind',
    { collections: { notes: { schema: {}, permissions: {}, indexes: [] } }, auth: {}, limits: {} },
  ],
  ['a collection with hyphens and digits', { collections: { 'my-Notes_2': { schema: {} } } }],
  ['a collection with 63 letters', { collections: { ['n'.repeat(63)]: { schema: {} } } }],
  ['a field called count', schema({ count: { type: 'integer' } })],
  ['a field with 63 letters', schema({ ['f'.repeat(63)]: { type: 'json' } })],
  [
    'a field with a name that objects inherit',
    schema({ toString: { type: 'string' }, hasOwnProperty: { type: 'boolean' } }),
  ],
  [
    'a string with everything',
    field({
      type: 'string',
      minLength: 1,
      maxLength: 9,
      pattern: '^[a-z]+$',
      enum: ['ab', 'cd'],
      trim: true,
      lowercase: true,
      default: 'ab',
      unique: true,
      index: true,
      immutable: true,
      description: 'x',
    }),
  ],
  ...['email', 'uri', 'uuid', 'date', 'time', 'ipv4', 'ipv6', 'hostname'].map(
    (format) => [`the format ${format}`, field({ type: 'string', format })] as const,
  ),
  ['a hash with lengths', field({ type: 'hash', required: true, minLength: 8, maxLength: 72 })],
  [
    'a number with everything',
    field({ type: 'number', minimum: -1.5, maximum: 2.5, enum: [0.5, 1], default: 1 }),
  ],
  [
    'an integer with everything',
    field({ type: 'integer', minimum: 0, maximum: 9, enum: [0, 9], default: 9 }),
  ],
  ['an integer written with a fraction of zero', field({ type: 'integer', default: 2.0 })],
  ['a boolean', field({ type: 'boolean', default: false, nullable: true })],
  [
    'a timestamp that begins now',
    field({
      type: 'timestamp',
      default: '$now',
      minimum: '2020-01-01',
      maximum: '2030-01-01T00:00:00+02:00',
    }),
  ],
  [
    'an array with everything',
    field({
      type: 'array',
      items: { type: 'integer', minimum: 1 },
      minItems: 1,
      maxItems: 3,
      default: [1, 2],
    }),
  ],
  [
    'an array of arrays of objects',
    field({
      type: 'array',
      items: { type: 'array', items: { type: 'object', properties: { a: { type: 'json' } } } },
    }),
  ],
  [
    'an object of objects',
    field({
      type: 'object',
      properties: { a: { type: 'object', properties: { b: { type: 'string', required: true } } } },
    }),
  ],
  ['an object without properties', field({ type: 'object', properties: {} })],
  ['any JSON with any default', field({ type: 'json', default: { a: [null, { b: 1 }] } })],
  ['a nullable field that is not required', field({ type: 'string', nullable: true, required: false })],
  ['a required field that is not nullable', field({ type: 'string', nullable: false, required: true })],
  ['undeclared properties', notes({ additionalProperties: true })],
  ['indexes', notes({ indexes: [{ fields: ['text', 'createdAt'], unique: true }, { fields: ['_id'] }] })],
  ['grants that are true and false', permissions({ '*': false, user: true, owner: true, editor: false })],
  ['grants by operation', permissions({ user: { create: true, read: true, update: false, delete: true } })],
  [
    'rules',
    permissions({
      user: {
        create: { pick: ['text'] },
        read: { omit: ['tags'], where: { text: 'x' } },
        update: { pick: [], where: {} },
        delete: { where: { text: { $ne: 'x' } } },
      },
    }),
  ],
  ['the plain form', permissions({ user: { pick: ['text', 'tags'], omit: ['tags'] }, '*': { omit: [] } })],
  ['no grant at all', permissions({ user: {} })],
  ['a role with any name', permissions({ 'Chief Editor / €': true, constructor: true })],
  [
    'accounts with everything',
    auth({
      identifier: 'email',
      secret: 'password',
      roleField: 'role',
      register: false,
      sessionDays: 0.5,
      cost: 15,
    }),
  ],
  [
    'limits with everything',
    limits({
      defaultLimit: 10,
      maxLimit: 10,
      bodyBytes: 1,
      queryBytes: 1,
      conditions: 1,
      values: 1,
      bulk: 1,
      requestSeconds: 0.1,
    }),
  ],
  ['limits that are none', limits({ defaultLimit: null, maxLimit: null })],
]

const BAD: readonly (readonly [title: string, config: unknown, path: string])[] = [
  ['null', null, ''],
  ['an array', [], ''],
  ['a text', '{}', ''],
  ['nothing', {}, '/collections'],
  ['an unknown setting', { collections: {}, plugins: [] }, '/plugins'],
  ['collections in an array', { collections: [] }, '/collections'],
  ['a collection that is null', { collections: { notes: null } }, '/collections/notes'],
  [
    'a collection without a schema',
    { collections: { notes: { permissions: {} } } },
    '/collections/notes/schema',
  ],
  ['an unknown setting of a collection', notes({ permision: {} }), '/collections/notes/permision'],
  ...[
    'auth',
    'constructor',
    'prototype',
    '_notes',
    '$notes',
    '1st',
    'a.b',
    'a b',
    '',
    'é',
    'n'.repeat(64),
  ].map(
    (name) =>
      [
        `the collection name "${name}"`,
        { collections: { [name]: { schema: {} } } },
        `/collections/${name}`,
      ] as const,
  ),
  ...[
    'createdAt',
    'updatedAt',
    'createdBy',
    'constructor',
    'prototype',
    '_id',
    '_x',
    '$x',
    'a.b',
    'a[b]',
    'a-b',
    '',
    'f'.repeat(64),
  ].map(
    (name) =>
      [
        `the field name "${name}"`,
        schema({ [name]: { type: 'json' } }),
        `/collections/notes/schema/${name}`,
      ] as const,
  ),
  [
    'a reserved name inside an object',
    field({ type: 'object', properties: { createdAt: { type: 'json' } } }),
    '/collections/notes/schema/field/properties/createdAt',
  ],
  ['a field without a type', field({ required: true }), '/collections/notes/schema/field/type'],
  ['a field that is a text', field('string'), '/collections/notes/schema/field'],
  ['an unknown type', field({ type: 'strng' }), '/collections/notes/schema/field/type'],
  ['a type that objects inherit', field({ type: 'constructor' }), '/collections/notes/schema/field/type'],
  ['a reference to nothing', field({ type: 'reference' }), '/collections/notes/schema/field/collection'],
  ['several types', field({ type: ['string', 'number'] }), '/collections/notes/schema/field/type'],
  ['an unknown attribute', field({ type: 'string', uniq: true }), '/collections/notes/schema/field/uniq'],
  [
    'an attribute of another type',
    field({ type: 'integer', pattern: 'x' }),
    '/collections/notes/schema/field/pattern',
  ],
  [
    'a flag that is a text',
    field({ type: 'string', required: 'true' }),
    '/collections/notes/schema/field/required',
  ],
  [
    'an unknown format',
    field({ type: 'string', format: 'e-mail' }),
    '/collections/notes/schema/field/format',
  ],
  [
    'a negative length',
    field({ type: 'string', minLength: -1 }),
    '/collections/notes/schema/field/minLength',
  ],
  ['half a length', field({ type: 'string', maxLength: 1.5 }), '/collections/notes/schema/field/maxLength'],
  ['an empty enum', field({ type: 'string', enum: [] }), '/collections/notes/schema/field/enum'],
  [
    'an enum that repeats itself',
    field({ type: 'string', enum: ['a', 'a'] }),
    '/collections/notes/schema/field/enum',
  ],
  [
    'an enum of another type',
    field({ type: 'number', enum: ['1'] }),
    '/collections/notes/schema/field/enum/0',
  ],
  [
    'a default of another type',
    field({ type: 'string', default: 1 }),
    '/collections/notes/schema/field/default',
  ],
  [
    'half a default of an integer',
    field({ type: 'integer', default: 1.5 }),
    '/collections/notes/schema/field/default',
  ],
  [
    'a bound that is a text',
    field({ type: 'number', minimum: '0' }),
    '/collections/notes/schema/field/minimum',
  ],
  [
    'a time that is a number',
    field({ type: 'timestamp', minimum: 0 }),
    '/collections/notes/schema/field/minimum',
  ],
  ['an array without items', field({ type: 'array' }), '/collections/notes/schema/field/items'],
  [
    'an object without properties declared',
    field({ type: 'object' }),
    '/collections/notes/schema/field/properties',
  ],
  [
    'a hash in an array',
    field({ type: 'array', items: { type: 'hash' } }),
    '/collections/notes/schema/field/items/type',
  ],
  [
    'a hash in an object',
    field({ type: 'object', properties: { a: { type: 'hash' } } }),
    '/collections/notes/schema/field/properties/a/type',
  ],
  ['a unique hash', field({ type: 'hash', unique: true }), '/collections/notes/schema/field/unique'],
  [
    'a unique array',
    field({ type: 'array', items: { type: 'string' }, unique: true }),
    '/collections/notes/schema/field/unique',
  ],
  [
    'an indexed object',
    field({ type: 'object', properties: {}, index: true }),
    '/collections/notes/schema/field/index',
  ],
  [
    'a unique field inside an object',
    field({ type: 'object', properties: { a: { type: 'string', unique: true } } }),
    '/collections/notes/schema/field/properties/a/unique',
  ],
  [
    'nullable items',
    field({ type: 'array', items: { type: 'string', nullable: true } }),
    '/collections/notes/schema/field/items/nullable',
  ],
  [
    'a field that is required and nullable',
    field({ type: 'string', required: true, nullable: true }),
    '/collections/notes/schema/field/nullable',
  ],
  [
    'a property that is required and nullable',
    field({ type: 'object', properties: { a: { type: 'json', required: true, nullable: true } } }),
    '/collections/notes/schema/field/properties/a/nullable',
  ],
  [
    'additionalProperties with a schema',
    notes({ additionalProperties: {} }),
    '/collections/notes/additionalProperties',
  ],
  ['an index of nothing', notes({ indexes: [{ fields: [] }] }), '/collections/notes/indexes/0/fields'],
  ['an index without fields', notes({ indexes: [{ unique: true }] }), '/collections/notes/indexes/0/fields'],
  [
    'an index of one field twice',
    notes({ indexes: [{ fields: ['text', 'text'] }] }),
    '/collections/notes/indexes/0/fields',
  ],
  ['an index that is a text', notes({ indexes: ['text'] }), '/collections/notes/indexes/0'],
  ...(['true', 1, 0, null, [], ''] as const).map(
    (grant) =>
      [
        `the grant ${JSON.stringify(grant)}`,
        permissions({ user: grant }),
        '/collections/notes/permissions/user',
      ] as const,
  ),
  ['a grant for nobody', permissions({ '': true }), '/collections/notes/permissions/'],
  ['an unknown operation', permissions({ user: { list: true } }), '/collections/notes/permissions/user/list'],
  [
    'an operation that is a text',
    permissions({ user: { read: 'all' } }),
    '/collections/notes/permissions/user/read',
  ],
  [
    'the plain form beside an operation',
    permissions({ user: { pick: ['text'], read: true } }),
    '/collections/notes/permissions/user/read',
  ],
  [
    'a filter in the plain form',
    permissions({ user: { pick: ['text'], where: {} } }),
    '/collections/notes/permissions/user/where',
  ],
  [
    'a filter on create',
    permissions({ user: { create: { where: {} } } }),
    '/collections/notes/permissions/user/create/where',
  ],
  [
    'fields of a delete',
    permissions({ user: { delete: { pick: ['text'] } } }),
    '/collections/notes/permissions/user/delete/pick',
  ],
  [
    'a check of a read',
    permissions({ user: { read: { check: {} } } }),
    '/collections/notes/permissions/user/read/check',
  ],
  [
    'a set of a delete',
    permissions({ user: { delete: { set: {} } } }),
    '/collections/notes/permissions/user/delete/set',
  ],
  [
    'a pick that is a text',
    permissions({ user: { read: { pick: 'text' } } }),
    '/collections/notes/permissions/user/read/pick',
  ],
  [
    'a pick that repeats itself',
    permissions({ user: { read: { pick: ['text', 'text'] } } }),
    '/collections/notes/permissions/user/read/pick',
  ],
  [
    'an omit of numbers',
    permissions({ user: { read: { omit: [1] } } }),
    '/collections/notes/permissions/user/read/omit/0',
  ],
  [
    'a filter that is a list',
    permissions({ user: { read: { where: [] } } }),
    '/collections/notes/permissions/user/read/where',
  ],
  ...([0, 3, 9, 16, 32, 10.5, '10', null] as const).map(
    (cost) => [`the cost ${JSON.stringify(cost)}`, auth({ cost }), '/auth/cost'] as const,
  ),
  ['an unknown setting of accounts', auth({ secret_: 'password' }), '/auth/secret_'],
  ['no days of a session', auth({ sessionDays: 0 }), '/auth/sessionDays'],
  ['registration that is a text', auth({ register: 'no' }), '/auth/register'],
  ['an unknown limit', limits({ bodybytes: 1 }), '/limits/bodybytes'],
  ['a limit of nothing', limits({ bodyBytes: 0 }), '/limits/bodyBytes'],
  ['a limit that is a text', limits({ queryBytes: '8192' }), '/limits/queryBytes'],
  ['half a limit', limits({ maxLimit: 1.5 }), '/limits/maxLimit'],
  ['no time', limits({ requestSeconds: 0 }), '/limits/requestSeconds'],
]

describe('the published schema and the compiler agree', () => {
  const validate = new Ajv2020({ strict: false }).compile(publishedConfigSchema())

  test.each(GOOD)('on %s, which is right', (_, config) => {
    expect({ published: validate(config), faults: faultsOf(config) }).toEqual({ published: true, faults: [] })
  })

  test.each(BAD)('on %s, which is wrong', (_, config, path) => {
    expect({ published: validate(config), paths: pathsOf(config) }).toEqual({
      published: false,
      paths: [path],
    })
  })
})

const users = (fields: object, settings: object = {}) => ({
  collections: { users: { schema: fields } },
  ...settings,
})
const EMAIL = { type: 'string', unique: true }
const HASH = { type: 'hash' }
const AT = '/collections/notes'
const FIELD = `${AT}/schema/field`
const READ = `${AT}/permissions/user/read`
const where = (filter: object) => ({
  collections: {
    notes: {
      schema: {
        text: { type: 'string' },
        views: { type: 'integer' },
        secret: { type: 'hash' },
        tags: { type: 'array', items: { type: 'string' } },
        place: { type: 'object', properties: { city: { type: 'string' } } },
      },
      permissions: { user: { read: { where: filter } } },
    },
    users: { schema: {} },
  },
})

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
  ['an index of an array', notes({ indexes: [{ fields: ['tags'] }] }), `${AT}/indexes/0/fields/0`],
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
    const { warnings } = compileConfig(permissions({ '*': grant }), {
      production: false,
      hasAuthenticate: false,
    })
    expect(warnings).toHaveLength(1)
  })

  test.each(['*', 'user', 'editor'])(
    'by nobody, but with a warning, where the plain form shows every account to %s',
    (subject) => {
      const accounts = { email: { ...EMAIL, lowercase: true }, password: HASH }
      const config = {
        collections: { users: { schema: accounts, permissions: { [subject]: { pick: ['email'] } } } },
      }
      const { warnings } = compileConfig(config, { production: false, hasAuthenticate: false })
      expect(warnings).toEqual([expect.stringContaining(`/collections/users/permissions/${subject}`)])
      expect(
        compileConfig(permissions({ [subject]: { pick: ['text'] } }), {
          production: false,
          hasAuthenticate: false,
        }).warnings,
      ).toEqual([])
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

  test('by the service with the same faults, under a stable code', () => {
    const config = field({ type: 'strng' })
    expect(() => createCollectionService(config)).toThrow(
      expect.objectContaining({ code: 'invalid_config', faults: faultsOf(config) }),
    )
  })
})

describe('a configuration is copied', () => {
  const written = () => ({
    collections: {
      notes: {
        schema: {
          text: { type: 'string', enum: ['a', 'b'], default: 'a' },
          hidden: { type: 'json', default: { deep: [1] } },
        },
        permissions: { '*': { create: true, read: { omit: ['hidden'], where: { text: 'a' } } } } as {
          [subject: string]: unknown
        },
      },
    },
    limits: { maxLimit: 5 },
  })

  test('so that changing it afterwards changes nothing', async () => {
    const config = written()
    const handler = createCollectionService(config)
    const { notes } = config.collections
    notes.schema.text.enum.push('c')
    notes.schema.text.default = 'c'
    notes.schema.hidden.default.deep.push(2)
    notes.permissions['*'] = true
    config.limits.maxLimit = 1000
    Object.assign(config.collections, { others: { schema: {}, permissions: { '*': true } } })

    const send = (path: string, body?: object): Promise<Response> =>
      handler(
        new Request(`http://localhost${path}`, body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      )
    expect((await send('/notes', { text: 'c' })).status).toBe(400)
    const created = await (await send('/notes', {})).json()
    expect(created).toMatchObject({ text: 'a' })
    expect(created).not.toHaveProperty('hidden')
    expect((await send('/notes?limit=6')).status).toBe(400)
    expect((await send('/others')).status).toBe(404)
  })

  test('so that a frozen one will do, and one that names a definition twice', () => {
    const definition = Object.freeze({ type: 'string', enum: Object.freeze(['a']) })
    const config = Object.freeze({
      collections: Object.freeze({
        notes: Object.freeze({ schema: Object.freeze({ a: definition, b: definition }) }),
      }),
    })
    expect(faultsOf(config)).toEqual([])
  })

  test('so that defaults of one document are not shared with another', async () => {
    const plan = compileConfig(written(), { production: false, hasAuthenticate: false })
    const [, hidden] = plan.collections.get('notes')?.fields ?? []
    const definition = hidden?.definition as { readonly default: { readonly deep: readonly number[] } }
    expect(Object.isFrozen(definition.default.deep)).toBe(true)
    expect(Object.isFrozen(definition)).toBe(true)
  })

  test('so that an adapter is told of collections and indexes, and not of the rest', async () => {
    const told: unknown[] = []
    const adapter: StorageAdapter = {
      ...createMemoryAdapter(),
      async open(plans) {
        told.push(...plans)
      },
    }
    const config = notes({ indexes: [{ fields: ['text'], unique: true }] })
    await createCollectionService(config, adapter).ready()
    expect(told).toEqual([
      {
        name: 'notes',
        indexes: [
          { fields: [{ path: 'createdAt', type: 'timestamp', each: false }], unique: false },
          { fields: [{ path: 'text', type: 'string', each: false }], unique: true },
        ],
      },
    ])
  })
})

class Settings {
  collections = {}
}

const thrower = (): never => {
  throw new RangeError('not a configuration')
}

const cyclic = (): object => {
  const config: { collections: { [name: string]: unknown } } = { collections: {} }
  config.collections.notes = config
  return config
}

/** A list that holds itself twice has as many paths as there are configurations. */
const bush = (): unknown[] => {
  const list: unknown[] = []
  list.push(list, list)
  return list
}

const nest = (depth: number): unknown => {
  let value: unknown = { type: 'json' }
  for (let i = 0; i < depth; i++) value = { type: 'array', items: value }
  return value
}

const HOSTILE: readonly (readonly [title: string, create: () => unknown])[] = [
  ['undefined', () => undefined],
  ['a number', () => 42],
  ['a function', () => () => ({ collections: {} })],
  ['a symbol', () => Symbol('config')],
  ['a function inside', () => notes({ permissions: { user: () => true } })],
  ['a function as a collection', () => ({ collections: { notes: () => {} } })],
  ['a method that JSON would call', () => ({ collections: {}, toJSON: () => ({}) })],
  ['a symbol inside', () => field({ type: 'string', description: Symbol('x') })],
  ['a bigint', () => limits({ bodyBytes: 10n })],
  ['NaN', () => limits({ bodyBytes: Number.NaN })],
  ['infinity', () => limits({ requestSeconds: Number.POSITIVE_INFINITY })],
  ['NaN in a default', () => field({ type: 'json', default: [Number.NaN] })],
  ['an instance of a class', () => new Settings()],
  ['an instance inside', () => ({ collections: new Settings() })],
  ['a Map', () => ({ collections: new Map([['notes', { schema: {} }]]) })],
  ['a Date', () => field({ type: 'timestamp', default: new Date(0) })],
  ['a regular expression', () => field({ type: 'string', pattern: /a/ })],
  ['a boxed text', () => field({ type: new String('string') })],
  ['a promise', () => Promise.resolve({ collections: {} })],
  ['inherited settings', () => Object.create({ collections: {} })],
  ['an own __proto__', () => JSON.parse('{"collections":{},"__proto__":{"limits":{}}}')],
  ['an own __proto__ as a collection', () => JSON.parse('{"collections":{"__proto__":{"schema":{}}}}')],
  ['an own __proto__ as a field', () => schema(JSON.parse('{"__proto__":{"type":"json"}}'))],
  ['an own __proto__ as a role', () => permissions(JSON.parse('{"__proto__":true}'))],
  ['an own __proto__ in a default', () => field({ type: 'json', default: JSON.parse('{"__proto__":{}}') })],
  ['undefined in a list', () => permissions({ user: { read: { pick: [undefined] } } })],
  ['holes in a list', () => permissions({ user: { read: { pick: new Array(3) } } })],
  ['a cycle', cyclic],
  [
    'a list that holds itself',
    () => {
      const list: unknown[] = []
      list.push(list)
      return field({ type: 'json', default: list })
    },
  ],
  ['a list that holds itself twice', () => field({ type: 'json', default: bush() })],
  ['depth without end', () => field(nest(100_000))],
  [
    'a getter that throws',
    () => Object.defineProperty({}, 'collections', { enumerable: true, get: thrower }),
  ],
  ['a proxy that throws', () => new Proxy({}, { getPrototypeOf: thrower, ownKeys: thrower, get: thrower })],
  [
    'a proxy that was revoked',
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    },
  ],
]

describe('what is no configuration is refused like a wrong one', () => {
  test.each(HOSTILE)('%s', (_, create) => {
    const config = create()
    const attempt = (): unknown => {
      try {
        return createCollectionService(config as { readonly [key: string]: unknown })
      } catch (thrown) {
        return thrown
      }
    }
    // The limit of time ends what would never end by itself.
    const thrown = runInNewContext('attempt()', { attempt }, { timeout: 20_000 })
    expect(thrown).toBeInstanceOf(ConfigError)
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})
