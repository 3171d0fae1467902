import { describe, expect, test, vi } from 'vitest'
import { type Caller, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { createTestService, type SendOptions, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf } from '../support/stored.js'

// CONTRACT.md §5, "Claims"

const inTeam = (claim: string) => ({ team: { $in: `$user.${claim}` } })

const config = {
  collections: {
    teams: {
      schema: { name: { type: 'string' } },
      permissions: { user: { create: true }, root: true },
    },
    memberships: {
      schema: {
        user: { type: 'string', index: true },
        team: { type: 'string' },
        role: { type: 'string' },
        level: { type: 'integer' },
      },
      permissions: {
        user: { create: { set: { user: '$user._id' }, check: { team: { $in: '$user.founded' } } } },
        root: true,
      },
    },
    notes: {
      schema: {
        text: { type: 'string' },
        team: { type: 'string', index: true },
        teams: { type: 'array', items: { type: 'string' }, maxItems: 1000 },
        after: { type: 'reference', collection: 'notes' },
      },
      permissions: {
        '*': { read: { where: inTeam('open') } },
        user: {
          create: { omit: ['teams'], check: inTeam('teams') },
          read: { where: inTeam('teams') },
          update: { omit: ['teams'], where: inTeam('adminOf') },
          delete: { where: inTeam('adminOf') },
        },
        outsider: { read: { where: { team: { $nin: '$user.teams' } } } },
        marker: { create: { set: { teams: '$user.teams' } }, read: { where: { text: 'marked' } } },
        stray: { read: { where: inTeam('shops') } },
        leveller: { read: { where: { $or: [{ text: 'x' }, { text: { $in: '$user.byLevel' } }] } } },
        root: true,
      },
    },
  },
  auth: {
    claims: {
      teams: { from: 'memberships', where: { user: '$user._id' }, take: 'team' },
      adminOf: { from: 'memberships', where: { user: '$user._id', role: 'admin' }, take: 'team' },
      founded: { from: 'teams', where: { createdBy: '$user._id', createdAt: '$now' }, take: '_id' },
      open: { from: 'memberships', where: { user: 'everyone' }, take: 'team' },
      shops: {
        from: 'memberships',
        where: { $or: [{ user: '$user._id' }, { team: '$user.shop' }] },
        take: 'team',
      },
      byLevel: { from: 'memberships', where: { level: '$user.level' }, take: 'role' },
    },
  },
  limits: { bulk: 2000 },
}

const root: Caller = { id: 'root', roles: ['root'] }
const ann: Caller = { id: 'ann' }
const ben: Caller = { id: 'ben' }

const storages = useStorages()
const opened = closeAfterEach()

let time = 0

async function open(
  adapter: StorageAdapter = createMemoryAdapter(),
  memberships: readonly object[] = MEMBERSHIPS,
): Promise<TestService> {
  time = Date.parse('2026-01-01')
  const service = createTestService(config, { adapter, authenticate: () => null, now: () => time })
  opened.push(service)
  for (const body of memberships) {
    time += 1000
    expect((await service.send('POST /memberships', { body, caller: root })).status).toBe(201)
  }
  const documents = ['a', 'b', 'c'].map((team) => ({ text: `of ${team}`, team }))
  expect(
    (
      await service.send('POST /notes/bulk', {
        body: { documents: [...documents, { text: 'free' }] },
        caller: root,
      })
    ).status,
  ).toBe(201)
  time += 1000
  return service
}

const MEMBERSHIPS = [
  { user: 'ann', team: 'b', role: 'admin' },
  { user: 'ann', team: 'a', role: 'guest' },
  { user: 'ann', team: 'b', role: 'guest' },
  { user: 'ann' },
  { user: 'ben', team: 'c', role: 'guest', level: 7 },
]

const as = (caller: Caller, ...roles: string[]): SendOptions => ({ caller: { ...caller, roles } })

/** The texts of the notes that a caller reads, and that the count agrees. */
async function texts({ list, send }: TestService, options: SendOptions): Promise<readonly unknown[]> {
  const found = await list('/notes?sort[text]=1', 'text', options)
  expect((await send('GET /notes/count', options)).body).toEqual({ total: found.length })
  return found
}

const rootList = async ({ send }: TestService, path: string) =>
  (await send(`GET ${path}`, { caller: root })).body

describe.each(storages)('on %s', (_, create) => {
  test('a claim is what the documents of the caller say, and what does not match is not there', async () => {
    const service = await open(create())
    expect(await texts(service, as(ann))).toEqual(['of a', 'of b'])
    expect(await texts(service, as(ben))).toEqual(['of c'])
    expect(await texts(service, as({ id: 'zoe' }))).toEqual([])
    expect(await texts(service, { caller: null })).toEqual([])
    const [, a, , c] = await rootList(service, '/notes?sort[text]=1')
    expect((await service.send(`GET /notes/${a._id}`, as(ann))).status).toBe(200)
    expect((await service.send(`GET /notes/${c._id}`, as(ann))).status).toBe(404)
    expect((await service.send(`PATCH /notes/${a._id}`, { ...as(ann), body: { text: 'x' } })).status).toBe(
      403,
    )
    expect((await service.send(`DELETE /notes/${c._id}`, as(ann))).status).toBe(404)
  })

  test('what changes in them changes with the next request', async () => {
    const service = await open(create())
    await service.send('POST /memberships', { caller: root, body: { user: 'ann', team: 'c' } })
    expect(await texts(service, as(ann))).toEqual(['of a', 'of b', 'of c'])
    const [own] = await rootList(service, '/memberships?q[user]=ann&q[team]=a')
    await service.send(`DELETE /memberships/${own._id}`, { caller: root })
    expect(await texts(service, as(ann))).toEqual(['of b', 'of c'])
  })

  test('writes are judged by claims, and references by what they let a caller read', async () => {
    const service = await open(create())
    const notes = await rootList(service, '/notes?sort[text]=1')
    const idOfText = (text: string) => notes.find((note: { text: string }) => note.text === text)._id
    const post = (body: object) => service.send('POST /notes', { ...as(ann), body })
    expect((await post({ text: 'n', team: 'a' })).body).toMatchObject({ text: 'n', team: 'a' })
    expect((await post({ text: 'n', team: 'c' })).status).toBe(403)
    expect((await post({ text: 'n' })).status).toBe(403)
    expect((await post({ text: 'n', team: 'a', after: idOfText('of b') })).status).toBe(201)
    expect((await post({ text: 'n', team: 'a', after: idOfText('of c') })).status).toBe(400)
    const patch = (text: string, body: object) =>
      service.send(`PATCH /notes/${idOfText(text)}`, { ...as(ann), body })
    expect((await patch('of b', { text: 'of b!' })).status).toBe(200)
    expect((await patch('of b', { team: 'a' })).status).toBe(403)
    const { body } = await service.send('GET /notes?q[text]=n&expand=["after"]', as(ann))
    expect(body.map(({ after }: { after?: { text: string } }) => after?.text)).toEqual([undefined, 'of b!'])
    expect((await service.send(`DELETE /notes/${idOfText('of b')}`, as(ann))).status).toBe(409)
  })

  test('a set holds each value once, that of the oldest document first', async () => {
    const service = await open(create())
    const marked = (caller: Caller) =>
      service.send('POST /notes', { ...as(caller, 'marker'), body: { text: 'marked' } })
    expect((await marked(ann)).body.teams).toEqual(['b', 'a'])
    expect((await marked({ id: 'zoe' })).body.teams).toEqual([])
  })

  test('in a batch, a claim is what the operations before have left', async () => {
    const service = await open(create())
    const team = idOf(77)
    const found = [
      { method: 'PUT', path: `/teams/${team}`, ifNoneMatch: '*', body: { name: 'new' } },
      { method: 'POST', path: '/memberships', body: { team, role: 'admin' } },
    ]
    const note = { method: 'POST', path: '/notes', body: { text: 'first', team } }
    const run = (caller: Caller, operations: object[]) =>
      service.send('POST /_batch', { ...as(caller), body: { operations } })
    const tooEarly = await run(ann, [...found.slice(0, 1), note, ...found.slice(1)])
    expect([tooEarly.status, tooEarly.body.operation]).toEqual([403, 1])
    const { status, body } = await run(ann, [...found, note])
    expect([status, body.results?.map((result: { status: number }) => result.status)]).toEqual([
      200,
      [201, 201, 201],
    ])
    expect(await texts(service, as(ann))).toEqual(['first', 'of a', 'of b'])
    const [other, another] = [{ ...note, body: { text: 'of a', team: 'a' } }, idOf(78)]
    const later = found.map((one) => JSON.parse(JSON.stringify(one).replaceAll(team, another)))
    const ours = { ...note, body: { text: 'ours', team: another } }
    expect((await run(ann, [other, later[0], other, ours])).body.operation).toBe(3)
    expect((await run(ann, [other, other, ...later, ours, other, ours])).status).toBe(200)
    // Founding is over.
    time += 1
    for (const caller of [ann, ben]) expect((await run(caller, found.slice(1))).status).toBe(403)
  })

  test('a batch reads a claim once, until an operation writes where it comes from', async () => {
    const adapter = create()
    const service = await open(adapter)
    const reading = vi.spyOn(adapter, 'list')
    const note = { method: 'POST', path: '/notes', body: { text: 'of a', team: 'a' } }
    const founding = { method: 'PUT', path: `/teams/${idOf(79)}`, ifNoneMatch: '*', body: { name: 'new' } }
    // Two claims come from there.
    for (const [operations, times] of [
      [Array(20).fill(note), 2],
      [[note, note, founding, note, note], 4],
    ] as const) {
      reading.mockClear()
      const sent = await service.send('POST /_batch', { ...as(ann), body: { operations } })
      expect(sent.status).toBe(200)
      expect(reading.mock.calls.filter(([name]) => name === 'memberships')).toHaveLength(times)
    }
  })

  test('of more than 1,000 documents the oldest count, and no `$nin` holds', async () => {
    const service = await open(create(), [{ user: 'ann', team: 'b' }])
    const fill = async (count: number, last: string) => {
      const documents = Array.from({ length: count }, (_, i) => ({
        user: 'ann',
        team: i < count - 1 ? 'z' : last,
      }))
      expect(
        (await service.send('POST /memberships/bulk', { caller: root, body: { documents } })).status,
      ).toBe(201)
      time += 1000
    }
    const marked = () => service.send('POST /notes', { ...as(ann, 'marker'), body: { text: 'marked' } })
    await fill(999, 'c')
    expect(await texts(service, as(ann))).toEqual(['of b', 'of c'])
    expect(await texts(service, as(ann, 'outsider'))).toEqual(['free', 'of a', 'of b', 'of c'])
    expect((await marked()).body.teams).toEqual(['b', 'z', 'c'])
    const warned = () => service.logged.filter(([text]) => String(text).includes('claim teams'))
    expect(warned()).toEqual([])
    await fill(1, 'a')
    expect(await texts(service, as(ann))).toEqual(['of b', 'of c'])
    expect(await texts(service, as(ann, 'outsider'))).toEqual(['of b', 'of c'])
    expect((await marked()).status).toBe(403)
    expect(warned()).toEqual([[expect.any(String), { caller: 'ann' }]])
  })
})

test('a claim without documents is empty, and then `$nin` holds', async () => {
  const service = await open()
  expect(await texts(service, as({ id: 'zoe' }, 'outsider'))).toEqual(['free', 'of a', 'of b', 'of c'])
  expect(await texts(service, as(ben, 'outsider'))).toEqual(['free', 'of a', 'of b', 'of c'])
})

test.each<[name: string, fields: object, read: readonly string[]]>([
  ['is there', { shop: 'c' }, ['of a', 'of b', 'of c']],
  ['is missing', {}, []],
  ['is null', { shop: null }, []],
  ['is a list', { shop: ['c'] }, []],
  ['is a number', { shop: 5 }, []],
])('a claim is lacking where what its `where` names in any branch %s', async (_, fields, read) => {
  const service = await open()
  const caller = { ...ann, roles: ['stray'], ...fields }
  const all = await texts(service, { caller })
  expect(all).toEqual(read.length > 0 ? read : ['of a', 'of b'])
  // By the role alone: `user` reads the teams.
  const alone = createTestService(
    {
      ...config,
      collections: {
        ...config.collections,
        notes: {
          ...config.collections.notes,
          permissions: { stray: config.collections.notes.permissions.stray },
        },
      },
    },
    { adapter: service.adapter, authenticate: () => null },
  )
  expect(await texts(alone, { caller })).toEqual(read)
})

test('where a claim is lacking, no `$nin` holds and no `set` runs', async () => {
  const claims = { mine: { from: 'memberships', where: { user: '$user.name' }, take: 'team' } }
  const { memberships } = config.collections
  const permissions = {
    user: { read: { where: { team: { $nin: '$user.mine' } } }, create: { set: { teams: '$user.mine' } } },
  }
  const notes = { schema: config.collections.notes.schema, permissions }
  const { send } = createTestService(
    {
      collections: { memberships, notes },
      auth: { claims: { ...claims, founded: config.auth.claims.open } },
    },
    {
      authenticate: () => null,
      documents: { notes: [{ text: 'one' }], memberships: [{ user: 'ann', team: 'a' }] },
    },
  )
  const total = async (caller: Caller) => (await send('GET /notes/count', { caller })).body.total
  const create = async (caller: Caller) => (await send('POST /notes', { caller, body: {} })).status
  expect([await total({ id: 'ann', name: 'ann' }), await create({ id: 'ann', name: 'ann' })]).toEqual([
    1, 201,
  ])
  for (const name of [undefined, null, ['ann'], 5, { a: 1 }])
    expect([await total({ id: 'ann', name }), await create({ id: 'ann', name })]).toEqual([0, 403])
})

test('a claim wins over a field of a host’s caller', async () => {
  const service = await open()
  expect(await texts(service, { caller: { ...ann, teams: ['c'], adminOf: ['c'] } })).toEqual(['of a', 'of b'])
  expect(await texts(service, { caller: { id: 'zoe', teams: ['c'] } })).toEqual([])
})

test('a claim that names no caller holds for everyone', async () => {
  const service = await open()
  await service.send('POST /memberships', { caller: root, body: { user: 'everyone', team: 'c' } })
  expect(await texts(service, { caller: null })).toEqual(['of c'])
  expect(await texts(service, { caller: { id: 'zoe' } })).toEqual(['of c'])
})

test('a claim is the same for accounts, for `authenticate` and for `as()`', async () => {
  const users = {
    schema: {
      email: { type: 'string', unique: true, required: true, lowercase: true },
      password: { type: 'hash', required: true },
      nick: { type: 'string' },
    },
    permissions: { owner: { read: { where: { _id: { $in: '$user.members' } }, omit: ['nick'] } } },
  }
  const claims = {
    teams: config.auth.claims.teams,
    members: { from: 'memberships', where: { user: '$user._id' }, take: 'user' },
  }
  const { memberships, notes } = config.collections
  const permissions = { user: { read: { where: inTeam('teams') } } }
  const both = {
    collections: {
      users,
      memberships: { schema: memberships.schema, permissions: { root: true } },
      notes: { schema: notes.schema, permissions },
    },
    auth: { claims },
  }
  const documents = { notes: [{ text: 'of a', team: 'a' }] }
  const { send, register } = createTestService(both, {
    documents,
    accounts: true,
    authenticate: (request) => ({ id: request.headers.get('x-id') ?? '' }),
  })
  const { token, id } = await register({ email: 'ann@example.com', password: 'secret' })
  const count = async (options: SendOptions) => (await send('GET /notes/count', options)).body.total
  const callers: readonly SendOptions[] = [{ token }, { headers: { 'x-id': id } }, { caller: { id } }]
  for (const options of callers) expect(await count(options)).toBe(0)
  const hidden = (await send('GET /auth/me', { token })).body
  expect(hidden.email).toBe('ann@example.com')
  await send('POST /memberships', { caller: root, body: { user: id, team: 'a' } })
  for (const options of callers) expect(await count(options)).toBe(1)
  expect((await send('GET /auth/me', { token })).status).toBe(200)
  const login = await send('POST /auth/login', { body: { email: 'ann@example.com', password: 'secret' } })
  expect(login.body.user).toMatchObject({ _id: id, email: 'ann@example.com' })
})

/** An adapter that does something before its next write. */
function interrupted(adapter: StorageAdapter) {
  let interrupt: (() => Promise<unknown>) | undefined
  const between: StorageAdapter = {
    ...adapter,
    async write(steps, options) {
      const now = interrupt
      interrupt = undefined
      await now?.()
      return adapter.write(steps, options)
    },
  }
  const before = (act: () => Promise<unknown>): void => {
    interrupt = act
  }
  return { adapter: between, before }
}

test('every attempt reads the claims anew', async () => {
  const { adapter, before } = interrupted(createMemoryAdapter())
  const service = await open(adapter)
  const [note] = await rootList(service, '/notes?q[team]=b')
  const [membership] = await rootList(service, '/memberships?q[user]=ann&q[role]=admin')
  before(async () => {
    await service.send(`DELETE /memberships/${membership._id}`, { caller: root })
    await service.send(`PATCH /notes/${note._id}`, { caller: root, body: { text: 'mine now' } })
  })
  const patched = await service.send(`PATCH /notes/${note._id}`, { ...as(ann), body: { text: 'x' } })
  expect(patched.status).toBe(403)
  expect((await rootList(service, '/notes?q[team]=b'))[0].text).toBe('mine now')
})

test('outside a batch, a change between the reading of a claim and the write does not count', async () => {
  const { adapter, before } = interrupted(createMemoryAdapter())
  const service = await open(adapter)
  const [membership] = await rootList(service, '/memberships?q[user]=ben')
  before(() => service.send(`DELETE /memberships/${membership._id}`, { caller: root }))
  expect((await service.send('POST /notes', { ...as(ben), body: { team: 'c' } })).status).toBe(201)
  expect((await service.send('POST /notes', { ...as(ben), body: { team: 'c' } })).status).toBe(403)
})

test('in a batch, the documents that gave a claim its values must be unchanged', async () => {
  const { adapter, before } = interrupted(createMemoryAdapter())
  const service = await open(adapter)
  const [membership] = await rootList(service, '/memberships?q[user]=ben')
  const operations = [{ method: 'POST', path: '/notes', body: { text: 'late', team: 'c' } }]
  before(() => service.send(`DELETE /memberships/${membership._id}`, { caller: root }))
  const { status, body } = await service.send('POST /_batch', { ...as(ben), body: { operations } })
  expect([status, body.operation]).toEqual([403, 0])
  expect(await rootList(service, '/notes?q[text]=late')).toEqual([])
})

test('one time holds throughout a request: `$now` of claims and rules, and `createdAt`', async () => {
  let now = Date.parse('2026-01-01')
  const later = vi.fn(() => ++now)
  const at = { from: 'things', where: { createdAt: '$now' }, take: 'at' }
  const things = {
    schema: { at: { type: 'timestamp' }, ats: { type: 'array', items: { type: 'timestamp' } } },
    permissions: {
      user: { create: { set: { at: '$now', ats: '$user.ats' }, check: { at: '$now', createdAt: '$now' } } },
    },
  }
  const { send, adapter } = createTestService(
    { collections: { things }, auth: { claims: { ats: at } } },
    { now: later, authenticate: () => ({ id: 'ann' }) },
  )
  const operation = { method: 'POST', path: '/things', body: {} }
  expect((await send('POST /things', { body: {} })).status).toBe(201)
  const { status } = await send('POST /_batch', { body: { operations: [operation, operation] } })
  expect(status).toBe(200)
  const stored = await adapter.list('things', {
    filter: { kind: 'and', filters: [] },
    sort: [],
    skip: 0,
    limit: null,
  })
  expect(stored.map(({ at, createdAt }) => at === createdAt)).toEqual([true, true, true])
  // Founded in this very batch, and in no other.
  expect(stored.map(({ ats, at }) => [ats].flat().map((one) => one === at))).toEqual([[], [], [true]])
})
