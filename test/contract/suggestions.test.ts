import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type Caller, createCollectionService, createMemoryAdapter } from '../../src/index.js'
import { createTestService, faultsOf, type Sent } from '../support/service.js'

// CONTRACT.md §6, "Problems"

const text = { type: 'string' }

const config = {
  collections: {
    things: {
      schema: {
        heading: text,
        salary: text,
        status: text,
        hidden: text,
        place: {
          type: 'object',
          properties: { city: text, point: { type: 'object', properties: { north: text } } },
        },
        parts: { type: 'array', items: { type: 'object', properties: { weight: text } } },
      },
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

  test('is never told the field that the service alone writes', async () => {
    const { users } = config.collections
    const schema = { ...users.schema, verifiedAt: { type: 'timestamp' } }
    const { send } = createTestService({
      collections: { users: { ...users, schema } },
      auth: { ...config.auth, verifiedField: 'verifiedAt' },
    })
    const body = { email: 'ann@example.com', password: 'correct horse', verifiedA: 'x' }
    for (const [line, caller] of [['POST /auth/register'], ['POST /users', admin]] as const)
      expect(namesIn(await send(line, { body, ...(caller ? { caller } : {}) }), '/verifiedA')).toEqual([])
  })

  test.each<[path: string, nearest: string[], body: object]>([
    ['/place/cty', ['city'], { place: { cty: 'x' } }],
    ['/place/headin', [], { place: { headin: 'x' } }],
    ['/place/point/nort', ['north'], { place: { point: { nort: 'x' } } }],
    ['/parts/1/wight', ['weight'], { parts: [{}, { wight: 'x' }] }],
  ])('inside a field is told the nearest name of its place: %s', async (path, nearest, body) => {
    const { send } = createTestService(config, { authenticate: () => null })
    expect(namesIn(await send('POST /things', { body, caller: null }), path)).toEqual(nearest)
    const { _id } = (await send('POST /things', { body: {}, caller: admin })).body
    expect(namesIn(await send(`PATCH /things/${_id}`, { body, caller: null }), path)).toEqual(nearest)
  })

  test('of the first documents is told the nearest of all names', async () => {
    const documents = { things: [{ salry: 'x' }, { place: { cty: 'x' } }] }
    const handler = createCollectionService(config, createMemoryAdapter({ documents }), {
      logger: { info() {}, warn() {}, error() {} },
      authenticate: () => null,
    })
    await expect(handler.ready()).rejects.toMatchObject({
      errors: [
        { path: '/things/0/salry', message: expect.stringContaining('did you mean "salary"?') },
        { path: '/things/1/place/cty', message: expect.stringContaining('did you mean "city"?') },
      ],
    })
  })

  test('of a hook is told the nearest of all names', async () => {
    const lines: string[] = []
    const { send } = createTestService(config, {
      authenticate: () => null,
      logger: {
        info() {},
        warn() {},
        error: (line: unknown, details: unknown) => void lines.push(`${line} ${inspect(details)}`),
      },
      hooks: { things: { before: () => ({ set: { salry: 'x' } }) } },
    } as object)
    expect((await send('POST /things', { body: {}, caller: null, mayFail: true })).status).toBe(500)
    expect(lines.join()).toContain('did you mean "salary"?')
  })

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
    ['a signed-in caller', 'POST /users', 'rolle', [], { caller: member }],
    ['a signed-in caller', 'POST /users', 'nicknme', ['nickname'], { caller: member }],
    ['a role that may do all', 'POST /users', 'rolle', ['role'], { caller: admin }],
  ])('of an account names the role field to nobody who may not write it: %s, %s, %s', async (...row) => {
    const [, line, name, nearest, sent] = row
    const { send } = createTestService(config)
    const body = { email: 'ann@example.com', password: 'correct horse', [name]: 'admin' }
    expect(namesIn(await send(line, { body, ...sent }), `/${name}`)).toEqual(nearest)
  })
})
