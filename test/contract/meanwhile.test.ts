import { describe, expect, test } from 'vitest'
import type { HookChange, ServiceOptions, StorageAdapter } from '../../src/index.js'
import { readStream } from '../support/event-streams.js'
import { type AnyConfig, createTestService, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { isOfStart } from '../support/stored.js'
import { outcomeOf } from './support/accounts.js'

// CONTRACT.md §2, "Concurrency"

/** What others do between two steps of a request counts. */

const storages = useStorages()
const opened = closeAfterEach()

type Act = () => Promise<unknown>

/** An adapter that lets others act before its next write, or before it is asked for documents of a collection. */
function interrupted(adapter: StorageAdapter) {
  let waiting: readonly [at: string, act: Act] | undefined
  const pass = async (at: string): Promise<void> => {
    const [place, act] = waiting ?? []
    if (place !== at) return
    waiting = undefined
    await act?.()
  }
  const between: StorageAdapter = {
    ...adapter,
    async list(collection, query) {
      if (!isOfStart(query)) await pass(collection)
      return adapter.list(collection, query)
    },
    async write(steps, options) {
      if (!isOfStart(options)) await pass('write')
      return adapter.write(steps, options)
    },
  }
  const interrupt = (at: string, act: Act): void => {
    waiting = [at, act]
  }
  return { adapter: between, interrupt }
}

type Hooks = { readonly [collection: string]: { before(change: HookChange): unknown } }

function open(
  create: () => StorageAdapter,
  config: AnyConfig,
  options: ServiceOptions & { hooks?: Hooks } = {},
) {
  const { adapter, interrupt } = interrupted(create())
  const service = createTestService(config, { ...(options as object), adapter })
  opened.push(service)
  return { ...service, interrupt }
}

const text = { type: 'string' } as const
const root = { id: 'root', roles: ['root'] }
const byRoot = { caller: root }

const ACCOUNTS = {
  users: {
    schema: {
      email: { type: 'string', unique: true, required: true, lowercase: true },
      password: { type: 'hash', required: true },
      role: text,
      name: text,
      isOpen: { type: 'boolean', default: true },
    },
    permissions: {
      '*': { create: { pick: [], set: { role: 'editor' } } },
      editor: { read: true, update: { where: { isOpen: true }, pick: ['name', 'password'], check: {} } },
      owner: {
        read: true,
        update: { where: { isOpen: false }, set: { password: 'of the rule' }, check: {} },
      },
      root: true,
    },
  },
  notes: {
    schema: { text, mark: text, slug: { type: 'string', unique: true } },
    permissions: { editor: true, root: true },
  },
} as const

const ANN = { email: 'ann@example.com', password: 'a secret' }

describe.each(storages)('in %s,', (_, create) => {
  const signIn = async () => {
    const service = open(create, { collections: ACCOUNTS, auth: { roleField: 'role', cost: 10 } })
    const { token, id } = await service.register(ANN)
    const note = (await service.send('POST /notes', { ...byRoot, body: { text: 'open' } })).body._id
    return { ...service, token, id, note }
  }

  test.each([
    ['whose account was deleted', 'DELETE', undefined, 401],
    ['whose role was taken', 'PATCH', { role: null }, 404],
  ])('a further attempt is judged for a caller %s', async (_what, method, body, status) => {
    const { send, interrupt, token, id, note } = await signIn()
    for (const write of ['PATCH', 'PUT', 'DELETE']) {
      const secret = `not for ann: ${write}`
      interrupt('write', async () => {
        const taken = await send(`${method} /users/${id}`, { ...byRoot, ...(body ? { body } : {}) })
        expect(taken.status).toBeLessThan(300)
        await send(`PATCH /notes/${note}`, { ...byRoot, body: { text: secret } })
      })
      const sent = await send(`${write} /notes/${note}`, { token, body: { mark: 'of ann' } })
      expect(sent.status).toBe(status)
      expect(sent.text).not.toContain(secret)
      const stored = await send(`GET /notes/${note}`, byRoot)
      expect(stored.body).toMatchObject({ text: secret })
      expect(stored.body).not.toHaveProperty('mark')
      if (method === 'DELETE') return
      await send(`PATCH /users/${id}`, { ...byRoot, body: { role: 'editor' } })
    }
  })

  test('two changes of one account by itself survive, though each changes who calls', async () => {
    const { send, interrupt, token, id } = await signIn()
    interrupt('write', () => send(`PATCH /users/${id}`, { ...byRoot, body: { role: 'root' } }))
    const sent = await send(`PATCH /users/${id}`, { token, body: { password: 'another one' } })
    expect([sent.status, sent.body.role]).toEqual([200, 'root'])
  })

  test('a secret is that of the rule under which it is stored', async () => {
    const { send, interrupt, token, id } = await signIn()
    interrupt('write', () => send(`PATCH /users/${id}`, { ...byRoot, body: { isOpen: false } }))
    const body = { name: 'Ann', password: 'of ann' }
    expect((await send(`PATCH /users/${id}`, { token, body })).body.name).toBe('Ann')
    const login = async (password: string) =>
      (await send('POST /auth/login', { body: { ...ANN, password } })).status
    expect([await login('of ann'), await login('of the rule')]).toEqual([401, 200])
  })

  test('the end of all sessions leaves those that have begun since the secret changed', async () => {
    const { send, interrupt, token } = await signIn()
    let fresh: string | undefined
    interrupt('write', async () => {
      const body = { current: ANN.password, new: 'another one' }
      fresh = (await send('POST /auth/change-secret', { token, body })).body.token
    })
    expect(outcomeOf(await send('POST /auth/logout-all', { token }))).toEqual([401, 'invalid_token'])
    expect((await send('GET /auth/me', { token: fresh ?? '' })).status).toBe(200)
  })

  test.each(['PATCH', 'PUT'])('a %s is judged for who calls once its body is there', async (method) => {
    const { send, token, id } = await signIn()
    let push: ReadableStreamDefaultController<Uint8Array> | undefined
    const raw = new ReadableStream<Uint8Array>({
      start(controller) {
        push = controller
      },
    })
    const write = (part: string): void => push?.enqueue(new TextEncoder().encode(part))
    const headers = { 'content-type': 'application/json' }
    const sending = send(`${method} /users/${id}`, { token, raw, headers })
    write('{"name":')
    await new Promise((resolve) => setTimeout(resolve, 20))
    const ended = await send(`PATCH /users/${id}`, { ...byRoot, body: { password: 'a new one' } })
    expect(ended.status).toBe(200)
    write('"of a thief"}')
    push?.close()
    expect(outcomeOf(await sending)).toEqual([401, 'invalid_token'])
    expect((await send(`GET /users/${id}`, byRoot)).body).not.toHaveProperty('name')
  })

  test('a session that changes its own secret goes on for all who read it meanwhile', async () => {
    const logged = { ...ACCOUNTS, notes: { ...ACCOUNTS.notes, changes: true } }
    const service = open(create, { collections: logged, auth: { roleField: 'role', cost: 10 } })
    const { send, interrupt, handler } = service
    const { token, id } = await service.register(ANN)
    const headers = { authorization: `Bearer ${token}` }
    const stream = readStream(await handler(new Request('http://a/notes/changes', { headers })))
    await stream.until(1)
    const change = (password: string) => () => send(`PATCH /users/${id}`, { token, body: { password } })
    interrupt('users', change('another one'))
    expect((await send('GET /auth/me', { token })).status).toBe(200)
    interrupt('users', change('a third one'))
    await send('POST /notes', { ...byRoot, body: { text: 'told' } })
    expect((await stream.until(2)).map(({ event }) => event)).toEqual(['reset', 'enter'])
    await stream.close()
  })

  test('a reference that is gone by then is judged anew: a later rule may fit', async () => {
    const { send, interrupt } = open(
      create,
      {
        collections: {
          teams: { schema: { name: text }, permissions: { user: true } },
          notes: {
            schema: { text, team: { type: 'reference', collection: 'teams' } },
            permissions: {
              never: { create: { check: { text: 'never' } } },
              user: { read: true, create: true },
              apart: { create: { omit: ['team'] } },
            },
          },
        },
      },
      { authenticate: () => ({ id: 'ann', roles: ['never', 'apart'] }) },
    )
    for (const [path, wrap] of [
      ['/notes', (body: object) => body],
      ['/notes/bulk', (body: object) => ({ documents: [body] })],
    ] as const) {
      const team = (await send('POST /teams', { body: { name: 'x' } })).body._id
      interrupt('write', () => send(`DELETE /teams/${team}`))
      const sent = await send(`POST ${path}`, { body: wrap({ text: 'a', team }) })
      expect([sent.status, sent.headers.get('ignored-properties')]).toEqual([201, '"team"'])
    }
  })

  test('a refusal of the first operation of a batch is of one moment', async () => {
    const parent = { type: 'reference', collection: 'notes' }
    const { send, interrupt } = open(
      create,
      { collections: { notes: { schema: { parent }, permissions: { user: true } } } },
      { authenticate: () => ({ id: 'ann' }) },
    )
    const old = (await send('POST /notes', { body: {} })).body._id
    const path = '/notes/11111111-1111-4111-8111-111111111111'
    const batch = (body: object, ...others: object[]) => {
      const operations = [{ method: 'PUT', path, ifNoneMatch: '*', body }, ...others]
      return send('POST /_batch', { body: { operations } })
    }
    // Once it was looked whether it is there, and before it is looked where it leads to.
    interrupt('notes', async () =>
      interrupt('notes', () => batch({}, { method: 'DELETE', path: `/notes/${old}` })),
    )
    expect(outcomeOf(await batch({ parent: old }))).toEqual([412, 'precondition_failed'])
  })

  const TEAMS = {
    collections: {
      bans: { schema: { user: text, team: text }, permissions: { root: true } },
      notes: {
        schema: { team: text, text },
        permissions: { root: true, user: { read: { where: { team: { $nin: '$user.banned' } } } } },
      },
    },
    auth: { claims: { banned: { from: 'bans', where: { user: '$user._id' }, take: 'team' } } },
  }

  test('a batch sees nothing of what came behind a document that its claims lack', async () => {
    const { send, interrupt } = open(create, TEAMS, { authenticate: () => null })
    const [note, other] = await Promise.all(
      ['a', 'b'].map(async (team) => (await send('POST /notes', { ...byRoot, body: { team } })).body._id),
    )
    await send('POST /bans', { ...byRoot, body: { user: 'ann', team: 'c' } })
    interrupt('notes', async () => {
      await send('POST /bans', { ...byRoot, body: { user: 'ann', team: 'a' } })
      await send(`PATCH /notes/${note}`, { ...byRoot, body: { text: 'not for ann' } })
    })
    const operations = [note, other].map((id) => ({ method: 'GET', path: `/notes/${id}` }))
    const sent = await send('POST /_batch', { caller: { id: 'ann' }, body: { operations } })
    expect([sent.status, sent.body.operation]).toEqual([404, 0])
  })

  test('of batches that take effect at once, each sees what the others add to its claims', async () => {
    const free = { seat: { $nin: '$user.seats' } }
    const seats = { from: 'seats', where: { user: '$user._id' }, take: 'seat' }
    const { send } = open(
      create,
      {
        collections: {
          seats: {
            schema: { user: { type: 'string', index: true }, seat: text },
            permissions: { user: { create: { set: { user: '$user._id' }, check: free } } },
          },
        },
        auth: { claims: { seats } },
      },
      { authenticate: () => ({ id: 'ann' }) },
    )
    for (let round = 0; round < 5; round++) {
      const body = { operations: [{ method: 'POST', path: '/seats', body: { seat: `${round}` } }] }
      const all = await Promise.all(Array.from({ length: 8 }, () => send('POST /_batch', { body })))
      const told = all.map(({ status, body }) => (status === 200 ? 'taken' : `${status} ${body.code}`))
      expect(told.sort()).toEqual([...Array.from({ length: 7 }, () => '403 forbidden'), 'taken'])
    }
  })

  test.each([
    ['its _id', { _id: '$user.lock' }],
    ['one of some _ids', { _id: { $in: '$user.locks' } }],
    ['another field', { name: '$user.lock' }],
  ])('a batch sees a document that came to give a claim, which is sought by %s', async (_, where) => {
    const [one, two] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']
    const { send, interrupt } = open(
      create,
      {
        collections: {
          locks: {
            schema: { owner: text, name: { type: 'string', unique: true } },
            permissions: { user: { read: true, create: { check: { owner: { $nin: '$user.taken' } } } } },
          },
        },
        auth: { claims: { taken: { from: 'locks', where, take: 'owner' } } },
      },
      { authenticate: () => null },
    )
    const lock = (own: string, other: string) =>
      send('POST /_batch', {
        caller: { id: own, lock: other, locks: [other] },
        body: {
          operations: [
            { method: 'PUT', path: `/locks/${own}`, ifNoneMatch: '*', body: { owner: 'ann', name: own } },
          ],
        },
      })
    interrupt('write', () => lock(one, two))
    expect((await lock(two, one)).status).toBe(403)
  })

  /** Teams, and what goes with them in two ways, with hooks. */
  function openHooked(hooks: Hooks) {
    const permissions = { user: true }
    const refersTo = (onDelete: string) => ({ type: 'reference', collection: 'teams', onDelete })
    return open(
      create,
      {
        collections: {
          teams: { schema: { name: text }, permissions },
          members: { schema: { team: refersTo('cascade') }, permissions },
          plans: { schema: { team: refersTo('unset'), name: text }, permissions },
        },
      },
      { authenticate: () => ({ id: 'ann' }), hooks },
    )
  }
  const createAll = async ({ send }: Pick<TestService, 'send'>, collection: string, ...bodies: object[]) =>
    Promise.all(bodies.map(async (body) => (await send(`POST /${collection}`, { body })).body._id as string))

  test('with hooks too, what was moved elsewhere does not go with a delete', async () => {
    let move: Act | undefined
    const service = openHooked({
      teams: {
        async before({ operation }) {
          const now = move
          if (operation === 'delete') move = undefined
          if (operation === 'delete') await now?.()
        },
      },
    })
    const [old, next] = await createAll(service, 'teams', {}, {})
    const [member, other] = await createAll(service, 'members', { team: old }, { team: old })
    const { send } = service
    move = () => send(`PATCH /members/${member}`, { body: { team: next } })
    expect((await send(`DELETE /teams/${old}`)).status).toBe(204)
    expect((await send(`GET /members/${member}`)).body).toMatchObject({ team: next })
    expect((await send(`GET /members/${other}`)).status).toBe(404)
  })

  test('with hooks too, what was moved elsewhere does not change with a delete', async () => {
    let move: Act | undefined
    const changed: unknown[] = []
    const service = openHooked({
      plans: {
        async before({ operation, before, after }) {
          const now = move
          move = undefined
          await now?.()
          if (operation === 'update') changed.push([before.name, after.team])
        },
      },
    })
    const { send } = service
    const [old, next] = await createAll(service, 'teams', {}, {})
    const [, plan] = await createAll(service, 'plans', { team: old, name: 'one' }, { team: old, name: 'two' })
    let moved: unknown
    move = async () => {
      moved = (await send(`PATCH /plans/${plan}`, { body: { team: next } })).body
    }
    expect((await send(`DELETE /teams/${old}`)).status).toBe(204)
    expect((await send(`GET /plans/${plan}`)).body).toEqual(moved)
    expect(changed.at(-1)).toEqual(['one', undefined])
  })
})

test.each([
  ['between which no other work comes', 50, 600],
  ['that pause for other work', 100, 1100],
])(
  'batches that come at once, and change one document, all take effect: those %s',
  async (_, operations, size) => {
    const permissions = { '*': true } as const
    const service = createTestService({
      collections: {
        counters: { schema: { n: { type: 'integer' } }, permissions },
        notes: { schema: { text: { type: 'string' } }, permissions },
      },
    })
    opened.push(service)
    const counter = (await service.send('POST /counters', { body: { n: 0 } })).body._id
    const note = { method: 'POST', path: '/notes', body: { text: 'x'.repeat(size) } }
    const all = Array.from({ length: 30 }, (_, n) =>
      service.send('POST /_batch', {
        body: {
          operations: [
            { method: 'PATCH', path: `/counters/${counter}`, body: { n } },
            ...Array(operations - 1).fill(note),
          ],
        },
      }),
    )
    for (const { status } of await Promise.all(all)) expect(status).toBe(200)
  },
)
