import { describe, expect, test } from 'vitest'
import { ConfigError, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { type AnyConfig, createTestService, faultsOf, type TestService } from '../support/service.js'

type Schema = { readonly [field: string]: object }

const configOf = (schema: Schema, settings: object = {}): AnyConfig => ({
  collections: { items: { schema, permissions: { '*': true }, ...settings } },
})

const serve = (schema: Schema, settings?: object): TestService =>
  createTestService(configOf(schema, settings))

const create = (service: TestService, body: unknown) => service.send('POST /items', { body })

/** What is stored of a body, without what the service adds. */
async function store(service: TestService, body: unknown): Promise<{ [name: string]: unknown }> {
  const answer = await create(service, body)
  expect(answer.status, answer.text).toBe(201)
  const read = await service.send(`GET /items/${answer.body._id}`)
  expect(read.body).toEqual(answer.body)
  const { _id, createdAt, updatedAt, createdBy, ...rest } = answer.body
  expect({ _id, createdAt, updatedAt, createdBy }).toEqual({
    _id: expect.any(String),
    createdAt: expect.any(String),
    updatedAt: createdAt,
    createdBy: null,
  })
  return rest
}

/** The codes of the faults of a body, by path; nothing is stored. */
async function faults(service: TestService, body: unknown): Promise<{ [path: string]: string }> {
  const before = (await service.send('GET /items/count')).body
  const answer = await create(service, body)
  expect(answer.status, answer.text).toBe(400)
  expect(answer.body.code).toBe('validation_failed')
  expect((await service.send('GET /items/count')).body).toEqual(before)
  return faultsOf(answer)
}

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

const letters = (count: number): string => 'a'.repeat(count)

describe('every type takes its own values, as they are', () => {
  const object = { type: 'object', properties: { city: { type: 'string' } } }
  const list = (items: object) => ({ type: 'array', items })
  test.each<[string, object, readonly unknown[]]>([
    ['string', { type: 'string' }, ['', ' a ', 'true', 'null', 'ÄÖ\u{1f600}', letters(5000)]],
    ['number', { type: 'number' }, [0, -1.5, 1.5e-300, 5e-324, 9007199254740991, -9007199254740991]],
    ['integer', { type: 'integer' }, [0, -1, 1e3, 9007199254740991, -9007199254740991]],
    ['boolean', { type: 'boolean' }, [true, false]],
    ['timestamp', { type: 'timestamp' }, ['2026-11-20T08:00:00.000Z']],
    ['array', list({ type: 'integer' }), [[], [1, 2], [1, 1]]],
    ['array of arrays', list(list({ type: 'string' })), [[], [[]], [['a'], ['b', 'c']]]],
    ['array of objects', list(object), [[], [{}, { city: 'Oslo' }]]],
    ['object', object, [{}, { city: 'Oslo' }]],
    ['json', { type: 'json' }, ['a', 1.5, true, null, [], [1, 'a', null, { b: [] }], {}, { a: { b: null } }]],
  ])('%s', async (_, definition, values) => {
    const service = serve({ value: definition })
    for (const value of values) expect(await store(service, { value })).toEqual({ value })
    expect(await store(service, {})).toEqual({})
  })
})

describe('nothing is turned into another type', () => {
  const wrong: { readonly [type: string]: readonly unknown[] } = {
    string: [1, true, null, [], {}, ['a']],
    number: ['1', true, null, [], {}],
    integer: ['1', 1.5, true, null, [1], {}],
    boolean: ['true', 0, 1, null, [], {}],
    timestamp: [0, 1767225600000, true, null, [], {}],
    array: ['a', 1, null, {}, { 0: 'a', length: 1 }],
    object: ['a', 1, null, [], [{}]],
  }
  const inside: { readonly [type: string]: object } = {
    array: { items: { type: 'string' } },
    object: { properties: { city: { type: 'string' } } },
  }
  test.each(Object.entries(wrong))('%s', async (type, values) => {
    const service = serve({ value: { type, ...inside[type] } })
    for (const value of values)
      expect(await faults(service, { value }), JSON.stringify(value)).toEqual({ '/value': 'wrong_type' })
  })
  test('the path leads to the element or property at fault', async () => {
    const service = serve({
      tags: { type: 'array', items: { type: 'string' } },
      parts: { type: 'array', items: { type: 'object', properties: { size: { type: 'integer' } } } },
    })
    expect(
      await faults(service, { tags: ['a', 1, null], parts: [{ size: 1 }, { size: 'x' }, { 'a/b~': 1 }] }),
    ).toEqual({
      '/tags/1': 'wrong_type',
      '/tags/2': 'wrong_type',
      '/parts/1/size': 'wrong_type',
      '/parts/2/a~1b~0': 'unknown_property',
    })
  })
})

describe('strings', () => {
  test.each<[string, object, readonly string[], readonly string[], string]>([
    [
      'minLength counts code points',
      { minLength: 2 },
      ['ab', '\u{1f600}a'],
      ['', 'a', '\u{1f600}'],
      'too_short',
    ],
    ['maxLength counts code points', { maxLength: 2 }, ['', 'ab', '\u{1f600}\u{1f600}'], ['abc'], 'too_long'],
    ['pattern is searched for anywhere', { pattern: 'b+' }, ['b', 'abbc'], ['', 'B', 'ac'], 'wrong_pattern'],
    ['pattern with anchors', { pattern: '^[a-z]+$' }, ['abc'], ['', 'aBc', 'abc\n'], 'wrong_pattern'],
    [
      'enum',
      { enum: ['draft', 'published'] },
      ['draft', 'published'],
      ['', 'Draft', 'draft '],
      'not_allowed',
    ],
    [
      'email',
      { format: 'email' },
      ['ann@example.org', 'a.b+c@d.example.org'],
      ['ann', 'a@', '@b', 'a b@c.org'],
      'wrong_format',
    ],
    [
      'uri',
      { format: 'uri' },
      ['https://example.org/a?b#c', 'urn:isbn:1'],
      ['example.org', '/a', 'http://a b'],
      'wrong_format',
    ],
    [
      'uuid',
      { format: 'uuid' },
      ['01890000-0000-7000-8000-000000000001'],
      ['01890000', 'x1890000-0000-7000-8000-000000000001'],
      'wrong_format',
    ],
    [
      'date',
      { format: 'date' },
      ['2026-02-28', '2024-02-29'],
      ['2026-02-29', '2026-13-01', '26-1-1', '2026-02-28T00:00:00Z'],
      'wrong_format',
    ],
    [
      'time',
      { format: 'time' },
      ['10:20:30Z', '10:20:30.5+01:00'],
      ['25:00:00Z', '10:20', 'noon'],
      'wrong_format',
    ],
    ['ipv4', { format: 'ipv4' }, ['127.0.0.1'], ['127.0.0.256', '1.2.3', '::1'], 'wrong_format'],
    [
      'ipv6',
      { format: 'ipv6' },
      ['::1', '2001:db8::8a2e:370:7334'],
      ['127.0.0.1', ':::1', '2001:db8::g'],
      'wrong_format',
    ],
    [
      'hostname',
      { format: 'hostname' },
      ['example.org', 'a-b.c'],
      ['-a.org', 'a_b', 'a b', ''],
      'wrong_format',
    ],
  ])('%s', async (_, attributes, accepted, refused, code) => {
    const service = serve({ value: { type: 'string', ...attributes } })
    for (const value of accepted) expect(await store(service, { value })).toEqual({ value })
    for (const value of refused)
      expect(await faults(service, { value }), JSON.stringify(value)).toEqual({ '/value': code })
  })

  test.each<[string, object, string, string]>([
    ['trim', { trim: true }, ' \t\n a b \u00a0', 'a b'],
    ['lowercase', { lowercase: true }, ' ÄBC ', ' äbc '],
    ['both', { trim: true, lowercase: true }, ' ANN@Example.ORG ', 'ann@example.org'],
  ])('%s is done before storing', async (_, attributes, sent, stored) => {
    const service = serve({ value: { type: 'string', ...attributes } })
    expect(await store(service, { value: sent })).toEqual({ value: stored })
  })

  test('what is checked is the normalised text', async () => {
    const service = serve({
      short: { type: 'string', trim: true, maxLength: 2, minLength: 1 },
      status: { type: 'string', trim: true, lowercase: true, enum: ['draft'] },
      mail: { type: 'string', trim: true, format: 'email' },
    })
    const body = { short: '  ab  ', status: ' DRAFT', mail: ' ann@example.org ' }
    expect(await store(service, body)).toEqual({ short: 'ab', status: 'draft', mail: 'ann@example.org' })
    expect(await faults(service, { short: '   ' })).toEqual({ '/short': 'too_short' })
  })

  test('trim and lowercase reach into arrays and objects', async () => {
    const service = serve({
      tags: { type: 'array', items: { type: 'string', trim: true, lowercase: true } },
      address: { type: 'object', properties: { city: { type: 'string', trim: true } } },
      parts: {
        type: 'array',
        items: { type: 'object', properties: { code: { type: 'string', lowercase: true } } },
      },
    })
    const body = { tags: [' A', 'b '], address: { city: ' Oslo ' }, parts: [{ code: 'X' }] }
    expect(await store(service, body)).toEqual({
      tags: ['a', 'b'],
      address: { city: 'Oslo' },
      parts: [{ code: 'x' }],
    })
  })

  test.each<[string, object]>([
    ['a backtracking trap', { pattern: '^(a+)+$' }],
    ['many alternatives', { pattern: '^(a|a|aa)*$' }],
  ])('a pattern takes linear time: %s', async (_, attributes) => {
    const service = serve({ value: { type: 'string', ...attributes } })
    expect(await faults(service, { value: `${letters(100_000)}!` })).toEqual({ '/value': 'wrong_pattern' })
  })
})

describe('numbers', () => {
  test.each<[string, object, readonly number[], readonly number[], string]>([
    ['minimum', { type: 'number', minimum: 1.5 }, [1.5, 2], [1.4, -2], 'too_small'],
    ['maximum', { type: 'integer', maximum: 3 }, [3, -5], [4], 'too_large'],
    ['enum', { type: 'integer', enum: [1, 2] }, [1, 2], [0, 3], 'not_allowed'],
    [
      'whole numbers beyond ±(2^53−1)',
      { type: 'number' },
      [9007199254740991],
      [9007199254740992, -9007199254740992, 1e308],
      'number_out_of_range',
    ],
    [
      'the same of an integer',
      { type: 'integer' },
      [-9007199254740991],
      [9007199254740992, 1e21],
      'number_out_of_range',
    ],
  ])('%s', async (_, definition, accepted, refused, code) => {
    const service = serve({ value: definition })
    for (const value of accepted) expect(await store(service, { value })).toEqual({ value })
    for (const value of refused)
      expect(await faults(service, { value }), `${value}`).toEqual({ '/value': code })
  })

  test.each(['1e400', '-1e400'])('%s is no finite number', async (raw) => {
    for (const type of ['number', 'integer', 'json']) {
      const answer = await serve({ value: { type } }).send('POST /items', { raw: `{"value":${raw}}` })
      expect(answer.status).toBe(400)
      expect(Object.keys(faultsOf(answer))).toEqual(['/value'])
    }
  })

  test('−0 is 0, wherever a number stands', async () => {
    const stored: unknown[] = []
    const memory = createMemoryAdapter()
    const adapter: StorageAdapter = {
      ...memory,
      write(steps, options) {
        for (const step of steps) if ('insert' in step) stored.push(step.insert)
        return memory.write(steps, options)
      },
    }
    const schema = {
      value: { type: 'number', unique: true },
      list: { type: 'array', items: { type: 'integer' } },
    }
    const service = createTestService(configOf(schema), { adapter })
    const answer = await service.send('POST /items', { raw: '{"value":-0,"list":[-0.0]}' })
    expect(answer.status).toBe(201)
    expect(stored).toEqual([expect.objectContaining({ value: 0, list: [0] })])
    expect((await service.send('POST /items', { raw: '{"value":0}' })).status).toBe(409)
    expect(await service.list('/items?q[value]=-0', 'list')).toEqual([[0]])
  })
})

describe('timestamps', () => {
  const service = serve({ at: { type: 'timestamp' } })
  test.each([
    ['2026-11-20T08:00:00.000Z', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20T08:00:00Z', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20t08:00:00z', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20T08:00:00.1239Z', '2026-11-20T08:00:00.123Z'],
    ['2026-11-20T08:00:00+02:30', '2026-11-20T05:30:00.000Z'],
    ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s is stored as %s', async (at, stored) => {
    expect(await store(service, { at })).toEqual({ at: stored })
  })
  test.each([
    '2026-02-29',
    '2026-13-01',
    '2026-11-20T24:00:00Z',
    '2026-12-31T23:59:60Z',
    '2026-11-20T08:00:00',
    '2026-11-20 08:00:00Z',
    '2026-11-20T08:00Z',
    '20261120T080000Z',
    '0000-01-01',
    '10000-01-01',
    '+002026-01-01',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    ' 2026-11-20',
    '2026-11-20\n',
    'now',
    '$now',
    '',
  ])('%j is none', async (at) => {
    expect(await faults(service, { at })).toEqual({ '/at': 'wrong_format' })
  })
  test('minimum and maximum, both included', async () => {
    const bound = serve({
      at: { type: 'timestamp', minimum: '2026-01-01', maximum: '2026-12-31T12:00:00+02:00' },
    })
    expect(await store(bound, { at: '2026-01-01T00:00:00Z' })).toEqual({ at: '2026-01-01T00:00:00.000Z' })
    expect(await store(bound, { at: '2026-12-31T10:00:00Z' })).toEqual({ at: '2026-12-31T10:00:00.000Z' })
    expect(await faults(bound, { at: '2025-12-31T23:59:59.999Z' })).toEqual({ '/at': 'too_small' })
    expect(await faults(bound, { at: '2026-12-31T10:00:00.001Z' })).toEqual({ '/at': 'too_large' })
  })
  test('they are normalised in arrays and objects too', async () => {
    const nested = serve({
      days: { type: 'array', items: { type: 'timestamp' } },
      span: { type: 'object', properties: { from: { type: 'timestamp' } } },
    })
    expect(await store(nested, { days: ['2026-01-01'], span: { from: '2026-01-02' } })).toEqual({
      days: ['2026-01-01T00:00:00.000Z'],
      span: { from: '2026-01-02T00:00:00.000Z' },
    })
  })
})

describe('arrays and objects', () => {
  test('minItems and maxItems', async () => {
    const service = serve({ tags: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 2 } })
    expect(await store(service, { tags: ['a', 'b'] })).toEqual({ tags: ['a', 'b'] })
    expect(await faults(service, { tags: [] })).toEqual({ '/tags': 'too_few' })
    expect(await faults(service, { tags: ['a', 'b', 'c'] })).toEqual({ '/tags': 'too_many' })
  })
  test('an array that is too long or too short hides no fault of its elements', async () => {
    const rows = { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } }
    const service = serve({
      tags: { type: 'array', items: { type: 'string' }, maxItems: 1 },
      rows: { ...rows, minItems: 3 },
      grid: { type: 'array', items: { ...rows, maxItems: 1 }, maxItems: 1 },
    })
    const body = { tags: ['a', 1, 'b', null], rows: [{ n: 'x' }, { m: 1 }], grid: [[], [{}, { n: 'x' }]] }
    const found = {
      '/tags': 'too_many',
      '/tags/1': 'wrong_type',
      '/tags/3': 'wrong_type',
      '/rows': 'too_few',
      '/rows/0/n': 'wrong_type',
      '/rows/1/m': 'unknown_property',
      '/grid': 'too_many',
      '/grid/1': 'too_many',
      '/grid/1/1/n': 'wrong_type',
    }
    expect(await faults(service, body)).toEqual(found)
    const { body: stored } = await create(service, {})
    for (const method of ['PATCH', 'PUT'])
      expect(faultsOf(await service.send(`${method} /items/${stored._id}`, { body }))).toEqual(found)
  })
  test('a property that an object does not declare is a fault, and a required one must be there', async () => {
    const service = serve({
      address: {
        type: 'object',
        properties: { city: { type: 'string', required: true }, zip: { type: 'string' } },
      },
    })
    expect(await store(service, {})).toEqual({})
    expect(await faults(service, { address: {} })).toEqual({ '/address/city': 'required' })
    expect(await faults(service, { address: { city: 'Oslo', land: 'NO', _id: 1 } })).toEqual({
      '/address/land': 'unknown_property',
      '/address/_id': 'unknown_property',
    })
  })
  test.each(['toString', 'hasOwnProperty', 'valueOf', 'toJSON', 'then', 'length', 'isPrototypeOf'])(
    'a field may be called %s',
    async (name) => {
      const service = serve({
        [name]: { type: 'string', required: true },
        inner: { type: 'object', properties: { [name]: { type: 'string' } } },
      })
      expect(await faults(service, {})).toEqual({ [`/${name}`]: 'required' })
      const body = { [name]: 'x', inner: { [name]: 'y' } }
      expect(await store(service, body)).toEqual(body)
      expect(await store(service, { [name]: 'z', inner: {} })).toEqual({ [name]: 'z', inner: {} })
      expect(await service.list(`/items?q[${name}]=x&q[inner.${name}]=y`, name)).toEqual(['x'])
      expect(await service.list(`/items?q[inner.${name}][$exists]=false`, name)).toEqual(['z'])
    },
  )
})

describe('hash', () => {
  const schema = { name: { type: 'string' }, pin: { type: 'hash', minLength: 4, maxLength: 8 } }
  test('it is never shown, whoever asks', async () => {
    const service = serve(schema)
    expect(await store(service, { name: 'a', pin: '12345' })).toEqual({ name: 'a' })
    const list = await service.send('GET /items')
    expect(list.text).not.toMatch(/pin|12345|\$2|_hash/)
  })
  test.each([
    ['123', 'too_short'],
    ['123456789', 'too_long'],
    ['\u{1f600}\u{1f600}\u{1f600}', 'too_short'],
    ['1234\u0000', 'invalid_text'],
    ['1234\ud800', 'invalid_text'],
    [12345, 'wrong_type'],
    [null, 'wrong_type'],
  ])('%j is refused', async (pin, code) => {
    expect(await faults(serve(schema), { pin })).toEqual({ '/pin': code })
  })
  test('a secret has at most 72 bytes in UTF-8', async () => {
    const service = serve({ pin: { type: 'hash' } })
    expect(await store(service, { pin: letters(72) })).toEqual({})
    expect(await store(service, { pin: 'ä'.repeat(36) })).toEqual({})
    expect(await faults(service, { pin: letters(73) })).toEqual({ '/pin': 'too_long' })
    expect(await faults(service, { pin: 'ä'.repeat(37) })).toEqual({ '/pin': 'too_long' })
  })
  test('what is stored is a hash, not the secret', async () => {
    const written: string[] = []
    const memory = createMemoryAdapter()
    const adapter: StorageAdapter = {
      ...memory,
      write(steps, options) {
        written.push(JSON.stringify(steps))
        return memory.write(steps, options)
      },
    }
    const service = createTestService(configOf(schema), { adapter })
    await store(service, { name: 'a', pin: 'secret77' })
    expect(written).toHaveLength(1)
    expect(written.join()).not.toContain('secret77')
    expect(written.join()).toContain('$2b$04$')
  })
})

describe('required, nullable, default', () => {
  test('a required property must be there, and null is no value', async () => {
    const service = serve({
      title: { type: 'string', required: true },
      meta: { type: 'json', required: true },
    })
    expect(await faults(service, {})).toEqual({ '/title': 'required', '/meta': 'required' })
    expect(await faults(service, { title: null, meta: 1 })).toEqual({ '/title': 'wrong_type' })
    expect(await store(service, { title: '', meta: null })).toEqual({ title: '', meta: null })
  })

  test.each<[string, object]>([
    ['string', { type: 'string' }],
    ['integer', { type: 'integer' }],
    ['boolean', { type: 'boolean' }],
    ['timestamp', { type: 'timestamp' }],
    ['array', { type: 'array', items: { type: 'string' } }],
    ['object', { type: 'object', properties: {} }],
    ['json', { type: 'json' }],
    ['hash', { type: 'hash' }],
  ])('a null for a nullable %s is accepted and not stored', async (_, definition) => {
    const service = serve({ value: { ...definition, nullable: true } })
    expect(await store(service, { value: null })).toEqual({})
  })

  test('a null inside an object is taken the same way', async () => {
    const service = serve({
      address: {
        type: 'object',
        properties: { city: { type: 'string', nullable: true }, zip: { type: 'string' } },
      },
    })
    expect(await store(service, { address: { city: null } })).toEqual({ address: {} })
    expect(await faults(service, { address: { zip: null } })).toEqual({ '/address/zip': 'wrong_type' })
  })

  test('documents without a unique field do not collide, null among them', async () => {
    const service = serve({ code: { type: 'string', unique: true, nullable: true } })
    for (const body of [{}, {}, { code: null }, { code: null }]) await store(service, body)
  })

  test.each<[string, object, unknown]>([
    ['string', { type: 'string', default: 'draft' }, 'draft'],
    ['string, normalised', { type: 'string', trim: true, lowercase: true, default: ' Draft ' }, 'draft'],
    ['integer', { type: 'integer', default: 0 }, 0],
    ['boolean', { type: 'boolean', default: false }, false],
    ['timestamp', { type: 'timestamp', default: '2026-01-01' }, '2026-01-01T00:00:00.000Z'],
    ['array', { type: 'array', items: { type: 'string' }, default: ['a'] }, ['a']],
    [
      'object',
      { type: 'object', properties: { city: { type: 'string' } }, default: { city: 'Oslo' } },
      { city: 'Oslo' },
    ],
    ['json', { type: 'json', default: { a: [1] } }, { a: [1] }],
  ])('a default stands in for a missing %s', async (_, definition, expected) => {
    const service = serve({ value: definition })
    expect(await store(service, {})).toEqual({ value: expected })
  })

  test('a default does not replace what is there', async () => {
    const service = serve({
      flag: { type: 'boolean', default: true },
      text: { type: 'string', default: 'x' },
    })
    expect(await store(service, { flag: false, text: '' })).toEqual({ flag: false, text: '' })
  })

  test('a default satisfies required, and a null of a nullable field means absent', async () => {
    const service = serve({
      status: { type: 'string', required: true, default: 'draft' },
      note: { type: 'string', nullable: true, default: 'none' },
    })
    expect(await store(service, { note: null })).toEqual({ status: 'draft', note: 'none' })
  })

  test('"$now" is the time of the request', async () => {
    const now = Date.parse('2026-03-04T05:06:07.890Z')
    const service = createTestService(configOf({ at: { type: 'timestamp', default: '$now' } }), {
      now: () => now,
    })
    const { body } = await create(service, {})
    expect(body).toMatchObject({ at: '2026-03-04T05:06:07.890Z', createdAt: '2026-03-04T05:06:07.890Z' })
  })

  test('defaults reach into objects that are there, and into arrays of objects', async () => {
    const service = serve({
      address: { type: 'object', properties: { land: { type: 'string', default: 'NO' } } },
      parts: {
        type: 'array',
        items: { type: 'object', properties: { size: { type: 'integer', default: 1 } } },
      },
    })
    expect(await store(service, {})).toEqual({})
    expect(await store(service, { address: {}, parts: [{}, { size: 2 }] })).toEqual({
      address: { land: 'NO' },
      parts: [{ size: 1 }, { size: 2 }],
    })
  })
})

describe('unique', () => {
  test.each<[string, object, unknown, unknown, unknown]>([
    ['string', { type: 'string' }, 'a', 'a', 'A'],
    ['normalised string', { type: 'string', trim: true, lowercase: true }, 'Ann', ' ANN ', 'Bob'],
    ['integer', { type: 'integer' }, 1, 1, 2],
    ['boolean', { type: 'boolean' }, true, true, false],
    ['timestamp', { type: 'timestamp' }, '2026-01-01', '2026-01-01T01:00:00+01:00', '2026-01-02'],
  ])(
    'a second %s of the same value is a 409 that names the field',
    async (_, definition, first, same, other) => {
      const service = serve({ code: { ...definition, unique: true } })
      await store(service, { code: first })
      const answer = await create(service, { code: same })
      expect(answer.status).toBe(409)
      expect(answer.body.code).toBe('unique_violation')
      expect(Object.keys(faultsOf(answer))).toEqual(['/code'])
      await store(service, { code: other })
      expect((await service.send('GET /items/count')).body).toEqual({ total: 2 })
    },
  )

  test('it holds among requests at the same time', async () => {
    const service = serve({ code: { type: 'string', unique: true }, pin: { type: 'hash' } })
    const answers = await Promise.all([...Array(10)].map(() => create(service, { code: 'a', pin: 'secret' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)])
  })

  test('an index over several fields binds documents that have all of them', async () => {
    const schema = { team: { type: 'string' }, slug: { type: 'string' } }
    const service = serve(schema, { indexes: [{ fields: ['team', 'slug'], unique: true }] })
    for (const body of [{ team: 'a' }, { team: 'a' }, { slug: 'x' }, { slug: 'x' }, {}, {}])
      await store(service, body)
    await store(service, { team: 'a', slug: 'x' })
    await store(service, { team: 'a', slug: 'y' })
    await store(service, { team: 'b', slug: 'x' })
    const answer = await create(service, { team: 'a', slug: 'x' })
    expect(answer.status).toBe(409)
    expect(Object.keys(faultsOf(answer)).sort()).toEqual(['/slug', '/team'])
  })

  test('a unique or indexed string has at most 1,024 bytes', async () => {
    const service = serve(
      {
        unique: { type: 'string', unique: true },
        indexed: { type: 'string', index: true },
        listed: { type: 'string' },
        free: { type: 'string' },
      },
      { indexes: [{ fields: ['listed', 'createdAt'] }] },
    )
    const long = { unique: letters(1025), indexed: 'ä'.repeat(513), listed: letters(1025) }
    await store(service, {
      unique: letters(1024),
      indexed: 'ä'.repeat(512),
      listed: letters(1024),
      free: letters(1025),
    })
    expect(await faults(service, long)).toEqual({
      '/unique': 'too_long',
      '/indexed': 'too_long',
      '/listed': 'too_long',
    })
  })

  test('nothing of a refused write stays behind', async () => {
    const service = serve({ a: { type: 'string', unique: true }, b: { type: 'string', unique: true } })
    await store(service, { b: 'taken' })
    expect((await create(service, { a: 'free', b: 'taken' })).status).toBe(409)
    await store(service, { a: 'free', b: 'other' })
  })
})

describe('undeclared properties', () => {
  test('they are faults by default', async () => {
    const service = serve({ title: { type: 'string' } })
    expect(await faults(service, { title: 'a', extra: 1, toString: 2 })).toEqual({
      '/extra': 'unknown_property',
      '/toString': 'unknown_property',
    })
  })
  test('with additionalProperties they are stored and returned, behind the declared ones', async () => {
    const service = serve({ title: { type: 'string' } }, { additionalProperties: true })
    const body = { extra: { any: [1, null, { $x: 1, _y: 2 }] }, title: 'a', empty: null }
    expect(await store(service, body)).toEqual(body)
    const { text } = await service.send('GET /items')
    const order = ['_id', 'title', 'empty', 'extra', 'createdAt', 'updatedAt', 'createdBy']
    expect(Object.keys(JSON.parse(text)[0])).toEqual(order)
  })
  test.each(['_extra', '$extra', 'a.b', 'a-b', '1a', '', 'ä', letters(64), 'constructor', 'prototype'])(
    'the rule for names holds for %j',
    async (name) => {
      const open = serve({ title: { type: 'string' } }, { additionalProperties: true })
      expect(await faults(open, { [name]: 1 })).toEqual({ [`/${name}`]: 'forbidden_name' })
    },
  )
  test.each(['_extra', '_version', '__v', '_hashes', '_ID'])(
    'a name beginning with _ is a fault anyway: %s',
    async (name) => {
      const closed = serve({ title: { type: 'string' } })
      expect(Object.keys(await faults(closed, { [name]: 1 }))).toEqual([`/${name}`])
    },
  )
  test('what no database can keep is refused inside them too', async () => {
    const service = serve({ meta: { type: 'json' } }, { additionalProperties: true })
    const bad = { a: ['x\u0000'], b: { 'k\ud800': 1 }, c: 9007199254740992 }
    expect(await faults(service, { ...bad, meta: bad })).toEqual({
      '/a/0': 'invalid_text',
      '/b': 'invalid_text',
      '/c': 'number_out_of_range',
      '/meta/a/0': 'invalid_text',
      '/meta/b': 'invalid_text',
      '/meta/c': 'number_out_of_range',
    })
  })
})

describe('system fields', () => {
  test('they are given by the service; in a body they are ignored', async () => {
    const service = createTestService(configOf({ title: { type: 'string' } }), { now: () => 0 })
    const { body, headers } = await create(service, {
      _id: 'mine',
      title: 'a',
      createdAt: 5,
      updatedAt: 'x',
      createdBy: { a: 1 },
    })
    expect(body).toEqual({
      _id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      title: 'a',
      createdAt: '1970-01-01T00:00:00.000Z',
      updatedAt: '1970-01-01T00:00:00.000Z',
      createdBy: null,
    })
    expect(headers.get('location')).toBe(`/items/${body._id}`)
  })
  test('createdBy is the signed-in creator', async () => {
    const service = serve({ title: { type: 'string' } })
    const { body } = await service.send('POST /items', { body: {}, caller: { id: 'ann' } })
    expect(body.createdBy).toBe('ann')
  })
  test('answers list _id, the fields in the order of the schema, undeclared ones, then the others', async () => {
    const service = serve(
      {
        b: { type: 'string' },
        a: { type: 'object', properties: { y: { type: 'string' }, x: { type: 'string' } } },
      },
      { additionalProperties: true },
    )
    const { body } = await create(service, { z: 1, a: { x: '1', y: '2' }, k: 2, b: 'b' })
    expect(Object.keys(body)).toEqual(['_id', 'b', 'a', 'k', 'z', 'createdAt', 'updatedAt', 'createdBy'])
    expect(Object.keys(body.a)).toEqual(['y', 'x'])
  })

  test('what no schema orders stands in the order of its names, whatever a storage makes of it', async () => {
    const service = serve({ any: { type: 'json' } }, { additionalProperties: true })
    const sent = {
      extra: { b: [{ z: 1, y: 2 }], a: 1 },
      any: { '\u{10000}': 1, '\uffff': 2, b: { d: 1, c: 2 } },
    }
    await store(service, sent)
    const [{ any, extra }] = (await service.send('GET /items')).body
    expect(JSON.stringify(any)).toBe('{"b":{"c":2,"d":1},"\uffff":2,"\u{10000}":1}')
    expect(JSON.stringify(extra)).toBe('{"a":1,"b":[{"y":2,"z":1}]}')
  })
})

describe('faults of a body', () => {
  test('all at once, at most 50, one a path', async () => {
    const fields = Object.fromEntries(
      [...Array(60).keys()].map((i) => [`f${i}`, { type: 'integer', minimum: 5 }]),
    )
    const service = serve(fields)
    const bad = Object.fromEntries(Object.keys(fields).map((name) => [name, -1.5]))
    const answer = await create(service, bad)
    const paths = answer.body.errors.map(({ path }: { path: string }) => path)
    expect(paths).toHaveLength(50)
    expect(new Set(paths).size).toBe(50)
    const { f0, f1, f2 } = bad
    expect(Object.keys(await faults(service, { f0, f1, f2 })).sort()).toEqual(['/f0', '/f1', '/f2'])
  })
  test('they never repeat values', async () => {
    const service = serve({
      name: { type: 'string', maxLength: 3, pattern: '^a', enum: ['abc'] },
      mail: { type: 'string', format: 'email' },
      at: { type: 'timestamp' },
      count: { type: 'integer' },
      list: { type: 'array', items: { type: 'integer' } },
      pin: { type: 'hash', minLength: 20 },
      code: { type: 'string', unique: true },
    })
    const value = 'topsecretvalue'
    const answer = await create(service, {
      name: value,
      mail: value,
      at: value,
      count: value,
      list: [value],
      pin: value,
      extra: value,
      code: { value },
    })
    expect(answer.status).toBe(400)
    expect(Object.keys(faultsOf(answer)).sort()).toEqual([
      '/at',
      '/code',
      '/count',
      '/extra',
      '/list/0',
      '/mail',
      '/name',
      '/pin',
    ])
    expect(answer.text).not.toContain(value)
    await store(service, { code: value })
    const conflict = await create(service, { code: value })
    expect(conflict.status).toBe(409)
    expect(conflict.text).not.toContain(value)
  })
})

describe('a body', () => {
  const service = serve({ a: { type: 'json' } })
  const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
  test('of duplicate keys the last counts', async () => {
    const { status, body } = await service.send('POST /items', { raw: '{"a":1,"a":2,"\\u0061":3}' })
    expect([status, body.a]).toEqual([201, 3])
  })
  test.each([
    '',
    ' ',
    '{',
    '{"a":}',
    "{'a':1}",
    '{"a":1,}',
    '{"a":01}',
    '{"a":NaN}',
    'a',
    '{"a":1}x',
    '{"a":"\u0001"}',
  ])('malformed JSON: %j', async (raw) => {
    const answer = await service.send('POST /items', { raw })
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_json'])
  })
  test.each(['[]', '"a"', '1', 'true', 'null', '[{"a":1}]'])('JSON that is no object: %s', async (raw) => {
    const answer = await service.send('POST /items', { raw })
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed'])
    expect(Object.keys(faultsOf(answer))).toEqual([''])
  })
  test.each([
    ['ill-formed UTF-8', Uint8Array.of(0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d)],
    ['an encoded surrogate', Uint8Array.of(0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d)],
  ])('%s', async (_, raw) => {
    const answer = await service.send('POST /items', { raw, headers: { 'content-type': 'application/json' } })
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_json'])
  })
  test('nesting is counted to 32 levels, strings left out', async () => {
    const status = async (raw: string) => (await service.send('POST /items', { raw })).status
    expect(await status(`{"a":${nested(31)}}`)).toBe(201)
    expect(await status(`{"a":${nested(32)}}`)).toBe(400)
    expect(await status(`{"a":"${nested(40)}\\"${nested(40)}"}`)).toBe(201)
    expect(await status(`{"dropped":${nested(32)}}`)).toBe(400)
    expect(await status(`{"a":${nested(100_000)}}`)).toBe(400)
  })
  test.each([
    ['{"__proto__":{"x":1}}', '/__proto__'],
    ['{"a":{"__proto__":1}}', '/a/__proto__'],
    ['{"a":[{"b":{"__proto__":null}}]}', '/a/0/b/__proto__'],
    ['{"\\u005f_proto__":1}', '/__proto__'],
    ['{"a":{"b":{"__pro\\u0074o__":1}}}', '/a/b/__proto__'],
  ])('a __proto__ anywhere is a fault: %s', async (raw, path) => {
    const answer = await service.send('POST /items', { raw })
    expect(answer.status).toBe(400)
    expect(Object.keys(faultsOf(answer))).toEqual([path])
  })
  test('a __proto__ in what a rule would drop is a fault too', async () => {
    const picky = serve({ a: { type: 'json' } }, { permissions: { '*': { pick: ['a'] } } })
    const { status } = await picky.send('POST /items', { raw: '{"dropped":{"__proto__":1}}' })
    expect(status).toBe(400)
    // Other faults are judged on what is kept.
    expect(await store(picky, { a: 1, dropped: '\u0000', $bad: 9007199254740992 })).toEqual({ a: 1 })
  })
  test('the text "__proto__" as a value is a value', async () => {
    expect(await store(service, { a: '__proto__' })).toEqual({ a: '__proto__' })
  })
})

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
    return createTestService(configOf(after, { ...open, ...settings }), { adapter })
  }
  const listed = async (service: TestService, query = '') => (await service.send(`GET /items?${query}`)).body

  test('a stored value of another type is returned as it is', async () => {
    const service = await reconfigure(
      { value: { type: 'json' }, n: { type: 'integer' } },
      [
        { value: 'text', n: 1 },
        { value: { a: [1] }, n: 2 },
      ],
      { value: { type: 'integer' }, n: { type: 'integer' } },
    )
    expect(await listed(service)).toMatchObject([{ value: 'text' }, { value: { a: [1] } }])
  })

  const json = { value: { type: 'json' }, n: { type: 'integer' } }
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
      const service = await reconfigure(json, documents, { value: definition, n: { type: 'integer' } })
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
    const service = await reconfigure(
      json,
      [
        { value: 5, n: 0 },
        { value: 'b', n: 1 },
        { value: 3, n: 2 },
        { value: 'a', n: 3 },
      ],
      {
        value: { type },
        n: { type: 'integer' },
      },
    )
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
    ['an index over an array', { fields: ['a', 'list'] }, ['/indexes/0/fields/1']],
    ['an index over nothing', { fields: [] }, ['/indexes/0/fields']],
  ])('%s', (_, index, paths) => {
    const schema = { a: { type: 'string' }, list: { type: 'array', items: { type: 'string' } } }
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
