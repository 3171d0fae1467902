import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/index.js'
import { watchWrites } from '../contract/support/accounts.js'
import { createTestService, faultsOf, type Sent } from '../support/service.js'

// ASVS.md, and what of it no other test shows. CONTRACT.md §4, "Delivery"

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(join(root, 'test/security/ASVS.md'), 'utf8')

const STATES = ['met', 'in part', 'host', 'gap', 'not applicable']
/** How many requirements each section of the standard has. */
const SECTIONS = {
  '6.1': 3,
  '6.2': 12,
  '6.3': 8,
  '6.4': 6,
  '6.5': 8,
  '6.6': 4,
  '6.7': 2,
  '6.8': 4,
  '7.1': 3,
  '7.2': 4,
  '7.3': 2,
  '7.4': 5,
  '7.5': 3,
  '7.6': 2,
}

describe('ASVS.md', () => {
  const rows = [...page.matchAll(/^\| (\d\.\d\.\d+) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$/gm)].map(
    ([, id = '', , state = '', why = '']) => ({ id, state, why }),
  )

  test('has every requirement of the chapters, in order, with a state and a reason', () => {
    const expected = Object.entries(SECTIONS).flatMap(([section, count]) =>
      Array.from({ length: count }, (_, i) => `${section}.${i + 1}`),
    )
    expect(expected).toHaveLength(66)
    expect(rows.map(({ id }) => id)).toEqual(expected)
    for (const { id, state, why } of rows) {
      expect(STATES, id).toContain(state)
      expect(why, id).not.toBe('')
    }
    const [, names = '', counts = ''] = /^\| (met .*) \|\n\|[-|]+\|\n\| (.*) \|$/m.exec(page) ?? []
    const counted = names.split(' | ').map((state) => rows.filter((row) => row.state === state).length)
    expect(counts).toBe(counted.join(' | '))
  })

  test('names tests that are there', async () => {
    const named = [...page.matchAll(/`([\w/-]+\.test\.ts)` "([^"]+)"/g)]
    expect(named.length).toBeGreaterThan(50)
    for (const [, file = '', title = ''] of named)
      expect(
        (await readFile(join(root, 'test', file), 'utf8')).includes(`'${title}'`),
        `${file}: ${title}`,
      ).toBe(true)
  })
})

const HOUR = 60 * 60 * 1000

/** A service whose messages can be read, at a time that can be set. */
function open(auth: object = {}, users: { schema?: object; permissions?: object } = {}) {
  const messages: Delivery[] = []
  let now = Date.parse('2026-11-20T08:00:00Z')
  const { adapter, written } = watchWrites()
  const config = {
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true, required: true, trim: true, lowercase: true },
          password: { type: 'hash', required: true, minLength: 8 },
          role: { type: 'string' },
          since: { type: 'timestamp' },
          ...users.schema,
        },
        permissions: { owner: { read: true }, admin: { read: true }, ...users.permissions },
      },
    },
    auth: { identifier: 'email', roleField: 'role', verifiedField: 'since', ...auth },
  }
  const service = createTestService(config, {
    adapter,
    now: () => now,
    clientAddress: () => '203.0.113.1',
    deliver: (delivery) => void messages.push(delivery),
  })
  const post = (way: string, body: object, token?: string): Promise<Sent> =>
    service.send(`POST /auth/${way}`, { body, ...(token === undefined ? {} : { token }) })
  /** What goes out once everything behind the answers is done. */
  const next = async (): Promise<Delivery & { readonly token?: string }> => {
    for (;;) {
      const message = messages.shift()
      if (message) return message
      await new Promise((resolve) => setTimeout(resolve, 0))
    }
  }
  return {
    service,
    written,
    messages,
    post,
    next,
    pass(milliseconds: number): void {
      now += milliseconds
    },
    async settle() {
      await service.handler.close()
      return messages
    },
  }
}

const ANN = { email: 'ann@example.com', password: 'correct horse' }
const outcome = ({ status, body }: Sent): readonly unknown[] => [status, body?.code]

test('the configurations that ship ask for secrets of eight characters or more', async () => {
  const folders = [
    'examples',
    'examples/team',
    'examples/teams',
    'src/tools/cli/commands/templates/notes',
    'src/tools/cli/commands/templates/blog',
  ]
  for (const folder of folders) {
    const { collections } = JSON.parse(await readFile(join(root, folder, 'config.json'), 'utf8'))
    expect(collections.users.schema.password.minLength, folder).toBeGreaterThanOrEqual(8)
  }
  // No other one is there.
  expect((await readdir(join(root, 'src/tools/cli/commands/templates'))).sort()).toEqual([
    'blog',
    'notes',
    'teams',
  ])
})

test('a secret of any characters is taken, and compared exactly, in NFC', async () => {
  const { post } = open()
  const secrets = [' aaaaaaaa ', '12345678', 'Ünïcödé 🔑\n']
  for (const [i, password] of secrets.entries()) {
    const email = `${i}@example.com`
    expect((await post('register', { email, password })).status).toBe(201)
    const others = [
      password.trim(),
      password.toUpperCase(),
      password.normalize('NFKD').replace(/\p{M}/gu, ''),
    ]
    for (const other of new Set(others.filter((one) => one !== password)))
      expect(outcome(await post('login', { email, password: other }))).toEqual([401, 'invalid_credentials'])
    for (const same of [password, password.normalize('NFD')])
      expect((await post('login', { email, password: same })).status).toBe(200)
  }
})

test('a secret of 64 characters is taken whole', async () => {
  const { post } = open()
  const password = 'x'.repeat(64)
  expect((await post('register', { ...ANN, password })).status).toBe(201)
  expect((await post('login', { ...ANN, password: `${password.slice(1)}y` })).status).toBe(401)
  expect((await post('login', { ...ANN, password })).status).toBe(200)
  const tooLong = await post('register', { email: 'bob@example.com', password: 'ü'.repeat(37) })
  expect([tooLong.status, Object.keys(faultsOf(tooLong))]).toEqual([400, ['/password']])
})

test('a new service knows nobody', async () => {
  const { service, post } = open()
  for (const email of ['admin', 'root', 'admin@example.com'])
    for (const password of ['', 'admin', 'password'])
      expect(outcome(await post('login', { email, password }))).toEqual([401, 'invalid_credentials'])
  expect(await service.list('/users', 'email', { caller: { id: 'host', roles: ['admin'] } })).toEqual([])
})

test('nothing tells whether an identifier is taken, where accounts are verified first', async () => {
  const { service, post, settle } = open({ requireVerified: true })
  await post('register', ANN)
  const free = { ...ANN, email: 'bob@example.com' }
  for (const [way, bodyOf] of [
    ['register', (email: string) => ({ email, password: 'another horse' })],
    ['login', (email: string) => ({ email, password: ANN.password })],
    ['login', (email: string) => ({ email, password: 'another horse' })],
    ['request-reset', (email: string) => ({ email })],
    ['request-verification', (email: string) => ({ email })],
  ] as const) {
    const [taken, open] = [
      await post(way, bodyOf(ANN.email)),
      await post(way, bodyOf(`${way}-${free.email}`)),
    ]
    const plain = ({ status, text, headers }: Sent) => [
      ...[status, text.replace(/"requestId":"[^"]+"/, '')],
      [...headers.entries()].filter(([name]) => name !== 'x-request-id'),
    ]
    expect(plain(taken), way).toEqual(plain(open))
  }
  await settle()
  expect(service.logged).toEqual([])
})

test('who has an identifier is told when it changes', async () => {
  const { post, next } = open()
  const { token } = (await post('register', ANN)).body
  await next()
  expect(
    (await post('change-identifier', { current: ANN.password, new: ' New@Example.com' }, token)).status,
  ).toBe(202)
  const told = [await next(), await next()].map(({ kind, to }) => [kind, to])
  expect(told.sort()).toEqual([
    ['identifier-changing', ANN.email],
    ['new-identifier', 'new@example.com'],
  ])
})

test('a delivered token is random, ends, counts once, and is stored as a digest', async () => {
  const { post, next, pass, written, service } = open()
  await post('register', ANN)
  await next()
  const tokens: string[] = []
  for (let i = 0; i < 3; i++) {
    expect((await post('request-reset', { email: ANN.email })).body).toEqual({})
    tokens.push((await next()).token ?? '')
  }
  for (const token of tokens) {
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(Buffer.from(token, 'base64url')).toHaveLength(32)
    expect(written.join()).not.toContain(token)
    expect(written.join()).toContain(createHash('sha256').update(token).digest('hex'))
  }
  expect(new Set(tokens).size).toBe(3)
  const [first = '', second = ''] = tokens
  expect((await post('reset', { token: first, new: 'another horse' })).status).toBe(200)
  for (const token of [first, second])
    expect(outcome(await post('reset', { token, new: 'third horse' }))).toEqual([
      400,
      'invalid_delivered_token',
    ])
  pass(HOUR)
  await post('request-reset', { email: ANN.email })
  const { token = '' } = await next()
  pass(HOUR)
  expect(outcome(await post('reset', { token, new: 'third horse' }))).toEqual([
    400,
    'invalid_delivered_token',
  ])
  expect(JSON.stringify(service.logged)).not.toContain(token)
})

test('a delivered token is bound to its account, its purpose and its identifier', async () => {
  const { post, next } = open()
  const session = (await post('register', ANN)).body.token
  const verification = (await next()).token ?? ''
  await post('request-reset', { email: ANN.email })
  const reset = (await next()).token ?? ''
  await post('register', { email: 'bob@example.com', password: 'bobs own horse' })
  await next()
  const refused = [400, 'invalid_delivered_token']
  expect(outcome(await post('reset', { token: verification, new: 'another horse' }))).toEqual(refused)
  expect(outcome(await post('verify', { token: reset, current: ANN.password }))).toEqual(refused)
  expect(outcome(await post('reset', { token: session, new: 'another horse' }))).toEqual(refused)
  // It stands for Ann, in every hand: Bob’s secret is wrong for it.
  expect(outcome(await post('verify', { token: verification, current: 'bobs own horse' }))).toEqual([
    401,
    'invalid_credentials',
  ])
  await post('change-identifier', { current: ANN.password, new: 'new@example.com' }, session)
  const change = [await next(), await next()].find(({ kind }) => kind === 'new-identifier')?.token ?? ''
  expect((await post('verify', { token: change, current: ANN.password })).status).toBe(204)
  // What went to the old identifier is of no use under the new one.
  expect(outcome(await post('verify', { token: verification, current: ANN.password }))).toEqual(refused)
  expect(outcome(await post('reset', { token: reset, new: 'another horse' }))).toEqual(refused)
})

test('no more than three messages of a kind go out in an hour', async () => {
  const { post, settle } = open()
  await post('register', ANN)
  for (let i = 0; i < 15; i++) expect((await post('request-reset', { email: ANN.email })).status).toBe(202)
  const kinds = (await settle()).map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind === 'reset')).toHaveLength(3)
})

test('a reset ends every session', async () => {
  const { service, post, next } = open()
  const before = [(await post('register', ANN)).body.token, (await post('login', ANN)).body.token]
  await next()
  await post('request-reset', { email: ANN.email })
  const { token } = (await post('reset', { token: (await next()).token, new: 'another horse' })).body
  for (const old of before)
    expect(outcome(await service.send('GET /auth/me', { token: old }))).toEqual([401, 'invalid_token'])
  expect((await service.send('GET /auth/me', { token })).status).toBe(200)
  expect((await post('login', ANN)).status).toBe(401)
})

test('an administrator may begin a reset, and learns nothing of it', async () => {
  const { post, next } = open({}, { permissions: { '*': { create: { set: { role: 'admin' } } } } })
  const { token } = (await post('register', { email: 'root@example.com', password: 'roots own horse' })).body
  await next()
  await post('register', ANN)
  await next()
  const sent = await post('request-reset', { email: ANN.email }, token)
  expect([sent.status, sent.body]).toEqual([202, {}])
  expect(await next()).toMatchObject({ kind: 'reset', to: ANN.email })
})

test('who changes secret or identifier shows the present secret', async () => {
  const { post, messages, next } = open()
  const { token } = (await post('register', ANN)).body
  const { token: verification } = await next()
  for (const [way, body] of [
    ['change-secret', { current: 'wrong horse', new: 'another horse' }],
    ['change-identifier', { current: 'wrong horse', new: 'new@example.com' }],
    ['verify', { current: 'wrong horse', token: verification }],
  ] as const)
    expect(outcome(await post(way, body, way === 'verify' ? undefined : token))).toEqual([
      401,
      'invalid_credentials',
    ])
  expect(messages).toEqual([])
  // A wrong secret uses no token up.
  expect((await post('verify', { current: ANN.password, token: verification ?? '' })).status).toBe(204)
})
