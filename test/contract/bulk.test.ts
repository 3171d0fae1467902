import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  type Caller,
  createMemoryAdapter,
  type ServiceOptions,
  type StorageAdapter,
  type StoredDocument,
} from '../../src/index.js'
import { createTestService, faultsOf, type Sent, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'

// CONTRACT.md §2, "Bulk"

type Json = { readonly [name: string]: unknown }

const storages = useStorages()

const opened = closeAfterEach()

const NOW = '2026-11-20T08:00:00.000Z'
const ann: Caller = { id: 'ann' }
const as = (...roles: string[]): Caller => ({ id: 'eve', roles })
const text = { type: 'string' }
const BULK = 'POST /items/bulk'

type Options = ServiceOptions & { readonly adapter?: StorageAdapter }

async function openAll(config: Json, stored: { [name: string]: readonly Json[] }, options: Options = {}) {
  const service = await openStored(config, stored, {
    authenticate: () => null,
    now: () => Date.parse(NOW),
    ...options,
  })
  opened.push(service)
  return service
}

const open = (schema: Json, permissions: Json = { '*': true }, more: Json = {}, options: Options = {}) => {
  const { items = [], limits, ...settings } = more as { items?: Json[]; limits?: Json }
  const config = {
    collections: { items: { schema, permissions, ...settings } },
    ...(limits ? { limits } : {}),
  }
  return openAll(config, { items }, options)
}

async function storedIn({ adapter }: TestService, name = 'items'): Promise<readonly StoredDocument[]> {
  const sort = [{ field: { path: '_id', type: 'string', each: false }, descending: false }] as const
  return adapter.list(name, { filter: everything, sort, skip: 0, limit: null })
}

const outcomeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body?.code])

const INVALID = [400, 'validation_failed']
const FORBIDDEN = [403, 'forbidden']
const TAKEN = [409, 'unique_violation']

const numbered = (count: number): Json[] => Array.from({ length: count }, (_, n) => ({ n }))

describe.each(storages)('a bulk, in %s,', (_, create) => {
  test.each([1, 2, 99, 100])('creates all of %i documents, in their order', async (count) => {
    const service = await open({ n: { type: 'integer' } }, undefined, {}, { adapter: create() })
    const sent = await service.send(BULK, { caller: ann, body: { documents: numbered(count) } })
    expect(sent.status).toBe(201)
    expect(Object.keys(sent.body)).toEqual(['documents'])
    const { documents } = sent.body
    expect(documents.map(({ n }: { n: number }) => n)).toEqual(numbered(count).map(({ n }) => n))
    const ids: string[] = documents.map(({ _id }: { _id: string }) => _id)
    expect(new Set(ids).size).toBe(count)
    expect(ids).toEqual([...ids].sort())
    expect(documents[0]).toEqual({ _id: ids[0], n: 0, createdAt: NOW, updatedAt: NOW, createdBy: 'ann' })
    const listed = await service.send('GET /items')
    expect(listed.body).toEqual(documents)
    expect(sent.headers.get('content-type')).toBe('application/json')
    expect([sent.headers.get('etag'), sent.headers.get('location')]).toEqual([null, null])
  })

  const schema = {
    slug: { type: 'string', unique: true },
    team: text,
    nick: { type: 'string', maxLength: 5 },
  }
  const indexes = [{ fields: ['team', 'nick'], unique: true }]
  const items = [{ slug: 'taken', team: 'red', nick: 'ann' }]

  test.each<[string, readonly Json[], unknown, { [path: string]: string }]>([
    ['a fault in one', [{ nick: 'a' }, { nick: 'too long' }], INVALID, { '/documents/1/nick': 'too_long' }],
    [
      'faults in several',
      [{ nick: 5 }, { extra: 1 }, {}, { nick: 'too long', slug: 1 }],
      INVALID,
      {
        '/documents/0/nick': 'wrong_type',
        '/documents/1/extra': 'unknown_property',
        '/documents/3/nick': 'too_long',
        '/documents/3/slug': 'wrong_type',
      },
    ],
    [
      'a value that is stored',
      [{ slug: 'a' }, { slug: 'taken' }, { slug: 'b' }],
      TAKEN,
      { '/documents/1/slug': 'taken' },
    ],
    [
      'one value twice',
      [{ slug: 'a' }, { slug: 'b' }, { slug: 'a' }],
      TAKEN,
      { '/documents/2/slug': 'taken' },
    ],
    [
      'values together that are stored',
      [
        { team: 'red', nick: 'bob' },
        { team: 'red', nick: 'ann' },
      ],
      TAKEN,
      { '/documents/1/team': 'taken', '/documents/1/nick': 'taken' },
    ],
    [
      'the same values together',
      [{ team: 'x', nick: 'y' }, { team: 'x' }, { team: 'x' }, { team: 'x', nick: 'y' }],
      TAKEN,
      { '/documents/3/team': 'taken', '/documents/3/nick': 'taken' },
    ],
    [
      'a fault before a conflict',
      [{ slug: 'taken' }, { nick: 'too long' }],
      INVALID,
      { '/documents/1/nick': 'too_long' },
    ],
  ])('creates nothing where there is %s', async (_, documents, outcome, faults) => {
    const service = await open(schema, undefined, { indexes, items }, { adapter: create() })
    const before = await storedIn(service)
    const sent = await service.send(BULK, { body: { documents } })
    expect(outcomeOf(sent)).toEqual(outcome)
    expect(faultsOf(sent)).toEqual(faults)
    expect(await storedIn(service)).toEqual(before)
    // Nothing that was refused keeps a value.
    expect((await service.send(BULK, { body: { documents: [{ slug: 'a' }, { slug: 'b' }] } })).status).toBe(
      201,
    )
  })

  test('lets documents be that lack a unique value', async () => {
    const service = await open(schema, undefined, { indexes, items }, { adapter: create() })
    const documents = [{ team: 'red' }, { team: 'red' }, { nick: 'ann' }, {}, {}]
    expect((await service.send(BULK, { body: { documents } })).status).toBe(201)
  })

  test('of two at once with one value, one creates all and the other nothing', async () => {
    const service = await open(schema, undefined, {}, { adapter: create() })
    const bulk = (nick: string, ...slugs: string[]) =>
      service.send(BULK, { body: { documents: slugs.map((slug) => ({ slug, nick })) } })
    const sent = await Promise.all([bulk('one', 'a', 'b', 'c'), bulk('two', 'd', 'c', 'e')])
    expect(sent.map(({ status }) => status).sort()).toEqual([201, 409])
    expect(new Set((await storedIn(service)).map(({ nick }) => nick)).size).toBe(1)
    expect(await storedIn(service)).toHaveLength(3)
  })

  test('refers to what exists and may be read', async () => {
    const collections = {
      people: { schema: { name: text }, permissions: { '*': { read: { where: { name: 'shown' } } } } },
      items: {
        schema: {
          r: { type: 'reference', collection: 'people' },
          many: { type: 'array', items: { type: 'reference', collection: 'people' } },
        },
        permissions: { '*': true },
      },
    }
    const people = [{ name: 'shown' }, { name: 'hidden' }]
    const service = await openAll({ collections }, { people, items: [] }, { adapter: create() })
    const bulk = (...documents: Json[]) => service.send(BULK, { body: { documents } })
    const unknown = (id: string) => bulk({ r: idOf(1) }, { r: id }, { many: [idOf(1), id] })
    const [unreadable, absent] = [await unknown(idOf(2)), await unknown(idOf(3))]
    expect(outcomeOf(unreadable)).toEqual(INVALID)
    expect(faultsOf(unreadable)).toEqual({
      '/documents/1/r': 'unknown_reference',
      '/documents/2/many/1': 'unknown_reference',
    })
    expect(unreadable.body.errors).toEqual(absent.body.errors)
    expect(await storedIn(service)).toEqual([])
    const sent = await bulk({ r: idOf(1) }, { r: idOf(1), many: [idOf(1), idOf(1)] }, {})
    expect(sent.status).toBe(201)
    expect(sent.body.documents[1]).toMatchObject({ r: idOf(1), many: [idOf(1), idOf(1)] })
  })
})

describe('the body of a bulk', () => {
  test.each<[string, unknown, { [path: string]: string }]>([
    ['nothing', {}, { '/documents': 'required' }],
    ['no documents', { documents: [] }, { '/documents': 'too_few' }],
    ['too many', { documents: numbered(101) }, { '/documents': 'too_many' }],
    ['an object', { documents: { 0: {} } }, { '/documents': 'wrong_type' }],
    ['text', { documents: 'all' }, { '/documents': 'wrong_type' }],
    ['null', { documents: null }, { '/documents': 'wrong_type' }],
    ['an array', [{}], { '': 'wrong_type' }],
    ['another property', { documents: [{}], more: 1 }, { '/more': 'unknown_property' }],
    [
      'another property alone',
      { document: [{}] },
      { '/document': 'unknown_property', '/documents': 'required' },
    ],
    ['an inherited name', { documents: [{}], toString: 1 }, { '/toString': 'unknown_property' }],
    ['a name with a slash', { documents: [{}], 'a/b~c': 1 }, { '/a~1b~0c': 'unknown_property' }],
    [
      'elements that are no objects',
      { documents: [{}, 5, null, [], 'text', {}] },
      {
        '/documents/1': 'wrong_type',
        '/documents/2': 'wrong_type',
        '/documents/3': 'wrong_type',
        '/documents/4': 'wrong_type',
      },
    ],
  ])('with %s is refused', async (_, body, faults) => {
    const service = await open({ n: { type: 'integer' } })
    const sent = await service.send(BULK, { body })
    expect(outcomeOf(sent)).toEqual(INVALID)
    expect(faultsOf(sent)).toEqual(faults)
    expect(await storedIn(service)).toEqual([])
  })

  test.each<[string, string, unknown]>([
    ['no JSON', '{"documents":[', [400, 'invalid_json']],
    ['nothing', '', [400, 'invalid_json']],
    ['a prototype', '{"documents":[{"__proto__":{"n":1}}]}', INVALID],
    ['nesting too deep', `{"documents":[${'['.repeat(40)}${']'.repeat(40)}]}`, undefined],
  ])('of %s is refused', async (_, raw, outcome) => {
    const service = await open({ n: { type: 'integer' } })
    const sent = await service.send(BULK, { raw, headers: { 'content-type': 'application/json' } })
    if (outcome) expect(outcomeOf(sent)).toEqual(outcome)
    expect(sent.status).toBe(400)
    expect(await storedIn(service)).toEqual([])
  })

  test.each([5000, 60])('has at most 50 faults: %i elements', async (count) => {
    const service = await open({ n: { type: 'integer' } }, undefined, { limits: { bulk: 5000 } })
    for (const documents of [
      Array.from({ length: count }, () => ({ n: 'x', extra: 1 })),
      Array.from({ length: count }, () => 5),
    ]) {
      const sent = await service.send(BULK, { body: { documents } })
      expect(outcomeOf(sent)).toEqual(INVALID)
      expect(sent.body.errors).toHaveLength(50)
    }
  })

  test.each([1, 3])('has at most as many documents as configured: %i', async (bulk) => {
    const service = await open({ n: { type: 'integer' } }, undefined, { limits: { bulk } })
    const send = (count: number) => service.send(BULK, { body: { documents: numbered(count) } })
    expect(faultsOf(await send(bulk + 1))).toEqual({ '/documents': 'too_many' })
    expect((await send(bulk)).status).toBe(201)
  })

  test('has at most as many bytes as configured', async () => {
    const service = await open({ n: { type: 'integer' } }, undefined, { limits: { bodyBytes: 200 } })
    const sent = await service.send(BULK, { body: { documents: numbered(50) } })
    expect(outcomeOf(sent)).toEqual([413, 'body_too_large'])
  })

  test('is judged for system fields and names like any other', async () => {
    const service = await open({ n: { type: 'integer' } })
    const ignored = { _id: idOf(5), createdAt: 'x', updatedAt: 5, createdBy: 'eve' }
    const sent = await service.send(BULK, { caller: ann, body: { documents: [{ n: 1, ...ignored }] } })
    expect(sent.body.documents[0]).toMatchObject({ n: 1, createdBy: 'ann', createdAt: NOW })
    expect(sent.body.documents[0]._id).not.toBe(idOf(5))
    const wrong = await service.send(BULK, { body: { documents: [{}, { _rev: 1, constructor: 1 }] } })
    expect(Object.keys(faultsOf(wrong)).sort()).toEqual(['/documents/1/_rev', '/documents/1/constructor'])
  })
})

describe('who may do it', () => {
  const schema = { title: { type: 'string', maxLength: 5 }, team: text, n: { type: 'integer' } }
  const bulk = (service: TestService, documents: readonly Json[], caller: Caller | null = ann) =>
    service.send(BULK, { caller, body: { documents } })
  const fieldsIn = async (service: TestService) =>
    (await storedIn(service)).map(({ _id, _version, createdAt, updatedAt, createdBy, ...fields }) => fields)

  test.each<[string, Json, Caller | null, readonly Json[], unknown, readonly Json[]]>([
    ['nobody without a grant', { user: true }, null, [{}], [401, 'unauthenticated'], []],
    ['somebody without a grant', { user: { read: true } }, ann, [{}], FORBIDDEN, []],
    [
      'pick',
      { user: { create: { pick: ['title'] } } },
      ann,
      [{ title: 'a', n: 1 }, { n: 2 }],
      201,
      [{ title: 'a' }, {}],
    ],
    [
      'omit',
      { user: { create: { omit: ['n'] } } },
      ann,
      [
        { title: 'a', n: 1 },
        { team: 'x', n: 2 },
      ],
      201,
      [{ title: 'a' }, { team: 'x' }],
    ],
    [
      'set',
      { user: { create: { set: { team: '$user.team' } } } },
      { id: 'ann', team: 'red' },
      [{ team: 'blue' }, { n: 1 }],
      201,
      [{ team: 'red' }, { team: 'red', n: 1 }],
    ],
    [
      'set with what the caller lacks',
      { user: { create: { set: { team: '$user.team' } } } },
      ann,
      [{}],
      FORBIDDEN,
      [],
    ],
    [
      'check that holds for all',
      { user: { create: { check: { team: 'red' } } } },
      ann,
      [{ team: 'red' }, { team: 'red', n: 1 }],
      201,
      [{ team: 'red' }, { team: 'red', n: 1 }],
    ],
    [
      'check that fails for one',
      { user: { create: { check: { team: 'red' } } } },
      ann,
      [{ team: 'red' }, { team: 'blue' }],
      FORBIDDEN,
      [],
    ],
    [
      'a fault in one and a check that fails for another',
      { user: { create: { check: { team: 'red' } } } },
      ann,
      [{ team: 'blue' }, { team: 'red', title: 'too long' }],
      INVALID,
      [],
    ],
    [
      'the first rule that fits each document',
      {
        a: { create: { pick: ['title'] } },
        b: { create: { pick: ['title', 'n'], check: { n: { $lt: 5 } } } },
      },
      as('a', 'b'),
      [{ title: 'x' }, { title: 'y', n: 1 }, { title: 'z', n: 9 }],
      201,
      [{ title: 'x' }, { title: 'y', n: 1 }, { title: 'z' }],
    ],
    [
      'a fault in what is dropped',
      { user: { create: { pick: ['n'] } } },
      ann,
      [{ title: 'too long', n: 1 }],
      201,
      [{ n: 1 }],
    ],
  ])('%s', async (_, permissions, caller, documents, outcome, expected) => {
    const service = await open(schema, permissions)
    const sent = await bulk(service, documents, caller)
    expect(outcomeOf(sent)).toEqual(outcome)
    expect(await fieldsIn(service)).toEqual(expected)
  })

  test('a body is not read where nobody may create', async () => {
    const service = await open(schema, { maker: { create: true } })
    for (const caller of [null, ann]) {
      const raw = new ReadableStream({
        pull() {
          throw new Error('the body was read')
        },
      })
      const sent = await service.send(BULK, { caller, raw })
      expect(outcomeOf(sent)).toEqual(caller ? FORBIDDEN : [401, 'unauthenticated'])
    }
  })

  test('the answer shows every document as its writer may read it', async () => {
    const permissions = { '*': { create: true, read: { where: { team: 'x' }, omit: ['n'] } } }
    const service = await open(schema, permissions)
    const sent = await bulk(service, [
      { team: 'x', n: 1 },
      { team: 'y', n: 2 },
    ])
    expect(sent.status).toBe(201)
    const [shown, hidden] = sent.body.documents
    expect(shown).toMatchObject({ team: 'x' })
    expect(shown).not.toHaveProperty('n')
    expect(Object.keys(hidden)).toEqual(['_id'])
    expect(sent.headers.get('cache-control')).toBe('no-store')
  })

  test('defaults and normalisation hold for each', async () => {
    const service = await open({
      status: { type: 'string', default: 'draft' },
      at: { type: 'timestamp', default: '$now' },
      mail: { type: 'string', lowercase: true, trim: true, unique: true },
    })
    const sent = await bulk(service, [{ mail: ' A@B.CO ' }, { status: 'done', at: '2020-01-01' }])
    expect(sent.body.documents).toMatchObject([
      { status: 'draft', at: NOW, mail: 'a@b.co' },
      { status: 'done', at: '2020-01-01T00:00:00.000Z' },
    ])
    expect(outcomeOf(await bulk(service, [{ mail: 'x' }, { mail: 'X ' }]))).toEqual(TAKEN)
  })

  test('each is created by who asks, or by nobody', async () => {
    const service = await open(schema)
    await bulk(service, [{}, {}], ann)
    await bulk(service, [{}], null)
    expect((await storedIn(service)).map(({ createdBy }) => createdBy)).toEqual(['ann', 'ann', null])
  })
})

describe('the route', () => {
  const collections = {
    items: { schema: { n: { type: 'integer' } }, permissions: { '*': true } },
    users: {
      schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } },
      permissions: { '*': true },
    },
    guests: { schema: { email: text }, permissions: { '*': true } },
  }
  const body = { documents: [{}] }
  const start = (): TestService => {
    const service = createTestService({ collections })
    opened.push(service)
    return service
  }

  test.each<[string, string, unknown]>([
    ['a trailing slash', 'POST /items/bulk/', 201],
    ['a parameter', 'POST /items/bulk?limit=1', [400, 'invalid_query']],
    ['expand', 'POST /items/bulk?expand=["n"]', [400, 'invalid_query']],
    ['GET', 'GET /items/bulk', [405, 'method_not_allowed']],
    ['PUT', 'PUT /items/bulk', [405, 'method_not_allowed']],
    ['PATCH', 'PATCH /items/bulk', [405, 'method_not_allowed']],
    ['DELETE', 'DELETE /items/bulk', [405, 'method_not_allowed']],
    ['an unknown collection', 'POST /nothing/bulk', [404, 'not_found']],
    ['another case', 'POST /items/Bulk', [405, 'method_not_allowed']],
    ['more behind it', 'POST /items/bulk/more', [404, 'not_found']],
    ['a collection with a secret', 'POST /users/bulk', [405, 'method_not_allowed']],
    ['a collection without one', 'POST /guests/bulk', 201],
  ])('with %s', async (_, request, outcome) => {
    const sent = await start().send(request, /^(?:GET|DELETE)/.test(request) ? {} : { body })
    expect(outcomeOf(sent)).toEqual(outcome)
  })

  test('says what it allows', async () => {
    const { send } = start()
    const allowed = async (line: string) => (await send(line)).headers.get('allow')
    expect(await allowed('OPTIONS /items/bulk')).toBe('POST, OPTIONS')
    expect(await allowed('GET /items/bulk')).toBe('POST, OPTIONS')
    expect(await allowed('HEAD /items/bulk')).toBe('POST, OPTIONS')
    expect(await allowed('OPTIONS /users/bulk')).toBe(await allowed(`OPTIONS /users/${idOf(1)}`))
  })

  test('where accounts have a secret, nothing is created by it', async () => {
    const { send } = start()
    await send('POST /users/bulk', { body: { documents: [{ email: 'a', password: 'secret' }] } })
    expect((await send('GET /users/count')).body).toEqual({ total: 0 })
    expect(outcomeOf(await send('GET /users/bulk'))).toEqual([404, 'not_found'])
  })

  test.each([
    ['image/png', 415],
    ['application/json; charset=latin1', 415],
    ['application/vnd.api+json', 201],
  ])('takes JSON only: %s', async (type, status) => {
    const sent = await start().send(BULK, { raw: JSON.stringify(body), headers: { 'content-type': type } })
    expect(sent.status).toBe(status)
  })

  test('lies below the base path', async () => {
    const service = createTestService({ collections }, { basePath: '/api' })
    opened.push(service)
    expect((await service.send('POST /api/items/bulk', { body })).status).toBe(201)
    expect((await service.send(BULK, { body })).status).toBe(404)
  })
})

test('a source of ids that repeats itself does not let half of a bulk be', async () => {
  const memory = createMemoryAdapter()
  let writes = 0
  const adapter: StorageAdapter = {
    ...memory,
    async write(steps, options) {
      writes += 1
      // Somebody has the id of the second already.
      const second = steps.filter((step) => 'insert' in step)[1]
      if (writes === 1 && second && 'insert' in second) await memory.write([second], {})
      return memory.write(steps, options)
    },
  }
  const service = await openAll(
    { collections: { items: { schema: { n: { type: 'integer' } }, permissions: { '*': true } } } },
    {},
    { adapter },
  )
  writes = 0
  const sent = await service.send(BULK, { body: { documents: numbered(3) } })
  expect(sent.status).toBe(201)
  expect(await storedIn(service)).toHaveLength(4)
})
