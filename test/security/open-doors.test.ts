import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { type AnyConfig, createTestService } from '../support/service.js'

// CONTRACT.md §5, "Subjects", "Grants", "World-writable collections"

function faultsOf(config: AnyConfig, production: boolean): string[] {
  try {
    createTestService(config, { production })
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.faults.map(({ path }) => path)
    throw thrown
  }
  return []
}

const schema = { a: { type: 'string' }, b: { type: 'integer' }, pin: { type: 'hash' } }
const everyone = (grant: unknown, more: object = {}): AnyConfig => ({
  collections: { things: { schema, permissions: { '*': grant }, ...more } },
})
const DOOR = '/collections/things/permissions/*'

const all = { pick: ['a', 'b', 'pin'] }
const shown = { pick: ['a', 'b'] }
const open = { create: true, read: true, update: true, delete: true }

describe('a door that is open to everyone is refused in production, however it is written:', () => {
  test.each<[what: string, grant: unknown]>([
    ['true', true],
    ['four times true', open],
    ['a pick of all fields', { create: all, read: shown, update: all, delete: true }],
    ['a pick of all fields for creations', { ...open, create: all }],
    ['a pick of all fields that can be shown', { ...open, read: shown }],
    ['a pick of all fields in another order', { ...open, update: { pick: ['pin', 'b', 'a'] } }],
    ['a pick of all fields and an omit of none', { ...open, update: { ...all, omit: [] } }],
    ['an omit of none', { create: { omit: [] }, read: { omit: [] }, update: { omit: [] }, delete: {} }],
    ['an omit of what is never shown', { ...open, read: { omit: ['pin'] } }],
    ['empty rules', { create: {}, read: {}, update: {}, delete: {} }],
    ['an empty where', { ...open, read: { where: {} }, update: { where: {} }, delete: { where: {} } }],
    ['an empty check', { ...open, create: { check: {} }, update: { check: {} } }],
    ['groups of nothing', { ...open, read: { where: { $and: [{}] } }, update: { check: { $or: [{}] } } }],
    ['one of several groups is empty', { ...open, delete: { where: { $or: [{ a: 'x' }, {}] } } }],
    ['an empty group beside the caller', { ...open, delete: { where: { $or: [{ a: '$user._id' }, {}] } } }],
    ['an _id that exists', { ...open, read: { where: { _id: { $exists: true } } } }],
    ['an _id that is not missing', { ...open, read: { where: { _id: { $ne: null } } } }],
    ['an _id that is none of nothing', { ...open, read: { where: { _id: { $nin: [null] } } } }],
    [
      'times that exist',
      { ...open, update: { where: { createdAt: { $exists: true }, $and: [{ updatedAt: { $ne: null } }] } } },
    ],
    [
      'a time in one of several groups',
      { ...open, create: { check: { $or: [{ a: 'x' }, { createdAt: { $exists: true } }] } } },
    ],
    [
      'a field that is there or not',
      { ...open, read: { where: { $or: [{ a: { $exists: true } }, { a: null }] } } },
    ],
    [
      'a value or any other',
      { ...open, delete: { where: { $or: [{ b: 1 }, { a: 'x' }, { a: { $ne: 'x' } }] } } },
    ],
    [
      'a value or any other, beside the caller',
      {
        ...open,
        delete: { where: { $or: [{ a: '$user._id' }, { b: 1 }, { b: { $ne: 1 } }] } },
      },
    ],
  ])('%s', (_, grant) => {
    expect(faultsOf(everyone(grant), true)).toEqual([DOOR])
    expect(faultsOf(everyone(grant), false)).toEqual([])
    const { logged } = createTestService(everyone(grant))
    expect(logged.map(([message]) => String(message).split(':')[0])).toEqual([DOOR])
  })

  test.each<[what: string, grant: unknown]>([
    ['true', true],
    ['empty omits', { create: { omit: [] }, read: { omit: [] }, update: { omit: [] }, delete: true }],
  ])('on a collection that takes undeclared properties: %s', (_, grant) => {
    expect(faultsOf(everyone(grant, { additionalProperties: true }), true)).toEqual([DOOR])
  })

  test('with grants for others beside it', () => {
    const permissions = { '*': open, user: { read: true }, admin: true, owner: { delete: true } }
    expect(faultsOf({ collections: { things: { schema, permissions } } }, true)).toEqual([DOOR])
  })

  test('on a collection without fields', () => {
    const config = { collections: { things: { schema: {}, permissions: { '*': { ...open, create: {} } } } } }
    expect(faultsOf(config, true)).toEqual([DOOR])
  })
})

describe('a door is not open', () => {
  test.each<[what: string, grant: unknown]>([
    ['where nothing can be created', { ...open, create: false }],
    ['where nothing can be read', { ...open, read: false }],
    ['where nothing can be changed', { create: true, read: true, delete: true }],
    ['where nothing can be deleted', { create: true, read: true, update: true }],
    ['where creations lack a field', { ...open, create: { pick: ['a', 'b'] } }],
    ['where creations lack a field by omit', { ...open, create: { omit: ['pin'] } }],
    ['where a field is not shown', { ...open, read: { pick: ['a'] } }],
    ['where a field is not shown by omit', { ...open, read: { omit: ['b'] } }],
    ['where updates lack a field', { ...open, update: { pick: ['a', 'pin'] } }],
    ['where updates lack a field that is picked', { ...open, update: { ...all, omit: ['a'] } }],
    ['where reading has a condition', { ...open, read: { where: { a: 'x' } } }],
    ['where updating has a condition', { ...open, update: { where: { a: 'x' } } }],
    [
      'where updating has a condition, though no check',
      { ...open, update: { where: { a: 'x' }, check: {} } },
    ],
    ['where deleting has a condition', { ...open, delete: { where: { a: 'x' } } }],
    ['where creations are checked', { ...open, create: { check: { b: { $lt: 5 } } } }],
    ['where updates are checked', { ...open, update: { check: { b: { $lt: 5 } } } }],
    ['where a field must exist', { ...open, read: { where: { a: { $exists: true } } } }],
    ['where the creator must exist', { ...open, read: { where: { createdBy: { $ne: null } } } }],
    ['where an _id must not exist', { ...open, read: { where: { _id: { $exists: false } } } }],
    ['where an _id is another', { ...open, read: { where: { _id: { $ne: 'x' } } } }],
    [
      'where one of two groups fits',
      { ...open, read: { where: { $or: [{ a: 'x' }, { a: { $ne: 'y' } }] } } },
    ],
    ['where both groups must fit', { ...open, read: { where: { $and: [{ a: 'x' }, { a: { $ne: 'x' } }] } } }],
    [
      'where nobody is the caller or any other',
      { ...open, read: { where: { $or: [{ a: '$user._id' }, { a: { $ne: '$user._id' } }] } } },
    ],
    ['where a condition depends on the time', { ...open, read: { where: { createdAt: { $lte: '$now' } } } }],
  ])('%s', (_, grant) => {
    expect(faultsOf(everyone(grant), true)).toEqual([])
  })

  test('where a pick leaves out undeclared properties', () => {
    const grant = { create: all, read: shown, update: all, delete: true }
    expect(faultsOf(everyone(grant, { additionalProperties: true }), true)).toEqual([])
  })

  test.each(['user', 'admin'])('where all of it is for %s alone', (subject) => {
    expect(faultsOf({ collections: { things: { schema, permissions: { [subject]: open } } } }, true)).toEqual(
      [],
    )
  })
})

describe('the role field', () => {
  const email = { type: 'string', unique: true, lowercase: true }
  const users = (fields: object, auth: object): AnyConfig => ({
    collections: { users: { schema: { email, password: { type: 'hash' }, ...fields }, permissions: {} } },
    auth,
  })

  test.each<[what: string, config: AnyConfig]>([
    ['the identifier that there is', users({}, { roleField: 'email' })],
    ['the identifier that is named', users({}, { roleField: 'email', identifier: 'email' })],
    [
      'the one of several that is named',
      users({ nick: { type: 'string', unique: true } }, { roleField: 'nick', identifier: 'nick' }),
    ],
    ['the secret', users({}, { roleField: 'password' })],
  ])('cannot be what a stranger chooses at registration: %s', (_, config) => {
    expect(faultsOf(config, false)).toEqual(['/auth/roleField'])
  })

  test('may be another unique text', () => {
    const config = users(
      { nick: { type: 'string', unique: true } },
      { roleField: 'nick', identifier: 'email' },
    )
    expect(faultsOf(config, false)).toEqual([])
  })
})

describe('roles are told apart, whatever they are called', () => {
  const fields = Object.fromEntries(['x', 'y', 'z', 'w'].map((name) => [name, { type: 'string' }]))
  const permissions = {
    a: { read: { pick: ['x'] } },
    b: { read: { pick: ['y'] } },
    'a\nb': { read: { pick: ['z'] } },
    'a,b': { read: { pick: ['w'] } },
    'a","b': { read: { pick: ['x', 'w'] } },
  }
  const CALLERS: readonly (readonly [roles: string[], shown: object])[] = [
    [['a', 'b'], { x: '1', y: '2' }],
    [['a\nb'], { z: '3' }],
    [['a,b'], { w: '4' }],
    [['a","b'], { x: '1', w: '4' }],
    [['a', 'b', 'a\nb'], { x: '1', y: '2', z: '3' }],
  ]

  test.each([
    ['in this order', CALLERS],
    ['in the other', CALLERS.toReversed()],
  ])('one after another: %s', async (_, callers) => {
    const documents = { things: [{ x: '1', y: '2', z: '3', w: '4' }] }
    const { send } = createTestService(
      { collections: { things: { schema: fields, permissions } } },
      { documents, authenticate: () => null },
    )
    for (const [roles, expected] of [...callers, ...callers]) {
      const [{ _id, ...document }] = (await send('GET /things', { caller: { id: 'ann', roles } })).body
      expect(document, JSON.stringify(roles)).toEqual(expected)
      const one = await send(`GET /things/${_id}`, { caller: { id: 'ann', roles } })
      expect(one.body).toEqual({ _id, ...expected })
    }
  })

  test('on documents that some of their grants match', async () => {
    const where = { x: { $ne: 'none' } }
    const conditional = Object.fromEntries(
      Object.entries(permissions).map(([role, { read }]) => [role, { read: { ...read, where } }]),
    )
    const documents = { things: [{ x: '1', y: '2', z: '3', w: '4' }] }
    const { send } = createTestService(
      { collections: { things: { schema: fields, permissions: conditional } } },
      { documents, authenticate: () => null },
    )
    const roles = ['a', 'b', 'a\nb']
    const [{ _id, ...document }] = (await send('GET /things', { caller: { id: 'ann', roles } })).body
    expect(document).toEqual({ x: '1', y: '2', z: '3' })
  })
})
