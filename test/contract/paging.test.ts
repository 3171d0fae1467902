import { describe, expect, test } from 'vitest'
import { createTestService, faultsOf, type Sent, type TestService } from '../support/service.js'
import { idOf, openStored } from '../support/stored.js'
import { nextOf } from '../support/walk.js'

// CONTRACT.md §3.7

type Json = { readonly [name: string]: unknown }

const schema = {
  s: { type: 'string' },
  n: { type: 'number' },
  i: { type: 'integer' },
  b: { type: 'boolean' },
  at: { type: 'timestamp' },
  o: { type: 'object', properties: { x: { type: 'string' } } },
}

const configOf = (settings: Json = {}, permissions: Json = { '*': { read: true } }) => ({
  collections: { items: { schema, permissions } },
  ...settings,
})

/** Values of every kind, ties, missing ones, and some of another type. */
const items: readonly Json[] = [
  { s: 'b', n: 2.5, i: 2, b: true, at: '2020-01-01T00:00:00.000Z', o: { x: 'b' } },
  { s: 'a', n: -1, i: 0, b: false, at: '0001-01-01T00:00:00.000Z', o: { x: '😀' } },
  {},
  { s: 'b', n: 2.5, i: 2, b: true, at: '2020-01-01T00:00:00.000Z', o: {} },
  { s: '\uffff', n: 0, i: 9, b: false, at: '9999-12-31T23:59:59.999Z', o: { x: '\uffff' } },
  { s: '😀', n: 'odd', i: 2.5, b: 'true', at: '2020-01-01', o: 'odd' },
  { s: '', n: 0, i: 0, o: { x: '' } },
  { s: null, n: null, i: null, b: null, at: null, o: { x: null } },
]

const ids = items.map((_, i) => idOf(i + 1))

const open = (settings?: Json, permissions?: Json): Promise<TestService> =>
  openStored(configOf(settings, permissions), { items }, { authenticate: () => null })

const idsOf = ({ body }: Sent): string[] => body.map(({ _id }: { _id: string }) => _id)

/** The pages from a target on. */
async function walk({ send }: TestService, target: string): Promise<Sent[]> {
  const pages: Sent[] = []
  for (let next: string | undefined = target; next !== undefined; next = nextOf(pages.at(-1) as Sent)) {
    const page = await send(`GET ${next}`)
    expect(page.status).toBe(200)
    pages.push(page)
    expect(pages.length).toBeLessThan(50)
  }
  return pages
}

describe('pages', () => {
  const sorts = [
    '',
    ...['s', 'n', 'i', 'b', 'at', 'o.x', '_id', 'createdAt', 'createdBy'].flatMap((path) => [
      `sort[${path}]=1&`,
      `sort[${path}]=-1&`,
    ]),
    'sort[b]=1&sort[n]=-1&',
    'sort[b]=-1&sort[s]=1&sort[_id]=1&',
    'sort[i]=asc&sort[o.x]=desc&',
    'sort[_id]=1&sort[s]=1&',
    'sort[_id]=-1&sort[b]=-1&',
  ]
  test.each(sorts)('of a list in the order "%s" are the list', async (sort) => {
    const service = await open()
    const whole = await service.send(`GET /items?${sort}`.replace(/[?&]$/, ''))
    expect(nextOf(whole)).toBeUndefined()
    expect(idsOf(whole)).toHaveLength(items.length)
    for (const limit of [1, 3, 7]) {
      const pages = await walk(service, `/items?${sort}limit=${limit}`)
      expect(pages.flatMap(({ body }) => body)).toEqual(whole.body)
      expect(pages).toHaveLength(Math.ceil(items.length / limit))
    }
  })

  test.each<[string, readonly number[], string]>([
    ['missing first ascending, then ties by _id', [3, 8, 7, 2, 1, 4, 5, 6], 'sort[s]=1'],
    ['missing last descending, ties by _id descending', [6, 5, 4, 1, 2, 7, 8, 3], 'sort[s]=-1'],
    ['false before true', [3, 6, 7, 8, 2, 5, 1, 4], 'sort[b]=1'],
    ['what is of another type counts as missing', [3, 6, 8, 2, 5, 7, 1, 4], 'sort[n]=1&sort[_id]=1'],
    ['nested, by code point', [3, 4, 6, 8, 7, 1, 5, 2], 'sort[o.x]=1'],
  ])('%s', async (_, expected, sort) => {
    const pages = await walk(await open(), `/items?${sort}&limit=2`)
    expect(pages.flatMap(idsOf)).toEqual(expected.map(idOf))
  })

  test('go on from where they are, whatever comes and goes before', async () => {
    const service = await open({}, { '*': { read: true, create: true, delete: true } })
    const first = await service.send('GET /items?limit=3')
    for (const id of idsOf(first)) await service.send(`DELETE /items/${id}`)
    const rest = await walk(service, nextOf(first) ?? '')
    expect([first, ...rest].flatMap(idsOf)).toEqual(ids)
  })

  test('after skip go on by key', async () => {
    const pages = await walk(await open(), '/items?limit=2&skip=3&sort[_id]=1')
    expect(pages.flatMap(idsOf)).toEqual(ids.slice(3))
    for (const page of pages) expect(nextOf(page) ?? '').not.toContain('skip=')
  })

  test('show only what their caller may read', async () => {
    const service = await open({}, { '*': { read: { where: { b: true } } }, admin: { read: true } })
    expect((await walk(service, '/items?limit=1')).map(idsOf)).toEqual([[idOf(1)], [idOf(4)]])
  })
})

/** The headers that lead to the next page. */
const LEADING = ['link', 'next-cursor', 'next-skip']

describe('there is no Link, no Next-Cursor and no Next-Skip', () => {
  test.each<[string, string]>([
    ['on the last page', '?limit=8'],
    ['on a last page that is not full', '?limit=100'],
    ['behind the end', '?limit=2&skip=100'],
    ['with limit 0', '?limit=0'],
    ['without limit', ''],
    ['without limit, with skip', '?skip=1'],
    ['with a limit above 1,000', '?limit=1001'],
    ['on a page without documents', '?limit=1&q[s]="nothing"'],
  ])('%s', async (_, query) => {
    const { status, headers } = await (await open()).send(`GET /items${query}`)
    expect([status, LEADING.filter((name) => headers.has(name))]).toEqual([200, []])
  })

  test('with a limit above 1,000 where documents are left over, and one with 1,000', async () => {
    const many = [...Array(1002)].map((_, i) => ({ i }))
    const service = await openStored(configOf(), { items: many })
    const above = await service.send('GET /items?limit=1001')
    expect([above.body.length, LEADING.filter((name) => above.headers.has(name))]).toEqual([1001, []])
    const pages = await walk(service, '/items?limit=1000')
    expect(pages.map(({ body }) => body.length)).toEqual([1000, 2])
  })

  test('on a count and on a single document', async () => {
    const service = await open()
    for (const path of ['/items/count', `/items/${idOf(1)}`]) {
      const { headers } = await service.send(`GET ${path}`)
      expect([...LEADING, 'x-total-count'].filter((name) => headers.has(name))).toEqual([])
    }
  })
})

describe('a limit of the configuration', () => {
  test.each<[string, Json]>([
    ['defaultLimit', { defaultLimit: 3 }],
    ['maxLimit', { maxLimit: 3 }],
    ['both', { defaultLimit: 3, maxLimit: 5 }],
  ])('makes pages of a list without parameters: %s', async (_, limits) => {
    const service = await open({ limits })
    expect((await walk(service, '/items')).map(idsOf)).toEqual([
      ids.slice(0, 3),
      ids.slice(3, 6),
      ids.slice(6),
    ])
    const filtered = await walk(service, '/items?q[n][$exists]=true')
    expect(filtered.flatMap(idsOf)).toHaveLength(5)
  })
})

describe('a cursor', () => {
  const cursorOf = async (service: TestService, query: string): Promise<string> => {
    const next = nextOf(await service.send(`GET /items?${query}`)) ?? ''
    const cursor = new URLSearchParams(next.slice(next.indexOf('?'))).get('after')
    return cursor ?? 'none'
  }
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const decode = (text: string): unknown[] => JSON.parse(Buffer.from(text, 'base64url').toString())

  test.each<[string, string]>([
    ['another field', 'sort[i]=1'],
    ['the other direction', 'sort[n]=-1'],
    ['no order', ''],
    ['one more field', 'sort[n]=1&sort[i]=1'],
    ['the other direction of _id', 'sort[n]=1&sort[_id]=-1'],
  ])('of another order is a 400: %s', async (_, sort) => {
    const service = await open()
    const after = await cursorOf(service, 'sort[n]=1&limit=2')
    const answer = await service.send(`GET /items?limit=2&after=${after}${sort && `&${sort}`}`)
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_query'])
    expect(Object.keys(faultsOf(answer))).toEqual(['after'])
  })

  test('of the same order goes on under another filter and another limit', async () => {
    const service = await open()
    const after = await cursorOf(service, 'limit=2')
    expect(idsOf(await service.send(`GET /items?q[i]=2&limit=5&after=${after}`))).toEqual([idOf(4)])
    expect(idsOf(await service.send(`GET /items?after=${after}`))).toEqual(ids.slice(2))
  })

  test.each<[string, (text: string) => string]>([
    ['nothing', () => ''],
    ['words', () => 'page-two'],
    ['an _id', () => idOf(1)],
    ['characters of no cursor', (text) => `${text}%00`],
    ['a cut one', (text) => text.slice(0, -6)],
    ['base64 that is no UTF-8', () => Buffer.from([0xff, 0xfe, 0x80]).toString('base64url')],
    ['JSON of another form', () => encode({})],
    ['JSON null', () => encode(null)],
    ['one value too many', (text) => encode([decode(text)[0], [1, idOf(1), 1], 2])],
    ['one value too few', (text) => encode([decode(text)[0], [idOf(1)], 2])],
    ['values that are no list', (text) => encode([decode(text)[0], 'values', 2])],
    ['a value of another type', (text) => encode([decode(text)[0], ['text', idOf(1)], 2])],
    ['a value that is an object', (text) => encode([decode(text)[0], [{ $gt: 0 }, idOf(1)], 2])],
    [
      'a value beyond all numbers',
      (text) => Buffer.from(`["${decode(text)[0]}",[1e400,"${idOf(1)}"],2]`).toString('base64url'),
    ],
    ['no _id', (text) => encode([decode(text)[0], [1, null], 2])],
    ['NUL in a value', (text) => encode([decode(text)[0], [1, '\u0000'], 2])],
    ['a negative place', (text) => encode([decode(text)[0], [1, idOf(1)], -1])],
    ['a place that is no number', (text) => encode([decode(text)[0], [1, idOf(1)], '2'])],
    ['a field that may not be named', () => encode(['+_version,+_id', [1, idOf(1)], 2])],
  ])('that is none is a 400: %s', async (_, write) => {
    const service = await open()
    const after = write(await cursorOf(service, 'sort[n]=1&limit=2'))
    const answer = await service.send(`GET /items?sort[n]=1&limit=2&after=${after}`)
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_query'])
    expect(Object.keys(faultsOf(answer))).toEqual(['after'])
  })

  test('stands in place of skip, once, and on lists only', async () => {
    const service = await open()
    const after = await cursorOf(service, 'limit=2')
    for (const target of [
      `/items?limit=2&skip=1&after=${after}`,
      `/items?limit=2&skip=0&after=${after}`,
      `/items?after=${after}&after=${after}`,
      `/items?after[x]=${after}`,
      `/items/count?after=${after}`,
      `/items/${idOf(1)}?after=${after}`,
    ]) {
      const answer = await service.send(`GET ${target}`)
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_query'])
    }
  })

  test('tells nothing that its reader may not read', async () => {
    const service = await open({}, { '*': { read: { omit: ['s', 'n'] } } })
    const after = await cursorOf(service, 'sort[i]=1&limit=4')
    // What is hidden of the last document of the page.
    expect(Buffer.from(after, 'base64url').toString()).not.toMatch(/2\.5|"a"|-1/)
    expect((await service.send(`GET /items?sort[n]=1&limit=3&after=${after}`)).status).toBe(400)
  })
})

describe('a link', () => {
  test('keeps the other parameters, and takes the place of the cursor before it', async () => {
    const service = await open()
    const query = 'q[i][$gte]=0&q[s][$ne]="a%26b"&project=["s"]&sort[i]=-1&limit=1&total=true'
    const pages = await walk(service, `/items?${query}`)
    expect(pages.length).toBeGreaterThan(2)
    for (const page of pages.slice(0, -1)) {
      const params = new URLSearchParams((nextOf(page) ?? '').split('?')[1])
      expect([...params.keys()]).toEqual([
        'q[i][$gte]',
        'q[s][$ne]',
        'project',
        'sort[i]',
        'limit',
        'total',
        'after',
      ])
      expect(params.get('q[s][$ne]')).toBe('"a&b"')
    }
  })

  test.each(['%61fter', 'a%66ter', '%61%66%74%65%72'])('replaces %s too', async (name) => {
    const service = await open()
    const first = nextOf(await service.send('GET /items?limit=2')) ?? ''
    const pages = await walk(service, first.replace('after=', `${name}=`))
    expect(pages.flatMap(idsOf)).toEqual(ids.slice(2))
  })

  test('replaces an encoded skip too', async () => {
    const pages = await walk(await open(), '/items?%73kip=1&limit=3')
    expect(pages.flatMap(idsOf)).toEqual(ids.slice(1))
  })

  test('lies below the base path', async () => {
    const service = createTestService(configOf({}, { '*': { read: true, create: true } }), {
      basePath: '/api/v1/',
    })
    for (const s of ['a', 'b', 'c']) await service.send('POST /api/v1/items', { body: { s } })
    const pages = await walk(service, '/api/v1/items/?limit=2')
    expect(nextOf(pages[0] as Sent)).toMatch(/^\/api\/v1\/items\?limit=2&after=/)
    expect(pages.flatMap(({ body }) => body.map(({ s }: Json) => s))).toEqual(['a', 'b', 'c'])
  })

  test('that would be longer than a query may be goes on by skip', async () => {
    const service = await open({ limits: { queryBytes: 80 } })
    const whole = await service.send('GET /items?sort[s]=-1')
    const pages = await walk(service, '/items?sort[s]=-1&limit=3')
    expect(pages.map((page) => nextOf(page))).toEqual([
      '/items?sort[s]=-1&limit=3&skip=3',
      '/items?sort[s]=-1&limit=3&skip=6',
      undefined,
    ])
    expect(pages.flatMap(idsOf)).toEqual(idsOf(whole))
  })

  test('goes on by skip from where a cursor was, when only the next one is too long', async () => {
    const long = 'x'.repeat(200)
    const service = await openStored(configOf({ limits: { queryBytes: 250 } }), {
      items: [{ s: 'a' }, { s: 'b' }, { s: long }, { s: `${long}y` }, { s: 'z' }],
    })
    const pages = await walk(service, '/items?sort[s]=1&limit=1')
    expect(pages.flatMap(idsOf)).toEqual([1, 2, 3, 4, 5].map(idOf))
    const means = pages.map((page) => /(after|skip)=/.exec(nextOf(page) ?? '')?.[1])
    expect(means).toEqual(['after', 'after', 'skip', 'skip', undefined])
  })

  test.each([
    ['as long as a query may be', 'q[s][$ne]=abcdefghijklmnopqrstuvwxyz&limit=1'],
    ['with what links encode', 'q[s][$ne]=x{{{{||||^^^^}}}}&limit=1'],
    ['with what was encoded before', 'q[s][$ne]=x%7B%7b%5E{|}%7D%22&limit=1'],
    ['with a place before others', 'skip=0&q[s][$ne]=abcdefghijklmnopqrstuvwxyz&limit=1'],
  ])('leads to the end where its query is %s', async (_, query) => {
    const { handler } = await open({ limits: { queryBytes: query.length } })
    const get = (target: string) => handler(new Request(`http://service.test${target}`))
    const whole = await (await get('/items')).json()
    const found: unknown[] = []
    for (let next: string | undefined = `/items?${query}`; next !== undefined; ) {
      const answer = await get(next)
      expect(answer.status).toBe(200)
      found.push(...(await answer.json()))
      next = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1]
    }
    expect(found).toEqual(whole)
  })

  test.each([
    ['', 200],
    ['x', 414],
    ['&skip=1234567890123456', 200],
    ['x&skip=1', 414],
    ['skip=1', 414],
    ['&skip=12345678901234567', 414],
    ['&skip=1&skip=1', 414],
    ['&skip=1&limit=1', 414],
    ['&after=1', 414],
  ])('alone is longer than a query may be, by its skip: %s', async (more, status) => {
    const query = 'limit=1&q[s]=abc'
    const service = await open({ limits: { queryBytes: query.length } })
    expect((await service.send(`GET /items?${query}${more}`)).status).toBe(status)
  })
})

describe('total=true', () => {
  test.each<[string, string, string]>([
    ['without anything else', '', '8'],
    ['with a page', '&limit=2', '8'],
    ['with skip', '&limit=2&skip=7', '8'],
    ['behind the end', '&skip=100', '8'],
    ['with limit 0', '&limit=0', '8'],
    ['with a filter', '&q[i][$gte]=1&limit=1', '3'],
    ['with a filter that nothing meets', '&q[s]="none"', '0'],
    ['with a projection', '&project=["s"]&q[b]=true', '2'],
  ])('counts the whole filter: %s', async (_, query, total) => {
    const service = await open()
    const { status, headers, body } = await service.send(`GET /items?total=true${query}`)
    expect([status, headers.get('x-total-count')]).toEqual([200, total])
    const head = await service.send(`HEAD /items?total=true${query}`)
    expect([head.status, head.headers.get('x-total-count'), head.text]).toEqual([200, total, ''])
    expect(Array.isArray(body)).toBe(true)
  })

  test('stays on every page, and counts what is passed too', async () => {
    const pages = await walk(await open(), '/items?total=true&limit=3&sort[s]=1')
    expect(pages.map(({ headers }) => headers.get('x-total-count'))).toEqual(['8', '8', '8'])
  })

  test('counts only what its caller may read', async () => {
    const service = await open({}, { '*': { read: { where: { b: true } } } })
    expect((await service.send('GET /items?total=true&limit=1')).headers.get('x-total-count')).toBe('2')
  })

  test('is not there unless it is asked for', async () => {
    expect((await (await open()).send('GET /items?limit=2')).headers.has('x-total-count')).toBe(false)
  })

  test.each([
    'total=false',
    'total=1',
    'total=',
    'total',
    'total=TRUE',
    'total=true&total=true',
    'total[x]=true',
  ])('is the only value: %s', async (query) => {
    const answer = await (await open()).send(`GET /items?${query}`)
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_query'])
  })
})

test('HEAD answers with the Link of GET and no body', async () => {
  const service = await open()
  const [head, get] = [
    await service.send('HEAD /items?limit=2&sort[n]=-1'),
    await service.send('GET /items?limit=2&sort[n]=-1'),
  ]
  expect([head.status, head.text]).toEqual([200, ''])
  expect(nextOf(head)).toBeDefined()
  expect(nextOf(head)).toBe(nextOf(get))
})

test('links and totals may be read by pages of other origins', async () => {
  const service = await openStored(configOf(), { items }, { cors: { origins: ['https://app.test'] } })
  const { headers } = await service.send('GET /items?limit=2&total=true', {
    headers: { origin: 'https://app.test' },
  })
  const exposed = (headers.get('access-control-expose-headers') ?? '').toLowerCase().split(/\s*,\s*/)
  expect(exposed).toEqual(expect.arrayContaining(['etag', 'location', 'x-total-count', ...LEADING]))
})
