import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { createMemoryAdapter, type RequestEvent, type StorageAdapter } from '../../src/index.js'
import { createTestService, type TestService } from '../support/service.js'
import { closeAfterEach, useLastingStorages, useStorages } from '../support/storages.js'
import { until } from '../support/until.js'

// CONTRACT.md §5, "Claims"; §4, "Own accounts": what is kept of a caller counts only as long as nothing of it was written.

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
      schema: { team: { type: 'string', index: true }, shop: { type: 'string' }, text: { type: 'string' } },
      permissions: {
        user: { read: { where: mine }, create: { check: mine }, update: { where: mine, check: mine } },
        admin: { read: true },
        shopper: { read: { where: { shop: '$user.shop' } } },
        root: true,
      },
    },
  },
  auth: {
    roleField: 'role',
    claims: { teams: { from: 'members', where: { user: '$user._id' }, take: 'team' } },
  },
} as const

const storages = useStorages()
const lasting = useLastingStorages()
const opened = closeAfterEach()

interface World extends TestService {
  readonly events: RequestEvent[]
  readonly token: string
  readonly id: string
  /** What the caller sees, and the calls of the storage for it. */
  see(): Promise<{ readonly teams: readonly string[] | number; readonly calls: readonly string[] }>
}

let now = 0

function open(adapter: StorageAdapter): TestService & { readonly events: RequestEvent[] } {
  const events: RequestEvent[] = []
  const service = createTestService(config, {
    adapter,
    observe: (event: RequestEvent) => {
      events.push(event)
    },
    now: () => now,
  })
  opened.push(service)
  return { ...service, events }
}

const credentials = { email: 'ann@example.com', password: 'secret password' }

const look =
  ({ send, events }: ReturnType<typeof open>, token: string): World['see'] =>
  async () => {
    const before = events.length
    const { status, body } = await send('GET /notes?sort[team]=1', { token })
    await until(() => events.length === before + 1)
    const calls = (events.at(-1)?.storage ?? []).map(
      ({ operation, collection }) => `${operation} ${collection}`,
    )
    return { teams: status === 200 ? body.map(({ team }: { team: string }) => team) : status, calls }
  }

/** A service with two notes, and somebody who is in the team of the first. */
async function begin(adapter: StorageAdapter): Promise<World> {
  now = Date.parse('2026-01-01T00:00:00.000Z')
  const service = open(adapter)
  const { send } = service
  const { body } = await send('POST /auth/register', { body: credentials })
  const { token, user } = body
  await act(service, 'POST /members', { user: user._id, team: 'a' })
  for (const team of ['a', 'b']) await act(service, 'POST /notes', { team, text: team, shop: team })
  return { ...service, token, id: user._id, see: look(service, token) }
}

const root = { id: 'root', roles: ['root'] }

async function act(
  { send }: Pick<TestService, 'send'>,
  request: string,
  body?: object,
): Promise<{ _id: string }> {
  const answer = await send(request, { caller: root, ...(body ? { body } : {}) })
  expect(answer.status).toBeLessThan(300)
  return answer.body
}

const ALL = ['list _sessions', 'list users', 'list members', 'list notes']

describe.each(storages)('what a service keeps of a caller, in %s,', (name, create) => {
  const isKept = name !== 'PostgreSQL'

  test('spares the storage as long as nothing was written', async () => {
    const { see, ...world } = await begin(create())
    expect(await see()).toEqual({ teams: ['a'], calls: ALL })
    expect(await see()).toEqual({ teams: ['a'], calls: isKept ? ['list notes'] : ALL })
    await act(world, 'POST /notes', { team: 'a', text: 'another' })
    expect(await see()).toEqual({ teams: ['a', 'a'], calls: isKept ? ['list notes'] : ALL })
  })

  test('follows what gives a claim its values', async () => {
    const { see, ...world } = await begin(create())
    expect((await see()).teams).toEqual(['a'])
    const { _id } = await act(world, 'POST /members', { user: world.id, team: 'b' })
    expect((await see()).teams).toEqual(['a', 'b'])
    await act(world, `DELETE /members/${_id}`)
    expect((await see()).teams).toEqual(['a'])
    await act(world, `PATCH /users/${world.id}`, { role: 'admin' })
    expect((await see()).teams).toEqual(['a', 'b'])
    await act(world, `PATCH /users/${world.id}`, { role: 'shopper', shop: 'b' })
    expect((await see()).teams).toEqual(['a', 'b'])
    await act(world, `PATCH /users/${world.id}`, { shop: 'none' })
    expect((await see()).teams).toEqual(['a'])
  })

  test('ends with the session, the account and the secret', async () => {
    const { see, send, token, ...world } = await begin(create())
    const other = (await send('POST /auth/login', { body: credentials })).body.token
    expect((await see()).teams).toEqual(['a'])
    await send('POST /auth/logout', { token })
    expect((await see()).teams).toBe(401)
    const again = look({ ...world, send }, other)
    expect((await again()).teams).toEqual(['a'])
    await act({ send }, `PATCH /users/${world.id}`, { password: 'another password' })
    expect((await again()).teams).toBe(401)
    const third = (await send('POST /auth/login', { body: { ...credentials, password: 'another password' } }))
      .body.token
    const last = look({ ...world, send }, third)
    expect((await last()).teams).toEqual(['a'])
    now += 400 * 86_400_000
    expect((await last()).teams).toBe(401)
    now -= 400 * 86_400_000
    expect((await last()).teams).toEqual(['a'])
    await act({ send }, `DELETE /users/${world.id}`)
    expect((await last()).teams).toBe(401)
  })

  test('is not used in a batch, whose operations see those before', async () => {
    const { see, send, token, id } = await begin(create())
    expect((await see()).teams).toEqual(['a'])
    const operations = [
      { method: 'POST', path: '/members', body: { user: id, team: 'b' } },
      { method: 'POST', path: '/notes', body: { team: 'b', text: 'mine by now' } },
    ]
    const answer = await send('POST /_batch', { token, body: { operations } })
    expect(answer.status).toBe(200)
    expect((await see()).teams).toEqual(['a', 'b', 'b'])
  })
})

describe.each(lasting)('what another service writes, in %s,', (_, create) => {
  test('counts at once', async () => {
    const connect = create()
    const { see, send, token, id } = await begin(connect())
    const other = open(connect())
    expect((await see()).teams).toEqual(['a'])
    const { _id } = await act(other, 'POST /members', { user: id, team: 'b' })
    expect((await see()).teams).toEqual(['a', 'b'])
    await act(other, `DELETE /members/${_id}`)
    expect((await see()).teams).toEqual(['a'])
    await other.send('POST /auth/logout', { token })
    expect((await see()).teams).toBe(401)
    expect((await send('POST /notes', { token, body: { team: 'a' } })).status).toBe(401)
  })
})

test('a storage that does not tell its state is asked each time', async () => {
  const { state: _, ...adapter } = createMemoryAdapter()
  const { see } = await begin(adapter)
  for (const __ of [1, 2]) expect(await see()).toEqual({ teams: ['a'], calls: ALL })
})

test('nothing is kept of a file whose place another one has taken', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'collection-service-state-')), 'data.db')
  const adapter = createSqliteAdapter({ file })
  expect(adapter.state?.([])).toBeUndefined()
  await adapter.open([])
  const before = adapter.state?.([])
  await adapter.close()
  expect(adapter.state?.([])).toBeUndefined()
  await adapter.open([])
  expect(adapter.state?.([])).not.toBe(before)
  await adapter.close()
})
