import { describe, expect, test } from 'vitest'
import { type Filter, isServiceError, type ServiceError } from '../../src/index.js'
import { createTestService, type TestService } from '../support/service.js'

// CONTRACT.md §4, "Own accounts", §7, "Seeds"

const everything: Filter = { kind: 'and', filters: [] }

const schema = {
  name: { type: 'string' },
  n: { type: 'integer' },
  data: { type: 'json' },
  inner: { type: 'object', properties: { data: { type: 'json' } } },
  list: { type: 'array', items: { type: 'json' } },
}

class Point {
  readonly x = 1
  toJSON(): string {
    return 'a point'
  }
}

const cycle: { self?: unknown } = {}
cycle.self = cycle

/** As many arrays in one another. */
const nest = (levels: number): unknown => (levels === 0 ? 'core' : [nest(levels - 1)])

/** What is no JSON, though a host can write it down; `at`: where in it. */
const NO_JSON: readonly (readonly [what: string, value: unknown, at: string])[] = [
  ['a BigInt', 1n, ''],
  ['a date', new Date(0), ''],
  ['a map', new Map([['a', 1]]), ''],
  ['a set', new Set([1]), ''],
  ['a function', () => 'a', ''],
  ['a symbol', Symbol('a'), ''],
  ['an instance of a class', new Point(), ''],
  ['a pattern', /a/, ''],
  ['bytes', new Uint8Array(2), ''],
  ['no number', Number.NaN, ''],
  ['a BigInt inside', { a: [{ b: 1n }] }, '/a/0/b'],
  ['a date inside', { a: [0, new Date(0)] }, '/a/1'],
  ['a map inside', [new Map()], '/0'],
  ['a function inside', { a: { b() {} } }, '/a/b'],
  ['an instance inside', { 'a/b': new Point() }, '/a~1b'],
  ['a nested __proto__', JSON.parse('{"a":{"__proto__":{"admin":true}}}'), '/a/__proto__'],
  ['a lone surrogate inside', { a: '\ud800' }, '/a'],
  ['a whole number beyond 2^53', [2 ** 60], '/0'],
]

const rejectionOf = ({ handler }: TestService): Promise<ServiceError | undefined> =>
  handler.ready().then(
    () => undefined,
    (cause: unknown) => {
      if (isServiceError(cause)) return cause
      throw cause
    },
  )

describe('documents of a host that are no JSON keep the service from starting', () => {
  const config = {
    collections: {
      things: { schema, permissions: { '*': { read: true } } },
      free: { schema: {}, additionalProperties: true, permissions: {} },
    },
  }

  /** The paths of the faults. Nothing is stored, of other documents neither. */
  async function refusedAt(documents: { [name: string]: unknown }): Promise<string[]> {
    const service = createTestService(config, { documents: documents as { [name: string]: object[] } })
    const thrown = await rejectionOf(service)
    expect(thrown?.code).toBe('validation_failed')
    for (const name of ['things', 'free']) {
      expect(await service.adapter.count(name, everything, {})).toBe(0)
    }
    expect((await service.send('GET /things', { mayFail: true })).status).toBe(503)
    return thrown?.errors.map(({ path }) => path) ?? []
  }

  test.each(NO_JSON)('%s', async (_, value, at) => {
    const good = { name: 'good' }
    expect(await refusedAt({ things: [good, { data: value }] })).toEqual([`/things/1/data${at}`])
    expect(await refusedAt({ things: [{ inner: { data: value } }, good] })).toEqual([
      `/things/0/inner/data${at}`,
    ])
    expect(await refusedAt({ things: [{ list: ['a', value] }] })).toEqual([`/things/0/list/1${at}`])
    expect(await refusedAt({ free: [{ any: value }] })).toEqual([`/free/0/any${at}`])
  })

  test.each([
    ['a BigInt for a number', { n: 1n }, '/things/0/n'],
    ['a date for text', { name: new Date(0) }, '/things/0/name'],
    ['text that is an object', { name: new String('a') }, '/things/0/name'],
    ['a map for an object', { inner: new Map([['data', 1]]) }, '/things/0/inner'],
    ['a set for an array', { list: new Set([1]) }, '/things/0/list'],
    ['a creator of more bytes than any caller has', { createdBy: 'x'.repeat(1025) }, '/things/0/createdBy'],
  ])('%s', async (_, document, path) => {
    expect(await refusedAt({ things: [document] })).toEqual([path])
  })

  test.each([
    ['a map', new Map([['name', 'a']])],
    ['a date', new Date(0)],
    ['an array', [['name', 'a']]],
    ['a function', () => ({ name: 'a' })],
    ['null', null],
  ])('%s in place of a document', async (_, document) => {
    expect(await refusedAt({ things: [{ name: 'good' }, document] })).toEqual(['/things/1'])
  })

  test('a cycle', async () => {
    const paths = await refusedAt({ things: [{ name: 'good' }, { data: cycle }] })
    expect(paths).toHaveLength(1)
    expect(paths[0]).toMatch(/^\/things\/1\/data(?:\/self){20,}/)
  })

  test('33 levels, the document the first of them', async () => {
    const paths = await refusedAt({ things: [{ data: nest(32) }] })
    expect(paths).toEqual([`/things/0/data${'/0'.repeat(31)}`])
    expect(await refusedAt({ free: [{ any: nest(32) }] })).toEqual([`/free/0/any${'/0'.repeat(31)}`])
  })

  test('all faults are told, each at its place', async () => {
    const things = [{ data: 1n, list: [new Date(0)] }, { name: 'good' }, { inner: { data: cycle.self } }]
    const paths = await refusedAt({ things })
    expect(paths.slice(0, 2).sort()).toEqual(['/things/0/data', '/things/0/list/0'])
    expect(paths.slice(2)).toHaveLength(1)
  })

  test('32 levels are stored, and so are objects without a prototype', async () => {
    const bare = Object.assign(Object.create(null), { a: 1 })
    const { list, handler } = createTestService(config, {
      documents: { things: [{ data: nest(31) }, { data: bare }] },
    })
    await handler.ready()
    expect(await list('/things', 'data')).toEqual([nest(31), { a: 1 }])
  })

  test('the same object in two places is no cycle', async () => {
    const shared = { a: 1 }
    const { list } = createTestService(config, { documents: { things: [{ data: [shared, shared] }] } })
    expect(await list('/things', 'data')).toEqual([[shared, shared]])
  })
})

describe('what a caller holds that is no JSON is set nowhere', () => {
  const config = {
    collections: {
      things: {
        schema,
        permissions: {
          user: {
            create: { set: { data: '$user.data' } },
            update: { set: { data: '$user.data' } },
            read: true,
          },
          maker: { create: true },
          lister: { create: { set: { data: { by: ['$user.data'] } } } },
        },
      },
    },
  }
  const CASES = [...NO_JSON, ['a cycle', cycle, ''] as const, ['33 levels', nest(32), ''] as const]

  test.each(CASES)('on creation: %s', async (_, data) => {
    const { send } = createTestService(config, { authenticate: () => null })
    for (const roles of [[], ['lister']]) {
      const caller = { id: 'ann', roles, data }
      const { status, body } = await send('POST /things', { body: { name: 'b' }, caller })
      expect([status, body.code]).toEqual([403, 'forbidden'])
      expect((await send('GET /things/count', { caller })).body).toEqual({ total: 0 })
    }
  })

  test.each(CASES)('on update: %s', async (_, data) => {
    const { send, list } = createTestService(config, { authenticate: () => null })
    const maker = { id: 'max', roles: ['maker'] }
    const { _id } = (await send('POST /things', { body: { name: 'a' }, caller: maker })).body
    const caller = { id: 'ann', data }
    for (const method of ['PUT', 'PATCH']) {
      const sent = await send(`${method} /things/${_id}`, { body: { name: 'c' }, caller, mayFail: true })
      expect([sent.status, sent.body.code], method).toEqual([403, 'forbidden'])
      expect(await list('/things', 'name', { caller: maker })).toEqual(['a'])
      expect(await list('/things', 'data', { caller: maker })).toEqual([undefined])
    }
  })

  test.each([
    ['a map', new Map([['data', 1]])],
    ['a date', new Date(0)],
    ['an array', [{ data: 1 }]],
  ])('nor in a field that holds objects: %s', async (_, inner) => {
    const permissions = { user: { create: { set: { inner: '$user.inner' } }, read: true } }
    const { send } = createTestService(
      { collections: { things: { schema, permissions } } },
      { authenticate: () => null },
    )
    const caller = { id: 'ann', inner }
    const { status, body } = await send('POST /things', { body: { name: 'a' }, caller })
    expect([status, body.code]).toEqual([403, 'forbidden'])
    expect((await send('GET /things/count', { caller })).body).toEqual({ total: 0 })
  })

  test('what is JSON is, and stays what it was', async () => {
    const { send, list } = createTestService(config, { authenticate: () => null })
    const data = { a: [1, { b: null }], c: 'd' }
    const caller = { id: 'ann', data }
    const { status, body } = await send('POST /things', { body: { name: 'a', data: 'b' }, caller })
    expect([status, body.data]).toEqual([201, { a: [1, { b: null }], c: 'd' }])
    data.c = 'changed'
    expect(await list('/things', 'data', { caller })).toEqual([{ a: [1, { b: null }], c: 'd' }])
  })
})
