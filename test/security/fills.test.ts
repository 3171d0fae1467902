import { describe, expect, test } from 'vitest'
import { type Caller, createMemoryAdapter, type HookChange, type StorageAdapter } from '../../src/index.js'
import { ann, creates, FILLED, opener } from '../support/fill-laws.js'
import { dumpOf, IN_MEMORY } from '../support/hook-laws.js'
import { createMailbox } from '../support/mailbox.js'
import { createTestService, type Sent, type TestService } from '../support/service.js'
import { idOf } from '../support/stored.js'

// CONTRACT.md §9, "Before a write"

/** Who tries to find out what a hook fills, or to write it. */

type Json = { readonly [name: string]: unknown }

const { tickets } = FILLED.collections

/** Tickets with what nobody but the host sees, or without it. */
const configOf = (hidden: Json) => {
  const { mark, number, kind, ...schema } = tickets.schema
  return {
    collections: {
      tickets: {
        schema: { ...schema, ...hidden },
        permissions: {
          '*': {
            read: { pick: ['title', 'note'] },
            create: { pick: ['title', 'note'] },
            update: { pick: ['title', 'note'] },
          },
        },
      },
    },
    limits: { maxLimit: 100 },
  }
}

const open = (config: object, hook: object, adapter: StorageAdapter = createMemoryAdapter()): TestService =>
  createTestService(config as never, { adapter, hooks: { tickets: hook } as never, openapi: true })

/** An answer but for what is random in it. */
const plain = ({ status, headers, text }: Sent): unknown => [
  status,
  [...headers].filter(([name]) => !['etag', 'location', 'content-length'].includes(name)),
  text
    .replaceAll(/[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g, '')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|"etag":"[^}]*?"(?=[,}])/g, ''),
]

const LINES: readonly (readonly [line: string, body?: Json, headers?: { [name: string]: string }])[] = [
  ...creates({ title: 'A' }),
  ...creates({ title: 'A', note: 5 }, 5),
  ...creates({}, 7),
  ...creates({ title: 'A', mark: 'mine', number: 1 }, 9),
  ...creates({ title: 'A', mark: null }, 11),
  ['POST /tickets', { title: 'A', mark: 'mine' }, { prefer: 'handling=strict' }],
  [`PUT /tickets/${idOf(1)}`, { title: 'B' }],
  [`PUT /tickets/${idOf(1)}`, { title: 'B', mark: 'mine' }],
  [`PATCH /tickets/${idOf(1)}`, { mark: null, number: null }],
  [`PATCH /tickets/${idOf(1)}`, { title: null }],
  ['GET /tickets?q[mark][$exists]=true'],
  ['GET /tickets?sort[number]=1'],
  ['GET /tickets'],
  ['GET /'],
  ['GET /_openapi.json'],
]

test('no answer tells a caller whether what they may not see is filled, or not there at all', async () => {
  const hidden = { mark: { type: 'string', required: true }, number: { type: 'integer', required: true } }
  const set = { mark: 'm', number: 1 }
  const [filling, bare, unfilled] = [
    open(configOf(hidden), { fills: ['mark', 'number'], before: create(() => ({ set })) }),
    open(configOf({}), { before: () => undefined }),
    open(configOf({ mark: { type: 'string' }, number: { type: 'integer' } }), {
      before: create(() => ({ set })),
    }),
  ]
  for (const [line, body, headers = {}] of LINES) {
    const answers: unknown[] = []
    for (const { send } of [filling, bare, unfilled])
      answers.push(plain(await send(line, { ...(body ? { body } : {}), headers })))
    expect([line, answers[1]]).toEqual([line, answers[0]])
    expect([line, answers[2]]).toEqual([line, answers[0]])
  }
  const stored = await dumpOf(filling, 'tickets')
  expect(stored.length).toBeGreaterThan(5)
  for (const one of stored) expect(one).toMatchObject(set)
})

/** Does it where something is created. */
const create =
  (wish: () => unknown) =>
  ({ operation }: HookChange): unknown =>
    operation === 'create' ? wish() : undefined

test('a hook that fails to fill fails alike, whatever it lacks and whoever asks', async () => {
  const wishes: readonly unknown[] = [
    undefined,
    {},
    { set: {} },
    { set: { mark: 'm' } },
    { set: { number: 1 } },
  ]
  const answers = new Set<string>()
  for (const wish of wishes) {
    const hook = { fills: ['mark', 'number', 'kind'], before: () => wish }
    const service = await opener(IN_MEMORY)({ tickets: hook as never })
    for (const caller of [ann, { id: 'carl', roles: ['clerk'] }] as Caller[])
      for (const [line, body, headers] of creates({ title: 'A' })) {
        const { status, text } = await service.send(line, { caller, body, headers, mayFail: true })
        answers.add(`${status} ${text.replace(/"requestId":"[^"]*"/, '')}`)
      }
    expect(await dumpOf(service, 'tickets')).toEqual([])
  }
  expect(answers.size).toBe(1)
})

test('what a host does to its list later changes nothing', async () => {
  const fills = ['mark', 'number', 'kind']
  const set = { mark: 'm', number: 1, kind: 'plain' }
  const service = createTestService(FILLED, {
    authenticate: () => null,
    hooks: { tickets: { fills, before: () => ({ set }) } } as never,
  })
  fills.length = 0
  fills.push('title')
  const send = (body: Json) => service.send('POST /tickets', { caller: ann, body })
  expect((await send({})).status).toBe(400)
  expect((await send({ title: 'A' })).status).toBe(201)
})

describe('a filled field with the name of a member of objects', () => {
  const NAMES = ['toString', 'valueOf', 'hasOwnProperty']
  const schema = Object.fromEntries(NAMES.map((name) => [name, { type: 'string', required: true }]))
  const config = { collections: { things: { schema, permissions: { '*': { create: true, read: true } } } } }

  test('is missing where no body gives it', async () => {
    const seen: unknown[] = []
    const wish = { set: Object.fromEntries(NAMES.map((name) => [name, 'x'])) as Json | undefined }
    const before = ({ after }: HookChange): unknown => {
      seen.push(NAMES.filter((name) => Object.hasOwn(after ?? {}, name)))
      return wish.set ? { set: wish.set } : undefined
    }
    const service = createTestService(config, { hooks: { things: { fills: NAMES, before } } as never })
    expect((await service.send('POST /things', { body: {} })).body).toMatchObject(wish.set ?? {})
    wish.set = undefined
    expect((await service.send('POST /things', { body: {}, mayFail: true })).status).toBe(500)
    const given = Object.fromEntries(NAMES.map((name) => [name, 'y']))
    expect((await service.send('POST /things', { body: given })).status).toBe(201)
    expect(seen).toEqual([[], [], NAMES])
  })
})

test('a registration tells no more of an identifier for what its hook fills, or does not', async () => {
  const config = {
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true, required: true, lowercase: true },
          password: { type: 'hash', required: true },
          handle: { type: 'string', required: true },
          verifiedAt: { type: 'timestamp' },
        },
        permissions: { owner: { read: true } },
      },
    },
    auth: { identifier: 'email', verifiedField: 'verifiedAt', requireVerified: true },
  }
  let fills = true
  const mail = createMailbox()
  const service = createTestService(config, {
    ...mail.options,
    hooks: {
      users: {
        fills: ['handle'],
        before: create(() => (fills ? { set: { handle: 'h' } } : undefined)),
      },
    } as never,
  })
  const register = async (email: string) => {
    const body = { email, password: 'a long secret' }
    const { status, text } = await service.send('POST /auth/register', { body, mayFail: true })
    return [status, text.replace(/"requestId":"[^"]*"/, '')]
  }
  const first = await register('ann@example.com')
  expect(first[0]).toBe(202)
  expect(await register('ann@example.com')).toEqual(first)
  fills = false
  const failed = await register('ann@example.com')
  expect(failed[0]).toBe(500)
  expect(await register('bob@example.com')).toEqual(failed)
})
