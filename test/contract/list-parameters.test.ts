import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { createTestService, faultsOf } from '../support/service.js'
import { replaceMethods } from '../support/stored.js'
import { ALL, config, documents, expectRefused, service, titles } from './support/queries.js'

describe('sort', () => {
  test.each([
    ['sort[views]=1', ['Four', 'one', 'two', 'three']],
    ['sort[views]=asc', ['Four', 'one', 'two', 'three']],
    ['sort[views]=-1', ['three', 'two', 'one', 'Four']],
    ['sort[views]=desc', ['three', 'two', 'one', 'Four']],
    ['sort[title]=1', ['Four', 'one', 'three', 'two']],
    ['sort[address.geo.lat]=-1', ['one', 'two', 'Four', 'three']],
    ['sort[at]=-1&limit=2', ['two', 'one']],
    ['sort[_id]=-1', ['Four', 'three', 'two', 'one']],
    ['', ALL],
  ])('GET /items?%s', async (query, expected) => {
    expect(await titles(query)).toEqual(expected)
  })

  test('null and missing come first ascending and last descending, false before true', async () => {
    expect(await titles('sort[active]=1')).toEqual(['three', 'Four', 'two', 'one'])
    expect(await titles('sort[active]=-1')).toEqual(['one', 'two', 'Four', 'three'])
    expect(await titles('sort[address.geo.isExact]=1')).toEqual(['three', 'Four', 'two', 'one'])
  })

  test('keys count in the order of the query string, and ties go by _id in the direction of the last key', async () => {
    const tied = createTestService(config, {
      documents: {
        items: [
          { title: 'a', views: 1, price: 2 },
          { title: 'b', views: 2, price: 1 },
          { title: 'c', views: 1, price: 1 },
          { title: 'd', views: 2, price: 1 },
        ],
      },
    })
    const sorted = (query: string) => tied.list(`/items?${query}`, 'title')
    expect(await sorted('sort[views]=1&sort[price]=1')).toEqual(['c', 'a', 'b', 'd'])
    expect(await sorted('sort[price]=1&sort[views]=1')).toEqual(['c', 'b', 'd', 'a'])
    expect(await sorted('sort[price]=1&sort[views]=-1')).toEqual(['d', 'b', 'c', 'a'])
    expect(await sorted('sort[views]=1')).toEqual(['a', 'c', 'b', 'd'])
    expect(await sorted('sort[views]=-1')).toEqual(['d', 'b', 'c', 'a'])
    expect(await sorted('sort[views]=-1&sort[price]=1')).toEqual(['b', 'd', 'c', 'a'])
    expect(await sorted('sort[views]=-1&limit=2')).toEqual(['d', 'b'])
    expect(await sorted('sort[views]=-1&skip=1&limit=2')).toEqual(['b', 'c'])
  })

  test('without a sort the order is that of creation, within a millisecond and when the clock goes back', async () => {
    const times = [5000, 5000, 1000, 5000, 9000, 0]
    let i = 0
    const created = createTestService(config, { now: () => times[Math.min(i, 5)] ?? 0 })
    for (; i < times.length; i++) await created.send('POST /items', { body: { title: `${i}` } })
    expect(await created.list('/items', 'title')).toEqual(['0', '1', '2', '3', '4', '5'])
  })

  test.each([
    ['sort[title]=2', 'sort[title]'],
    ['sort[title]=ASC', 'sort[title]'],
    ['sort[title]=', 'sort[title]'],
    ['sort[title]="1"', 'sort[title]'],
    ['sort[title]=1&sort[title]=-1', 'sort[title]'],
    ['sort=title', 'sort'],
    ['sort[title][views]=1', 'sort[title][views]'],
    ['sort[]=title', 'sort[]'],
    ['sort[tags]=1', 'sort[tags]'],
    ['sort[titel]=1', 'sort[titel]'],
  ])('%s', expectRefused)
})

describe('paging', () => {
  test.each([
    ['skip=1', ['two', 'three', 'Four']],
    ['limit=2', ['one', 'two']],
    ['skip=1&limit=2', ['two', 'three']],
    ['limit=0', []],
    ['skip=4', []],
    ['skip=9007199254740991&limit=9007199254740991', []],
    ['limit=9007199254740991', ALL],
    ['q[views][$exists]=true&sort[views]=-1&skip=1&limit=1&project=["title"]', ['two']],
  ])('%s', async (query, expected) => {
    expect(await titles(query)).toEqual(expected)
  })
  test('without parameters all documents that the caller may read are returned', async () => {
    expect(await service.list('/items', 'title')).toEqual(ALL)
  })
  test.each(
    [
      '-1',
      '1.5',
      '01',
      '1e3',
      '+1',
      '0x1',
      '',
      '"1"',
      'null',
      '9007199254740992',
      '99999999999999999999',
    ].flatMap((value) => [
      [`skip=${value}`, 'skip'],
      [`limit=${value}`, 'limit'],
    ]),
  )('%s', expectRefused)
  test('the limits of the configuration hold', async () => {
    const limited = (limits: object) => createTestService({ ...config, limits }, { documents })
    const listed = (limits: object, query: string) => limited(limits).list(`/items?${query}`, 'title')
    expect(await listed({ defaultLimit: 1, maxLimit: 3 }, '')).toEqual(['one'])
    expect(await listed({ defaultLimit: 1, maxLimit: 3 }, 'limit=3')).toEqual(['one', 'two', 'three'])
    expect(await listed({ maxLimit: 2 }, '')).toEqual(['one', 'two'])
    expect(await listed({ defaultLimit: 2 }, 'limit=4')).toEqual(ALL)
    const answer = await limited({ maxLimit: 2 }).send('GET /items?limit=3')
    expect(answer.status).toBe(400)
    expect(Object.keys(faultsOf(answer))).toEqual(['limit'])
    // A count has no page.
    expect((await limited({ maxLimit: 2 }).send('GET /items/count')).body).toEqual({ total: 4 })
  })
})

describe('projection', () => {
  const first = async (project: string) => {
    const [{ _id, ...rest }] = (await service.send(`GET /items?limit=1&project=${project}`)).body
    expect(_id).toEqual(expect.any(String))
    return rest
  }
  test.each([
    ['[]', {}],
    ['["_id"]', {}],
    ['["title"]', { title: 'one' }],
    ['["views","title"]', { title: 'one', views: 1 }],
    ['["address.city"]', { address: { city: 'Oslo' } }],
    ['["address"]', { address: { city: 'Oslo', geo: { lat: 59.9, isExact: true } } }],
    ['["address","address.city"]', { address: { city: 'Oslo', geo: { lat: 59.9, isExact: true } } }],
    ['["address.city","address"]', { address: { city: 'Oslo', geo: { lat: 59.9, isExact: true } } }],
    ['["address.geo.lat","address.city"]', { address: { city: 'Oslo', geo: { lat: 59.9 } } }],
    ['["meta","parts","tags"]', { tags: ['red', 'blue'], meta: { any: 1 }, parts: [{ size: 1 }] }],
    ['["createdBy"]', { createdBy: null }],
  ])('%s', async (project, expected) => {
    expect(await first(project)).toEqual(expected)
  })
  test.each([
    ['title', { title: 'one' }],
    ['_id', {}],
    ['title&project=views', { title: 'one', views: 1 }],
    [
      'address.city&project=address&project=address',
      {
        address: { city: 'Oslo', geo: { lat: 59.9, isExact: true } },
      },
    ],
  ])('names one by one: %s', async (project, expected) => {
    expect(await first(project)).toEqual(expected)
  })
  test.each([
    ['["title"]&project=["zip"]', 'repeated'],
    ['["title"]&project=zip', 'repeated'],
    ['title&project=["zip"]', 'repeated'],
    ['title&project=[]', 'repeated'],
    ['title&project=titel', 'unknown_field'],
    ['title&project=', 'unknown_field'],
    ['title,zip', 'unknown_field'],
    ['toString', 'unknown_field'],
    ['pin', 'unknown_field'],
    ['[title]', 'malformed'],
  ])('project=%s is refused', async (project, code) => {
    const answer = await service.send(`GET /items?project=${project}`)
    expect([answer.status, faultsOf(answer)]).toEqual([400, { project: code }])
  })
  test('a missing field and a missing parent stay absent', async () => {
    const { body } = await service.send('GET /items?q[title]=Four&project=["views","address.city"]')
    expect(body).toEqual([{ _id: expect.any(String) }])
  })
  test('it never changes which documents come back', async () => {
    const { body } = await service.send('GET /items?q[views][$gt]=1&sort[views]=-1&project=["zip"]')
    expect(body.map(({ zip }: { zip: string }) => zip)).toEqual(['null', 'true'])
  })
  test('a single document takes it too', async () => {
    const [{ _id }] = (await service.send('GET /items?limit=1')).body
    const { body } = await service.send(`GET /items/${_id}?project=["title"]`)
    expect(body).toEqual({ _id, title: 'one' })
  })
  test.each([
    ['project="title"', 'project'],
    ['project={"title":1}', 'project'],
    ['project=[1]', 'project'],
    ['project=["title"', 'project'],
    ['project=["titel"]', 'project'],
    ['project=["title",""]', 'project'],
    ['project=["__proto__"]', 'project'],
    ['project=', 'project'],
    ['project[]=title', 'project[]'],
    ['project=["title"]&project=["zip"]', 'project'],
  ])('%s', expectRefused)
})

describe('a query sees what its caller sees', () => {
  const permissions = {
    '*': { read: { where: { status: 'published' }, omit: ['score'] } },
    owner: { read: true },
    critic: { read: { where: { status: { $in: ['published', 'review'] } }, pick: ['title', 'score'] } },
  }
  const schema = {
    title: { type: 'string' },
    status: { type: 'string' },
    score: { type: 'integer' },
    tags: { type: 'array', items: { type: 'string' } },
  }
  const mixed = createTestService(
    { collections: { items: { schema, permissions } } },
    {
      documents: {
        items: [
          { title: 'foreign', status: 'published', score: 5, tags: ['a'], createdBy: 'somebody' },
          { title: 'own', status: 'published', score: 5, tags: ['a'], createdBy: 'ann' },
          { title: 'own draft', status: 'draft', score: 7, tags: ['b'], createdBy: 'ann' },
          { title: 'foreign draft', status: 'draft', score: 7, tags: ['b'], createdBy: 'somebody' },
          { title: 'review', status: 'review', score: 9, createdBy: 'somebody' },
        ],
      },
    },
  )
  const ann = { id: 'ann' }
  const critic = { id: 'cec', roles: ['critic'] }
  const ask = (query: string, caller: typeof ann | null) => mixed.list(`/items?${query}`, 'title', { caller })

  test.each([
    ['q[score]=5', ['own']],
    ['q[score][$gt]=0', ['own', 'own draft']],
    ['q[score]=null', ['foreign']],
    ['q[score][$exists]=true', ['own', 'own draft']],
    ['q[score][$exists]=false', ['foreign']],
    ['q[score][$ne]=5', ['foreign', 'own draft']],
    ['q[score][$in]=[5,7]', ['own', 'own draft']],
    ['q[score][$nin]=[5]', ['foreign', 'own draft']],
    ['q[status]=draft', ['own draft']],
    ['q[tags]=a', ['foreign', 'own']],
  ])('an owner, to whom a field is hidden on the documents of others: %s', async (query, expected) => {
    expect(await ask(query, ann)).toEqual(expected)
    const { body } = await mixed.send(`GET /items/count?${query}`, { caller: ann })
    expect(body).toEqual({ total: expected.length })
  })

  test.each([
    ['q[status]=review', []],
    ['q[status]=null', ['review']],
    ['q[status][$ne]=published', ['review']],
    ['q[status][$regex]=e', ['foreign', 'own']],
    ['q[score]=9', ['review']],
    ['q[score]=5', ['foreign', 'own']],
  ])('a role that sees more documents with fewer fields: %s', async (query, expected) => {
    expect(await ask(query, critic)).toEqual(expected)
  })

  test.each([
    ['sort[score]=1', ann, 'sort[score]'],
    ['sort[status]=1', critic, 'sort[status]'],
    ['sort[score]=1', critic, 'sort[score]'],
    ['sort[createdAt]=1', critic, 'sort[createdAt]'],
  ])('a sort on a field that not all grants show is refused: %s', async (query, caller, parameter) => {
    const answer = await mixed.send(`GET /items?${query}`, { caller })
    expect(answer.status).toBe(400)
    expect(Object.keys(faultsOf(answer))).toEqual([parameter])
  })

  test('a sort on a field that all grants show is taken', async () => {
    expect(await ask('sort[title]=-1', critic)).toEqual(['review', 'own', 'foreign'])
    expect(await ask('sort[_id]=-1', ann)).toEqual(['own draft', 'own', 'foreign'])
  })

  test.each(['q[score]=5', 'q[score][$exists]=false', 'sort[score]=1', 'project=["score"]', 'q[nonsense]=1'])(
    'a field that no grant shows is refused before storage is asked: %s',
    async (query) => {
      const asked: string[] = []
      const memory = createMemoryAdapter()
      const adapter = replaceMethods(memory, {
        list: (name, listed) => {
          asked.push(name)
          return memory.list(name, listed)
        },
      })
      const watched = createTestService({ collections: { items: { schema, permissions } } }, { adapter })
      const answer = await watched.send(`GET /items?${query}`)
      expect(answer.status).toBe(400)
      expect(asked).toEqual([])
      // What may be asked does reach the storage.
      await watched.list('/items', 'title')
      expect(asked).toEqual(['items'])
    },
  )

  test('what a caller may not read changes no answer', async () => {
    const answers = async (hidden: object[]) => {
      const given = [
        { _id: '01890000-0000-7000-8000-000000000001', title: 'shown', status: 'published', score: 1 },
        ...hidden,
      ].map((document) => ({ ...document, createdAt: '2026-01-01', updatedAt: '2026-01-01' }))
      const { send } = createTestService(
        { collections: { items: { schema, permissions } } },
        { documents: { items: given } },
      )
      const paths = [
        '',
        '?sort[title]=-1',
        '?q[status][$ne]=draft',
        '?skip=1',
        '?limit=1',
        '/count',
        '/count?q[title]=x',
      ]
      return Promise.all(paths.map(async (path) => (await send(`GET /items${path}`)).text))
    }
    const id = '01890000-0000-7000-8000-000000000000'
    expect(await answers([{ _id: id, title: 'a', status: 'draft', score: 9 }])).toEqual(await answers([]))
  })
})

describe('nothing is ignored', () => {
  test.each([
    ['filter=1', 'filter'],
    ['Q[title]=one', 'Q[title]'],
    ['q=one', 'q'],
    ['q[]=one', 'q[]'],
    ['q[title]', 'q[title]'],
    ['q[title][]=one', 'q[title][]'],
    ['q[title][0]=one', 'q[title][0]'],
    ['q[title][$eq][x]=one', 'q[title][$eq][x]'],
    ['q[title]x=one', 'q[title]x'],
    ['q[title=one', 'q[title'],
    ['q.title=one', 'q.title'],
    ['limit=1&limit=1', 'limit'],
    ['skip[a]=1', 'skip[a]'],
    ['limit[]=1', 'limit[]'],
    ['_=1', '_'],
    ['q[titel]=one', 'q[titel]'],
    ['q[ title]=one', 'q[ title]'],
    ['q[address..city]=one', 'q[address..city]'],
  ])('%s', expectRefused)

  test.each(['&', '&&', '=', '=1', '?'])('%s', (query) => expectRefused(query))

  test('every fault is named', async () => {
    const answer = await service.send(
      'GET /items?q[titel]=1&sort[view]=1&skip=x&limit=-1&project=[1]&q[views]=x',
    )
    expect(answer.status).toBe(400)
    expect(Object.keys(faultsOf(answer)).sort()).toEqual([
      'limit',
      'project',
      'q[titel]',
      'q[views]',
      'skip',
      'sort[view]',
    ])
  })

  test.each([
    ['/items/count', 'sort[title]=1'],
    ['/items/count', 'skip=1'],
    ['/items/count', 'limit=1'],
    ['/items/count', 'project=["title"]'],
  ])('a count takes q only: %s?%s', async (path, query) => {
    // Even after others have understood the very same query string.
    const [{ _id }] = (await service.send(`GET /items?${query}`)).body
    await service.send(`GET /items/${_id}?${query}`)
    const answer = await service.send(`GET ${path}?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.body.code).toBe('invalid_query')
  })

  test('a document takes project only, even after a count has understood the same query string', async () => {
    const [{ _id }] = (await service.send('GET /items?limit=1')).body
    expect((await service.send(`GET /items/${_id}?project=["zip"]`)).status).toBe(200)
    expect((await service.send('GET /items/count?q[zip]=01234')).status).toBe(200)
    for (const query of ['q[zip]=01234', 'sort[zip]=1', 'skip=0', 'limit=1']) {
      expect((await service.send(`GET /items/${_id}?${query}`)).status, query).toBe(400)
    }
  })

  test('conditions and values are counted, at the limit and beyond', async () => {
    const small = createTestService({ ...config, limits: { conditions: 2, values: 3 } }, { documents })
    const status = async (query: string) => (await small.send(`GET /items?${query}`)).status
    expect(await status('q[title]=a&q[views]=1')).toBe(200)
    expect(await status('q[title]=a&q[views]=1&q[zip]=b')).toBe(400)
    expect(await status('q[views][$gt]=1&q[views][$lt]=2&q[zip]=b')).toBe(400)
    expect(await status('q[title][$regex]=a&q[title][$options]=i&q[zip]=b')).toBe(200)
    expect(await status('q[title]=a&q[title]=b&q[title]=c')).toBe(200)
    expect(await status('q[title]=a&q[title]=b&q[title]=c&q[title]=d')).toBe(400)
    expect(await status('q[title][$in]=["a","b","c"]')).toBe(200)
    expect(await status('q[title][$in]=["a","b","c","d"]')).toBe(400)
    expect(await status('q[title]=a&q[zip][$nin]=["b","c","d"]')).toBe(400)
  })

  test('by default there are 64 conditions and 100 values', async () => {
    const fields = Object.fromEntries([...Array(65).keys()].map((i) => [`f${i}`, { type: 'integer' }]))
    const wide = createTestService({ collections: { items: { schema: fields, permissions: { '*': true } } } })
    const query = (count: number) => [...Array(count).keys()].map((i) => `q[f${i}]=1`).join('&')
    const values = (count: number) => `q[f0][$in]=[${Array(count).fill(1).join(',')}]`
    const status = async (text: string) => (await wide.send(`GET /items?${text}`)).status
    expect(await status(query(64))).toBe(200)
    expect(await status(query(65))).toBe(400)
    expect(await status(values(100))).toBe(200)
    expect(await status(values(101))).toBe(400)
  })

  test('no limit of a parser cuts a query short', async () => {
    const wide = createTestService(
      { ...config, limits: { conditions: 5000, values: 5000, queryBytes: 1_000_000 } },
      { documents },
    )
    const many = [...Array(1500).keys()].map((i) => `q[title]=none${i}`).join('&')
    expect(await wide.list(`/items?${many}&q[title]=two`, 'title')).toEqual(['two'])
  })
})

describe('a count', () => {
  test.each([
    ['', 4],
    ['q[views][$gt]=1', 2],
    ['q[title]=one&q[title]=two', 2],
    ['q[title]=nobody', 0],
  ])('GET /items/count?%s', async (query, total) => {
    expect((await service.send(`GET /items/count?${query}`)).body).toEqual({ total })
  })
})
