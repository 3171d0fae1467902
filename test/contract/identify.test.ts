import { describe, expect, test } from 'vitest'
import { type Caller, createCollectionService, type StorageAdapter } from '../../src/index.js'
import { type AnyConfig, createTestService, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §7, "Identifying callers"

const storages = useStorages()
const opened = closeAfterEach()

const text = { type: 'string' } as const
const claims = {
  teams: { from: 'members', where: { user: '$user._id' }, take: 'team' },
  colleagues: { from: 'members', where: { team: { $in: '$user.teams' } }, take: 'user' },
} as const
const members = {
  schema: { user: text, team: text },
  permissions: {},
} as const
const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
        role: text,
      },
      permissions: { admin: { read: true, update: true } },
    },
    members,
    notes: {
      schema: { team: text },
      permissions: { user: { read: { where: { team: { $in: '$user.teams' } } } } },
    },
  },
  auth: { identifier: 'email', secret: 'password', roleField: 'role', claims },
} as const
const account = { email: 'ann@a.b', password: 'secret-1' } as const

const from = (headers: HeadersInit = {}): Request => new Request('http://a.test/own/route', { headers })
const bearer = (token: string): Request => from({ authorization: `Bearer ${token}` })

describe.each(storages)('in %s,', (_, create) => {
  function open(options: object = {}, given: AnyConfig = config): TestService {
    const adapter: StorageAdapter = create()
    const service = createTestService(given, { adapter, ...options })
    opened.push(service)
    return service
  }

  test('an account is identified by its token, with its roles and its claims', async () => {
    const { handler, send, register } = open()
    const { token, id } = await register(account)
    await send(`PATCH /users/${id}`, { system: {}, body: { role: 'agent' } })
    for (const [user, team] of [
      [id, 'a'],
      ['bob', 'a'],
      [id, 'b'],
    ])
      await send('POST /members', { system: {}, body: { user, team } })
    const caller = await handler.identify(bearer(token))
    expect(caller).toMatchObject({ id, roles: ['agent'] })
    expect(await caller?.claims('teams')).toEqual({ values: ['a', 'b'], isAll: true })
    expect(await caller?.claims('colleagues')).toEqual({ values: [id, 'bob'], isAll: true })
  })

  test.each([
    ['without a token', from()],
    ['with a token that never was', bearer('nothing')],
    ['with something else', from({ authorization: 'Basic YTpi' })],
  ])('a request %s is anonymous', async (_, request) => {
    expect(await open().handler.identify(request)).toBeNull()
  })

  test('a session that has ended identifies nobody', async () => {
    const { handler, send, register } = open()
    const { token } = await register(account)
    expect(await handler.identify(bearer(token))).not.toBeNull()
    expect((await send('POST /auth/logout', { token })).status).toBe(204)
    expect(await handler.identify(bearer(token))).toBeNull()
  })

  test('a caller of the host is identified by `authenticate`', async () => {
    const authenticate = (request: Request): Caller | null => {
      const id = request.headers.get('x-user')
      return id === null ? null : { id, roles: ['agent', 'user', '*', 'owner'] }
    }
    const { handler, send } = open({ authenticate, accounts: false })
    await send('POST /members', { system: {}, body: { user: 'ann', team: 'a' } })
    const caller = await handler.identify(from({ 'x-user': 'ann' }))
    expect(caller).toMatchObject({ id: 'ann', roles: ['agent'] })
    expect(await caller?.claims('teams')).toEqual({ values: ['a'], isAll: true })
    expect(await handler.identify(from())).toBeNull()
  })

  test('a claim that the caller lacks is null, and one that is cut off says so', async () => {
    const lacked = {
      ...config,
      auth: {
        ...config.auth,
        claims: { ...claims, near: { from: 'members', where: { team: '$user.role' }, take: 'user' } },
      },
    }
    const { handler, send, register } = open({}, lacked)
    const { token, id } = await register(account)
    const documents = Array.from({ length: 100 }, (_, i) => ({ user: id, team: `t${i}` }))
    for (let i = 0; i < 10; i++) {
      const made = documents.map(({ user, team }) => ({ user, team: `${team}-${i}` }))
      await send('POST /members/bulk', { system: {}, body: { documents: made } })
    }
    const caller = await handler.identify(bearer(token))
    expect(await caller?.claims('near')).toBeNull()
    expect(await caller?.claims('teams')).toMatchObject({ isAll: true, values: { length: 1000 } })
    await send('POST /members', { system: {}, body: { user: id, team: 'one more' } })
    expect(await caller?.claims('teams')).toMatchObject({ isAll: false, values: { length: 1000 } })
  })
})

test('a name that is no claim is an error that names the nearest', async () => {
  const { handler, register } = createTestService(config)
  const { token } = await register(account)
  const caller = await handler.identify(bearer(token))
  await expect(caller?.claims('team')).rejects.toThrow(
    'the configuration declares no claim "team"; did you mean "teams"? declared: teams, colleagues',
  )
})

test('what `authenticate` throws is thrown on, unchanged', async () => {
  const thrown = new Error('the directory does not answer')
  const service = createCollectionService({ collections: { members } }, undefined, {
    authenticate() {
      throw thrown
    },
  })
  await expect(service.identify(from())).rejects.toBe(thrown)
})

test('a value of `authenticate` that is no caller is an error', async () => {
  const authenticate = (): never => ({ name: 'ann' }) as never
  const service = createCollectionService({ collections: { members } }, undefined, { authenticate })
  await expect(service.identify(from())).rejects.toThrow('the "id" of a caller must be a string')
})

test('a storage that fails is an error, never an anonymous caller', async () => {
  const { handler, adapter, register } = createTestService(config)
  const { token } = await register(account)
  adapter.list = () => Promise.reject(new Error('the disk is gone'))
  Object.assign(adapter, { readLinked: undefined, state: undefined })
  await expect(handler.identify(bearer(token))).rejects.toThrow('the disk is gone')
})

test('anything but a request is an error that says what to write', async () => {
  const { handler } = createTestService(config)
  await expect(handler.identify({} as never)).rejects.toThrow(
    'identify must be called with a web-standard Request, but was called with something else: in Hono, write identify(c.req.raw)',
  )
})

test('identifying counts for no throttle, and reads no body', async () => {
  const { handler, register } = createTestService(config)
  const { token } = await register(account)
  for (let i = 0; i < 50; i++) expect(await handler.identify(bearer('wrong'))).toBeNull()
  const headers = { authorization: `Bearer ${token}` }
  const request = new Request('http://a.test/', { method: 'POST', headers, body: 'x' })
  expect(await handler.identify(request)).not.toBeNull()
  expect(request.bodyUsed).toBe(false)
})

test('what it returns cannot be changed', async () => {
  const { handler, register } = createTestService(config)
  const caller = await handler.identify(bearer((await register(account)).token))
  expect(Object.isFrozen(caller)).toBe(true)
  expect(Object.isFrozen(caller?.roles)).toBe(true)
})
