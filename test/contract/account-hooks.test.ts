import { describe, expect, test } from 'vitest'
import { type HookChange, type HookResult, refuse, type StorageAdapter } from '../../src/index.js'
import { createTestService, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { outcomeOf } from './support/accounts.js'
import { ADMIN, ann, configOf, createStage, storedUser } from './support/verified-accounts.js'

// CONTRACT.md §9, "Before a write"

const storages = useStorages()
const opened = closeAfterEach()

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
        name: { type: 'string' },
        role: { type: 'string' },
      },
      permissions: {
        '*': { create: { pick: ['name'] } },
        owner: { read: true, update: { pick: ['name', 'password'] }, delete: true },
        admin: true,
      },
    },
    profiles: {
      schema: {
        user: { type: 'reference', collection: 'users', onDelete: 'cascade' },
        handle: { type: 'string', unique: true },
      },
      permissions: { user: { read: true } },
    },
  },
  auth: { roleField: 'role', cost: 10 },
} as const

type Hook = (change: HookChange) => HookResult | undefined

function open(adapter: StorageAdapter, users: Hook): TestService {
  const hooks = { users: { before: users } }
  const service = createTestService(config, { adapter, hooks })
  opened.push(service)
  return service
}

const ANN = { email: 'ann@example.com', password: 'a secret', name: 'Ann' }

describe.each(storages)('a hook of accounts, in %s,', (_, create) => {
  test('is asked about a registration as about a create by nobody, and sees no secret', async () => {
    const seen: HookChange[] = []
    const { register, send } = open(create(), (change) => {
      seen.push(change)
      if (change.operation !== 'create') return undefined
      const also = [
        { method: 'POST', path: '/profiles', body: { user: change.after._id, handle: 'h' } },
      ] as const
      return { set: { role: 'guest', name: 'Ann B.' }, also }
    })
    const { token, id } = await register(ANN)
    const [change] = seen
    expect([change?.operation, change?.caller]).toEqual(['create', null])
    expect(change?.after).toMatchObject({ _id: id, email: ANN.email, name: 'Ann', createdBy: id })
    expect(JSON.stringify(seen)).not.toContain(ANN.password)
    const me = await send('GET /auth/me', { token })
    expect(me.body).toMatchObject({ name: 'Ann B.', role: 'guest' })
    const [profile] = (await send('GET /profiles', { token })).body
    expect(profile).toMatchObject({ user: id, handle: 'h', createdBy: null })
    expect(
      (await send('POST /auth/login', { body: { email: ANN.email, password: ANN.password } })).status,
    ).toBe(200)
    const second = await send('POST /auth/register', { body: { ...ANN, email: 'ben@example.com' } })
    expect([second.status, second.body.code, second.body.errors]).toEqual([
      409,
      'unique_violation',
      undefined,
    ])
    expect(
      (await send('POST /auth/login', { body: { email: 'ben@example.com', password: ANN.password } })).status,
    ).toBe(401)
    expect((await send(`DELETE /users/${id}`, { token })).status).toBe(204)
    expect(seen.map(({ operation }) => operation)).toEqual(['create', 'create', 'delete'])
  })

  test('may change the very account, which is answered as it is stored', async () => {
    const { send } = open(create(), ({ operation, after }) => {
      if (after === null) return undefined
      return {
        also: [
          { method: 'PATCH', path: `/users/${after._id}`, body: { name: `by ${operation}`, role: 'admin' } },
        ],
      }
    })
    const registered = (await send('POST /auth/register', { body: ANN })).body
    expect(registered.user.name).toBe('by create')
    expect(registered.user).toEqual((await send('GET /auth/me', { token: registered.token })).body)
    const body = { current: ANN.password, new: 'another one' }
    const changed = (await send('POST /auth/change-secret', { token: registered.token, body })).body
    expect(changed.user.name).toBe('by update')
    expect(changed.user).toEqual((await send('GET /auth/me', { token: changed.token })).body)
  })

  test('is asked about a change of the secret as about an update, and can refuse it', async () => {
    let isOpen = true
    const seen: unknown[] = []
    const { register, send } = open(create(), ({ operation, caller }) => {
      if (operation === 'create') return undefined
      seen.push([operation, caller?.email])
      if (!isOpen) throw refuse(403, 'Not now.')
      return { set: { name: 'Renewed' } }
    })
    const { token } = await register(ANN)
    const change = (current: string, next: string, by: string) =>
      send('POST /auth/change-secret', { token: by, body: { current, new: next } })
    const changed = await change(ANN.password, 'another one', token)
    expect([changed.status, changed.body.user.name]).toEqual([200, 'Renewed'])
    expect((await send('GET /auth/me', { token })).status).toBe(401)
    isOpen = false
    const again = await change('another one', 'a third one', changed.body.token)
    expect([again.status, again.body.code]).toEqual([403, 'refused'])
    expect((await send('GET /auth/me', { token: changed.body.token })).status).toBe(200)
    const patched = await send(`PATCH /users/${changed.body.user._id}`, {
      token: changed.body.token,
      body: { password: 'a fourth one' },
    })
    expect(patched.status).toBe(403)
    expect(
      (await send('POST /auth/login', { body: { email: ANN.email, password: 'another one' } })).status,
    ).toBe(200)
    expect(seen).toEqual([
      ['update', ANN.email],
      ['update', ANN.email],
      ['update', ANN.email],
    ])
  })
})

describe.each(storages)('a hook of accounts with a verification, in %s,', (_, create) => {
  function openStage(users: Hook) {
    const stage = createStage(configOf(), create(), { hooks: { users: { before: users } } })
    opened.push(stage.service)
    return stage
  }

  test('is asked about a verification and a reset as about updates, and can refuse both', async () => {
    let isOpen = true
    const seen: unknown[] = []
    const { post, mail, send } = openStage(({ operation, before, after, caller }) => {
      if (operation !== 'update') return undefined
      seen.push([before.verifiedAt === undefined, typeof after.verifiedAt, caller])
      if (!isOpen) throw refuse(403, 'Not now.')
      const also = [
        { method: 'PATCH', path: `/users/${after._id}`, body: { name: `${after.name ?? ''}+` } },
      ] as const
      return { also }
    })
    const { body } = await post('register', ann)
    const token = await mail.token()
    const verify = () => post('verify', { token, current: ann.password })
    isOpen = false
    expect(outcomeOf(await verify())).toEqual([403, 'refused'])
    isOpen = true
    expect((await verify()).status).toBe(204)
    expect(await storedUser({ send }, body.user._id)).toMatchObject({ name: '+' })
    await post('request-reset', { email: ann.email })
    const reset = { token: await mail.token(), new: 'another secret' }
    isOpen = false
    expect(outcomeOf(await post('reset', reset))).toEqual([403, 'refused'])
    isOpen = true
    const done = await post('reset', reset)
    expect([done.status, done.body.user.name]).toEqual([200, '++'])
    expect((await post('login', { ...ann, password: reset.new })).status).toBe(200)
    expect(seen).toEqual([
      [true, 'string', null],
      [true, 'string', null],
      [false, 'string', null],
      [false, 'string', null],
    ])
  })

  test('ends a verification by another identifier, and cannot set one', async () => {
    let set: { readonly [name: string]: string } = { email: 'moved@example.org' }
    const { post, mail, send } = openStage(({ operation }) => (operation === 'update' ? { set } : undefined))
    const { body } = await post('register', ann)
    const id = body.user._id
    expect((await post('verify', { token: await mail.token(), current: ann.password })).status).toBe(204)
    const moved = await storedUser({ send }, id)
    expect([moved.email, moved.verifiedAt]).toEqual(['moved@example.org', undefined])
    set = { verifiedAt: '2026-11-20T08:00:00.000Z' }
    const patched = await send(`PATCH /users/${id}`, { caller: ADMIN, body: { name: 'x' }, mayFail: true })
    expect(patched.status).toBe(500)
    expect((await storedUser({ send }, id)).name).toBeUndefined()
  })
})

test('a hook is not asked about seeds', async () => {
  const seen: unknown[] = []
  const service = createTestService(config, {
    documents: { users: [ANN] },
    hooks: { users: { before: ({ operation }) => void seen.push(operation) } },
  })
  await service.handler.ready()
  expect(seen).toEqual([])
})
