import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type Answer,
  type IncomingRequest,
  type PlainEdge,
  RESPOND,
} from '../../../../src/core/http/answer.js'
import { createMemoryAdapter, type Handler } from '../../../../src/index.js'
import { spyOn } from '../../../security/fixture.js'
import { useCaches } from '../../../support/caches.js'
import { type AnyConfig, createTestService } from '../../../support/service.js'
import { idOf } from '../../../support/stored.js'

useCaches()

/** A request that waits for nothing is answered at once, and makes nothing that only waiting needs. */

const config = {
  collections: {
    notes: {
      schema: { text: { type: 'string' }, n: { type: 'integer', index: true } },
      permissions: { '*': true },
    },
  },
}

const documents = {
  notes: Array.from({ length: 40 }, (_, i) => ({ _id: idOf(i + 1), text: `text ${i}`, n: i % 4 })),
}

async function open(stored: typeof documents = documents, served: AnyConfig = config) {
  const adapter = spyOn(createMemoryAdapter({ documents: stored }))
  const handler: Handler = createTestService(served, { adapter }).handler
  await handler.ready()
  adapter.calls.length = 0
  const respond = (handler as Handler & PlainEdge)[RESPOND]
  const heard: string[] = []
  const ask = (method: string, target: string, headers: { readonly [name: string]: string } = {}) => {
    const incoming: IncomingRequest = {
      method,
      target,
      mountPath: '',
      clientAddress: undefined,
      header: (name) => headers[name],
      readBody: async () => new TextEncoder().encode('{}'),
      onGone() {
        heard.push(target)
        return () => {}
      },
      toRequest: () => new Request(`http://service.test${target}`),
    }
    return respond(incoming)
  }
  return { ask, adapter, heard, handler }
}

let controllers = 0
beforeEach(() => {
  controllers = 0
  const Real = AbortController
  vi.stubGlobal(
    'AbortController',
    class extends Real {
      constructor() {
        super()
        controllers += 1
      }
    },
  )
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

describe('a request of a storage in memory waits for nothing', () => {
  test.each<[method: string, target: string, calls: readonly string[], status?: number]>([
    ['GET', `/notes/${idOf(1)}`, ['list notes']],
    ['HEAD', `/notes/${idOf(1)}`, ['list notes']],
    ['GET', `/notes/${idOf(1)}?project=["text"]`, ['list notes']],
    ['GET', `/notes/${idOf(99)}`, ['list notes'], 404],
    ['GET', '/notes/no-uuid', [], 404],
    ['GET', '/notes?limit=10', ['list notes']],
    ['GET', '/notes', ['list notes']],
    ['GET', '/notes?limit=5&q[n]=2&sort[text]=-1', ['list notes']],
    ['GET', '/notes?limit=5&total=true', ['count notes', 'list notes']],
    ['GET', '/notes?limit=0', []],
    ['GET', '/notes/count', ['count notes']],
    ['GET', '/notes/count?q[n][$gt]=1&q[text][$regex]=1', ['count notes']],
    ['GET', '/notes?unknown=1', [], 400],
    ['GET', '/', []],
    ['GET', '/nothing', [], 404],
    ['OPTIONS', '/notes', [], 204],
    ['PURGE', '/notes', [], 405],
  ])('%s %s', async (method, target, calls, status = 200) => {
    const { ask, adapter, heard } = await open()
    const timer = vi.spyOn(globalThis, 'setTimeout')
    const answer = ask(method, target)
    expect(answer).not.toBeInstanceOf(Promise)
    expect({ status: (answer as Answer).status, calls: adapter.calls }).toEqual({ status, calls })
    expect({ timers: timer.mock.calls.length, controllers, heard }).toEqual({
      timers: 0,
      controllers: 0,
      heard: [],
    })
  })
})

test('what has to wait has one timer and one listener', async () => {
  const { ask, heard } = await open()
  const timer = vi.spyOn(globalThis, 'setTimeout')
  const stop = vi.spyOn(globalThis, 'clearTimeout')
  const answer = ask('POST', '/notes', { 'content-type': 'application/json' })
  expect(answer).toBeInstanceOf(Promise)
  expect((await answer).status).toBe(201)
  expect([timer.mock.calls.length, stop.mock.calls.length, heard]).toEqual([1, 1, ['/notes']])
})

test('a long page lets others run while it is written, not when it is kept', async () => {
  const text = 'x'.repeat(30_000)
  const { ask } = await open({ notes: documents.notes.slice(0, 20).map((note) => ({ ...note, text })) })
  const first = ask('GET', '/notes?limit=20')
  expect(first).toBeInstanceOf(Promise)
  const { body } = await first
  expect(ask('GET', '/notes?limit=20&sort[n]=1')).toMatchObject({ status: 200 })
  expect(ask('GET', '/notes?limit=20')).toMatchObject({ status: 200, body })
})

test('close waits for nothing, and nothing is answered behind it', async () => {
  const { ask, handler, adapter } = await open()
  expect(ask('GET', '/notes?limit=1')).toMatchObject({ status: 200 })
  await handler.close()
  adapter.calls.length = 0
  expect(await ask('GET', '/notes?limit=1')).toMatchObject({ status: 503 })
  expect(adapter.calls).toEqual([])
})

test('bytes that were handed out stay what they are when documents change', async () => {
  const { ask } = await open()
  const [one, list] = [ask('GET', `/notes/${idOf(1)}`), ask('GET', '/notes?limit=3')] as Answer[]
  const before = [one, list].map((answer) => String(Buffer.from(answer?.body as Uint8Array)))
  await ask('PATCH', `/notes/${idOf(1)}`, { 'content-type': 'application/json' })
  for (let n = 0; n < 40; n++) await ask('GET', `/notes?limit=20&skip=${n}`)
  expect([one, list].map((answer) => String(Buffer.from(answer?.body as Uint8Array)))).toEqual(before)
})

test('what a host does to the bytes of a response changes no other', async () => {
  const { handler } = await open()
  const get = (path: string): Promise<Response> => handler(new Request(`http://service.test${path}`))
  for (const path of [`/notes/${idOf(1)}`, '/notes?limit=3']) {
    const before = await (await get(path)).text()
    new Uint8Array(await (await get(path)).arrayBuffer()).fill(0)
    for (const response of [await get(path), (await get(path)).clone()]) {
      const { value } = (await response.body?.getReader().read()) ?? {}
      value?.fill(0)
    }
    expect(await (await get(path)).text()).toBe(before)
  }
})

describe('claims', () => {
  const claiming = {
    collections: {
      notes: {
        schema: config.collections.notes.schema,
        permissions: { '*': { read: { where: { n: { $in: '$user.open' } } }, create: true } },
      },
      doors: {
        schema: { n: { type: 'integer' }, isOpen: { type: 'boolean', index: true } },
        permissions: { '*': { read: true } },
      },
    },
    auth: { claims: { open: { from: 'doors', where: { isOpen: true }, take: 'n' } } },
  }
  const doors = [1, 2].map((n) => ({ _id: idOf(100 + n), n, isOpen: true }))

  test.each<[target: string, calls: readonly string[]]>([
    ['/notes?limit=5', ['list doors', 'list notes']],
    ['/notes', ['list doors', 'list notes']],
    ['/notes?limit=5&total=true', ['list doors', 'count notes', 'list notes']],
    ['/notes/count', ['list doors', 'count notes']],
    [`/notes/${idOf(2)}`, ['list doors', 'list notes']],
    ['/doors?limit=5', ['list doors']],
    ['/', []],
  ])('take one more read where a rule uses them, and no waiting: %s', async (target, calls) => {
    const { ask, adapter } = await open({ ...documents, doors } as typeof documents, claiming)
    expect(ask('GET', target)).toMatchObject({ status: 200 })
    expect(adapter.calls).toEqual(calls)
  })

  test('and nothing where there are none', async () => {
    const { ask, adapter } = await open(documents)
    ask('GET', '/notes?limit=5')
    expect(adapter.calls).toEqual(['list notes'])
  })
})
