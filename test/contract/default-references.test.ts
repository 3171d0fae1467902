import { describe, expect, test } from 'vitest'
import type { Caller, ServiceOptions, StorageAdapter } from '../../src/index.js'
import { createTestService, faultsOf, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { fieldsOf, idOf, openStored } from '../support/stored.js'
import {
  all,
  ann,
  answerOf,
  arrayOf,
  FORBIDDEN,
  INVALID,
  idsOf,
  type Json,
  NOBODY,
  objectOf,
  outcomeOf,
  P1,
  P2,
  type Stored,
  text,
  to,
  useOpen,
} from './support/references.js'

const storages = useStorages()
const open = useOpen()
const TAKEN = [409, 'unique_violation']

describe('values that rules and defaults bring in', () => {
  const people = { schema: { name: text }, permissions: { user: { read: true } } }
  const callerOf = (id: string, ...roles: string[]): Caller => ({ id, roles })
  const post = (service: TestService, body: Json, caller: Caller | null = callerOf(P1)) =>
    service.send('POST /posts', { body, caller })

  test.each<[string, string, Json, unknown, Json]>([
    ['$user._id of somebody known', P1, { r: '$user._id' }, 201, { r: P1 }],
    ['$user._id of somebody unknown', NOBODY, { r: '$user._id' }, FORBIDDEN, {}],
    ['$user._id that is no UUID', 'ann', { r: '$user._id' }, FORBIDDEN, {}],
    ['a field that the caller lacks', P1, { r: '$user.boss' }, FORBIDDEN, {}],
    ['an id', P1, { r: P2 }, 201, { r: P2 }],
    ['an id of nothing', P1, { r: NOBODY }, INVALID, {}],
    ['ids in an array', P1, { many: ['$user._id', P2] }, 201, { many: [P1, P2] }],
  ])('set with %s', async (_, id, set, expected, fields) => {
    const permissions = { user: { read: true, create: { set } } }
    const posts = { schema: { r: to('people'), many: arrayOf(to('people')) }, permissions }
    const service = await open({ people, posts }, { people: [{}, {}], posts: [] })
    // What stands in the body is overwritten, whatever it is.
    const sent = await post(service, { r: set.r === undefined ? P1 : NOBODY }, callerOf(id))
    expect(outcomeOf(sent)).toEqual(expected)
    if (sent.status === 201) expect(sent.body).toMatchObject(fields)
    else expect(await idsOf(service, 'posts')).toEqual([])
  })

  test('set on update is judged as a change', async () => {
    const permissions = { user: { read: true, update: { set: { r: '$user._id' } } } }
    const posts = { schema: { title: text, r: to('people') }, permissions }
    const service = await open({ people, posts }, { people: [{}], posts: [{ r: NOBODY }] })
    const patch = (id: string) =>
      service.send(`PATCH /posts/${idOf(1)}`, { caller: callerOf(id), body: { title: 'x' } })
    expect(outcomeOf(await patch(P2))).toEqual(FORBIDDEN)
    expect(outcomeOf(await patch(P1))).toBe(200)
    expect(await fieldsOf(service, 'posts', idOf(1))).toEqual({ title: 'x', r: P1 })
  })

  test.each<[string, Json, unknown]>([
    ['of a document', { r: to('people', { default: P1 }) }, { r: P1 }],
    ['of nothing', { r: to('people', { default: NOBODY }) }, { '/r': 'unknown_reference' }],
    [
      'in an object',
      { o: { ...objectOf({ r: to('people', { default: P1 }) }), default: {} } },
      { o: { r: P1 } },
    ],
    [
      'of an array',
      { many: { ...arrayOf(to('people')), default: [P1, NOBODY] } },
      { '/many/1': 'unknown_reference' },
    ],
  ])('a default %s', async (_, schema, expected) => {
    const service = await open({ people, posts: { schema, permissions: all } }, { people: [{}], posts: [] })
    const sent = await post(service, {})
    if (sent.status === 201) expect(await fieldsOf(service, 'posts', sent.body._id)).toEqual(expected)
    else expect(faultsOf(sent)).toEqual(expected)
  })

  test.each<[string, Json, readonly string[], Json, unknown, Json?]>([
    [
      'what a rule drops is not judged',
      { user: { create: { pick: ['title'] } } },
      [],
      { title: 'x', r: NOBODY },
      201,
      { title: 'x' },
    ],
    [
      'the rule that drops nothing is tried first',
      { a: { create: { pick: ['title'] } }, b: { create: { pick: ['title', 'r'] } } },
      ['a', 'b'],
      { title: 'x', r: NOBODY },
      INVALID,
    ],
    [
      'a rule whose check fails gives way to one that drops the reference',
      { a: { create: { pick: ['title'] } }, b: { create: { check: { title: 'y' } } } },
      ['a', 'b'],
      { title: 'x', r: P1 },
      201,
      { title: 'x' },
    ],
    [
      'a later rule that is invalid is passed over',
      {
        a: { create: { check: { title: 'y' } } },
        b: { create: { set: { r: NOBODY } } },
        c: { create: { pick: ['title'] } },
      },
      ['a', 'b', 'c'],
      { title: 'x', r: P1 },
      201,
      { title: 'x' },
    ],
    [
      'and where no other is left the request is refused',
      { a: { create: { check: { title: 'y' } } }, b: { create: { set: { r: NOBODY } } } },
      ['a', 'b'],
      { title: 'x', r: P1 },
      FORBIDDEN,
    ],
  ])('several rules: %s', async (_, permissions, roles, body, expected, fields) => {
    const posts = { schema: { title: text, r: to('people') }, permissions }
    const service = await open({ people, posts }, { people: [{}], posts: [] })
    const sent = await post(service, body, callerOf(P1, ...roles))
    expect(outcomeOf(sent)).toEqual(expected)
    if (fields) expect(await fieldsOf(service, 'posts', sent.body._id)).toEqual(fields)
  })

  test('an unknown reference comes before a check, and a check before a conflict', async () => {
    const schema = { slug: { type: 'string', unique: true }, title: text, r: to('people') }
    const rule = { check: { title: 'ok' } }
    const posts = { schema, permissions: { user: { read: true, create: rule, update: rule } } }
    const stored = { people: [{}], posts: [{ slug: 'a' }, { slug: 'b' }] }
    const service = await open({ people, posts }, stored)
    const cases: readonly (readonly [Json, unknown])[] = [
      [{ slug: 'a', title: 'no', r: NOBODY }, INVALID],
      [{ slug: 'a', title: 'no', r: P1 }, FORBIDDEN],
      [{ slug: 'a', title: 'ok', r: NOBODY }, INVALID],
      [{ slug: 'a', title: 'ok', r: P1 }, TAKEN],
    ]
    for (const request of ['POST /posts', `PATCH /posts/${idOf(2)}`, `PUT /posts/${idOf(2)}`]) {
      for (const [body, expected] of cases) {
        const sent = await service.send(request, { body, caller: callerOf(P1) })
        expect(outcomeOf(sent), `${request} ${JSON.stringify(body)}`).toEqual(expected)
      }
    }
    const headers = { 'if-match': '"other"' }
    const body = { r: NOBODY }
    const sent = await service.send(`PATCH /posts/${idOf(2)}`, { body, headers, caller: callerOf(P1) })
    expect(outcomeOf(sent)).toEqual([412, 'precondition_failed'])
  })
})

describe('accounts', () => {
  const opened = closeAfterEach()

  const teams = { schema: { name: text }, permissions: { '*': { read: { where: { name: 'open' } } } } }
  const usersOf = (more: Json = {}, onDelete = 'restrict') => ({
    schema: {
      email: { type: 'string', unique: true },
      password: { type: 'hash' },
      team: to('teams', { onDelete }),
    },
    permissions: { owner: { read: true }, ...more },
  })
  const credentials = { email: 'ann', password: 'secret' }
  const own: ServiceOptions = {}

  async function openAccounts(collections: Json, stored: Stored, adapter?: StorageAdapter) {
    const service = await openStored({ collections }, stored, { ...own, ...(adapter ? { adapter } : {}) })
    opened.push(service)
    return service
  }

  test('a registration refers to what a stranger may read', async () => {
    const users = usersOf({ '*': { create: { pick: ['team'] } } })
    const service = await openAccounts({ teams, users }, { teams: [{ name: 'open' }, { name: 'shut' }] })
    const register = (team: unknown) =>
      service.send('POST /auth/register', { body: { ...credentials, team } })
    const [unreadable, absent] = [await register(idOf(2)), await register(NOBODY)]
    expect(faultsOf(unreadable)).toEqual({ '/team': 'unknown_reference' })
    expect(answerOf(unreadable)).toEqual(answerOf(absent))
    expect([await idsOf(service, 'users'), await idsOf(service, '_sessions')]).toEqual([[], []])
    const { status, body } = await register(idOf(1))
    expect([status, body.user.team]).toEqual([201, idOf(1)])
  })

  test('a registration that no rule lets refer to anything drops the reference', async () => {
    const service = await openAccounts({ teams, users: usersOf() }, { teams: [] })
    const { status, body } = await service.send('POST /auth/register', {
      body: { ...credentials, team: NOBODY },
    })
    expect(status).toBe(201)
    expect(body.user).not.toHaveProperty('team')
  })

  test('the writer is named by set, and nobody can name another', async () => {
    const posts = {
      schema: { author: to('users'), reviewer: to('users') },
      permissions: { user: { read: true, create: { set: { author: '$user._id' } } } },
    }
    const service = await openAccounts({ teams, users: usersOf(), posts }, {})
    const { token, id } = await service.register(credentials)
    const other = await service.register({ email: 'bob', password: 'secret' })
    const sent = await service.send('POST /posts', { token, body: { author: other.id } })
    expect([sent.status, sent.body.author]).toEqual([201, id])
    const send = (reviewer: string) => service.send('POST /posts', { token, body: { reviewer } })
    expect(answerOf(await send(other.id))).toEqual(answerOf(await send(NOBODY)))
    expect((await send(id)).status).toBe(201)
  })

  describe.each(storages)('in %s', (_, create) => {
    test('users that go with what they refer to are signed out', async () => {
      const adminTeams = { ...teams, permissions: all }
      const users = usersOf({ '*': { create: { pick: ['team'] } } }, 'cascade')
      const service = await openAccounts(
        { teams: adminTeams, users },
        { teams: [{ name: 'a' }, { name: 'b' }] },
        create(),
      )
      const ofTeam = (email: string, team: string) => service.register({ email, password: 'secret', team })
      const [ann, bob, eve] = [
        await ofTeam('ann', idOf(1)),
        await ofTeam('bob', idOf(1)),
        await ofTeam('eve', idOf(2)),
      ]
      const me = async ({ token }: { token: string }) =>
        (await service.send('GET /auth/me', { token })).status
      expect(await Promise.all([ann, bob, eve].map(me))).toEqual([200, 200, 200])
      expect((await service.send(`DELETE /teams/${idOf(1)}`)).status).toBe(204)
      expect(await Promise.all([ann, bob, eve].map(me))).toEqual([401, 401, 200])
      expect(await idsOf(service, 'users')).toEqual([eve.id])
      expect(await idsOf(service, '_sessions')).toHaveLength(1)
    })

    test('where a host keeps the accounts no sessions are looked for', async () => {
      const collections = { teams: { ...teams, permissions: all }, users: usersOf({}, 'cascade') }
      const stored = { teams: [{}], users: [{ team: idOf(1) }] }
      const service = await open(collections, stored, { adapter: create() })
      expect((await service.send(`DELETE /teams/${idOf(1)}`)).status).toBe(204)
      expect(await idsOf(service, 'users')).toEqual([])
    })
  })
})

describe('documents to begin with', () => {
  const opened = closeAfterEach()

  const config = {
    collections: {
      posts: { schema: { author: to('people'), also: arrayOf(to('people')) }, permissions: all },
      people: { schema: { friend: to('people') }, permissions: { admin: true } },
    },
  }
  const start = async (documents: { [name: string]: object[] }): Promise<unknown> => {
    const service = createTestService(config, { documents, authenticate: () => null })
    opened.push(service)
    const failed = await service.handler.ready().then(
      () => undefined,
      (thrown: { readonly code: string; readonly errors: readonly { path: string; code: string }[] }) =>
        thrown,
    )
    if (!failed) return 'ready'
    expect(await idsOf(service, 'posts')).toEqual([])
    return [failed.code, failed.errors.map(({ path, code }) => [path, code])]
  }

  test.each<[string, { [name: string]: object[] }]>([
    ['one that comes later', { posts: [{ author: P1 }], people: [{ _id: P1 }] }],
    ['one that came before', { people: [{ _id: P1 }], posts: [{ author: P1, also: [P1] }] }],
    [
      'each other',
      {
        people: [
          { _id: P1, friend: P2 },
          { _id: P2, friend: P1 },
        ],
      },
    ],
    ['themselves', { people: [{ _id: P1, friend: P1 }] }],
  ])('may refer to %s', async (_, documents) => {
    expect(await start(documents)).toBe('ready')
  })

  test.each<[string, { [name: string]: object[] }, string]>([
    ['nothing', { people: [{ _id: P1 }], posts: [{ author: P1 }, { author: P2 }] }, '/posts/1/author'],
    ['a document of another collection', { posts: [{ _id: P1 }, { author: P1 }] }, '/posts/1/author'],
    ['nothing in an array', { people: [{ _id: P1 }], posts: [{ also: [P1, P2] }] }, '/posts/0/also/1'],
  ])('may not refer to %s', async (_, documents, path) => {
    expect(await start(documents)).toEqual(['validation_failed', [[path, 'unknown_reference']]])
  })
})

describe('a default that is a reference', () => {
  const [D, X, known] = [idOf(1), idOf(2), idOf(3)]
  const collections = {
    teams: { schema: { name: text }, permissions: { '*': { read: true } } },
    items: {
      schema: { t: text, team: { ...to('teams'), default: D, nullable: true } },
      permissions: { '*': { read: true, create: { omit: ['team'] } }, user: true },
    },
  }
  const stored = { teams: [{ _id: D }, { _id: X }], items: [{ _id: known, t: '1', team: X }] }
  const cases: readonly (readonly [what: string, line: string, caller: Caller | null, body: Json])[] = [
    ['stands in for what a rule drops', 'POST /items', null, { t: '1', team: X }],
    ['stands in for null', 'POST /items', ann, { t: '1', team: null }],
    ['stands in for null in a PUT', `PUT /items/${known}`, ann, { t: '1', team: null }],
    ['stands in for what is not there', 'POST /items', ann, { t: '1' }],
  ]
  test.each(cases)('%s', async (_, line, caller, body) => {
    const service = await open(collections, stored)
    const answer = await service.send(line, { caller, body })
    expect([200, 201]).toContain(answer.status)
    expect(answer.body.team).toBe(D)
  })
})
