import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { createTestService, faultsOf, type Sent } from '../support/service.js'

// CONTRACT.md §6, "Problems"

const text = { type: 'string' }

const config = {
  collections: {
    things: {
      schema: { heading: text, salary: text, status: text, hidden: text },
      permissions: {
        '*': { create: { omit: ['salary'] }, read: true, update: { omit: ['salary', 'hidden'] } },
        clerk: { create: { omit: ['heading', 'salary'] } },
        admin: true,
      },
    },
    users: {
      schema: {
        email: { type: 'string', unique: true, lowercase: true },
        password: { type: 'hash' },
        role: { type: 'string', enum: ['admin'] },
        nickname: text,
      },
      permissions: {
        '*': { create: { omit: ['nickname'] } },
        user: { create: true, read: true },
        admin: true,
      },
    },
  },
  auth: { roleField: 'role' },
}

const member = { id: 'ann' }
const clerk = { id: 'cleo', roles: ['clerk'] }
const admin = { id: 'zoe', roles: ['admin'] }

/** All that the answer says of the one property that is wrong, the names in quotes. */
function namesIn(sent: Sent, path: string): string[] {
  expect(sent.status).toBe(400)
  expect(faultsOf(sent)).toEqual({ [path]: 'unknown_property' })
  const [{ message }] = sent.body.errors
  const named = (words: string): string[] => [...words.matchAll(/"(\w+)"/g)].map(([, name]) => name ?? '')
  expect(named(sent.body.detail)).toEqual(named(message))
  return named(message)
}

describe('a misspelt property', () => {
  test.each<[who: string, name: string, nearest: string[], caller: Caller | null]>([
    ['everyone', 'headin', ['heading'], null],
    ['everyone', 'salry', [], null],
    ['everyone', 'hiden', ['hidden'], null],
    ['a role', 'headin', [], clerk],
    ['a role', 'salry', [], clerk],
    ['a role', 'statu', ['status'], clerk],
    ['a role that may do all', 'salry', ['salary'], admin],
  ])(
    'is told the nearest name that the rule of %s accepts, and no other: %s',
    async (_, name, nearest, caller) => {
      const { send } = createTestService(config, { authenticate: () => null })
      expect(namesIn(await send('POST /things', { body: { [name]: 'x' }, caller }), `/${name}`)).toEqual(
        nearest,
      )
    },
  )

  test('is told the nearest name where it is among the first eight', async () => {
    const { send } = createTestService(config, { authenticate: () => null })
    const misspelt = Array.from({ length: 40 }, (_, i) => [`headin${i}`, 'x'])
    const { body } = await send('POST /things', { body: Object.fromEntries(misspelt), caller: admin })
    expect(body.errors).toHaveLength(40)
    const told = body.errors.map(({ message }: { message: string }) => message.includes('"heading"'))
    expect(told).toEqual(misspelt.map((_, i) => i < 8))
  })

  test.each<[name: string, nearest: string[]]>([
    ['headin', ['heading']],
    ['salry', []],
    ['hiden', []],
  ])('of an update is judged alike: %s', async (name, nearest) => {
    const { send } = createTestService(config, { authenticate: () => null })
    const { _id } = (await send('POST /things', { body: { heading: 'a' }, caller: admin })).body
    for (const method of ['PATCH', 'PUT']) {
      const sent = await send(`${method} /things/${_id}`, { body: { [name]: 'x' }, caller: member })
      expect(namesIn(sent, `/${name}`)).toEqual(nearest)
    }
  })

  test.each<[who: string, line: string, name: string, nearest: string[], sent: { caller?: Caller | null }]>([
    ['a stranger who registers', 'POST /auth/register', 'rolle', [], {}],
    ['a stranger who registers', 'POST /auth/register', 'nicknme', [], {}],
    ['a stranger', 'POST /users', 'rolle', [], { caller: null }],
    ['a stranger', 'POST /users', 'nicknme', [], { caller: null }],
    ['whoever is signed in', 'POST /users', 'rolle', [], { caller: member }],
    ['whoever is signed in', 'POST /users', 'nicknme', ['nickname'], { caller: member }],
    ['a role that may do all', 'POST /users', 'rolle', ['role'], { caller: admin }],
  ])('of an account names the role field to nobody who may not write it: %s, %s, %s', async (...row) => {
    const [, line, name, nearest, sent] = row
    const { send } = createTestService(config)
    const body = { email: 'ann@example.com', password: 'correct horse', [name]: 'admin' }
    expect(namesIn(await send(line, { body, ...sent }), `/${name}`)).toEqual(nearest)
  })
})
