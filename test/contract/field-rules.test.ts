import { describe, expect, test } from 'vitest'
import { createTestService, faultsOf } from '../support/service.js'
import { configOf, create, faults, letters, serve, store } from './support/field-types.js'

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

  test('an element of an indexed array has at most 1,024 bytes', async () => {
    const texts = { type: 'array', items: { type: 'string' } }
    const service = serve(
      {
        marked: { ...texts, maxItems: 3, index: true },
        listed: { ...texts, maxItems: 1000 },
        free: texts,
        inside: { type: 'object', properties: { marked: texts } },
      },
      { indexes: [{ fields: ['createdAt', 'listed'] }] },
    )
    const [most, more] = ['ä'.repeat(512), 'ä'.repeat(513)]
    await store(service, { marked: [most], listed: [most], free: [more], inside: { marked: [more] } })
    expect(await faults(service, { marked: ['', more, most], listed: [more] })).toEqual({
      '/marked/1': 'too_long',
      '/listed/0': 'too_long',
    })
    expect(await faults(service, { marked: ['', '', '', ''] })).toEqual({ '/marked': 'too_many' })
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
    expect(await status(`{"a":"${nested(40)}"}`)).toBe(201)
    expect(await status(`{"a":["${nested(40)}",${nested(31)}]}`)).toBe(400)
    expect(await status(`{"a":["${nested(40)}\\\\",${nested(31)}]}`)).toBe(400)
    expect(await status(`{"a":${nested(31)},"${nested(40)}`)).toBe(400)
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
