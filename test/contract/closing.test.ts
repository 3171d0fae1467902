import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  createMemoryAdapter,
  type Filter,
  type Hasher,
  type HookChange,
  type StorageAdapter,
} from '../../src/index.js'
import { createCuttingAdapter } from '../support/cutting-adapter.js'
import { answerAtDeadline, createStall, type Stall } from '../support/deadlines.js'
import { createTestService, type Sent, type TestService } from '../support/service.js'
import { isOfStart, replaceMethods } from '../support/stored.js'

// CONTRACT.md §7, "Handler"

const config = {
  collections: {
    things: {
      schema: { x: { type: 'string' } },
      permissions: { '*': { create: true, read: true, update: true } },
    },
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
      permissions: { '*': { create: { pick: ['email', 'password'] } } },
    },
  },
}

const everything: Filter = { kind: 'and', filters: [] }

function defer<T = void>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

const codeOf = ({ status, body }: Sent): [number, string] => [status, body.code]

/** Sends a request whose client may leave. */
async function sendFrom({ handler }: TestService, path: string, body: BodyInit, signal: AbortSignal) {
  const init: RequestInit & { duplex: 'half' } = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal,
    duplex: 'half',
  }
  return (await handler(new Request(`http://service.test${path}`, init))).status
}

/** A storage whose writes wait until they are let go on, and what happens in which order. */
function createSlowStorage() {
  const inner = createMemoryAdapter()
  const steps: string[] = []
  const started = defer()
  const gate = defer()
  const adapter: StorageAdapter = {
    ...inner,
    async write(asked, options) {
      if (isOfStart(options)) return inner.write(asked, options)
      started.resolve()
      await gate.promise
      const result = await inner.write(asked, options)
      steps.push('written')
      return result
    },
    async close() {
      steps.push('closed')
      await inner.close()
    },
  }
  return { adapter, steps, started: started.promise, letGo: gate.resolve, inner }
}

describe('closing waits, before the storage is closed,', () => {
  test('for a write whose request was answered already, because its time was over', async () => {
    const { adapter, steps, started, letGo, inner } = createSlowStorage()
    const { send, handler } = createTestService(config, { adapter })
    const answer = await answerAtDeadline(started, () =>
      send('POST /things', { body: { x: 'a' }, mayFail: true }),
    )
    expect(codeOf(answer)).toEqual([503, 'outcome_unknown'])
    const closing = handler.close()
    expect(steps).toEqual([])
    letGo()
    await closing
    expect(steps).toEqual(['written', 'closed'])
    expect(await inner.count('things', everything, {})).toBe(1)
  })

  test('for a write whose client has left', async () => {
    const { adapter, steps, started, letGo, inner } = createSlowStorage()
    const service = createTestService(config, { adapter })
    const client = new AbortController()
    const answer = sendFrom(service, '/things', '{"x":"a"}', client.signal)
    await started
    client.abort()
    const closing = service.handler.close()
    expect(steps).toEqual([])
    letGo()
    expect(await answer).toBe(201)
    await closing
    expect(steps).toEqual(['written', 'closed'])
    expect(await inner.count('things', everything, {})).toBe(1)
  })

  test('for every write of several', async () => {
    const { adapter, steps, started, letGo } = createSlowStorage()
    const service = createTestService(config, { adapter })
    const client = new AbortController()
    const answers = ['a', 'b', 'c'].map((x) =>
      sendFrom(service, '/things', JSON.stringify({ x }), client.signal),
    )
    await started
    const stayed = service.send('POST /things', { body: { x: 'd' } })
    client.abort()
    const closing = service.handler.close()
    letGo()
    expect(await Promise.all(answers)).toEqual([201, 201, 201])
    expect((await stayed).status).toBe(201)
    await closing
    expect(steps.at(-1)).toBe('closed')
    expect(steps.filter((step) => step === 'closed')).toHaveLength(1)
    expect(steps).toContain('written')
  })
})

/** Closes a service, which waits for work as long as a request may take at most. */
const closeInTime = ({ close }: TestService['handler']): Promise<void> =>
  answerAtDeadline(Promise.resolve(), () => close())

describe('closing does not wait for ever', () => {
  test.each<
    [
      what: string,
      breakWith: (stall: Stall) => Parameters<typeof replaceMethods>[1],
      line: string,
      code: string,
    ]
  >([
    ['a list', ({ begin }) => ({ list: begin }), 'GET /things', 'storage_unavailable'],
    ['a count', ({ begin }) => ({ count: begin }), 'GET /things/count', 'storage_unavailable'],
    ['a write', ({ begin }) => ({ write: begin }), 'POST /things', 'outcome_unknown'],
  ])('for a storage that never answers: %s', async (_, breakWith, line, code) => {
    const stall = createStall()
    let closed = 0
    const adapter: StorageAdapter = {
      ...replaceMethods(createMemoryAdapter(), breakWith(stall)),
      async close() {
        closed += 1
      },
    }
    const { send, handler } = createTestService(config, { adapter })
    const body = line.startsWith('POST') ? { body: { x: 'a' } } : {}
    const answer = await answerAtDeadline(stall.begun, () => send(line, { ...body, mayFail: true }))
    expect(codeOf(answer)).toEqual([503, code])
    await closeInTime(handler)
    expect(closed).toBe(1)
  })

  test('for a storage that never opens', async () => {
    const { begin, begun } = createStall()
    const adapter: StorageAdapter = { ...createMemoryAdapter(), open: begin }
    const { send, handler } = createTestService(config, { adapter })
    const answer = await answerAtDeadline(begun, () => send('GET /things', { mayFail: true }))
    expect(codeOf(answer)).toEqual([503, 'storage_unavailable'])
    await closeInTime(handler)
  })

  test('for a host that never says who asks', async () => {
    const { begin, begun } = createStall()
    const { send, handler } = createTestService(config, { authenticate: begin })
    const answer = await answerAtDeadline(begun, () => send('GET /things', { mayFail: true }))
    expect(codeOf(answer)).toEqual([503, 'overloaded'])
    await expect(closeInTime(handler)).resolves.toBeUndefined()
  })
})

test('a hook that is under way still reads by its api while the service is being closed', async () => {
  const [asked, goOn] = [defer(), defer()]
  const { send, handler } = createTestService(config, {
    hooks: {
      things: {
        async before({ api }: HookChange) {
          asked.resolve()
          await goOn.promise
          const { status } = await api(new Request('http://service.test/things/count'))
          return { set: { x: String(status) } }
        },
      },
    },
  } as never)
  const sending = send('POST /things', { body: { x: 'a' } })
  await asked.promise
  const closing = handler.close()
  goOn.resolve()
  expect((await sending).body.x).toBe('200')
  await closing
})

describe('an answer that is being sent', () => {
  afterEach(() => void vi.restoreAllMocks())

  /** The beginning of a long answer of a service that is then closed, and whose storage answers `most` times. */
  async function close(most: number) {
    const things = Array.from({ length: 6 }, () => ({ x: 'x'.repeat(2 ** 20) }))
    const cutting = createCuttingAdapter(createMemoryAdapter({ documents: { things } }))
    const stall = createStall()
    let isClosed = false
    const adapter: StorageAdapter = {
      ...cutting,
      list: (...asked) => (cutting.asked.length < most ? cutting.list(...asked) : stall.begin()),
      async close() {
        isClosed = true
      },
    }
    const { handler } = createTestService({ ...config, limits: { requestSeconds: 1 } }, { adapter })
    const reader = (await handler(new Request('http://service.test/things'))).body?.getReader()
    const first = await reader?.read()
    const closing = handler.close()
    const readOn = async (): Promise<number> => {
      let bytes = first?.value?.length ?? 0
      for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
        bytes += next.value.length
      return bytes
    }
    return { reader, readOn, closing, isClosed: () => isClosed }
  }

  test('is sent to its end, however long its client takes', async () => {
    const { readOn, closing, isClosed } = await close(100)
    // Longer than any request.
    await wait(1200)
    expect(isClosed()).toBe(false)
    expect(await readOn()).toBeGreaterThan(6 * 2 ** 20)
    await closing
    expect(isClosed()).toBe(true)
  })

  test('is left where the storage gives no more of it for a minute', async () => {
    const { reader, readOn, closing, isClosed } = await close(3)
    const reading = readOn().catch(() => 0)
    await wait(1200)
    expect(isClosed()).toBe(false)
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000)
    await closing
    expect(isClosed()).toBe(true)
    await reader?.cancel().catch(() => {})
    await reading
  })
})

describe('once closed', () => {
  test('every request that needs the storage is 503, for every caller', async () => {
    const { send, handler } = createTestService(config)
    expect((await send('POST /things', { body: { x: 'a' } })).status).toBe(201)
    await handler.close()
    for (const line of ['GET /things', 'GET /things/count', 'POST /things', 'POST /auth/login']) {
      const answer = await send(line, { mayFail: true, ...(line.startsWith('POST') ? { body: {} } : {}) })
      expect(codeOf(answer), line).toEqual([503, 'storage_unavailable'])
    }
    const caller = { id: 'ann' }
    expect((await send('GET /things', { caller, mayFail: true })).status).toBe(503)
  })

  test('a request that comes while work is waited for is 503 too', async () => {
    const { adapter, started, letGo, steps } = createSlowStorage()
    const { send, handler } = createTestService(config, { adapter })
    const first = send('POST /things', { body: { x: 'a' } })
    await started
    const closing = handler.close()
    const late = await send('POST /things', { body: { x: 'b' }, mayFail: true })
    expect(codeOf(late)).toEqual([503, 'storage_unavailable'])
    letGo()
    expect((await first).status).toBe(201)
    await closing
    expect(steps).toEqual(['written', 'closed'])
  })

  test('closing again does nothing more', async () => {
    const { adapter, steps, letGo } = createSlowStorage()
    letGo()
    const { send, handler } = createTestService(config, { adapter })
    await send('POST /things', { body: { x: 'a' } })
    await Promise.all([handler.close(), handler.close(), handler.as(null).close()])
    await handler.close()
    expect(steps).toEqual(['written', 'closed'])
  })
})

describe('a body that breaks off', () => {
  const parts = ['{"email":"ann@example.com",', '"password":"correct horse","x":']

  test.each<[what: string, reason: unknown]>([
    ['an error', new Error('the connection is gone')],
    ['nothing', undefined],
    ['text', 'gone'],
  ])('is a request_timeout, of which nothing is logged or stored: %s', async (_, reason) => {
    for (const path of ['/things', '/auth/register', '/auth/login', '/users']) {
      const { send, handler, logged, adapter } = createTestService(config)
      await handler.ready()
      const left = [...parts]
      const raw = new ReadableStream<Uint8Array>({
        pull(controller) {
          const part = left.shift()
          if (part === undefined) controller.error(reason)
          else controller.enqueue(new TextEncoder().encode(part))
        },
      })
      expect(codeOf(await send(`POST ${path}`, { raw })), path).toEqual([408, 'request_timeout'])
      expect(logged).toEqual([])
      await handler.close()
      for (const name of ['things', 'users']) expect(await adapter.count(name, everything, {})).toBe(0)
    }
  })
})

describe('a request that is aborted before its body is whole stores nothing', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  const body = JSON.stringify({ email: 'ann@example.com', password: 'correct horse' })

  /** A hasher that waits until it is let go on. */
  function createSlowHasher() {
    const started = defer()
    const gate = defer()
    const wait = async () => {
      started.resolve()
      await gate.promise
      return 'a hash'
    }
    const hasher: Hasher = { hash: wait, verify: async () => (await wait()) !== '' }
    return { hasher, started: started.promise, letGo: gate.resolve }
  }

  async function storedAfter({ handler, adapter }: TestService): Promise<number[]> {
    await handler.close()
    const names = ['things', 'users', '_sessions']
    return Promise.all(names.map((name) => adapter.count(name, everything, {})))
  }

  test.each(['/auth/register', '/users'])('before it begins: %s', async (path) => {
    const { hasher, letGo } = createSlowHasher()
    const hash = vi.spyOn(hasher, 'hash')
    const service = createTestService(config, { hasher })
    await service.handler.ready()
    letGo()
    await sendFrom(service, path, body, AbortSignal.abort())
    expect(await storedAfter(service)).toEqual([0, 0, 0])
    expect(hash).not.toHaveBeenCalled()
  })

  test.each(['/auth/register', '/users', '/things'])('while its body arrives: %s', async (path) => {
    const { hasher, letGo } = createSlowHasher()
    const hash = vi.spyOn(hasher, 'hash')
    const service = createTestService(config, { hasher })
    await service.handler.ready()
    letGo()
    const client = new AbortController()
    const asked = defer()
    const gone = defer()
    const raw = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          asked.resolve()
          await gone.promise
          try {
            controller.enqueue(new TextEncoder().encode(body))
            controller.close()
          } catch {
            // Who has left reads no more.
          }
        },
      },
      { highWaterMark: 0 },
    )
    const answer = sendFrom(service, path, raw, client.signal)
    await asked.promise
    client.abort()
    expect(await answer).toBe(408)
    gone.resolve()
    expect(await storedAfter(service)).toEqual([0, 0, 0])
    expect(hash).not.toHaveBeenCalled()
  })

  test.each(['/auth/register', '/users'])('and one whose secret is hashed is done: %s', async (path) => {
    const { hasher, started, letGo } = createSlowHasher()
    const service = createTestService(config, { hasher })
    const client = new AbortController()
    const answer = sendFrom(service, path, body, client.signal)
    await started
    client.abort()
    letGo()
    expect(await answer).toBe(201)
    expect(await storedAfter(service)).toEqual([0, 1, path === '/users' ? 0 : 1])
  })

  test('and so is a login whose secret is compared', async () => {
    const { hasher, started, letGo } = createSlowHasher()
    const service = createTestService(config, {
      hasher: { hash: async () => 'a hash', verify: hasher.verify },
      documents: { users: [{ email: 'ann@example.com', password: 'correct horse' }] },
    })
    const client = new AbortController()
    const answer = sendFrom(service, '/auth/login', body, client.signal)
    await started
    client.abort()
    letGo()
    expect(await answer).toBe(200)
    expect(await storedAfter(service)).toEqual([0, 1, 1])
  })

  test('while its time runs out: what is hashed too late is not stored', async () => {
    const { hasher, started, letGo } = createSlowHasher()
    const service = createTestService(config, { hasher })
    const answer = await answerAtDeadline(started, () =>
      service.send('POST /auth/register', { raw: body, mayFail: true }),
    )
    expect(codeOf(answer)).toEqual([503, 'overloaded'])
    letGo()
    expect(await storedAfter(service)).toEqual([0, 0, 0])
  })
})
