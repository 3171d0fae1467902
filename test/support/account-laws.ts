import { expect } from 'vitest'
import {
  type createCollectionService,
  createMemoryAdapter,
  type Hasher,
  type StorageAdapter,
} from '../../src/index.js'
import { createMailbox } from './mailbox.js'
import { type AnyConfig, createTestService } from './service.js'
import { idOf, LONG_AGO, openStored, replaceMethods } from './stored.js'

/** What holds of accounts that one can put on the open internet, on a service made by `create` (CONTRACT.md §4). */

const schema = {
  email: { type: 'string', unique: true, required: true },
  password: { type: 'hash', required: true },
  verifiedAt: { type: 'timestamp' },
}

const config: AnyConfig = {
  collections: {
    users: {
      schema,
      permissions: { '*': { read: { pick: ['email'] } }, admin: true },
    },
    rooms: {
      schema: { members: { type: 'array', items: { type: 'string' } } },
      permissions: { '*': { create: { pick: [], set: { members: '$user.peers' } }, read: true } },
    },
  },
  auth: {
    verifiedField: 'verifiedAt',
    requireVerified: true,
    sessions: 3,
    claims: { peers: { from: 'users', where: { email: { $exists: true } }, take: 'email' } },
  },
}

const ADMIN = { caller: { id: 'an admin', roles: ['admin'] } }
const MINUTE = 60_000

const plain: Hasher = {
  hash: async (secret) => `hash of ${secret}`,
  verify: async (secret, hash) => hash === `hash of ${secret}`,
}

type Create = typeof createCollectionService

function createWorld(create: Create, inner: StorageAdapter = createMemoryAdapter()) {
  const calls: string[] = []
  const mail = createMailbox()
  const clock = { time: Date.parse('2026-11-20T08:00:00.000Z') }
  const adapter = replaceMethods(inner, {
    list(collection, query) {
      calls.push(collection)
      return inner.list(collection, query)
    },
  })
  const service = createTestService(config, {
    create,
    adapter,
    hasher: plain,
    ...mail.options,
    now: () => clock.time,
    clientAddress: (request) => request.headers.get('x-client'),
  })
  const ask = async (path: string, body: object, more: { token?: string; client?: string } = {}) => {
    const { token, client } = more
    const headers = client === undefined ? {} : { 'x-client': client }
    const sent = await service.send(`POST /auth/${path}`, { body, headers, ...(token ? { token } : {}) })
    return sent
  }
  const status = async (...args: Parameters<typeof ask>) => (await ask(...args)).status
  return { ...service, inner, calls, mail, clock, ask, status }
}

type World = ReturnType<typeof createWorld>

const ann = { email: 'ann', password: 'secret' }
const bob = { email: 'bob', password: 'secret of bob' }

/** An account that is verified and signed in. */
async function open({ ask, status, mail }: World, account = ann): Promise<string> {
  expect(await status('register', account)).toBe(202)
  const token = await mail.token()
  expect(await status('verify', { token, current: 'wrong' })).toBe(401)
  expect(await status('verify', { token, current: account.password })).toBe(204)
  return (await ask('login', account)).body.token
}

/** Tokens count once, in their time, for the account as it was. */
async function checkTokens(create: Create): Promise<void> {
  const world = createWorld(create)
  const { ask, status, mail, clock } = world
  const session = await open(world)
  const request = async (): Promise<string> => {
    clock.time += 61 * MINUTE
    expect(await status('request-reset', { email: ann.email })).toBe(202)
    return mail.token()
  }
  const reset = (token: string) => status('reset', { token, new: ann.password })
  const late = await request()
  clock.time += 61 * MINUTE
  expect(await reset(late)).toBe(400)
  const stale = await request()
  const changed = await ask('change-secret', { current: ann.password, new: ann.password }, { token: session })
  expect(await reset(stale)).toBe(400)
  const [first, second] = [await request(), await request()]
  const used = await Promise.all([reset(second), reset(second), reset(second)])
  expect(used.sort()).toEqual([200, 400, 400])
  expect(await reset(first)).toBe(400)
  expect(await status('logout', {}, { token: changed.body.token })).toBe(401)
}

/** A new identifier is put in once, in the present secret's time; its token outlives no other of its kind. */
async function checkIdentifiers(create: Create): Promise<void> {
  const world = createWorld(create)
  const { status, mail } = world
  await open(world, bob)
  const token = await open(world)
  const tokens: string[] = []
  for (const next of ['new', 'newer', 'newest']) {
    expect(await status('change-identifier', { current: ann.password, new: next }, { token })).toBe(202)
    const [notice, offer] = await mail.take()
    expect([notice?.kind, notice?.to]).toEqual(['identifier-changing', ann.email])
    tokens.push(offer && 'token' in offer ? offer.token : '')
  }
  // Without a notice nothing goes out.
  for (const next of ['free', bob.email]) {
    expect(await status('change-identifier', { current: ann.password, new: next }, { token })).toBe(202)
    expect(await mail.take()).toEqual([])
  }
  const verify = (one = '') => status('verify', { token: one, current: ann.password })
  expect(await verify(tokens[1])).toBe(204)
  for (const one of tokens) expect(await verify(one)).toBe(400)
  expect(await status('login', { ...ann, email: 'newer' })).toBe(200)
}

/** Who is not verified is not there, and nobody learns of an account before an answer. */
async function checkHidden(create: Create): Promise<void> {
  const world = createWorld(create)
  const { status, mail, calls, send } = world
  for (let i = 0; i < 2; i++) {
    expect(await status('register', ann)).toBe(202)
    expect(await status('login', ann)).toBe(401)
    expect(await status('login', { ...ann, password: 'wrong' })).toBe(401)
  }
  expect((await mail.take()).map(({ kind }) => kind).sort()).toEqual([
    'already-registered',
    ...Array(3).fill('verification'),
  ])
  expect((await send('GET /users/count')).body.total).toBe(0)
  expect((await send('POST /rooms', { body: {} })).body.members).toEqual([])
  expect((await send('GET /users/count', ADMIN)).body.total).toBe(1)
  for (const path of ['request-reset', 'request-verification']) {
    calls.length = 0
    expect(await status(path, { email: ann.email })).toBe(202)
    expect(calls).toEqual([])
    await mail.take()
  }
}

/** All processes share what may fail. */
async function checkThrottle(create: Create): Promise<void> {
  const one = createWorld(create)
  await open(one)
  const other = createWorld(create, one.inner)
  const guess = (world: World, client: string) => world.status('login', { ...ann, password: 'x' }, { client })
  for (let i = 0; i < 12; i++) expect(await guess(i % 2 ? one : other, 'home')).toBe(i < 10 ? 401 : 429)
  expect(await other.status('login', ann, { client: 'home' })).toBe(429)
  for (let i = 0; i < 9; i++) expect(await guess(one, 'mine')).toBe(401)
  expect(await other.status('login', ann, { client: 'mine' })).toBe(200)
  for (let i = 0; i < 9; i++) expect(await guess(one, 'mine')).toBe(401)
  // What others have used up stays used up.
  expect(await guess(one, 'home')).toBe(429)
}

/** A verification does not tell an identifier to a caller who may write it and not read it. */
async function checkUnread(create: Create): Promise<void> {
  const desk = { read: { pick: ['verifiedAt'] }, update: { pick: ['email'] } }
  const { send } = await openStored(
    { collections: { users: { schema, permissions: { desk, admin: true } } }, auth: config.auth },
    { users: [{ ...ann, verifiedAt: LONG_AGO }] },
    { create, hasher: plain, ...createMailbox().options },
  )
  const caller = { id: 'a desk', roles: ['desk'] }
  const path = `/users/${idOf(1)}`
  expect((await send(`GET ${path}`, { caller })).body.verifiedAt).toBe(LONG_AGO)
  expect((await send(`PATCH ${path}`, { caller, body: { email: ann.email } })).status).toBe(200)
  expect((await send(`GET ${path}`, ADMIN)).body.verifiedAt).toBeUndefined()
}

/** An account has its newest sessions, and no more than it may have; a page shows nobody else's, each once. */
async function checkSessions(create: Create): Promise<void> {
  const world = createWorld(create)
  const { ask, send, clock } = world
  const [other, first] = [await open(world, bob), await open(world)]
  const tokens = [first]
  for (let i = 0; i < 5; i++) {
    clock.time += 1
    tokens.push((await ask('login', ann)).body.token)
  }
  const isOpen = async (token: string): Promise<boolean> =>
    (await send('GET /auth/me', { token })).status === 200
  expect(await Promise.all(tokens.map(isOpen))).toEqual([false, false, false, true, true, true])
  expect(await isOpen(other)).toBe(true)
  const token = tokens.at(-1) ?? ''
  const pageAt = (query: string) => send(`GET /auth/sessions?limit=2${query}`, { token })
  const page = await pageAt('')
  const next = await pageAt(`&after=${page.headers.get('next-cursor')}`)
  expect([page.body.length, next.body.length, next.headers.has('link')]).toEqual([2, 1, false])
  expect(new Set([...page.body, ...next.body].map(({ _id }) => _id)).size).toBe(3)
}

export async function checkAccounts(create: Create): Promise<void> {
  await checkSessions(create)
  await checkHidden(create)
  await checkTokens(create)
  await checkIdentifiers(create)
  await checkThrottle(create)
  await checkUnread(create)
}
