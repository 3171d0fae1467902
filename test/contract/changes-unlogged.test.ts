import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { type Consumer, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { createTestService, type TestService } from '../support/service.js'
import { until } from '../support/until.js'
import { ADMIN, config, useStreams } from './support/changes.js'

// CONTRACT.md §9, "The log": one place, served by one configuration after another

const { notes, plain, users } = config.collections
const changing = (names: readonly string[]) => ({
  collections: Object.fromEntries(
    Object.entries({ notes, plain, users }).map(([name, one]) => [
      name,
      { ...one, changes: names.includes(name) },
    ]),
  ),
  auth: config.auth,
})

const serve = useStreams()
const postgres = usePostgres()
let folder = ''
let serial = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-unlogged-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const ending: TestService[] = []
afterEach(async () => {
  for (const { handler } of ending.splice(0)) await handler.close()
})

/** Gives another adapter over the same place each time. */
type Connect = () => StorageAdapter

const places: readonly (readonly [name: string, create: () => Connect])[] = [
  [
    'memory',
    () => {
      const adapter = createMemoryAdapter()
      return () => ({ ...adapter, async close() {} })
    },
  ],
  [
    'SQLite',
    () => {
      const file = join(folder, `${serial++}.db`)
      return () => createSqliteAdapter({ file })
    },
  ],
  [
    'PostgreSQL',
    () => {
      const options = { connectionString: postgres.url, schema: newSchema() }
      return () => createPostgresAdapter(options)
    },
  ],
]

/** Serves for a while: writes notes with these texts. */
async function serveOnce(
  adapter: StorageAdapter,
  names: readonly string[],
  texts: readonly string[],
): Promise<void> {
  const { send, handler } = createTestService(changing(names), { adapter })
  for (const text of texts)
    expect((await send('POST /notes', { caller: ADMIN, body: { text } })).status).toBe(201)
  await handler.ready()
  await handler.close()
}

/** The first event of a client that comes back after the given configurations, which each write once. */
async function comeBack(connect: Connect, between: readonly (readonly string[])[]): Promise<unknown> {
  const first = await serve({ adapter: connect() })
  const stream = await first.open('/notes/changes', { caller: ADMIN })
  await first.write('POST /notes', { text: 'a' })
  const headers = { 'last-event-id': (await stream.until(2))[1]?.id ?? '' }
  await stream.close()
  await first.handler.close()
  for (const [i, names] of between.entries()) await serveOnce(connect(), names, [`b${i}`])
  const last = await serve({ adapter: connect() })
  const again = await last.open('/notes/changes', { caller: ADMIN, headers })
  const [{ event, data } = {}] = again.events
  await last.write('POST /notes', { text: 'c' })
  await until(() => again.events.some((told) => told.data.text === 'c'))
  return data?.text ?? event
}

describe.each(places)('in %s', (kind, create) => {
  // In memory what was once logged is logged as long as it lasts.
  const isInMemory = kind === 'memory'

  test.each<readonly [string, readonly (readonly string[])[], string]>([
    ['others served it with the same changes', [['notes']], 'b0'],
    ['others had changes of more', [['notes', 'plain'], ['notes']], 'b0'],
    ['nobody had changes', [[]], 'reset'],
    ['another collection had changes', [['plain']], 'reset'],
    ['nobody had changes, twice', [[], ['notes'], [], ['notes']], 'reset'],
  ])('a client that comes back misses nothing without being told, after %s', async (_, between, told) => {
    expect(await comeBack(create(), between)).toBe(isInMemory ? 'b0' : told)
  })

  test('once begun anew, a client goes on where it was', async () => {
    const connect = create()
    await comeBack(connect, [[]])
    expect(await comeBack(connect, [['notes']])).toBe('b0')
  })

  test('a consumer is told of what is logged, and of what is missing its log', async () => {
    const connect = create()
    const told: unknown[] = []
    const handle: Consumer['handle'] = ({ after }) => void told.push(after?.text)
    const consume = async (texts: readonly string[]): Promise<TestService> => {
      const consumers = { mail: { collections: ['notes'], handle } }
      const service = createTestService(config, { adapter: connect(), consumers })
      ending.push(service)
      await service.handler.ready()
      for (const text of texts) await service.send('POST /notes', { caller: ADMIN, body: { text } })
      await until(() => texts.every((text) => told.includes(text)))
      return service
    }
    const isToldOfGap = ({ logged }: TestService): boolean =>
      logged.some(([message]) => String(message).startsWith('a consumer skips changes'))
    await (await consume(['a'])).handler.close()
    await serveOnce(connect(), ['notes'], ['b'])
    const second = await consume(['c'])
    expect([told.toSorted(), isToldOfGap(second)]).toEqual([['a', 'b', 'c'], false])
    await second.handler.close()
    await serveOnce(connect(), [], ['d'])
    const third = await consume(['e'])
    expect([told.includes('d'), isToldOfGap(third)]).toEqual(isInMemory ? [true, false] : [false, true])
  })
})
