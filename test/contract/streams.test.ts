import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createMemoryAdapter, type StorageAdapter, type StoredDocument } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { answerAtDeadline, createStall } from '../support/deadlines.js'
import { encodePath, type TestService } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { idOf, LONG_AGO, openStored } from '../support/stored.js'
import { nextOf } from '../support/walk.js'

type Json = { readonly [name: string]: unknown }

const storages = useStorages()

const opened: TestService[] = []
const servers: Server[] = []

afterEach(async () => {
  vi.useRealTimers()
  connections.length = 0
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
  await Promise.all(opened.splice(0).map(({ handler }) => handler.close()))
})

const config = {
  collections: {
    things: {
      schema: {
        n: { type: 'integer', index: true },
        m: { type: 'integer' },
        s: { type: 'string' },
        secret: { type: 'string' },
        r: { type: 'reference', collection: 'people' },
      },
      permissions: { '*': { read: { omit: ['secret'], where: { s: { $ne: 'hidden' } } } } },
    },
    people: { schema: { name: { type: 'string' } }, permissions: { '*': { read: true } } },
  },
}

const SIZE = 2300

/** Ties and missing values in both orders, every seventh hidden. */
const thingOf = (i: number): Json => ({
  ...(i % 50 === 0 ? {} : { n: (i * 7919) % 997 }),
  ...(i % 41 === 0 ? {} : { m: (i * 31) % 23 }),
  s: i % 7 === 0 ? 'hidden' : `s${i % 5}`,
  secret: 'secret',
  ...(i % 3 === 0 ? { r: idOf((i % 5) + 1) } : {}),
})

const things = Array.from({ length: SIZE }, (_, i) => thingOf(i))
const people = [{ name: 'ann' }, { name: 'bob' }, { name: 'eve' }]

async function open(
  adapter: StorageAdapter,
  stored: { readonly [collection: string]: readonly Json[] } = { things, people },
  limits: Json = {},
): Promise<TestService> {
  const service = await openStored({ ...config, limits }, stored, { adapter, authenticate: () => null })
  opened.push(service)
  return service
}

const ask = ({ handler }: TestService, path: string, init: RequestInit = {}): Promise<Response> =>
  handler(new Request(`http://service.test${encodePath(path)}`, init))

/** The documents of all pages, as text. */
async function walk(service: TestService, path: string): Promise<string> {
  const pages: string[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const sent = await service.send(`GET ${next}`)
    expect(sent.status, sent.text).toBe(200)
    if (sent.text !== '[]') pages.push(sent.text.slice(1, -1))
    next = nextOf(sent)
  }
  return `[${pages.join()}]`
}

/** A path of things with these parameters, some of them perhaps empty. */
const listOf = (...parameters: readonly string[]): string => {
  const query = parameters.filter((parameter) => parameter !== '').join('&')
  return query === '' ? '/things' : `/things?${query}`
}

function readerOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (!response.body) throw new Error('the response has no body')
  return response.body.getReader()
}

/** The rest of a stream. */
async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value, { stream: true })
  }
}

/** Whether the rest of a response arrives, without its text. */
const outcomeOf = (response: Response): Promise<'whole' | 'broken'> =>
  response.text().then(
    () => 'whole',
    () => 'broken',
  )

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Lets everything happen that does not wait for something outside. */
async function settle(turns = 50): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A promise that may be looked at. */
function watch<T>(promise: Promise<T>): { readonly isSettled: boolean; readonly promise: Promise<T> } {
  let isSettled = false
  const done = () => {
    isSettled = true
  }
  promise.then(done, done)
  return {
    promise,
    get isSettled() {
      return isSettled
    },
  }
}

const connections: Socket[] = []

async function listen(service: TestService): Promise<string> {
  const server = createServer(toNodeHandler(service.handler))
  servers.push(server)
  server.on('connection', (socket: Socket) => connections.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What was read of an answer before its connection ended, and whether it was the whole. */
async function readFrom(url: string): Promise<{ text: string; isWhole: boolean; message: IncomingMessage }> {
  const request = get(url)
  const [message] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  message.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  message.on('error', () => {})
  await once(message, 'close').catch(() => {})
  return { text, isWhole: message.complete, message }
}

/** Counts what a storage is asked for; `before` runs first, and may throw. */
function observe(
  inner: StorageAdapter,
  before: (count: number, collection: string) => void | Promise<void> = () => {},
): { readonly adapter: StorageAdapter; count: number; closed: number } {
  const seen = { count: 0, closed: 0 }
  const step = async (collection: string): Promise<void> => {
    seen.count += 1
    await before(seen.count, collection)
  }
  const adapter: StorageAdapter = {
    ...inner,
    async list(collection, query) {
      await step(collection)
      return inner.list(collection, query)
    },
    async *stream(collection, query) {
      if (!inner.stream) throw new Error('this storage does not stream')
      for await (const batch of inner.stream(collection, query)) {
        await step(collection)
        yield batch
      }
    },
    async close() {
      seen.closed += 1
      await inner.close()
    },
  }
  return Object.assign(seen, { adapter })
}

/** A storage that never comes to an end. */
function createEndless(size = 500, bytes = 10): ReturnType<typeof observe> {
  const s = 'x'.repeat(bytes)
  let serial = 0
  const next = (): StoredDocument[] =>
    Array.from({ length: size }, () => {
      serial += 1
      return { _id: idOf(serial), _version: 1, createdAt: LONG_AGO, updatedAt: LONG_AGO, n: serial, s }
    })
  return observe({
    ...createMemoryAdapter(),
    async list() {
      return next()
    },
    async *stream() {
      for (;;) yield next()
    },
  })
}

const INDEXED = '/things?sort[n]=1'
const UNINDEXED = '/things?sort[m]=1'

describe.each(storages)('a list without a limit, in %s,', (_, create) => {
  test('is what its pages are', async () => {
    const service = await open(create())
    for (const query of [
      '',
      'sort[_id]=-1',
      'sort[n]=1',
      'sort[n]=-1',
      'sort[m]=1',
      'sort[m]=-1',
      'sort[m]=-1&sort[n]=1',
      'sort[n]=1&sort[m]=-1',
      'sort[s]=1&sort[n]=1',
      'sort[createdAt]=-1',
      'q[m][$gte]=3',
      'q[m][$gte]=3&sort[m]=-1',
      'q[n][$lt]=900&sort[n]=-1',
      'q[s][$regex]=s[0-3]&sort[s]=-1',
      'q[s]=nothing',
      'skip=0',
      'skip=150',
      'skip=1000&sort[n]=1',
      'skip=1500&sort[m]=-1',
      'skip=5000',
      'project=["s","n"]',
      'project=["s"]&sort[m]=1',
      'expand=["r"]',
      'expand=["r"]&sort[m]=-1&project=["r"]',
    ]) {
      const response = await ask(service, listOf(query))
      const text = await response.text()
      const pages = await walk(service, listOf(query, 'limit=700'))
      expect(response.status, query).toBe(200)
      expect(response.headers.get('link'), query).toBeNull()
      expect(response.headers.get('content-type'), query).toBe('application/json')
      expect(isJson(text), query).toBe(true)
      expect(text === pages, query).toBe(true)
      expect(text).not.toMatch(/secret|hidden|_version/)
    }
  })

  test.each([1001, 1500, 5000])('nor with a limit of %i has a Link', async (limit) => {
    const service = await open(create())
    for (const sort of ['', 'sort[n]=-1', 'sort[m]=1']) {
      const response = await ask(service, listOf(sort, `limit=${limit}`, 'skip=10', 'total=true'))
      const body = (await response.json()) as unknown[]
      const all = JSON.parse(await walk(service, listOf(sort, 'limit=1000', 'skip=10')))
      expect(response.headers.get('link')).toBeNull()
      expect(response.headers.get('x-total-count')).toBe(
        String(things.filter(({ s }) => s !== 'hidden').length),
      )
      expect(body).toEqual(all.slice(0, limit))
    }
  })

  test('goes on behind a cursor', async () => {
    const service = await open(create())
    for (const sort of ['', 'sort[n]=-1&', 'sort[m]=1&', 'sort[m]=1&sort[n]=-1&']) {
      const first = await service.send(`GET /things?${sort}limit=600`)
      const next = nextOf(first) ?? ''
      const rest = await walk(service, next)
      const response = await ask(service, next.replace('limit=600&', ''))
      expect(response.headers.get('link')).toBeNull()
      expect((await response.text()) === rest, sort).toBe(true)
    }
  })

  test('stays JSON, and shows what was there throughout once, whatever is written meanwhile', async () => {
    for (const sort of ['', 'sort[n]=1', 'sort[n]=-1', 'sort[m]=1', 'sort[m]=-1&sort[n]=1']) {
      const adapter = create()
      const plain = things.map((thing) => ({ ...thing, s: 'x' }))
      const service = await open(adapter, { things: plain, people: [] })
      const reader = readerOf(await ask(service, listOf(sort)))
      const decoder = new TextDecoder()
      let text = ''
      for (let step = 0; ; step++) {
        const { done, value } = await reader.read()
        if (done) break
        text += decoder.decode(value)
        const field = { path: '_id', type: 'string', each: false } as const
        const removed = Array.from({ length: 40 }, (_, i) => idOf(1 + (((step * 40 + i) * 13) % SIZE)))
        const filters = removed.map((id) => ({ kind: 'eq', field, value: id }) as const)
        const inserts = Array.from({ length: 20 }, (_, i) => {
          const n = 5000 + step * 100 + i
          const insert = { ...thingOf(n), s: 'x', _id: idOf(n), _version: 1, createdAt: LONG_AGO }
          return { in: 'things', insert: insert as unknown as StoredDocument }
        })
        const steps = [{ in: 'things', remove: { kind: 'or', filters } as const }, ...inserts]
        expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
      }
      const ids = (JSON.parse(text) as { readonly _id: string }[]).map(({ _id }) => _id)
      expect(new Set(ids).size, sort).toBe(ids.length)
      const left = (await (await ask(service, '/things?project=[]')).json()) as { readonly _id: string }[]
      const stayed = left.map(({ _id }) => _id).filter((id) => id < idOf(5000))
      expect(stayed.length).toBeGreaterThan(1000)
      const seen = new Set(ids)
      expect(
        stayed.filter((id) => !seen.has(id)),
        sort,
      ).toEqual([])
      await service.handler.close()
    }
  })

  test('asked for by HEAD reads no further, and leaves nothing behind', async () => {
    const seen = observe(create())
    const service = await open(seen.adapter)
    for (const path of ['/things', INDEXED, UNINDEXED]) {
      for (let i = 0; i < 15; i++) {
        seen.count = 0
        const response = await ask(service, `${path}${path.includes('?') ? '&' : '?'}total=true`, {
          method: 'HEAD',
        })
        expect([response.status, await response.text()], path).toEqual([200, ''])
        expect(response.headers.get('x-total-count')).not.toBeNull()
        // A batch behind a key may be read in parts, one for each way to be behind it.
        expect(seen.count).toBeLessThanOrEqual(4)
      }
      const { count } = seen
      await settle()
      expect(seen.count).toBe(count)
    }
    expect((await service.send('GET /things?limit=1')).status).toBe(200)
    await service.handler.close()
    expect(seen.closed).toBe(1)
  }, 60_000)

  test('that is read no further leaves nothing behind', async () => {
    const service = await open(create())
    for (let i = 0; i < 15; i++) {
      const reader = readerOf(await ask(service, UNINDEXED))
      if (i % 2 === 0) await reader.read()
      await reader.cancel()
    }
    expect((await service.send('GET /things/count')).status).toBe(200)
    await service.handler.close()
  }, 60_000)

  test('is answered to many at once, with documents in the place of references', async () => {
    const service = await open(create())
    const expected = await walk(service, `${UNINDEXED}&expand=["r"]&limit=1000`)
    const texts = await Promise.all(
      Array.from({ length: 25 }, async () => (await ask(service, `${UNINDEXED}&expand=["r"]`)).text()),
    )
    for (const text of texts) expect(text === expected).toBe(true)
  }, 60_000)

  test('that many do not read keeps nobody else from the storage', async () => {
    const service = await open(create())
    const unread = await Promise.all(Array.from({ length: 25 }, () => ask(service, UNINDEXED)))
    try {
      expect(unread.map(({ status }) => status)).toEqual(unread.map(() => 200))
      const count = await service.send('GET /things/count', { mayFail: true })
      expect(count.status).toBe(200)
    } finally {
      await Promise.all(unread.map(({ body }) => body?.cancel()))
    }
  }, 60_000)
})

describe('a fault of the storage', () => {
  const cases: readonly (readonly [path: string, batch: number])[] = [
    ['/things', 1],
    ['/things', 2],
    ['/things', 3],
    ['/things', 4],
    [INDEXED, 1],
    [INDEXED, 2],
    [UNINDEXED, 1],
    [UNINDEXED, 2],
    [UNINDEXED, 3],
    [UNINDEXED, 4],
  ]

  /** The first two batches belong to the request itself. */
  const isInTime = (batch: number): boolean => batch <= 2

  const openFaulty = async (batch: number) => {
    let isArmed = false
    let count = 0
    const seen = observe(createMemoryAdapter(), (_, collection) => {
      if (!isArmed || collection !== 'things') return
      count += 1
      if (count === batch) throw new Error('a page of the disk with the secret is broken')
    })
    const service = await open(seen.adapter)
    isArmed = true
    return { service, seen }
  }

  test.each(cases)('breaks a stream, and before it began is an answer: %s, batch %i', async (path, batch) => {
    const { service } = await openFaulty(batch)
    const response = await ask(service, path)
    if (isInTime(batch)) {
      expect(response.status).toBe(500)
      expect(response.headers.get('content-type')).toBe('application/problem+json')
      expect(await response.json()).toMatchObject({ code: 'internal_error' })
    } else {
      expect(response.status).toBe(200)
      expect(await outcomeOf(response)).toBe('broken')
    }
    expect(service.logged.filter((entry) => JSON.stringify(entry).includes('requestId'))).toHaveLength(1)
    await service.handler.close()
  })

  test.each(cases)('breaks the connection: %s, batch %i', async (path, batch) => {
    const { service } = await openFaulty(batch)
    const url = await listen(service)
    const { text, isWhole, message } = await readFrom(url + encodePath(path))
    expect(isWhole).toBe(isInTime(batch))
    expect(message.statusCode).toBe(isInTime(batch) ? 500 : 200)
    expect(isJson(text)).toBe(isInTime(batch))
    expect(text).not.toContain('disk')
    // Others are answered as before.
    expect((await readFrom(`${url}/things?limit=1`)).isWhole).toBe(true)
  })

  test('in what is expanded breaks a stream too', async () => {
    let asked = 0
    const seen = observe(createMemoryAdapter(), (_, collection) => {
      if (collection !== 'people') return
      asked += 1
      if (asked === 3) throw new Error('broken')
    })
    const service = await open(seen.adapter)
    const response = await ask(service, '/things?expand=["r"]')
    expect(response.status).toBe(200)
    expect(await outcomeOf(response)).toBe('broken')
  })
})

describe('a client that goes away', () => {
  test.each(['/things', INDEXED, UNINDEXED])(
    'ends the reading by cancelling: %s',
    async (path) => {
      const endless = createEndless()
      const service = await open(endless.adapter, {})
      const reader = readerOf(await ask(service, path))
      for (let i = 0; i < 5; i++) expect((await reader.read()).done).toBe(false)
      await reader.cancel()
      await service.handler.close()
      const { count, closed } = endless
      await settle()
      expect([endless.count, closed]).toEqual([count, 1])
      expect(service.logged).toEqual([])
    },
    60_000,
  )

  test.each(['/things', INDEXED, UNINDEXED])(
    'ends the reading by aborting its request: %s',
    async (path) => {
      const endless = createEndless()
      const service = await open(endless.adapter, {})
      const client = new AbortController()
      const reader = readerOf(await ask(service, path, { signal: client.signal }))
      expect((await reader.read()).done).toBe(false)
      client.abort()
      await service.handler.close()
      const { count } = endless
      await settle()
      expect(endless.count).toBe(count)
      expect(service.logged).toEqual([])
    },
    60_000,
  )

  test.each(['/things', UNINDEXED])(
    'and aborts is not told that half an array is the whole: %s',
    async (path) => {
      const service = await open(createMemoryAdapter())
      const client = new AbortController()
      const response = await ask(service, path, { signal: client.signal })
      client.abort()
      expect(await outcomeOf(response)).toBe('broken')
    },
  )

  test.each(['/things', UNINDEXED])('before the first batch gets no stream: %s', async (path) => {
    let letGo = (): void => {}
    let isArmed = false
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const seen = observe(createMemoryAdapter(), () => (isArmed ? gate : undefined))
    const service = await open(seen.adapter)
    isArmed = true
    const client = new AbortController()
    const answer = ask(service, path, { signal: client.signal })
    await settle()
    client.abort()
    expect((await answer).status).toBe(503)
    letGo()
    await service.handler.close()
    expect(seen.count).toBe(1)
  })

  test.each(['/things', INDEXED, UNINDEXED])(
    'ends the reading by closing its connection: %s',
    async (path) => {
      const endless = createEndless(500, 1000)
      const service = await open(endless.adapter, {})
      const request = get((await listen(service)) + encodePath(path))
      request.on('error', () => {})
      const [message] = (await once(request, 'response')) as [IncomingMessage]
      message.on('error', () => {})
      await once(message, 'data')
      // Closing waits for requests: with a clock that stands still it ends only when the reading has.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      message.destroy()
      await service.handler.close()
      const { count } = endless
      await settle()
      expect(endless.count).toBe(count)
      expect(endless.closed).toBe(1)
      expect(service.logged).toEqual([])
    },
    60_000,
  )

  test('or is slow does not let the storage be read ahead', async () => {
    for (const path of ['/things', UNINDEXED]) {
      const endless = createEndless()
      const service = await open(endless.adapter, {})
      const reader = readerOf(await ask(service, path))
      await settle()
      expect(endless.count).toBeLessThanOrEqual(3)
      for (let chunk = 1; chunk < 6; chunk++) {
        await reader.read()
        await settle()
        expect(endless.count).toBeLessThanOrEqual(3 + chunk)
      }
      await reader.cancel()
    }
  })

  test('or is slow does not either through a connection', async () => {
    const endless = createEndless(500, 20_000)
    const service = await open(endless.adapter, {})
    const request = get(`${await listen(service)}/things`)
    request.on('error', () => {})
    const [message] = (await once(request, 'response')) as [IncomingMessage]
    message.on('error', () => {})
    message.pause()
    await settle(500)
    // Ten million bytes a batch: more than what lies in buffers on the way.
    expect(endless.count).toBeLessThanOrEqual(4)
    message.destroy()
  })
})

describe('closing', () => {
  test.each(['/things', UNINDEXED])('waits for a stream, and then ends: %s', async (path) => {
    const seen = observe(createMemoryAdapter())
    const service = await open(seen.adapter)
    const expected = await (await ask(service, path)).text()
    const reader = readerOf(await ask(service, path))
    const first = await reader.read()
    const closing = watch(service.handler.close())
    await settle()
    expect([closing.isSettled, seen.closed]).toEqual([false, 0])
    const late = await ask(service, '/things?limit=1')
    expect(late.status).toBe(503)
    const text = new TextDecoder().decode(first.value) + (await readAll(reader))
    expect(text === expected).toBe(true)
    await closing.promise
    expect(seen.closed).toBe(1)
  })

  test.each(['/things', UNINDEXED])('waits for a stream that begins meanwhile: %s', async (path) => {
    let letGo = (): void => {}
    let isArmed = false
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const seen = observe(createMemoryAdapter(), () => (isArmed ? gate : undefined))
    const service = await open(seen.adapter)
    isArmed = true
    const answer = ask(service, path)
    await settle()
    const closing = watch(service.handler.close())
    await settle()
    letGo()
    const response = await answer
    expect(response.status).toBe(200)
    await settle()
    expect([closing.isSettled, seen.closed]).toEqual([false, 0])
    expect(isJson(await response.text())).toBe(true)
    await closing.promise
    expect(seen.closed).toBe(1)
  })

  test('waits for a stream through a connection', async () => {
    const seen = observe(createMemoryAdapter())
    const service = await open(seen.adapter)
    const url = await listen(service)
    const reading = readFrom(`${url}/things`)
    while (seen.count === 0) await settle(1)
    const closing = service.handler.close()
    const { isWhole, text } = await reading
    expect([isWhole, isJson(text)]).toEqual([true, true])
    await closing
    expect(seen.closed).toBe(1)
  })

  test('does not wait for one that was given up', async () => {
    const seen = observe(createMemoryAdapter())
    const service = await open(seen.adapter)
    const response = await ask(service, '/things')
    await response.body?.cancel()
    await service.handler.close()
    expect(seen.closed).toBe(1)
  }, 60_000)
})

describe('time', () => {
  const fakeTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })

  /** Puts the clock forward until the connections are ended, at the latest the second time that nothing was taken. */
  async function waitUntilEnded(): Promise<void> {
    for (let idle = 0; connections.some(({ destroyed }) => !destroyed); ) {
      const written = connections.map(({ bytesWritten }) => bytesWritten)
      vi.advanceTimersByTime(30_001)
      await settle()
      const isIdle = connections.every(({ bytesWritten }, i) => bytesWritten === written[i])
      idle = isIdle ? idle + 1 : 0
      expect(idle).toBeLessThan(3)
    }
  }

  test.each(['/things', UNINDEXED])(
    'ends a stream of which nothing is taken for 30 seconds: %s',
    async (path) => {
      const endless = createEndless()
      const service = await open(endless.adapter, {})
      fakeTimers()
      const reader = readerOf(await ask(service, path))
      await reader.read()
      await settle()
      vi.advanceTimersByTime(29_000)
      expect((await reader.read()).done).toBe(false)
      await settle()
      vi.advanceTimersByTime(29_000)
      expect((await reader.read()).done).toBe(false)
      await settle()
      vi.advanceTimersByTime(30_001)
      await settle()
      await expect(readAll(reader)).rejects.toThrow()
      vi.useRealTimers()
      await service.handler.close()
      const { count } = endless
      await settle()
      expect(endless.count).toBe(count)
    },
    60_000,
  )

  test('ends a connection that takes nothing for 30 seconds', async () => {
    const endless = createEndless(500, 20_000)
    const service = await open(endless.adapter, {})
    const url = await listen(service)
    fakeTimers()
    const request = get(`${url}/things`)
    request.on('error', () => {})
    const [message] = (await once(request, 'response')) as [IncomingMessage]
    message.on('error', () => {})
    message.pause()
    await settle(500)
    await waitUntilEnded()
    message.resume()
    await once(message, 'close').catch(() => {})
    expect(message.complete).toBe(false)
    vi.useRealTimers()
    await service.handler.close()
    expect(endless.closed).toBe(1)
  }, 60_000)

  test('does not end a connection that takes a part every 20 seconds', async () => {
    const endless = createEndless(500, 20_000)
    const service = await open(endless.adapter, {})
    const url = await listen(service)
    fakeTimers()
    const request = get(`${url}/things`)
    request.on('error', () => {})
    const [message] = (await once(request, 'response')) as [IncomingMessage]
    let taken = 0
    let hasEnded = false
    message
      .on('error', () => {})
      .on('close', () => {
        hasEnded = true
      })
    for (let part = 1; part <= 4; part++) {
      message.pause()
      await settle(200)
      vi.advanceTimersByTime(20_000)
      await settle()
      expect([part, hasEnded]).toEqual([part, false])
      // More than what lies in buffers on the way.
      const enough = taken + 4_000_000
      message.on('data', (bytes: Uint8Array) => {
        taken += bytes.length
      })
      message.resume()
      while (taken < enough && !hasEnded) await settle(1)
      message.removeAllListeners('data')
    }
    expect(taken).toBeGreaterThan(16_000_000)
    message.destroy()
  }, 60_000)

  test('does not end a stream of which a part is read every 29 seconds', async () => {
    const endless = createEndless(500, 2000)
    const service = await open(endless.adapter, {})
    fakeTimers()
    const reader = readerOf(await ask(service, '/things'))
    for (let part = 0; part < 20; part++) {
      const { value } = await reader.read()
      expect(value?.length).toBeLessThanOrEqual(3 * 65_536)
      await settle(5)
      vi.advanceTimersByTime(29_000)
    }
    expect(endless.count).toBeLessThanOrEqual(4)
    await reader.cancel()
  })

  test('ends a connection that takes nothing of one large text', async () => {
    const title = 'x'.repeat(15_000_000)
    const service = await open(createMemoryAdapter(), { things: [{ s: title }] })
    const url = await listen(service)
    fakeTimers()
    const request = get(`${url}/things/${idOf(1)}`)
    request.on('error', () => {})
    const [message] = (await once(request, 'response')) as [IncomingMessage]
    message.on('error', () => {})
    message.pause()
    await settle(500)
    await waitUntilEnded()
    message.resume()
    await once(message, 'close').catch(() => {})
    expect(message.complete).toBe(false)
  }, 60_000)

  test('of a request runs to the first byte only', async () => {
    const service = await open(createMemoryAdapter(), { things, people }, { requestSeconds: 5 })
    fakeTimers()
    const reader = readerOf(await ask(service, '/things'))
    const decoder = new TextDecoder()
    let text = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value)
      vi.advanceTimersByTime(20_000)
      await settle(5)
    }
    expect(JSON.parse(text)).toHaveLength(things.filter(({ s }) => s !== 'hidden').length)
  })

  test.each([1, 2])('is over where batch %i does not come', async (batch) => {
    let isArmed = false
    let count = 0
    const stall = createStall()
    const seen = observe(createMemoryAdapter(), () => {
      if (!isArmed) return undefined
      count += 1
      return count === batch ? stall.begin<void>() : undefined
    })
    const service = await open(seen.adapter)
    isArmed = true
    const response = await answerAtDeadline(stall.begun, () => ask(service, '/things'))
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'storage_unavailable' })
    isArmed = false
    // What never comes is waited for in vain.
    await answerAtDeadline(Promise.resolve(), () => service.handler.close())
  })

  test('streams that nobody reads do not keep a process', async () => {
    const script = `
      import { createCollectionService, createMemoryAdapter } from ${JSON.stringify(
        fileURLToPath(new URL('../../dist/index.js', import.meta.url)),
      )}
      const adapter = createMemoryAdapter()
      const config = { collections: { things: { schema: { n: { type: 'integer' } }, permissions: { '*': { read: true } } } } }
      const handler = createCollectionService(config, adapter, { production: false, logger: { warn() {} } })
      await handler.ready()
      const steps = Array.from({ length: 1200 }, (_, n) => ({ in: 'things', insert: { _id: String(n).padStart(8, '0'), _version: 1, n } }))
      await adapter.write(steps, {})
      const unread = []
      for (let i = 0; i < 500; i++) unread.push(await handler(new Request('http://x/things' + (i % 2 ? '?sort[n]=-1' : ''))))
      console.log(unread.every(({ status, body }) => status === 200 && body))
    `
    const printed = await new Promise<string>((resolve, reject) => {
      const args = ['--input-type=module', '-e', script]
      execFile(process.execPath, args, { timeout: 55_000 }, (failed, out) =>
        failed ? reject(failed) : resolve(out),
      )
    })
    expect(printed).toBe('true\n')
  }, 60_000)
})

describe('short lists', () => {
  test.each([0, 1, 499, 500, 501, 999, 1000, 1001, 1500])('of %i documents are whole', async (size) => {
    const documents = Array.from({ length: size }, (_, n) => ({ n, m: size - n, s: 'x' }))
    const service = await open(createMemoryAdapter(), { things: documents })
    for (const path of ['/things', INDEXED, `${INDEXED}&limit=1001`, UNINDEXED, `${UNINDEXED}&limit=5000`]) {
      const response = await ask(service, path)
      const body = (await response.json()) as { readonly n: number }[]
      const limit = path.includes('=1001') ? 1001 : size
      expect(body, path).toHaveLength(Math.min(size, limit))
      expect(body.map(({ n }) => n).sort((a, b) => a - b)).toEqual(
        documents.slice(0, Math.min(size, limit)).map(({ n }) => n),
      )
      expect(response.headers.get('link')).toBeNull()
    }
  })
})
