import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { createTestService, faultsOf } from '../support/service.js'
import { replaceMethods } from '../support/stored.js'
import { configOf, create, faults, letters, serve, store } from './support/field-types.js'

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
      ['ann@example.org', 'a.b+c@d.example.org', 'José@example.org', '用户@example.cn'],
      [
        'ann',
        'a@',
        '@b',
        'a b@c.org',
        'é@é.org',
        'é',
        '@é',
        'é..a@c.org',
        'é é@c.org',
        `${'é'.repeat(33)}@c.org`,
      ],
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
    const adapter = replaceMethods(memory, {
      write(steps, options) {
        for (const step of steps) if ('insert' in step) stored.push(step.insert)
        return memory.write(steps, options)
      },
    })
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
  test('it is shown to nobody', async () => {
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
    const adapter = replaceMethods(memory, {
      write(steps, options) {
        written.push(JSON.stringify(steps))
        return memory.write(steps, options)
      },
    })
    const service = createTestService(configOf(schema), { adapter })
    await store(service, { name: 'a', pin: 'secret77' })
    expect(written).toHaveLength(1)
    expect(written.join()).not.toContain('secret77')
    expect(written.join()).toContain('$2b$04$')
  })
})

describe('defaults inside', () => {
  const part = { x: { type: 'integer', required: true, default: 1 }, y: { type: 'integer' } }
  const object = { type: 'object', properties: part }
  const list = (items: object) => ({ type: 'array', items })
  const filled = { x: 1 }
  test.each<[string, object, unknown, unknown]>([
    ['an object', object, {}, filled],
    ['an array', list(object), [{}, { x: 2 }], [filled, { x: 2 }]],
    ['an array of arrays', list(list(object)), [[{}], []], [[filled], []]],
    [
      'objects and arrays in each other',
      list({ type: 'object', properties: { in: list(list(object)) } }),
      [{ in: [[{ y: 2 }]] }],
      [{ in: [[{ x: 1, y: 2 }]] }],
    ],
  ])('%s are given, be it of a body, of a default or of a set', async (_, definition, given, expected) => {
    const { send } = serve({ value: definition })
    expect((await send('POST /items', { body: { value: given } })).body.value).toEqual(expected)
    const { _id } = (await send('POST /items', { body: {} })).body
    expect((await send(`PUT /items/${_id}`, { body: { value: given } })).body.value).toEqual(expected)
    expect(await store(serve({ value: { ...definition, default: given } }), {})).toEqual({ value: expected })
    const permissions = { '*': { create: { set: { value: given } }, read: true } }
    const set = createTestService({ collections: { items: { schema: { value: definition }, permissions } } })
    expect((await set.send('POST /items', { body: {} })).body.value).toEqual(expected)
  })
  test('are no excuse for what has none', () => {
    const lacking = {
      ...object,
      properties: { ...part, z: { type: 'integer', required: true } },
      default: {},
    }
    expect(() => serve({ value: lacking })).toThrow('/z is required')
    expect(() => serve({ value: { ...object, default: { x: 'a' } } })).toThrow('/x must be')
    // No PATCH gives defaults.
    const permissions = { '*': { create: true, read: true, update: { set: { value: { y: 2 } } } } }
    expect(() =>
      createTestService({ collections: { items: { schema: { value: object }, permissions } } }),
    ).toThrow('/x is required')
  })
})
