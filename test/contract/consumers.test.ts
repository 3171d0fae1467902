import { describe, expect, test } from 'vitest'
import {
  ConfigError,
  type ConfigFault,
  type Consumer,
  type ConsumerChange,
  type ConsumerContext,
  createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
} from '../../src/index.js'
import { readStream } from '../support/event-streams.js'
import { createTestService, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { replaceMethods } from '../support/stored.js'
import { until } from '../support/until.js'

// CONTRACT.md §9, "Consumers"

const config = {
  collections: {
    notes: {
      changes: true,
      schema: { text: { type: 'string' }, hidden: { type: 'string' } },
      permissions: { '*': { read: { omit: ['hidden'] }, create: true, update: true, delete: true } },
    },
    tags: {
      changes: true,
      schema: { note: { type: 'reference', collection: 'notes', onDelete: 'cascade' } },
      permissions: { '*': { read: true, create: true } },
    },
    plain: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true, create: true } } },
    users: {
      changes: true,
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
      },
      permissions: { owner: { read: true } },
    },
  },
  limits: { bulk: 1200 },
}

/** What a consumer was told. */
interface Told extends ConsumerContext {
  readonly change: ConsumerChange
}

/** A consumer that remembers. */
function remember(collections: readonly string[], handle: (told: Told) => unknown = () => undefined) {
  const told: Told[] = []
  const consumer: Consumer = {
    collections,
    handle(change, context) {
      const one = { ...context, change }
      told.push(one)
      return handle(one)
    },
  }
  return { told, consumer }
}

const textOf = ({ change: { before, after } }: Told): unknown => (after ?? before)?.text

const storages = useStorages()
const opened = closeAfterEach()

function open(adapter: StorageAdapter, consumers: { readonly [name: string]: Consumer }): TestService {
  const service = createTestService(config, { adapter, consumers })
  opened.push(service)
  return service
}

/** A process that ends while its storage stays. */
const lend = (adapter: StorageAdapter): StorageAdapter => ({ ...adapter, async close() {} })

describe.each(storages)('a consumer, in %s,', (_, createStorage) => {
  test('is told whose request made a change, also what goes along, and events do not tell', async () => {
    const adapter = createStorage()
    const { told, consumer } = remember(['notes', 'tags', 'users'])
    const service = createTestService(config, {
      adapter,
      consumers: { audit: consumer },
      hooks: {
        tags: {
          before: ({ operation, after }: { operation: string; after: { note?: string } | null }) =>
            operation === 'create' && after?.note !== undefined
              ? { also: [{ method: 'PATCH', path: `/notes/${after.note}`, body: { text: 'tagged' } }] }
              : undefined,
        },
      } as never,
    })
    opened.push(service)
    await service.handler.ready()
    const stream = readStream(await service.handler(new Request('http://service.test/notes/changes')))
    const ann = { caller: { id: 'ann' } }
    const { id, token } = await service.register({ email: 'a@b.example', password: 'a secret' })
    const byUser = { token, body: { text: 'of a user' } }
    const own = (await service.send('POST /notes', byUser)).body._id
    const note = (await service.send('POST /notes', { body: { text: 'of nobody' } })).body._id
    const tag = (await service.send('POST /tags', { ...ann, body: { note } })).body._id
    const documents = [{ text: 'bulk' }]
    const [bulk] = (await service.send('POST /notes/bulk', { ...ann, body: { documents } })).body.documents
    const operations = [{ method: 'PATCH', path: `/notes/${bulk._id}`, body: { text: 'batch' } }]
    const batch = await service.send('POST /_batch', { caller: { id: 'ben' }, body: { operations } })
    expect(batch.status).toBe(200)
    await service.send(`DELETE /notes/${note}`, { caller: { id: '' } })
    await service.send('POST /notes', { caller: { id: 'carl' }, body: { text: 'last' } })
    await until(() => told.some((one) => textOf(one) === 'last'))
    const of = (document: string) =>
      told.flatMap(({ change: { operation, before, after, by } }) =>
        (after ?? before)?._id === document ? [[operation, by]] : [],
      )
    expect(of(id)[0]).toEqual(['create', null])
    expect(of(own)).toEqual([['create', id]])
    expect(of(note)).toEqual([
      ['create', null],
      ['update', 'ann'],
      ['delete', ''],
    ])
    expect(of(tag)).toEqual([
      ['create', 'ann'],
      ['delete', ''],
    ])
    expect(of(bulk._id)).toEqual([
      ['create', 'ann'],
      ['update', 'ben'],
    ])
    await until(() => stream.events.some(({ data }) => data.text === 'last'))
    for (const { data } of stream.events) expect(data).not.toHaveProperty('by')
    await stream.close()
  })

  test('is told of every change, by whatever route, whole but for hashes, and of nothing before', async () => {
    const adapter = createStorage()
    const before = createTestService(config, { adapter: lend(adapter) })
    await before.send('POST /notes', { body: { text: 'old' } })
    await before.handler.close()
    const { told, consumer } = remember(['notes', 'tags', 'users'])
    const service = open(adapter, { mail: consumer })
    await service.handler.ready()
    const note = (await service.send('POST /notes', { body: { text: 'a', hidden: 'h' } })).body._id
    await service.send(`PATCH /notes/${note}`, { body: { text: 'b' } })
    await service.send('POST /plain', { body: { text: 'x' } })
    const operations = [{ method: 'POST', path: '/tags', body: { note } }]
    const [tag] = (await service.send('POST /_batch', { body: { operations } })).body.results
    await service.send(`DELETE /notes/${note}`)
    const { id, token } = await service.register({ email: 'a@b.example', password: 'a secret' })
    // Of this nobody sees anything.
    await service.send('POST /auth/logout-all', { token })
    await service.send('POST /notes', { body: { text: 'last' } })
    await until(() => told.some((one) => textOf(one) === 'last'))
    const toldOf = (document: unknown) =>
      told.filter(({ change: { before, after } }) => (before ?? after)?._id === document)
    const brief = (ones: readonly Told[]) =>
      ones.map(({ change: { operation, collection, before, after } }) => [
        `${operation} ${collection}`,
        [before, after].map((document) => document && [document.text, document.hidden]),
      ])
    expect(brief(toldOf(note))).toEqual([
      ['create notes', [null, ['a', 'h']]],
      [
        'update notes',
        [
          ['a', 'h'],
          ['b', 'h'],
        ],
      ],
      ['delete notes', [['b', 'h'], null]],
    ])
    expect(toldOf(tag.body._id).map(({ change }) => change.operation)).toEqual(['create', 'delete'])
    expect(toldOf(id).map(({ change }) => Object.keys(change.after ?? {}).sort())).toEqual([
      ['_id', 'createdAt', 'createdBy', 'email', 'updatedAt'],
    ])
    expect(told).toHaveLength(7)
    for (const { change, attempt, lease, id: name } of told) {
      expect([attempt, lease > 0, /^[0-9a-f]{64}$/.test(name)]).toEqual([1, true, true])
      expect(change.time).toBe(new Date(change.time).toISOString())
      const frozen = [change, change.before, change.after].every((value) => Object.isFrozen(value))
      expect(frozen).toBe(true)
    }
    expect(new Set(told.map(({ id: name }) => name)).size).toBe(7)
    expect(service.logged).toEqual([])
  })

  test('goes on where another process has ended', async () => {
    const adapter = createStorage()
    const first = remember(['notes'], (one) => {
      if (textOf(one) === 'b') throw new Error('not now')
    })
    const before = createTestService(config, { adapter: lend(adapter), consumers: { mail: first.consumer } })
    for (const text of ['a', 'b', 'c']) await before.send('POST /notes', { body: { text } })
    await until(() => first.told.some((one) => textOf(one) === 'c'))
    await before.handler.close()
    const between = createTestService(config, { adapter: lend(adapter) })
    await between.send('POST /notes', { body: { text: 'd' } })
    await between.handler.close()
    const [second, other] = [remember(['notes']), remember(['notes'])]
    const service = open(adapter, { mail: second.consumer, search: other.consumer })
    await service.send('POST /notes', { body: { text: 'e' } })
    await until(() => second.told.length >= 3 && other.told.length >= 1)
    expect(second.told.map(textOf).sort()).toEqual(['b', 'd', 'e'])
    expect(other.told.map(textOf)).toEqual(['e'])
    const held = [...first.told, ...second.told].filter((one) => textOf(one) === 'b')
    expect(held.map(({ attempt }) => attempt)).toEqual(held.map((_, i) => i + 1))
    expect(second.told[0]?.lease).toBeGreaterThan(first.told[0]?.lease ?? Number.POSITIVE_INFINITY)
  })

  test('is told by one of several services over one storage', async () => {
    const adapter = createStorage()
    const all = ['A', 'B', 'C'].map(() => remember(['notes']))
    const services = all.map(({ consumer }, i) => open(i === 0 ? adapter : lend(adapter), { mail: consumer }))
    await Promise.all(services.map(({ handler }) => handler.ready()))
    for (const { send } of services) await send('POST /notes', { body: { text: 'x' } })
    await until(() => all.flatMap(({ told }) => told).length >= 3)
    expect(all.map(({ told }) => told.length).sort()).toEqual([0, 0, 3])
    expect(new Set(all.flatMap(({ told }) => told.map(({ id }) => id))).size).toBe(3)
  })

  test('is told to end when the service closes, which waits for it', async () => {
    const steps: string[] = []
    const { told, consumer } = remember(['notes'], async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      steps.push('told to end')
      await new Promise((resolve) => setImmediate(resolve))
      steps.push('ended')
    })
    const inner = createStorage()
    const adapter: StorageAdapter = {
      ...inner,
      async close() {
        steps.push('closed')
        await inner.close()
      },
    }
    const service = createTestService(config, { adapter, consumers: { mail: consumer } })
    await service.send('POST /notes', { body: { text: 'x' } })
    await until(() => told.length === 1)
    await service.handler.close()
    expect(steps).toEqual(['told to end', 'ended', 'closed'])
    expect(service.logged).toEqual([])
  })
})

// These wait most of the time, so all storages wait at once.

const tellsAgain = async (createStorage: () => StorageAdapter): Promise<void> => {
  const { told, consumer } = remember(['notes'], (one) => {
    if (textOf(one) === 'a1' && one.attempt === 1) throw new Error('not now')
  })
  const service = open(createStorage(), { mail: consumer })
  const [a] = (await service.send('POST /notes/bulk', { body: { documents: [{ text: 'a1' }] } })).body
    .documents
  await service.send(`PATCH /notes/${a._id}`, { body: { text: 'a2' } })
  await service.send('POST /notes', { body: { text: 'b1' } })
  await until(() => told.some((one) => textOf(one) === 'a2'))
  expect(told.map((one) => `${textOf(one)} ${one.attempt}`)).toEqual(['a1 1', 'b1 1', 'a1 2', 'a2 1'])
  expect(told[0]?.id).toBe(told[2]?.id)
  const about = { consumer: 'mail', collection: 'notes', document: a._id, attempt: 1 }
  expect(service.logged).toMatchObject([[expect.any(String), about]])
}

const holdsAll = async (createStorage: () => StorageAdapter): Promise<void> => {
  let mayPass = false
  const { told, consumer } = remember(['notes'], (one) => {
    if (textOf(one) !== 'free' && !mayPass) throw new Error('not now')
  })
  const service = open(createStorage(), { mail: consumer })
  const documents = Array.from({ length: 1000 }, (_, i) => ({ text: `held up ${i}` }))
  await service.send('POST /notes/bulk', { body: { documents } })
  await service.send('POST /notes', { body: { text: 'free' } })
  // Who is told of the second attempts has looked at the log since.
  await until(() => new Set(told.map(({ id }) => id)).size === 1000 && told.length > 1010)
  expect(told.map(textOf)).not.toContain('free')
  mayPass = true
  await until(() => told.map(textOf).includes('free'))
  await until(() => new Set(told.filter(({ attempt }) => attempt > 1).map(({ id }) => id)).size === 1000)
}

test.each([
  ['is told again of what it could not handle, and meanwhile of other documents', tellsAgain],
  ['is told of nothing more while 1,000 changes wait', holdsAll],
] as const)('a consumer, in every storage, %s', async (_, check) => {
  await Promise.all(storages.map(([, createStorage]) => check(createStorage)))
})

test('a service without consumers asks for nothing, and one with some begins with its first request', async () => {
  const inner = createMemoryAdapter()
  let asked = 0
  const adapter: StorageAdapter = {
    ...inner,
    list: (collection, query) => {
      if (collection === '_consumers') asked += 1
      return inner.list(collection, query)
    },
    async changes(...args) {
      asked += 1
      const page = await inner.changes?.(...args)
      if (!page) throw new Error('there is no log')
      return page
    },
  }
  const without = createTestService(config, { adapter: lend(adapter) })
  await without.send('POST /notes', { body: { text: 'x' } })
  await without.handler.close()
  expect(asked).toBe(0)
  const { told, consumer } = remember(['notes'])
  const service = open(adapter, { mail: consumer })
  expect(asked).toBe(0)
  await service.send('POST /notes', { body: { text: 'y' } })
  await until(() => told.length === 1)
  expect(told.map(textOf)).toEqual(['y'])
})

test('a write asks the same of the storage, whether somebody is told of it or not', async () => {
  const { told, consumer } = remember(['notes'])
  const asked = await Promise.all(
    [{}, { mail: consumer }].map(async (consumers) => {
      const inner = createMemoryAdapter()
      const calls: string[] = []
      const adapter = replaceMethods(inner, {
        list(collection, query) {
          calls.push(`list ${collection}`)
          return inner.list(collection, query)
        },
        write(steps, options) {
          calls.push(`write ${steps.map((step) => step.in)}`)
          return inner.write(steps, options)
        },
      })
      const service = open(adapter, consumers)
      const { _id } = (await service.send('POST /notes', { body: { text: 'x' } })).body
      await service.send(`PATCH /notes/${_id}`, { body: { text: 'y' } })
      if ('mail' in consumers) await until(() => told.length === 2)
      return calls.filter((call) => !call.endsWith(' _consumers'))
    }),
  )
  expect(asked[1]).toEqual(asked[0])
  expect(asked[0]).toEqual(['write notes', 'list notes', 'write notes'])
})

describe('consumers that cannot be', () => {
  /** The faults of a consumer, or of all of them. */
  function judge(
    consumers: unknown,
    adapter: StorageAdapter = createMemoryAdapter(),
  ): readonly ConfigFault[] {
    try {
      createCollectionService(config, adapter, { consumers } as object)
    } catch (thrown) {
      if (thrown instanceof ConfigError) return thrown.faults
      throw thrown
    }
    return []
  }
  const handle = (): void => {}

  test.each<[what: string, consumer: unknown, paths: readonly string[], told?: string]>([
    ['no object', 5, ['']],
    ['a function', handle, ['']],
    ['nothing in it', {}, ['.handle', '.collections']],
    ['no handler', { collections: ['notes'] }, ['.handle']],
    ['a handler that is none', { collections: ['notes'], handle: 'x' }, ['.handle']],
    ['no collections', { handle }, ['.collections']],
    ['an empty list', { collections: [], handle }, ['.collections']],
    ['a name in place of a list', { collections: 'notes', handle }, ['.collections']],
    ['an unknown collection', { collections: ['tags', 'note'], handle }, ['.collections[1]'], '"notes"'],
    ['a comment', { collections: ['$comment'], handle }, ['.collections[0]']],
    ['no name', { collections: [5, null], handle }, ['.collections[0]', '.collections[1]']],
    ['one without changes', { collections: ['plain'], handle }, ['.collections[0]'], '"plain"'],
    ['one twice', { collections: ['notes', 'tags', 'notes'], handle }, ['.collections[2]'], '"notes"'],
    ['another member', { collections: ['notes'], handle, handel: 1 }, ['.handel'], '"handle"'],
  ])('%s', (_, consumer, paths, told = '') => {
    const faults = judge({ mail: consumer })
    expect(faults.map(({ path }) => path)).toEqual(paths.map((path) => `options.consumers.mail${path}`))
    expect(faults[0]?.message).toContain(told)
  })

  test.each([null, 5, [], handle])('%j in place of all', (consumers) => {
    expect(judge(consumers).map(({ path }) => path)).toEqual(['options.consumers'])
  })

  test.each(['', '1', 'a b', 'ä', 'x'.repeat(64)])('a name that cannot be stored: %j', (name) => {
    const faults = judge({ [name]: { collections: ['notes'], handle } })
    expect(faults.map(({ path }) => path)).toEqual([`options.consumers.${name}`])
  })

  test.each([['auth'], ['Auth'], ['mail', 'Mail']])('names of no collection: %j', (...names) => {
    const consumers = names.map((name) => [name, { collections: ['notes'], handle }])
    const faults = judge(Object.fromEntries(consumers))
    expect(faults.map(({ path }) => path)).toEqual([`options.consumers.${names.at(-1)}`])
  })

  test('a storage that keeps no changes', () => {
    const { changes, ...adapter } = createMemoryAdapter()
    const paths = judge({ mail: { collections: ['notes'], handle } }, adapter).map(({ path }) => path)
    expect(paths).toContain('/collections/notes/changes')
  })

  test('none of these', () => {
    const consumers = { mail: { collections: ['notes', 'users'], handle }, none: undefined }
    expect([judge(consumers), judge({}), judge(undefined)]).toEqual([[], [], []])
  })
})
