import { describe, expect, test } from 'vitest'
import {
  createMemoryAdapter,
  type Hasher,
  type HookChange,
  type HookResult,
  type StorageAdapter,
  type WriteStep,
} from '../../src/index.js'
import { DEAD, SAME, withCookie } from '../contract/support/cookies.js'
import { createMailbox } from '../support/mailbox.js'
import { type AnyConfig, createTestService, type SendOptions } from '../support/service.js'
import { closeAfterEach, useAllStorages } from '../support/storages.js'
import { isOfStart } from '../support/stored.js'

/**
 * CONTRACT.md §4, "No enumeration": of two services, one with an account and one without, a caller without a role
 * gets byte-identical answers, after the same calls of hasher and storage.
 */

const config: AnyConfig = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, trim: true, lowercase: true },
        password: { type: 'hash', required: true },
        name: { type: 'string' },
        verifiedAt: { type: 'timestamp' },
      },
      permissions: {
        '*': { read: { pick: ['name'] }, create: { pick: ['name'] } },
        user: { read: true, update: { pick: ['name'] }, delete: true },
        owner: { read: true, update: { pick: ['name', 'password'] } },
        admin: true,
      },
    },
    posts: {
      schema: { author: { type: 'reference', collection: 'users' } },
      permissions: { user: { create: true, read: true } },
    },
    rooms: {
      schema: { members: { type: 'array', items: { type: 'string' } } },
      permissions: { '*': { create: { pick: [], set: { members: '$user.peers' } }, read: true } },
    },
    profiles: {
      schema: { handle: { type: 'string', unique: true }, count: { type: 'integer' } },
      permissions: { '*': { read: { pick: ['handle', 'count'] } }, admin: true },
    },
  },
  auth: {
    verifiedField: 'verifiedAt',
    requireVerified: true,
    cookie: true,
    claims: { peers: { from: 'users', where: { email: { $regex: '@' } }, take: '_id' } },
  },
}

const MINE = { _id: '0190163d-8694-7000-8000-00000000000a', email: 'me@example.org' }
const THEIRS = { _id: '0190163d-8694-7000-8000-00000000000b', email: 'them@example.org', name: 'Them' }
const SECRET = 'their secret'

/** What a step does, without the values that differ by chance. */
const describeStep = (step: WriteStep): string =>
  `${step.in}:${Object.keys(step).filter((name) => name !== 'in' && name !== 'version')}`

/** What goes on: each call of hasher and storage, as far as one could time it. */
function watch(inner: StorageAdapter) {
  const calls: string[] = []
  const adapter: StorageAdapter = {
    open: (plans) => inner.open(plans),
    list(collection, query) {
      if (!isOfStart(query)) calls.push(`list ${collection}`)
      return inner.list(collection, query)
    },
    count(collection, filter, options) {
      if (!isOfStart(options)) calls.push(`count ${collection}`)
      return inner.count(collection, filter, options)
    },
    write(steps, options) {
      if (!isOfStart(options)) calls.push(`write ${steps.map(describeStep)}`)
      return inner.write(steps, options)
    },
    close: () => inner.close(),
  }
  const hasher: Hasher = {
    async hash(secret) {
      calls.push('hash')
      return `hash of ${secret}`
    },
    async verify(secret, hash) {
      calls.push('verify')
      return hash === `hash of ${secret}`
    },
  }
  return { adapter, hasher, calls }
}

const opened = closeAfterEach()

/** A service with my account, and with theirs or without. */
async function createWorld(adapter: StorageAdapter, hooks = {}) {
  const { calls, ...watched } = watch(adapter)
  const mail = createMailbox()
  const now = (): number => Date.parse('2026-11-20T08:00:00.000Z')
  const service = createTestService(config, {
    ...watched,
    ...mail.options,
    hooks,
    now,
    clientAddress: () => 'home',
  })
  opened.push(service)
  // The first of all makes what secrets are compared with where there is no account.
  await service.send('POST /auth/login', { body: { email: 'x', password: 'y' } })
  return { ...service, calls, mail }
}

type World = Awaited<ReturnType<typeof createWorld>>

/** Registers an account in which nobody has shown that the identifier is theirs. */
async function addUnverified({ send, mail }: World): Promise<string> {
  await send('POST /auth/register', { body: { email: THEIRS.email, name: THEIRS.name, password: SECRET } })
  const [delivery] = await mail.take()
  return delivery?.user._id ?? ''
}

async function addVerified(world: World, email: string, password: string): Promise<string> {
  await world.send('POST /auth/register', { body: { email, password } })
  const token = await world.mail.token()
  expect((await world.send('POST /auth/verify', { body: { token, current: password } })).status).toBe(204)
  const { body } = await world.send('POST /auth/login', { body: { email, password } })
  return body.token
}

const STATES: readonly (readonly [state: string, add: (world: World) => Promise<string>])[] = [
  ['unverified', addUnverified],
  [
    'deleted meanwhile',
    async (world) => {
      const id = await addUnverified(world)
      await world.send(`DELETE /users/${id}`, { caller: { id: 'an admin', roles: ['admin'] } })
      return id
    },
  ],
]

const KNOWN: typeof STATES = [
  ...STATES,
  [
    'verified',
    async (world) => {
      await addVerified(world, THEIRS.email, SECRET)
      return MINE._id
    },
  ],
]

/** The requests about an identifier, which may be somebody's. */
const STRICT = { prefer: 'handling=strict' }
const ABOUT_IDENTIFIER: readonly (readonly [line: string, body: object, headers?: typeof STRICT])[] = [
  ['POST /auth/register', { email: THEIRS.email, password: 'another secret', name: 'x' }, STRICT],
  [
    'POST /auth/register',
    { email: THEIRS.email, password: 'another secret', verifiedAt: 'x', role: 1 },
    STRICT,
  ],
  ['POST /auth/register', { email: THEIRS.email, password: 'another secret', name: 'x' }],
  ['POST /auth/register', { email: ' THEM@example.org', password: 'another secret' }],
  ['POST /auth/register', { email: THEIRS.email, password: 1 }],
  ['POST /auth/login', { email: THEIRS.email, password: 'wrong' }],
  // Typed on a system that decomposes: NFC changes it.
  ['POST /auth/register', { email: THEIRS.email, password: 'cafe\u0301' }],
  ['POST /auth/login', { email: THEIRS.email, password: 'cafe\u0301' }],
  ['POST /auth/request-reset', { email: THEIRS.email }],
  ['POST /auth/request-verification', { email: THEIRS.email }],
]

/** The requests that could show an account, by its `_id`. */
const aboutAccount = (id: string): readonly (readonly [line: string, body?: object])[] => [
  ['GET /users?sort[_id]=1&total=true'],
  ['GET /users/count'],
  [`GET /users/count?q[_id]="${id}"`],
  ['GET /users?q[name]="Them"'],
  [`GET /users/${id}`],
  [`PATCH /users/${id}`, { name: 'mine now' }],
  [`PUT /users/${id}`, { name: 'mine now' }],
  [`DELETE /users/${id}`],
  ['POST /users', { email: THEIRS.email, password: 'x', name: 'x' }],
  ['POST /posts', { author: id }],
  ['POST /rooms', {}],
  ['POST /_batch', { operations: [{ method: 'POST', path: '/rooms', body: {} }] }],
  ['POST /_batch', { operations: [{ method: 'GET', path: `/users/${id}` }] }],
  ['POST /_batch', { operations: [{ method: 'POST', path: '/users', body: { email: THEIRS.email } }] }],
  ['POST /_batch', { operations: [{ method: 'POST', path: '/posts', body: { author: id } }] }],
]

/** A hook that reads, and adds to each account what may be taken, or what is a mistake. */
const addProfile = {
  async before({ operation, after, api }: HookChange): Promise<HookResult | undefined> {
    if (operation !== 'create') return undefined
    expect((await api(new Request('http://service.test/users/count'))).status).toBe(200)
    const body = after.name === 'mistaken' ? { handle: 1 } : { handle: after.name ?? after._id }
    return { also: [{ method: 'POST', path: '/profiles', body }] }
  },
}

/** A hook that counts accounts: the step that creates one changes a document that the hook has read. */
const countAccounts = {
  async before({ operation, api }: HookChange): Promise<HookResult | undefined> {
    if (operation !== 'create') return undefined
    const [profile] = await (await api(new Request('http://service.test/profiles?q[handle]=all'))).json()
    if (!profile) return { also: [{ method: 'POST', path: '/profiles', body: { handle: 'all', count: 1 } }] }
    const body = { count: profile.count + 1 }
    return { also: [{ method: 'PATCH', path: `/profiles/${profile._id}`, body }] }
  },
}

/** The answer to a request without what chance gives, and the calls before it. */
async function ask({ send, calls, mail }: World, line: string, options: SendOptions) {
  await mail.take()
  calls.length = 0
  const { status, text, headers } = await send(line, options)
  const before = [...calls]
  await mail.take()
  const shown = text.replace(/"requestId":"[^"]*"/, '')
  return { line, status, shown, headers: [...headers].sort(), before }
}

describe.each(useAllStorages())('in %s, an account', (_, create) => {
  const createWorlds = async (add: (world: World) => Promise<string>) => {
    const [known, unknown] = [await createWorld(create()), await createWorld(create())]
    return { known, unknown, id: await add(known) }
  }

  test.each(KNOWN)('that is %s: nobody learns of it by its identifier', async (_, add) => {
    const { known, unknown } = await createWorlds(add)
    for (const way of [{}, SAME, withCookie(DEAD), { prefer: 'session=cookie' }])
      for (const [line, body, own] of ABOUT_IDENTIFIER) {
        const headers = { ...way, ...own }
        expect(await ask(known, line, { body, headers })).toEqual(await ask(unknown, line, { body, headers }))
      }
  })

  test.each(STATES)('that is %s: nobody learns of it by asking for accounts', async (_, add) => {
    const { known, unknown, id } = await createWorlds(add)
    const tokens = await Promise.all([known, unknown].map((world) => addVerified(world, MINE.email, 'mine')))
    const ways: readonly ((token: string) => SendOptions)[] = [
      () => ({}),
      (token) => ({ token }),
      (token) => ({ headers: withCookie(token) }),
      (token) => ({ headers: { ...withCookie(token), 'sec-fetch-site': 'cross-site' } }),
    ]
    for (const way of ways)
      for (const [line, body] of aboutAccount(id)) {
        const [mine, other] = tokens.map((token) => ({ ...way(token), ...(body ? { body } : {}) }))
        const [seen, expected] = [await ask(known, line, mine ?? {}), await ask(unknown, line, other ?? {})]
        // What I see of myself differs by chance.
        const blind = (one: typeof seen) => ({
          ...one,
          shown: one.shown.replace(/[0-9a-f-]{36}|[0-9a-f]{32}/g, ''),
          headers: 0,
        })
        expect(blind(seen)).toEqual(blind(expected))
      }
  })

  test('that has a hook: nobody learns of it, whatever becomes of what the hook adds', async () => {
    const hooks = { users: addProfile }
    const [known, unknown] = [await createWorld(create(), hooks), await createWorld(create(), hooks)]
    await addUnverified(known)
    for (const { send } of [known, unknown])
      await send('POST /auth/register', { body: { email: MINE.email, name: 'taken', password: 'mine' } })
    for (const name of ['taken', 'mistaken', 'free']) {
      const body = { email: THEIRS.email, name, password: 'another secret' }
      const seen = await ask(known, 'POST /auth/register', { body })
      expect(seen).toEqual(await ask(unknown, 'POST /auth/register', { body }))
      expect([name, seen.status, seen.shown]).toEqual([name, 202, '{}'])
      expect(seen.before.filter((call) => call === 'hash')).toHaveLength(1)
    }
    const refused = ({ logged }: World) =>
      logged.filter(([message]) => message === 'a registration failed, but its client got the usual response')
    expect([refused(known).length, refused(unknown).length]).toEqual([1, 2])
    const admin = { caller: { id: 'an admin', roles: ['admin'] } }
    expect((await unknown.send('GET /users/count', admin)).body.total).toBe(2)
    expect((await unknown.send('GET /profiles/count', admin)).body.total).toBe(2)
  })

  test('that a hook counts: nobody learns of it', async () => {
    const hooks = { users: countAccounts }
    const [known, unknown] = [await createWorld(create(), hooks), await createWorld(create(), hooks)]
    await addUnverified(known)
    for (const { send } of [known, unknown])
      await send('POST /auth/register', { body: { email: MINE.email, password: 'mine' } })
    const body = { email: THEIRS.email, password: 'another secret' }
    const seen = await ask(known, 'POST /auth/register', { body })
    expect(seen).toEqual(await ask(unknown, 'POST /auth/register', { body }))
    expect(seen.before.filter((call) => call.startsWith('write'))).toEqual([
      'write users:insert,profiles:replace',
    ])
  })

  test('that is throttled: nobody learns of it, the right secret opens nothing, and no mail goes out', async () => {
    const { known, unknown } = await createWorlds(addUnverified)
    for (let i = 0; i < 12; i++) {
      const body = { email: THEIRS.email, password: i % 2 ? SECRET : 'wrong' }
      const [seen, expected] = [
        await ask(known, 'POST /auth/login', { body }),
        await ask(unknown, 'POST /auth/login', { body }),
      ]
      expect(seen).toEqual(expected)
      expect(seen.status).toBe(i < 10 ? 401 : 429)
    }
    for (const [line, body] of ABOUT_IDENTIFIER)
      expect(await ask(known, line, { body })).toEqual(await ask(unknown, line, { body }))
  })
})

test('a difference would be found', async () => {
  const [known, unknown] = [
    await createWorld(createMemoryAdapter()),
    await createWorld(createMemoryAdapter()),
  ]
  await addUnverified(known)
  const admin = { caller: { id: 'an admin', roles: ['admin'] } }
  expect(await ask(known, 'GET /users/count', admin)).not.toEqual(
    await ask(unknown, 'GET /users/count', admin),
  )
})
