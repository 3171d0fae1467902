import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { createTestService, type Sent, type TestService } from '../support/service.js'
import { idOf, openStored, readStored } from '../support/stored.js'
import {
  ann,
  as,
  configOf,
  FAILED,
  FORBIDDEN,
  type Json,
  NOT_FOUND,
  ONE,
  outcomeOf,
  stored,
  text,
  UNAUTHENTICATED,
} from './support/documents.js'

/** The same, where a host says who asks. */
const openHosted = (config: Json, ...items: Json[]): Promise<TestService> =>
  openStored(config, { items }, { authenticate: () => null })

describe('rules', () => {
  const schema = { a: text, b: text, team: text, by: text }
  const read = true
  const items = { a: '1', b: '1', team: 'x', createdBy: 'ann' }
  const member: Caller = { id: 'eve', roles: ['editor', 'clerk'], team: 'x' }

  interface RuleCase {
    readonly permissions: Json
    readonly caller?: Caller | null
    readonly body?: Json
    readonly expected: Json | readonly unknown[]
  }
  test.each<[string, RuleCase]>([
    [
      'where holds for the stored document',
      { permissions: { user: { read, update: { where: { team: 'y' } } } }, expected: FORBIDDEN },
    ],
    [
      'nobody signed in gets 401 where the rule does not fit',
      {
        permissions: { '*': { read, update: { where: { team: 'y' } } } },
        caller: null,
        expected: UNAUTHENTICATED,
      },
    ],
    [
      'check is where by default',
      {
        permissions: { '*': { read, update: { where: { team: 'x' } } } },
        body: { team: 'y' },
        expected: FORBIDDEN,
      },
    ],
    [
      'an empty check lifts it',
      {
        permissions: { '*': { read, update: { where: { team: 'x' }, check: {} } } },
        body: { team: 'y' },
        expected: { team: 'y' },
      },
    ],
    [
      'a failed check is 403 for nobody too',
      {
        permissions: { '*': { read, update: { check: { a: { $ne: 'bad' } } } } },
        caller: null,
        body: { a: 'bad' },
        expected: FORBIDDEN,
      },
    ],
    [
      'where may use what the caller holds',
      {
        permissions: { user: { read, update: { where: { team: '$user.team' } } } },
        caller: member,
        body: { a: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'and is false where the caller lacks it',
      {
        permissions: { user: { read, update: { where: { team: { $ne: '$user.team' } } } } },
        body: { a: '2' },
        expected: FORBIDDEN,
      },
    ],
    [
      'set is put in over the body',
      {
        permissions: { user: { read, update: { set: { by: '$user._id' } } } },
        body: { a: '2', by: 'me' },
        expected: { a: '2', by: 'ann' },
      },
    ],
    [
      'a set of what the caller lacks is 403',
      {
        permissions: { user: { read, update: { set: { by: '$user.team' } } } },
        body: { a: '2' },
        expected: FORBIDDEN,
      },
    ],
    [
      'pick drops the others',
      {
        permissions: { '*': { read, update: { pick: ['a'] } } },
        body: { a: '2', b: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'omit drops these',
      {
        permissions: { '*': { read, update: { omit: ['a'] } } },
        body: { a: '2', b: '2' },
        expected: { b: '2' },
      },
    ],
    [
      'user decides before *',
      {
        permissions: { '*': { read, update: true }, user: { update: { pick: ['b'] } } },
        body: { a: '2', b: '2' },
        expected: { b: '2' },
      },
    ],
    [
      'a role decides before user',
      {
        permissions: { user: { read, update: true }, editor: { update: { pick: ['b'] } } },
        caller: member,
        body: { a: '2', b: '2' },
        expected: { b: '2' },
      },
    ],
    [
      'a role refuses',
      {
        permissions: { user: { read, update: true }, editor: { update: false } },
        caller: member,
        body: { a: '2' },
        expected: FORBIDDEN,
      },
    ],
    [
      'a role that is silent leaves it to user',
      {
        permissions: { user: { read, update: true }, editor: { read } },
        caller: member,
        body: { a: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'of several roles the one that drops nothing',
      {
        permissions: {
          user: { read },
          clerk: { update: { pick: ['a'] } },
          editor: { update: { pick: ['a', 'b'] } },
        },
        caller: member,
        body: { a: '2', b: '2' },
        expected: { a: '2', b: '2' },
      },
    ],
    [
      'never a mixture of two',
      {
        permissions: {
          user: { read },
          clerk: { update: { pick: ['a'] } },
          editor: { update: { pick: ['b'] } },
        },
        caller: member,
        body: { a: '2', b: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'a rule that does not fit is passed over',
      {
        permissions: {
          user: { read },
          clerk: { update: { where: { team: 'y' } } },
          editor: { update: { pick: ['b'] } },
        },
        caller: member,
        body: { a: '2', b: '2' },
        expected: { b: '2' },
      },
    ],
    [
      'a rule whose check fails is passed over',
      {
        permissions: { user: { read }, clerk: { update: { check: { a: '1' } } }, editor: { update: true } },
        caller: member,
        body: { a: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'owner comes last',
      {
        permissions: { user: { read, update: { pick: ['a'] } }, owner: { update: { pick: ['b'] } } },
        body: { a: '2', b: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'owner goes first where it alone drops nothing',
      {
        permissions: { user: { read, update: { pick: ['a'] } }, owner: { update: true } },
        body: { a: '2', b: '2' },
        expected: { a: '2', b: '2' },
      },
    ],
    [
      'owner helps where the deciding subject refuses',
      {
        permissions: { user: { read, update: false }, owner: { update: true } },
        body: { a: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'owner is no stranger',
      {
        permissions: { user: { read }, owner: { update: true } },
        caller: { id: 'bob' },
        body: { a: '2' },
        expected: FORBIDDEN,
      },
    ],
    [
      'what may not be read may not be changed',
      {
        permissions: { user: { read: { where: { team: 'y' } }, update: true } },
        body: { a: '2' },
        expected: NOT_FOUND,
      },
    ],
    [
      'without a grant to read there is nothing',
      { permissions: { user: { update: true } }, body: { a: '2' }, expected: NOT_FOUND },
    ],
  ])('%s', async (_, { permissions, caller = ann, body = { a: '2' }, expected }) => {
    const service = await openHosted(configOf(schema, permissions), items)
    const answer = await service.send(`PATCH ${ONE}`, { caller, body })
    const { createdBy, ...fields } = items
    if (Array.isArray(expected)) {
      expect(outcomeOf(answer)).toEqual(expected)
      expect(await stored(service)).toEqual(fields)
    } else {
      expect(answer.status).toBe(200)
      expect(await stored(service)).toEqual({ ...fields, ...expected })
    }
  })

  test.each<[string, Json, Caller | null, unknown]>([
    ['everyone', { '*': { read, delete: true } }, null, 204],
    ['nobody signed in', { user: { read, delete: true } }, null, UNAUTHENTICATED],
    ['where holds', { user: { read, delete: { where: { team: 'x' } } } }, ann, 204],
    ['where does not hold', { user: { read, delete: { where: { team: 'y' } } } }, ann, FORBIDDEN],
    [
      'where does not hold for nobody',
      { '*': { read, delete: { where: { team: 'y' } } } },
      null,
      UNAUTHENTICATED,
    ],
    ['a role refuses', { user: { read, delete: true }, editor: { delete: false } }, member, FORBIDDEN],
    [
      'one of two roles fits',
      {
        user: { read },
        clerk: { delete: { where: { a: 'no' } } },
        editor: { delete: { where: { a: '1' } } },
      },
      member,
      204,
    ],
    ['the owner', { user: { read }, owner: { delete: true } }, ann, 204],
    ['not the owner', { user: { read }, owner: { delete: true } }, member, FORBIDDEN],
    ['not readable', { user: { read: { where: { team: 'y' } }, delete: true } }, ann, NOT_FOUND],
    ['a rule to update is none to delete', { user: { read, update: true } }, ann, FORBIDDEN],
  ])('DELETE: %s', async (_, permissions, caller, expected) => {
    const service = await openHosted(configOf(schema, permissions), items)
    expect(outcomeOf(await service.send(`DELETE ${ONE}`, { caller }))).toEqual(expected)
    expect((await readStored(service, 'items', idOf(1))) === undefined).toBe(expected === 204)
  })

  test('the answer shows what its caller may read of the document as it is now', async () => {
    const permissions = { '*': { read: { where: { team: 'x' }, pick: ['a'] }, update: true } }
    const service = await openHosted(configOf(schema, permissions), items)
    const shown = await service.send(`PATCH ${ONE}`, { body: { b: '2', a: '2' } })
    expect(shown.body).toEqual({ _id: idOf(1), a: '2' })
    expect((await service.send(`PATCH ${ONE}`, { body: { team: 'y' } })).body).toEqual({ _id: idOf(1) })
    expect(outcomeOf(await service.send(`PATCH ${ONE}`, { body: { team: 'x' } }))).toEqual(NOT_FOUND)
  })
})

describe('sessions', () => {
  const config = {
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true, required: true },
          password: { type: 'hash', required: true },
          name: text,
          role: text,
        },
        permissions: {
          owner: { read: true, update: { pick: ['name', 'password', 'email'] }, delete: true },
          admin: true,
        },
      },
    },
    auth: { roleField: 'role' },
  }
  const credentials = { email: 'ann@b.co', password: 'old secret' }
  const NO_TOKEN = [401, 'invalid_token']

  /** Ann with two sessions, and an administrator who sent none of the requests so far. */
  async function signIn() {
    const service = createTestService(config)
    const { id, token: mine } = await service.register(credentials)
    const login = (password: string) =>
      service.send('POST /auth/login', { body: { email: credentials.email, password } })
    const other: string = (await login(credentials.password)).body.token
    const me = async (token: string) => outcomeOf(await service.send('GET /auth/me', { token }))
    const expectSecret = async (old: number, present: number) => {
      expect([(await login(credentials.password)).status, (await login('new secret')).status]).toEqual([
        old,
        present,
      ])
    }
    return { ...service, id, mine, other, me, expectSecret, path: `/users/${id}` }
  }

  test.each<[string, Json]>([
    ['PATCH', { password: 'new secret' }],
    ['PUT', { email: credentials.email, password: 'new secret' }],
  ])('a new secret by %s ends the other sessions, and the acting one stays', async (method, body) => {
    const { send, me, mine, other, path, expectSecret } = await signIn()
    expect((await send(`${method} ${path}`, { token: mine, body })).status).toBe(200)
    expect([await me(mine), await me(other)]).toEqual([200, NO_TOKEN])
    await expectSecret(401, 200)
    expect(await me(mine)).toBe(200)
  })

  test('the present secret once more counts as new', async () => {
    const { send, me, mine, other, path, expectSecret } = await signIn()
    await send(`PATCH ${path}`, { token: mine, body: { password: credentials.password } })
    expect([await me(mine), await me(other)]).toEqual([200, NO_TOKEN])
    await expectSecret(200, 401)
  })

  test.each<[string, Json, number]>([
    ['another field', { name: 'Ann' }, 200],
    ['a refused secret', { password: 'x'.repeat(80) }, 400],
    ['a body that is dropped', { role: 'admin' }, 200],
    ['the removal of a secret that is required', { password: null }, 400],
  ])('%s ends none', async (_, body, status) => {
    const { send, me, mine, other, path, expectSecret } = await signIn()
    expect((await send(`PATCH ${path}`, { token: mine, body })).status).toBe(status)
    expect([await me(mine), await me(other)]).toEqual([200, 200])
    await expectSecret(200, 401)
  })

  test('a secret in an update that is refused for its state changes nothing', async () => {
    const { send, me, mine, other, path, expectSecret } = await signIn()
    const headers = { 'if-match': '"wrong"' }
    const answer = await send(`PATCH ${path}`, { token: mine, headers, body: { password: 'new secret' } })
    expect(outcomeOf(answer)).toEqual(FAILED)
    expect([await me(mine), await me(other)]).toEqual([200, 200])
    await expectSecret(200, 401)
  })

  test("an administrator's change of another's secret ends all sessions of that user only", async () => {
    const service = await signIn()
    const { send, me, mine, other, path, expectSecret } = service
    const admin = await service.register({ email: 'admin@b.co', password: 'admin secret' })
    await send(`PATCH /users/${admin.id}`, { caller: as('admin'), body: { role: 'admin' } })
    const body = { password: 'new secret' }
    expect((await send(`PATCH ${path}`, { token: admin.token, body })).status).toBe(200)
    expect([await me(mine), await me(other), await me(admin.token)]).toEqual([NO_TOKEN, NO_TOKEN, 200])
    await expectSecret(401, 200)
  })

  test("a host's change of a secret ends all sessions", async () => {
    const { send, me, mine, other, path, id } = await signIn()
    const body = { password: 'new secret' }
    expect((await send(`PATCH ${path}`, { caller: { id }, body })).status).toBe(200)
    expect([await me(mine), await me(other)]).toEqual([NO_TOKEN, NO_TOKEN])
  })

  test('deletion of a user ends the sessions, and frees the identifier', async () => {
    const service = await signIn()
    const { send, me, mine, other, path, expectSecret } = service
    expect((await send(`DELETE ${path}`, { token: mine })).status).toBe(204)
    expect([await me(mine), await me(other)]).toEqual([NO_TOKEN, NO_TOKEN])
    await expectSecret(401, 401)
    const again = await service.register(credentials)
    expect(again.id).not.toBe(service.id)
    expect([await me(mine), await me(again.token)]).toEqual([NO_TOKEN, 200])
  })

  test('of two changes of a secret at once by one session none ends it', async () => {
    const { send, me, mine, other, path } = await signIn()
    const answers = await Promise.all(
      ['new secret', 'newer secret'].map((password) =>
        send(`PATCH ${path}`, { token: mine, body: { password } }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect([await me(mine), await me(other)]).toEqual([200, NO_TOKEN])
  })

  test('of two changes of a secret at once by two sessions one is made, and its session stays', async () => {
    const { send, me, mine, other, path } = await signIn()
    const tokens = [mine, other]
    const answers = await Promise.all(
      tokens.map((token) => send(`PATCH ${path}`, { token, body: { password: 'new secret' } })),
    )
    expect(answers.map(outcomeOf).sort()).toEqual([200, NO_TOKEN])
    for (const [i, token] of tokens.entries()) expect(await me(token)).toEqual(outcomeOf(answers[i] as Sent))
  })
})

test('a fault of a long name is told with its beginning, also where a PATCH removes it', async () => {
  const schema = { a: { type: 'string' } }
  const service = await openStored(
    { collections: { items: { schema, permissions: { '*': true } } } },
    { items: [{}] },
  )
  for (const value of [null, 1]) {
    const sent = await service.send(`PATCH /items/${idOf(1)}`, { body: { ['n'.repeat(20_000)]: value } })
    expect(sent.body.errors.map(({ path }: { path: string }) => path.length)).toEqual([256])
  }
  await service.handler.close()
})
