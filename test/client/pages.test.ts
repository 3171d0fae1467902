import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createClient, type NextPage, type Page } from '../../src/client/client.js'
import { createTestService } from '../support/service.js'
import { caught, createSpiedClient } from './support/service.js'

// CONTRACT.md §7, "The client"

/** A client of 250 numbered notes, and the requests that it sends. */
async function serve(limits: object = {}, count = 250) {
  const config = {
    collections: {
      notes: {
        schema: { n: { type: 'integer' }, text: { type: 'string' } },
        permissions: { '*': { read: true, create: true } },
      },
      secrets: { schema: { n: { type: 'integer' } }, permissions: { '*': { create: true } } },
    },
    limits: { bulk: 1000, ...limits },
  } as const
  const { handler } = createTestService(config)
  const lines: string[] = []
  const client = createClient<typeof config>(async (request: Request) => {
    lines.push(`${request.method} ${new URL(request.url).search}`)
    return handler(request)
  })
  const notes = client.collection('notes')
  const bodies = Array.from({ length: count }, (_, n) => ({ n }))
  const created = count > 0 ? await notes.createMany(bodies) : []
  lines.length = 0
  return { client, notes, ids: created.map(({ _id }) => _id), lines }
}

describe('a page', () => {
  test('has documents, their total and the place of the next page', async () => {
    const { notes, lines } = await serve()
    const query = { q: { n: { $lt: 5 } }, sort: { n: -1 }, project: ['n'], limit: 2, total: true } as const
    const numbers: number[][] = []
    let next: NextPage | undefined = { after: undefined, skip: undefined }
    while (next) {
      const page: Page<{ readonly n?: number }, true> = await notes.page({ ...query, ...next })
      expect(page.total).toBe(5)
      numbers.push(page.items.map(({ n }) => Number(n)))
      next = page.next
    }
    expect(numbers).toEqual([[4, 3], [2, 1], [0]])
    expect(lines.map((line) => /after=|skip=/.exec(line)?.[0])).toEqual([undefined, 'after=', 'after='])
  })

  test('has no total that was not requested', async () => {
    const { notes, lines } = await serve()
    for (const options of [{}, { total: false }] as const) {
      const { total, next, items } = await notes.page(options)
      expect([total, next, items.length]).toEqual([undefined, undefined, 250])
    }
    expect(lines.filter((line) => line.includes('total'))).toEqual([])
  })

  test('leads on from a page that was skipped to, by a cursor', async () => {
    const { notes } = await serve({}, 4)
    const query = { sort: { n: 1 }, skip: 1, limit: 1 } as const
    const first = await notes.page(query)
    const second = await notes.page({ ...query, ...first.next })
    expect([first.items, second.items]).toMatchObject([[{ n: 1 }], [{ n: 2 }]])
    expect(first.next).toEqual({ after: expect.any(String), skip: undefined })
  })

  test('leads on where no cursor does', async () => {
    const { notes } = await serve({}, 0)
    for (const n of [1, 2, 3]) await notes.create({ n, text: 'x'.repeat(2000) })
    const query = { sort: { text: 1 }, limit: 1 } as const
    const first = await notes.page(query)
    expect(first.next).toEqual({ after: undefined, skip: 1 })
    expect((await notes.page({ ...query, ...first.next })).items).toMatchObject([{ n: 2 }])
  })

  test.each([
    [{ defaultLimit: 20 }, 250],
    [{ maxLimit: 100 }, 100],
    [{ defaultLimit: 20, maxLimit: 100 }, 20],
  ])('is as large as the service allows: %j', async (limits, size) => {
    const { notes } = await serve(limits)
    const { items, next } = await notes.page()
    expect([items.length, next === undefined]).toEqual([size, size === 250])
  })

  test('has a limit from which the service tells the next page', async () => {
    const { notes, lines } = await serve()
    expect(await caught(notes.page({ limit: 1001 }))).toEqual(new TypeError('limit cannot be 1001'))
    expect(lines).toEqual([])
  })
})

describe('documents by their ids', () => {
  test('come in the order of the ids, in few requests', async () => {
    const { notes, ids, lines } = await serve()
    const asked = [...ids].reverse()
    expect((await notes.getMany(asked)).map((note) => note?._id)).toEqual(asked)
    expect(lines).toHaveLength(3)
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(8192)
  })

  test('are undefined where there is no readable document, and may repeat', async () => {
    const { client, notes, ids } = await serve()
    const [first = '', second = ''] = ids
    const asked = [second, randomUUID(), first, second.toUpperCase(), 'no id', '', second]
    const found = await notes.getMany(asked, { project: ['n'] })
    const [one, two] = [
      { _id: second, n: 1 },
      { _id: first, n: 0 },
    ]
    expect(found).toEqual([one, undefined, two, one, undefined, undefined, one])
    expect(await notes.getMany([])).toEqual([])
    const secrets = client.collection('secrets')
    expect(await caught(secrets.getMany([first]))).toMatchObject({ status: 401 })
  })

  test('are expanded', async () => {
    const { client } = createSpiedClient()
    const { user } = await client.auth.register({ email: 'ann@a.b', password: 'secret', name: 'Ann' })
    const notes = client.collection('notes')
    const { _id } = await notes.create({ title: 'One', author: user._id })
    const [found] = await notes.getMany([_id], { expand: ['author'] })
    expect(found?.author).toEqual(user)
  })

  test.each([
    { values: 30 },
    { queryBytes: 500 },
    { maxLimit: 7 },
    { defaultLimit: 7 },
    { defaultLimit: 7, maxLimit: 90, values: 64 },
  ])('come whatever the service limits: %j', async (limits) => {
    const { notes, ids } = await serve(limits)
    expect((await notes.getMany(ids)).map((note) => note?._id)).toEqual(ids)
  })

  test('come although a proxy rejects long URLs', async () => {
    const { notes: served, ids } = await serve({}, 20)
    const documents = await served.list()
    const notes = createClient(async ({ url }) => {
      if (url.length > 300) return new Response('<h1>Too long</h1>', { status: 431 })
      const asked = decodeURIComponent(url)
      return Response.json(documents.filter(({ _id }) => asked.includes(_id)))
    }).collection('notes')
    expect((await notes.getMany(ids)).map((note) => note?._id)).toEqual(ids)
  })

  test('are not requested again if the service rejects the request for another reason', async () => {
    const { notes, ids, lines } = await serve()
    const options = { project: ['m'] } as object
    expect(await caught(notes.getMany(ids, options))).toMatchObject({ code: 'invalid_query' })
    expect(lines).toHaveLength(2)
  })
})
