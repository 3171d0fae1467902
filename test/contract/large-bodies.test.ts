import { describe, expect, test } from 'vitest'
import { isId, or } from '../../src/core/filter/filter.js'
import type { ListQuery, StorageAdapter } from '../../src/index.js'
import { createMemoryAdapter } from '../../src/index.js'
import { MIB, scale, useSmallerBounds } from '../support/bounds.js'
import { createCuttingAdapter } from '../support/cutting-adapter.js'
import { faultsOf, type TestService } from '../support/service.js'
import { closeAfterEach, type Storage, useStorages } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'

// CONTRACT.md §6, "Scheduling"

type Json = { readonly [name: string]: unknown }

const storages: readonly Storage[] = [...useStorages(), ['a storage that cuts', () => createCuttingAdapter()]]

const opened = closeAfterEach()

const reference = { type: 'reference', collection: 'people' }
const config = {
  collections: {
    things: {
      schema: {
        numbers: { type: 'array', items: { type: 'number' } },
        times: { type: 'array', items: { type: 'timestamp' } },
        texts: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' } },
        long: { type: 'string', pattern: '(a|b)c$' },
        objects: {
          type: 'array',
          items: {
            type: 'object',
            properties: { a: { type: 'integer', default: 1 }, b: { type: 'string' } },
          },
        },
        data: { type: 'json' },
        one: reference,
        many: { type: 'array', items: reference },
        list: { type: 'array', items: { type: 'object', properties: { r: reference } } },
      },
      permissions: {
        '*': { read: true, create: true },
        limited: { create: { pick: ['many'], set: { one: idOf(3) } } },
      },
    },
    people: {
      schema: { name: { type: 'string' }, isHidden: { type: 'boolean' } },
      permissions: { '*': { read: { where: { isHidden: { $ne: true } } } } },
    },
  },
}

async function open(adapter: StorageAdapter, people: readonly Json[] = []): Promise<TestService> {
  const service = await openStored(config, { people }, { adapter, authenticate: () => null })
  opened.push(service)
  return service
}

const fill = <T>(count: number, element: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => element(i))

describe.each(storages)('a large body, in %s,', (_, create) => {
  useSmallerBounds()

  test.each<[string, Json, Json]>([
    ['numbers', { numbers: fill(scale(100_000), (i) => i * 1.5) }, {}],
    [
      'times',
      { times: fill(scale(20_000), () => '2020-01-01') },
      { times: fill(scale(20_000), () => '2020-01-01T00:00:00.000Z') },
    ],
    ['texts', { texts: fill(scale(50_000), () => 'abc') }, {}],
    [
      'objects',
      { objects: fill(scale(50_000), () => ({ b: 'x' })) },
      { objects: fill(scale(50_000), () => ({ a: 1, b: 'x' })) },
    ],
    ['one text', { long: `${'x'.repeat(scale(900_000))}bc` }, {}],
    ['names', { data: Object.fromEntries(fill(scale(30_000), (i) => [`n${i}`.padStart(9, 'n'), i])) }, {}],
  ])('is stored as a small one is: %s', async (_, body, changed) => {
    const service = await open(create())
    const sent = await service.send('POST /things', { body })
    expect(sent.status).toBe(201)
    expect(sent.body).toMatchObject({ ...body, ...changed })
    const read = await service.send(`GET /things/${sent.body._id}`)
    expect(read.text === sent.text).toBe(true)
    expect(read.headers.get('etag')).toBe(sent.headers.get('etag'))
  })

  test('names its faults, wherever they are', async () => {
    const service = await open(create())
    const body = {
      numbers: [...fill(scale(50_000), (i) => i), 'x'],
      texts: [...fill(scale(30_000), () => 'abc'), 'A', 5],
      long: `${'x'.repeat(scale(300_000))}c`,
      objects: [...fill(scale(20_000), () => ({})), { a: 'x', c: 1 }],
      data: [...fill(scale(20_000), () => 1), ['\u0000']],
    }
    const sent = await service.send('POST /things', { body })
    expect(faultsOf(sent)).toEqual({
      [`/numbers/${scale(50_000)}`]: 'wrong_type',
      [`/texts/${scale(30_000)}`]: 'wrong_pattern',
      [`/texts/${scale(30_000) + 1}`]: 'wrong_type',
      '/long': 'wrong_pattern',
      [`/objects/${scale(20_000)}/a`]: 'wrong_type',
      [`/objects/${scale(20_000)}/c`]: 'unknown_property',
      [`/data/${scale(20_000)}/0`]: 'invalid_text',
    })
  })

  test('with thousands of references is judged like one with few', async () => {
    const people = fill(3000, (i) => (i === 1500 ? { isHidden: true } : { name: 'x' }))
    const service = await open(create(), people)
    const ids = people.map((_, i) => idOf(i + 1))
    const faulty = await service.send('POST /things', { body: { many: [...ids, idOf(20_000)] } })
    expect(faultsOf(faulty)).toEqual({
      '/many/1500': 'unknown_reference',
      '/many/3000': 'unknown_reference',
    })
    const readable = ids.filter((id) => id !== idOf(1501))
    const sent = await service.send('POST /things', { body: { many: readable } })
    expect([sent.status, sent.body.many]).toEqual([201, readable])
  })
})

describe('references', () => {
  /** What storage is asked about people. */
  function observe(): { readonly adapter: StorageAdapter; readonly asked: ListQuery[] } {
    const memory = createMemoryAdapter()
    const asked: ListQuery[] = []
    const adapter: StorageAdapter = {
      ...memory,
      list(name, query) {
        if (name === 'people') asked.push(query)
        return memory.list(name, query)
      },
    }
    return { adapter, asked }
  }

  test('are asked for with one question, each once, and only by their ids', async () => {
    const { adapter, asked } = observe()
    const people = fill(10_000, () => ({ name: 'x' }))
    const service = await open(adapter, people)
    const ids = people.map((_, i) => idOf(i + 1))
    const body = { many: ids, one: ids[7], list: ids.slice(0, 5000).map((r) => ({ r })) }
    asked.length = 0
    expect((await service.send('POST /things', { body })).status).toBe(201)
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({ bytes: 1, limit: null })
    expect(JSON.stringify(asked[0]?.filter).split('-7000-').length - 1).toBe(10_000)
  })

  test('of every rule are among them, in one question', async () => {
    const { adapter, asked } = observe()
    const service = await open(adapter, [{}, {}, {}])
    asked.length = 0
    const sent = await service.send('POST /things', {
      body: { many: [idOf(1)] },
      caller: { id: 'ann', roles: ['limited'] },
    })
    expect([sent.status, sent.body.one]).toEqual([201, idOf(3)])
    expect(asked.map(({ filter }) => filter)).toEqual([
      { kind: 'and', filters: [expect.anything(), or([idOf(1), idOf(3)].map(isId))] },
    ])
  })

  test('bring no documents into memory but one', async () => {
    const adapter = createCuttingAdapter()
    const people = fill(500, () => ({ name: 'x'.repeat(10_000) }))
    const service = await open(adapter, people)
    adapter.handedOut = 0
    const sent = await service.send('POST /things', { body: { many: people.map((_, i) => idOf(i + 1)) } })
    expect(sent.status).toBe(201)
    expect(adapter.handedOut).toBeLessThan(20_000)
  })
})

describe('a cascade', () => {
  useSmallerBounds()

  test('brings few documents into memory', async () => {
    const adapter = createCuttingAdapter()
    const of = { type: 'reference', collection: 'people', onDelete: 'cascade' }
    const cascading = {
      collections: {
        people: { schema: {}, permissions: { '*': { read: true, delete: true } } },
        letters: { schema: { of, text: { type: 'string' } }, permissions: { '*': { read: true } } },
      },
    }
    const letters = fill(30, (i) => ({ of: idOf(1), text: String(i % 10).repeat(scale(300_000)) }))
    const service = await openStored(cascading, { people: [{}, {}], letters }, { adapter })
    opened.push(service)
    adapter.most = 0
    expect((await service.send(`DELETE /people/${idOf(1)}`)).status).toBe(204)
    expect(adapter.most).toBeLessThanOrEqual(MIB)
    expect((await service.send('GET /letters')).body).toEqual([])
  })
})

test('of many undeclared names the first ones are told', async () => {
  const schema = { title: { type: 'string', maxLength: 5 } }
  const permissions = { '*': { create: true, read: true, update: true } }
  const closed = { collections: { notes: { schema, permissions } } }
  const service = await openStored(closed, { notes: [{ title: 'a' }] }, { authenticate: () => null })
  opened.push(service)
  const names = fill(5000, (i) => `n${i}`)
  const body = { ...Object.fromEntries(names.map((name) => [name, 1])), title: 'longer' }
  const first = names.slice(0, 50).map((name) => `/${name}`)
  for (const line of ['POST /notes', `PATCH /notes/${idOf(1)}`, `PUT /notes/${idOf(1)}`])
    expect(Object.keys(faultsOf(await service.send(line, { body }))), line).toEqual(first)
  const removing = Object.fromEntries(names.map((name) => [name, null]))
  const sent = await service.send(`PATCH /notes/${idOf(1)}`, { body: removing })
  expect(Object.keys(faultsOf(sent))).toEqual(first)
})

describe('large bodies at the same time', () => {
  useSmallerBounds()

  test.each<[string, Json]>([
    ['numbers', { numbers: fill(scale(100_000), (i) => i) }],
    ['objects', { objects: fill(scale(20_000), () => ({ a: 1 })) }],
    ['a text', { data: 'x'.repeat(scale(900_000)) }],
    ['names', { data: Object.fromEntries(fill(scale(10_000), (i) => [`name${i}`, i])) }],
  ])('let others come first: %s', async (_, body) => {
    const service = await open(createMemoryAdapter())
    let answered = 0
    const all = fill(5, async () => {
      const { status } = await service.send('POST /things', { body })
      expect(status).toBe(201)
      answered += 1
    })
    // A small request that comes last is answered before most of them.
    const small = await service.send('POST /things', { body: { numbers: [1] } })
    expect([small.status, answered]).toEqual([201, 0])
    await Promise.all(all)
  })
})

describe('a body is judged in many slices', () => {
  /** The turns of the event loop that come while a request is answered. */
  async function countTurns(run: () => Promise<unknown>): Promise<number> {
    let turns = 0
    let isOver = false
    const count = (): void => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    await run()
    isOver = true
    return turns
  }

  const names = fill(60, (i) => `p${i}`)
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  const roles = fill(30, (i) => `role${i}`)
  const many = {
    collections: {
      things: {
        schema: { list: { type: 'array', items: { type: 'object', properties } }, title: { type: 'string' } },
        permissions: {
          '*': { create: true },
          ...Object.fromEntries(roles.map((role) => [role, { create: { pick: ['title'] } }])),
        },
      },
    },
  }

  describe('in slices for others', () => {
    useSmallerBounds()

    test.each<[string, Json, readonly string[]]>([
      ['where its objects may have many properties', { list: fill(scale(20_000), () => ({})) }, []],
      ['where many rules are tried', Object.fromEntries(fill(scale(20_000), (i) => [`n${i}`, 1])), roles],
    ])('%s', async (_, body, mine) => {
      const service = await openStored(many, {}, { authenticate: () => null })
      opened.push(service)
      const caller = { id: 'ann', roles: [...mine] }
      const turns = await countTurns(async () => {
        expect((await service.send('POST /things', { body, caller })).status).toBe(201)
      })
      expect(turns).toBeGreaterThan(7)
    })
  })

  test('and a thousand documents of a bulk are written in a turn of their own', async () => {
    const service = await openStored({ ...many, limits: { bulk: 1000 } }, {})
    opened.push(service)
    const documents = fill(1000, () => ({ title: 'a title', list: [{ p1: 'x'.repeat(200) }] }))
    const turns = await countTurns(async () => {
      expect((await service.send('POST /things/bulk', { body: { documents } })).status).toBe(201)
    })
    expect(turns).toBeGreaterThan(4)
  })
})
