import { describe, expect, test } from 'vitest'
import { type Caller, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { createTestService, faultsOf, type Sent, type TestService } from '../support/service.js'
import { fieldsOf, idOf, LONG_AGO, openStored, readStored } from '../support/stored.js'

type Json = { readonly [name: string]: unknown }

const LATER = '2026-11-20T08:00:00.000Z'
const ann: Caller = { id: 'ann' }
const as = (...roles: string[]): Caller => ({ id: 'eve', roles })
const ONE = `/items/${idOf(1)}`

const configOf = (schema: Json, permissions: Json = { '*': true }, settings: Json = {}) => ({
  collections: { items: { schema, permissions, ...settings } },
})

/** A service with these documents among its items. */
const open = (config: Json, ...items: Json[]): Promise<TestService> =>
  openStored(config, { items }, { now: () => Date.parse(LATER) })

const stored = (service: TestService, n = 1): Promise<Json> => fieldsOf(service, 'items', idOf(n))

/** The same, where a host says who asks. */
const openHosted = (config: Json, ...items: Json[]): Promise<TestService> =>
  openStored(config, { items }, { authenticate: () => null })

/** The status, and of a fault the code. */
const outcomeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body?.code])

const UNAUTHENTICATED = [401, 'unauthenticated']
const FORBIDDEN = [403, 'forbidden']
const NOT_FOUND = [404, 'not_found']
const FAILED = [412, 'precondition_failed']
const INVALID = [400, 'validation_failed']

const etagOf = ({ headers }: Sent): string => headers.get('etag') ?? 'none'

const text = { type: 'string' }
const whole = { type: 'integer' }

const rich = {
  title: { type: 'string', required: true, maxLength: 10 },
  status: { type: 'string', enum: ['draft', 'published'], default: 'draft' },
  note: { type: 'string', nullable: true },
  tags: { type: 'array', items: text },
  n: { type: 'integer', maximum: 10 },
  o: {
    type: 'object',
    properties: {
      x: text,
      k: whole,
      deep: { type: 'object', properties: { y: text, z: text } },
    },
  },
  data: { type: 'json' },
  mail: { type: 'string', trim: true, lowercase: true },
  at: { type: 'timestamp' },
}

const full = {
  title: 'one',
  note: 'n',
  tags: ['a', 'b'],
  n: 1,
  o: { x: 'x', k: 1, deep: { y: 'y', z: 'z' } },
  data: { a: 1, b: { c: [1, 2], d: null } },
}

describe('PATCH merges', () => {
  test.each<[string, Json, Json]>([
    ['a value takes the place of another', { title: 'two' }, { ...full, title: 'two' }],
    ['a missing field is added', { mail: 'a@b.co' }, { ...full, mail: 'a@b.co' }],
    ['an array takes the place of the whole array', { tags: ['c'] }, { ...full, tags: ['c'] }],
    [
      'objects are merged at every depth',
      { o: { k: 2, deep: { y: 'new' } } },
      { ...full, o: { x: 'x', k: 2, deep: { y: 'new', z: 'z' } } },
    ],
    [
      'null inside an object removes that property only',
      { o: { x: null, deep: { z: null } } },
      { ...full, o: { k: 1, deep: { y: 'y' } } },
    ],
    ['an empty object changes nothing inside', { o: {} }, full],
    [
      'json is merged, and arrays in it are not',
      { data: { a: null, b: { c: [null] }, e: { f: null, g: 1 } } },
      { ...full, data: { b: { c: [null], d: null }, e: { g: 1 } } },
    ],
    ['json that is no object takes the place of one', { data: [1, null] }, { ...full, data: [1, null] }],
    [
      'text is trimmed and lowered, times are in UTC',
      { mail: '  ANN@B.CO ', at: '2026-11-20T09:00:00+01:00' },
      { ...full, mail: 'ann@b.co', at: '2026-11-20T08:00:00.000Z' },
    ],
    ['minus zero is zero', { n: -0 }, { ...full, n: 0 }],
    ['a default is not put in', { n: 2 }, { ...full, n: 2 }],
  ])('%s', async (_, body, expected) => {
    const service = await open(configOf(rich), full)
    const answer = await service.send(`PATCH ${ONE}`, { body })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      _id: idOf(1),
      ...expected,
      createdAt: LONG_AGO,
      updatedAt: LATER,
      createdBy: null,
    })
    expect(await stored(service)).toEqual(expected)
    expect((await service.send(`GET ${ONE}`)).text).toBe(answer.text)
  })

  test.each(['note', 'tags', 'n', 'o', 'data'])('null removes a field: %s', async (name) => {
    const service = await open(configOf(rich), full)
    const { status, body } = await service.send(`PATCH ${ONE}`, { body: { [name]: null } })
    expect(status).toBe(200)
    expect(body).not.toHaveProperty(name)
    expect(Object.keys(await stored(service))).toEqual(Object.keys(full).filter((other) => other !== name))
  })

  test.each<[string, unknown, Json]>([
    ['an object where text is stored', 'text', { x: 'new' }],
    ['an object where nothing is stored', undefined, { x: 'new' }],
    ['an object where a list is stored', [1], { x: 'new' }],
  ])('%s takes its place', async (_, before, after) => {
    const service = await open(configOf(rich), { title: 'one', ...(before ? { o: before } : {}) })
    expect((await service.send(`PATCH ${ONE}`, { body: { o: after } })).body.o).toEqual(after)
  })

  test('undeclared properties are merged too where they are let in', async () => {
    const service = await open(configOf({ a: text }, { '*': true }, { additionalProperties: true }), {
      a: '1',
      extra: { x: 1, y: 2 },
      gone: 1,
    })
    const body = { extra: { x: null, z: 3 }, gone: null, more: [1] }
    expect((await service.send(`PATCH ${ONE}`, { body })).status).toBe(200)
    expect(await stored(service)).toEqual({ a: '1', extra: { y: 2, z: 3 }, more: [1] })
  })

  test.each(['application/json', 'application/merge-patch+json', 'text/plain'])(
    'a body of type %s',
    async (type) => {
      const service = await open(configOf(rich), full)
      const raw = '{"title":"two"}'
      const sent = await service.send(`PATCH ${ONE}`, { raw, headers: { 'content-type': type } })
      expect(sent.status).toBe(200)
    },
  )

  test('system fields in a body are ignored', async () => {
    const service = await open(configOf(rich), full)
    const system = { _id: idOf(9), createdAt: LATER, updatedAt: '1999-01-01', createdBy: 'eve' }
    for (const method of ['PATCH', 'PUT']) {
      const { status, body } = await service.send(`${method} ${ONE}`, { body: { ...full, ...system, n: 3 } })
      expect(status).toBe(200)
      expect(body).toMatchObject({
        _id: idOf(1),
        createdAt: LONG_AGO,
        updatedAt: LATER,
        createdBy: null,
        n: 3,
      })
    }
  })
})

describe('an update validates what it changes', () => {
  /** Nothing of this but `n` and `fine` agrees with the schema. */
  const stale = {
    status: 'retired',
    n: 1,
    big: 99,
    tags: [1, 'a'],
    o: { k: 'text', x: 'x', gone: true },
    old: 'no longer declared',
    fine: 'fine',
  }
  const schema = {
    title: { type: 'string', required: true },
    status: { type: 'string', enum: ['draft'] },
    n: { type: 'integer', maximum: 10 },
    big: { type: 'integer', maximum: 10 },
    tags: { type: 'array', items: text },
    o: { type: 'object', properties: { k: whole, x: text, need: { type: 'string', required: true } } },
    fine: text,
  }

  test.each<[string, Json, Json]>([
    ['a field beside those that are out of date', { n: 2 }, { ...stale, n: 2 }],
    ['a nested one', { o: { x: 'new' } }, { ...stale, o: { ...stale.o, x: 'new' } }],
    ['a value that is out of date and stays as it is', { big: 99, n: 3 }, { ...stale, n: 3 }],
    ['a correction', { big: 5, status: 'draft' }, { ...stale, big: 5, status: 'draft' }],
    ['the removal of what is out of date', { tags: null }, { ...stale, tags: undefined }],
  ])('so PATCH takes %s', async (_, body, expected) => {
    const service = await open(configOf(schema), stale)
    expect((await service.send(`PATCH ${ONE}`, { body })).status).toBe(200)
    const after = Object.fromEntries(Object.entries(expected).filter(([, value]) => value !== undefined))
    expect(await stored(service)).toEqual(after)
  })

  test.each<[string, Json, { [path: string]: string }]>([
    ['another value that is out of range', { big: 98 }, { '/big': 'too_large' }],
    ['one fault among good values', { n: 11, fine: 'x' }, { '/n': 'too_large' }],
    ['all faults at once', { n: 'x', status: 'other' }, { '/n': 'wrong_type', '/status': 'not_allowed' }],
    ['a nested value of another type', { o: { x: 5 } }, { '/o/x': 'wrong_type' }],
    ['an undeclared nested property', { o: { other: 5 } }, { '/o/other': 'unknown_property' }],
    ['an undeclared property', { other: 5 }, { '/other': 'unknown_property' }],
    ['a name that begins with an underscore', { _version: 5 }, { '/_version': 'forbidden_name' }],
    ['NUL in text', { fine: 'a\u0000' }, { '/fine': 'invalid_text' }],
  ])('and PATCH refuses %s', async (_, body, faults) => {
    const service = await open(configOf(schema), stale)
    const answer = await service.send(`PATCH ${ONE}`, { body })
    expect(outcomeOf(answer)).toEqual(INVALID)
    expect(faultsOf(answer)).toEqual(faults)
    expect(await readStored(service, 'items', idOf(1))).toMatchObject({ ...stale, _version: 1 })
  })

  test.each<[string, Json, string]>([
    ['a field', { title: null }, '/title'],
    ['a nested one', { o: { need: null } }, '/o/need'],
  ])('a required one that a PATCH removes is a fault: %s', async (_, body, path) => {
    const service = await open(configOf(schema), { title: 'one', o: { need: 'x' } })
    const answer = await service.send(`PATCH ${ONE}`, { body })
    expect(outcomeOf(answer)).toEqual(INVALID)
    expect(faultsOf(answer)).toEqual({ [path]: 'required' })
  })

  test('a required one that is missing in a new object is a fault', async () => {
    const service = await open(configOf(schema), { title: 'one' })
    const answer = await service.send(`PATCH ${ONE}`, { body: { o: { x: 'x' } } })
    expect(faultsOf(answer)).toEqual({ '/o/need': 'required' })
  })

  test('a new value is judged however many old ones are out of date', async () => {
    const leftovers = Object.fromEntries([...Array(60)].map((_, i) => [`old${i}`, i]))
    const service = await open(configOf({ n: whole, tags: { type: 'array', items: text }, z: rich.tags }), {
      ...leftovers,
      n: 1,
      tags: [...Array(60)].map((_, i) => i),
    })
    for (const method of ['PATCH', 'PUT']) {
      const answer = await service.send(`${method} ${ONE}`, { body: { n: 'text' } })
      expect(outcomeOf(answer)).toEqual(INVALID)
      expect(faultsOf(answer)).toEqual({ '/n': 'wrong_type' })
    }
    const answer = await service.send(`PATCH ${ONE}`, { body: { z: [1] } })
    expect(faultsOf(answer)).toEqual({ '/z/0': 'wrong_type' })
  })

  const long = 'x'.repeat(300)
  test.each<[string, Json]>([
    ['an undeclared property', { [long]: 1 }],
    ['a name that begins with an underscore', { [`_${long}`]: 1 }],
    ['an undeclared property of an object', { o: { [long]: 1 } }],
    ['NUL in a text below it', { data: { [long]: 'a\u0000' } }],
  ])('a long name hides no fault: %s', async (_, body) => {
    const service = await open(configOf(rich), full)
    for (const method of ['PATCH', 'PUT']) {
      const sent = method === 'PUT' ? { ...full, ...body } : body
      expect(outcomeOf(await service.send(`${method} ${ONE}`, { body: sent }))).toEqual(INVALID)
    }
    expect(await stored(service)).toEqual(full)
  })

  test('a property that is no longer declared cannot be guessed', async () => {
    const config = configOf({ a: text, o: { type: 'object', properties: { x: text } } })
    const service = await open(config, { a: '1', old: 'secret', o: { x: '1', old: 'secret' } })
    for (const bodyOf of [(old: string) => ({ old }), (old: string) => ({ o: { old } })]) {
      const right = await service.send(`PATCH ${ONE}`, { body: bodyOf('secret') })
      const wrong = await service.send(`PATCH ${ONE}`, { body: bodyOf('guess') })
      expect(outcomeOf(right)).toEqual(outcomeOf(wrong))
    }
  })

  test.each<[string, Json, Json, string]>([
    ['a secret that must stay', { p: { type: 'hash', required: true } }, { p: null }, '/p'],
    ['a value set once, and of another type', { p: { type: 'integer', immutable: true } }, { p: 'x' }, '/p'],
  ])('no path has two faults: %s', async (_, schema, body, path) => {
    const service = await open(configOf(schema), { a: 1 })
    const { body: answer } = await service.send(`PUT ${ONE}`, { body })
    expect(answer.errors.map((fault: { path: string }) => fault.path)).toEqual([path])
  })
})

describe('a PATCH', () => {
  test.each<[string, Json, Json]>([
    ['an empty body', { '*': true }, {}],
    ['system fields only', { '*': true }, { _id: 'x', updatedAt: LATER }],
    ['only what the rule drops', { '*': { read: true, update: { pick: ['a'] } } }, { b: 'new' }],
    [
      'nothing left beside what is set',
      { '*': { read: true, update: { omit: ['b'], set: { a: 'set' } } } },
      { a: '2', b: 'new' },
    ],
  ])('that keeps nothing writes nothing and answers 200: %s', async (_, permissions, body) => {
    const service = await open(configOf({ a: text, b: text }, permissions), { a: '1', b: '2' })
    const before = await readStored(service, 'items', idOf(1))
    const answer = await service.send(`PATCH ${ONE}`, { body })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      _id: idOf(1),
      a: '1',
      b: '2',
      createdAt: LONG_AGO,
      updatedAt: LONG_AGO,
      createdBy: null,
    })
    expect(etagOf(answer)).toBe(etagOf(await service.send(`GET ${ONE}`)))
    expect(await readStored(service, 'items', idOf(1))).toEqual(before)
  })

  test.each<[string, Json]>([
    ['the present value', { a: '1' }],
    ['the removal of what is not there', { b: null }],
  ])('that keeps anything writes and renews updatedAt: %s', async (_, body) => {
    const service = await open(configOf({ a: text, b: text }), { a: '1' })
    const before = await service.send(`GET ${ONE}`)
    const answer = await service.send(`PATCH ${ONE}`, { body })
    expect(answer.body.updatedAt).toBe(LATER)
    expect(etagOf(answer)).not.toBe(etagOf(before))
    expect(await readStored(service, 'items', idOf(1))).toMatchObject({ _version: 2, updatedAt: LATER })
  })
})

describe('unique fields', () => {
  const config = configOf({ slug: { type: 'string', unique: true, lowercase: true }, a: text })
  test.each(['PATCH', 'PUT'])(
    '%s to a value that is taken is a 409, and the old value stays',
    async (method) => {
      const service = await open(config, { slug: 'one' }, { slug: 'two' })
      const answer = await service.send(`${method} ${ONE}`, { body: { slug: 'TWO', a: 'new' } })
      expect(outcomeOf(answer)).toEqual([409, 'unique_violation'])
      expect(faultsOf(answer)).toEqual({ '/slug': 'taken' })
      expect(await stored(service)).toEqual({ slug: 'one' })
      expect((await service.send('POST /items', { body: { slug: 'one' } })).status).toBe(409)
    },
  )

  test('one own value is not in the way, and a value given up is free', async () => {
    const service = await open(config, { slug: 'one' }, { slug: 'two' })
    expect((await service.send(`PATCH ${ONE}`, { body: { slug: 'one', a: 'x' } })).status).toBe(200)
    expect((await service.send(`PATCH ${ONE}`, { body: { slug: 'three' } })).status).toBe(200)
    expect((await service.send(`PATCH /items/${idOf(2)}`, { body: { slug: 'one' } })).status).toBe(200)
    expect((await service.send(`DELETE /items/${idOf(2)}`)).status).toBe(204)
    expect((await service.send('POST /items', { body: { slug: 'one' } })).status).toBe(201)
  })

  test('of two that want one value at once, one gets it', async () => {
    const service = await open(config, { slug: 'one' }, { slug: 'two' })
    const answers = await Promise.all(
      [1, 2].map((n) => service.send(`PATCH /items/${idOf(n)}`, { body: { slug: 'new' } })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  })
})

describe('immutable fields', () => {
  const schema = {
    code: { type: 'string', immutable: true, trim: true },
    a: text,
    o: { type: 'object', properties: { k: { type: 'integer', immutable: true }, x: text } },
  }
  const before = { code: 'c', a: '1', o: { k: 1, x: 'x' } }

  test.each<[string, string, Json, Json]>([
    ['PATCH', 'the present value', { code: 'c', a: '2' }, { ...before, a: '2' }],
    ['PATCH', 'the present value in another form', { code: ' c ', a: '2' }, { ...before, a: '2' }],
    ['PATCH', 'a nested one that is not named', { o: { x: 'y' } }, { ...before, o: { k: 1, x: 'y' } }],
    ['PUT', 'one that is not named', { a: '2', o: {} }, { code: 'c', a: '2', o: { k: 1 } }],
    ['PUT', 'one inside an object that is not named', { a: '2' }, { code: 'c', a: '2', o: { k: 1 } }],
    ['PUT', 'the present values', { code: 'c', o: { k: 1 } }, { code: 'c', o: { k: 1 } }],
  ])('%s leaves %s', async (method, _, body, expected) => {
    const service = await open(configOf(schema), before)
    expect(outcomeOf(await service.send(`${method} ${ONE}`, { body }))).toBe(200)
    expect(await stored(service)).toEqual(expected)
  })

  test.each<[string, string, Json, Json, string]>([
    ['PATCH', 'another value', before, { code: 'd' }, '/code'],
    ['PATCH', 'its removal', before, { code: null }, '/code'],
    ['PATCH', 'a value where there is none', { a: '1' }, { code: 'c' }, '/code'],
    ['PATCH', 'a nested one', before, { o: { k: 2 } }, '/o/k'],
    ['PATCH', 'the removal of a nested one', before, { o: { k: null } }, '/o/k'],
    ['PATCH', 'a nested one where there is no object', { a: '1' }, { o: { k: 2 } }, '/o/k'],
    ['PUT', 'another value', before, { ...before, code: 'd' }, '/code'],
    ['PUT', 'a nested one', before, { o: { k: 2 } }, '/o/k'],
  ])('%s refuses %s', async (method, _, present, body, path) => {
    const service = await open(configOf(schema), present)
    const answer = await service.send(`${method} ${ONE}`, { body })
    expect(outcomeOf(answer)).toEqual(INVALID)
    expect(faultsOf(answer)).toEqual({ [path]: 'immutable' })
    expect(await stored(service)).toEqual(present)
  })

  test('one that the caller may not read is refused, whatever its value', async () => {
    const permissions = { '*': { read: { omit: ['code'] }, update: true } }
    const service = await open(configOf(schema, permissions), before)
    for (const code of ['c', 'd']) {
      const answer = await service.send(`PATCH ${ONE}`, { body: { code } })
      expect(outcomeOf(answer)).toEqual(INVALID)
      expect(faultsOf(answer)).toEqual({ '/code': 'immutable' })
    }
  })

  test('one in an older form stays as it is where an update does not name it', async () => {
    const properties = { k: { type: 'string', trim: true, immutable: true }, x: text }
    const service = await open(configOf({ o: { type: 'object', properties } }), { o: { k: ' k ', x: 'x' } })
    expect(outcomeOf(await service.send(`PATCH ${ONE}`, { body: { o: { x: 'y' } } }))).toBe(200)
    expect(await stored(service)).toEqual({ o: { k: ' k ', x: 'y' } })
  })

  test('set is bound by it too', async () => {
    const permissions = { '*': { read: true, update: { set: { code: 'set' } } } }
    const service = await open(configOf(schema, permissions), before)
    expect(faultsOf(await service.send(`PATCH ${ONE}`, { body: { a: '2' } }))).toEqual({
      '/code': 'immutable',
    })
  })
})

describe('PUT', () => {
  const schema = {
    a: text,
    b: text,
    hidden: { type: 'string', default: 'd' },
    fixed: { type: 'string', default: 'd' },
    withDefault: { type: 'string', default: 'd' },
    at: { type: 'timestamp', default: '$now' },
    once: { type: 'string', immutable: true, default: 'd' },
    pin: { type: 'hash' },
    role: { type: 'string' },
    note: { type: 'string', nullable: true },
    o: { type: 'object', properties: { x: text, y: { type: 'string', default: 'd' } } },
  }
  const before = {
    a: '1',
    b: '2',
    hidden: 'h',
    fixed: 'f',
    once: 'o',
    note: 'n',
    o: { x: '1', old: 'left' },
    gone: 'left',
  }
  const permissions = { '*': { read: { omit: ['hidden'] }, update: { omit: ['fixed'] } } }

  test.each<[string, Json, Json]>([
    [
      'what is missing goes or gets its default; what is hidden, fixed, set once or no longer declared stays',
      {},
      { withDefault: 'd', at: LATER },
    ],
    ['what is named is there', { a: 'new', at: '2020-01-01' }, { a: 'new', withDefault: 'd', at: LONG_AGO }],
    [
      'what may be written though not read',
      { hidden: 'new' },
      { hidden: 'new', withDefault: 'd', at: LATER },
    ],
    ['null where it is accepted is not stored', { note: null }, { withDefault: 'd', at: LATER }],
    [
      'in an object what is not declared stays, and defaults are put in',
      { o: {} },
      { withDefault: 'd', at: LATER, o: { y: 'd', old: 'left' } },
    ],
  ])('%s', async (_, body, expected) => {
    const service = await open(configOf(schema, permissions), { ...before, _hashes: { pin: 'kept' } })
    expect((await service.send(`PUT ${ONE}`, { body })).status).toBe(200)
    const { o, ...after } = await stored(service)
    const { o: expectedObject, ...fields } = {
      hidden: 'h',
      fixed: 'f',
      once: 'o',
      gone: 'left',
      ...expected,
    } as Json
    expect(after).toEqual(fields)
    if (expectedObject) expect(o).toEqual(expectedObject)
    expect(await readStored(service, 'items', idOf(1))).toMatchObject({
      _hashes: { pin: 'kept' },
      _version: 2,
    })
  })

  test.each<[string, Json, { [path: string]: string }]>([
    ['null where it is not accepted', { a: null }, { '/a': 'wrong_type' }],
    ['null inside an object', { o: { x: null } }, { '/o/x': 'wrong_type' }],
    ['an undeclared property', { other: 1 }, { '/other': 'unknown_property' }],
  ])('takes null for a value and refuses faults: %s', async (_, body, faults) => {
    const service = await open(configOf(schema, permissions), before)
    const answer = await service.send(`PUT ${ONE}`, { body })
    expect(outcomeOf(answer)).toEqual(INVALID)
    expect(faultsOf(answer)).toEqual(faults)
  })

  test('a required field that is missing is a fault', async () => {
    const service = await open(configOf(rich), full)
    expect(faultsOf(await service.send(`PUT ${ONE}`, { body: { n: 1 } }))).toEqual({ '/title': 'required' })
    expect(await stored(service)).toEqual(full)
  })

  test('null is stored in json, and undeclared properties are replaced where they are let in', async () => {
    const config = configOf(
      { data: { type: 'json' } },
      { '*': { read: { omit: ['c'] }, update: true } },
      { additionalProperties: true },
    )
    const service = await open(config, { data: { a: 1 }, b: 1, c: 2 })
    expect((await service.send(`PUT ${ONE}`, { body: { data: { a: null }, d: null } })).status).toBe(200)
    expect(await stored(service)).toEqual({ data: { a: null }, c: 2, d: null })
  })

  test('the role field keeps its value unless a rule that may give it is told another', async () => {
    const users = {
      schema: { email: { type: 'string', unique: true }, password: { type: 'hash' }, role: text, name: text },
      permissions: {
        user: { read: true, update: true },
        chief: { read: true, update: { pick: ['role', 'name', 'email'] } },
        admin: true,
      },
    }
    const config = { collections: { users }, auth: { roleField: 'role' } }
    const service = await openStored(config, { users: [{ email: 'a@b.co', role: 'clerk', name: 'A' }] })
    const put = async (caller: Caller, body: Json) => {
      await service.send(`PUT /users/${idOf(1)}`, { caller, body })
      return fieldsOf(service, 'users', idOf(1))
    }
    expect(await put(ann, { email: 'a@b.co', role: 'admin' })).toEqual({ email: 'a@b.co', role: 'clerk' })
    expect(await put(as('chief'), { name: 'B' })).toEqual({ role: 'clerk', name: 'B' })
    expect(await put(as('admin'), { name: 'C' })).toEqual({ role: 'clerk', name: 'C' })
    expect(await put(as('chief'), { role: 'boss' })).toEqual({ role: 'boss' })
    expect(await put(as('admin'), { role: 'admin' })).toEqual({ role: 'admin' })
  })
})

describe('hash fields', () => {
  const config = configOf({
    pin: { type: 'hash', minLength: 4 },
    must: { type: 'hash', required: true },
    a: text,
  })
  const before = { a: '1', _hashes: { pin: 'old', must: 'old' } }
  const hashes = async (service: TestService) => (await readStored(service, 'items', idOf(1)))?._hashes

  test.each(['PATCH', 'PUT'])('%s with a secret stores its hash and shows nothing', async (method) => {
    const service = await open(config, before)
    const answer = await service.send(`${method} ${ONE}`, { body: { pin: 'new pin' } })
    expect(answer.status).toBe(200)
    expect(answer.text).not.toContain('pin')
    expect(await hashes(service)).toEqual({
      pin: expect.not.stringMatching(/^(?:old|new pin)$/),
      must: 'old',
    })
    expect(JSON.stringify(await readStored(service, 'items', idOf(1)))).not.toContain('new pin')
  })

  test('null in a PATCH removes one, and one that is required stays', async () => {
    const service = await open(config, before)
    expect((await service.send(`PATCH ${ONE}`, { body: { pin: null } })).status).toBe(200)
    expect(await hashes(service)).toEqual({ must: 'old' })
    expect(faultsOf(await service.send(`PATCH ${ONE}`, { body: { must: null } }))).toEqual({
      '/must': 'required',
    })
    expect(await hashes(service)).toEqual({ must: 'old' })
  })

  test.each<[string, Json, string]>([
    ['too short', { pin: 'abc' }, 'too_short'],
    ['too long', { pin: 'ä'.repeat(37) }, 'too_long'],
    ['of another type', { pin: 5 }, 'wrong_type'],
  ])('a secret that is %s is a fault', async (_, body, code) => {
    const service = await open(config, before)
    for (const method of ['PATCH', 'PUT']) {
      expect(faultsOf(await service.send(`${method} ${ONE}`, { body }))).toEqual({ '/pin': code })
    }
  })
})

describe('DELETE', () => {
  test('answers 204 without a body, and the document is gone', async () => {
    const service = await open(configOf({ a: text }), { a: '1' }, { a: '2' })
    const answer = await service.send(`DELETE ${ONE}`)
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(outcomeOf(await service.send(`GET ${ONE}`))).toEqual(NOT_FOUND)
    expect(outcomeOf(await service.send(`DELETE ${ONE}`))).toEqual(NOT_FOUND)
    expect(await service.list('/items', 'a')).toEqual(['2'])
  })

  test.each(['PATCH', 'PUT', 'DELETE'])('%s takes no parameters', async (method) => {
    const service = await open(configOf({ a: text }), { a: '1' })
    for (const query of ['project=["a"]', 'q[a]=1', 'x=1']) {
      const answer = await service.send(`${method} ${ONE}?${query}`, { body: {} })
      expect(outcomeOf(answer)).toEqual([400, 'invalid_query'])
    }
  })
})

describe('ETag', () => {
  const schema = { a: text, hidden: text }
  const permissions = {
    '*': { read: { omit: ['hidden', 'updatedAt'] }, update: true, create: true },
    admin: true,
  }
  const openOne = () => open(configOf(schema, permissions), { a: '1', hidden: 'h' })

  test.each(['PATCH', 'PUT'])('the answer to %s has that of the following GET', async (method) => {
    const service = await openOne()
    for (const caller of [null, as('admin')]) {
      const answer = await service.send(`${method} ${ONE}`, { caller, body: { hidden: 'x', a: '2' } })
      expect(etagOf(answer)).toMatch(/^"[^"]+"$/)
      expect(etagOf(await service.send(`GET ${ONE}`, { caller }))).toBe(etagOf(answer))
      expect(etagOf(await service.send(`HEAD ${ONE}`, { caller }))).toBe(etagOf(answer))
    }
  })

  test('the answer to POST has that of the following GET', async () => {
    const service = await openOne()
    const answer = await service.send('POST /items', { body: { a: '1' } })
    expect(etagOf(answer)).toMatch(/^"[^"]+"$/)
    expect(etagOf(await service.send(`GET ${answer.headers.get('location')}`))).toBe(etagOf(answer))
  })

  test('it does not depend on project, and does on what the caller sees', async () => {
    const service = await openOne()
    const etag = etagOf(await service.send(`GET ${ONE}`))
    expect(etagOf(await service.send(`GET ${ONE}?project=["a"]`))).toBe(etag)
    expect(etagOf(await service.send(`GET ${ONE}?project=[]`))).toBe(etag)
    const other = etagOf(await service.send(`GET ${ONE}`, { caller: as('admin') }))
    expect(other).not.toBe(etag)

    await service.send(`PATCH ${ONE}`, { body: { hidden: 'changed' } })
    expect(etagOf(await service.send(`GET ${ONE}`))).toBe(etag)
    expect(etagOf(await service.send(`GET ${ONE}`, { caller: as('admin') }))).not.toBe(other)
    await service.send(`PATCH ${ONE}`, { body: { a: 'changed' } })
    expect(etagOf(await service.send(`GET ${ONE}`))).not.toBe(etag)
  })

  test.each<[string, (etag: string) => string, number]>([
    ['the tag', (etag) => etag, 304],
    ['the tag as a weak one', (etag) => `W/${etag}`, 304],
    ['a list', (etag) => `"other", W/"one" ,${etag}`, 304],
    ['any', () => '*', 304],
    ['another', () => '"other"', 200],
    ['the tag without quotes', (etag) => etag.slice(1, -1), 200],
    ['a long list without it', () => '"a",'.repeat(3000), 200],
    ['an empty header', () => '', 200],
  ])('If-None-Match with %s', async (_, write, status) => {
    const service = await openOne()
    const etag = etagOf(await service.send(`GET ${ONE}`))
    for (const line of [`GET ${ONE}`, `GET ${ONE}?project=["a"]`, `HEAD ${ONE}`]) {
      const answer = await service.send(line, { headers: { 'if-none-match': write(etag) } })
      expect(answer.status).toBe(status)
      expect(etagOf(answer)).toBe(etag)
      if (status === 304) expect(answer.text).toBe('')
    }
  })

  test('If-None-Match does not tell what may not be read', async () => {
    const service = await open(
      configOf(schema, { user: { read: { where: { a: '1' } } } }),
      { a: '1' },
      { a: '2' },
    )
    const headers = { 'if-none-match': '*' }
    expect(outcomeOf(await service.send(`GET /items/${idOf(2)}`, { caller: ann, headers }))).toEqual(
      NOT_FOUND,
    )
    expect(outcomeOf(await service.send(`GET ${ONE}`, { caller: null, headers }))).toEqual(UNAUTHENTICATED)
    expect((await service.send(`GET ${ONE}`, { caller: ann, headers })).status).toBe(304)
  })
})

describe('If-Match', () => {
  test.each<[string, (etag: string) => string, boolean]>([
    ['the tag', (etag) => etag, true],
    ['a list', (etag) => `"other",${etag} , "one"`, true],
    ['any', () => '*', true],
    ['another', () => '"other"', false],
    ['the tag as a weak one', (etag) => `W/${etag}`, false],
    ['weak ones and another', (etag) => `W/${etag}, "other"`, false],
    ['the tag without quotes', (etag) => etag.slice(1, -1), false],
    ['a star among tags', (etag) => `${etag}, *`, false],
    ['tags without a comma', (etag) => `"other" ${etag}`, false],
    ['an open quote', (etag) => `${etag}, "`, false],
    ['nothing', () => '', false],
  ])('with %s', async (_, write, holds) => {
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      const service = await open(configOf({ a: text }), { a: '1' })
      const headers = { 'if-match': write(etagOf(await service.send(`GET ${ONE}`))) }
      const answer = await service.send(`${method} ${ONE}`, { headers, body: { a: '2' } })
      expect(outcomeOf(answer)).toEqual(holds ? (method === 'DELETE' ? 204 : 200) : FAILED)
      if (!holds) expect(await stored(service)).toEqual({ a: '1' })
    }
  })

  test('holds once: the tag of the answer is the next to send', async () => {
    const service = await open(configOf({ a: text }), { a: '1' })
    const first = etagOf(await service.send(`GET ${ONE}`))
    const second = await service.send(`PATCH ${ONE}`, { headers: { 'if-match': first }, body: { a: '2' } })
    expect(outcomeOf(await service.send(`DELETE ${ONE}`, { headers: { 'if-match': first } }))).toEqual(FAILED)
    const headers = { 'if-match': etagOf(second) }
    expect((await service.send(`PUT ${ONE}`, { headers, body: { a: '3' } })).status).toBe(200)
  })

  test('of two updates of one state at once, one is made', async () => {
    const service = await open(configOf({ a: whole, b: whole }), { a: 0 })
    const headers = { 'if-match': etagOf(await service.send(`GET ${ONE}`)) }
    const answers = await Promise.all([
      service.send(`PATCH ${ONE}`, { headers, body: { a: 1 } }),
      service.send(`PUT ${ONE}`, { headers, body: { b: 1 } }),
      service.send(`DELETE ${ONE}`, { headers }),
    ])
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1)
  })

  test('is judged by what its caller reads', async () => {
    const permissions = { '*': { read: { omit: ['b', 'updatedAt'] }, update: true }, admin: true }
    const service = await open(configOf({ a: text, b: text }, permissions), { a: '1', b: '1' })
    const headers = { 'if-match': etagOf(await service.send(`GET ${ONE}`)) }
    await service.send(`PATCH ${ONE}`, { caller: as('admin'), body: { b: '2' } })
    expect(outcomeOf(await service.send(`PATCH ${ONE}`, { caller: as('admin'), headers, body: {} }))).toEqual(
      FAILED,
    )
    expect((await service.send(`PATCH ${ONE}`, { headers, body: { b: '3' } })).status).toBe(200)
  })
})

describe('faults come in their order', () => {
  const schema = {
    a: { type: 'string', maxLength: 3 },
    slug: { type: 'string', unique: true },
    team: text,
    open: { type: 'boolean' },
  }
  const permissions = {
    user: { read: { where: { team: { $ne: 'hidden' } } } },
    writer: {
      read: { where: { team: { $ne: 'hidden' } } },
      update: { where: { open: true }, check: { team: 'x' } },
      delete: { where: { open: true } },
    },
  }
  const items = [
    { team: 'x', slug: 'one', open: true },
    { team: 'x', slug: 'two', open: false },
    { team: 'hidden', slug: 'three', open: true },
    { team: 'y', slug: 'four', open: true },
  ]
  const writer = as('writer')
  const wrongTag = { 'if-match': '"wrong"' }
  const json = { 'content-type': 'application/json' }
  const everything = { a: 'too long', slug: 'one' }
  const image = { 'content-type': 'image/png' }

  test.each<[string, Caller | null, string, object, unknown]>([
    ['nobody', null, `${idOf(1)}?x=1`, { raw: '{', headers: image }, UNAUTHENTICATED],
    ['nobody, and no document', null, idOf(9), { body: {} }, UNAUTHENTICATED],
    ['no rule, and no document', ann, `${idOf(9)}?x=1`, { raw: '{', headers: image }, NOT_FOUND],
    ['no rule, and not readable', ann, `${idOf(3)}?x=1`, { raw: '{', headers: image }, NOT_FOUND],
    ['no rule', ann, `${idOf(1)}?x=1`, { raw: '{', headers: { ...image, ...wrongTag } }, FORBIDDEN],
    ['query', writer, `${idOf(9)}?x=1`, { raw: '{', headers: image }, [400, 'invalid_query']],
    ['media type', writer, idOf(9), { raw: '{', headers: image }, [415, 'unsupported_media_type']],
    ['JSON', writer, idOf(9), { raw: '{', headers: json }, [400, 'invalid_json']],
    ['no document', writer, idOf(9), { body: everything, headers: wrongTag }, NOT_FOUND],
    ['no id', writer, 'nonsense', { body: everything, headers: wrongTag }, NOT_FOUND],
    ['not readable', writer, idOf(3), { body: everything, headers: wrongTag }, NOT_FOUND],
    ['rule', writer, idOf(2), { body: everything, headers: wrongTag }, FORBIDDEN],
    ['precondition', writer, idOf(4), { body: everything, headers: wrongTag }, FAILED],
    ['validation', writer, idOf(4), { body: everything }, INVALID],
    ['check', writer, idOf(4), { body: { slug: 'one' } }, FORBIDDEN],
    ['conflict', writer, idOf(4), { body: { slug: 'one', team: 'x' } }, [409, 'unique_violation']],
  ])('%s', async (_, caller, id, sent, expected) => {
    const service = await open(configOf(schema, permissions), ...items)
    for (const method of ['PATCH', 'PUT']) {
      expect(outcomeOf(await service.send(`${method} /items/${id}`, { caller, ...sent }))).toEqual(expected)
    }
  })

  test.each<[string, Caller | null, string, unknown]>([
    ['nobody', null, `${idOf(9)}?x=1`, UNAUTHENTICATED],
    ['no rule, and no document', ann, `${idOf(9)}?x=1`, NOT_FOUND],
    ['no rule', ann, `${idOf(1)}?x=1`, FORBIDDEN],
    ['query', writer, `${idOf(9)}?x=1`, [400, 'invalid_query']],
    ['not readable', writer, idOf(3), NOT_FOUND],
    ['rule', writer, idOf(2), FORBIDDEN],
    ['precondition', writer, idOf(1), FAILED],
  ])('DELETE: %s', async (_, caller, id, expected) => {
    const service = await open(configOf(schema, permissions), ...items)
    expect(outcomeOf(await service.send(`DELETE /items/${id}`, { caller, headers: wrongTag }))).toEqual(
      expected,
    )
  })

  test('the body of one whom no rule lets write is not read', async () => {
    const service = await open(configOf(schema, permissions), ...items)
    let isRead = false
    const raw = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          isRead = true
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    expect(outcomeOf(await service.send(`PATCH ${ONE}`, { caller: ann, raw }))).toEqual(FORBIDDEN)
    expect(isRead).toBe(false)
  })
})

describe('rules', () => {
  const schema = { a: text, b: text, team: text, by: text }
  const read = true
  const items = { a: '1', b: '1', team: 'x', createdBy: 'ann' }
  const member: Caller = { id: 'eve', roles: ['editor', 'clerk'], team: 'x' }

  interface RuleCase {
    readonly permissions: Json
    readonly caller?: Caller | null
    readonly body?: Json
    readonly expected: Json | readonly unknown[]
  }
  test.each<[string, RuleCase]>([
    [
      'where holds for the stored document',
      { permissions: { user: { read, update: { where: { team: 'y' } } } }, expected: FORBIDDEN },
    ],
    [
      'nobody signed in gets 401 where the rule does not fit',
      {
        permissions: { '*': { read, update: { where: { team: 'y' } } } },
        caller: null,
        expected: UNAUTHENTICATED,
      },
    ],
    [
      'check is where by default',
      {
        permissions: { '*': { read, update: { where: { team: 'x' } } } },
        body: { team: 'y' },
        expected: FORBIDDEN,
      },
    ],
    [
      'an empty check lifts it',
      {
        permissions: { '*': { read, update: { where: { team: 'x' }, check: {} } } },
        body: { team: 'y' },
        expected: { team: 'y' },
      },
    ],
    [
      'a failed check is 403 for nobody too',
      {
        permissions: { '*': { read, update: { check: { a: { $ne: 'bad' } } } } },
        caller: null,
        body: { a: 'bad' },
        expected: FORBIDDEN,
      },
    ],
    [
      'where may use what the caller holds',
      {
        permissions: { user: { read, update: { where: { team: '$user.team' } } } },
        caller: member,
        body: { a: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'and is false where the caller lacks it',
      {
        permissions: { user: { read, update: { where: { team: { $ne: '$user.team' } } } } },
        body: { a: '2' },
        expected: FORBIDDEN,
      },
    ],
    [
      'set is put in over the body',
      {
        permissions: { user: { read, update: { set: { by: '$user._id' } } } },
        body: { a: '2', by: 'me' },
        expected: { a: '2', by: 'ann' },
      },
    ],
    [
      'a set of what the caller lacks is 403',
      {
        permissions: { user: { read, update: { set: { by: '$user.team' } } } },
        body: { a: '2' },
        expected: FORBIDDEN,
      },
    ],
    [
      'pick drops the others',
      {
        permissions: { '*': { read, update: { pick: ['a'] } } },
        body: { a: '2', b: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'omit drops these',
      {
        permissions: { '*': { read, update: { omit: ['a'] } } },
        body: { a: '2', b: '2' },
        expected: { b: '2' },
      },
    ],
    [
      'user decides before *',
      {
        permissions: { '*': { read, update: true }, user: { update: { pick: ['b'] } } },
        body: { a: '2', b: '2' },
        expected: { b: '2' },
      },
    ],
    [
      'a role decides before user',
      {
        permissions: { user: { read, update: true }, editor: { update: { pick: ['b'] } } },
        caller: member,
        body: { a: '2', b: '2' },
        expected: { b: '2' },
      },
    ],
    [
      'a role refuses',
      {
        permissions: { user: { read, update: true }, editor: { update: false } },
        caller: member,
        body: { a: '2' },
        expected: FORBIDDEN,
      },
    ],
    [
      'a role that is silent leaves it to user',
      {
        permissions: { user: { read, update: true }, editor: { read } },
        caller: member,
        body: { a: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'of several roles the one that drops nothing',
      {
        permissions: {
          user: { read },
          clerk: { update: { pick: ['a'] } },
          editor: { update: { pick: ['a', 'b'] } },
        },
        caller: member,
        body: { a: '2', b: '2' },
        expected: { a: '2', b: '2' },
      },
    ],
    [
      'never a mixture of two',
      {
        permissions: {
          user: { read },
          clerk: { update: { pick: ['a'] } },
          editor: { update: { pick: ['b'] } },
        },
        caller: member,
        body: { a: '2', b: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'a rule that does not fit is passed over',
      {
        permissions: {
          user: { read },
          clerk: { update: { where: { team: 'y' } } },
          editor: { update: { pick: ['b'] } },
        },
        caller: member,
        body: { a: '2', b: '2' },
        expected: { b: '2' },
      },
    ],
    [
      'a rule whose check fails is passed over',
      {
        permissions: { user: { read }, clerk: { update: { check: { a: '1' } } }, editor: { update: true } },
        caller: member,
        body: { a: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'owner comes last',
      {
        permissions: { user: { read, update: { pick: ['a'] } }, owner: { update: { pick: ['b'] } } },
        body: { a: '2', b: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'owner goes first where it alone drops nothing',
      {
        permissions: { user: { read, update: { pick: ['a'] } }, owner: { update: true } },
        body: { a: '2', b: '2' },
        expected: { a: '2', b: '2' },
      },
    ],
    [
      'owner helps where the deciding subject refuses',
      {
        permissions: { user: { read, update: false }, owner: { update: true } },
        body: { a: '2' },
        expected: { a: '2' },
      },
    ],
    [
      'owner is no stranger',
      {
        permissions: { user: { read }, owner: { update: true } },
        caller: { id: 'bob' },
        body: { a: '2' },
        expected: FORBIDDEN,
      },
    ],
    [
      'what may not be read may not be changed',
      {
        permissions: { user: { read: { where: { team: 'y' } }, update: true } },
        body: { a: '2' },
        expected: NOT_FOUND,
      },
    ],
    [
      'without a grant to read there is nothing',
      { permissions: { user: { update: true } }, body: { a: '2' }, expected: NOT_FOUND },
    ],
  ])('%s', async (_, { permissions, caller = ann, body = { a: '2' }, expected }) => {
    const service = await openHosted(configOf(schema, permissions), items)
    const answer = await service.send(`PATCH ${ONE}`, { caller, body })
    const { createdBy, ...fields } = items
    if (Array.isArray(expected)) {
      expect(outcomeOf(answer)).toEqual(expected)
      expect(await stored(service)).toEqual(fields)
    } else {
      expect(answer.status).toBe(200)
      expect(await stored(service)).toEqual({ ...fields, ...expected })
    }
  })

  test.each<[string, Json, Caller | null, unknown]>([
    ['everyone', { '*': { read, delete: true } }, null, 204],
    ['nobody signed in', { user: { read, delete: true } }, null, UNAUTHENTICATED],
    ['where holds', { user: { read, delete: { where: { team: 'x' } } } }, ann, 204],
    ['where does not hold', { user: { read, delete: { where: { team: 'y' } } } }, ann, FORBIDDEN],
    [
      'where does not hold for nobody',
      { '*': { read, delete: { where: { team: 'y' } } } },
      null,
      UNAUTHENTICATED,
    ],
    ['a role refuses', { user: { read, delete: true }, editor: { delete: false } }, member, FORBIDDEN],
    [
      'one of two roles fits',
      {
        user: { read },
        clerk: { delete: { where: { a: 'no' } } },
        editor: { delete: { where: { a: '1' } } },
      },
      member,
      204,
    ],
    ['the owner', { user: { read }, owner: { delete: true } }, ann, 204],
    ['not the owner', { user: { read }, owner: { delete: true } }, member, FORBIDDEN],
    ['not readable', { user: { read: { where: { team: 'y' } }, delete: true } }, ann, NOT_FOUND],
    ['a rule to update is none to delete', { user: { read, update: true } }, ann, FORBIDDEN],
  ])('DELETE: %s', async (_, permissions, caller, expected) => {
    const service = await openHosted(configOf(schema, permissions), items)
    expect(outcomeOf(await service.send(`DELETE ${ONE}`, { caller }))).toEqual(expected)
    expect((await readStored(service, 'items', idOf(1))) === undefined).toBe(expected === 204)
  })

  test('the answer shows what its caller may read of the document as it is now', async () => {
    const permissions = { '*': { read: { where: { team: 'x' }, pick: ['a'] }, update: true } }
    const service = await openHosted(configOf(schema, permissions), items)
    const shown = await service.send(`PATCH ${ONE}`, { body: { b: '2', a: '2' } })
    expect(shown.body).toEqual({ _id: idOf(1), a: '2' })
    expect((await service.send(`PATCH ${ONE}`, { body: { team: 'y' } })).body).toEqual({ _id: idOf(1) })
    expect(outcomeOf(await service.send(`PATCH ${ONE}`, { body: { team: 'x' } }))).toEqual(NOT_FOUND)
  })
})

describe('sessions', () => {
  const config = {
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true, required: true },
          password: { type: 'hash', required: true },
          name: text,
          role: text,
        },
        permissions: {
          owner: { read: true, update: { pick: ['name', 'password', 'email'] }, delete: true },
          admin: true,
        },
      },
    },
    auth: { roleField: 'role' },
  }
  const credentials = { email: 'ann@b.co', password: 'old secret' }
  const NO_TOKEN = [401, 'invalid_token']

  /** Ann with two sessions, and an administrator who sent none of the requests so far. */
  async function signIn() {
    const service = createTestService(config)
    const { id, token: mine } = await service.register(credentials)
    const login = (password: string) =>
      service.send('POST /auth/login', { body: { email: credentials.email, password } })
    const other: string = (await login(credentials.password)).body.token
    const me = async (token: string) => outcomeOf(await service.send('GET /auth/me', { token }))
    const expectSecret = async (old: number, present: number) => {
      expect([(await login(credentials.password)).status, (await login('new secret')).status]).toEqual([
        old,
        present,
      ])
    }
    return { ...service, id, mine, other, me, expectSecret, path: `/users/${id}` }
  }

  test.each<[string, Json]>([
    ['PATCH', { password: 'new secret' }],
    ['PUT', { email: credentials.email, password: 'new secret' }],
  ])('a new secret by %s ends the other sessions, and the acting one stays', async (method, body) => {
    const { send, me, mine, other, path, expectSecret } = await signIn()
    expect((await send(`${method} ${path}`, { token: mine, body })).status).toBe(200)
    expect([await me(mine), await me(other)]).toEqual([200, NO_TOKEN])
    await expectSecret(401, 200)
    expect(await me(mine)).toBe(200)
  })

  test('the present secret once more counts as new', async () => {
    const { send, me, mine, other, path, expectSecret } = await signIn()
    await send(`PATCH ${path}`, { token: mine, body: { password: credentials.password } })
    expect([await me(mine), await me(other)]).toEqual([200, NO_TOKEN])
    await expectSecret(200, 401)
  })

  test.each<[string, Json, number]>([
    ['another field', { name: 'Ann' }, 200],
    ['a refused secret', { password: 'x'.repeat(80) }, 400],
    ['a body that is dropped', { role: 'admin' }, 200],
    ['the removal of a secret that is required', { password: null }, 400],
  ])('%s ends none', async (_, body, status) => {
    const { send, me, mine, other, path, expectSecret } = await signIn()
    expect((await send(`PATCH ${path}`, { token: mine, body })).status).toBe(status)
    expect([await me(mine), await me(other)]).toEqual([200, 200])
    await expectSecret(200, 401)
  })

  test('a secret in an update that is refused for its state changes nothing', async () => {
    const { send, me, mine, other, path, expectSecret } = await signIn()
    const headers = { 'if-match': '"wrong"' }
    const answer = await send(`PATCH ${path}`, { token: mine, headers, body: { password: 'new secret' } })
    expect(outcomeOf(answer)).toEqual(FAILED)
    expect([await me(mine), await me(other)]).toEqual([200, 200])
    await expectSecret(200, 401)
  })

  test("an administrator's change of another's secret ends all sessions of that user only", async () => {
    const service = await signIn()
    const { send, me, mine, other, path, expectSecret } = service
    const admin = await service.register({ email: 'admin@b.co', password: 'admin secret' })
    await send(`PATCH /users/${admin.id}`, { caller: as('admin'), body: { role: 'admin' } })
    const body = { password: 'new secret' }
    expect((await send(`PATCH ${path}`, { token: admin.token, body })).status).toBe(200)
    expect([await me(mine), await me(other), await me(admin.token)]).toEqual([NO_TOKEN, NO_TOKEN, 200])
    await expectSecret(401, 200)
  })

  test("a host's change of a secret ends all sessions", async () => {
    const { send, me, mine, other, path, id } = await signIn()
    const body = { password: 'new secret' }
    expect((await send(`PATCH ${path}`, { caller: { id }, body })).status).toBe(200)
    expect([await me(mine), await me(other)]).toEqual([NO_TOKEN, NO_TOKEN])
  })

  test('deletion of a user ends the sessions, and frees the identifier', async () => {
    const service = await signIn()
    const { send, me, mine, other, path, expectSecret } = service
    expect((await send(`DELETE ${path}`, { token: mine })).status).toBe(204)
    expect([await me(mine), await me(other)]).toEqual([NO_TOKEN, NO_TOKEN])
    await expectSecret(401, 401)
    const again = await service.register(credentials)
    expect(again.id).not.toBe(service.id)
    expect([await me(mine), await me(again.token)]).toEqual([NO_TOKEN, 200])
  })

  test('of two changes of a secret at once by one session none ends it', async () => {
    const { send, me, mine, other, path } = await signIn()
    const answers = await Promise.all(
      ['new secret', 'newer secret'].map((password) =>
        send(`PATCH ${path}`, { token: mine, body: { password } }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect([await me(mine), await me(other)]).toEqual([200, NO_TOKEN])
  })

  test('of two changes of a secret at once by two sessions one is made, and its session stays', async () => {
    const { send, me, mine, other, path } = await signIn()
    const tokens = [mine, other]
    const answers = await Promise.all(
      tokens.map((token) => send(`PATCH ${path}`, { token, body: { password: 'new secret' } })),
    )
    expect(answers.map(outcomeOf).sort()).toEqual([200, NO_TOKEN])
    for (const [i, token] of tokens.entries()) expect(await me(token)).toEqual(outcomeOf(answers[i] as Sent))
  })
})

describe('at the same time', () => {
  /** An adapter whose first two reads of one document answer together, so that both requests hold the same version. */
  function meetAfterReading(): StorageAdapter {
    const memory = createMemoryAdapter()
    const waiting: (() => void)[] = []
    return {
      ...memory,
      async list(collection, query) {
        const found = await memory.list(collection, query)
        if (query.limit !== 1 || waiting.length === 2) return found
        await new Promise<void>((resolve) => {
          waiting.push(resolve)
          if (waiting.length === 2) for (const go of waiting) go()
        })
        return found
      },
    }
  }
  const openMeeting = () =>
    openStored(
      configOf({ a: whole, b: whole, c: whole }),
      { items: [{ a: 0, b: 0, c: 0 }] },
      { adapter: meetAfterReading() },
    )

  test('two PATCHes of different fields both survive', async () => {
    const service = await openMeeting()
    const answers = await Promise.all([
      service.send(`PATCH ${ONE}`, { body: { a: 1 } }),
      service.send(`PATCH ${ONE}`, { body: { b: 1 } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await stored(service)).toEqual({ a: 1, b: 1, c: 0 })
    expect((await readStored(service, 'items', idOf(1)))?._version).toBe(3)
  })

  test('a PATCH that comes behind a DELETE finds nothing', async () => {
    const service = await openMeeting()
    const answers = await Promise.all([
      service.send(`DELETE ${ONE}`),
      service.send(`PATCH ${ONE}`, { body: { b: 1 } }),
    ])
    expect(answers[0].status).toBe(204)
    expect([200, 404]).toContain(answers[1].status)
    expect(await readStored(service, 'items', idOf(1))).toBeUndefined()
  })

  test('a DELETE with If-Match does not take what has changed since', async () => {
    const memory = createMemoryAdapter()
    let interfere = false
    const adapter: StorageAdapter = {
      ...memory,
      async write(steps, options) {
        if (interfere) {
          interfere = false
          await service.send(`PATCH ${ONE}`, { body: { a: 1 } })
        }
        return memory.write(steps, options)
      },
    }
    const service = await openStored(configOf({ a: whole }), { items: [{ a: 0 }] }, { adapter })
    const headers = { 'if-match': etagOf(await service.send(`GET ${ONE}`)) }
    interfere = true
    expect(outcomeOf(await service.send(`DELETE ${ONE}`, { headers }))).toEqual(FAILED)
    expect(await stored(service)).toEqual({ a: 1 })
  })

  test('rights are judged anew on what others have written meanwhile', async () => {
    const permissions = {
      user: { read: true, update: { where: { a: 0 }, check: {} }, delete: { where: { a: 0 } } },
      admin: true,
    }
    for (const method of ['PATCH', 'DELETE']) {
      const memory = createMemoryAdapter()
      let interfere = false
      const adapter: StorageAdapter = {
        ...memory,
        async write(steps, options) {
          if (interfere) {
            interfere = false
            await service.send(`PATCH ${ONE}`, { caller: as('admin'), body: { a: 1 } })
          }
          return memory.write(steps, options)
        },
      }
      const service = await openStored(
        configOf({ a: whole, b: whole }, permissions),
        { items: [{ a: 0 }] },
        { adapter },
      )
      interfere = true
      const answer = await service.send(`${method} ${ONE}`, { caller: ann, body: { b: 1 } })
      expect(outcomeOf(answer)).toEqual(FORBIDDEN)
      expect(await stored(service)).toEqual({ a: 1 })
    }
  })

  test('after ten attempts it is 503, and nothing is written', async () => {
    const memory = createMemoryAdapter()
    let attempts = 0
    let isBusy = false
    const adapter: StorageAdapter = {
      ...memory,
      async write(steps, options) {
        if (!isBusy) return memory.write(steps, options)
        attempts += 1
        return { ok: false, step: 0, reason: 'changed' }
      },
    }
    const service = await openStored(configOf({ a: whole }), { items: [{ a: 0 }] }, { adapter })
    isBusy = true
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      attempts = 0
      const answer = await service.send(`${method} ${ONE}`, { body: { a: 1 }, mayFail: true })
      expect(outcomeOf(answer)).toEqual([503, 'overloaded'])
      expect(answer.headers.has('retry-after')).toBe(true)
      expect(attempts).toBe(10)
    }
  })
})
