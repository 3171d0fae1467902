import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type CallOptions, createClient } from '../../src/client/client.js'
import { REWRITES } from '../support/rewritten-tags.js'
import { caught, type config, createService, createSpiedClient } from './support/service.js'

// CONTRACT.md §7, "The client"

const setUp = () => {
  const spied = createSpiedClient()
  return { ...spied, notes: spied.client.collection('notes') }
}

describe('documents', () => {
  test('are created, read, changed, replaced and deleted', async () => {
    const { notes } = setUp()
    const created = await notes.create({ title: 'One', tags: ['a'] })
    expect(created).toMatchObject({ title: 'One', status: 'draft', views: 0, tags: ['a'] })
    expect(await notes.get(created._id)).toEqual(created)
    expect(await notes.get(created)).toEqual(created)
    const changed = await notes.update(created._id, { views: 5, tags: null })
    expect(changed).toMatchObject({ title: 'One', views: 5 })
    expect(changed).not.toHaveProperty('tags')
    expect(await notes.replace(created._id, { title: 'Two' })).toMatchObject({ title: 'Two', views: 0 })
    expect(await notes.delete(created._id)).toBeUndefined()
    expect(await caught(notes.get(created))).toMatchObject({ status: 404, code: 'not_found' })
  })

  test('are created under an id of one’s own, once', async () => {
    const { notes, seen } = setUp()
    const id = randomUUID()
    expect(await notes.create({ title: 'Mine' }, { id })).toMatchObject({ _id: id, title: 'Mine' })
    expect(seen[0]).toMatchObject({ line: `PUT /notes/${id}`, body: { title: 'Mine' } })
    expect(await caught(notes.create({ title: 'Mine' }, { id }))).toMatchObject({
      code: 'precondition_failed',
    })
  })

  test('are created or replaced under an id, or replaced if they are unchanged', async () => {
    const { notes, seen } = setUp()
    const id = randomUUID()
    const created = await notes.upsert(id, { title: 'One', views: 1 })
    expect(created).toMatchObject({ _id: id, title: 'One', views: 1 })
    expect(await notes.upsert(id, { title: 'Two' })).toMatchObject({ _id: id, title: 'Two', views: 0 })
    expect(await caught(notes.upsert(created, { title: 'Three' }))).toMatchObject({
      code: 'precondition_failed',
    })
    const [listed] = await notes.list()
    expect(await notes.upsert(listed ?? '', { title: 'Four' })).toMatchObject({ _id: id, title: 'Four' })
    const conditions = seen.flatMap(({ line, headers }) =>
      line === `PUT /notes/${id}` ? [headers.get('if-none-match') ?? headers.has('if-match')] : [],
    )
    expect(conditions).toEqual(['*', '*', false, true, '*', false])
    expect(await caught(notes.upsert('no-uuid', { title: 'x' }))).toMatchObject({ status: 404 })
    expect(await caught(notes.upsert(undefined as never, { title: 'x' }))).toBeInstanceOf(TypeError)
    expect(await caught(notes.upsert(id, { title: 'x', views: -1 }))).toMatchObject({
      code: 'validation_failed',
    })
    expect(await notes.count()).toBe(1)
  })

  test('are replaced under an id only by a caller who may create them', async () => {
    const { client } = setUp()
    const account = { email: 'ann@a.b', password: 'secret' }
    const { user } = await client.auth.register(account)
    const users = client.collection('users')
    expect(await caught(users.upsert(user._id, account))).toMatchObject({ code: 'forbidden' })
    expect(await users.replace(user._id, account)).toMatchObject({ _id: user._id })
  })

  test('are created together or not at all', async () => {
    const { notes } = setUp()
    const created = await notes.createMany([{ title: 'One' }, { title: 'Two' }])
    expect(created.map(({ title }) => title)).toEqual(['One', 'Two'])
    const faults = await caught(notes.createMany([{ title: 'Three' }, { title: 'Four', views: -1 }]))
    expect(faults).toMatchObject({ errors: [{ path: '/documents/1/views', code: 'too_small' }] })
    expect(await notes.count()).toBe(2)
  })

  test('take dates for times, and none that is no time', async () => {
    const { notes, seen } = setUp()
    const noon = new Date('2026-11-20T12:00:00Z')
    const visited = noon.toISOString()
    const created = await notes.create({ title: 'One', address: { city: 'Ulm', visited: noon } })
    expect(created.address).toEqual({ city: 'Ulm', visited })
    const [other] = await notes.createMany([{ title: 'Two', address: { city: 'Ulm', visited: noon } }])
    expect(other?.address?.visited).toBe(visited)
    expect(
      (await notes.replace(created, { title: 'One', address: { city: 'Bonn', visited: noon } })).address,
    ).toEqual({
      city: 'Bonn',
      visited,
    })
    expect((await notes.update(created._id, { address: { visited: noon } })).address?.visited).toBe(visited)
    expect(await notes.count({ q: { 'address.visited': noon } })).toBe(2)

    const sent = seen.length
    const never = { title: 'Never', address: { city: 'Ulm', visited: new Date(Number.NaN) } }
    for (const attempt of [
      notes.create(never),
      notes.createMany([never]),
      notes.replace(created, never),
      notes.update(created, { address: { visited: new Date('soon') } }),
      notes.update(created, { more: { at: [new Date('soon')] } }),
    ]) {
      expect(await caught(attempt)).toBeInstanceOf(TypeError)
    }
    expect(seen).toHaveLength(sent)
    expect(await notes.update(created._id, { more: null, tags: null })).not.toHaveProperty('more')
  })

  test('are listed and counted', async () => {
    const { notes } = setUp()
    await notes.createMany([
      { title: 'Apple & pear', views: 3, address: { city: 'Köln', visited: '2026-01-02' } },
      { title: '100 % +1', views: 2, tags: ['x', 'y'] },
      { title: 'apple', views: 1, status: 'published', more: { a: [1] } },
    ])
    const titles = async (options: Parameters<typeof notes.list>[0]): Promise<string[]> =>
      (await notes.list(options)).map(({ title }) => title)
    expect(await titles({})).toEqual(['Apple & pear', '100 % +1', 'apple'])
    expect(await titles({ sort: { views: 1 } })).toEqual(['apple', '100 % +1', 'Apple & pear'])
    expect(await titles({ sort: { status: -1, title: 'asc' }, skip: 1, limit: 1 })).toEqual(['100 % +1'])
    expect(await titles({ q: { title: { $regex: '^APPLE', $options: 'i' } } })).toHaveLength(2)
    expect(await titles({ q: { title: 'Apple & pear', views: { $gt: 1, $lte: 3 } } })).toHaveLength(1)
    expect(await titles({ q: { title: '100 % +1' } })).toEqual(['100 % +1'])
    expect(await titles({ q: { 'address.city': 'Köln' } })).toEqual(['Apple & pear'])
    expect(await titles({ q: { 'address.visited': { $lt: new Date('2026-01-03') } } })).toHaveLength(1)
    expect(await titles({ q: { tags: { $in: ['y', null] } } })).toHaveLength(3)
    expect(await titles({ q: { tags: null, more: { $exists: false } } })).toEqual(['Apple & pear'])
    expect(await titles({ q: { $or: [{ views: 1 }, { tags: 'x', views: { $ne: 0 } }] } })).toHaveLength(2)
    expect(await titles({ q: { title: { $in: [] } } })).toEqual([])
    expect(await notes.count({ q: { views: { $gte: 2 } } })).toBe(2)
  })

  test('are shown in part, and with what they refer to', async () => {
    const { client, notes } = setUp()
    const { user } = await client.auth.register({ email: 'ann@a.b', password: 'secret', name: 'Ann' })
    const { _id } = await notes.create({
      title: 'One',
      author: user._id,
      address: { city: 'Bonn', zip: '1' },
    })
    expect(await notes.list({ project: ['title', 'address.zip'] })).toEqual([
      { _id, title: 'One', address: { zip: '1' } },
    ])
    const expanded = await notes.get(_id, { project: ['author'], expand: ['author'] })
    expect(expanded).toEqual({ _id, author: expect.objectContaining({ name: 'Ann' }) })
    expect(typeof expanded.author === 'object' && expanded.author.email).toBe('ann@a.b')
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['an empty id', ''],
    ['a step up', '..'],
    ['a stream without end', 'changes'],
    ['an object without an id', {}],
  ])('are not asked for by %s', async (_, id) => {
    const { notes, seen } = setUp()
    const document = id as string
    for (const call of [notes.get(document), notes.update(document, {}), notes.delete(document)]) {
      expect(await caught(call)).toBeInstanceOf(TypeError)
    }
    expect(seen).toEqual([])
  })

  test.each(['', '.', '..'])('are not asked for in what is no collection: %j', async (name) => {
    const { client, seen } = setUp()
    expect(() => client.collection(name as 'notes')).toThrow(TypeError)
    expect(await caught(client.auth.endSession(name))).toBeInstanceOf(TypeError)
    expect(await caught(client.batch((b) => [b[name as 'notes'].get('x')]))).toBeInstanceOf(TypeError)
    expect(seen).toEqual([])
  })

  test('are asked for by whatever else an id is', async () => {
    const { notes, seen } = setUp()
    await caught(notes.get('a/b?c#d e%'))
    expect(seen[0]?.line).toBe('GET /notes/a%2Fb%3Fc%23d%20e%25')
  })

  test.each<[string, unknown, string]>([
    ['NaN', Number.NaN, 'NaN'],
    ['infinity', Number.NEGATIVE_INFINITY, '-Infinity'],
    ['a bigint', 1n, 'bigint'],
    ['a function', () => 1, 'function'],
    ['a symbol', Symbol('x'), 'symbol'],
    ['a map', new Map([['a', 1]]), 'Map'],
    ['a set', new Set([1]), 'Set'],
    ['a class', new (class Point {})(), 'Point'],
    ['a boxed number', new Number(1), 'Number'],
    ['a date that is none', new Date('soon'), 'Invalid Date'],
    ['undefined in an array', [1, undefined], 'undefined'],
    // biome-ignore lint/suspicious/noSparseArray: the hole is what this is about
    ['a hole in an array', [1, , 2], 'undefined'],
  ])('hold no %s, which JSON would change', async (_, lost, found) => {
    const { client, notes, seen } = setUp()
    const at = Array.isArray(lost) ? '[a][0][b][1]' : '[a][0][b]'
    const body = { title: 'x', more: { a: [{ b: lost }] } }
    for (const [call, place] of [
      [notes.create(body), `body[more]${at}`],
      [notes.update('x', body), `body[more]${at}`],
      [notes.createMany([body]), `body[documents][0][more]${at}`],
      [client.batch((b) => [b.notes.create(body)]), `body[operations][0][body][more]${at}`],
    ] as const) {
      expect(await caught(call)).toEqual(new TypeError(`${place} cannot be ${found}`))
    }
    expect(seen).toEqual([])
  })

  test('leave out what is undefined, and are written as values say themselves', async () => {
    const { notes, seen } = setUp()
    class Money {
      toJSON = () => ({ cents: 5 })
    }
    const bare = Object.assign(Object.create(null), { a: 1 })
    const given = { at: new URL('http://a.test/'), cost: new Money(), bare, left: undefined, '"': 'ä\u2028' }
    const { more } = await notes.create({ title: 'x', more: given })
    expect(more).toEqual({ at: 'http://a.test/', cost: { cents: 5 }, bare: { a: 1 }, '"': 'ä\u2028' })
    expect(Object.keys(seen[0]?.body as object)).toEqual(['title', 'more'])
  })
})

describe('pages', () => {
  const fill = async () => {
    const world = setUp()
    for (let i = 0; i < 5; i++) await world.notes.create({ title: `${i % 2} & "<${i}>"`, views: i })
    world.seen.length = 0
    return world
  }
  const walk = async <T>(pages: AsyncIterable<readonly T[]>): Promise<T[][]> => {
    const walked: T[][] = []
    for await (const page of pages) walked.push([...page])
    return walked
  }

  test('follow each other to the end', async () => {
    const { notes, seen } = await fill()
    const pages = await walk(
      notes.pages({ q: { title: { $regex: '&' } }, sort: { title: -1 }, project: ['views'], limit: 2 }),
    )
    expect(pages.map((page) => page.map(({ views }) => views))).toEqual([[3, 1], [4, 2], [0]])
    expect(seen).toHaveLength(3)
    expect(seen[2]?.line).toContain('after=')
  })

  test('are one where there is no limit, and none where nothing is found', async () => {
    const { notes, seen } = await fill()
    expect(await walk(notes.pages())).toHaveLength(1)
    // What is left open is what is not given.
    expect(await walk(notes.pages({ limit: undefined } as object))).toHaveLength(1)
    expect(seen.map(({ line }) => line)).toEqual([expect.stringContaining('limit=1000'), seen[0]?.line])
    // The service would give them without a way to go on.
    for (const options of [new Map([['q', { title: 'x' }]]), Object.create({ q: { title: 'x' } })])
      await expect(walk(notes.pages(options))).rejects.toThrow(TypeError)
    await expect(walk(notes.pages({ limit: 1001 }))).rejects.toThrow(TypeError)
    expect(await walk(notes.pages({ q: { views: 9 }, limit: 2 }))).toEqual([])
  })

  test('are asked for one by one', async () => {
    const { notes, seen } = await fill()
    for await (const _ of notes.pages({ limit: 2 })) break
    expect(seen).toHaveLength(1)
  })

  test('end when they are given up between two of them', async () => {
    const { notes, seen } = await fill()
    const controller = new AbortController()
    const pages = notes.pages({ limit: 2, signal: controller.signal })
    expect((await pages.next()).value).toHaveLength(2)
    controller.abort(new Error('enough'))
    expect(await caught(pages.next())).toEqual(new Error('enough'))
    expect(await pages.next()).toEqual({ done: true, value: undefined })
    expect(seen).toHaveLength(1)
  })

  test.each([
    ['401', 401],
    ['503', 503],
  ])('end with the first error: a %s is no reason to ask for all at once', async (_, status) => {
    const lines: string[] = []
    const client = createClient(async ({ url }) => {
      lines.push(url)
      return Response.json({ status, code: 'broken', detail: 'Broken.' }, { status })
    })
    expect(await caught(walk(client.collection('notes').pages()))).toMatchObject({ status })
    expect(lines).toEqual(['http://localhost/notes?limit=1000'])
  })

  test('never lead to another place', async () => {
    const lines: string[] = []
    const client = createClient(async ({ url }) => {
      lines.push(url)
      const headers = {
        link: '<https://evil.test/other?after=y>; rel="next"',
        'next-cursor': 'x&q[title]=z#//evil.test',
      }
      return Response.json([{ _id: '1' }], lines.length === 1 ? { headers } : {})
    })
    await walk(client.collection('notes').pages({ limit: 1 }))
    expect(lines).toEqual([
      'http://localhost/notes?limit=1',
      'http://localhost/notes?limit=1&after=x%26q%5Btitle%5D%3Dz%23%2F%2Fevil.test',
    ])
  })
})

describe('a document that was read', () => {
  test('is changed only if it is still the same', async () => {
    const { notes, seen } = setUp()
    const first = await notes.create({ title: 'One' })
    const second = await notes.update(first, { views: 1 })
    expect(await caught(notes.update(first, { views: 2 }))).toMatchObject({ code: 'precondition_failed' })
    expect(await caught(notes.replace(first, { title: 'Two' }))).toMatchObject({ status: 412 })
    expect(await caught(notes.delete(first))).toMatchObject({ status: 412 })
    const third = await notes.replace(second, { title: 'Two' })
    const read = await notes.get(third, { project: ['title'] })
    expect(seen.slice(1).map(({ headers }) => headers.has('if-match'))).toEqual([
      ...[true, true, true, true, true],
      false,
    ])
    await notes.delete(read)
  })

  test.each(REWRITES)('is known by a tag that was rewritten on its way, by %s', async (_, rewrite) => {
    const handler = createService()
    const seen: (string | null)[] = []
    const through = async (request: Request) => {
      seen.push(request.headers.get('if-match'))
      const answer = await handler(request)
      const tag = answer.headers.get('etag')
      if (tag) answer.headers.set('etag', rewrite(tag))
      return answer
    }
    const client = createClient<typeof config>(through)
    const notes = client.collection('notes')
    const first = await notes.create({ title: 'One' })
    const second = await notes.update(await notes.get(first), { views: 1 })
    expect(await caught(notes.delete(first))).toMatchObject({ code: 'precondition_failed' })
    const [third] = await client.batch((b) => [b.notes.replace(second, { title: 'Two' })])
    const read = await notes.get(third)
    const write = (title: string) =>
      client.batch((b) => [b.notes.get(read, { ifUnchanged: true }), b.notes.create({ title })])
    await write('Three')
    await notes.delete(await notes.replace(read, { title: 'Four' }))
    expect(await caught(write('Five'))).toMatchObject({ status: 404 })
    expect(seen.filter((tag) => tag?.startsWith('W/'))).toEqual([])
  })

  test('is changed anyway where only its id is given, or nobody knows its state', async () => {
    const { notes, seen } = setUp()
    const document = await notes.create({ title: 'One' })
    await notes.update(document._id, { views: 1 })
    await notes.update({ _id: document._id }, { views: 2 })
    const [listed] = await notes.list()
    await notes.update(listed ?? '', { views: 3 })
    expect(seen.every(({ headers }) => !headers.has('if-match'))).toBe(true)
  })
})

describe('accounts', () => {
  test('sign in and out, and the client keeps the token', async () => {
    const { client, seen } = setUp()
    const account = { email: 'ann@a.b', password: 'secret' }
    expect(client.token).toBeUndefined()
    const registered = await client.auth.register({ ...account, name: 'Ann' })
    expect(registered.user).toMatchObject({ email: 'ann@a.b', name: 'Ann' })
    expect(client.token).toBe(registered.token)
    expect(await client.auth.me()).toEqual(registered.user)
    expect(seen.at(-1)?.headers.get('authorization')).toBe(`Bearer ${registered.token}`)
    await client.auth.logout()
    expect(client.token).toBeUndefined()
    const { token } = await client.auth.login(account)
    expect(client.token).toBe(token)
    await client.auth.logoutAll()
    expect(client.token).toBeUndefined()
    expect(await caught(client.auth.me())).toMatchObject({ code: 'unauthenticated' })
  })

  test('sign in although the token is stale', async () => {
    const { client } = setUp()
    await client.auth.register({ email: 'ann@a.b', password: 'secret' })
    client.token = 'stale'
    expect(await caught(client.collection('notes').list())).toMatchObject({ code: 'invalid_token' })
    await client.auth.login({ email: 'ann@a.b', password: 'secret' })
    expect(await client.collection('notes').list()).toEqual([])
  })

  test('ask without a token where what a store has kept is null', async () => {
    const { handler } = setUp()
    const kept: { token?: string } = JSON.parse('{ "token": null }')
    expect(await caught(createClient(handler, kept).auth.me())).toMatchObject({ code: 'unauthenticated' })
  })

  test('go on with a token from elsewhere', async () => {
    const { client, handler } = setUp()
    const { user, token } = await client.auth.register({ email: 'ann@a.b', password: 'secret' })
    expect(await createClient(handler, { token }).auth.me()).toEqual(user)
  })
})

type Asking = (asked: CallOptions) => Promise<unknown>

/** The calls that have a signal as their only option; an `_id` of one's own is that of `create`. */
const CALLS: { readonly [name: string]: Asking } = {
  create: (asked) => notes().create({ title: 'x' }, asked),
  createMany: (asked) => notes().createMany([], asked),
  update: (asked) => notes().update('x', {}, asked),
  replace: (asked) => notes().replace('x', {}, asked),
  upsert: (asked) => notes().upsert('x', { title: 'x' }, asked),
  getMany: (asked) => notes().getMany(['x'], asked),
  delete: (asked) => notes().delete('x', asked),
  batch: (asked) => setUp().client.batch((b) => [b.notes.create({ title: 'x' })], asked),
  register: (asked) => auth().register({ email: 'x', password: 'x' }, asked),
  login: (asked) => auth().login({} as never, asked),
  logout: (asked) => auth().logout(asked),
  logoutAll: (asked) => auth().logoutAll(asked),
  changeSecret: (asked) => auth().changeSecret({ current: 'x', new: 'y' }, asked),
  sessions: (asked) => auth().sessions(asked),
  endSession: (asked) => auth().endSession('x', asked),
  me: (asked) => auth().me(asked),
  requestReset: (asked) => auth().requestReset({ email: 'x' }, asked),
  reset: (asked) => auth().reset({ token: 'x', new: 'y' }, asked),
  requestVerification: (asked) => auth().requestVerification({ email: 'x' }, asked),
  verify: (asked) => auth().verify({ token: 'x', current: 'y' }, asked),
  changeIdentifier: (asked) => auth().changeIdentifier({ current: 'x', new: 'y' }, asked),
}

/** Those whose other options are parameters: the service refuses what it does not know. */
const QUERIES: { readonly [name: string]: Asking } = {
  list: (asked) => notes().list(asked),
  page: (asked) => notes().page(asked),
  pages: (asked) => notes().pages(asked).next(),
  count: (asked) => notes().count(asked),
  aggregate: (asked) => notes().aggregate(asked),
  get: (asked) => notes().get('x', asked),
}

describe('requests', () => {
  test.each(Object.entries(CALLS))(
    'of %s with an option that nobody knows are never sent',
    async (_, call) => {
      expect(await caught(call({ sgnal: 1 } as CallOptions))).toEqual(new TypeError('sgnal is unknown'))
    },
  )

  test.each(Object.entries(QUERIES))(
    'of %s with an option that nobody knows are refused',
    async (_, call) => {
      expect(await caught(call({ sgnal: 1 } as CallOptions))).toMatchObject({ status: 400 })
    },
  )

  test('of a client with an option that nobody knows are never sent', () => {
    const options = { fetch, tokn: 'x' }
    expect(() => createClient('http://a.test', options)).toThrow(new TypeError('tokn is unknown'))
  })

  test('carry the headers that the client was given', async () => {
    const seen: string[] = []
    const client = createClient(
      async ({ headers }) => {
        seen.push(`${headers.get('x-tenant')} ${headers.get('authorization')}`)
        return Response.json([])
      },
      { headers: { 'X-Tenant': 'a', Authorization: 'Basic x' } },
    )
    await client.collection('notes').list()
    client.token = 't'
    await client.collection('notes').list()
    expect(seen).toEqual(['a Basic x', 'a Bearer t'])
  })

  test('go through the fetch that the client was given, to the URL that it was given', async () => {
    const asked: string[] = []
    const handler = createService({ basePath: '/api' })
    const options = {
      fetch: (url: string, init: RequestInit): Promise<Response> => {
        asked.push(url)
        return handler(new Request(url, init))
      },
    }
    const client = createClient(new URL('http://a.test/api/'), options)
    const { _id } = await client.collection('notes').create({ title: 'One' })
    await client.collection('notes').get(_id)
    expect(asked).toEqual(['http://a.test/api/notes', `http://a.test/api/notes/${_id}`])
  })

  test.each(Object.entries({ ...CALLS, ...QUERIES }))('of %s end when they are given up', async (_, call) => {
    expect(await caught(call({ signal: AbortSignal.abort() }))).toMatchObject({ name: 'AbortError' })
    const controller = new AbortController()
    const called = caught(call({ signal: controller.signal }))
    controller.abort(new Error('changed my mind'))
    expect(await called).toEqual(new Error('changed my mind'))
  })

  test('of all calls have a signal', () => {
    const { client, notes } = setUp()
    // A signal ends these without an error.
    const streams = ['changes', 'live']
    const calls = Object.keys({ batch: client.batch, ...notes, ...client.auth })
    expect([...Object.keys({ ...CALLS, ...QUERIES }), ...streams].sort()).toEqual(calls.sort())
  })
})

const notes = () => setUp().notes
const auth = () => setUp().client.auth
