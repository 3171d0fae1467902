import { expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §5, "Warnings"

const users = {
  email: { type: 'string', unique: true, lowercase: true, required: true },
  password: { type: 'hash', required: true },
  role: { type: 'string', enum: ['editor'] },
}
const withUsers = (schema: object, permissions: object, others: object = {}) => ({
  collections: { users: { schema: { ...users, ...schema }, permissions }, ...others },
  auth: { roleField: 'role' },
})
const things = (permissions: object, schema: object = { a: { type: 'string' }, b: { type: 'string' } }) => ({
  collections: { things: { schema, permissions } },
})

test.each([
  ['everyone may do everything', things({ '*': true }), ['/collections/things/permissions/*']],
  [
    'the same, written out',
    things({ '*': { create: true, read: { omit: [] }, update: { where: {} }, delete: true } }),
    ['/collections/things/permissions/*'],
  ],
  [
    'the plain form on users',
    withUsers({}, { user: { pick: ['email'] } }),
    ['/collections/users/permissions/user'],
  ],
  [
    'an identifier without lowercase',
    withUsers({ email: { type: 'string', unique: true } }, {}),
    ['/collections/users/schema/email'],
  ],
  [
    'a secret that its owner may change by an update',
    withUsers({}, { owner: { update: true } }),
    ['/collections/users/permissions/owner'],
  ],
  [
    'an owner who may change all but the secret',
    withUsers({}, { owner: { update: { omit: ['password'] } } }),
    [],
  ],
  [
    'a required field that nobody can fill',
    things(
      { user: { create: { pick: ['b'] } } },
      { a: { type: 'string', required: true }, b: { type: 'string' } },
    ),
    ['/collections/things/schema/a'],
  ],
  [
    'a required field that a set fills',
    things(
      { user: { create: { pick: ['b'], set: { a: 'x' } } } },
      { a: { type: 'string', required: true }, b: { type: 'string' } },
    ),
    [],
  ],
  [
    'a required field with a default',
    things({ user: { create: { pick: [] } } }, { a: { type: 'string', required: true, default: 'x' } }),
    [],
  ],
  [
    'a role that the role field does not allow',
    withUsers({}, {}, { things: { schema: {}, permissions: { admin: true, editor: true } } }),
    ['/collections/things/permissions/admin'],
  ],
  [
    'user may write less than *',
    things({ '*': { create: true }, user: { create: { pick: ['a'] } } }),
    ['/collections/things/permissions/user'],
  ],
  [
    'a role may write less than *',
    things({ '*': { create: true }, clerk: { create: false } }),
    ['/collections/things/permissions/clerk'],
  ],
  [
    'a role may write under a condition only',
    things({ '*': { create: true }, clerk: { create: { check: { a: 'x' } } } }),
    ['/collections/things/permissions/clerk'],
  ],
  [
    'a configuration without surprises',
    withUsers(
      {},
      { owner: { read: true }, editor: true },
      things({ '*': { read: true }, user: { create: true } }).collections,
    ),
    [],
  ],
])('at start: %s', (_, config, expected) => {
  const { logged } = createTestService(config)
  expect(logged.map(([message]) => String(message).split(':')[0]).sort()).toEqual([...expected].sort())
})

test.each<[what: string, silences: readonly string[], expected: readonly string[]]>([
  [
    'is not heard',
    ['open_to_everyone /collections/things/permissions/*'],
    ['/collections/others/permissions/*'],
  ],
  [
    'is not heard for a reason',
    ['open_to_everyone /collections/things/permissions/* - a demonstration'],
    ['/collections/others/permissions/*'],
  ],
  [
    'is heard where another is named',
    ['unlimited_list /collections/things/permissions/*', 'open_to_everyone /collections/things'],
    ['/collections/others/permissions/*', '/collections/things/permissions/*'],
  ],
])('at start what `$ignore` names %s', (_, silences, expected) => {
  const { collections } = things({ '*': true })
  const config = { $ignore: silences, collections: { ...collections, others: collections.things } }
  const { logged } = createTestService(config)
  expect(logged.map(([message]) => String(message).split(':')[0]).sort()).toEqual(expected)
})

test('`$ignore` lets nothing start that production refuses', () => {
  const config = { $ignore: ['open_to_everyone /collections/things/permissions/*'], ...things({ '*': true }) }
  expect(() => createTestService(config, { production: true })).toThrow(ConfigError)
})

test.each([
  ['has no limit', {}, ['/limits']],
  ['has a default', { defaultLimit: 20 }, []],
  ['has a maximum', { maxLimit: 100 }, []],
])('in production a list that everyone may ask for and that %s', (_, limits, expected) => {
  const config = { ...things({ '*': { read: true }, user: { create: true } }), limits }
  const { logged } = createTestService(config, { production: true })
  expect(logged.map(([message]) => String(message).split(':')[0])).toEqual(expected)
})
