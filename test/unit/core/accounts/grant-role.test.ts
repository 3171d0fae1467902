import { describe, expect, test } from 'vitest'
import { findRoles, grantRole } from '../../../../src/core/accounts/grant-role.js'
import { compileConfig } from '../../../../src/core/config/compile-config.js'
import { UNHURRIED } from '../../../../src/core/request/deadline.js'
import { createStore } from '../../../../src/core/request/store.js'
import {
  ConfigError,
  createMemoryAdapter,
  type ServiceError,
  type StorageAdapter,
} from '../../../../src/index.js'
import { idOf, LONG_AGO, openStored, readStored } from '../../../support/stored.js'

type Json = { readonly [name: string]: unknown }

const NOW = '2026-11-20T08:00:00.000Z'
const email = { type: 'string', unique: true, trim: true, lowercase: true }
const password = { type: 'hash' }
const text = { type: 'string' }

const configOf = (role: Json, settings: Json = {}) => ({
  collections: { users: { schema: { role, email, password, name: text }, permissions: {}, ...settings } },
  auth: { identifier: 'email', roleField: 'role' },
})

const rolesOf = (config: unknown) =>
  findRoles(compileConfig(config, { production: false, hasAuthenticate: false }))

async function open(
  config: Json,
  users: readonly Json[] = [{ email: 'ann@b.co' }],
  adapter?: StorageAdapter,
) {
  const service = await openStored(config, { users }, adapter ? { adapter } : {})
  const roles = rolesOf(config)
  return {
    ...service,
    grant: (role: string, identifier = 'ann@b.co') =>
      grantRole(createStore(service.adapter, UNHURRIED), roles, { identifier, role }, () => NOW),
    read: (n = 1) => readStored(service, 'users', idOf(n)),
  }
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    ({ code, errors }: ServiceError) => (errors.length > 0 ? [code, errors[0]?.path, errors[0]?.code] : code),
  )

const list = { type: 'array', items: { type: 'string', enum: ['editor', 'admin'] } }

describe('a role that is granted', () => {
  test.each<[string, Json, unknown, string, unknown]>([
    ['where there was none', text, undefined, 'admin', 'admin'],
    ['in place of another', text, 'editor', 'admin', 'admin'],
    ['in place of what is no text', text, 5, 'admin', 'admin'],
    [
      'in the form in which it is stored',
      { ...text, trim: true, lowercase: true },
      undefined,
      ' Admin ',
      'admin',
    ],
    ['once set', { ...text, immutable: true }, 'editor', 'admin', 'admin'],
    ['in a list', list, undefined, 'admin', ['admin']],
    ['beside others of a list', list, ['editor'], 'admin', ['editor', 'admin']],
    ['beside what is out of date in a list', list, ['old', 5], 'admin', ['old', 5, 'admin']],
    ['in place of what is no list', list, 'editor', 'admin', ['admin']],
  ])('is written %s', async (_, field, before, role, after) => {
    const user = { email: 'ann@b.co', name: 'Ann', ...(before === undefined ? {} : { role: before }) }
    const { grant, read } = await open(configOf(field), [{ email: 'bob@b.co' }, user])
    expect(await grant(role)).toEqual({ isNew: true })
    expect(await read(2)).toEqual({
      _id: idOf(2),
      ...user,
      role: after,
      createdAt: LONG_AGO,
      updatedAt: NOW,
      createdBy: null,
      _version: 2,
    })
    expect(await read(1)).toMatchObject({ _version: 1 })
  })

  test.each<[string, Json, unknown]>([
    ['a text', text, 'admin'],
    ['a list', list, ['admin', 'editor']],
  ])('and held already is not written again: %s', async (_, field, role) => {
    const { grant, read } = await open(configOf(field), [{ email: 'ann@b.co', role }])
    expect(await grant('admin')).toEqual({ isNew: false })
    expect(await read()).toMatchObject({ role, _version: 1, updatedAt: LONG_AGO })
  })

  test('goes to whom the identifier names in the form in which it is stored', async () => {
    const { grant, read } = await open(configOf(text))
    await grant('admin', '  Ann@B.co ')
    expect(await read()).toMatchObject({ role: 'admin' })
  })

  test('counts at once, and leaves sessions and secrets alone', async () => {
    const config = configOf(text, { permissions: { owner: { read: true }, admin: true } })
    const { register, send, grant } = await open(config, [])
    const { token } = await register({ email: 'ann@b.co', password: 'secret' })
    expect((await send('GET /users', { token })).body).toHaveLength(1)
    expect((await send('POST /users', { token, body: { email: 'bob@b.co' } })).status).toBe(403)
    await grant('admin')
    expect((await send('POST /users', { token, body: { email: 'bob@b.co' } })).status).toBe(201)
    const me = await send('GET /auth/me', { token })
    expect(Object.keys(me.body).slice(0, 3)).toEqual(['_id', 'role', 'email'])
    const login = await send('POST /auth/login', { body: { email: 'ann@b.co', password: 'secret' } })
    expect(login.status).toBe(200)
  })
})

describe('nothing is written', () => {
  test.each<[string, Json, string, string, unknown]>([
    ['for nobody', text, 'admin', 'eve@b.co', 'not_found'],
    ['for what no document can hold', text, 'admin', 'a\u0000', 'not_found'],
    ['for a role that is not allowed', { ...text, enum: ['admin'] }, 'amdin', 'ann@b.co', 'not_allowed'],
    ['for a role that a list does not allow', list, 'amdin', 'ann@b.co', 'not_allowed'],
    ['for a role in another case', { ...text, enum: ['admin'] }, 'Admin', 'ann@b.co', 'not_allowed'],
    ['for a role that is too long', { ...text, maxLength: 3 }, 'admin', 'ann@b.co', 'too_long'],
    ['for more roles than fit', { ...list, maxItems: 0 }, 'admin', 'ann@b.co', 'too_many'],
    ['for a role with NUL', text, 'a\u0000', 'ann@b.co', 'invalid_text'],
  ])('%s', async (_, field, role, identifier, expected) => {
    const { grant, read } = await open(configOf(field))
    const before = await read()
    const code = await codeOf(grant(role, identifier))
    const path = expect.stringMatching(/^\/role(?:\/0)?$/)
    expect(code).toEqual(expected === 'not_found' ? expected : ['validation_failed', path, expected])
    expect(await read()).toEqual(before)
  })

  test('for a role that another has, where it is unique', async () => {
    const { grant } = await open(configOf({ ...text, unique: true }), [
      { email: 'ann@b.co' },
      { email: 'bob@b.co', role: 'admin' },
    ])
    expect(await codeOf(grant('admin'))).toEqual(['unique_violation', '/role', 'taken'])
  })

  test('what is out of date elsewhere in the document does not matter', async () => {
    const { grant, read } = await open(configOf(text), [{ email: 'ann@b.co', name: 5, old: true }])
    expect(await grant('admin')).toEqual({ isNew: true })
    expect(await read()).toMatchObject({ name: 5, old: true, role: 'admin' })
  })
})

describe('when others write the account at the same time', () => {
  /** Somebody else writes before each of the first writes of a role. */
  async function openBusy(times: number) {
    const memory = createMemoryAdapter()
    let left = 0
    const adapter: StorageAdapter = {
      ...memory,
      async write(steps, options) {
        const [step] = steps
        if (step && 'replace' in step && left-- > 0) {
          const user = await readStored({ adapter: memory }, 'users', step.replace._id)
          if (!user) throw new Error('there is no such user')
          const { _version } = user
          const replace = { ...user, name: `name ${left}`, _version: _version + 1 }
          await memory.write([{ in: 'users', replace, version: _version }], options)
        }
        return memory.write(steps, options)
      },
    }
    const opened = await open(configOf(text), [{ email: 'ann@b.co' }], adapter)
    left = times
    return opened
  }

  test('both survive', async () => {
    const { grant, read } = await openBusy(3)
    expect(await grant('admin')).toEqual({ isNew: true })
    expect(await read()).toMatchObject({ role: 'admin', name: 'name 0', _version: 5 })
  })

  test('it is given up in the end', async () => {
    const { grant, read } = await openBusy(10)
    expect(await codeOf(grant('admin'))).toBe('overloaded')
    expect(await read()).not.toHaveProperty('role')
  })
})

test.each<[string, Json, string]>([
  ['no accounts', { collections: { notes: { schema: {} } } }, '/collections/users'],
  ['users without secrets', { collections: { users: { schema: { email } } } }, '/collections/users'],
  ['no role field', { collections: { users: { schema: { email, password } } } }, '/auth/roleField'],
])('a configuration that keeps no roles is a fault: %s', (_, config, path) => {
  try {
    rolesOf(config)
    expect.unreachable()
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ConfigError)
    expect((thrown as ConfigError).faults.map((fault) => fault.path)).toEqual([path])
  }
})
