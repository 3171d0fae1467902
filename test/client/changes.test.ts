import { afterEach, expect, test, vi } from 'vitest'
import { createClient, isClientError } from '../../src/client/client.js'
import { createCollectionService, createMemoryAdapter, defineConfig, type Handler } from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { settle } from '../contract/support/streams.js'
import { until } from '../support/until.js'

// CONTRACT.md §7, "The client"

const config = defineConfig({
  collections: {
    notes: {
      changes: true,
      schema: { text: { type: 'string' }, n: { type: 'integer' }, hidden: { type: 'string' } },
      permissions: { '*': { read: { omit: ['hidden'] }, create: true, update: true, delete: true } },
    },
    own: { changes: true, schema: { text: { type: 'string' } }, permissions: { user: { read: true } } },
    users: {
      schema: {
        name: { type: 'string', unique: true, lowercase: true },
        pin: { type: 'hash', required: true },
      },
    },
  },
})

const opened: Handler[] = []
afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  await Promise.all(opened.splice(0).map((handler) => handler.close()))
})

function serve(target?: (handler: Handler) => (request: Request) => Promise<Response>) {
  const handler = createCollectionService(config, createMemoryAdapter(), {
    hasher: createTestHasher(),
    production: false,
    logger: { info() {}, warn() {}, error() {} },
  })
  opened.push(handler)
  const client = createClient<typeof config>(target?.(handler) ?? handler)
  return { handler, client, notes: client.collection('notes') }
}

/** Takes so many of what an iterator gives. */
async function take<T>(iterator: AsyncIterator<T>, count: number): Promise<T[]> {
  const taken: T[] = []
  while (taken.length < count) {
    const { done, value } = await iterator.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

test('changes are told, in the words of the client', async () => {
  const { notes } = serve()
  const told = notes.changes({ q: { n: { $gte: 1 } }, project: ['text'] })
  expect((await told.next()).value).toEqual({ event: 'reset' })
  const { _id } = await notes.create({ text: 'a', n: 1, hidden: 'x' })
  await notes.create({ text: 'b', n: 0 })
  await notes.update(_id, { text: 'c' })
  await notes.delete(_id)
  expect(await take(told, 3)).toEqual([
    { event: 'enter', document: { _id, text: 'a' } },
    { event: 'change', document: { _id, text: 'c' } },
    { event: 'leave', _id },
  ])
  await told.return()
})

/** The same answer, until it is broken. */
function breakable(response: Response): { readonly response: Response; readonly break_: () => void } {
  const reader = response.body?.getReader()
  let break_ = (): void => {}
  const body = new ReadableStream({
    start(controller) {
      break_ = () => {
        controller.error(new Error('broken'))
        void reader?.cancel()
      }
    },
    async pull(controller) {
      const { done, value } = (await reader?.read()) ?? { done: true }
      if (!done) controller.enqueue(value)
    },
    cancel: () => reader?.cancel(),
  })
  return { response: new Response(body, response), break_ }
}

test('a connection that breaks is made again, and goes on where it was', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const asked: (string | null)[] = []
  let outages = 0
  let break_ = (): void => {}
  const { notes } = serve((handler) => async (request) => {
    if (!request.url.includes('/changes')) return handler(request)
    asked.push(request.headers.get('last-event-id'))
    if (outages-- > 0) throw new TypeError('fetch failed')
    const breaking = breakable(await handler(request))
    break_ = breaking.break_
    return breaking.response
  })
  const told = notes.changes()
  await told.next()
  await notes.create({ text: 'a' })
  expect(await take(told, 1)).toMatchObject([{ event: 'enter', document: { text: 'a' } }])
  outages = 3
  const next = take(told, 1)
  break_()
  await notes.create({ text: 'b' })
  await settle()
  for (const pause of [500, 1000, 2000, 4000]) await vi.advanceTimersByTimeAsync(pause)
  expect(await next).toMatchObject([{ event: 'enter', document: { text: 'b' } }])
  const [first, ...others] = asked
  expect([first, others.length, new Set(others).size, others[0]?.length]).toEqual([null, 4, 1, 567])
  await told.return()
})

test('pauses grow, and heed what the service asks for', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.spyOn(Math, 'random').mockReturnValue(1)
  let attempts = 0
  const { notes } = serve(() => async () => {
    attempts += 1
    const headers = attempts === 3 ? { 'retry-after': '60' } : {}
    return Response.json({ code: 'overloaded', detail: '' }, { status: 503, headers })
  })
  const controller = new AbortController()
  const told = notes.changes({ signal: controller.signal })
  const next = told.next()
  await vi.advanceTimersByTimeAsync(0)
  const before: number[] = []
  for (const pause of [500, 1000, 60_000, 4000, 8000, 16_000, 30_000, 30_000]) {
    await vi.advanceTimersByTimeAsync(pause - 1)
    before.push(attempts)
    await vi.advanceTimersByTimeAsync(1)
  }
  expect([...before, attempts]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  controller.abort()
  expect(await next).toEqual({ done: true, value: undefined })
})

test('no text of a document ends a line of an event', async () => {
  const { notes } = serve()
  const told = notes.changes()
  expect((await told.next()).value).toEqual({ event: 'reset' })
  for (const text of ['a\u2028b', 'x\u2029event: leave\u2028data: {}\u2028', 'c: d', ': e', 'event: leave']) {
    await notes.create({ text })
    expect((await told.next()).value).toMatchObject({ event: 'enter', document: { text } })
  }
  await told.return()
})

test('a service that falls silent is left for another connection', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let connections = 0
  const { notes } = serve((handler) => async (request) => {
    connections += 1
    if (connections > 1) return handler(request)
    return new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } })
  })
  const told = notes.changes()
  const next = told.next()
  await vi.advanceTimersByTimeAsync(44_999)
  expect(connections).toBe(1)
  await vi.advanceTimersByTimeAsync(1000)
  expect((await next).value).toEqual({ event: 'reset' })
  await told.return()
})

test.each(['changes', 'live'] as const)('a service that never answers is left by %s', async (call) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const asked: string[] = []
  let gone = 0
  const { notes } = serve((handler) => async (request) => {
    const path = new URL(request.url).pathname
    asked.push(path)
    if (asked.filter((one) => one === path).length > 1) return handler(request)
    return new Promise((_, reject) => {
      request.signal.addEventListener('abort', () => {
        gone += 1
        reject(request.signal.reason)
      })
    })
  })
  const told: AsyncGenerator<unknown, void> = call === 'live' ? notes.live() : notes.changes()
  const next = told.next()
  await vi.advanceTimersByTimeAsync(44_999)
  expect([asked.length, gone]).toEqual([1, 0])
  await vi.advanceTimersByTimeAsync(1)
  expect([asked.length, gone]).toEqual([1, 1])
  await vi.advanceTimersByTimeAsync(500)
  if (call === 'live') {
    await until(() => asked.length === 3)
    await vi.advanceTimersByTimeAsync(45_000)
    await vi.advanceTimersByTimeAsync(500)
  }
  expect((await next).value).toEqual(call === 'live' ? [] : { event: 'reset' })
  expect(gone).toBe(call === 'live' ? 2 : 1)
  await told.return()
})

test('a plain request waits for its service as long as its caller', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let answer = (_: Response): void => {}
  const { notes } = serve(
    () => () =>
      new Promise((resolve) => {
        answer = resolve
      }),
  )
  const listed = notes.list()
  await vi.advanceTimersByTimeAsync(100_000)
  answer(Response.json([]))
  expect(await listed).toEqual([])
})

test('connections that are over leave nothing with the signal', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const controller = new AbortController()
  const add = vi.spyOn(controller.signal, 'addEventListener')
  let attempts = 0
  const { notes } = serve((handler) => async (request) => {
    attempts += 1
    if (attempts < 3) throw new TypeError('fetch failed')
    return handler(request)
  })
  const lists = notes.live({ signal: controller.signal })
  const next = lists.next()
  await vi.advanceTimersByTimeAsync(500)
  await vi.advanceTimersByTimeAsync(1000)
  expect((await next).value).toEqual([])
  await lists.return()
  const kept = add.mock.calls.filter(([, , options]) => !(options as AddEventListenerOptions).signal?.aborted)
  expect([add.mock.calls.length > 0, kept]).toEqual([true, []])
})

test('a refusal is thrown, also where a stream ends because of it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  const { client, handler } = serve()
  const refused = await client
    .collection('own')
    .changes()
    .next()
    .catch((thrown: unknown) => thrown)
  expect(isClientError(refused) && refused.code).toBe('unauthenticated')
  await client.auth.register({ name: 'ann', pin: 'secret' })
  const told = client.collection('own').changes()
  await told.next()
  const elsewhere = createClient<typeof config>(handler, { token: client.token })
  await elsewhere.auth.logoutAll()
  const next = told.next().catch((thrown: unknown) => thrown)
  await vi.advanceTimersByTimeAsync(30_000)
  await settle()
  await vi.advanceTimersByTimeAsync(1000)
  const ended = await next
  expect(isClientError(ended) && ended.code).toBe('invalid_token')
  const html = serve(() => async () => new Response('<html>', { headers: { 'content-type': 'text/html' } }))
  const wrong = await html.notes
    .changes()
    .next()
    .catch((thrown: unknown) => thrown)
  expect(isClientError(wrong) && wrong.code).toBe('unexpected_answer')
})

test('a signal ends changes and live lists, without an error, and leaves no place taken', async () => {
  const { notes } = serve()
  const makers = [notes.changes, notes.live] as const
  for (const make of makers as readonly ((options: object) => AsyncGenerator<unknown, void>)[]) {
    const controller = new AbortController()
    const seen: unknown[] = []
    for await (const one of make({ signal: controller.signal })) {
      seen.push(one)
      controller.abort()
    }
    expect(seen.length).toBe(1)
  }
  expect(await notes.changes({ signal: AbortSignal.abort() }).next()).toEqual({
    done: true,
    value: undefined,
  })
})

test('a live list is the whole list after each change, in its order', async () => {
  const { notes } = serve()
  await notes.create({ text: 'b' })
  const lists = notes.live({ sort: { text: 'desc' }, q: { text: { $exists: true } } })
  const texts = async () => (await lists.next()).value?.map(({ text }) => text)
  expect(await texts()).toEqual(['b'])
  const { _id } = await notes.create({ text: 'c' })
  expect(await texts()).toEqual(['c', 'b'])
  await notes.update(_id, { text: 'a' })
  expect(await texts()).toEqual(['b', 'a'])
  await notes.update(_id, { text: null })
  expect(await texts()).toEqual(['b'])
  await lists.return()
})

test.each([-1, '-1', 'desc', 1, '1', 'asc'])('a live list by %j has the order of the service', async (to) => {
  const { notes } = serve()
  await notes.create({ text: 'b' })
  const asked: object = { sort: { text: to } }
  const lists = notes.live(asked)
  await lists.next()
  await notes.create({ text: 'c' })
  expect((await lists.next()).value).toEqual(await notes.list(asked))
  await lists.return()
})

test('a live list takes no option that it would not heed', async () => {
  const { notes } = serve()
  const asked = { skip: 1 }
  await expect(notes.live(asked as object).next()).rejects.toThrow(new TypeError('skip is unknown'))
})

test('a live list outlives a service that does not answer its list', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.spyOn(Math, 'random').mockReturnValue(1)
  let asked = 0
  let isAsked = (): void => {}
  const first = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const { notes } = serve((handler) => async (request) => {
    if (request.url.includes('/changes')) return handler(request)
    isAsked()
    asked += 1
    if (asked < 3) throw new TypeError('fetch failed')
    return handler(request)
  })
  const lists = notes.live()
  const next = lists.next()
  await first
  await settle()
  await vi.advanceTimersByTimeAsync(500)
  await vi.advanceTimersByTimeAsync(1000)
  expect((await next).value).toEqual([])
  expect(asked).toBe(3)
  await lists.return()
})
