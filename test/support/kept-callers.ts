import { expect } from 'vitest'
import type { createCollectionService, RequestEvent, StorageAdapter } from '../../src/index.js'
import { createTestService, type SendOptions, type TestService } from './service.js'
import { until } from './until.js'

/** Callers whose sessions and claims a service may keep. */

const mine = { team: { $in: '$user.teams' } }

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
        role: { type: 'string' },
        shop: { type: 'string' },
      },
      permissions: {
        owner: { read: true, update: { pick: ['shop', 'password'] }, delete: true },
        root: true,
      },
    },
    members: {
      schema: { user: { type: 'string', index: true }, team: { type: 'string' } },
      permissions: { root: true, user: { read: true, create: true, delete: true } },
    },
    notes: {
      schema: {
        team: { type: 'string', index: true },
        shop: { type: 'string' },
        text: { type: 'string' },
        by: { type: 'reference', collection: 'users' },
      },
      permissions: {
        user: { read: { where: mine }, create: { check: mine }, update: { where: mine, check: mine } },
        admin: { read: true },
        shopper: { read: { where: { shop: '$user.shop' } } },
        root: true,
      },
    },
    posts: {
      schema: { team: { type: 'string' }, shop: { type: 'string' }, text: { type: 'string' } },
      permissions: {
        '*': { read: { where: { shop: 'open' }, omit: ['text'] } },
        user: { read: { where: mine, omit: ['text'] } },
        member: { read: { where: mine } },
        owner: { read: true },
        root: true,
      },
    },
    news: {
      schema: { team: { type: 'string' }, text: { type: 'string' } },
      permissions: {
        '*': { read: { omit: ['text'] } },
        user: { read: { where: mine, omit: ['text'] } },
        root: true,
      },
    },
    letters: {
      schema: { team: { type: 'string' }, from: { type: 'string', index: true } },
      permissions: { user: { read: { where: { from: { $in: '$user.mates' } } } }, root: true },
    },
  },
  auth: {
    roleField: 'role',
    cookie: true,
    claims: {
      teams: { from: 'members', where: { user: '$user._id' }, take: 'team' },
      mates: { from: 'members', where: { team: { $in: '$user.teams' } }, take: 'user' },
    },
  },
} as const

export interface Building {
  readonly adapter: StorageAdapter
  readonly create?: typeof createCollectionService
  /** Default: one of its own. */
  readonly clock?: Clock
}

/** The time of a service, in milliseconds since 1970, which tests move. */
export interface Clock {
  now: number
}

export const startClock = (): Clock => ({ now: Date.parse('2026-01-01T00:00:00.000Z') })

/** What the caller sees, and the calls of the storage for it. */
export interface Seen {
  readonly seen: readonly string[] | number
  readonly calls: readonly string[]
}

export interface KeptWorld extends Pick<TestService, 'send' | 'handler'> {
  /** What the sender of a request sees: the teams in a list, or in one document. */
  look(request: string, token?: string): Promise<Seen>
  /** The calls of the storage for a batch that succeeds. */
  batch(operations: readonly object[], token: string): Promise<readonly string[]>
  /** Does something as somebody who may do everything. */
  act(request: string, body?: object): Promise<{ readonly _id: string }>
  readonly clock: Clock
}

export const root = { id: 'root', roles: ['root'] }

/** A service that tells which calls of the storage each request makes. */
export function openKept({ adapter, create, clock = startClock() }: Building): KeptWorld {
  const events: RequestEvent[] = []
  const { send, handler } = createTestService(config, {
    adapter,
    ...(create ? { create } : {}),
    observe: (event: RequestEvent) => {
      events.push(event)
    },
    now: () => clock.now,
  })
  const observed = async (request: string, options: SendOptions) => {
    const before = events.length
    const answer = await send(request, options)
    await until(() => events.length === before + 1)
    const storage = events.at(-1)?.storage ?? []
    return { ...answer, calls: storage.map(({ operation, collection }) => `${operation} ${collection}`) }
  }
  return {
    send,
    handler,
    clock,
    async batch(operations, token) {
      const { status, calls } = await observed('POST /_batch', { token, body: { operations } })
      expect(status).toBe(200)
      return calls
    },
    async look(request, token) {
      const { status, body, calls } = await observed(request, token === undefined ? {} : { token })
      const teams = () => [body].flat().map(({ team }: { team: string }) => team)
      return { seen: status === 200 ? teams() : status, calls }
    },
    async act(request, body) {
      const answer = await send(request, { caller: root, ...(body ? { body } : {}) })
      expect(answer.status).toBeLessThan(300)
      return answer.body
    },
  }
}

export const credentials = { email: 'ann@example.com', password: 'secret password' }

/** Somebody who is in the team of the first of two notes. */
export interface Ann {
  readonly token: string
  readonly id: string
  see(token?: string): Promise<Seen>
}

/** Fills a new world. */
export async function begin({ send, act, look }: KeptWorld): Promise<Ann> {
  const { token, user } = (await send('POST /auth/register', { body: credentials })).body
  await act('POST /members', { user: user._id, team: 'a' })
  for (const team of ['a', 'b']) await act('POST /notes', { team, text: team, shop: team })
  return { token, id: user._id, see: (given = token) => look('GET /notes?sort[team]=1', given) }
}

/** What is kept of a caller counts only as long as nothing of it was written. */
export const KEPT_LAWS: {
  readonly [law: string]: (world: KeptWorld) => Promise<void>
} = {
  async 'what gives a claim its values is followed'(world) {
    const { see, id } = await begin(world)
    const sees = async (...teams: readonly string[]) => expect((await see()).seen).toEqual(teams)
    await sees('a')
    const { _id } = await world.act('POST /members', { user: id, team: 'b' })
    await sees('a', 'b')
    await world.act(`DELETE /members/${_id}`)
    await sees('a')
    await world.act(`PATCH /users/${id}`, { role: 'admin' })
    await sees('a', 'b')
    await world.act(`PATCH /users/${id}`, { role: 'shopper', shop: 'b' })
    await sees('a', 'b')
    await world.act(`PATCH /users/${id}`, { shop: 'none' })
    await sees('a')
  },

  async 'what gives a claim its values is followed where another claim uses it'(world) {
    const { token, id } = await begin(world)
    const { act, look } = world
    for (const from of ['ben', 'cleo']) await act('POST /letters', { team: from, from })
    const sees = async (...froms: readonly string[]) =>
      expect((await look('GET /letters?sort[from]=1', token)).seen).toEqual(froms)
    await sees()
    const ben = await act('POST /members', { user: 'ben', team: 'a' })
    await act('POST /members', { user: 'cleo', team: 'b' })
    await sees('ben')
    const own = await act('POST /members', { user: id, team: 'b' })
    await sees('ben', 'cleo')
    await act(`DELETE /members/${ben._id}`)
    await sees('cleo')
    await act(`DELETE /members/${own._id}`)
    await sees()
  },

  async 'a session ends at once'(world) {
    const { see, token, id } = await begin(world)
    const { send, act, clock } = world
    const login = async (password: string): Promise<string> =>
      (await send('POST /auth/login', { body: { ...credentials, password } })).body.token
    const other = await login(credentials.password)
    expect((await see()).seen).toEqual(['a'])
    await send('POST /auth/logout', { token })
    expect((await see()).seen).toBe(401)
    expect((await see(other)).seen).toEqual(['a'])
    await act(`PATCH /users/${id}`, { password: 'another password' })
    expect((await see(other)).seen).toBe(401)
    const third = await login('another password')
    expect((await see(third)).seen).toEqual(['a'])
    clock.now += 400 * 86_400_000
    expect((await see(third)).seen).toBe(401)
    clock.now -= 400 * 86_400_000
    expect((await see(third)).seen).toEqual(['a'])
    await act(`DELETE /users/${id}`)
    expect((await see(third)).seen).toBe(401)
  },

  async 'the operations of a batch see those before'(world) {
    const { see, token, id } = await begin(world)
    expect((await see()).seen).toEqual(['a'])
    const operations = [
      { method: 'POST', path: '/notes', body: { team: 'a', text: 'mine' } },
      { method: 'POST', path: '/members', body: { user: id, team: 'b' } },
      { method: 'POST', path: '/notes', body: { team: 'b', text: 'mine by now' } },
    ]
    expect((await world.send('POST /_batch', { token, body: { operations } })).status).toBe(200)
    expect((await see()).seen).toEqual(['a', 'a', 'b', 'b'])
  },
}

/** All of them, each in a world of its own. */
export async function checkKept(build: () => Building): Promise<void> {
  for (const law of Object.values(KEPT_LAWS)) {
    const world = openKept(build())
    try {
      await law(world)
    } finally {
      await world.handler.close()
    }
  }
}
