import { describe, expect, test } from 'vitest'
import { ConfigError, createMemoryAdapter } from '../../src/index.js'
import { createTestService, type TestService } from '../support/service.js'
import { openStored } from '../support/stored.js'
import { configOf, letters, type Schema, serve, store } from './support/field-types.js'

type Documents = Parameters<typeof openStored>[1][string]

/** Where a configuration is wrong. */
function configFaults(schema: Schema, settings?: object): readonly string[] {
  try {
    serve(schema, settings)
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ConfigError)
    return (thrown as ConfigError).faults.map(({ path }) => path.replace('/collections/items', ''))
  }
  return []
}

describe('after the configuration changed', () => {
  const open = { permissions: { '*': true } }
  /** Stores documents under one schema and serves them under another. */
  async function reconfigure(
    before: Schema,
    documents: readonly object[],
    after: Schema,
    settings = {},
  ): Promise<TestService> {
    const adapter = createMemoryAdapter()
    const first = createTestService(configOf(before), { adapter })
    for (const body of documents) await store(first, body)
    return createTestService(configOf(after, { ...open, ...settings }), { adapter, holdsOthers: true })
  }
  const listed = async (service: TestService, query = '') => (await service.send(`GET /items?${query}`)).body

  /** A service over documents that another program has stored. */
  const openOver = (items: Documents, schema: Schema): Promise<TestService> =>
    openStored(configOf(schema, open), { items })

  test('a stored value of another type is returned as it is', async () => {
    const documents = [
      { value: 'text', n: 1 },
      { value: { a: [1] }, n: 2 },
    ]
    const service = await openOver(documents, { value: { type: 'integer' }, n: { type: 'integer' } })
    expect(await listed(service)).toMatchObject([{ value: 'text' }, { value: { a: [1] } }])
  })

  const values = ['1', 1, 1.5, true, '2026-01-01T00:00:00.000Z', '2026-01-01', ['1'], [1, 'x'], { a: 1 }]
  const documents = values.map((value, n) => ({ value, n }))
  const at = (...wanted: unknown[]) =>
    wanted.map((value) => values.findIndex((v) => JSON.stringify(v) === JSON.stringify(value)))
  test.each<[object, string, number[]]>([
    [{ type: 'string' }, 'q[value]="1"', at('1')],
    [{ type: 'string' }, 'q[value][$exists]=true', at('1', '2026-01-01T00:00:00.000Z', '2026-01-01')],
    [{ type: 'string' }, 'q[value][$regex]=1', at('1', '2026-01-01T00:00:00.000Z', '2026-01-01')],
    [{ type: 'integer' }, 'q[value]=1', at(1)],
    [{ type: 'integer' }, 'q[value][$gte]=1', at(1)],
    [{ type: 'integer' }, 'q[value][$exists]=true', at(1)],
    [{ type: 'number' }, 'q[value][$gte]=1', at(1, 1.5)],
    [{ type: 'boolean' }, 'q[value]=true', at(true)],
    [{ type: 'boolean' }, 'q[value][$ne]=null', at(true)],
    [{ type: 'timestamp' }, 'q[value][$exists]=true', at('2026-01-01T00:00:00.000Z')],
    [{ type: 'timestamp' }, 'q[value]=2026-01-01', at('2026-01-01T00:00:00.000Z')],
    [{ type: 'timestamp' }, 'q[value][$gt]=0001-01-01', at('2026-01-01T00:00:00.000Z')],
    [{ type: 'array', items: { type: 'string' } }, 'q[value]=1', at(['1'])],
    [{ type: 'array', items: { type: 'integer' } }, 'q[value]=1', at([1, 'x'])],
    [{ type: 'array', items: { type: 'integer' } }, 'q[value][$exists]=true', at(['1'], [1, 'x'])],
    [{ type: 'object', properties: { a: { type: 'integer' } } }, 'q[value][$exists]=true', at({ a: 1 })],
    [{ type: 'object', properties: { a: { type: 'integer' } } }, 'q[value.a]=1', at({ a: 1 })],
  ])(
    'one that is not of the type counts as missing in filters: %j, %s',
    async (definition, query, expected) => {
      const service = await openOver(documents, { value: definition, n: { type: 'integer' } })
      const found = async (asked: string) => (await listed(service, asked)).map(({ n }: { n: number }) => n)
      expect(await found(query)).toEqual(expected)
      const total = await service.send(`GET /items/count?${query}`)
      expect(total.body).toEqual({ total: expected.length })
    },
  )

  test.each<[string, string[]]>([
    ['integer', ['sort[value]=1', 'sort[value]=-1']],
    ['string', ['sort[value]=1', 'sort[value]=-1']],
  ])('and in sorts: %s', async (type, [up = '', down = '']) => {
    const stored = [
      { value: 5, n: 0 },
      { value: 'b', n: 1 },
      { value: 3, n: 2 },
      { value: 'a', n: 3 },
    ]
    const service = await openOver(stored, { value: { type }, n: { type: 'integer' } })
    const order = async (query: string) => (await listed(service, query)).map(({ n }: { n: number }) => n)
    expect(await order(up)).toEqual(type === 'integer' ? [1, 3, 2, 0] : [0, 2, 3, 1])
    expect(await order(down)).toEqual(type === 'integer' ? [0, 2, 3, 1] : [1, 3, 2, 0])
  })

  test('a stored property that is no longer declared is not shown, nor one inside an object', async () => {
    const inner = (...names: string[]) => ({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
    })
    const service = await reconfigure(
      {
        a: { type: 'string' },
        b: { type: 'string' },
        o: inner('x', 'y'),
        l: { type: 'array', items: inner('x', 'y') },
      },
      [{ a: '1', b: '2', o: { x: '3', y: '4' }, l: [{ x: '5', y: '6' }] }],
      { a: { type: 'string' }, o: inner('x'), l: { type: 'array', items: inner('y') } },
    )
    const [{ _id, createdAt, updatedAt, createdBy, ...rest }] = await listed(service)
    expect([_id, createdAt, updatedAt, createdBy]).not.toContain(undefined)
    expect(rest).toEqual({ a: '1', o: { x: '3' }, l: [{ y: '6' }] })
    expect((await service.send('GET /items?q[b]=2')).status).toBe(400)
  })

  test.each<[string, object, object]>([
    ['a string', { pin: { type: 'string' } }, {}],
    ['json', { pin: { type: 'json' } }, {}],
    ['undeclared', {}, { additionalProperties: true }],
  ])('what was stored as a hash is never shown: %s', async (_, after, settings) => {
    const service = await reconfigure(
      { pin: { type: 'hash' } },
      [{ pin: 'secret77' }],
      after as Schema,
      settings,
    )
    const { text } = await service.send('GET /items')
    expect(text).not.toMatch(/pin|\$2|_hash/)
    if ('pin' in after)
      expect((await service.send('GET /items/count?q[pin][$exists]=true')).body).toEqual({ total: 0 })
  })

  test('a text in what is now a hash field is not shown either', async () => {
    const service = await reconfigure({ pin: { type: 'string' } }, [{ pin: 'plain' }], {
      pin: { type: 'hash' },
    })
    expect((await service.send('GET /items')).text).not.toContain('plain')
  })

  test('values that are no longer unique keep the service from starting', async () => {
    const service = await reconfigure({ a: { type: 'string' } }, [{ a: 'x' }, { a: 'x' }], {
      a: { type: 'string', unique: true },
    })
    await expect(service.handler.ready()).rejects.toBeDefined()
    const answer = await service.send('GET /items', { mayFail: true })
    expect([answer.status, answer.body.code]).toEqual([503, 'storage_unavailable'])
  })
})

describe('a definition that cannot work is refused, with its place', () => {
  const inItems = (definition: object) => ({ a: { type: 'array', items: definition } })
  const inObject = (definition: object) => ({ a: { type: 'object', properties: { b: definition } } })
  test.each<[string, Schema, string[]]>([
    ['an unknown type', { a: { type: 'text' } }, ['/schema/a/type']],
    ['no type', { a: {} }, ['/schema/a/type']],
    ['an unknown attribute', { a: { type: 'string', maxlength: 1 } }, ['/schema/a/maxlength']],
    ['an attribute of another type', { a: { type: 'string', minimum: 1 } }, ['/schema/a/minimum']],
    ['an unknown format', { a: { type: 'string', format: 'phone' } }, ['/schema/a/format']],
    [
      'a pattern outside the portable core',
      { a: { type: 'string', pattern: '(?=a)' } },
      ['/schema/a/pattern'],
    ],
    ['bounds the wrong way round', { a: { type: 'integer', minimum: 2, maximum: 1 } }, ['/schema/a/minimum']],
    [
      'times the wrong way round',
      { a: { type: 'timestamp', minimum: '2026-01-02', maximum: '2026-01-01' } },
      ['/schema/a/minimum'],
    ],
    ['a bound that is no time', { a: { type: 'timestamp', maximum: 'tomorrow' } }, ['/schema/a/maximum']],
    ['an array without items', { a: { type: 'array' } }, ['/schema/a/items']],
    ['an object without properties', { a: { type: 'object' } }, ['/schema/a/properties']],
    [
      'nullable beside required',
      { a: { type: 'string', required: true, nullable: true } },
      ['/schema/a/nullable'],
    ],
    ['nullable on items', inItems({ type: 'string', nullable: true }), ['/schema/a/items/nullable']],
    ['immutable on items', inItems({ type: 'string', immutable: true }), ['/schema/a/items/immutable']],
    [
      'immutable inside an array',
      inItems({ type: 'object', properties: { b: { type: 'json', immutable: true } } }),
      ['/schema/a/items/properties/b/immutable'],
    ],
    [
      'a choice that normalising changes',
      { a: { type: 'string', lowercase: true, enum: ['x', 'Y'] } },
      ['/schema/a/enum/1'],
    ],
    ['a choice with NUL', { a: { type: 'string', enum: ['x', '\u0000'] } }, ['/schema/a/enum/1']],
    [
      'a choice that the pattern refuses',
      { a: { type: 'string', pattern: '^a', enum: ['ab', 'b'] } },
      ['/schema/a/enum/1'],
    ],
    [
      'a choice that is out of bounds',
      { a: { type: 'integer', maximum: 3, enum: [5, 3] } },
      ['/schema/a/enum/0'],
    ],
    [
      'an element that is no address',
      inItems({ type: 'string', format: 'email', enum: ['a@example.com', 'a'] }),
      ['/schema/a/items/enum/1'],
    ],
    ['a choice beyond whole numbers', { a: { type: 'number', enum: [1, 2 ** 53] } }, ['/schema/a/enum/1']],
    [
      'a match of nothing but a comment',
      { a: { type: 'reference', collection: 'items', match: { $comment: 'later' } } },
      ['/schema/a/match'],
    ],
    ['a hash in an array', inItems({ type: 'hash' }), ['/schema/a/items/type']],
    ['a hash in an object', inObject({ type: 'hash' }), ['/schema/a/properties/b/type']],
    [
      'unique inside an object',
      inObject({ type: 'string', unique: true }),
      ['/schema/a/properties/b/unique'],
    ],
    ['unique on items', inItems({ type: 'string', unique: true }), ['/schema/a/items/unique']],
    [
      'unique on an array',
      { a: { type: 'array', items: { type: 'string' }, unique: true } },
      ['/schema/a/unique'],
    ],
    [
      'index on an array without maxItems',
      { a: { type: 'array', items: { type: 'string' }, index: true } },
      ['/schema/a/maxItems'],
    ],
    [
      'index on a long array',
      { a: { type: 'array', items: { type: 'string' }, maxItems: 1001, index: true } },
      ['/schema/a/maxItems'],
    ],
    [
      'index on an array of objects',
      { a: { type: 'array', items: { type: 'object', properties: {} }, maxItems: 5, index: true } },
      ['/schema/a/index'],
    ],
    [
      'index on an array of objects with references',
      {
        a: {
          type: 'array',
          items: { type: 'object', properties: { of: { type: 'reference', collection: 'items' } } },
          maxItems: 5,
          index: true,
        },
      },
      ['/schema/a/index'],
    ],
    [
      'index on an array inside an object',
      {
        a: {
          type: 'object',
          properties: { b: { type: 'array', items: { type: 'string' }, maxItems: 5, index: true } },
        },
      },
      ['/schema/a/properties/b/index'],
    ],
    ['index on an object', { a: { type: 'object', properties: {}, index: true } }, ['/schema/a/index']],
    ['unique on json', { a: { type: 'json', unique: true } }, ['/schema/a/unique']],
    ['unique on a hash', { a: { type: 'hash', unique: true } }, ['/schema/a/unique']],
    ['a default on a hash', { a: { type: 'hash', default: 'x' } }, ['/schema/a/default']],
    ['a default of another type', { a: { type: 'integer', default: '1' } }, ['/schema/a/default']],
    [
      'a default that the field refuses',
      { a: { type: 'integer', minimum: 1, default: 0 } },
      ['/schema/a/default'],
    ],
    [
      'a default outside the enum',
      { a: { type: 'string', enum: ['x'], default: 'y' } },
      ['/schema/a/default'],
    ],
    ['a default that is no time', { a: { type: 'timestamp', default: 'soon' } }, ['/schema/a/default']],
    [
      '"$now" where there is no time',
      { a: { type: 'string', enum: ['x'], default: '$now' } },
      ['/schema/a/default'],
    ],
    ['a system field', { createdAt: { type: 'timestamp' } }, ['/schema/createdAt']],
    ['a name beginning with _', { _a: { type: 'string' } }, ['/schema/_a']],
    ['a name with a dot', { 'a.b': { type: 'string' } }, ['/schema/a.b']],
    ['a name of 64 characters', { [letters(64)]: { type: 'string' } }, [`/schema/${letters(64)}`]],
    ['constructor', { constructor: { type: 'string' } }, ['/schema/constructor']],
    [
      'names that differ by case alone',
      { title: { type: 'string' }, Title: { type: 'string' } },
      ['/schema/Title'],
    ],
    [
      'the same inside an object',
      { a: { type: 'object', properties: { b: { type: 'json' }, B: { type: 'json' } } } },
      ['/schema/a/properties/B'],
    ],
  ])('%s', (_, schema, paths) => {
    expect(configFaults(schema)).toEqual(paths)
  })
  test.each<[string, object, string[]]>([
    ['an index over an unknown field', { fields: ['b'] }, ['/indexes/0/fields/0']],
    ['an index over an array without maxItems', { fields: ['a', 'list'] }, ['/schema/list/maxItems']],
    ['an index over a long array', { fields: ['long', 'a'] }, ['/schema/long/maxItems']],
    ['an index over two arrays', { fields: ['few', 'a', 'others'] }, ['/indexes/0/fields/2']],
    ['a unique index over an array', { fields: ['few', 'a'], unique: true }, ['/indexes/0/unique']],
    ['an index over an array of objects', { fields: ['objects'] }, ['/indexes/0/fields/0']],
    ['an index over an array of arrays', { fields: ['arrays'] }, ['/indexes/0/fields/0']],
    ['an index over nothing', { fields: [] }, ['/indexes/0/fields']],
  ])('%s', (_, index, paths) => {
    const items = { type: 'string' }
    const schema = {
      a: { type: 'string' },
      list: { type: 'array', items },
      long: { type: 'array', items, maxItems: 1001 },
      few: { type: 'array', items, maxItems: 1000 },
      others: { type: 'array', items, maxItems: 1 },
      objects: { type: 'array', items: { type: 'object', properties: {} }, maxItems: 1 },
      arrays: { type: 'array', items: { type: 'array', items }, maxItems: 1 },
    }
    expect(configFaults(schema, { indexes: [index] })).toEqual(paths)
  })
})

describe('documents that an adapter is given to begin with', () => {
  const config = configOf({ title: { type: 'string', required: true, trim: true }, pin: { type: 'hash' } })
  const id = '01890000-0000-7000-8000-000000000001'
  test('are checked like bodies, and keep what the service would give', async () => {
    const given = {
      _id: id,
      title: ' a ',
      pin: 'secret',
      createdAt: '2020-01-01',
      updatedAt: '2021-01-01T01:00:00+01:00',
      createdBy: 'ann',
    }
    const service = createTestService(config, { documents: { items: [given, { title: 'b' }] }, now: () => 0 })
    await service.handler.ready()
    const { body } = await service.send('GET /items?sort[title]=1')
    expect(body).toEqual([
      {
        _id: id,
        title: 'a',
        createdAt: '2020-01-01T00:00:00.000Z',
        updatedAt: '2021-01-01T00:00:00.000Z',
        createdBy: 'ann',
      },
      {
        _id: expect.any(String),
        title: 'b',
        createdAt: '1970-01-01T00:00:00.000Z',
        updatedAt: '1970-01-01T00:00:00.000Z',
        createdBy: null,
      },
    ])
  })
  test.each<[string, object, string[]]>([
    [
      'a fault of a document',
      { items: [{ title: 'a' }, { title: 1, extra: 2 }] },
      ['/items/1/extra', '/items/1/title'],
    ],
    ['an unknown collection', { itms: [] }, ['/itms']],
    ['no array', { items: {} }, ['/items']],
    ['no object', { items: ['a'] }, ['/items/0']],
    ['an _id that is no UUID', { items: [{ _id: '1', title: 'a' }] }, ['/items/0/_id']],
    ['a time that is none', { items: [{ createdAt: 5, title: 'a' }] }, ['/items/0/createdAt']],
  ])('%s keeps the service from starting', async (_, documents, paths) => {
    const service = createTestService(config, { documents: documents as { [name: string]: object[] } })
    const thrown = await service.handler.ready().then(
      () => undefined,
      (cause: { code: string; errors: { path: string }[] }) => cause,
    )
    expect(thrown?.code).toBe('validation_failed')
    expect(thrown?.errors.map(({ path }) => path).sort()).toEqual(paths)
    const answer = await service.send('GET /items', { mayFail: true })
    expect([answer.status, answer.body.code]).toEqual([503, 'storage_unavailable'])
  })
  test('are stored all or none', async () => {
    const unique = configOf({ code: { type: 'string', unique: true } })
    const { seed, ...bare } = createMemoryAdapter({
      documents: { items: [{ code: 'a' }, { code: 'b' }, { code: 'a' }] },
    })
    const first = createTestService(unique, { adapter: { ...bare, ...(seed ? { seed } : {}) } })
    await expect(first.handler.ready()).rejects.toMatchObject({ code: 'unique_violation' })
    const second = createTestService(unique, { adapter: bare })
    expect(await second.list('/items', 'code')).toEqual([])
    await store(second, { code: 'a' })
  })
  test('are stored once, by however many services at the same time', async () => {
    const adapter = createMemoryAdapter({ documents: { items: [{ title: 'a', pin: 'secret' }] } })
    const services = [createTestService(config, { adapter }), createTestService(config, { adapter })]
    await Promise.all(services.map(({ handler }) => handler.ready()))
    for (const service of services) expect(await service.list('/items', 'title')).toEqual(['a'])
  })
})
