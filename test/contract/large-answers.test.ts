import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { StorageAdapter } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { KIB, MIB, useSmallerBounds } from '../support/bounds.js'
import { createCuttingAdapter } from '../support/cutting-adapter.js'
import { encodePath, type TestService } from '../support/service.js'
import { closeAfterEach, type Storage, useStorages } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'
import { nextOf } from '../support/walk.js'

// CONTRACT.md §6, "Scheduling"

type Json = { readonly [name: string]: unknown }

const storages: readonly Storage[] = [...useStorages(), ['a storage that cuts', () => createCuttingAdapter()]]

const opened = closeAfterEach()
useSmallerBounds()

const text = { type: 'string' }
const config = {
  collections: {
    things: {
      schema: {
        n: { type: 'integer', index: true },
        m: { type: 'integer' },
        s: text,
        hidden: text,
        author: { type: 'reference', collection: 'people' },
        readers: { type: 'array', items: { type: 'reference', collection: 'people' } },
        o: {
          type: 'object',
          properties: { readers: { type: 'array', items: { type: 'reference', collection: 'people' } } },
        },
      },
      permissions: { '*': { read: { omit: ['hidden'] } } },
    },
    people: {
      schema: { name: text, isHidden: { type: 'boolean' } },
      permissions: { '*': { read: { where: { isHidden: { $ne: true } } } } },
    },
  },
}

async function open(
  adapter: StorageAdapter,
  stored: { readonly [collection: string]: readonly Json[] },
  limits: Json = {},
): Promise<TestService> {
  const service = await openStored({ ...config, limits }, stored, { adapter, authenticate: () => null })
  opened.push(service)
  return service
}

const ask = ({ handler }: TestService, path: string, init: RequestInit = {}): Promise<Response> =>
  handler(new Request(`http://service.test${encodePath(path)}`, init))

/** Some of 40 to 200 KiB, in an order of their own. */
const things = Array.from({ length: 45 }, (_, i) => ({
  n: (i * 7) % 45,
  ...(i % 5 === 0 ? {} : { m: i % 4 }),
  s: String(i).repeat(((i % 5) + 1) * 20 * KIB),
}))

const namesOf = (documents: readonly { readonly n: number }[]): readonly number[] =>
  documents.map(({ n }) => n)

const expectedNames = (key: (thing: Json) => number): readonly number[] =>
  things
    .map((thing, i) => [thing, i] as const)
    .sort(([a, i], [b, j]) => key(a) - key(b) || i - j)
    .map(([{ n }]) => n)

describe.each(storages)('a page of large documents, in %s,', (_, create) => {
  test.each<[string, (thing: Json) => number]>([
    ['', () => 0],
    ['sort[n]=1&', ({ n }) => Number(n)],
    ['sort[m]=1&', ({ m = -1 }) => Number(m)],
  ])('is complete and has its Link and its total: %s', async (sort, key) => {
    const service = await open(create(), { things })
    const names = expectedNames(key)
    const pages: number[][] = []
    let path: string | undefined = `/things?${sort}limit=20&total=true`
    while (path !== undefined) {
      const sent = await service.send(`GET ${path}`)
      expect(sent.headers.get('x-total-count')).toBe('45')
      for (const { n, s } of sent.body) expect(s.length).toBe(things.find((thing) => thing.n === n)?.s.length)
      pages.push([...namesOf(sent.body)])
      path = nextOf(sent)
    }
    expect(pages.map(({ length }) => length)).toEqual([20, 20, 5])
    expect(pages.flat()).toEqual(names)
    // The largest page has no next one here, and a list without limit is the same.
    const whole = await service.send(`GET /things?${sort}limit=1000`)
    expect([namesOf(whole.body), nextOf(whole)]).toEqual([names, undefined])
    const list = await service.send(`GET /things?${sort}`.replace(/[?&]$/, ''))
    expect(list.text === whole.text).toBe(true)
  })

  test('has them by HEAD too', async () => {
    const service = await open(create(), { things })
    const got = await service.send('GET /things?limit=20&total=true')
    const head = await service.send('HEAD /things?limit=20&total=true')
    expect([head.status, head.text, nextOf(head)]).toEqual([200, '', nextOf(got)])
    expect(head.headers.get('x-total-count')).toBe('45')
  })

  test('is projected and expanded like any other', async () => {
    const service = await open(create(), {
      things: things.map((thing) => ({ ...thing, author: idOf(1) })),
      people: [{ name: 'ann' }],
    })
    const projected = await service.send('GET /things?project=["n"]&limit=30')
    expect(projected.body).toEqual(things.slice(0, 30).map(({ n }, i) => ({ _id: idOf(i + 1), n })))
    const { body } = await service.send('GET /things?project=["author"]&expand=["author"]&limit=30')
    expect(body).toHaveLength(30)
    for (const { author } of body) expect(author).toMatchObject({ _id: idOf(1), name: 'ann' })
  })
})

describe('what is held of a list', () => {
  /** Reads an answer bit by bit; the most bytes of documents that were handed out and not yet read. */
  async function mostHeld(adapter: ReturnType<typeof createCuttingAdapter>, response: Response) {
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let read = 0
    let most = 0
    let piece = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return { most, piece, read }
      read += value.length
      piece = Math.max(piece, value.length)
      most = Math.max(most, adapter.handedOut - read)
    }
  }

  test.each(['/things', '/things?limit=1000', '/things?sort[n]=1', '/things?sort[m]=-1&limit=1000'])(
    'are a few MiB: %s',
    async (path) => {
      const adapter = createCuttingAdapter()
      const large = Array.from({ length: 60 }, (_, n) => ({ n, m: n % 3, s: 'x'.repeat(250 * KIB) }))
      const service = await open(adapter, { things: large })
      adapter.handedOut = 0
      const { most, piece, read } = await mostHeld(adapter, await ask(service, path))
      expect(read).toBeGreaterThan(60 * 250 * KIB)
      expect(most).toBeLessThan(4 * MIB)
      expect(adapter.most).toBeLessThanOrEqual(MIB)
      expect(piece).toBeLessThan(128 * KIB)
    },
  )

  test('is one document where that is larger', async () => {
    const adapter = createCuttingAdapter()
    const large = Array.from({ length: 8 }, (_, n) => ({ n, s: 'x'.repeat(3 * MIB) }))
    const service = await open(adapter, { things: large })
    for (const path of ['/things', '/things?limit=1000']) {
      adapter.handedOut = 0
      adapter.most = 0
      const { most } = await mostHeld(adapter, await ask(service, path))
      expect(most).toBeLessThan(8 * MIB)
      expect(adapter.most).toBeLessThan(4 * MIB)
    }
  })

  test('does not grow with what is hidden, nor does that decide how an answer is sent', async () => {
    const adapter = createCuttingAdapter()
    const large = Array.from({ length: 30 }, (_, n) => ({ n, hidden: 'x'.repeat(300 * KIB) }))
    const service = await open(adapter, { things: large })
    const server = createServer(toNodeHandler(service.handler)).listen(0, '127.0.0.1')
    try {
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      for (const path of ['/things?limit=20', '/things']) {
        adapter.most = 0
        const [message] = (await once(get({ port, path }), 'response')) as [IncomingMessage]
        message.resume()
        await once(message, 'end')
        expect(message.headers['content-length'], path).toBeDefined()
        expect(adapter.most).toBeLessThanOrEqual(MIB)
      }
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test('is read with few questions', async () => {
    const adapter = createCuttingAdapter()
    const large = Array.from({ length: 400 }, (_, n) => ({ n, s: 'x'.repeat(25 * KIB) }))
    const service = await open(adapter, { things: large })
    for (const path of ['/things', '/things?limit=1000']) {
      adapter.asked.length = 0
      expect((await service.send(`GET ${path}`)).body).toHaveLength(400)
      // Ten MiB of documents, one MiB at once.
      expect(adapter.asked.length, path).toBeLessThan(30)
    }
  })
})

describe('a page of large documents that change while it is sent', () => {
  const large = Array.from({ length: 20 }, (_, n) => ({ n, s: 'x'.repeat(300 * KIB) }))

  test('leaves out what is gone, and goes on behind what is still there', async () => {
    const adapter = createCuttingAdapter()
    const service = await open(adapter, { things: large })
    adapter.asked.length = 0
    adapter.before = async () => {
      // The first question has told the ids of all.
      if (adapter.asked.length !== 2) return
      for (const n of [7, 9, 10]) {
        const field = { path: '_id', type: 'string', each: false } as const
        await adapter.write([{ in: 'things', remove: { kind: 'eq', field, value: idOf(n) } }], {})
      }
    }
    const page = await service.send('GET /things?limit=10')
    expect(namesOf(page.body)).toEqual([0, 1, 2, 3, 4, 5, 7])
    const next = await service.send(`GET ${nextOf(page)}`)
    expect(namesOf(next.body)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
  })

  test('breaks where storage does, and never passes for whole', async () => {
    const adapter = createCuttingAdapter()
    const service = await open(adapter, { things: large })
    adapter.asked.length = 0
    adapter.before = () => {
      if (adapter.asked.length === 5) throw new Error('broken')
    }
    const response = await ask(service, '/things?limit=20')
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })
})

describe.each(storages)('expand, in %s,', (_, create) => {
  const people = [{ name: 'ann' }, { name: 'bob', isHidden: true }, { name: 'eve' }]
  const [ANN, BOB, EVE, GONE] = [idOf(1), idOf(2), idOf(3), idOf(9)]

  /** `+` for what was expanded, else `-`. */
  const signs = (values: readonly unknown[]): string =>
    values.map((value) => (typeof value === 'string' ? '-' : '+')).join('')

  test('ends under each array of each document at limits.expanded, repeats counted', async () => {
    const service = await open(
      create(),
      {
        people,
        things: [
          { n: 0, author: ANN, readers: [ANN, ANN, EVE, ANN, EVE], o: { readers: [EVE, ANN, ANN, ANN] } },
          { n: 1, author: EVE, readers: [BOB, GONE, ANN, BOB, EVE, EVE, ANN] },
          { n: 2, readers: [ANN, EVE] },
          { n: 3, readers: [] },
        ],
      },
      { expanded: 3 },
    )
    const query = 'expand=["author","readers","o.readers"]'
    const { body, text: list } = await service.send(`GET /things?${query}`)
    expect(body.map(({ readers }: { readers: unknown[] }) => signs(readers))).toEqual([
      '+++--',
      '--+-++-',
      '++',
      '',
    ])
    expect(signs(body[0].o.readers)).toBe('+++-')
    expect(body.map(({ author }: Json) => (author as Json | undefined)?.name)).toEqual([
      'ann',
      'eve',
      undefined,
      undefined,
    ])
    expect(body[1].readers[6]).toBe(ANN)
    const alone = await Promise.all(
      [1, 2, 3, 4].map(async (n) => (await service.send(`GET /things/${idOf(n)}?${query}`)).text),
    )
    expect(list).toBe(`[${alone.join()}]`)
  })

  test('is 100 without the limit', async () => {
    const service = await open(create(), { people, things: [{ readers: Array(2600).fill(ANN) }] })
    const { body } = await service.send(`GET /things/${idOf(1)}?expand=["readers"]`)
    expect(signs(body.readers)).toBe('+'.repeat(100) + '-'.repeat(2500))
  })

  test('gives large documents whole', async () => {
    const large = Array.from({ length: 20 }, (_, i) => ({ name: String(i).repeat(80 * KIB) }))
    const readers = Array.from({ length: 60 }, (_, i) => idOf(((i * 7) % 20) + 1))
    const service = await open(create(), { people: large, things: [{ readers }, { readers }] })
    for (const path of ['/things?expand=["readers"]', '/things?limit=5&expand=["readers"]']) {
      const { body } = await service.send(`GET ${path}`)
      for (const thing of body) {
        expect(thing.readers.map(({ _id }: Json) => _id)).toEqual(readers)
        for (const [i, { name }] of thing.readers.entries())
          expect(name.length).toBe(large[(i * 7) % 20]?.name.length)
      }
    }
  })
})

test('a document that is named many times is held and written once', async () => {
  const adapter = createCuttingAdapter()
  const id = idOf(1)
  const readers = Array.from({ length: 2600 }, () => id)
  const people = [{ name: 'x'.repeat(200 * KIB) }]
  const service = await open(adapter, { people, things: [{ readers }] }, { expanded: 10_000 })
  adapter.asked.length = 0
  adapter.handedOut = 0
  const response = await ask(service, `/things/${id}?expand=["readers"]`)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let read = 0
  while (read < 20 * MIB) read += (await reader.read()).value?.length ?? Number.POSITIVE_INFINITY
  await reader.cancel()
  expect(read).toBeLessThan(21 * MIB)
  expect(adapter.asked).toEqual(['things', 'people'])
  // The names themselves are not smaller here.
  expect(adapter.handedOut).toBeLessThan(MIB + JSON.stringify(readers).length)
})

test('of many large documents in the place of references few are held', async () => {
  const adapter = createCuttingAdapter()
  const people = Array.from({ length: 50 }, (_, i) => ({ name: String(i).repeat(100 * KIB) }))
  const readers = people.map((_, i) => idOf(i + 1))
  const service = await open(adapter, { people, things: [{ readers }, { readers: [...readers].reverse() }] })
  adapter.most = 0
  adapter.asked.length = 0
  const { body } = await service.send('GET /things?expand=["readers"]')
  expect(body[1].readers.map(({ _id }: Json) => _id)).toEqual([...readers].reverse())
  expect(adapter.most).toBeLessThanOrEqual(MIB)
  // Ten MiB of documents twice, one MiB at once.
  expect(adapter.asked.length).toBeLessThan(40)
})
