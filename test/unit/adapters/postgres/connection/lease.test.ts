import { afterEach, expect, test } from 'vitest'
import { Connections, MAX_WAITING } from '../../../../../src/adapters/postgres/connection/lease.js'
import type { PostgresClient } from '../../../../../src/adapters/postgres/connection/pool.js'

/** Leases over a pool without a database, whose connections answer when the test says so. */

const opened: Connections[] = []
afterEach(async () => {
  for (const connections of opened.splice(0)) await connections.close()
})

/** A pool of `max` connections. `released`: whether each returned connection was destroyed. */
function open(max: number) {
  const released: (boolean | undefined)[] = []
  const connect = async (): Promise<PostgresClient> => ({
    query: async () => ({ rows: [], rowCount: 0 }),
    on: () => {},
    removeListener: () => {},
    release: (destroy) => void released.push(destroy),
  })
  const pool = { connect, waitingCount: 0, options: { max } }
  const connections = new Connections({ pool, isOwn: false, end: async () => {} })
  opened.push(connections)
  return { connections, released }
}

/** Work that ends when the test says so. */
function createWork() {
  let end: () => void = () => {}
  let begin: () => void = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const work = async (): Promise<void> => {
    begin()
    await ended
  }
  return { work, begun, end: () => end() }
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i)

test('a connection passes from lease to lease, in turn of their callers, and then returns to the pool', async () => {
  const { connections, released } = open(1)
  const first = createWork()
  const served: string[] = []
  const use = (caller: string): Promise<unknown> =>
    connections.use(async () => served.push(caller), { caller })
  const using = [connections.use(first.work, { caller: 'many' }), ...['many', 'many', 'few'].map(use)]
  await first.begun
  expect(released).toEqual([])
  first.end()
  await Promise.all(using)
  expect(served).toEqual(['few', 'many', 'many'])
  expect(released).toEqual([false])
})

test('a full queue rejects the last lease of the caller with the most', async () => {
  const { connections } = open(1)
  const first = createWork()
  const using = [connections.use(first.work, {})]
  await first.begun
  const rejected: string[] = []
  const use = (caller: string, name: string): Promise<unknown> =>
    connections.use(async () => {}, { caller }).catch(({ code }) => rejected.push(`${name} ${code}`))
  using.push(...range(MAX_WAITING).map((i) => use('many', `many ${i}`) as Promise<void>))
  using.push(use('few', 'few') as Promise<void>)
  first.end()
  await Promise.all(using)
  expect(rejected).toEqual([`many ${MAX_WAITING - 1} overloaded`])
})

test.each([
  ['long work', { mayBeLong: true }, 2],
  ['writes', { writes: true }, 3],
])('%s leaves connections to other work', async (_, options, most) => {
  const { connections } = open(4)
  const works = range(4).map(createWork)
  const using = works.map(({ work }) => connections.use(work, {}, options))
  await Promise.all(works.slice(0, most).map(({ begun }) => begun))
  expect(connections.isFullOfLong()).toBe('mayBeLong' in options)
  expect(await connections.use(async () => 'short', {})).toBe('short')
  const last = works[most]
  let hasBegun = false
  void last?.begun.then(() => {
    hasBegun = true
  })
  await Promise.resolve()
  expect(hasBegun).toBe(false)
  for (const { end } of works) end()
  await Promise.all(using)
  expect(hasBegun).toBe(true)
})

test.each([
  ['a read', {}, 'storage_unavailable'],
  ['a write whose statement may have run', { writes: true }, 'outcome_unknown'],
])('%s that is given up returns its connection when it has ended', async (_, options, code) => {
  const { connections, released } = open(1)
  const { work, begun, end } = createWork()
  const leaving = new AbortController()
  const using = connections.use(work, { signal: leaving.signal }, options)
  await begun
  leaving.abort()
  await expect(using).rejects.toMatchObject({ code })
  expect(released).toEqual([])
  end()
  expect(await connections.use(async () => 'next', {})).toBe('next')
  expect(released).toEqual([false])
})

test('a write that is given up within its transaction sends only a ROLLBACK', async () => {
  const { connections } = open(1)
  const { work, begun, end } = createWork()
  const leaving = new AbortController()
  const sent: string[] = []
  const writing = connections.use(
    async ({ run }) => {
      await run('BEGIN')
      await work()
      for (const text of ['COMMIT', 'ROLLBACK'])
        await run(text).then(
          () => sent.push(text),
          () => {},
        )
    },
    { signal: leaving.signal },
    { writes: true },
  )
  await begun
  leaving.abort()
  await expect(writing).rejects.toMatchObject({ code: 'storage_unavailable' })
  end()
  await connections.use(async () => {}, {})
  expect(sent).toEqual(['ROLLBACK'])
})

test('closed connections reject work', async () => {
  const { connections } = open(1)
  await connections.close()
  await expect(connections.use(async () => {}, {})).rejects.toMatchObject({ code: 'storage_unavailable' })
})
