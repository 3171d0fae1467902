import { expect, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §7, "The client"

/** A client of a collection with so many documents, which counts how often it lists them. */
async function serve(documents: number, limits: object = {}) {
  const config = {
    collections: {
      notes: {
        changes: true,
        schema: { n: { type: 'integer' }, text: { type: 'string' } },
        permissions: { '*': { read: true, create: true, delete: true } },
      },
    },
    limits,
  } as const
  const { handler } = createTestService(config)
  let lists = 0
  const client = createClient<typeof config>(async (request: Request) => {
    if (request.method === 'GET' && new URL(request.url).pathname === '/notes') lists += 1
    return handler(request)
  })
  const notes = client.collection('notes')
  for (let n = 0; n < documents; n += 1000)
    await notes.createMany(Array.from({ length: Math.min(1000, documents - n) }, (_, i) => ({ n: n + i })))
  return { handler, notes, lists: () => lists }
}

const SORT = { n: 'asc' } as const

test('a list grows as far as the service would let it, which is asked once it is full', async () => {
  const { handler, notes, lists } = await serve(1, { defaultLimit: 3 })
  const live = notes.live({ sort: SORT })
  const next = async () => (await live.next()).value?.map(({ n }) => n)
  expect(await next()).toEqual([0])
  const seen: unknown[] = []
  for (let n = 1; n < 6; n++) {
    await notes.create({ n })
    seen.push(await next())
  }
  expect(seen).toEqual([
    [0, 1],
    [0, 1, 2],
    [0, 1, 2],
    [0, 1, 2],
    [0, 1, 2],
  ])
  // The first one, two that grew, and the one that was cut: from then on it is known.
  expect(lists()).toBe(4)
  await notes.create({ n: -1 })
  expect(await next()).toEqual([-1, 0, 1])
  expect(lists()).toBe(4)
  await live.return()
  await handler.close()
})

test('a list that was cut where no cursor leads on is known, too', async () => {
  const { handler, notes, lists } = await serve(0, { defaultLimit: 2 })
  for (const n of [1, 2, 3]) await notes.create({ n, text: 'x'.repeat(2000) })
  const live = notes.live({ sort: { text: 'asc' } })
  expect((await live.next()).value?.map(({ n }) => n)).toEqual([1, 2])
  await notes.create({ n: 0, text: 'a' })
  expect((await live.next()).value?.map(({ n }) => n)).toEqual([0, 1])
  expect(lists()).toBe(1)
  await live.return()
  await handler.close()
})

test('a list that has shrunk is not asked for again before it is longer than ever', async () => {
  const { handler, notes, lists } = await serve(3)
  const live = notes.live({ sort: SORT })
  const [first] = (await live.next()).value ?? []
  await notes.delete(first?._id ?? '')
  expect((await live.next()).value).toHaveLength(2)
  await notes.create({ n: 9 })
  expect((await live.next()).value).toHaveLength(3)
  expect(lists()).toBe(1)
  await live.return()
  await handler.close()
})

test('a list of more than 1,000 documents, which never says that it was cut, stays full', async () => {
  const { handler, notes } = await serve(1502, { defaultLimit: 1500, bulk: 1000 })
  const live = notes.live({ sort: SORT })
  const [first] = (await live.next()).value ?? []
  await notes.delete(first?._id ?? '')
  const now = (await live.next()).value
  expect([now?.length, now?.at(-1)?.n]).toEqual([1500, 1500])
  await notes.create({ n: -1 })
  const then = (await live.next()).value
  expect([then?.length, then?.at(-1)?.n]).toEqual([1500, 1499])
  await live.return()
  await handler.close()
})
