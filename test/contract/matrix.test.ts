import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { type CallerMatrix, type InsightOptions, permissionMatrix } from '../../src/tools/insight/index.js'

/** What a kind of caller may do in a collection. */
function callerIn(
  config: object,
  [collection, who, isOwner = false]: readonly [collection: string, who: string, isOwner?: boolean],
  options: InsightOptions = {},
): CallerMatrix {
  const { collections } = permissionMatrix(config, options)
  const found = collections
    .find(({ name }) => name === collection)
    ?.callers.find(
      (one) =>
        one.isOwner === isOwner && (one.caller.kind === 'role' ? one.caller.role : one.caller.kind) === who,
    )
  if (!found) throw new Error(`no ${who} in ${collection}`)
  return found
}

const ACCOUNT = {
  email: { type: 'string', unique: true, required: true },
  password: { type: 'hash', required: true },
}

const withUsers = (permissions: object, { auth = {}, fields = {} } = {}) => ({
  collections: { users: { schema: { ...ACCOUNT, name: { type: 'string' }, ...fields }, permissions } },
  auth,
})

const withNotes = (permissions: object, more: object = {}) => ({
  collections: {
    notes: { schema: { text: { type: 'string' }, size: { type: 'integer' } }, permissions, ...more },
  },
})

const AT = '/collections/notes/permissions'

// CONTRACT.md §8, "Matrix"
describe('the matrix of permissions', () => {
  test('says which documents, which fields, what is forced, what must hold, and where that is said', () => {
    const config = withNotes({
      'a/b': {
        update: { where: { size: 1 }, pick: ['text'], set: { size: 2 }, check: { size: { $ne: 1 } } },
        read: true,
      },
    })
    expect(callerIn(config, ['notes', 'a/b'], { authenticate: true })).toEqual({
      caller: { kind: 'role', role: 'a/b' },
      isOwner: false,
      create: [],
      read: [{ pointers: [`${AT}/a~1b/read`], where: null, fields: { kind: 'all' }, set: {}, check: null }],
      update: [
        {
          pointers: [`${AT}/a~1b/update`],
          where: { text: 'size = 1', where: { size: 1 }, pointers: [`${AT}/a~1b/update/where`] },
          fields: { kind: 'only', names: ['text'] },
          set: { size: 2 },
          check: { text: 'size ≠ 1', where: { size: { $ne: 1 } }, pointers: [`${AT}/a~1b/update/check`] },
        },
      ],
      delete: [],
    })
  })

  test('has a row for each kind of caller, in the order of the configuration', () => {
    const { collections } = permissionMatrix(
      {
        collections: {
          one: { schema: {}, permissions: { b: { create: true }, a: { read: true } } },
          two: { schema: {}, permissions: { c: true, a: {} } },
        },
      },
      { authenticate: true },
    )
    const rows = collections.map(({ roles, callers }) => [
      roles,
      callers.map(
        ({ caller, isOwner }) =>
          `${caller.kind === 'role' ? caller.role : `(${caller.kind})`}${isOwner ? ' own' : ''}`,
      ),
    ])
    const each = (...names: readonly string[]) => names.flatMap((name) => [name, `${name} own`])
    expect(rows).toEqual([
      [
        ['b', 'a'],
        ['(anonymous)', ...each('(user)', 'b', 'a', 'c')],
      ],
      [
        ['c', 'a'],
        ['(anonymous)', ...each('(user)', 'c', 'a', 'b')],
      ],
    ])
  })

  const places: readonly (readonly [
    what: string,
    grant: unknown,
    operation: 'read' | 'create',
    pointer: string,
  ])[] = [
    ['true', true, 'read', `${AT}/user`],
    ['the plain form', { pick: ['text'] }, 'read', `${AT}/user`],
    ['the plain form', { pick: ['text'] }, 'create', `${AT}/user`],
    ['a rule', { read: {} }, 'read', `${AT}/user/read`],
    ['true for an operation', { create: true }, 'create', `${AT}/user/create`],
  ]
  test.each(places)('%s is said where it is written (%j, %s)', (_, grant, operation, pointer) => {
    const caller = callerIn(withNotes({ user: grant }), ['notes', 'user'], { authenticate: true })
    expect(caller[operation]?.map(({ pointers }) => pointers)).toEqual([[pointer]])
  })

  const ALL = { kind: 'all' }
  const shown: readonly (readonly [rule: object, fields: unknown])[] = [
    [{}, ALL],
    [{ omit: ['secret'] }, ALL],
    [{ omit: ['size', 'createdBy'] }, { kind: 'except', names: ['size', 'createdBy'] }],
    [{ pick: ['size', 'text'] }, { kind: 'only', names: ['text', 'size'] }],
    [
      { pick: ['text', 'size'], omit: ['text'] },
      { kind: 'only', names: ['size'] },
    ],
    [{ pick: ['size', 'text', 'createdAt', 'updatedAt', 'createdBy'] }, ALL],
    [{ pick: [] }, { kind: 'only', names: [] }],
  ]
  const schema = { text: { type: 'string' }, size: { type: 'integer' }, secret: { type: 'hash' } }
  test.each(shown)('a read by %j shows %j', (read, fields) => {
    const caller = callerIn(withNotes({ '*': { read } }, { schema }), ['notes', 'anonymous'])
    expect(caller.read.map((rule) => rule.fields)).toEqual([fields])
  })

  test('names that no schema declares count where they are stored', () => {
    const open = { additionalProperties: true }
    const fieldsOf = (read: object) =>
      callerIn(withNotes({ '*': { read } }, open), ['notes', 'anonymous']).read.map(({ fields }) => fields)
    expect(fieldsOf({ omit: ['x'] })).toEqual([{ kind: 'except', names: ['x'] }])
    expect(fieldsOf({ pick: ['x', 'text'] })).toEqual([{ kind: 'only', names: ['text', 'x'] }])
    const pick = ['text', 'size', 'createdAt', 'updatedAt', 'createdBy']
    expect(fieldsOf({ pick })).toEqual([{ kind: 'only', names: pick }])
  })

  test('a body accepts the role where §5 says so, and nobody writes what the service alone writes', () => {
    const config = withUsers(
      { owner: { read: true, update: true }, admin: true },
      {
        auth: { roleField: 'role', verifiedField: 'verifiedAt' },
        fields: { role: { type: 'string' }, verifiedAt: { type: 'timestamp' } },
      },
    )
    const updates = (who: string) =>
      callerIn(config, ['users', who, true]).update.map(({ fields, pointers }) => [pointers[0], fields])
    expect(updates('user')).toEqual([
      ['/collections/users/permissions/owner/update', { kind: 'except', names: ['role'] }],
    ])
    expect(updates('admin')).toEqual([['/collections/users/permissions/admin', ALL]])
  })

  test('registration accepts identifier and secret, and what "*" may create but the role', () => {
    const auth = { roleField: 'role' }
    const fields = { role: { type: 'string' } }
    const registerOf = (permissions: object, options = {}) =>
      callerIn(withUsers(permissions, { auth, fields }), ['users', 'anonymous'], options).register
    expect(registerOf({})).toEqual([
      {
        pointers: [],
        where: null,
        fields: { kind: 'only', names: ['email', 'password'] },
        set: {},
        check: null,
      },
    ])
    const create = { pick: ['role', 'name'], set: { name: 'x' }, check: { name: 'x' } }
    const at = '/collections/users/permissions/*/create'
    expect(registerOf({ '*': { create } })).toEqual([
      {
        pointers: [at],
        where: null,
        fields: { kind: 'only', names: ['email', 'password', 'name'] },
        set: { name: 'x' },
        check: { text: 'name = "x"', where: { name: 'x' }, pointers: [`${at}/check`] },
      },
    ])
    expect(registerOf({ '*': { create: { omit: ['password'] } } })?.[0]?.fields).toEqual({
      kind: 'except',
      names: ['role'],
    })
    expect(registerOf({ '*': { create: { check: { name: '$user.name' } } } })).toEqual([])
    expect(registerOf({}, { authenticate: true })).toBeUndefined()
  })

  test('closed registration closes the create of strangers', () => {
    const of = (register: boolean, options = {}) => {
      const config = withUsers({ '*': { create: true } }, { auth: { register } })
      const caller = callerIn(config, ['users', 'anonymous'], options)
      return [caller.create?.length, caller.register?.length]
    }
    expect(of(true)).toEqual([1, 1])
    expect(of(false)).toEqual([0, undefined])
    expect(of(false, { authenticate: true })).toEqual([1, undefined])
  })

  test('where accounts count only once they are verified, "*" creates none, and only roles read the others', () => {
    const config = withUsers(
      {
        '*': { create: { pick: ['name'] } },
        user: { read: { where: { name: 'x' } } },
        owner: { read: true },
        admin: true,
      },
      {
        auth: { requireVerified: true, verifiedField: 'at', roleField: 'role' },
        fields: { at: { type: 'timestamp' }, role: { type: 'string' } },
      },
    )
    expect(callerIn(config, ['users', 'user']).create).toEqual([])
    const conditions = (who: string) =>
      callerIn(config, ['users', who, true]).read.map(({ where }) => [where?.text, where?.pointers])
    expect(conditions('user')).toEqual([
      [
        'at exists and name = "x"',
        ['/auth/requireVerified', '/collections/users/permissions/user/read/where'],
      ],
      ['at exists', ['/auth/requireVerified']],
    ])
    expect(conditions('admin')).toEqual([[undefined, undefined]])
  })

  const vain: readonly (readonly [what: string, rule: object])[] = [
    ['a where', { where: { text: '$user.name' } }],
    ['a check', { check: { text: '$user.name' } }],
    ['a set', { set: { text: '$user.name' } }],
    ['a claim', { where: { text: { $in: '$user.mine' } } }],
    ['a where that nothing meets', { where: { text: { $in: [] } } }],
  ]
  test.each(vain)('who is not signed in has no rule that needs %s of the caller', (_, update) => {
    const claims = {
      mine: { from: 'notes', where: { createdBy: '$user._id' }, take: 'text' },
      big: { from: 'notes', where: { size: { $gt: 9 } }, take: 'text' },
    }
    const of = (rule: object) =>
      callerIn(
        { ...withNotes({ '*': { read: true, update: rule } }), auth: { claims } },
        ['notes', 'anonymous'],
        { authenticate: true },
      ).update
    expect(of(update)).toEqual([])
    expect(of({ where: { $or: [{ text: '$user.name' }, { text: { $in: '$user.big' } }] } })).toHaveLength(1)
  })

  test('claims are told', () => {
    const claims = { mine: { from: 'notes', where: { createdBy: '$user._id' }, take: 'text' } }
    expect(permissionMatrix({ ...withNotes({}), auth: { claims } }, { authenticate: true }).claims).toEqual([
      {
        name: 'mine',
        from: 'notes',
        take: 'text',
        condition: {
          text: 'createdBy = $user._id',
          where: { createdBy: '$user._id' },
          pointers: ['/auth/claims/mine'],
        },
      },
    ])
  })

  test('it throws what a start would throw', () => {
    const open = withNotes({ '*': true })
    expect(permissionMatrix(open).collections).toHaveLength(1)
    expect(() => permissionMatrix(open, { production: true })).toThrow(ConfigError)
    expect(() => permissionMatrix(withNotes({ '*': { read: { where: { x: 1 } } } }))).toThrow(ConfigError)
    const byHost = withNotes({ user: { read: { where: { text: '$user.plan' } } } })
    expect(() => permissionMatrix(byHost)).toThrow(ConfigError)
    expect(() => permissionMatrix(byHost, { authenticate: true })).not.toThrow()
  })
})
