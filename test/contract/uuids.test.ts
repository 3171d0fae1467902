import { describe, expect, test } from 'vitest'
import { refuse, type StorageAdapter } from '../../src/index.js'
import { createTestService, faultsOf, type Sent } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { fieldsOf, openStored } from '../support/stored.js'

// CONTRACT.md §1, "Ids in upper case"

const all = { '*': true }
const to = (collection: string, more: object = {}) => ({ type: 'reference', collection, ...more })

const A = '0189abcd-0000-7000-8000-00000000000a'
const B = '0189abcd-0000-7000-8000-00000000000b'
const FRESH = '6fa459ea-ee8a-4ca4-894e-db77e160355e'
const up = (id: string): string => id.toUpperCase()
/** Letters of both cases. */
const mixed = (id: string): string => id.slice(0, 20) + up(id.slice(20))
const absent = { 'if-none-match': '*' }

const collections = {
  people: {
    schema: { name: { type: 'string' }, code: { type: 'string', format: 'uuid' } },
    permissions: all,
  },
  posts: {
    schema: {
      title: { type: 'string' },
      author: to('people'),
      first: to('people', { immutable: true }),
      readers: { type: 'array', items: to('people') },
      o: { type: 'object', properties: { by: to('people') } },
      list: { type: 'array', items: { type: 'object', properties: { by: to('people') } } },
      code: { type: 'string', format: 'uuid' },
      more: { type: 'json' },
    },
    permissions: all,
  },
}

const people = [
  { _id: A, name: 'ann' },
  { _id: B, name: 'bob' },
]

const storages = useStorages()

describe.each(storages)('a UUID in upper case, in %s', (_, create) => {
  const open = (posts: readonly object[] = [], adapter: StorageAdapter = create()) =>
    openStored({ collections }, { people, posts: posts as [] }, { adapter })

  test('is the same in every path, and answers have lower case', async () => {
    const service = await open()
    for (const id of [A, up(A), mixed(A)]) {
      expect((await service.send(`GET /people/${id}`)).body).toMatchObject({ _id: A, name: 'ann' })
      expect((await service.send(`PATCH /people/${id}`, { body: { name: 'ann' } })).body._id).toBe(A)
      expect((await service.send(`PUT /people/${id}`, { body: { name: 'ann' } })).body._id).toBe(A)
    }
    const { headers } = await service.send(`GET /people/${A}`)
    const etag = headers.get('etag') ?? ''
    const known = await service.send(`GET /people/${up(A)}`, { headers: { 'if-none-match': etag } })
    expect(known.status).toBe(304)
    const changed = await service.send(`PATCH /people/${up(A)}`, {
      headers: { 'if-match': etag },
      body: { name: 'x' },
    })
    expect([changed.status, changed.body._id]).toEqual([200, A])
    expect((await service.send(`DELETE /people/${up(A)}`)).status).toBe(204)
    expect((await service.send(`GET /people/${A}`)).status).toBe(404)
  })

  test('creates under the id in lower case, once', async () => {
    const service = await open()
    const put = (id: string) => service.send(`PUT /people/${id}`, { headers: absent, body: { name: 'new' } })
    const made = await put(up(FRESH))
    expect([made.status, made.body._id, made.headers.get('location')]).toEqual([
      201,
      FRESH,
      `/people/${FRESH}`,
    ])
    expect(await Promise.all([put(FRESH), put(mixed(FRESH))].map(async (one) => (await one).status))).toEqual(
      [412, 412],
    )
    expect((await service.send('GET /people/count')).body).toEqual({ total: 3 })
  })

  test('is stored in lower case where a reference is', async () => {
    const service = await open()
    const lower = { author: A, first: A, readers: [A, B], o: { by: B }, list: [{ by: A }] }
    const upper = {
      author: up(A),
      first: mixed(A),
      readers: [up(A), B],
      o: { by: up(B) },
      list: [{ by: up(A) }],
    }
    const kept = { code: up(FRESH), more: { author: up(A) } }
    const requests: readonly string[] = ['POST /posts', `PUT /posts/${up(FRESH)}`]
    for (const request of requests) {
      const headers = request.startsWith('PUT') ? absent : {}
      const made = await service.send(request, { headers, body: { ...upper, ...kept } })
      expect([made.status, made.body]).toEqual([201, { ...made.body, ...lower, ...kept }])
      expect(await fieldsOf(service, 'posts', made.body._id)).toEqual({ ...lower, ...kept })
    }
    const bulk = await service.send('POST /posts/bulk', { body: { documents: [upper] } })
    expect(bulk.body.documents[0]).toMatchObject(lower)
    const turned = await service.send(`PATCH /posts/${FRESH}`, { body: { author: up(B), o: { by: up(A) } } })
    expect(turned.body).toMatchObject({ ...lower, author: B, o: { by: A } })
    const missing = await service.send('POST /posts', { body: { author: up(FRESH) } })
    expect([missing.status, faultsOf(missing)]).toEqual([400, { '/author': 'unknown_reference' }])
  })

  test('is the present value of what is immutable, and of what is restricted', async () => {
    const service = await open([{ _id: FRESH, title: 'x', first: A }])
    const same = await service.send(`PATCH /posts/${FRESH}`, { body: { first: up(A) } })
    expect([same.status, same.body.first]).toEqual([200, A])
    const other = await service.send(`PATCH /posts/${FRESH}`, { body: { first: up(B) } })
    expect([other.status, faultsOf(other)]).toEqual([400, { '/first': 'immutable' }])
    const held = await service.send(`DELETE /people/${up(A)}`)
    expect([held.status, held.body.code]).toEqual([409, 'reference_in_use'])
  })

  test('is the same in a query on _id and on references', async () => {
    const service = await open([
      { title: 'one', author: A, readers: [A], o: { by: B }, code: up(FRESH) },
      { title: 'two', author: B, readers: [A, B], code: FRESH },
      { title: 'three', first: B },
    ])
    const [{ _id: one }, { _id: two }] = (await service.send('GET /posts')).body
    const table: readonly (readonly [query: string, titles: readonly string[]])[] = [
      [`q[_id]=${up(one)}`, ['one']],
      [`q[_id]="${up(one)}"`, ['one']],
      [`q[_id][$ne]=${up(one)}`, ['two', 'three']],
      [`q[_id][$in]=["${up(one)}","${two}"]`, ['one', 'two']],
      [`q[_id][$in]=${up(one)}&q[_id][$in]=${mixed(two)}`, ['one', 'two']],
      [`q[_id][$nin]=["${up(one)}","${two}"]`, ['three']],
      [`q[_id][$gt]=${up(one)}`, ['two', 'three']],
      [`q[_id][$lte]=${up(two)}`, ['one', 'two']],
      [`q[_id][$regex]=^${up(one)}$`, []],
      [`q[author]=${up(A)}`, ['one']],
      [`q[author][$ne]=${up(A)}`, ['two', 'three']],
      [`q[author][$nin]=["${up(A)}",null]`, ['two']],
      [`q[author][$gte]=${up(B)}`, ['two']],
      [`q[author][$lt]=${up(B)}`, ['one']],
      [`q[author][$regex]=${up(A)}`, []],
      [`q[author][$regex]=${up(A)}&q[author][$options]=i`, ['one']],
      [`q[readers]=${up(B)}`, ['two']],
      [`q[readers][$ne]=${up(B)}`, ['one', 'three']],
      [`q[o.by]=${up(B)}`, ['one']],
      [`q[$or][0][first]=${up(B)}&q[$or][1][author][$in]=${up(B)}`, ['two', 'three']],
      // What is text keeps its letters.
      [`q[code]=${FRESH}`, ['two']],
      [`q[code]=${up(FRESH)}`, ['one']],
      [`q[title]=${up(A)}`, []],
    ]
    for (const [query, titles] of table) {
      expect(await service.list(`/posts?${query}`, 'title'), query).toEqual(titles)
      expect((await service.send(`GET /posts/count?${query}`)).body, query).toEqual({ total: titles.length })
    }
  })

  test('is expanded, for what is stored is in lower case', async () => {
    const service = await open()
    const { body } = await service.send('POST /posts', { body: { author: up(A), readers: [up(B)] } })
    const read = await service.send(`GET /posts/${up(body._id)}?expand=author&expand=readers`)
    expect([read.body.author.name, read.body.readers[0].name]).toEqual(['ann', 'bob'])
  })

  test('stays where it was stored before', async () => {
    const service = await open([{ _id: FRESH, title: 'old', author: up(A), readers: [up(A)] }])
    const { body } = await service.send(`GET /posts/${FRESH}?expand=author`)
    expect(body).toMatchObject({ author: up(A), readers: [up(A)] })
    const { body: changed } = await service.send(`PATCH /posts/${FRESH}`, { body: { title: 'new' } })
    expect(changed).toMatchObject({ title: 'new', author: up(A) })
    // Named in a body it is a new value.
    expect((await service.send(`PATCH /posts/${FRESH}`, { body: { author: up(A) } })).body.author).toBe(A)
  })

  test('is the same in a batch', async () => {
    const service = await open()
    const etag = (await service.send(`GET /people/${B}`)).headers.get('etag')
    const sent = await service.send('POST /_batch', {
      body: {
        operations: [
          { method: 'PUT', path: `/people/${up(FRESH)}`, ifNoneMatch: '*', body: { name: 'new' } },
          { method: 'GET', path: `/people/${mixed(FRESH)}` },
          { method: 'POST', path: '/posts', body: { author: up(FRESH), readers: [up(A)] } },
          { method: 'PATCH', path: `/people/${up(FRESH)}`, body: { name: 'newer' } },
          { method: 'DELETE', path: `/people/${up(B)}`, ifMatch: etag },
        ],
      },
    })
    expect(sent.status).toBe(200)
    const [put, read, post, patch, removed] = sent.body.results
    expect([put.status, put.location, put.body._id]).toEqual([201, `/people/${FRESH}`, FRESH])
    expect(read.body).toEqual(put.body)
    expect(post.body).toMatchObject({ author: FRESH, readers: [A] })
    expect([patch.body._id, patch.body.name, removed.status]).toEqual([FRESH, 'newer', 204])
    const twice = await service.send('POST /_batch', {
      body: {
        operations: [A, up(A)].map((id) => ({ method: 'DELETE', path: `/people/${id}` })),
      },
    })
    expect([twice.status, twice.body.operation]).toEqual([404, 1])
  })

  test('is the same in what agrees', async () => {
    const config = {
      collections: {
        people: { schema: {}, permissions: all },
        teams: { schema: { lead: to('people') }, permissions: all },
        tasks: {
          schema: { lead: to('people'), team: to('teams', { match: { lead: 'lead' } }) },
          permissions: all,
        },
      },
    }
    const service = await openStored(
      config,
      { people: [{ _id: A }, { _id: B }], teams: [{ _id: FRESH, lead: A }] },
      { adapter: create() },
    )
    const make = (lead: string) => service.send('POST /tasks', { body: { lead, team: up(FRESH) } })
    expect((await make(up(A))).status).toBe(201)
    expect((await make(up(B))).status).toBe(400)
    expect((await service.send(`PATCH /teams/${up(FRESH)}`, { body: { lead: up(A) } })).status).toBe(200)
  })

  test('is the same in rules, by the letter and by what the caller holds', async () => {
    const reference = to('people')
    const config = {
      collections: {
        people: {
          schema: { name: { type: 'string' } },
          permissions: { '*': { read: { where: { _id: { $lte: up(B) } } } } },
        },
        posts: {
          schema: { author: reference, editor: { ...reference, default: up(B) }, owner: reference },
          permissions: {
            '*': { read: { where: { author: { $in: [up(A)] } } } },
            user: {
              read: { where: { owner: '$user._id' } },
              create: {
                pick: ['editor'],
                set: { owner: '$user._id', author: up(A) },
                check: { editor: { $ne: up(A) } },
              },
            },
          },
        },
      },
    }
    const service = await openStored(config, { people }, { adapter: create(), authenticate: () => null })
    // The host's caller is called as the host calls it, wherever that is no reference.
    const caller = { id: up(B) }
    const make = (body: object) => service.send('POST /posts', { caller, body })
    const filled = await make({})
    expect([filled.status, filled.body]).toEqual([
      201,
      expect.objectContaining({ author: A, editor: B, owner: B, createdBy: up(B) }),
    ])
    expect((await make({ editor: up(B) })).body).toMatchObject({ editor: B })
    expect((await make({ editor: A })).status).toBe(403)
    expect(await service.list('/posts', 'author')).toEqual([A, A])
    expect(await service.list('/posts', 'owner', { caller })).toEqual([B, B])
    expect(await service.list(`/posts?q[createdBy]=${up(B)}`, 'owner', { caller })).toEqual([B, B])
    expect(await service.list(`/posts?q[createdBy]=${B}`, 'owner', { caller })).toEqual([])
    expect(await service.list('/people', '_id')).toEqual([A, B])
  })

  test('is the same in a claim', async () => {
    const config = {
      collections: {
        people: { schema: {}, permissions: all },
        members: { schema: { person: to('people'), team: to('people') }, permissions: { admin: true } },
        posts: {
          schema: { team: to('people') },
          permissions: { user: { read: { where: { team: { $in: '$user.teams' } } } } },
        },
      },
      auth: { claims: { teams: { from: 'members', where: { person: '$user._id' }, take: 'team' } } },
    }
    const stored = {
      people: [{ _id: A }, { _id: B }],
      members: [{ person: A, team: B }],
      posts: [{ team: A }, { team: B }],
    }
    const service = await openStored(config, stored, { adapter: create(), authenticate: () => null })
    expect(await service.list('/posts', 'team', { caller: { id: up(A) } })).toEqual([B])
    expect(await service.list('/posts', 'team', { caller: { id: up(B) } })).toEqual([])
  })

  test('is the same for hooks', async () => {
    const service = createTestService(
      { collections },
      {
        adapter: create(),
        hooks: {
          posts: {
            async before({
              after,
              api,
            }: {
              after: { title?: string } | null
              api: (request: Request) => Promise<Response>
            }) {
              if (!after) return undefined
              const read = await api(new Request(`http://a.test/people/${up(after.title ?? '')}`))
              const { _id } = await read.json()
              if (read.status !== 200) refuse(409, 'nobody')
              return {
                set: { author: up(_id) },
                also: [{ method: 'PATCH', path: `/people/${up(_id)}`, body: { name: 'written' } }],
              }
            },
          },
        } as object,
      },
    )
    const { body } = await service.send('POST /people', { body: { name: 'ann' } })
    const made = await service.send('POST /posts', { body: { title: body._id } })
    expect([made.status, made.body.author]).toEqual([201, body._id])
    expect((await service.send(`GET /people/${body._id}`)).body.name).toBe('written')
    await service.handler.close()
  })
})

const accounts = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } },
      permissions: { user: { read: true } },
    },
    notes: {
      schema: { title: { type: 'string' }, by: to('users') },
      permissions: { user: { create: true, read: true }, owner: { update: true } },
    },
  },
}

describe.each(storages)('accounts with UUIDs in upper case, in %s', (_, create) => {
  test('find what an account has created', async () => {
    const service = createTestService(accounts, { adapter: create() })
    const [ann, bob] = [
      await service.register({ email: 'ann', password: 'secret' }),
      await service.register({ email: 'bob', password: 'secret' }),
    ]
    for (const [title, { token, id }] of Object.entries({ one: ann, two: bob })) {
      const made = await service.send('POST /notes', { token, body: { title, by: up(id) } })
      expect(made.body).toMatchObject({ createdBy: id, by: id })
    }
    const { token } = ann
    const table: readonly (readonly [query: string, titles: readonly string[]])[] = [
      [`q[createdBy]=${up(ann.id)}`, ['one']],
      [`q[createdBy]=${up(ann.id)}&q[createdBy]=${mixed(bob.id)}`, ['one', 'two']],
      [`q[createdBy][$ne]=${up(ann.id)}`, ['two']],
      [`q[createdBy][$in]=["${up(ann.id)}",null]`, ['one']],
      [`q[createdBy][$nin]=${up(ann.id)}`, ['two']],
      [`q[createdBy][$regex]=${up(ann.id)}`, []],
      [`q[by]=${up(bob.id)}`, ['two']],
      [`q[createdBy]=${up(ann.id)}&expand=createdBy`, ['one']],
    ]
    for (const [query, titles] of table)
      expect(await service.list(`/notes?${query}`, 'title', { token }), query).toEqual(titles)
    // A session is no document: its name is no UUID.
    const [{ _id }] = (await service.send('GET /auth/sessions', { token })).body
    expect((await service.send(`DELETE /auth/sessions/${up(_id)}`, { token })).status).toBe(404)
    expect((await service.send(`DELETE /auth/sessions/${_id}`, { token })).status).toBe(204)
    await service.handler.close()
  })

  test('a creator whom the host names is found as the host names it', async () => {
    const service = createTestService(accounts, {
      adapter: create(),
      authenticate: () => null,
      accounts: true,
    })
    const { id } = await service.register({ email: 'ann', password: 'secret' })
    const [host, account] = [{ id: up(FRESH) }, { id }]
    for (const caller of [host, account])
      await service.send('POST /notes', { caller, body: { title: caller.id } })
    const find = (query: string) => service.list(`/notes?${query}`, 'title', { caller: account })
    expect(await find(`q[createdBy]=${up(FRESH)}`)).toEqual([up(FRESH)])
    expect(await find(`q[createdBy]=${FRESH}`)).toEqual([])
    expect(await find(`q[createdBy][$ne]=${up(FRESH)}`)).toEqual([id])
    expect(await find(`q[createdBy]=${up(id)}`)).toEqual([id])
    await service.handler.close()
  })
})

describe('seeds', () => {
  const users = [{ _id: up(A), email: 'ann', password: 'secret' }]
  const notes = [
    { title: 'mine', createdBy: up(A), by: up(A), _id: up(FRESH) },
    { title: 'of a host', createdBy: up(B) },
  ]
  const login = async (service: ReturnType<typeof createTestService>): Promise<Sent> =>
    service.send('POST /auth/login', { body: { email: 'ann', password: 'secret' } })

  test('have lower case once they are stored, and their accounts own what they have made', async () => {
    const service = createTestService(accounts, { documents: { notes, users } })
    const { user, token } = (await login(service)).body
    expect([user._id, user.createdBy]).toEqual([A, A])
    expect(
      (await service.send('GET /notes?project=createdBy&project=by&sort[title]=1', { token })).body,
    ).toEqual([
      { _id: FRESH, by: A, createdBy: A },
      { _id: expect.any(String), createdBy: up(B) },
    ])
    expect((await service.send(`PATCH /notes/${up(FRESH)}`, { token, body: { title: 'x' } })).status).toBe(
      200,
    )
  })

  test('keep the callers of a host as they are', async () => {
    const service = createTestService(accounts, {
      documents: { notes: notes.map(({ by, ...note }) => note) },
      authenticate: () => null,
    })
    const caller = { id: up(A) }
    expect(await service.list('/notes', 'createdBy', { caller })).toEqual([up(B), up(A)])
    expect((await service.send(`PATCH /notes/${FRESH}`, { caller, body: { title: 'x' } })).status).toBe(200)
  })
})
