import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ServiceOptions, StorageAdapter } from '../../src/index.js'
import { createTestService } from '../support/service.js'
import { createStored, idOf } from '../support/stored.js'
import { until } from '../support/until.js'

// CONTRACT.md §7, "Stored documents"

afterEach(() => {
  vi.useRealTimers()
})

const text = { type: 'string' }
const configOf = (schema: object, names: readonly string[] = ['things'], requestSeconds = 1) => ({
  collections: Object.fromEntries(
    names.map((name) => [name, { schema, permissions: { user: { read: true, create: true } } }]),
  ),
  limits: { requestSeconds },
})

/** A service, and what waits for its comparison. */
async function start(adapter: StorageAdapter, config: object, options: ServiceOptions = {}) {
  const work: Promise<void>[] = []
  const background = (promise: Promise<void>): void => void work.push(promise)
  const service = createTestService(config as never, { ...options, adapter, background, holdsOthers: true })
  await service.handler.ready()
  return { ...service, compared: () => Promise.all(work), lines: () => service.logged.map(([line]) => line) }
}

const never = (): Promise<never> => new Promise(() => {})
const DOCUMENTS = { things: [{ title: 'a' }] }
const CONFIG = configOf({ name: { ...text, required: true } })

describe('the comparison of stored documents at a start', () => {
  test.each<[what: string, method: 'list' | 'leftUnique']>([
    ['lists nothing', 'list'],
    ['does not say which indexes are left', 'leftUnique'],
  ])('does not delay the end of a service whose storage %s', async (_, method) => {
    const patient = configOf({ name: { ...text, required: true } }, ['things'], 600)
    const asked = vi.fn(never)
    const service = await start(await createStored(DOCUMENTS, () => ({ [method]: asked })), patient)
    await until(() => asked.mock.calls.length > 0)
    await service.handler.close()
    expect(service.logged).toEqual([])
  })

  test('ends silently with the service, also if the storage then fails', async () => {
    let fail: ((thrown: Error) => void) | undefined
    const list = () =>
      new Promise<never>((_, reject) => {
        fail = reject
      })
    const rejected = vi.fn()
    process.on('unhandledRejection', rejected)
    try {
      const service = await start(await createStored(DOCUMENTS, () => ({ list })), CONFIG)
      await until(() => fail !== undefined)
      await service.handler.close()
      fail?.(new Error('the storage is closed'))
      // Node reports a rejection that nothing handles before the next turn.
      await new Promise((resolve) => setImmediate(resolve))
      expect(service.logged).toEqual([])
      expect(rejected).not.toHaveBeenCalled()
    } finally {
      process.off('unhandledRejection', rejected)
    }
  })

  test('does not begin in a service that closes while it opens', async () => {
    const list = vi.fn(never)
    const adapter = await createStored(DOCUMENTS, () => ({ list }))
    const service = createTestService(CONFIG as never, { adapter })
    const opening = service.handler.ready()
    await service.handler.close()
    await opening
    expect(list).not.toHaveBeenCalled()
  })

  test('runs, and ends, under a fake clock', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'Date'] })
    const service = await start(await createStored(DOCUMENTS), CONFIG)
    await service.compared()
    await service.handler.close()
    expect(service.logged).toHaveLength(2)
  })

  test.each<[what: string, own: Partial<StorageAdapter>]>([
    ['rejects', { list: () => Promise.reject(new Error('broken')) }],
    [
      'throws',
      {
        leftUnique: () => {
          throw new Error('broken')
        },
      },
    ],
    ['does not answer in time', { list: never }],
  ])('is logged once if the storage %s, and the service is ready', async (_, own) => {
    const service = await start(await createStored(DOCUMENTS, () => own), CONFIG)
    await service.compared()
    expect(service.lines()).toEqual(['the stored documents cannot be compared with the configuration'])
    expect((await service.send('GET /')).status).toBe(200)
    await service.handler.close()
  })

  test('waits in queues as a caller of its own, and observers do not hear of it', async () => {
    const callers: unknown[] = []
    const observe = vi.fn()
    const adapter = await createStored(DOCUMENTS, ({ list }) => ({
      list(collection, query) {
        callers.push(query.caller)
        return list(collection, query)
      },
      leftUnique(_, options) {
        callers.push(options?.caller)
        return []
      },
    }))
    const service = await start(adapter, CONFIG, { observe })
    await service.compared()
    expect(callers).toEqual(['start', 'start'])
    expect(observe).not.toHaveBeenCalled()
    expect((await service.handler.health()).status).toBe('ok')
    await service.handler.close()
  })

  test('lets other work run between two collections, and between documents', async () => {
    let turns = 0
    let isOver = false
    const count = (): void => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    const seen: number[] = []
    const names = ['things', 'others', 'last']
    const many = Array.from({ length: 120 }, (_, i) =>
      Object.fromEntries(Array.from({ length: 30 }, (_, k) => [`name${k}`, i])),
    )
    const adapter = await createStored({ things: many, others: [{}], last: [{}] }, ({ list }) => ({
      list(collection, query) {
        seen.push(turns)
        return list(collection, query)
      },
    }))
    const service = await start(adapter, configOf({ name: { ...text, required: true } }, names, 60))
    count()
    await service.compared()
    isOver = true
    const [first = 0, second = 0, third = 0] = seen
    expect(third).toBeGreaterThan(second)
    expect(second - first).toBeGreaterThan(third - second)
    await service.handler.close()
  })
})

describe('stored names that no configuration can declare', () => {
  test('are quoted, and only some of them are reported one by one', async () => {
    const names = Array.from({ length: 50 }, (_, i) => `a ${i}\u001b`)
    const documents = { things: [Object.fromEntries(names.map((name) => [name, 1]))] }
    const service = await start(await createStored(documents), configOf({ title: text }))
    await service.compared()
    const lines = service.lines()
    expect(lines).toHaveLength(21)
    expect(lines[0]).toBe(
      `/collections/things/schema: "a 0\\u001b" is a forbidden name (forbidden_name); in 1 of the 1 stored documents that were read: ${idOf(1)}`,
    )
    expect(lines[20]).toContain('further names are not in the schema')
    await service.handler.close()
  })
})
