import { afterEach, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { createCollectionService, createMemoryAdapter, defineConfig, type Handler } from '../../src/index.js'
import { until } from '../support/until.js'

// CONTRACT.md §7, "The client"

const config = defineConfig({
  collections: {
    people: {
      schema: { name: { type: 'string' }, mail: { type: 'string' } },
      permissions: { '*': { read: { omit: ['mail'] }, create: true, update: true, delete: true } },
    },
    notes: {
      changes: true,
      schema: {
        text: { type: 'string' },
        n: { type: 'integer' },
        by: { type: 'reference', collection: 'people', onDelete: 'unset' },
        at: { type: 'object', properties: { x: { type: 'integer' }, y: { type: 'integer' } } },
      },
      permissions: { '*': { read: true, create: true, update: true, delete: true } },
    },
  },
})

const opened: Handler[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((handler) => handler.close()))
})

/** A stream of the chunks of a body, which arrive together as often as `flush` is called. */
function collect(body: ReadableStream<Uint8Array> | null) {
  const chunks: Uint8Array[] = []
  const reader = body?.getReader()
  let flush = (): void => {}
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      flush = () => {
        for (const chunk of chunks.splice(0)) controller.enqueue(chunk)
      }
      const pump = async (): Promise<void> => {
        for (;;) {
          const { done, value } = (await reader?.read()) ?? { done: true }
          if (done) return
          chunks.push(value)
        }
      }
      void pump()
    },
    cancel: () => reader?.cancel(),
  })
  return { stream, flush, chunks }
}

/** A client, the lists that it requests, and a promise that each of these lists waits for. */
function serve(change: (response: Response) => Response = (response) => response) {
  const handler = createCollectionService(config, createMemoryAdapter(), {
    production: false,
    logger: { info() {}, warn() {}, error() {} },
  })
  opened.push(handler)
  const lists: string[] = []
  const held: { until: Promise<unknown> } = { until: Promise.resolve() }
  const target = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    if (pathname === '/notes') {
      lists.push(decodeURIComponent(search))
      const { signal } = request
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
      await Promise.race([held.until, aborted])
    }
    const response = await handler(request)
    return pathname === '/notes/changes' ? change(response) : response
  }
  const notes = createClient<typeof config>(target).collection('notes')
  // Writes of others, so that only the requests of the live list are counted.
  const others = createClient(handler)
  return { notes, lists, held, write: others.collection('notes'), people: others.collection('people') }
}

const next = async <T>(iterator: AsyncIterator<T, unknown>): Promise<T> => {
  const { value, done } = await iterator.next()
  if (done) throw new Error('the list has ended')
  return value as T
}

describe('a live list with project', () => {
  test('shows only these fields, and is sorted by others', async () => {
    const { notes, write, lists } = serve()
    const a = await write.create({ text: 'a', n: 2, at: { x: 1, y: 2 } })
    const live = notes.live({ project: ['text', 'at.x'], sort: { n: 1, 'at.y': 1 }, limit: 9 })
    expect(await next(live)).toEqual([{ _id: a._id, text: 'a', at: { x: 1 } }])
    const b = await write.create({ text: 'b', n: 1, at: { y: 3 } })
    const first = await next(live)
    expect(first).toEqual([
      { _id: b._id, text: 'b', at: {} },
      { _id: a._id, text: 'a', at: { x: 1 } },
    ])
    await write.update(b._id, { n: 3 })
    const second = await next(live)
    expect(second).toEqual([first[1], first[0]])
    // A document that has not changed is the same object.
    expect(second[0]).toBe(first[1])
    await write.update(a._id, { at: null })
    expect((await next(live))[0]).toEqual({ _id: a._id, text: 'a' })
    expect(lists).toHaveLength(1)
    await live.return()
  })

  test('is not renewed by a change of another field', async () => {
    const { notes, write } = serve()
    const { _id } = await write.create({ text: 'a', n: 1 })
    const live = notes.live({ project: ['text'] })
    await next(live)
    await write.update(_id, { n: 2 })
    await write.update(_id, { text: 'b' })
    expect(await next(live)).toEqual([{ _id, text: 'b' }])
    await live.return()
  })

  test('of nothing has ids alone', async () => {
    const { notes, write } = serve()
    const { _id } = await write.create({ text: 'a', n: 1 })
    const live = notes.live({ project: [], sort: { n: 1 } })
    expect(await next(live)).toEqual([{ _id }])
    await live.return()
  })
})

describe('a live list with expand', () => {
  test('shows what its documents refer to, as of their own last events', async () => {
    const { notes, write, people } = serve()
    const ann = await people.create({ name: 'Ann', mail: 'ann@a.b' })
    const one = await write.create({ text: 'one', by: ann._id })
    const live = notes.live({ expand: ['by'], sort: { text: 1 }, limit: 9 })
    const names = async () =>
      (await next(live)).map(({ text, by }) => `${text} ${typeof by === 'object' ? by.name : by}`)
    expect(await names()).toEqual(['one Ann'])
    await people.update(ann._id, { name: 'Anna' })
    const two = await write.create({ text: 'two', by: ann._id })
    expect(await names()).toEqual(['one Ann', 'two Anna'])
    await write.update(one._id, { n: 1 })
    expect(await names()).toEqual(['one Anna', 'two Anna'])
    await write.delete(two._id)
    expect(await names()).toEqual(['one Anna'])
    await live.return()
  })

  test('shows of them what its caller may read', async () => {
    const { notes, write, people } = serve()
    const live = notes.live({ expand: ['by'], project: ['by'] })
    await next(live)
    const ann = await people.create({ name: 'Ann', mail: 'ann@a.b' })
    const { _id } = await write.create({ text: 'one', by: ann._id })
    const { mail: _, ...shown } = ann
    expect(await next(live)).toEqual([{ _id, by: { ...shown } }])
    await live.return()
  })

  test('has the order of the service by a reference', async () => {
    const { notes, write, people } = serve()
    const live = notes.live({ expand: ['by'], sort: { by: -1 }, project: ['text'], limit: 9 })
    await next(live)
    const [a, b] = [await people.create({ name: 'A' }), await people.create({ name: 'B' })]
    for (const [i, by] of [a._id, b._id, undefined, a._id].entries()) {
      await write.create(by ? { text: `${i}`, by } : { text: `${i}` })
      const asked = { expand: ['by'], sort: { by: -1 }, project: ['text'], limit: 9 } as const
      expect(await next(live)).toEqual(await write.list(asked))
    }
    await live.return()
  })

  test('reads documents in one request if their events arrive together', async () => {
    let collected = collect(null)
    const { notes, write, lists } = serve((response) => {
      collected = collect(response.body)
      return new Response(collected.stream, response)
    })
    const arrive = async (count: number): Promise<void> => {
      await until(() => collected.chunks.length === count)
      collected.flush()
    }
    const [first] = await write.createMany([{ text: 'x', n: 1 }])
    const q = { _id: { $ne: first?._id ?? '' }, $or: [{ n: 1 }, { n: 2 }] }
    const live = notes.live({ expand: ['by'], q, sort: { n: -1 }, limit: 9 })
    const listed = next(live)
    await arrive(1)
    expect(await listed).toEqual([])
    await write.createMany([{ n: 1 }, { n: 2 }, { n: 3 }])
    await arrive(2)
    const seen = [await next(live), await next(live)].map((documents) => documents.map(({ n }) => n))
    expect(seen).toEqual([[1], [2, 1]])
    expect(lists.map((line) => line.includes('[_id][$in]'))).toEqual([false, true])
    await live.return()
  })

  test('drops a document that has left before it is read again', async () => {
    const { notes, write, held } = serve()
    const live = notes.live({ expand: ['by'], q: { n: { $gt: 0 } }, limit: 9 })
    expect(await next(live)).toEqual([])
    let release = (): void => {}
    held.until = new Promise<void>((resolve) => {
      release = resolve
    })
    const { _id } = await write.create({ n: 1 })
    const coming = next(live)
    await write.update(_id, { n: 0 })
    release()
    expect(await coming).toEqual([])
    expect(await next(live)).toEqual([])
    const other = await write.create({ n: 2 })
    expect(await next(live)).toEqual([other])
    await live.return()
  })

  test('ends with the error if the service rejects it, and with its signal', async () => {
    const { notes, write, held } = serve()
    const rejected = notes.live({ expand: ['nobody'] as object as ['by'] })
    await expect(rejected.next()).rejects.toMatchObject({ code: 'invalid_query' })
    const controller = new AbortController()
    const live = notes.live({ expand: ['by'], signal: controller.signal })
    expect(await next(live)).toEqual([])
    held.until = new Promise(() => {})
    await write.create({ n: 1 })
    const coming = live.next()
    await new Promise(setImmediate)
    controller.abort()
    held.until = Promise.resolve()
    expect(await coming).toMatchObject({ done: true })
  })
})
