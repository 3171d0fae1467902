import { describe, expect, test } from 'vitest'
import { type AnyConfig, createTestService, type SendOptions } from '../support/service.js'

// CONTRACT.md §6, "Headers"

const TEXT = { type: 'string' }

const config: AnyConfig = {
  collections: {
    users: {
      schema: {
        email: { ...TEXT, unique: true, lowercase: true },
        password: { type: 'hash' },
        name: TEXT,
        role: TEXT,
      },
      permissions: {
        '*': { create: { pick: ['name'] } },
        owner: { read: true, update: true },
        admin: true,
        clerk: { read: true, create: true },
      },
    },
    notes: {
      schema: { title: TEXT, team: TEXT, secret: TEXT, n: { type: 'integer' } },
      permissions: {
        '*': { read: { omit: ['secret'] }, create: { pick: ['title'] } },
        user: { create: { omit: ['n'], set: { team: 'red' } }, update: { pick: ['title'], set: { n: 1 } } },
        editor: { create: true, update: true },
        two: { create: { pick: ['title'], check: { title: 'first' } } },
        three: { create: { pick: ['title', 'team'] } },
      },
    },
    free: {
      schema: {},
      additionalProperties: true,
      permissions: { '*': { read: true, create: { pick: [] } } },
    },
  },
  auth: { roleField: 'role' },
}

const SYSTEM = { _id: 'x', createdAt: 1, updatedAt: null, createdBy: {} }
const SYSTEM_NAMES = '"_id", "createdAt", "createdBy", "updatedAt"'
const user = { caller: { id: 'ann' } }
const editor = { caller: { id: 'ann', roles: ['editor'] } }
const ID = '0189abcd-0000-7000-8000-000000000001'
const HEADER = 'ignored-properties'

/** The header of an answer of 2xx. */
async function ask(line: string, sent: SendOptions): Promise<string | null> {
  const service = createTestService(config, { documents: { notes: [{ _id: ID, title: 'a', secret: 'b' }] } })
  const { status, headers, text } = await service.send(line, sent)
  expect([200, 201], text).toContain(status)
  return headers.get(HEADER)
}

describe('properties that no rule lets in are named', () => {
  test.each<[what: string, line: string, body: object, sent: SendOptions, expected: string | null]>([
    ['none', 'POST /notes', { title: 'x' }, {}, null],
    ['by pick', 'POST /notes', { title: 'x', team: 'y', n: 1 }, {}, '"n", "team"'],
    ['by omit', 'POST /notes', { title: 'x', n: 1 }, user, '"n"'],
    ['by set', 'POST /notes', { title: 'x', team: 'blue' }, user, '"team"'],
    ['that are not in the schema', 'POST /notes', { title: 'x', toString: 1, x: 1 }, {}, '"toString", "x"'],
    ['that nobody can set', 'POST /notes', { ...SYSTEM, title: 'x' }, editor, SYSTEM_NAMES],
    ['all of a body', 'POST /free', { a: 1, ...SYSTEM }, {}, `"_id", "a", ${SYSTEM_NAMES.slice(7)}`],
    ['by PATCH', `PATCH /notes/${ID}`, { title: 'x', n: 2, team: 'y', _id: ID }, user, '"_id", "n", "team"'],
    ['by a PATCH that keeps nothing', `PATCH /notes/${ID}`, { team: 'y' }, user, '"team"'],
    ['by PUT', `PUT /notes/${ID}`, { title: 'x', secret: 'y', createdAt: 1 }, user, '"createdAt", "secret"'],
    [
      'by PUT that creates',
      'PUT /notes/0189abcd-0000-7000-8000-000000000002',
      { title: 'x', n: 1 },
      { headers: { 'if-none-match': '*' } },
      '"n"',
    ],
    [
      'of any document of a bulk',
      'POST /notes/bulk',
      { documents: [{ title: 'x', n: 1 }, {}, { team: 'y', n: 1, _id: 1 }] },
      {},
      '"_id", "n", "team"',
    ],
    [
      'by the rule that runs',
      'POST /notes',
      { title: 'second', team: 'y', n: 1 },
      { caller: { id: 'ann', roles: ['two', 'three'] } },
      '"n"',
    ],
    [
      'by the rule for roles',
      'POST /users',
      { email: 'ann', password: 'secret', role: 'admin' },
      { caller: { id: 'ann', roles: ['clerk'] } },
      '"role"',
    ],
    ['by registration', 'POST /auth/register', { email: 'ann', password: 'x', name: 'y' }, {}, null],
    [
      'that registration takes',
      'POST /auth/register',
      { email: 'ann', password: 'x', name: 'y', role: 'admin', team: 1, _id: 1 },
      {},
      '"_id", "role", "team"',
    ],
  ])('%s', async (_, line, body, sent, expected) => {
    expect(await ask(line, { ...sent, body })).toBe(expected)
  })

  test('only such as a property could have, and at most twenty', async () => {
    const odd = [
      '_version',
      '_hashes',
      'a b',
      'é',
      '',
      'x"',
      'x\r\ny: z',
      '$ne',
      '0',
      'constructor',
      'prototype',
    ]
    const body = Object.fromEntries(odd.map((name) => [name, 1]))
    expect(await ask('POST /free', { body })).toBe(null)
    expect(await ask('POST /free', { body: { ...body, z: 1 } })).toBe('"z"')
    const names = Array.from({ length: 1000 }, (_, i) => `p${String(i).padStart(3, '0')}`)
    const many = Object.fromEntries([...names].reverse().map((name) => [name, 1]))
    const first = names.slice(0, 20).map((name) => `"${name}"`)
    expect(await ask('POST /free', { body: many })).toBe(first.join(', '))
    const documents = names.slice(0, 100).map((name) => ({ [name]: 1, [`${name}x`]: 1 }))
    const both = names.slice(0, 10).flatMap((name) => [`"${name}"`, `"${name}x"`])
    expect(await ask('POST /free/bulk', { body: { documents } })).toBe(both.join(', '))
  })
})

test('nothing is named where a write is refused, nor by a login', async () => {
  const service = createTestService(config)
  const refused: readonly (readonly [line: string, body: object, status: number])[] = [
    ['POST /notes', { title: 1, n: 1 }, 400],
    ['POST /auth/register', { email: 1, team: 1 }, 400],
    [`PATCH /notes/${ID}`, { n: 1 }, 401],
    ['POST /auth/login', { email: 'ann', password: 'x', team: 1 }, 400],
  ]
  const { token } = await service.register({ email: 'ann', password: 'secret' })
  for (const [line, body, status] of refused) {
    const answer = await service.send(line, { body })
    expect([answer.status, answer.headers.get(HEADER)]).toEqual([status, null])
  }
  const login = await service.send('POST /auth/login', { body: { email: 'ann', password: 'secret' } })
  expect([login.status, login.headers.get(HEADER)]).toEqual([200, null])
  expect((await service.send('GET /auth/me', { token })).headers.get(HEADER)).toBe(null)
})

test('it says the same whatever the caller may not read', async () => {
  const headerOf = async (secret: string | undefined, line: string, body: object) => {
    const { send } = createTestService(config, { documents: { notes: [{ _id: ID, title: 'a', secret }] } })
    return (await send(`${line} /notes/${ID}`, { ...user, body })).headers.get(HEADER)
  }
  for (const line of ['PATCH', 'PUT'])
    for (const body of [{ secret: 'b' }, { secret: null, title: 'a' }, { title: 'x', secret: 1, n: 2 }]) {
      const seen = await Promise.all(['b', 'c', ''].map((secret) => headerOf(secret, line, body)))
      expect(new Set(seen).size).toBe(1)
      expect(seen[0]).toContain('"secret"')
    }
})
