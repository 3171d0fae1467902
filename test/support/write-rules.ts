import { expect } from 'vitest'
import type { Caller, createCollectionService } from '../../src/index.js'
import { createTestService } from './service.js'

type Create = typeof createCollectionService

const ann: Caller = { id: 'ann', roles: [] }
const editor: Caller = { id: 'eve', roles: ['editor'] }
const both: Caller = { id: 'bob', roles: ['editor', 'clerk'] }

const schema = {
  a: { type: 'string' },
  b: { type: 'string' },
  n: { type: 'integer', maximum: 10 },
  team: { type: 'string' },
  at: { type: 'timestamp' },
}

/** A rule of CONTRACT.md §5 about writing, as a create: what is stored under these permissions, or the refusal. */
export interface WriteCase {
  readonly rule: string
  readonly permissions: { readonly [subject: string]: unknown }
  readonly caller: Caller | null
  readonly body: { readonly [name: string]: unknown }
  /** What is stored of the schema's fields, or the status of the refusal. */
  readonly expected: { readonly [name: string]: unknown } | number
}

const body = { a: '1', b: '2' }

export const writeCases: readonly WriteCase[] = [
  { rule: 'nothing is granted that is not written', permissions: {}, caller: ann, body, expected: 403 },
  { rule: 'nobody signed in and no grant', permissions: { user: true }, caller: null, body, expected: 401 },
  { rule: 'false grants nothing', permissions: { user: false }, caller: ann, body, expected: 403 },
  {
    rule: 'pick: only these properties',
    permissions: { '*': { create: { pick: ['a'] } } },
    caller: null,
    body,
    expected: { a: '1' },
  },
  {
    rule: 'an empty pick is none',
    permissions: { '*': { create: { pick: [] } } },
    caller: null,
    body,
    expected: {},
  },
  {
    rule: 'omit: all but these',
    permissions: { '*': { create: { omit: ['a'] } } },
    caller: null,
    body,
    expected: { b: '2' },
  },
  {
    rule: 'with both, pick first',
    permissions: { '*': { create: { pick: ['a', 'b'], omit: ['b'] } } },
    caller: null,
    body,
    expected: { a: '1' },
  },
  {
    rule: 'the plain form grants creating with these properties',
    permissions: { user: { pick: ['b'] } },
    caller: ann,
    body,
    expected: { b: '2' },
  },
  {
    rule: 'user decides before *',
    permissions: { '*': true, user: { create: { pick: ['a'] } } },
    caller: ann,
    body,
    expected: { a: '1' },
  },
  {
    rule: 'a role decides before user',
    permissions: { user: true, editor: { create: { pick: ['b'] } } },
    caller: editor,
    body,
    expected: { b: '2' },
  },
  {
    rule: 'a role that does not mention the operation leaves it to user',
    permissions: { user: { create: { pick: ['a'] } }, editor: { read: true } },
    caller: editor,
    body,
    expected: { a: '1' },
  },
  {
    rule: 'false mentions the operation',
    permissions: { '*': true, editor: { create: false } },
    caller: editor,
    body,
    expected: 403,
  },
  {
    rule: '*, user and owner as roles count for nothing',
    permissions: { user: { create: { pick: ['a'] } } },
    caller: { id: 'x', roles: ['*', 'user', 'owner'] },
    body,
    expected: { a: '1' },
  },
  {
    rule: 'one rule a write, never a mixture: the first of several roles that drops nothing',
    permissions: { editor: { create: { pick: ['a'] } }, clerk: { create: { pick: ['a', 'b'] } } },
    caller: both,
    body,
    expected: { a: '1', b: '2' },
  },
  {
    rule: 'where each drops something: the first in the order of the configuration',
    permissions: { clerk: { create: { pick: ['b'] } }, editor: { create: { pick: ['a'] } } },
    caller: both,
    body,
    expected: { b: '2' },
  },
  {
    rule: 'a rule whose check fails is passed over for one whose check holds',
    permissions: { editor: { create: { check: { a: 'x' } } }, clerk: { create: { pick: ['a'] } } },
    caller: both,
    body,
    expected: { a: '1' },
  },
  {
    rule: 'the faults of the first rule tried are the answer',
    permissions: { editor: { create: true }, clerk: { create: { omit: ['n'] } } },
    caller: both,
    body: { a: '1', n: 11 },
    expected: 400,
  },
  {
    rule: 'a later rule that is invalid is passed over',
    permissions: { editor: { create: { check: { a: 'x' } } }, clerk: { create: { set: { n: '$user.n' } } } },
    caller: { ...both, n: 11 },
    body: { a: '1' },
    expected: 403,
  },
  {
    rule: 'check: what the document must satisfy as it would be stored',
    permissions: { user: { create: { check: { n: { $lte: 5 } } } } },
    caller: ann,
    body: { n: 5 },
    expected: { n: 5 },
  },
  {
    rule: 'a failed check is 403 for everyone, signed in',
    permissions: { '*': { create: { check: { n: { $lte: 5 } } } } },
    caller: ann,
    body: { n: 6 },
    expected: 403,
  },
  {
    rule: 'a failed check is 403 for everyone, anonymous',
    permissions: { '*': { create: { check: { n: { $lte: 5 } } } } },
    caller: null,
    body: { n: 6 },
    expected: 403,
  },
  {
    rule: 'validation comes before check',
    permissions: { '*': { create: { check: { a: 'x' } } } },
    caller: null,
    body: { n: 11 },
    expected: 400,
  },
  {
    rule: 'check sees system fields',
    permissions: { user: { create: { check: { createdBy: '$user._id' } } } },
    caller: ann,
    body,
    expected: body,
  },
  {
    rule: 'check with $or',
    permissions: { '*': { create: { check: { $or: [{ a: 'x' }, { b: '2' }] } } } },
    caller: null,
    body,
    expected: body,
  },
  {
    rule: 'check with $and',
    permissions: { '*': { create: { check: { $and: [{ a: '1' }, { b: 'x' }] } } } },
    caller: null,
    body,
    expected: 403,
  },
  {
    rule: 'set: values put in over the body',
    permissions: { user: { create: { set: { a: 'set' } } } },
    caller: ann,
    body,
    expected: { a: 'set', b: '2' },
  },
  {
    rule: 'set with $user',
    permissions: { user: { create: { set: { team: '$user.team' } } } },
    caller: { ...ann, team: 'red' },
    body: { team: 'blue' },
    expected: { team: 'red' },
  },
  {
    rule: 'set with $user._id',
    permissions: { user: { create: { set: { team: '$user._id' } } } },
    caller: ann,
    body: {},
    expected: { team: 'ann' },
  },
  {
    rule: 'a set with what the caller lacks is 403',
    permissions: { user: { create: { set: { team: '$user.team' } } } },
    caller: ann,
    body,
    expected: 403,
  },
  {
    rule: 'a set with what the caller holds as null is 403',
    permissions: { user: { create: { set: { team: '$user.team' } } } },
    caller: { ...ann, team: null },
    body,
    expected: 403,
  },
  {
    rule: 'a set with what the field cannot take is 403',
    permissions: { user: { create: { set: { team: '$user.team' } } } },
    caller: { ...ann, team: 5 },
    body,
    expected: 403,
  },
  {
    rule: 'nobody has no $user',
    permissions: { '*': { create: { set: { team: '$user._id' } } } },
    caller: null,
    body,
    expected: 403,
  },
  {
    rule: 'what set overwrites does not count as dropped',
    permissions: { editor: { create: { pick: ['a'], set: { b: 'set' } } }, clerk: { create: true } },
    caller: both,
    body,
    expected: { a: '1', b: 'set' },
  },
  {
    rule: 'undeclared properties count as dropped',
    permissions: { editor: { create: { pick: ['a', 'b'] } }, clerk: { create: true } },
    caller: both,
    body: { ...body, odd: 1 },
    expected: 400,
  },
  {
    rule: 'system fields do not count as dropped',
    permissions: { editor: { create: { pick: ['a', 'b'] } }, clerk: { create: true } },
    caller: both,
    body: { ...body, _id: 'x', createdBy: 'y' },
    expected: body,
  },
  {
    rule: 'check against a $user array',
    permissions: { user: { create: { check: { team: { $in: '$user.teams' } } } } },
    caller: { ...ann, teams: ['red', 'blue'] },
    body: { team: 'blue' },
    expected: { team: 'blue' },
  },
  {
    rule: 'a comparison with what the caller lacks is false, whatever its operator',
    permissions: { user: { create: { check: { team: { $ne: '$user.team' } } } } },
    caller: ann,
    body: { team: 'x' },
    expected: 403,
  },
  {
    rule: 'a comparison with what the field cannot take is false, $nin too',
    permissions: { user: { create: { check: { team: { $nin: '$user.teams' } } } } },
    caller: { ...ann, teams: 'red' },
    body: { team: 'x' },
    expected: 403,
  },
  {
    rule: '$now stands for the time',
    permissions: { '*': { create: { set: { at: '$now' }, check: { at: { $lte: '$now' } } } } },
    caller: null,
    body: {},
    expected: { at: '2026-11-20T08:00:00.000Z' },
  },
]

/** Runs one case. Throws where the answer or what is stored is another. */
export async function checkWrite(
  { permissions, caller, body, expected }: WriteCase,
  create?: Create,
): Promise<void> {
  const config = {
    collections: { things: { schema, permissions: { ...permissions, auditor: { read: true } } } },
  }
  const { send } = createTestService(config, {
    authenticate: () => null,
    now: () => Date.parse('2026-11-20T08:00:00Z'),
    ...(create ? { create } : {}),
  })
  const { status } = await send('POST /things', { body, caller })
  const stored = await send('GET /things', { caller: { id: 'auditor', roles: ['auditor'] } })
  if (typeof expected === 'number') {
    expect(status).toBe(expected)
    expect(stored.body).toEqual([])
    return
  }
  expect(status).toBe(201)
  const [{ _id, createdAt, updatedAt, createdBy, ...fields }] = stored.body
  expect(createdBy).toBe(caller?.id ?? null)
  expect(fields).toEqual(expected)
}

const users = (permissions: object) => ({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true },
        password: { type: 'hash' },
        role: { type: 'string', enum: ['admin'] },
      },
      permissions,
    },
  },
  auth: { roleField: 'role' },
})

/** The role field: accepted where `pick` names it, or from a role whose whole grant is `true`; nowhere else. */
export const roleCases: readonly (readonly [
  rule: string,
  permissions: object,
  caller: Caller | null,
  isAccepted: boolean,
])[] = [
  ['never through true of *', { '*': true }, null, false],
  ['never through true of user', { user: true }, ann, false],
  [
    'never through create: true of a role',
    { admin: { create: true, read: true } },
    { id: 'x', roles: ['admin'] },
    false,
  ],
  [
    'never through an omit that leaves it',
    { admin: { create: { omit: ['email'] }, read: true } },
    { id: 'x', roles: ['admin'] },
    false,
  ],
  ['from a role whose whole grant is true', { admin: true }, { id: 'x', roles: ['admin'] }, true],
  ['where pick names it', { user: { create: { pick: ['role', 'password'] } } }, ann, true],
]

export async function checkRole(
  [, permissions, caller, isAccepted]: (typeof roleCases)[number],
  create?: Create,
): Promise<void> {
  const { send } = createTestService(
    users({ auditor: { read: true }, ...permissions }),
    create ? { create } : {},
  )
  const { status } = await send('POST /users', { caller, body: { password: 'correct horse', role: 'admin' } })
  expect(status).toBe(201)
  const [user] = (await send('GET /users', { caller: { id: 'a', roles: ['auditor'] } })).body
  expect(user.role).toBe(isAccepted ? 'admin' : undefined)
}
