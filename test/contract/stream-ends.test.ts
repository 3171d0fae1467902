import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { createMemoryAdapter, type StoredDocument } from '../../src/index.js'
import { answerAtDeadline, createStall } from '../support/deadlines.js'
import { encodePath } from '../support/service.js'
import { idOf, LONG_AGO, replaceMethods } from '../support/stored.js'
import {
  ask,
  INDEXED,
  isJson,
  observe,
  outcomeOf,
  people,
  readerOf,
  readFrom,
  settle,
  things,
  UNINDEXED,
  useServices,
} from './support/streams.js'

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

/** A storage that never comes to an end. */
function createEndless(size = 500, bytes = 10): ReturnType<typeof observe> {
  const s = 'x'.repeat(bytes)
  let serial = 0
  const next = (length = size): StoredDocument[] =>
    Array.from({ length }, () => {
      serial += 1
      return { _id: idOf(serial), _version: 1, createdAt: LONG_AGO, updatedAt: LONG_AGO, n: serial, s }
    })
  return observe({
    ...replaceMethods(createMemoryAdapter(), {
      async list(_, { limit }) {
        return next(limit ?? size)
      },
    }),
    async *stream() {
      for (;;) yield next()
    },
  })
}

const { open, listen, connections } = useServices()

describe('a client that goes away', () => {
  test.each(['/things', INDEXED, UNINDEXED])('ends the reading by cancelling: %s', async (path) => {
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
  })

  test.each(['/things', INDEXED, UNINDEXED])('ends the reading by aborting its request: %s', async (path) => {
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
  })

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
  )

  test('or is slow does not let the storage be read ahead', async () => {
    for (const [path, held] of [
      ['/things', 1],
      [UNINDEXED, 3],
    ] as const) {
      const endless = createEndless()
      const service = await open(endless.adapter, {})
      const reader = readerOf(await ask(service, path))
      await settle()
      expect(endless.count).toBeLessThanOrEqual(held + 2)
      for (let chunk = 1; chunk < 6; chunk++) {
        await reader.read()
        await settle()
        expect(endless.count).toBeLessThanOrEqual(held + 2 + chunk)
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
  })
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
  })

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
  })

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
  })

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

  test('is over where the first batch does not come', async () => {
    let isArmed = false
    const stall = createStall()
    const seen = observe(createMemoryAdapter(), () => (isArmed ? stall.begin<void>() : undefined))
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
  })
})
