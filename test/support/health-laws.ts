import { expect, vi } from 'vitest'
import type { createCollectionService } from '../../src/index.js'
import { createMemoryAdapter, ServiceError, type StorageAdapter } from '../../src/index.js'
import { createTestService, type TestService } from './service.js'

/** What probes of every service learn (CONTRACT.md §7, "Health"). */

const config = {
  collections: {
    notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true, create: true } } },
  },
}

type Create = typeof createCollectionService

interface Probed extends TestService {
  /** The calls of the storage. */
  readonly calls: string[]
  /** Whether reads and writes fail. */
  readonly down: { list: boolean; write: boolean }
  probe(name: 'live' | 'ready'): Promise<string>
}

function openProbed(create: Create, texts: readonly string[] = []): Probed {
  const inner = createMemoryAdapter({ documents: { notes: texts.map((text) => ({ text })) } })
  const calls: string[] = []
  const down = { list: false, write: false }
  const fail = (): never => {
    throw new ServiceError('storage_unavailable', 'It is down.')
  }
  const adapter: StorageAdapter = {
    ...inner,
    list(...args) {
      calls.push('list')
      return down.list ? fail() : inner.list(...args)
    },
    write(...args) {
      calls.push('write')
      return down.write ? fail() : inner.write(...args)
    },
  }
  const service = createTestService(config, { create, adapter })
  const probe = async (name: string): Promise<string> => {
    const answer = await service.handler(new Request(`http://service.test/_health/${name}`))
    return `${answer.status} ${await answer.text()}`
  }
  return { ...service, calls, down, probe }
}

const OK = '200 {"status":"ok"}'
const FAILING = '503 {"status":"failing"}'

/** Holds a build of the library against what probes may cost and tell. */
export async function checkProbes(create: Create): Promise<void> {
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  const pass = (): void => {
    now += 1000
  }
  try {
    const one = openProbed(create)
    expect([await one.probe('live'), one.calls]).toEqual([OK, []])
    const all = await Promise.all(Array.from({ length: 100 }, () => one.probe('ready')))
    expect([[...new Set(all)], one.calls]).toEqual([[OK], ['list']])

    // What is stored makes no difference.
    expect(await openProbed(create, ['secret']).probe('ready')).toBe(OK)

    one.down.list = true
    pass()
    expect([await one.probe('ready'), await one.probe('live')]).toEqual([FAILING, OK])
    one.down.list = false
    pass()
    expect(await one.probe('ready')).toBe(OK)

    one.down.write = true
    await one.send('POST /notes', { body: { text: 'a' }, mayFail: true })
    pass()
    expect(await one.probe('ready')).toBe(FAILING)
    one.down.write = false
    pass()
    expect(await one.probe('ready')).toBe(OK)
    expect((await one.send('GET /notes')).body).toEqual([])
    one.calls.length = 0
    pass()
    expect([await one.probe('ready'), one.calls]).toEqual([OK, ['list']])

    await one.handler.close()
    expect([await one.probe('ready'), await one.probe('live')]).toEqual([FAILING, OK])
  } finally {
    clock.mockRestore()
  }
}
