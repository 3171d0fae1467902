import { expect, test, vi } from 'vitest'
import {
  type Caller,
  type Change,
  type ConfigError,
  createMemoryAdapter,
  type StorageAdapter,
} from '../../src/index.js'
import { readStream, told } from '../support/event-streams.js'
import { createTestService } from '../support/service.js'
import { ADMIN, config, useStreams } from './support/changes.js'
import { settle } from './support/streams.js'

// CONTRACT.md §9, "Events", "Standing", "Bounds of streams"

const serve = useStreams()

const inMemory = (options: object = {}, asked: object = config) =>
  serve({ adapter: createMemoryAdapter(), config: { ...asked }, options })

/** The clock of comments and of what is asked again. */
const holdTicks = (): void => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })

test('a comment comes every 15 seconds, and at no other time', async () => {
  holdTicks()
  const { open, write } = await inMemory()
  const stream = await open('/notes/changes', { caller: ADMIN })
  await vi.advanceTimersByTimeAsync(14_999)
  await write('POST /notes', { text: 'a' })
  await settle()
  expect(stream.comments).toBe(0)
  await vi.advanceTimersByTimeAsync(1)
  await settle()
  expect(stream.comments).toBe(1)
  await vi.advanceTimersByTimeAsync(45_000)
  await settle()
  expect(stream.comments).toBe(4)
  expect(stream.text.match(/^:\n\n/gm)?.length).toBe(4)
})

test('rules with $now give a reset every minute, and on coming back', async () => {
  holdTicks()
  const { notes } = config.collections
  const permissions = { ...notes.permissions, '*': { read: { where: { from: { $lte: '$now' } } } } }
  const collections = { ...config.collections, notes: { ...notes, permissions } }
  let now = Date.parse('2026-01-01T00:00:00Z')
  const { open, write } = await inMemory({ now: () => now }, { ...config, collections })
  const stream = await open('/notes/changes', { caller: null })
  const { _id } = await write('POST /notes', { text: 'a', from: '2026-01-01T00:00:30Z' })
  expect(told(stream.events)).toEqual([['reset', {}]])
  now += 60_000
  await vi.advanceTimersByTimeAsync(59_999)
  expect(stream.events.length).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  await stream.until(2)
  await write(`PATCH /notes/${_id}`, { text: 'b' })
  expect((await stream.until(3)).map(({ event }) => event)).toEqual(['reset', 'reset', 'change'])
  const headers = { 'last-event-id': stream.events[2]?.id ?? '' }
  expect((await open('/notes/changes', { caller: null, headers })).events[0]?.event).toBe('reset')
})

/** A service over a log in which changes are otherwise, and a list that depends on the time. */
function serveTimed(where: object, adjust: (change: Change) => Change) {
  const memory = createMemoryAdapter()
  const adapter: StorageAdapter = {
    ...memory,
    async changes(after, query) {
      const page = await memory.changes?.(after, query)
      if (!page) throw new Error('there is a log')
      return { ...page, changes: page.changes.map(adjust) }
    },
  }
  const { notes } = config.collections
  const permissions = { ...notes.permissions, '*': { read: { where } } }
  const collections = { ...config.collections, notes: { ...notes, permissions } }
  return serve({ adapter, config: { ...config, collections } })
}

test('with $now, a delete is judged as of when it was made, however late it is found', async () => {
  const HOUR = 3_600_000
  const { open, write } = await serveTimed({ from: { $gt: '$now' } }, ({ before, time, ...others }) => ({
    ...others,
    time: time - HOUR,
    before: before && { ...before, updatedAt: new Date(time - 2 * HOUR).toISOString() },
  }))
  const stream = await open('/notes/changes', { caller: null })
  const ids: unknown[] = []
  for (const age of [2 * HOUR, HOUR / 2]) {
    const { _id } = await write('POST /notes', { from: new Date(Date.now() - age).toISOString() })
    ids.push(_id)
  }
  expect(stream.events).toHaveLength(1)
  for (const id of ids) await write(`DELETE /notes/${id}`)
  expect(told(stream.events)).toEqual([
    ['reset', {}],
    ['leave', { _id: ids[1] }],
  ])
})

test('with $now, a delete is not judged before what it deletes, whatever the clock of the storage says', async () => {
  const { open, write } = await serveTimed({ from: { $lte: '$now' } }, (change) => ({
    ...change,
    time: change.time - 5000,
  }))
  const stream = await open('/notes/changes', { caller: null })
  const { _id } = await write('POST /notes', { from: new Date(Date.now() - 1000).toISOString() })
  await write(`DELETE /notes/${_id}`)
  expect(told(stream.events).map(([name]) => name)).toEqual(['reset', 'enter', 'leave'])
})

test('the host is asked again every 30 seconds: for another standing, another caller, or nobody', async () => {
  holdTicks()
  let caller: Caller | null | undefined = { id: 'a', roles: ['editor'] }
  const asked = vi.fn((): Caller | null => {
    if (caller === undefined) throw new Error('the host is down')
    return caller
  })
  const { open, logged } = await inMemory({ authenticate: asked })
  const stream = await open('/notes/changes')
  expect(asked).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(30_000)
  await settle()
  expect(asked).toHaveBeenCalledTimes(2)
  expect(stream.events.length).toBe(1)
  caller = { id: 'a', roles: ['member'], team: 'red' }
  await vi.advanceTimersByTimeAsync(30_000)
  expect((await stream.until(2)).at(-1)?.event).toBe('reset')
  const others = [await open('/notes/changes'), await open('/notes/changes')]
  caller = { id: 'b', roles: ['member'], team: 'red' }
  await vi.advanceTimersByTimeAsync(30_000)
  for (const one of [stream, ...others]) {
    await one.ended
    expect(one.events.at(-1)?.event).toBe('end')
  }
  for (const next of [null, undefined]) {
    caller = { id: 'b' }
    const last = await open('/notes/changes')
    caller = next
    await vi.advanceTimersByTimeAsync(30_000)
    await last.ended
  }
  expect(logged.at(-1)).toMatchObject([
    expect.any(String),
    { cause: { cause: new Error('the host is down') } },
  ])
})

test('a host that does not answer ends the stream, when the time of a request is over', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  let isSilent = false
  const authenticate = (): Promise<Caller> =>
    isSilent ? new Promise(() => {}) : Promise.resolve({ id: 'a', roles: ['editor'] })
  const { open } = await inMemory({ authenticate })
  const stream = await open('/notes/changes')
  isSilent = true
  await vi.advanceTimersByTimeAsync(30_000)
  expect(stream.comments).toBe(2)
  await vi.advanceTimersByTimeAsync(10_000)
  await stream.ended
})

test('a handler of as() keeps its caller, and a session that has expired ends', async () => {
  holdTicks()
  let now = Date.now()
  const { open, register } = await inMemory({ now: () => now })
  const { token } = await register({ name: 'ann', pin: 'secret' })
  const [hosts, own] = [
    await open('/notes/changes', { caller: ADMIN }),
    await open('/notes/changes', { token }),
  ]
  now += 40 * 86_400_000
  await vi.advanceTimersByTimeAsync(30_000)
  await own.ended
  expect(own.events.map(({ event }) => event)).toEqual(['reset', 'end'])
  await settle()
  expect(hosts.events.map(({ event }) => event)).toEqual(['reset'])
})

test('places are bounded, a caller has a tenth of them, and they come back', async () => {
  const { open, ask } = await inMemory({}, { ...config, limits: { subscribers: 20 } })
  const first = await open('/notes/changes', { caller: ADMIN })
  await open('/notes/changes', { caller: ADMIN })
  const refused = await ask('/notes/changes', { caller: ADMIN })
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect((await refused.json()).code).toBe('overloaded')
  await first.close()
  await open('/notes/changes', { caller: ADMIN })
  for (let i = 0; i < 18; i++) await open('/notes/changes', { caller: null })
  expect((await ask('/notes/changes', { caller: null })).status).toBe(503)
  expect((await ask('/notes/changes', { caller: { id: 'other' } })).status).toBe(503)
})

test('an address that is known has a tenth, for every caller', async () => {
  let address: string | undefined = 'a'
  const options = { clientAddress: () => address }
  const { open, ask } = await inMemory(options, { ...config, limits: { subscribers: 10 } })
  await open('/notes/changes', { caller: { id: 'x' } })
  expect((await ask('/notes/changes', { caller: { id: 'y' } })).status).toBe(503)
  address = 'b'
  await open('/notes/changes', { caller: { id: 'y' } })
})

test('no cache stores a stream, and nothing on the way compresses it, whoever listens', async () => {
  const { ask, handler, open } = await inMemory()
  for (const caller of [null, ADMIN, { id: 'x' }]) {
    const { response } = await open('/notes/changes', { caller })
    expect(response.headers.get('cache-control')).toBe('no-store, no-transform')
  }
  const head = await handler(new Request('http://service.test/notes/changes', { method: 'HEAD' }))
  expect(head.headers.get('cache-control')).toBe('no-store, no-transform')
  const refused = await ask('/notes/changes?sort[text]=1', { caller: null })
  expect([refused.status, refused.headers.get('cache-control')]).toEqual([400, 'no-store'])
})

test('a HEAD of a stream has no length: its empty body is a stream, which runtimes do not measure', async () => {
  const { handler } = await inMemory()
  const head = await handler(new Request('http://service.test/notes/changes', { method: 'HEAD' }))
  expect([head.headers.get('content-length'), head.body]).toEqual([null, expect.any(ReadableStream)])
  expect(await head.text()).toBe('')
})

test('what is refused, asked with HEAD or given up takes no place', async () => {
  const { open, ask, handler } = await inMemory({}, { ...config, limits: { subscribers: 1 } })
  expect((await ask('/notes/changes?sort[text]=1', { caller: null })).status).toBe(400)
  const head = await handler(new Request('http://service.test/notes/changes', { method: 'HEAD' }))
  expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
    200,
    'text/event-stream',
    '',
  ])
  const controller = new AbortController()
  const { signal } = controller
  const given = await handler(new Request('http://service.test/notes/changes', { signal }))
  controller.abort()
  await readStream(given).ended
  await open('/notes/changes', { caller: null })
})

test('a subscriber that reads nothing is cut, alone, and may come back', async () => {
  const { open, ask, send, quiet } = await inMemory()
  const [lazy, busy] = [
    await ask('/notes/changes', { caller: ADMIN }),
    await open('/notes/changes', { caller: ADMIN }),
  ]
  const text = 'x'.repeat(100_000)
  for (let i = 0; i < 14; i++) {
    await send('POST /notes', { caller: ADMIN, body: { text } })
    await quiet()
  }
  const late = readStream(lazy)
  await late.ended
  // What an edge has taken out of the queue is still there; the rest is not kept.
  expect(late.events.length).toBeLessThan(4)
  expect((await busy.until(15)).length).toBe(15)
  const headers = { 'last-event-id': late.events.at(-1)?.id ?? '' }
  const again = await open('/notes/changes', { caller: ADMIN, headers })
  expect((await again.until(15 - late.events.length)).every(({ event }) => event === 'enter')).toBe(true)
})

test('closing ends the streams', async () => {
  const { open, handler, ask } = await inMemory()
  const stream = await open('/notes/changes', { caller: ADMIN })
  await handler.close()
  await stream.ended
  expect((await ask('/notes/changes', { caller: ADMIN })).status).toBe(503)
})

test('while nobody listens, nothing reads the log and no timer runs', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  const { open, write, reads } = await inMemory()
  expect(reads()).toBe(0)
  const stream = await open('/notes/changes', { caller: ADMIN })
  expect(vi.getTimerCount()).toBe(1)
  await stream.close()
  const before = reads()
  expect(vi.getTimerCount()).toBe(0)
  await write('POST /notes', { text: 'a' })
  await settle()
  expect(reads()).toBe(before)
})

test.each([
  ['GET', '/plain/changes', null, 404],
  ['GET', '/plain/changes', ADMIN, 404],
  ['GET', '/plain/changes?q[text]="a"', ADMIN, 404],
  ['POST', '/plain/changes', ADMIN, 404],
  ['GET', '/users/changes', ADMIN, 404],
  ['POST', '/notes/changes', ADMIN, 405],
  ['GET', '/notes/changes?limit=1', ADMIN, 400],
  ['GET', '/notes/changes?after=x&after=y', ADMIN, 400],
  ['GET', '/notes/changes?q[secret]="a"', { id: 'e', roles: ['editor'] }, 400],
  ['GET', '/closed/changes?q[x]=1', null, 401],
  ['GET', '/closed/changes?q[x]=1', ADMIN, 403],
])('%s %s', async (method, path, caller, status) => {
  const closed = { changes: true, schema: { text: { type: 'string' } } }
  const collections = { ...config.collections, closed }
  const { send } = await inMemory({}, { ...config, collections })
  const { status: answered, headers } = await send(`${method} ${path}`, { caller })
  expect(answered).toBe(status)
  if (status === 405) expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS')
})

test('a storage without a log is a fault of the configuration', () => {
  const { changes: _, ...adapter } = createMemoryAdapter()
  try {
    createTestService(config, { adapter })
    expect.unreachable()
  } catch (thrown) {
    expect((thrown as ConfigError).faults.map(({ path }) => path)).toEqual(['/collections/notes/changes'])
  }
})
