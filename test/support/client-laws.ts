import { randomUUID } from 'node:crypto'
import { expect, vi } from 'vitest'
import type * as ClientModule from '../../src/client/client.js'
import { createTestService } from './service.js'

// CONTRACT.md §7, "The client"

/** The client, or a mutant of it. */
type Client = Pick<typeof ClientModule, 'createClient' | 'retry'>

const everything = { read: true, create: true, update: true, delete: true }

const config = {
  collections: {
    people: { schema: { name: { type: 'string' } }, permissions: { '*': everything } },
    notes: {
      changes: true,
      schema: {
        n: { type: 'integer', maximum: 1000 },
        text: { type: 'string' },
        by: { type: 'reference', collection: 'people' },
      },
      permissions: { '*': everything },
    },
    closed: { schema: { n: { type: 'integer' } }, permissions: { '*': { read: true, update: true } } },
  },
  limits: { bulk: 1000, values: 30 },
} as const

/** A client of numbered notes, the requests that it sends, and another client, whose requests nobody counts. */
async function open({ createClient }: Client, count: number) {
  const { handler } = createTestService(config)
  const lines: string[] = []
  const target = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    lines.push(decodeURIComponent(`${request.method} ${pathname}${search}`))
    return handler(request)
  }
  const client = createClient<typeof config>(target)
  const others = createClient<typeof config>((request: Request) => handler(request))
  const bodies = Array.from({ length: count }, (_, n) => ({ n }))
  const created = count > 0 ? await others.collection('notes').createMany(bodies) : []
  return { client, notes: client.collection('notes'), others, lines, created, handler }
}

const codeOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    ({ code, name }) => code ?? name,
  )

/** What has to hold of `page`. Throws where it does not. */
export async function checkPages(client: Client): Promise<void> {
  const { notes, others, lines } = await open(client, 5)
  const query = { q: { n: { $gt: 0 } }, sort: { n: -1 }, limit: 3, total: true } as const
  const first = await notes.page(query)
  expect([first.total, first.items.map(({ n }) => n)]).toEqual([4, [4, 3, 2]])
  expect(first.next).toEqual({ after: expect.any(String), skip: undefined })
  const second = await notes.page({ ...query, ...first.next })
  expect([second.total, second.items.map(({ n }) => n), second.next]).toEqual([4, [1], undefined])
  expect((await notes.page({ limit: 2 })).total).toBe(undefined)
  expect(lines.map((line) => line.includes('total'))).toEqual([true, true, false])
  expect(await codeOf(notes.page({ limit: 1001 }))).toBe('TypeError')
  // A text that no cursor could hold.
  for (const n of [100, 101]) await others.collection('notes').create({ n, text: 'x'.repeat(2000) })
  const long = { q: { n: { $gte: 100 } }, sort: { text: 1 }, limit: 1 } as const
  const { items, next } = await notes.page(long)
  expect(next).toEqual({ after: undefined, skip: 1 })
  expect([...items, ...(await notes.page({ ...long, ...next })).items].map(({ n }) => n)).toEqual([100, 101])
}

/** What has to hold of `getMany`. Throws where it does not. */
export async function checkMany(client: Client): Promise<void> {
  const { notes, created } = await open(client, 70)
  // The service allows 30 of them in one request.
  const all = created.map(({ _id }) => _id).reverse()
  expect((await notes.getMany(all)).map((note) => note?._id)).toEqual(all)
  const [one = '', two = ''] = all
  const asked = [two, randomUUID(), one.toUpperCase(), two]
  const found = await notes.getMany(asked, { project: ['n'] })
  expect(found.map((note) => note && [note._id, Object.keys(note).length])).toEqual([
    [two, 2],
    undefined,
    [one, 2],
    [two, 2],
  ])
  expect(await notes.getMany([])).toEqual([])
  expect(await codeOf(notes.getMany(all.slice(0, 20), { project: ['m'] } as object))).toBe('invalid_query')
}

/** What has to hold of `upsert`. Throws where it does not. */
export async function checkUpsert(client: Client): Promise<void> {
  const { client: here, notes, others } = await open(client, 0)
  const id = randomUUID()
  const created = await notes.upsert(id, { n: 1, text: 'a' })
  expect(created).toMatchObject({ _id: id, n: 1 })
  const replaced = await notes.upsert(id, { n: 2 })
  expect(replaced).toMatchObject({ _id: id, n: 2 })
  expect(replaced.text).toBe(undefined)
  await others.collection('notes').update(id, { n: 3 })
  expect(await codeOf(notes.upsert(replaced, { n: 4 }))).toBe('precondition_failed')
  expect(await codeOf(notes.upsert(id, { n: 1001 }))).toBe('validation_failed')
  expect(await notes.get(id)).toMatchObject({ n: 3 })
  expect(await codeOf(here.collection('closed').upsert(randomUUID(), { n: 1 }))).toBe('unauthenticated')
}

const nextOf = async <T>(lists: AsyncIterator<T, unknown>): Promise<T> => {
  const { value, done } = await lists.next()
  if (done) throw new Error('the list has ended')
  return value as T
}

/** What has to hold of `live` with `project` and `expand`. Throws where it does not. */
export async function checkShown(client: Client): Promise<void> {
  const { notes, others, lines, handler } = await open(client, 0)
  const [write, people] = [others.collection('notes'), others.collection('people')]
  const ann = await people.create({ name: 'Ann' })
  const a = await write.create({ text: 'a', n: 1, by: ann._id })
  const live = notes.live({ project: ['text'], sort: { n: 1 }, limit: 9 })
  expect(await nextOf(live)).toEqual([{ _id: a._id, text: 'a' }])
  const b = await write.create({ text: 'b', n: 2 })
  expect(await nextOf(live)).toEqual([
    { _id: a._id, text: 'a' },
    { _id: b._id, text: 'b' },
  ])
  await live.return()
  const expanded = notes.live({ expand: ['by'], q: { n: { $gt: 0 } }, sort: { n: 1 }, limit: 9 })
  const named = async () =>
    (await nextOf(expanded)).map(({ n, by }) => [n, typeof by === 'object' ? by.name : by])
  expect(await named()).toEqual([
    [1, 'Ann'],
    [2, undefined],
  ])
  lines.length = 0
  const c = await write.create({ n: 3, by: ann._id })
  expect((await named()).at(-1)).toEqual([3, 'Ann'])
  expect(lines).toEqual([expect.stringContaining(`"${c._id}"`)])
  await write.update(c._id, { n: 0 })
  expect((await named()).length).toBe(2)
  await expanded.return()
  // What has left before it is read again is not shown.
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = client.createClient<typeof config>(async (request: Request) => {
    if (request.url.includes('%5B_id%5D')) await held
    return handler(request)
  })
  const late = slow.collection('notes').live({ expand: ['by'], q: { n: { $gt: 5 } }, limit: 9 })
  expect(await nextOf(late)).toEqual([])
  const d = await write.create({ n: 6 })
  const coming = nextOf(late)
  await write.update(d._id, { n: 0 })
  release()
  expect(await coming).toEqual([])
  await late.return()
  await handler.close()
}

type Failure = 'lost' | readonly [status: number, headers?: { readonly [name: string]: string }]

/** What has to hold of `retry`. Throws where it does not. */
export async function checkRetry({ createClient, retry }: Client): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  try {
    const { handler } = createTestService(config)
    const failures: Failure[] = []
    const times: number[] = []
    const fetch = async (url: string, init: RequestInit): Promise<Response> => {
      times.push(Date.now())
      const failure = failures.shift()
      if (!failure) return handler(new Request(url, init))
      if (failure === 'lost') throw new TypeError('fetch failed')
      const [status, headers = {}] = failure
      return Response.json({ code: 'overloaded', detail: '' }, { status, headers })
    }
    const notes = createClient<typeof config>('http://a.test', {
      fetch: retry({ fetch, attempts: 3 }),
    }).collection('notes')
    /** How often a request was sent, the pauses in seconds, and whether it succeeded at last. */
    const ask = async (call: () => Promise<unknown>, ...failing: readonly Failure[]) => {
      failures.splice(0, failures.length, ...failing)
      times.length = 0
      let isDone: boolean | undefined
      call().then(
        () => {
          isDone = true
        },
        () => {
          isDone = false
        },
      )
      while (isDone === undefined) {
        await vi.advanceTimersByTimeAsync(50)
        await new Promise(setImmediate)
      }
      const pauses = times.slice(1).map((time, i) => (time - (times[i] ?? 0)) / 1000)
      return { isDone, pauses }
    }
    const id = randomUUID()
    const read = await ask(() => notes.list(), 'lost', [503])
    expect(read).toEqual({ isDone: true, pauses: [expect.any(Number), expect.any(Number)] })
    const [first = 0, second = 0] = read.pauses
    expect(first).toBeGreaterThanOrEqual(0.25)
    expect(first).toBeLessThanOrEqual(0.55)
    expect(second).toBeGreaterThanOrEqual(0.5)
    expect((await ask(() => notes.list(), [503], [503], [503])).pauses).toHaveLength(2)
    const asked = await ask(() => notes.list(), [429, { 'retry-after': '7' }])
    expect([asked.isDone, Math.floor(asked.pauses[0] ?? 0)]).toEqual([true, 7])
    expect(await ask(() => notes.list(), [429, { 'retry-after': '31' }])).toEqual({
      isDone: false,
      pauses: [],
    })
    expect(await ask(() => notes.list(), [500])).toEqual({ isDone: false, pauses: [] })
    expect((await ask(() => notes.create({ n: 1 }, { id }), 'lost')).isDone).toBe(true)
    const note = await notes.get(id)
    expect((await ask(() => notes.update(note, { n: 2 }), [502])).isDone).toBe(true)
    for (const call of [() => notes.create({ n: 1 }), () => notes.update(id, { n: 1 })])
      expect(await ask(call, 'lost')).toEqual({ isDone: false, pauses: [] })
    const controller = new AbortController()
    failures.push([503, { 'retry-after': '20' }])
    let isOver = false
    const listing = codeOf(notes.list({ signal: controller.signal })).then(() => {
      isOver = true
    })
    await vi.advanceTimersByTimeAsync(100)
    controller.abort()
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    expect(isOver).toBe(true)
    await vi.advanceTimersByTimeAsync(60_000)
    await listing
  } finally {
    vi.useRealTimers()
  }
}
