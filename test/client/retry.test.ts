import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient, type RetryOptions, retry } from '../../src/client/client.js'
import { caught, type config, createService } from './support/service.js'

// CONTRACT.md §7, "The client"

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  vi.spyOn(Math, 'random').mockReturnValue(1)
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** An answer instead of that of the service: its status with headers, or none. */
type Failure = 'lost' | readonly [status: number, headers?: { readonly [name: string]: string }]

/** A client that retries. The first requests fail; with `isTaken`, after they have reached the service. */
function serve(failures: Failure[], options: RetryOptions = {}, isTaken = false) {
  const handler = createService()
  const sent: string[] = []
  const times: number[] = []
  const start = Date.now()
  const fetch: NonNullable<RetryOptions['fetch']> = async (url, init) => {
    sent.push(init.method ?? '')
    times.push(Date.now() - start)
    const failure = failures.shift()
    const answer = isTaken || !failure ? await handler(new Request(url, init)) : undefined
    if (answer && !failure) return answer
    if (failure === 'lost') throw new TypeError('fetch failed')
    const [status = 0, headers = {}] = failure ?? []
    return Response.json({ code: 'overloaded', detail: '' }, { status, headers })
  }
  const client = createClient<typeof config>('http://a.test', { fetch: retry({ fetch, ...options }) })
  return { notes: client.collection('notes'), client, sent, times, handler }
}

/** Passes the pauses of a call, and returns its result. */
async function finish<T>(call: Promise<T>): Promise<T> {
  let isDone = false
  const end = (): void => {
    isDone = true
  }
  call.then(end, end)
  while (!isDone) {
    await vi.advanceTimersByTimeAsync(50)
    await new Promise(setImmediate)
  }
  return call
}

describe('a request is sent again', () => {
  test.each([
    { failure: 'lost' as const },
    ...[408, 429, 502, 503, 504].map((status) => ({ failure: [status] as const })),
  ])('if it reads, after $failure', async ({ failure }) => {
    const { notes, sent } = serve([failure, failure])
    expect(await finish(notes.list())).toEqual([])
    expect(sent).toEqual(['GET', 'GET', 'GET'])
  })

  test('after growing pauses, or the one that the answer asks for', async () => {
    const date = new Date(Date.now() + 30_000).toUTCString()
    const failures: Failure[] = [[503], 'lost', [503, { 'retry-after': '7' }], [503, { 'retry-after': date }]]
    const { notes, times } = serve(failures)
    expect(await finish(notes.list())).toEqual([])
    const [last = 0] = times.splice(-1)
    expect(times).toEqual([0, 500, 1500, 8500])
    // A date has no milliseconds.
    expect(last).toBeGreaterThan(29_000)
    expect(last).toBeLessThanOrEqual(30_000)
  })

  test('at most as often as allowed, and the last answer or error counts', async () => {
    const all = (failure: Failure) => Array.from({ length: 9 }, () => failure)
    for (const [failure, thrown] of [
      [[503], { status: 503, code: 'overloaded' }],
      ['lost', { message: 'fetch failed' }],
    ] as const) {
      const { notes, times } = serve(all(failure), { attempts: 3 })
      expect(await finish(caught(notes.list()))).toMatchObject(thrown)
      expect(times).toEqual([0, 500, 1500])
    }
    const { notes, times } = serve(all([502]), { pauseSeconds: 2 })
    expect(await finish(caught(notes.list()))).toMatchObject({ status: 502 })
    expect(times).toEqual([0, 500, 1500, 3500, 5500])
  })

  test.each([
    [{}, '31'],
    [{ pauseSeconds: 5 }, '6'],
  ])('only if the answer asks for no longer pause than allowed: %j', async (options, asked) => {
    const { notes, sent } = serve([[429, { 'retry-after': asked }]], options)
    expect(await finish(caught(notes.list()))).toMatchObject({ retryAfter: Number(asked) })
    expect(sent).toHaveLength(1)
  })

  test('only if the service may accept it then', async () => {
    for (const status of [400, 401, 403, 404, 409, 412, 413, 500]) {
      const { notes, sent } = serve([[status]])
      expect(await finish(caught(notes.count()))).toMatchObject({ status })
      expect(sent).toHaveLength(1)
    }
  })
})

describe('a write whose answer is lost', () => {
  test('is sent again if it creates a document under an id, once', async () => {
    const { notes, sent, handler } = serve(['lost'], {}, true)
    const id = randomUUID()
    // The first attempt took effect.
    expect(await finish(caught(notes.create({ title: 'One' }, { id })))).toMatchObject({
      code: 'precondition_failed',
    })
    expect(sent).toEqual(['PUT', 'PUT'])
    const other = createClient<typeof config>(handler).collection('notes')
    expect(await finish(other.list())).toMatchObject([{ _id: id, title: 'One' }])
  })

  test('is sent again if it names a version', async () => {
    const failures: Failure[] = []
    const { notes, sent } = serve(failures)
    const note = await finish(notes.create({ title: 'One' }))
    failures.push('lost', [503])
    const now = await finish(notes.update(note, { views: 1 }))
    expect(now).toMatchObject({ views: 1 })
    failures.push('lost')
    await finish(notes.delete(now))
    expect(sent).toEqual(['POST', 'PATCH', 'PATCH', 'PATCH', 'DELETE', 'DELETE'])
  })

  test('is not sent again if it may take effect twice', async () => {
    const failures: Failure[] = []
    const { notes, client, sent } = serve(failures)
    const { _id } = await finish(notes.create({ title: 'One' }))
    for (const call of [
      () => notes.create({ title: 'Two' }),
      () => notes.createMany([{ title: 'Two' }]),
      () => notes.update(_id, { views: 1 }),
      () => notes.replace(_id, { title: 'Two' }),
      () => notes.delete(_id),
      () => client.batch((b) => [b.notes.delete(_id)]),
      () => client.auth.login({ email: 'a@b.c', password: 'secret' }),
    ]) {
      for (const failure of ['lost', [503]] as const) {
        sent.length = 0
        failures.push(failure)
        expect(await finish(caught(call()))).toBeInstanceOf(Error)
        expect(sent).toHaveLength(1)
      }
    }
  })

  test.each([
    ['If-Match: *, which names no version', { 'if-match': '*' }, '{}'],
    ['If-None-Match with a version', { 'if-none-match': '"1"' }, '{}'],
    ['a body that can be read once', { 'if-match': '"1"' }, new ReadableStream()],
  ])('is not sent again with %s', async (_, headers, body) => {
    let sent = 0
    const fetch = async (): Promise<Response> => {
      sent += 1
      return new Response(null, { status: 503 })
    }
    const { status } = await finish(retry({ fetch })('http://a.test', { method: 'PATCH', headers, body }))
    expect([status, sent]).toEqual([503, 1])
  })
})

test('a signal ends the pauses', async () => {
  for (const failure of ['lost', [503, { 'retry-after': '20' }]] as const) {
    const controller = new AbortController()
    const { notes, sent } = serve([failure])
    const listed = caught(notes.list({ signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(100)
    controller.abort(new Error('changed my mind'))
    expect(await listed).toEqual(new Error('changed my mind'))
    expect(sent).toHaveLength(1)
  }
})

test('an unknown option is an error', () => {
  expect(() => retry({ times: 3 } as object)).toThrow(new TypeError('times is unknown'))
})
