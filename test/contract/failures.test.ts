import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  createMemoryAdapter,
  ServiceError,
  type ServiceOptions,
  type StorageAdapter,
} from '../../src/index.js'
import { answerAtDeadline, createStall } from '../support/deadlines.js'
import { createTestService, type TestService } from '../support/service.js'
import { replaceMethods } from '../support/stored.js'
import { ann, codeOf, collections, config, documents, ID } from './support/http.js'

const service = createTestService(config, { documents })
const stepOut = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A promise that is settled from outside. */
function defer<T>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

describe('limits', () => {
  const stream = (chunks: readonly string[]) =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
        controller.close()
      },
    })
  const sized = (length: number) => `{"title":"${'x'.repeat(length - 12)}"}`

  test('bodyBytes, at the limit and beyond, in one piece and in many', async () => {
    const small = createTestService({ collections, limits: { bodyBytes: 50 } })
    const post = async (raw: BodyInit) => codeOf(await small.send('POST /open', { raw }))
    expect(await post(sized(50))).toBe(201)
    expect(await post(sized(51))).toEqual([413, 'body_too_large'])
    expect(await post(stream(sized(50).match(/.{1,7}/g) ?? []))).toBe(201)
    expect(await post(stream(sized(51).match(/.{1,7}/g) ?? []))).toEqual([413, 'body_too_large'])
    // Bytes, not characters.
    expect(await post(`{"title":"${'ä'.repeat(20)}"}`)).toEqual([413, 'body_too_large'])
  })

  test('by default a body has at most 1,048,576 bytes, a query string 8,192', async () => {
    const post = async (raw: string) => codeOf(await service.send('POST /open', { raw }))
    expect(await post(sized(1_048_576))).toBe(201)
    expect(await post(sized(1_048_577))).toEqual([413, 'body_too_large'])
    const get = async (length: number) =>
      codeOf(await service.send(`GET /items?q[title]=${'x'.repeat(length - 9)}`))
    expect(await get(8192)).toBe(200)
    expect(await get(8193)).toEqual([414, 'query_too_long'])
  })

  test('an endless body is cut off at the limit', async () => {
    let sent = 0
    const cancelled = defer<boolean>()
    const raw = new ReadableStream({
      pull(controller) {
        sent += 1000
        controller.enqueue(new Uint8Array(1000).fill(0x20))
      },
      cancel: () => cancelled.resolve(true),
    })
    const small = createTestService({ collections, limits: { bodyBytes: 5000 } })
    expect(codeOf(await small.send('POST /open', { raw }))).toEqual([413, 'body_too_large'])
    expect(await cancelled.promise).toBe(true)
    expect(sent).toBeLessThan(20_000)
  })
})

describe('limits: requestSeconds', () => {
  const patient = (adapter: StorageAdapter, options: ServiceOptions = {}) =>
    createTestService({ collections }, { ...options, adapter })
  const ask = (begun: Promise<unknown>, target: TestService, line: string, options = {}) =>
    answerAtDeadline(begun, () => target.send(line, { ...options, mayFail: true }))

  test('a body that does not end is a 408, and is given up', async () => {
    const cancelled = defer<boolean>()
    const { begin, begun } = createStall()
    const raw = new ReadableStream(
      { pull: begin, cancel: () => cancelled.resolve(true) },
      { highWaterMark: 0 },
    )
    const answer = await ask(begun, patient(createMemoryAdapter()), 'POST /open', { raw })
    expect(codeOf(answer)).toEqual([408, 'request_timeout'])
    expect(await cancelled.promise).toBe(true)
  })

  test('a storage that does not answer is a 503, and is told to stop', async () => {
    const signals: (AbortSignal | undefined)[] = []
    for (const path of ['/items', '/items/count', `/items/${ID}`]) {
      const { begin, begun } = createStall()
      const adapter = replaceMethods(createMemoryAdapter(), {
        list: (_, { signal }) => {
          signals.push(signal)
          return begin()
        },
        count: (_, __, { signal }) => {
          signals.push(signal)
          return begin()
        },
      })
      const answer = await ask(begun, patient(adapter), `GET ${path}`)
      expect(codeOf(answer)).toEqual([503, 'storage_unavailable'])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true, true])
  })

  test('a storage that does not open is a 503', async () => {
    const { begin, begun } = createStall()
    const answer = await ask(begun, patient({ ...createMemoryAdapter(), open: begin }), 'GET /items')
    expect(codeOf(answer)).toEqual([503, 'storage_unavailable'])
  })

  test('a write that is not confirmed is a 503 of unknown outcome', async () => {
    const { begin, begun } = createStall()
    const stalled = patient(replaceMethods(createMemoryAdapter(), { write: begin }))
    const answer = await ask(begun, stalled, 'POST /open', { body: { title: 'x' } })
    expect(codeOf(answer)).toEqual([503, 'outcome_unknown'])
  })

  test('a secret that is not hashed in time is a 503, and nothing is written afterwards', async () => {
    const hashing = defer<string>()
    const written: unknown[] = []
    const memory = createMemoryAdapter()
    const adapter = replaceMethods(memory, {
      write: (steps, options) => {
        written.push(steps)
        return memory.write(steps, options)
      },
    })
    const begun = defer<boolean>()
    const hash = () => {
      begun.resolve(true)
      return hashing.promise
    }
    const hasher = { hash, verify: async () => false }
    const answer = await ask(begun.promise, patient(adapter, { hasher }), 'POST /auth/register', {
      body: ann,
    })
    expect(codeOf(answer)).toEqual([503, 'overloaded'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    hashing.resolve('hash')
    await stepOut()
    expect(written).toEqual([])
  })

  test('a caller who is not identified in time is a 503', async () => {
    const { begin, begun } = createStall()
    const answer = await ask(begun, patient(createMemoryAdapter(), { authenticate: begin }), 'GET /items')
    expect(answer.status).toBe(503)
  })

  test('a client that has gone away is still answered, and nothing is written', async () => {
    const started = defer<boolean>()
    const controller = new AbortController()
    const patient = createTestService({ collections }, { adapter: createMemoryAdapter() })
    const raw = new ReadableStream({ pull: () => started.resolve(true) }, { highWaterMark: 0 })
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      body: raw,
      signal: controller.signal,
      duplex: 'half',
    }
    const answering = patient.handler(new Request('http://x/open', init))
    await started.promise
    controller.abort()
    expect((await answering).status).toBeGreaterThanOrEqual(400)
    const late = patient.handler(new Request('http://x/open', { ...init, body: '{"title":"x"}' }))
    expect((await late).status).toBeGreaterThanOrEqual(400)
    expect((await patient.send('GET /open/count')).body).toEqual({ total: 0 })
  })
})

describe('a storage that throws', () => {
  const SECRET = 'dbpass'
  const brand = Symbol.for('collection-service.ServiceError')
  const odd: [string, () => unknown][] = [
    ['an error', () => new Error(SECRET)],
    ['an error with a cause', () => new TypeError(SECRET, { cause: new Error(SECRET) })],
    ['text', () => SECRET],
    ['a number', () => 404],
    ['undefined', () => undefined],
    ['null', () => null],
    ['a symbol', () => Symbol(SECRET)],
    [
      'an object that looks like an answer',
      () => ({ status: 200, code: 'not_found', message: SECRET, body: SECRET }),
    ],
    ['an object without a prototype', () => Object.assign(Object.create(null), { message: SECRET })],
    [
      'an object that cannot be read',
      () =>
        new Proxy(
          {},
          {
            get: () => {
              throw new Error(SECRET)
            },
            has: () => {
              throw new Error(SECRET)
            },
          },
        ),
    ],
    [
      'an error that cannot be read',
      () =>
        Object.defineProperty(new Error(), 'message', {
          get: () => {
            throw new Error(SECRET)
          },
        }),
    ],
    ['a function', () => () => SECRET],
    [
      'an internal error of this library',
      () => new ServiceError('internal_error', SECRET, { cause: new Error(SECRET) }),
    ],
    [
      'an error of a newer copy of this library',
      () => Object.assign(new Error(SECRET), { [brand]: true, code: 'unheard_of', errors: [] }),
    ],
    ['an error with the mark of this library and nothing else', () => ({ [brand]: true, message: SECRET })],
    [
      'the same with the name of a property of every object',
      () => ({ [brand]: true, code: 'constructor', message: SECRET, errors: [] }),
    ],
  ]
  test.each(odd)('%s: 500, and nothing of it leaves the process', async (_, make) => {
    const fail = async (): Promise<never> => {
      throw make()
    }
    const throwing = createTestService(config, {
      adapter: replaceMethods(createMemoryAdapter(), { list: fail, count: fail, write: fail }),
    })
    for (const [line, body] of [
      ['GET /items'],
      ['GET /items/count'],
      [`GET /items/${ID}`],
      ['POST /open', { title: 'x' }],
    ] as const) {
      const logged = throwing.logged.length
      const answer = await throwing.send(line, { body, mayFail: true })
      expect(codeOf(answer), line).toEqual([500, 'internal_error'])
      expect(answer.text).not.toContain(SECRET)
      expect(answer.body).not.toHaveProperty('errors')
      // The cause is in the log, once, under the id that the client was given.
      expect(throwing.logged).toHaveLength(logged + 1)
      expect(throwing.logged.at(-1)).toContainEqual(
        expect.objectContaining({ requestId: answer.body.requestId }),
      )
    }
  })

  test('at once, instead of rejecting', async () => {
    const throwing = createTestService(config, {
      adapter: replaceMethods(createMemoryAdapter(), {
        list() {
          throw new Error(SECRET)
        },
      }),
    })
    expect(codeOf(await throwing.send('GET /items', { mayFail: true }))).toEqual([500, 'internal_error'])
  })

  test.each<['storage_unavailable' | 'outcome_unknown' | 'overloaded', boolean]>([
    ['storage_unavailable', true],
    ['overloaded', true],
    ['outcome_unknown', false],
  ])('%s is what it says, and its cause stays inside', async (code, hasRetry) => {
    const fail = async (): Promise<never> => {
      throw new ServiceError(code, 'gone', { cause: new Error(SECRET) })
    }
    const adapter = replaceMethods(createMemoryAdapter(), { list: fail })
    const throwing = createTestService(config, { adapter, holdsOthers: true })
    const answer = await throwing.send('GET /items', { mayFail: true })
    expect(codeOf(answer)).toEqual([503, code])
    expect(answer.text).not.toContain(SECRET)
    if (hasRetry) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(JSON.stringify(throwing.logged)).toContain(answer.body.requestId)
  })

  test('a log that fails fails no request', async () => {
    const boom = (): never => {
      throw new Error(SECRET)
    }
    const throwing = createTestService(config, {
      adapter: replaceMethods(createMemoryAdapter(), { list: boom }),
      logger: { error: boom, warn: boom, info: boom },
    })
    expect(codeOf(await throwing.send('GET /items', { mayFail: true }))).toEqual([500, 'internal_error'])
  })

  test('a hasher that fails is a 500 too', async () => {
    const fail = async (): Promise<never> => {
      throw new Error(SECRET)
    }
    const throwing = createTestService(config, { hasher: { hash: fail, verify: fail } })
    for (const path of ['/auth/register', '/auth/login']) {
      const answer = await throwing.send(`POST ${path}`, { body: ann, mayFail: true })
      expect(codeOf(answer)).toEqual([500, 'internal_error'])
      expect(answer.text).not.toContain(SECRET)
    }
  })

  test.each<[string, () => BodyInit]>([
    [
      'a body that breaks',
      () => new ReadableStream({ pull: (controller) => controller.error(new Error(SECRET)) }),
    ],
    [
      'a body of no bytes',
      () =>
        new ReadableStream({
          start(controller) {
            controller.enqueue(SECRET)
            controller.close()
          },
        }),
    ],
  ])('%s is answered', async (_, raw) => {
    const answer = await service.send('POST /open', { raw: raw(), mayFail: true })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.text).not.toContain(SECRET)
  })

  test('a body that the host has read already is a 500', async () => {
    const request = new Request('http://x/open', { method: 'POST', body: '{"title":"x"}' })
    await request.text()
    const fresh = createTestService(config)
    const answer = await fresh.handler(request)
    expect(answer.status).toBe(500)
    expect(fresh.logged.at(-1)?.[1]).toEqual({
      requestId: (await answer.json()).requestId,
      cause: expect.objectContaining({ message: expect.stringContaining('new Request(request, {') }),
    })
    const again = new Request(request, { body: JSON.stringify({ title: 'x' }) })
    expect((await fresh.handler(again)).status).toBe(201)
  })
})

describe('opening the storage', () => {
  afterEach(() => vi.useRealTimers())

  /** An adapter whose `open` fails until it is mended. */
  function breakable(cause: unknown) {
    const memory = createMemoryAdapter()
    const state = { isBroken: true, opened: 0 }
    const adapter: StorageAdapter = {
      ...memory,
      async open(plans) {
        // A start first opens the record of configurations alone.
        if (plans.length === 1) state.opened += 1
        if (state.isBroken) throw cause
        await memory.open(plans)
      },
    }
    return { adapter, state }
  }

  test('nothing is opened before it is needed, and then once', async () => {
    const { adapter, state } = breakable(null)
    state.isBroken = false
    const lazy = createTestService(config, { adapter })
    await stepOut()
    expect(state.opened).toBe(0)
    await Promise.all([
      lazy.handler.ready(),
      lazy.send('GET /items'),
      lazy.handler.ready(),
      lazy.send('GET /items/count'),
    ])
    await lazy.handler.ready()
    await lazy.handler.as(null).ready()
    expect(state.opened).toBe(1)
  })

  test('ready rejects with the cause, requests answer 503, and it is tried again at most once a second', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] })
    const cause = new Error('dbpass')
    const { adapter, state } = breakable(cause)
    const failing = createTestService(config, { adapter })
    await expect(failing.handler.ready()).rejects.toBe(cause)
    const ask = () => failing.send('GET /items', { mayFail: true })
    for (let i = 0; i < 3; i++) {
      const answer = await ask()
      expect(codeOf(answer)).toEqual([503, 'storage_unavailable'])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.text).not.toContain('dbpass')
    }
    expect(state.opened).toBe(1)
    vi.advanceTimersByTime(1100)
    expect((await ask()).status).toBe(503)
    expect((await ask()).status).toBe(503)
    expect(state.opened).toBe(2)
    await expect(failing.handler.ready()).rejects.toBe(cause)
    state.isBroken = false
    vi.advanceTimersByTime(1100)
    expect((await ask()).status).toBe(200)
    await failing.handler.ready()
    expect(state.opened).toBe(3)
  })

  test('routes and methods are told apart without the storage', async () => {
    const { adapter } = breakable(new Error('x'))
    const failing = createTestService(config, { adapter })
    expect((await failing.send('GET /nowhere')).status).toBe(404)
    expect((await failing.send('DELETE /items')).status).toBe(405)
    expect((await failing.send('OPTIONS /items')).status).toBe(204)
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['text', 'dbpass'],
    ['an error of this library', new ServiceError('unique_violation', 'dbpass')],
  ])('whatever is thrown, the answer is the same: %s', async (_, cause) => {
    const { adapter } = breakable(cause)
    const failing = createTestService(config, { adapter })
    const answer = await failing.send('GET /items', { mayFail: true })
    expect(codeOf(answer)).toEqual([503, 'storage_unavailable'])
    expect(answer.text).not.toContain('dbpass')
    await expect(failing.handler.ready()).rejects.toBe(cause)
  })
})

describe('closing', () => {
  function slow() {
    const steps: string[] = []
    const asked = defer<boolean>()
    const listing = defer<[]>()
    const adapter: StorageAdapter = {
      ...replaceMethods(createMemoryAdapter(), {
        list() {
          asked.resolve(true)
          return listing.promise
        },
      }),
      async close() {
        steps.push('closed')
      },
    }
    return { adapter, steps, asked: asked.promise, answer: () => listing.resolve([]) }
  }

  test('requests in flight end first, then the adapter, once', async () => {
    const { adapter, steps, asked, answer } = slow()
    const closing = createTestService(config, { adapter })
    const listed = closing.send('GET /items').then(({ status }) => steps.push(`answered ${status}`))
    await asked
    const closed = [closing.handler.close(), closing.handler.close(), closing.handler.as(null).close()]
    await stepOut()
    expect(steps).toEqual([])
    answer()
    await Promise.all([listed, ...closed])
    expect(steps.toSorted()).toEqual(['answered 200', 'closed'])
    await closing.handler.close()
    expect(steps).toHaveLength(2)
  })

  test('afterwards requests answer 503 and ready rejects', async () => {
    const closing = createTestService(config)
    expect((await closing.send('GET /items')).status).toBe(200)
    await closing.handler.close()
    expect(codeOf(await closing.send('GET /items', { mayFail: true }))).toEqual([503, 'storage_unavailable'])
    await expect(closing.handler.ready()).rejects.toBeDefined()
  })

  test('what was never opened closes too', async () => {
    await expect(createTestService(config).handler.close()).resolves.toBeUndefined()
  })
})
