import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../../../../src/index.js'
import { comparePermissions } from '../../../../../src/tools/insight/diff/compare-permissions.js'
import type { PermissionDifference } from '../../../../../src/tools/insight/diff/types.js'
import { createTestService } from '../../../../support/service.js'

// CONTRACT.md §8, "Diff"

type Permissions = { readonly [subject: string]: unknown }

const notes = (permissions: Permissions) => ({
  collections: { notes: { schema: { text: { type: 'string' } }, permissions } },
})

/** How a witness is answered. */
async function ask(permissions: Permissions, { witness }: PermissionDifference): Promise<number> {
  const { caller, documents, request, now } = witness
  const { handler, send } = createTestService(notes(permissions), {
    adapter: createMemoryAdapter({ documents: documents as never }),
    authenticate: () => null,
    now: () => Date.parse(now),
  })
  const { status } = await send(`${request.method} ${request.path}`, {
    ...(request.body ? { body: request.body } : {}),
    caller,
  })
  await handler.close()
  return status
}

const creating = (check: object) => ({ user: { create: { check } } })
const NOBODY = { user: { create: false } }
const SOON = '2026-06-01T00:00:00Z'
const LATER = '2027-01-01T00:00:00Z'
const god = { god: { read: true, create: true } }
const changing = (check: object) => ({ ...god, '*': { read: true, update: { check } } })

describe('what a write gives a document itself is compared with what a rule names', () => {
  test.each<[what: string, before: Permissions, after: Permissions, kinds: readonly string[]]>([
    ['a creator', NOBODY, creating({ createdBy: 'u1' }), ['widening']],
    [
      'one more creator',
      creating({ createdBy: 'u2' }),
      creating({ createdBy: { $in: ['u2', 'u1'] } }),
      ['widening'],
    ],
    ['a time to come', NOBODY, creating({ createdAt: { $gt: LATER } }), ['widening']],
    [
      'an earlier time',
      creating({ createdAt: { $gt: LATER } }),
      creating({ createdAt: { $gt: SOON } }),
      ['widening'],
    ],
    ['a time that is over', creating({ createdAt: { $lt: SOON } }), NOBODY, ['narrowing']],
    [
      'a time of nobody',
      { '*': { create: { check: { createdAt: { $gt: LATER } } } } },
      { '*': { create: { check: { createdAt: { $gt: SOON } } } } },
      ['widening'],
    ],
    [
      'the time of a change',
      { ...god, '*': { read: true } },
      changing({ updatedAt: { $gt: LATER } }),
      ['widening'],
    ],
  ])('%s', async (_, before, after, kinds) => {
    const all = comparePermissions(notes(before), notes(after), { authenticate: true })
    const found = all.filter((one): one is PermissionDifference => 'witness' in one && one.kind !== 'changed')
    expect([...new Set(found.map(({ kind }) => kind))]).toEqual(kinds)
    for (const one of all) {
      if (!('witness' in one)) throw new Error(`${one.kind} is no difference of rights`)
      const [was, is] = [await ask(before, one), await ask(after, one)]
      if (one.kind === 'widening') expect([was >= 400, is < 300]).toEqual([true, true])
      else if (one.kind === 'narrowing') expect([was < 300, is >= 400]).toEqual([true, true])
    }
  })
})

describe('what a registration accepts or sets', () => {
  const accounts = (create: unknown, auth: object = {}) => ({
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true, required: true },
          password: { type: 'hash', required: true },
          name: { type: 'string' },
          role: { type: 'string', enum: ['admin'] },
        },
        permissions: { '*': create === true ? true : { create }, owner: { read: true }, admin: true },
      },
    },
    auth: { roleField: 'role', ...auth },
  })
  const structureOf = (before: unknown, after: unknown) =>
    comparePermissions(before, after).filter((one) => 'pointer' in one)

  test.each<[what: string, before: unknown, after: unknown]>([
    ['a role that is set', { pick: ['name'] }, { pick: ['name'], set: { role: 'admin' } }],
    ['one more property', { pick: [] }, { pick: ['name'] }],
    ['a check', { pick: ['name'] }, { pick: ['name'], check: { name: 'Ann' } }],
  ])('is a difference of its own, with its place: %s', (_, before, after) => {
    expect(structureOf(accounts(before), accounts(after))).toMatchObject([
      {
        kind: 'auth',
        pointer: expect.stringMatching(/^\/collections\/users\/permissions\/\*\/create/),
        follows: ['decides what a registration accepts and sets'],
      },
    ])
  })

  test('is none where nobody can register, nor where it means the same', () => {
    const [before, after] = [{ pick: ['name'] }, { pick: ['name'], set: { role: 'admin' } }]
    const closed = { register: false }
    expect(structureOf(accounts(before, closed), accounts(after, closed))).toEqual([])
    expect(structureOf(accounts({ pick: ['name', 'role'] }), accounts({ pick: ['role', 'name'] }))).toEqual(
      [],
    )
  })
})
