import { describe, expect, test } from 'vitest'
import { type Caller, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { createTestService, faultsOf, type Sent, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf, isOfStart, LONG_AGO, openStored } from '../support/stored.js'
import { nextOf } from '../support/walk.js'

// CONTRACT.md §2, "Expand"

type Json = { readonly [name: string]: unknown }

const storages = useStorages()

const opened = closeAfterEach()

async function open(
  collections: Json,
  stored: { readonly [collection: string]: readonly Json[] },
  adapter?: StorageAdapter,
  limits: Json = {},
): Promise<TestService> {
  const options = { authenticate: () => null, ...(adapter ? { adapter } : {}) }
  const service = await openStored({ collections, limits }, stored, options)
  opened.push(service)
  return service
}

const ann: Caller = { id: 'ann' }
const admin: Caller = { id: 'eve', roles: ['admin'] }
const text = { type: 'string' }
const all = { '*': true }
const to = (collection: string): Json => ({ type: 'reference', collection })
const arrayOf = (items: Json): Json => ({ type: 'array', items })
const objectOf = (properties: Json): Json => ({ type: 'object', properties })

const [P1, P2, P3, GONE] = [idOf(1), idOf(2), idOf(3), idOf(99)]
const ONE = `/posts/${idOf(1)}`
const SYSTEM = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null }
const UNREADABLE_QUERY = [400, 'invalid_query']

const outcomeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body?.code])
const answerOf = ({ status, headers, text: body }: Sent): unknown => [
  status,
  [...headers],
  body.replace(/"requestId":"[^"]*"/, ''),
]

/** The lists that an adapter is asked for, by collection. */
function observe(inner: StorageAdapter): { readonly adapter: StorageAdapter; readonly asked: string[] } {
  const asked: string[] = []
  const adapter: StorageAdapter = {
    ...inner,
    list(name, query) {
      if (!isOfStart(query)) asked.push(name)
      return inner.list(name, query)
    },
  }
  return { adapter, asked }
}

const schema = {
  title: text,
  author: to('people'),
  readers: arrayOf(to('people')),
  o: objectOf({ r: to('people'), x: text, many: arrayOf(to('people')) }),
  list: arrayOf(objectOf({ r: to('people') })),
}

const people = {
  schema: { name: text, secret: text, friend: to('people') },
  permissions: {
    '*': { read: { where: { name: { $ne: 'hidden' } }, omit: ['secret', 'createdAt'] } },
    owner: { read: true },
    admin: true,
  },
}
const collections = { people, posts: { schema, permissions: all } }
const stored = {
  people: [
    { name: 'ann', secret: 's', friend: P3 },
    { name: 'hidden', secret: 's', createdBy: 'ann' },
    { name: 'bob' },
  ],
  posts: [
    {
      title: 'one',
      author: P1,
      readers: [P1, P2, GONE, P3, P1],
      o: { r: P3, x: 'x', many: [P3, GONE] },
      list: [{ r: P1 }],
    },
  ],
}

/** What everyone sees of the people. */
const [ANN, BOB] = [
  { _id: P1, name: 'ann', friend: P3, updatedAt: LONG_AGO, createdBy: null },
  { _id: P3, name: 'bob', updatedAt: LONG_AGO, createdBy: null },
]

describe.each(storages)('expand, in %s,', (_, create) => {
  const whole = {
    _id: idOf(1),
    title: 'one',
    author: P1,
    readers: [P1, P2, GONE, P3, P1],
    o: { r: P3, x: 'x', many: [P3, GONE] },
    list: [{ r: P1 }],
    ...SYSTEM,
  }

  test.each<[string, readonly string[], Json]>([
    ['nothing', [], {}],
    ['a field', ['author'], { author: ANN }],
    ['an array, element by element', ['readers'], { readers: [ANN, P2, GONE, BOB, ANN] }],
    ['a nested field', ['o.r'], { o: { r: BOB, x: 'x', many: [P3, GONE] } }],
    ['a nested array', ['o.many'], { o: { r: P3, x: 'x', many: [BOB, GONE] } }],
    [
      'several fields',
      ['o.many', 'author', 'o.r', 'readers'],
      { author: ANN, readers: [ANN, P2, GONE, BOB, ANN], o: { r: BOB, x: 'x', many: [BOB, GONE] } },
    ],
    ['a field that is named twice', ['author', 'author'], { author: ANN }],
  ])('puts documents in the place of ids: %s', async (_, paths, expected) => {
    const service = await open(collections, stored, create())
    const query = `expand=${JSON.stringify(paths)}`
    const read = await service.send(`GET ${ONE}?${query}`)
    expect(read.body).toEqual({ ...whole, ...expected })
    expect(Object.keys(read.body)).toEqual(Object.keys(whole))
    for (const path of [`/posts?${query}`, `/posts?${query}&limit=1`, `/posts?limit=2000&${query}`]) {
      expect((await service.send(`GET ${path}`)).text, path).toBe(`[${read.text}]`)
    }
    const oneByOne = paths.map((path) => `expand=${path}`).join('&')
    expect((await service.send(`GET ${ONE}?${oneByOne}`)).text).toBe(read.text)
    const repeats = paths.length > 0 ? [`${query}&${oneByOne}`, `${oneByOne}&${query}`] : []
    for (const repeated of repeats)
      expect(faultsOf(await service.send(`GET ${ONE}?${repeated}`))).toEqual({ expand: 'repeated' })
    // Nothing of it is stored, nor kept.
    expect((await service.send(`GET ${ONE}`)).body).toEqual(whole)
    expect((await service.send('GET /posts')).body).toEqual([whole])
  })

  test.each([
    ['author', 'readers', 'o.r', 'o.many'],
    ['author.friend', 'readers.friend', 'o.r', 'o.many.friend'],
  ])('leaves a stored value of another type as it is: %s, %s, %s, %s', async (...paths) => {
    const other = { author: [P1, P3], readers: P1, o: { r: [P3], x: 'x', many: P3 } }
    const service = await open(collections, { ...stored, posts: [other, ...stored.posts] }, create())
    const { body: plain } = await service.send(`GET ${ONE}`)
    expect(plain).toMatchObject(other)
    const query = `expand=${JSON.stringify(paths)}`
    const sent = await service.send(`GET ${ONE}?${query}`)
    expect(sent.body).toEqual(plain)
    for (const path of [`/posts?${query}`, `/posts?limit=2000&${query}`]) {
      const [first, second] = (await service.send(`GET ${path}`)).body
      expect(first, path).toEqual(plain)
      expect(second.readers[0], path).toMatchObject({ _id: P1, name: 'ann' })
    }
  })

  test('shows a document as this caller may read it', async () => {
    const service = await open(collections, stored, create())
    const expanded = async (caller: Caller | null) =>
      (await service.send(`GET ${ONE}?expand=["readers"]`, { caller })).body.readers
    const own = { _id: P2, name: 'hidden', secret: 's', ...SYSTEM, createdBy: 'ann' }
    const full = { _id: P1, name: 'ann', secret: 's', friend: P3, ...SYSTEM }
    const fullBob = { _id: P3, name: 'bob', ...SYSTEM }
    expect(await expanded(null)).toEqual([ANN, P2, GONE, BOB, ANN])
    expect(await expanded(ann)).toEqual([ANN, own, GONE, BOB, ANN])
    expect(await expanded(admin)).toEqual([full, own, GONE, fullBob, full])
    for (const caller of [null, ann, admin]) {
      const { body } = await service.send(`GET /people/${P1}`, { caller })
      expect((await expanded(caller))[0]).toEqual(body)
    }
  })

  test('leaves all ids where nothing of the collection may be read', async () => {
    const closed = { ...people, permissions: { admin: true } }
    const service = await open({ ...collections, people: closed }, stored, create())
    const { body } = await service.send(`GET ${ONE}?expand=["author","readers"]`)
    expect(body).toEqual(whole)
    expect((await service.send(`GET ${ONE}?expand=["author"]`, { caller: admin })).body.author.name).toBe(
      'ann',
    )
  })

  test('of many documents asks once a field', async () => {
    const posts = Array.from({ length: 700 }, (_, i) => ({
      title: 'x',
      author: idOf(i + 1),
      readers: [idOf(i + 1), P2],
    }))
    const all = Array.from({ length: 300 }, (_, i) => ({ name: `p${i}` }))
    const { adapter, asked } = observe(create())
    const service = await open(collections, { people: all, posts }, adapter)
    for (const [path, fields, count] of [
      ['/posts?limit=1000&expand=["author"]', 1, 700],
      ['/posts?limit=1000&expand=["author","readers"]', 2, 700],
      ['/posts?limit=3&expand=["author"]', 1, 3],
      [`${ONE}?expand=["author"]`, 1, 1],
    ] as const) {
      asked.length = 0
      const { body } = await service.send(`GET ${path}`)
      expect([body].flat(), path).toHaveLength(count)
      expect(
        asked.filter((name) => name === 'people'),
        path,
      ).toHaveLength(fields)
      expect(
        asked.filter((name) => name === 'posts'),
        path,
      ).toHaveLength(1)
      const [first] = [body].flat()
      expect(first.author.name).toBe('p0')
    }
    const { body } = await service.send('GET /posts?limit=1000&expand=["author"]')
    expect(body.map(({ author }: { author: unknown }) => typeof author)).toEqual(
      posts.map((_, i) => (i < 300 ? 'object' : 'string')),
    )
  })

  test('shows what has become readable since, be it too large to be read at once with the rest', async () => {
    const permissions = { '*': { read: { where: { shown: true } } }, admin: true }
    const schema = { shown: { type: 'boolean' }, name: { type: 'string' } }
    const service = await open(
      {
        people: { schema, permissions },
        posts: { schema: { readers: arrayOf(to('people')) }, permissions: all },
      },
      {
        people: [{ shown: true, name: 'x'.repeat(200_000) }, { shown: false }],
        posts: [{ readers: [P1, P2] }],
      },
      create(),
    )
    const readable = async (): Promise<unknown> =>
      (await service.send('GET /posts?expand=["readers"]')).body[0].readers.map((one: unknown) => typeof one)
    expect([await readable(), await readable()]).toEqual([
      ['object', 'string'],
      ['object', 'string'],
    ])
    const body = { shown: true, name: 'x'.repeat(1_000_000) }
    expect((await service.send(`PATCH /people/${P2}`, { body, caller: admin })).status).toBe(200)
    expect(await readable()).toEqual(['object', 'object'])
  })

  test('of more ids than are asked for at once finds all', async () => {
    const ids = Array.from({ length: 2500 }, (_, i) => idOf(i + 1))
    const service = await open(
      collections,
      { people: ids.map(() => ({ name: 'x' })), posts: [{ readers: ids }] },
      create(),
      { expanded: 2500 },
    )
    const { body } = await service.send(`GET ${ONE}?expand=["readers"]`)
    expect(body.readers.map(({ _id }: { _id: string }) => _id)).toEqual(ids)
  })
})

describe('what is expanded', () => {
  test('is one level deep', async () => {
    const service = await open(collections, stored)
    const { body } = await service.send(`GET /people/${P1}?expand=["friend"]`)
    expect(body.friend).toEqual(BOB)
    const looped = { people: [{ name: 'ann', friend: P1 }], posts: [] }
    const other = await open(collections, looped)
    const own = await other.send(`GET /people/${P1}?expand=["friend"]`)
    expect(own.body.friend.friend).toBe(P1)
    const read = await service.send(`GET ${ONE}?expand=["author"]`)
    expect(read.body.author.friend).toBe(P3)
  })

  test.each<[string, string, Json]>([
    ['away', 'project=["title"]&expand=["author"]', { _id: idOf(1), title: 'one' }],
    ['alone', 'project=["author"]&expand=["author"]', { _id: idOf(1), author: ANN }],
    ['a part', 'project=["o.r"]&expand=["o.r","o.many"]', { _id: idOf(1), o: { r: BOB } }],
    ['the other part', 'project=["o.x"]&expand=["o.r"]', { _id: idOf(1), o: { x: 'x' } }],
    ['nothing', 'project=[]&expand=["author"]', { _id: idOf(1) }],
  ])('is as it was projected: %s', async (_, query, expected) => {
    const service = await open(collections, stored)
    expect((await service.send(`GET ${ONE}?${query}`)).body).toEqual(expected)
    expect((await service.send(`GET /posts?${query}`)).body).toEqual([expected])
  })

  test('cannot be projected', async () => {
    const service = await open(collections, stored)
    const sent = await service.send(`GET ${ONE}?expand=["author"]&project=["author.name"]`)
    expect(outcomeOf(sent)).toEqual(UNREADABLE_QUERY)
    expect(faultsOf(sent)).toEqual({ project: 'unknown_field' })
  })

  test('has no ETag, and is never not modified', async () => {
    const service = await open(collections, stored)
    const plain = await service.send(`GET ${ONE}`)
    const etag = plain.headers.get('etag') ?? ''
    expect(etag).not.toBe('')
    for (const value of [etag, '*', `W/${etag}`]) {
      const sent = await service.send(`GET ${ONE}?expand=["author"]`, { headers: { 'if-none-match': value } })
      expect([sent.status, sent.headers.get('etag')]).toEqual([200, null])
      expect(sent.body.author).toEqual(ANN)
    }
    const head = await service.send(`HEAD ${ONE}?expand=["author"]`)
    expect([head.status, head.headers.get('etag'), head.text]).toEqual([200, null, ''])
  })

  test('never reaches filters, sorts, counts or pages', async () => {
    const posts = [
      { title: 'b', author: P2 },
      { title: 'a', author: P1 },
      { title: 'c', author: GONE },
      { title: 'd' },
    ]
    const service = await open(collections, { ...stored, posts })
    const titles = (query: string) => service.list(`/posts?${query}&expand=["author"]`, 'title')
    expect(await titles(`q[author]=${P2}`)).toEqual(['b'])
    expect(await titles(`q[author][$ne]=${P1}`)).toEqual(['b', 'c', 'd'])
    expect(await titles('sort[author]=1')).toEqual(['d', 'a', 'b', 'c'])
    expect(await titles('sort[author]=-1&skip=1&limit=2')).toEqual(['b', 'a'])
    for (const query of ['q[author.name]=ann', 'sort[author.name]=1', 'q[author._id]=x']) {
      expect(outcomeOf(await service.send(`GET /posts?${query}&expand=["author"]`))).toEqual(UNREADABLE_QUERY)
    }
    const first = await service.send('GET /posts?limit=3&total=true&expand=["author"]')
    expect(first.headers.get('x-total-count')).toBe('4')
    const next = await service.send(`GET ${nextOf(first)}`)
    expect([...first.body, ...next.body]).toEqual((await service.send('GET /posts?expand=["author"]')).body)
    expect(first.body[1].author).toEqual(ANN)
  })

  test.each<[string, Json]>([
    ['nothing is stored', {}],
    ['a number is stored', { author: 5, readers: 7, o: 'text' }],
    ['an object is stored', { author: { _id: P1 }, readers: { 0: P1 }, o: [{ r: P1 }] }],
    ['text that is no id is stored', { author: 'ann', readers: ['', '__proto__', null, 5, [P1]] }],
  ])('stays as it is where %s', async (_, post) => {
    const service = await open(collections, { ...stored, posts: [post] })
    const plain = await service.send('GET /posts')
    const sent = await service.send('GET /posts?expand=["author","readers","o.r","o.many"]')
    expect(sent.body).toEqual(plain.body)
  })
})

describe('names that cannot be expanded', () => {
  const hidden = {
    people,
    posts: {
      schema: { ...schema, hiddenAuthor: to('people') },
      permissions: { '*': { read: { omit: ['hiddenAuthor', 'title'] } } },
    },
  }

  test('of unknown and of unreadable fields are answered alike', async () => {
    const service = await open(hidden, { ...stored, posts: [{ author: P1, hiddenAuthor: P3 }] })
    for (const path of ['/posts', ONE]) {
      const ask = (name: string) => service.send(`GET ${path}?expand=["${name}"]`)
      const unreadable = await ask('hiddenAuthor')
      expect(faultsOf(unreadable)).toEqual({ expand: 'unknown_field' })
      const unknown = await ask('hiddenAuthxr')
      expect(JSON.stringify(answerOf(unreadable))).toBe(
        JSON.stringify(answerOf(unknown)).replaceAll('hiddenAuthxr', 'hiddenAuthor'),
      )
    }
  })

  test('a field that some documents hide stays hidden there', async () => {
    const posts = {
      schema,
      permissions: {
        '*': { read: { omit: ['author'] } },
        user: { read: { where: { title: 'open' } } },
      },
    }
    const documents = [
      { title: 'open', author: P1 },
      { title: 'shut', author: P3 },
    ]
    const { adapter, asked } = observe(createMemoryAdapter())
    const service = await open({ people, posts }, { ...stored, posts: documents }, adapter)
    asked.length = 0
    const { body } = await service.send('GET /posts?expand=["author"]', { caller: ann })
    expect(body[0].author).toEqual(ANN)
    expect(body[1]).not.toHaveProperty('author')
    const anonymous = await service.send('GET /posts?expand=["author"]')
    expect(faultsOf(anonymous)).toEqual({ expand: 'unknown_field' })
  })

  test.each<[string, string, { [path: string]: string }]>([
    ['no reference', '["title"]', { expand: 'wrong_type' }],
    ['an _id', '["_id"]', { expand: 'wrong_type' }],
    ['a system field', '["createdBy"]', { expand: 'wrong_type' }],
    ['an object', '["o"]', { expand: 'wrong_type' }],
    ['an array of objects', '["list"]', { expand: 'wrong_type' }],
    ['inside an array of objects', '["list.r"]', { expand: 'unknown_field' }],
    ['an inherited name', '["toString"]', { expand: 'unknown_field' }],
    ['one of several', '["author","nothing"]', { expand: 'unknown_field' }],
    ['no JSON', '[author]', { expand: 'malformed' }],
    ['a name in quotes', '"author"', { expand: 'unknown_field' }],
    ['a number', '[1]', { expand: 'malformed' }],
    ['an empty text', '', { expand: 'unknown_field' }],
  ])('%s', async (_, value, faults) => {
    const service = await open(collections, stored)
    for (const path of ['/posts', ONE]) {
      const sent = await service.send(`GET ${path}?expand=${value}`)
      expect(outcomeOf(sent)).toEqual(UNREADABLE_QUERY)
      expect(Object.keys(faultsOf(sent))).toEqual(Object.keys(faults))
      if (faults.expand !== 'malformed') expect(faultsOf(sent)).toEqual(faults)
    }
  })

  test.each<[string, unknown?]>([
    ['GET /posts/count?expand=["author"]'],
    ['POST /posts?expand=["author"]', {}],
    ['POST /posts/bulk?expand=["author"]', { documents: [{}] }],
    [`PATCH ${ONE}?expand=["author"]`, {}],
    [`PUT ${ONE}?expand=["author"]`, {}],
    [`DELETE ${ONE}?expand=["author"]`],
    ['GET /posts?expand=["author"]&expand=["readers"]'],
    ['GET /posts?expand[]=author'],
    ['GET /posts?Expand=["author"]'],
    ['GET /posts?expand[author]=1'],
  ])('%s is refused', async (request, body) => {
    const service = await open(collections, stored)
    const sent = await service.send(request, body === undefined ? {} : { body })
    expect(outcomeOf(sent)).toEqual(UNREADABLE_QUERY)
    expect((await service.send('GET /posts/count')).body).toEqual({ total: 1 })
  })
})

describe('accounts', () => {
  const users = {
    schema: { email: { type: 'string', unique: true }, password: { type: 'hash' }, boss: to('users') },
    permissions: { user: { read: { omit: ['email'] } }, owner: { read: true } },
  }
  const posts = {
    schema: { author: to('users') },
    permissions: { '*': { read: true }, user: { create: { set: { author: '$user._id' } } } },
  }

  test('are shown without a trace of their secret', async () => {
    const service = createTestService({ collections: { users, posts } })
    opened.push(service)
    const owner = await service.register({ email: 'ann', password: 'very secret' })
    const other = await service.register({ email: 'bob', password: 'very secret' })
    const { body: post } = await service.send('POST /posts', { token: owner.token, body: {} })
    const read = (token?: string) =>
      service.send(`GET /posts/${post._id}?expand=["author"]`, token === undefined ? {} : { token })
    const own = await read(owner.token)
    expect(own.body.author).toMatchObject({ _id: owner.id, email: 'ann' })
    const foreign = await read(other.token)
    expect(foreign.body.author._id).toBe(owner.id)
    expect(foreign.body.author).not.toHaveProperty('email')
    expect((await read()).body.author).toBe(owner.id)
    for (const { text } of [own, foreign])
      expect(text).not.toMatch(/password|secret|_hash|stamp|_version|\$2/)
    expect(own.headers.get('cache-control')).toBe('no-store')
  })
})
