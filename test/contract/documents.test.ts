import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { faultsOf, type TestService } from '../support/service.js'
import { fieldsOf, idOf, LONG_AGO, openStored, readStored } from '../support/stored.js'
import {
  ann,
  as,
  configOf,
  etagOf,
  INVALID,
  type Json,
  LATER,
  NOT_FOUND,
  ONE,
  open,
  outcomeOf,
  stored,
  text,
  whole,
} from './support/documents.js'

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
