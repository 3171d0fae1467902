import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import type { StorageAdapter } from '../../src/index.js'
import { encodePath, type Sent, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'
import { followingOf, nextOf, placeOf } from '../support/walk.js'

// CONTRACT.md §3.7

type Json = { readonly [name: string]: unknown }

const opened = closeAfterEach()

const schema = {
  s: { type: 'string' },
  n: { type: 'number', index: true },
  m: { type: 'integer' },
  b: { type: 'boolean' },
  at: { type: 'timestamp', index: true },
  friend: { type: 'reference', collection: 'items' },
} as const

const permissions = { '*': { read: true } } as const

async function open(
  adapter: StorageAdapter | undefined,
  items: readonly Json[],
  limits: Json = {},
): Promise<TestService> {
  const service = await openStored(
    { collections: { items: { schema, permissions } }, limits },
    { items },
    { ...(adapter ? { adapter } : {}), authenticate: () => null },
  )
  opened.push(service)
  return service
}

const idsOf = ({ body }: Pick<Sent, 'body'>): string[] => body.map(({ _id }: { _id: string }) => _id)

/** The pages from a target on, each found by `Next-Cursor` or `Next-Skip` of the one before. */
async function walk({ send }: TestService, target: string): Promise<Sent[]> {
  const pages: Sent[] = []
  for (let next: string | undefined = target; next !== undefined; ) {
    const page: Sent = await send(`GET ${next}`)
    expect([page.status, next]).toEqual([200, next])
    pages.push(page)
    next = followingOf(next, page)
    expect(pages.length).toBeLessThan(200)
  }
  return pages
}

const headersOf = ({ headers }: Sent) =>
  ['next-cursor', 'next-skip', 'link'].filter((name) => headers.has(name))

const bytesOf = ({ headers }: Pick<Sent, 'headers'>): number =>
  [...headers].reduce((sum, [name, value]) => sum + name.length + value.length + ': \r\n'.length, 0)

/** Many with the same keys, some without, stored in another order than that of their ids. */
const TIES: readonly Json[] = Array.from({ length: 90 }, (_, i) => ({
  _id: idOf(1 + ((i * 37) % 90)),
  ...(i % 10 === 0 ? {} : { n: i % 3, m: i % 2, b: i % 4 === 0, s: 'same' }),
  at: i < 60 ? '2026-01-01T00:00:00.000Z' : '2026-01-01T00:00:00.001Z',
}))

describe.each(useStorages())('in %s', (_, create) => {
  test('pages over ties and equal timestamps show each document once, in the order of the list', async () => {
    const service = await open(create(), TIES)
    for (const sort of [
      ...['n', 'm', 'b', 's', 'at', 'createdAt', 'updatedAt', 'createdBy'].flatMap((path) => [
        `sort[${path}]=1`,
        `sort[${path}]=-1`,
      ]),
      'sort[at]=1&sort[n]=-1',
      'sort[at]=-1&sort[n]=1',
      'sort[createdAt]=-1&sort[b]=1',
      'sort[n]=1&sort[m]=1&sort[_id]=-1',
      'sort[_id]=-1',
    ]) {
      const whole = idsOf(await service.send(`GET /items?${sort}`))
      expect(new Set(whole).size).toBe(TIES.length)
      for (const limit of [11, 30]) {
        const pages = await walk(service, `/items?${sort}&limit=${limit}`)
        expect(pages.flatMap(idsOf), sort).toEqual(whole)
        expect(pages).toHaveLength(Math.ceil(TIES.length / limit))
        for (const page of pages.slice(0, -1)) expect(headersOf(page)).toEqual(['next-cursor', 'link'])
        expect(headersOf(pages.at(-1) as Sent)).toEqual([])
      }
    }
  })

  test('the pages of a long list of ids have short headers', async () => {
    const service = await open(create(), TIES)
    const ids = Array.from({ length: 95 }, (_, i) => idOf(i + 1))
    const query = `q[_id][$in]=${JSON.stringify(ids)}&sort[n]=-1&limit=40&total=true`
    const pages = await walk(service, `/items?${query}`)
    expect(pages.map(({ body }) => body.length)).toEqual([40, 40, 10])
    expect(new Set(pages.flatMap(idsOf)).size).toBe(90)
    expect(pages.map(headersOf)).toEqual([['next-cursor'], ['next-cursor'], []])
    for (const page of pages) expect(bytesOf(page)).toBeLessThan(1024)
  })

  test('so do those of a list in the order of long texts, without a cursor', async () => {
    const items = TIES.map((one, i) => ({ ...one, s: `${i % 7}${'ä'.repeat(2000)}` }))
    const service = await open(create(), items)
    const whole = idsOf(await service.send('GET /items?sort[s]=1'))
    const pages = await walk(service, '/items?skip=5&sort[s]=1&limit=40')
    expect(pages.flatMap(idsOf)).toEqual(whole.slice(5))
    expect(pages.map((page) => page.headers.get('next-skip'))).toEqual(['45', '85', null])
    expect(pages.map((page) => nextOf(page))).toEqual([
      '/items?sort[s]=1&limit=40&skip=45',
      '/items?sort[s]=1&limit=40&skip=85',
      undefined,
    ])
    for (const page of pages) expect(bytesOf(page)).toBeLessThan(1024)
  })

  test('the client and its pages lead through both', async () => {
    const items = TIES.map((one, i) => ({ ...one, s: `${i % 7}${'x'.repeat(i % 7 === 3 ? 2000 : 1)}` }))
    const { handler } = await open(create(), items)
    const queries: string[] = []
    const client = createClient<{
      items: { document: { _id: string; s: string }; create: object; update: object }
    }>((request: Request) => {
      queries.push(decodeURIComponent(new URL(request.url).search))
      return handler(request)
    })
    const found: string[] = []
    const q = { _id: { $in: Array.from({ length: 95 }, (_, i) => idOf(i + 1)) } }
    const asked = { q, sort: { s: 1 }, skip: 4, limit: 20, project: ['s'] } as const
    for await (const page of client.collection('items').pages(asked as never))
      found.push(...page.map(({ _id }) => _id))
    const whole = await client.collection('items').list({ q, sort: { s: 1 } } as never)
    expect(found).toEqual(whole.slice(4).map(({ _id }) => _id))
    expect(queries.slice(0, -1).map((query) => /(after|skip)=/.exec(query)?.[1])).toEqual([
      'skip',
      'after',
      'skip',
      'after',
      'after',
    ])
  })
})

describe('Next-Cursor', () => {
  /** A text with which the cursor of the first of two documents has so many bytes. */
  const textFor = (bytes: number): string => {
    const rest = JSON.stringify(['+s,+_id', ['', idOf(1)], 1])
    return 'a'.repeat(Math.floor((bytes * 3) / 4) - rest.length)
  }

  test.each([
    [1023, 'next-cursor'],
    [1024, 'next-cursor'],
    [1026, 'next-skip'],
    [4000, 'next-skip'],
  ])('of %i bytes', async (bytes, name) => {
    const service = await open(undefined, [{ s: textFor(bytes) }, { s: 'b' }])
    const first = await service.send('GET /items?sort[s]=1&limit=1')
    expect(headersOf(first)).toEqual([name, 'link'])
    if (name === 'next-cursor') expect(first.headers.get(name)).toHaveLength(bytes)
    const pages = await walk(service, '/items?sort[s]=1&limit=1')
    expect(pages.flatMap(idsOf)).toEqual([idOf(1), idOf(2)])
  })

  test.each([
    ['with room for it', 0, 'next-cursor'],
    ['a byte short of it', -1, 'next-skip'],
  ])('in a query %s', async (_, more, name) => {
    const asked = 'sort[n]=1&limit=2'
    const items = [1, 2, 3, 4, 5].map((n) => ({ n }))
    const cursor = (await (await open(undefined, items)).send(`GET /items?${asked}`)).headers.get(
      'next-cursor',
    )
    const queryBytes = `${asked}&after=${cursor}`.length + more
    const service = await open(undefined, items, { queryBytes })
    const pages = await walk(service, `/items?${asked}`)
    expect(pages.map(headersOf)).toEqual([[name, 'link'], [name, 'link'], []])
    expect(pages.flatMap(idsOf)).toEqual(items.map((_, i) => idOf(i + 1)))
  })

  test('is that of GET by HEAD, beside a total, and with documents in the place of references', async () => {
    const service = await open(undefined, [{ friend: idOf(2) }, { friend: idOf(3) }, {}])
    for (const query of ['limit=1', 'limit=1&total=true', 'limit=1&expand=["friend"]&project=["friend"]']) {
      const got = await service.send(`GET /items?${query}`)
      const head = await service.send(`HEAD /items?${query}`)
      expect(placeOf(got)).toMatch(/^after=/)
      expect([placeOf(head), nextOf(head)]).toEqual([placeOf(got), nextOf(got)])
      const pages = await walk(service, `/items?${query}`)
      expect(pages.flatMap(idsOf)).toEqual([idOf(1), idOf(2), idOf(3)])
    }
  })
})

describe('Next-Skip', () => {
  const items = Array.from({ length: 7 }, (_, n) => ({ n }))

  test.each([
    ['limit=2', ['2', '4', '6', null]],
    ['limit=2&skip=3', ['5', null]],
    ['skip=3&limit=2', ['5', null]],
    ['skip=0&limit=3', ['3', '6', null]],
  ])('is the whole skip of the next page: %s', async (query, expected) => {
    const service = await open(undefined, items, { queryBytes: 60 })
    const pages = await walk(service, `/items?${query}&sort[n]=1`)
    expect(pages.map(({ headers }) => headers.get('next-skip'))).toEqual(expected)
  })

  test('counts what was passed by a cursor, too', async () => {
    const long = [...items.slice(0, 5), { n: 5, s: 'x'.repeat(2000) }, { n: 6, s: 'y' }]
    const service = await open(undefined, long, {})
    const pages = await walk(service, '/items?sort[s]=1&limit=2&skip=0')
    expect(pages.map(({ headers }) => headers.get('next-skip'))).toEqual([null, null, '6', null])
    expect(new Set(pages.flatMap(idsOf)).size).toBe(7)
  })

  test.each(['first', 'between', 'last'])('does not count for queryBytes, %s', async (place) => {
    const asked = ['limit=2', 'q[s][$ne]=abc']
    const service = await open(undefined, items, { queryBytes: asked.join('&').length })
    const at = { first: 0, between: 1, last: 2 }[place] ?? 0
    const query = [...asked.slice(0, at), 'skip=4', ...asked.slice(at)].join('&')
    const page = await service.send(`GET /items?${query}`)
    expect([page.status, page.headers.get('next-skip')]).toEqual([200, '6'])
    const twice = await service.send(`GET /items?skip=4&${query}`)
    expect(twice.status).toBe(414)
  })
})

describe('Link', () => {
  test.each([
    [2048, ['next-cursor', 'link']],
    [2049, ['next-cursor']],
  ])('of %i bytes', async (bytes, expected) => {
    const service = await open(undefined, [{}, {}, {}])
    const first = await service.send('GET /items?q[s][$ne]=a&limit=1')
    const more = bytes - (first.headers.get('link') ?? '').length
    const query = `q[s][$ne]=a${'b'.repeat(more)}&limit=1`
    const padded = await service.send(`GET /items?${query}`)
    expect(headersOf(padded)).toEqual(expected)
    if (expected.includes('link')) expect(padded.headers.get('link')).toHaveLength(bytes)
    expect((await walk(service, `/items?${query}`)).flatMap(idsOf)).toEqual([1, 2, 3].map(idOf))
  })

  test('beside the longest cursor leaves room in a buffer of 4 kB for all other headers', async () => {
    const rest = JSON.stringify(['+s,+_id', ['', idOf(1)], 1]).length
    const items = [{ s: 'a'.repeat(768 - rest) }, { s: 'b' }]
    const service = await openStored(
      { collections: { items: { schema, permissions } } },
      { items },
      { authenticate: () => null, cors: { origins: ['https://app.test'] } },
    )
    opened.push(service)
    const ask = async (text: string) => {
      const query = `q[s][$ne]=${text}&sort[s]=1&limit=1&total=true`
      return service.send(`GET /items?${query}`, { headers: { origin: 'https://app.test' } })
    }
    const short = (await ask('x')).headers.get('link') ?? ''
    const answer = await ask('x'.repeat(1 + 2048 - short.length))
    const [cursor, link] = ['next-cursor', 'link'].map((name) => answer.headers.get(name)?.length)
    expect([cursor, link]).toEqual([1024, 2048])
    expect(bytesOf(answer)).toBeLessThan(4096)
  })

  test('is the same for a query that was kept', async () => {
    const service = await open(undefined, [{ n: 1 }, { n: 2 }, { n: 3 }])
    const ask = async () => {
      const answer = await service.handler(
        new Request(`http://service.test${encodePath('/items?sort[n]=1&limit=1')}`),
      )
      return [...answer.headers].filter(([name]) => /^(?:link|next-.*)$/.test(name))
    }
    const first = await ask()
    expect(first.map(([name]) => name)).toEqual(['link', 'next-cursor'])
    for (let i = 0; i < 4; i++) expect(await ask()).toEqual(first)
  })
})
