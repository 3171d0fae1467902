import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { publishedConfigSchema } from '../../../../src/core/config/shape/config-schema.js'
import { auth, faultsOf, field, limits, notes, pathsOf, permissions, schema } from './support/configs.js'

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
  ...['auth', '_notes', '$notes', '1st', 'a.b', 'a b', '', 'é', 'n'.repeat(64)].map(
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
