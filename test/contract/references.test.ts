import { describe, expect, test } from 'vitest'
import { everything } from '../../src/filter/filter.js'
import {
  type Caller,
  ConfigError,
  type ConfigFault,
  createCollectionService,
  createMemoryAdapter,
  type ServiceOptions,
  type StorageAdapter,
} from '../../src/index.js'
import {
  type AnyConfig,
  createTestService,
  faultsOf,
  type SendOptions,
  type Sent,
  type TestService,
} from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { fieldsOf, idOf, openStored, readStored } from '../support/stored.js'

type Json = { readonly [name: string]: unknown }

const storages = useStorages()

const opened = closeAfterEach()

type Stored = { readonly [collection: string]: readonly Json[] }

async function open(
  collections: Json,
  stored: Stored,
  options: ServiceOptions & { readonly adapter?: StorageAdapter } = {},
): Promise<TestService> {
  const service = await openStored({ collections }, stored, { authenticate: () => null, ...options })
  opened.push(service)
  return service
}

const ann: Caller = { id: 'ann' }
const text = { type: 'string' }
const all = { '*': true }
const to = (collection: string, more: Json = {}): Json => ({ type: 'reference', collection, ...more })
const arrayOf = (items: Json): Json => ({ type: 'array', items })
const objectOf = (properties: Json): Json => ({ type: 'object', properties })

/** An id that no document has. */
const NOBODY = idOf(0xdead)

const outcomeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body?.code])

/** An answer but for what is random in it. */
const answerOf = ({ status, headers, text: body }: Sent): unknown => [
  status,
  [...headers],
  body.replace(/"requestId":"[^"]*"/, ''),
]

const INVALID = [400, 'validation_failed']
const FORBIDDEN = [403, 'forbidden']
const IN_USE = [409, 'reference_in_use']
const TAKEN = [409, 'unique_violation']

/** All that is stored, by collection. */
async function snapshot({ adapter }: TestService, names: readonly string[]): Promise<unknown> {
  const query = { filter: everything, sort: [], skip: 0, limit: null }
  const lists = await Promise.all(names.map((name) => adapter.list(name, query)))
  return lists.map((documents) => [...documents].sort((a, b) => (a._id < b._id ? -1 : 1)))
}

/** The ids that are left, by collection. */
async function idsOf({ adapter }: TestService, name: string): Promise<readonly string[]> {
  const documents = await adapter.list(name, { filter: everything, sort: [], skip: 0, limit: null })
  return documents.map(({ _id }) => _id).sort()
}

describe('a configuration with references', () => {
  function configFaults(config: AnyConfig): readonly ConfigFault[] {
    try {
      createCollectionService(config, createMemoryAdapter(), { production: false })
      return []
    } catch (thrown) {
      if (thrown instanceof ConfigError) return thrown.faults
      throw thrown
    }
  }

  const withField = (definition: Json): AnyConfig => ({
    collections: { people: { schema: {} }, posts: { schema: { r: definition } } },
  })
  const AT = '/collections/posts/schema/r'

  test.each<[string, Json]>([
    ['the collection alone', to('people')],
    ['its own collection', to('posts')],
    ['restrict', to('people', { onDelete: 'restrict' })],
    ['cascade', to('people', { onDelete: 'cascade' })],
    ['required', to('people', { required: true })],
    ['nullable', to('people', { nullable: true })],
    ['immutable', to('people', { immutable: true })],
    ['unique', to('people', { unique: true })],
    ['index', to('people', { index: true })],
    ['a default', to('people', { default: idOf(1) })],
    ['a description', to('people', { description: 'who wrote it' })],
    ['an array of references', arrayOf(to('people'))],
    ['a reference in an object', objectOf({ deep: objectOf({ r: to('people') }) })],
    ['a reference in an array of objects', arrayOf(objectOf({ r: to('people') }))],
    ['a reference deep in an array of objects', arrayOf(objectOf({ deep: objectOf({ r: to('people') }) }))],
    ['an array of references in an object', objectOf({ many: arrayOf(to('people')) })],
  ])('may have %s', (_, definition) => {
    expect(configFaults(withField(definition))).toEqual([])
  })

  test.each<[string, Json, string]>([
    ['an unknown collection', to('persons'), `${AT}/collection`],
    ['a collection that is no text', { type: 'reference', collection: 5 }, `${AT}/collection`],
    ['an inherited name', to('toString'), `${AT}/collection`],
    ['an unknown collection in an array', arrayOf(to('persons')), `${AT}/items/collection`],
    ['an unknown collection in an object', objectOf({ x: to('persons') }), `${AT}/properties/x/collection`],
    [
      'an unknown collection in an array of objects',
      arrayOf(objectOf({ x: to('persons') })),
      `${AT}/items/properties/x/collection`,
    ],
    ['no collection', { type: 'reference' }, `${AT}/collection`],
    ['another onDelete', to('people', { onDelete: 'setNull' }), `${AT}/onDelete`],
    ['an unknown attribute', to('people', { maxLength: 5 }), `${AT}/maxLength`],
    ['a default that is no text', to('people', { default: 5 }), `${AT}/default`],
    ['required and nullable at once', to('people', { required: true, nullable: true }), `${AT}/nullable`],
    [
      'a unique reference in an object',
      objectOf({ x: to('people', { unique: true }) }),
      `${AT}/properties/x/unique`,
    ],
    ['an indexed reference in an array', arrayOf(to('people', { index: true })), `${AT}/items/index`],
    ['arrays of arrays', arrayOf(arrayOf(to('people'))), `${AT}/items/items`],
    [
      'an array in an object in an array',
      arrayOf(objectOf({ many: arrayOf(to('people')) })),
      `${AT}/items/properties/many/items`,
    ],
  ])('may not have %s', (_, definition, path) => {
    expect(configFaults(withField(definition)).map((fault) => fault.path)).toEqual([path])
  })

  test('is told the nearest collection', () => {
    const [fault] = configFaults(withField(to('poeple')))
    expect(fault?.path).toBe(`${AT}/collection`)
    expect(fault?.message).toContain('people')
    expect(fault?.message).not.toContain('posts')
  })

  test('is told of all faults at once', () => {
    const config = {
      collections: {
        posts: { schema: { a: to('nowhere'), b: arrayOf(arrayOf(to('posts'))), c: to('nowhere') } },
      },
    }
    expect(configFaults(config).map(({ path }) => path.split('/').at(4))).toEqual(['a', 'b', 'c'])
  })
})

describe.each(storages)('what may be referred to, in %s', (_, create) => {
  const collections = {
    open: { schema: { name: text }, permissions: all },
    filtered: { schema: { name: text }, permissions: { '*': { read: { where: { name: 'shown' } } } } },
    closed: { schema: { name: text }, permissions: { admin: true } },
    owned: { schema: { name: text }, permissions: { owner: { read: true } } },
    mute: { schema: { name: text }, permissions: { '*': { read: { pick: [] } } } },
    posts: {
      schema: {
        title: text,
        open: to('open'),
        filtered: to('filtered'),
        closed: to('closed'),
        owned: to('owned'),
        mute: to('mute'),
      },
      permissions: all,
    },
  }
  const stored = {
    open: [{}],
    filtered: [{ name: 'shown' }, { name: 'hidden' }],
    closed: [{}],
    owned: [{ createdBy: 'ann' }, { createdBy: 'bob' }],
    mute: [{}],
    posts: [{ title: 'one' }],
  }
  const requests = ['POST /posts', `PATCH /posts/${idOf(1)}`, `PUT /posts/${idOf(1)}`]

  test('is what exists and the caller may read', async () => {
    const service = await open(collections, stored, { adapter: create() })
    for (const field of ['open', 'filtered', 'owned', 'mute']) {
      for (const request of requests) {
        const sent = await service.send(request, { caller: ann, body: { [field]: idOf(1) } })
        expect(outcomeOf(sent), `${request} ${field}`).toBe(request.startsWith('POST') ? 201 : 200)
        expect(sent.body[field]).toBe(idOf(1))
      }
    }
    const sent = await service.send('POST /posts', {
      caller: { id: 'eve', roles: ['admin'] },
      body: { closed: idOf(1) },
    })
    expect(outcomeOf(sent)).toBe(201)
  })

  test('what does not exist and what may not be read are one and the same answer', async () => {
    const service = await open(collections, stored, { adapter: create() })
    const before = await snapshot(service, Object.keys(collections))
    for (const [field, id] of [
      ['filtered', idOf(2)],
      ['closed', idOf(1)],
      ['owned', idOf(2)],
    ] as const) {
      for (const request of requests) {
        const send = (value: string) => service.send(request, { caller: ann, body: { [field]: value } })
        const unreadable = await send(id)
        expect(outcomeOf(unreadable), `${request} ${field}`).toEqual(INVALID)
        expect(faultsOf(unreadable)).toEqual({ [`/${field}`]: 'unknown_reference' })
        expect(answerOf(unreadable)).toEqual(answerOf(await send(NOBODY)))
        expect(unreadable.text).not.toContain(id)
      }
    }
    expect(await snapshot(service, Object.keys(collections))).toEqual(before)
  })

  test('nobody signed in owns nothing', async () => {
    const service = await open(
      collections,
      { ...stored, owned: [{ createdBy: null }] },
      { adapter: create() },
    )
    const sent = await service.send('POST /posts', { body: { owned: idOf(1) } })
    expect(faultsOf(sent)).toEqual({ '/owned': 'unknown_reference' })
  })
})

const shapes = {
  one: to('people'),
  many: arrayOf(to('people')),
  o: objectOf({ r: to('people'), x: text }),
  list: arrayOf(objectOf({ r: to('people'), x: text })),
  deep: objectOf({ list: arrayOf(objectOf({ o: objectOf({ r: to('people') }) })) }),
}
const [P1, P2, P3] = [idOf(1), idOf(2), idOf(3)]

describe('a reference in a body', () => {
  const collections = {
    people: { schema: { name: text }, permissions: all },
    posts: { schema: { title: text, ...shapes }, permissions: all },
  }
  const stored = { people: [{}, {}, {}], posts: [{ title: 'one' }] }

  test.each<[string, Json]>([
    ['alone', { one: P1 }],
    ['in an array', { many: [P1, P2, P1] }],
    ['in an empty array', { many: [] }],
    ['in an object', { o: { r: P1, x: 'x' } }],
    ['in an array of objects', { list: [{ r: P1 }, { x: 'x' }, { r: P2 }] }],
    ['deep inside', { deep: { list: [{ o: { r: P1 } }, { o: {} }] } }],
    [
      'everywhere',
      { one: P1, many: [P2], o: { r: P3 }, list: [{ r: P1 }], deep: { list: [{ o: { r: P2 } }] } },
    ],
  ])('that exists is stored: %s', async (_, body) => {
    const service = await open(collections, stored)
    for (const request of ['POST /posts', `PATCH /posts/${idOf(1)}`, `PUT /posts/${idOf(1)}`]) {
      const sent = await service.send(request, { body })
      expect(sent.status, `${request} ${sent.text}`).toBeLessThan(300)
      expect(sent.body).toMatchObject(body)
      expect(await fieldsOf(service, 'posts', sent.body._id)).toMatchObject(body)
    }
  })

  const UNKNOWN = 'unknown_reference'

  test.each<[string, Json, { [path: string]: string }]>([
    ['nothing', { one: NOBODY }, { '/one': UNKNOWN }],
    ['the id of another collection', { one: 'aaaaaaaa-0000-7000-8000-000000000001' }, { '/one': UNKNOWN }],
    ['a UUID in upper case', { one: P1.toUpperCase() }, { '/one': UNKNOWN }],
    ['a UUID in braces', { one: `{${P1}}` }, { '/one': UNKNOWN }],
    ['a UUID with blanks', { one: ` ${P1} ` }, { '/one': UNKNOWN }],
    ['no UUID', { one: 'ann' }, { '/one': UNKNOWN }],
    ['empty text', { one: '' }, { '/one': UNKNOWN }],
    ['a wildcard', { one: '%' }, { '/one': UNKNOWN }],
    ['a number', { one: 5 }, { '/one': 'wrong_type' }],
    ['an object', { one: { _id: P1 } }, { '/one': 'wrong_type' }],
    ['an array', { one: [P1] }, { '/one': 'wrong_type' }],
    ['true', { one: true }, { '/one': 'wrong_type' }],
    ['text where an array belongs', { many: P1 }, { '/many': 'wrong_type' }],
    ['one of an array', { many: [P1, NOBODY, P2] }, { '/many/1': UNKNOWN }],
    [
      'several of an array',
      { many: [NOBODY, P1, 5, null] },
      { '/many/0': UNKNOWN, '/many/2': 'wrong_type', '/many/3': 'wrong_type' },
    ],
    ['inside an object', { o: { r: NOBODY } }, { '/o/r': UNKNOWN }],
    ['null inside an array of objects', { list: [{ r: null }] }, { '/list/0/r': 'wrong_type' }],
    ['inside an array of objects', { list: [{ r: P1 }, { r: NOBODY }] }, { '/list/1/r': UNKNOWN }],
    ['deep inside', { deep: { list: [{ o: { r: NOBODY } }] } }, { '/deep/list/0/o/r': UNKNOWN }],
    [
      'with all faults at once',
      { one: NOBODY, title: 5, many: [NOBODY], extra: 1 },
      { '/one': UNKNOWN, '/title': 'wrong_type', '/many/0': UNKNOWN, '/extra': 'unknown_property' },
    ],
  ])('that names %s is a fault', async (_, body, faults) => {
    const service = await open(collections, stored)
    for (const request of ['POST /posts', `PATCH /posts/${idOf(1)}`, `PUT /posts/${idOf(1)}`]) {
      const sent = await service.send(request, { body })
      expect(outcomeOf(sent), request).toEqual(INVALID)
      expect(faultsOf(sent), request).toEqual(faults)
    }
    expect(await idsOf(service, 'posts')).toEqual([idOf(1)])
    expect(await fieldsOf(service, 'posts', idOf(1))).toEqual({ title: 'one' })
  })

  test.each(['POST /posts', `PATCH /posts/${idOf(1)}`, `PUT /posts/${idOf(1)}`])(
    'has at most 50 faults, one a path: %s',
    async (request) => {
      const service = await open(collections, stored)
      const many = Array.from({ length: 120 }, (_, i) => idOf(1000 + i))
      const sent = await service.send(request, { body: { many, one: NOBODY } })
      expect(outcomeOf(sent)).toEqual(INVALID)
      expect(sent.body.errors).toHaveLength(50)
      expect(new Set(sent.body.errors.map(({ path }: { path: string }) => path)).size).toBe(50)
    },
  )

  test('null removes one', async () => {
    const service = await open(collections, { ...stored, posts: [{ one: P1, o: { r: P1 } }] })
    const sent = await service.send(`PATCH /posts/${idOf(1)}`, { body: { one: null, o: { r: null } } })
    expect(sent.status).toBe(200)
    expect(await fieldsOf(service, 'posts', idOf(1))).toEqual({ o: {} })
  })

  test.each<[string, Json, string, Json, unknown]>([
    ['required and missing', { required: true }, 'POST /posts', {}, { '/r': 'required' }],
    [
      'required and removed',
      { required: true },
      `PATCH /posts/${idOf(1)}`,
      { r: null },
      { '/r': 'required' },
    ],
    ['nullable and null', { nullable: true }, 'POST /posts', { r: null }, 201],
    ['not nullable and null', {}, 'POST /posts', { r: null }, { '/r': 'wrong_type' }],
    [
      'immutable and another',
      { immutable: true },
      `PATCH /posts/${idOf(1)}`,
      { r: P2 },
      { '/r': 'immutable' },
    ],
    ['immutable and the same', { immutable: true }, `PATCH /posts/${idOf(1)}`, { r: P1 }, 200],
    ['immutable and given', { immutable: true }, 'POST /posts', { r: P2 }, 201],
    ['unique and free', { unique: true }, 'POST /posts', { r: P2 }, 201],
    ['unique and taken', { unique: true }, 'POST /posts', { r: P1 }, { '/r': 'taken' }],
    ['unique and missing', { unique: true }, 'POST /posts', {}, 201],
  ])('obeys its attributes: %s', async (_, attributes, request, body, expected) => {
    const config = { ...collections, posts: { schema: { r: to('people', attributes) }, permissions: all } }
    const service = await open(config, { people: [{}, {}], posts: [{ r: P1 }] })
    const sent = await service.send(request, { body })
    expect(sent.status < 400 ? sent.status : faultsOf(sent)).toEqual(expected)
  })

  test('many references are asked for with one query a collection', async () => {
    const memory = createMemoryAdapter()
    const asked: string[] = []
    const adapter: StorageAdapter = {
      ...memory,
      list(name, query) {
        asked.push(name)
        return memory.list(name, query)
      },
    }
    const service = await open(collections, stored, { adapter })
    asked.length = 0
    const body = { one: P1, many: [P1, P2, P3], list: [{ r: P3 }] }
    expect((await service.send('POST /posts', { body })).status).toBe(201)
    expect(asked).toEqual(['people'])
  })

  test('a document may refer to what it is itself once it is there, and not before', async () => {
    const config = { items: { schema: { r: to('items') }, permissions: all } }
    const service = await open(config, { items: [] })
    const first = await service.send('POST /items', { body: {} })
    const own = { body: { r: first.body._id } }
    expect((await service.send(`PATCH /items/${first.body._id}`, own)).status).toBe(200)
    const put = await service.send(`PUT /items/${idOf(7)}`, {
      headers: { 'if-none-match': '*' },
      body: { r: idOf(7) },
    })
    expect(faultsOf(put)).toEqual({ '/r': UNKNOWN })
  })

  test('a PUT that creates judges it too', async () => {
    const service = await open(collections, stored)
    const headers = { 'if-none-match': '*' }
    const put = (one: string) => service.send(`PUT /posts/${idOf(50)}`, { headers, body: { one } })
    expect(faultsOf(await put(NOBODY))).toEqual({ '/one': UNKNOWN })
    expect(outcomeOf(await put(P1))).toBe(201)
  })
})

describe('only what is new or changed is judged', () => {
  const collections = {
    people: { schema: { name: text }, permissions: { '*': { read: { where: { name: 'shown' } } } } },
    posts: { schema: { title: text, ...shapes }, permissions: all },
  }
  const people = [{ name: 'shown' }, { name: 'hidden' }, { name: 'shown' }]
  const [GONE, OTHER] = [idOf(80), idOf(81)]
  const before = {
    title: 'one',
    one: GONE,
    many: [GONE, P2, P1],
    o: { r: P2, x: 'x' },
    list: [{ r: GONE, x: 'x' }, { r: P2 }],
    deep: { list: [{ o: { r: GONE } }] },
  }

  test.each<[string, Json]>([
    ['something else', { title: 'two' }],
    ['something else beside it', { o: { x: 'y' } }],
    ['the same again', { one: GONE }],
    ['the order of an array', { many: [P1, GONE, P2] }],
    ['a shorter array', { many: [GONE] }],
    ['one more in an array that may be read', { many: [GONE, P2, P1, P3] }],
    ['what may be read in place of what may not', { many: [P1, P3] }],
    ['the order of objects in an array', { list: [{ r: P2 }, { r: GONE, x: 'x' }] }],
    [
      'another part of an object in an array',
      {
        list: [
          { r: GONE, x: 'z' },
          { r: P2, x: 'z' },
        ],
      },
    ],
    ['one more object', { list: [{ r: P1 }, { r: GONE }, { r: P2 }] }],
    ['the removal of it', { one: null, many: null, o: { r: null }, list: null }],
  ])('a PATCH of %s lets what is gone or hidden stay', async (_, body) => {
    const service = await open(collections, { people, posts: [before] })
    const sent = await service.send(`PATCH /posts/${idOf(1)}`, { body })
    expect(outcomeOf(sent), sent.text).toBe(200)
  })

  test.each<[string, Json, { [path: string]: string }]>([
    ['another that is gone', { one: OTHER }, { '/one': 'unknown_reference' }],
    ['one that is hidden', { one: P2 }, { '/one': 'unknown_reference' }],
    ['one more that is gone', { many: [GONE, OTHER] }, { '/many/1': 'unknown_reference' }],
    ['what another field holds', { o: { r: GONE } }, { '/o/r': 'unknown_reference' }],
    [
      'one more in an array of objects',
      { list: [{ r: OTHER }, { r: GONE }] },
      { '/list/0/r': 'unknown_reference' },
    ],
  ])('a PATCH to %s is refused', async (_, body, faults) => {
    const service = await open(collections, { people, posts: [before] })
    const sent = await service.send(`PATCH /posts/${idOf(1)}`, { body })
    expect(faultsOf(sent)).toEqual(faults)
    expect(await fieldsOf(service, 'posts', idOf(1))).toEqual(before)
  })

  test('a PUT of the whole document lets it stay too', async () => {
    const service = await open(collections, { people, posts: [before] })
    const { body } = await service.send(`GET /posts/${idOf(1)}`)
    const sent = await service.send(`PUT /posts/${idOf(1)}`, { body: { ...body, title: 'two' } })
    expect(outcomeOf(sent), sent.text).toBe(200)
    expect(await fieldsOf(service, 'posts', idOf(1))).toEqual({ ...before, title: 'two' })
  })

  test('what became unreadable meanwhile stays, and cannot be put in again once it was taken out', async () => {
    const service = await open(
      {
        ...collections,
        people: { ...collections.people, permissions: { ...collections.people.permissions, admin: true } },
      },
      { people, posts: [{ one: P1 }] },
    )
    const patch = (path: string, body: Json, caller: Caller | null = null) =>
      service.send(`PATCH ${path}`, { body, caller })
    expect((await patch(`/people/${P1}`, { name: 'hidden' }, { id: 'eve', roles: ['admin'] })).status).toBe(
      200,
    )
    expect((await patch(`/posts/${idOf(1)}`, { title: 'two' })).status).toBe(200)
    expect((await patch(`/posts/${idOf(1)}`, { one: P1 })).status).toBe(200)
    expect((await patch(`/posts/${idOf(1)}`, { one: null })).status).toBe(200)
    expect(outcomeOf(await patch(`/posts/${idOf(1)}`, { one: P1 }))).toEqual(INVALID)
  })
})

describe('values that rules and defaults bring in', () => {
  const people = { schema: { name: text }, permissions: { user: { read: true } } }
  const callerOf = (id: string, ...roles: string[]): Caller => ({ id, roles })
  const post = (service: TestService, body: Json, caller: Caller | null = callerOf(P1)) =>
    service.send('POST /posts', { body, caller })

  test.each<[string, string, Json, unknown, Json]>([
    ['$user._id of somebody known', P1, { r: '$user._id' }, 201, { r: P1 }],
    ['$user._id of somebody unknown', NOBODY, { r: '$user._id' }, FORBIDDEN, {}],
    ['$user._id that is no UUID', 'ann', { r: '$user._id' }, FORBIDDEN, {}],
    ['a field that the caller lacks', P1, { r: '$user.boss' }, FORBIDDEN, {}],
    ['an id', P1, { r: P2 }, 201, { r: P2 }],
    ['an id of nothing', P1, { r: NOBODY }, INVALID, {}],
    ['ids in an array', P1, { many: ['$user._id', P2] }, 201, { many: [P1, P2] }],
  ])('set with %s', async (_, id, set, expected, fields) => {
    const permissions = { user: { read: true, create: { set } } }
    const posts = { schema: { r: to('people'), many: arrayOf(to('people')) }, permissions }
    const service = await open({ people, posts }, { people: [{}, {}], posts: [] })
    // What stands in the body is overwritten, whatever it is.
    const sent = await post(service, { r: set.r === undefined ? P1 : NOBODY }, callerOf(id))
    expect(outcomeOf(sent)).toEqual(expected)
    if (sent.status === 201) expect(sent.body).toMatchObject(fields)
    else expect(await idsOf(service, 'posts')).toEqual([])
  })

  test('set on update is judged as a change', async () => {
    const permissions = { user: { read: true, update: { set: { r: '$user._id' } } } }
    const posts = { schema: { title: text, r: to('people') }, permissions }
    const service = await open({ people, posts }, { people: [{}], posts: [{ r: NOBODY }] })
    const patch = (id: string) =>
      service.send(`PATCH /posts/${idOf(1)}`, { caller: callerOf(id), body: { title: 'x' } })
    expect(outcomeOf(await patch(P2))).toEqual(FORBIDDEN)
    expect(outcomeOf(await patch(P1))).toBe(200)
    expect(await fieldsOf(service, 'posts', idOf(1))).toEqual({ title: 'x', r: P1 })
  })

  test.each<[string, Json, unknown]>([
    ['of a document', { r: to('people', { default: P1 }) }, { r: P1 }],
    ['of nothing', { r: to('people', { default: NOBODY }) }, { '/r': 'unknown_reference' }],
    [
      'in an object',
      { o: { ...objectOf({ r: to('people', { default: P1 }) }), default: {} } },
      { o: { r: P1 } },
    ],
    [
      'of an array',
      { many: { ...arrayOf(to('people')), default: [P1, NOBODY] } },
      { '/many/1': 'unknown_reference' },
    ],
  ])('a default %s', async (_, schema, expected) => {
    const service = await open({ people, posts: { schema, permissions: all } }, { people: [{}], posts: [] })
    const sent = await post(service, {})
    if (sent.status === 201) expect(await fieldsOf(service, 'posts', sent.body._id)).toEqual(expected)
    else expect(faultsOf(sent)).toEqual(expected)
  })

  test.each<[string, Json, readonly string[], Json, unknown, Json?]>([
    [
      'what a rule drops is not judged',
      { user: { create: { pick: ['title'] } } },
      [],
      { title: 'x', r: NOBODY },
      201,
      { title: 'x' },
    ],
    [
      'the rule that drops nothing is tried first',
      { a: { create: { pick: ['title'] } }, b: { create: { pick: ['title', 'r'] } } },
      ['a', 'b'],
      { title: 'x', r: NOBODY },
      INVALID,
    ],
    [
      'a rule whose check fails gives way to one that drops the reference',
      { a: { create: { pick: ['title'] } }, b: { create: { check: { title: 'y' } } } },
      ['a', 'b'],
      { title: 'x', r: P1 },
      201,
      { title: 'x' },
    ],
    [
      'a later rule that is invalid is passed over',
      {
        a: { create: { check: { title: 'y' } } },
        b: { create: { set: { r: NOBODY } } },
        c: { create: { pick: ['title'] } },
      },
      ['a', 'b', 'c'],
      { title: 'x', r: P1 },
      201,
      { title: 'x' },
    ],
    [
      'and where no other is left the request is refused',
      { a: { create: { check: { title: 'y' } } }, b: { create: { set: { r: NOBODY } } } },
      ['a', 'b'],
      { title: 'x', r: P1 },
      FORBIDDEN,
    ],
  ])('several rules: %s', async (_, permissions, roles, body, expected, fields) => {
    const posts = { schema: { title: text, r: to('people') }, permissions }
    const service = await open({ people, posts }, { people: [{}], posts: [] })
    const sent = await post(service, body, callerOf(P1, ...roles))
    expect(outcomeOf(sent)).toEqual(expected)
    if (fields) expect(await fieldsOf(service, 'posts', sent.body._id)).toEqual(fields)
  })

  test('an unknown reference comes before a check, and a check before a conflict', async () => {
    const schema = { slug: { type: 'string', unique: true }, title: text, r: to('people') }
    const rule = { check: { title: 'ok' } }
    const posts = { schema, permissions: { user: { read: true, create: rule, update: rule } } }
    const stored = { people: [{}], posts: [{ slug: 'a' }, { slug: 'b' }] }
    const service = await open({ people, posts }, stored)
    const cases: readonly (readonly [Json, unknown])[] = [
      [{ slug: 'a', title: 'no', r: NOBODY }, INVALID],
      [{ slug: 'a', title: 'no', r: P1 }, FORBIDDEN],
      [{ slug: 'a', title: 'ok', r: NOBODY }, INVALID],
      [{ slug: 'a', title: 'ok', r: P1 }, TAKEN],
    ]
    for (const request of ['POST /posts', `PATCH /posts/${idOf(2)}`, `PUT /posts/${idOf(2)}`]) {
      for (const [body, expected] of cases) {
        const sent = await service.send(request, { body, caller: callerOf(P1) })
        expect(outcomeOf(sent), `${request} ${JSON.stringify(body)}`).toEqual(expected)
      }
    }
    const headers = { 'if-match': '"other"' }
    const body = { r: NOBODY }
    const sent = await service.send(`PATCH /posts/${idOf(2)}`, { body, headers, caller: callerOf(P1) })
    expect(outcomeOf(sent)).toEqual([412, 'precondition_failed'])
  })
})

describe('accounts', () => {
  const teams = { schema: { name: text }, permissions: { '*': { read: { where: { name: 'open' } } } } }
  const usersOf = (more: Json = {}, onDelete = 'restrict') => ({
    schema: {
      email: { type: 'string', unique: true },
      password: { type: 'hash' },
      team: to('teams', { onDelete }),
    },
    permissions: { owner: { read: true }, ...more },
  })
  const credentials = { email: 'ann', password: 'secret' }
  const own: ServiceOptions = {}

  async function openAccounts(collections: Json, stored: Stored, adapter?: StorageAdapter) {
    const service = await openStored({ collections }, stored, { ...own, ...(adapter ? { adapter } : {}) })
    opened.push(service)
    return service
  }

  test('a registration refers to what a stranger may read', async () => {
    const users = usersOf({ '*': { create: { pick: ['team'] } } })
    const service = await openAccounts({ teams, users }, { teams: [{ name: 'open' }, { name: 'shut' }] })
    const register = (team: unknown) =>
      service.send('POST /auth/register', { body: { ...credentials, team } })
    const [unreadable, absent] = [await register(idOf(2)), await register(NOBODY)]
    expect(faultsOf(unreadable)).toEqual({ '/team': 'unknown_reference' })
    expect(answerOf(unreadable)).toEqual(answerOf(absent))
    expect([await idsOf(service, 'users'), await idsOf(service, '_sessions')]).toEqual([[], []])
    const { status, body } = await register(idOf(1))
    expect([status, body.user.team]).toEqual([201, idOf(1)])
  })

  test('a registration that no rule lets refer to anything drops the reference', async () => {
    const service = await openAccounts({ teams, users: usersOf() }, { teams: [] })
    const { status, body } = await service.send('POST /auth/register', {
      body: { ...credentials, team: NOBODY },
    })
    expect(status).toBe(201)
    expect(body.user).not.toHaveProperty('team')
  })

  test('whoever writes is named by set, and nobody can name another', async () => {
    const posts = {
      schema: { author: to('users'), reviewer: to('users') },
      permissions: { user: { read: true, create: { set: { author: '$user._id' } } } },
    }
    const service = await openAccounts({ teams, users: usersOf(), posts }, {})
    const { token, id } = await service.register(credentials)
    const other = await service.register({ email: 'bob', password: 'secret' })
    const sent = await service.send('POST /posts', { token, body: { author: other.id } })
    expect([sent.status, sent.body.author]).toEqual([201, id])
    const send = (reviewer: string) => service.send('POST /posts', { token, body: { reviewer } })
    expect(answerOf(await send(other.id))).toEqual(answerOf(await send(NOBODY)))
    expect((await send(id)).status).toBe(201)
  })

  describe.each(storages)('in %s', (_, create) => {
    test('users that go with what they refer to are signed out', async () => {
      const adminTeams = { ...teams, permissions: all }
      const users = usersOf({ '*': { create: { pick: ['team'] } } }, 'cascade')
      const service = await openAccounts(
        { teams: adminTeams, users },
        { teams: [{ name: 'a' }, { name: 'b' }] },
        create(),
      )
      const ofTeam = (email: string, team: string) => service.register({ email, password: 'secret', team })
      const [ann, bob, eve] = [
        await ofTeam('ann', idOf(1)),
        await ofTeam('bob', idOf(1)),
        await ofTeam('eve', idOf(2)),
      ]
      const me = async ({ token }: { token: string }) =>
        (await service.send('GET /auth/me', { token })).status
      expect(await Promise.all([ann, bob, eve].map(me))).toEqual([200, 200, 200])
      expect((await service.send(`DELETE /teams/${idOf(1)}`)).status).toBe(204)
      expect(await Promise.all([ann, bob, eve].map(me))).toEqual([401, 401, 200])
      expect(await idsOf(service, 'users')).toEqual([eve.id])
      expect(await idsOf(service, '_sessions')).toHaveLength(1)
    })

    test('where a host keeps the accounts no sessions are looked for', async () => {
      const collections = { teams: { ...teams, permissions: all }, users: usersOf({}, 'cascade') }
      const stored = { teams: [{}], users: [{ team: idOf(1) }] }
      const service = await open(collections, stored, { adapter: create() })
      expect((await service.send(`DELETE /teams/${idOf(1)}`)).status).toBe(204)
      expect(await idsOf(service, 'users')).toEqual([])
    })
  })
})

describe('documents to begin with', () => {
  const config = {
    collections: {
      posts: { schema: { author: to('people'), also: arrayOf(to('people')) }, permissions: all },
      people: { schema: { friend: to('people') }, permissions: { admin: true } },
    },
  }
  const start = async (documents: { [name: string]: object[] }): Promise<unknown> => {
    const service = createTestService(config, { documents, authenticate: () => null })
    opened.push(service)
    const failed = await service.handler.ready().then(
      () => undefined,
      (thrown: { readonly code: string; readonly errors: readonly { path: string; code: string }[] }) =>
        thrown,
    )
    if (!failed) return 'ready'
    expect(await idsOf(service, 'posts')).toEqual([])
    return [failed.code, failed.errors.map(({ path, code }) => [path, code])]
  }

  test.each<[string, { [name: string]: object[] }]>([
    ['one that comes later', { posts: [{ author: P1 }], people: [{ _id: P1 }] }],
    ['one that came before', { people: [{ _id: P1 }], posts: [{ author: P1, also: [P1] }] }],
    [
      'each other',
      {
        people: [
          { _id: P1, friend: P2 },
          { _id: P2, friend: P1 },
        ],
      },
    ],
    ['themselves', { people: [{ _id: P1, friend: P1 }] }],
  ])('may refer to %s', async (_, documents) => {
    expect(await start(documents)).toBe('ready')
  })

  test.each<[string, { [name: string]: object[] }, string]>([
    ['nothing', { people: [{ _id: P1 }], posts: [{ author: P1 }, { author: P2 }] }, '/posts/1/author'],
    ['a document of another collection', { posts: [{ _id: P1 }, { author: P1 }] }, '/posts/1/author'],
    ['nothing in an array', { people: [{ _id: P1 }], posts: [{ also: [P1, P2] }] }, '/posts/0/also/1'],
  ])('may not refer to %s', async (_, documents, path) => {
    expect(await start(documents)).toEqual(['validation_failed', [[path, 'unknown_reference']]])
  })
})

describe.each(storages)('queries on references, in %s', (_, create) => {
  const collections = {
    people: { schema: {}, permissions: all },
    posts: {
      schema: {
        n: { type: 'integer' },
        author: to('people'),
        also: arrayOf(to('people')),
        o: objectOf({ r: to('people') }),
      },
      permissions: all,
    },
    mine: {
      schema: { n: { type: 'integer' }, author: to('people') },
      permissions: { user: { read: { where: { author: '$user._id' } } } },
    },
  }
  const posts = [
    { n: 1, author: P1, also: [P2, P3] },
    { n: 2, author: P2, o: { r: P1 } },
    { n: 3, author: P1, also: [] },
    { n: 4 },
    { n: 5, author: 5, also: [5, P1] },
  ]

  test('take ids, with and without quotes', async () => {
    const service = await open(collections, { people: [{}, {}, {}], posts }, { adapter: create() })
    const table: readonly (readonly [query: string, expected: readonly number[]])[] = [
      [`q[author]=${P1}`, [1, 3]],
      [`q[author]="${P1}"`, [1, 3]],
      [`q[author]=${P1}&q[author]=${P2}`, [1, 2, 3]],
      [`q[author]=${P1.toUpperCase()}`, []],
      ['q[author]=ann', []],
      ['q[author]=5', []],
      [`q[author][$ne]=${P1}`, [2, 4, 5]],
      [`q[author][$in]=["${P1}","${P2}"]`, [1, 2, 3]],
      [`q[author][$nin]=["${P1}",null]`, [2]],
      ['q[author]=null', [4, 5]],
      ['q[author][$exists]=true', [1, 2, 3]],
      [`q[author][$gt]=${P1}`, [2]],
      [`q[author][$regex]=${P1.slice(-4)}$`, [1, 3]],
      [`q[also]=${P2}`, [1]],
      [`q[also]=${P1}`, [5]],
      [`q[also][$ne]=${P2}`, [2, 3, 4, 5]],
      [`q[o.r]=${P1}`, [2]],
      ['sort[author]=1', [4, 5, 1, 3, 2]],
      ['sort[author]=-1&sort[n]=-1', [2, 3, 1, 5, 4]],
      ['sort[o.r]=-1', [2, 5, 4, 3, 1]],
      [`q[$or][0][author]=${P2}&q[$or][1][n]=4`, [2, 4]],
    ]
    for (const [query, expected] of table)
      expect(await service.list(`/posts?${query}`, 'n'), query).toEqual(expected)
    for (const query of ['q[author][$gt]=null', 'q[author]=["x"]', 'q[author][$in]=x', 'sort[also]=1']) {
      expect(outcomeOf(await service.send(`GET /posts?${query}`)), query).toEqual([400, 'invalid_query'])
    }
  })

  test('a rule compares them with who asks', async () => {
    const mine = [{ n: 1, author: P1 }, { n: 2, author: P2 }, { n: 3 }]
    const service = await open(collections, { mine }, { adapter: create() })
    expect(await service.list('/mine', 'n', { caller: { id: P1 } })).toEqual([1])
    expect(await service.list('/mine', 'n', { caller: { id: 'ann' } })).toEqual([])
  })
})

describe.each(storages)('deleting what others refer to, in %s', (_, create) => {
  const names = ['people', 'posts']
  const restricted = {
    people: { schema: { name: text, friend: to('people') }, permissions: all },
    posts: { schema: { title: text, ...shapes }, permissions: { admin: true } },
  }
  const remove = (service: TestService, path: string, options: SendOptions = {}) =>
    service.send(`DELETE ${path}`, options)

  test('is refused without saying what refers to it, and changes nothing', async () => {
    const referrers: readonly Json[] = [
      { one: P1 },
      { many: [P2, P1] },
      { o: { r: P1 } },
      { list: [{ r: P2 }, { x: 'x' }, { r: P1 }] },
      { deep: { list: [{ o: {} }, { o: { r: P1 } }] } },
    ]
    const service = await open(
      restricted,
      { people: [{ name: 'ann' }, {}], posts: [] },
      { adapter: create() },
    )
    const answers = []
    for (const [i, referrer] of referrers.entries()) {
      const insert = { _id: idOf(100 + i), _version: 1, title: 'secret', ...referrer }
      expect(await service.adapter.write([{ in: 'posts', insert }], {})).toMatchObject({ ok: true })
      const before = await snapshot(service, names)
      const sent = await remove(service, `/people/${P1}`)
      expect(outcomeOf(sent), JSON.stringify(referrer)).toEqual(IN_USE)
      expect(sent.body.errors).toBeUndefined()
      expect(sent.text).not.toMatch(/posts|secret|0189abcd/)
      answers.push(answerOf(sent))
      expect(await snapshot(service, names)).toEqual(before)
      const caller = { id: 'eve', roles: ['admin'] }
      expect((await remove(service, `/posts/${idOf(100 + i)}`, { caller })).status).toBe(204)
    }
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect((await remove(service, `/people/${P1}`)).status).toBe(204)
    expect(outcomeOf(await remove(service, `/people/${P1}`))).toEqual([404, 'not_found'])
    expect((await remove(service, `/people/${P2}`)).status).toBe(204)
  })

  test('goes on once nothing refers to it any more', async () => {
    const config = { ...restricted, posts: { ...restricted.posts, permissions: all } }
    const service = await open(
      config,
      { people: [{}], posts: [{ one: P1, many: [P1] }] },
      { adapter: create() },
    )
    const patch = (body: Json) => service.send(`PATCH /posts/${idOf(1)}`, { body })
    expect((await patch({ one: null })).status).toBe(200)
    expect(outcomeOf(await remove(service, `/people/${P1}`))).toEqual(IN_USE)
    expect((await patch({ many: [] })).status).toBe(200)
    expect(outcomeOf(await remove(service, `/people/${P1}`))).toBe(204)
  })

  test('is not refused by a document that refers to itself', async () => {
    const service = await open(
      restricted,
      { people: [{ friend: P1 }, { friend: P3 }, { friend: P3 }] },
      { adapter: create() },
    )
    expect(outcomeOf(await remove(service, `/people/${P1}`))).toBe(204)
    expect(outcomeOf(await remove(service, `/people/${P3}`))).toEqual(IN_USE)
    expect(outcomeOf(await remove(service, `/people/${P2}`))).toBe(204)
    expect(outcomeOf(await remove(service, `/people/${P3}`))).toBe(204)
  })

  test('is judged after the right to do it', async () => {
    const people = {
      schema: { name: text },
      permissions: { user: { read: { where: { name: 'shown' } } }, admin: true },
    }
    const service = await open(
      { people, posts: restricted.posts },
      { people: [{ name: 'shown' }, { name: 'hidden' }], posts: [{ many: [P1, P2] }] },
      { adapter: create() },
    )
    const admin = { id: 'eve', roles: ['admin'] }
    expect(outcomeOf(await remove(service, `/people/${P1}`))).toEqual([401, 'unauthenticated'])
    expect(outcomeOf(await remove(service, `/people/${P1}`, { caller: ann }))).toEqual(FORBIDDEN)
    expect(outcomeOf(await remove(service, `/people/${P2}`, { caller: ann }))).toEqual([404, 'not_found'])
    const headers = { 'if-match': '"other"' }
    expect(outcomeOf(await remove(service, `/people/${P1}`, { caller: admin, headers }))).toEqual([
      412,
      'precondition_failed',
    ])
    expect(outcomeOf(await remove(service, `/people/${P1}`, { caller: admin }))).toEqual(IN_USE)
  })

  const chain = {
    a: { schema: { next: to('a', { onDelete: 'cascade' }), n: { type: 'integer' } }, permissions: all },
    b: {
      schema: { a: to('a', { onDelete: 'cascade' }), as: arrayOf(to('a', { onDelete: 'cascade' })) },
      permissions: { admin: true },
    },
    c: {
      schema: {
        o: objectOf({ b: to('b', { onDelete: 'cascade' }) }),
        list: arrayOf(objectOf({ b: to('b', { onDelete: 'cascade' }) })),
        a: to('a', { onDelete: 'cascade' }),
        keeps: to('b'),
      },
      permissions: { admin: true },
    },
    d: { schema: { keeps: to('b') }, permissions: { admin: true } },
  }
  const left = async (service: TestService) =>
    Object.fromEntries(
      await Promise.all(
        ['a', 'b', 'c', 'd'].map(async (name) => [
          name,
          (await idsOf(service, name)).map((id) => Number(`0x${id.slice(-4)}`)),
        ]),
      ),
    )

  test.each<[string, Stored, unknown, { [name: string]: readonly number[] }]>([
    [
      'what refers to it, and what refers to that',
      { a: [{}, {}], b: [{ a: P1 }, { a: P2 }], c: [{ o: { b: P1 } }, { o: { b: P2 } }] },
      204,
      { a: [2], b: [2], c: [2] },
    ],
    [
      'through arrays',
      {
        a: [{}, {}],
        b: [{ as: [P2, P1] }, { as: [P2] }],
        c: [{ list: [{}, { b: P1 }] }, { list: [{ b: P2 }] }],
      },
      204,
      { a: [2], b: [2], c: [2] },
    ],
    ['in a circle', { a: [{ next: P2 }, { next: P3 }, { next: P1 }, {}] }, 204, { a: [4] }],
    ['that refer to themselves', { a: [{ next: P1 }, { next: P2 }] }, 204, { a: [2] }],
    ['in a chain', { a: [{}, { next: P1 }, { next: P2 }, { next: P3 }, {}] }, 204, { a: [5] }],
    [
      'once, by two ways',
      { a: [{}], b: [{ a: P1 }, { a: P1, as: [P1] }], c: [{ o: { b: P1 }, list: [{ b: P2 }], a: P1 }] },
      204,
      {},
    ],
    [
      'though one that goes too holds on to another',
      { a: [{}], b: [{ a: P1 }], c: [{ a: P1, keeps: P1 }] },
      204,
      {},
    ],
    [
      'unless one that stays holds on to any',
      { a: [{}], b: [{ a: P1 }], c: [{ o: { b: P1 } }], d: [{ keeps: P1 }] },
      IN_USE,
      { a: [1], b: [1], c: [1], d: [1] },
    ],
    [
      'unless one that stays holds on to it, of the same collection',
      { a: [{}], b: [{ a: P1 }], c: [{ a: P1 }, { keeps: P1 }] },
      IN_USE,
      { a: [1], b: [1], c: [1, 2] },
    ],
    [
      'and nothing where nothing refers to it',
      { a: [{}, {}], b: [{ a: P2 }], c: [{}] },
      204,
      { a: [2], b: [1], c: [1] },
    ],
  ])('takes with it, whoever may read it, %s', async (_, stored, outcome, expected) => {
    const service = await open(chain, stored, { adapter: create() })
    expect(outcomeOf(await remove(service, `/a/${P1}`))).toEqual(outcome)
    expect(await left(service)).toEqual({ a: [], b: [], c: [], d: [], ...expected })
  })

  test.each([
    [1000, 204, 1],
    [1001, [409, 'cascade_too_large'], 1003],
  ])('takes at most 1,000 with it: %i', async (size, outcome, rest) => {
    const half = Math.floor(size / 2)
    const a = [{}, ...Array.from({ length: half }, () => ({ next: P1 })), {}]
    // Half of them refer to one of those that refer to it.
    const b = Array.from({ length: size - half }, (_, i) => (i % 2 === 0 ? { a: P2 } : { as: [P2, P3] }))
    const service = await open(chain, { a, b }, { adapter: create() })
    const sent = await remove(service, `/a/${P1}`)
    expect(outcomeOf(sent)).toEqual(outcome)
    const { a: as, b: bs } = await left(service)
    expect((as?.length ?? 0) + (bs?.length ?? 0)).toBe(rest)
  })

  test('finds those that refer to hundreds that go', async () => {
    const many = Array.from({ length: 600 }, () => ({ a: P1 }))
    const ids = many.map((_, i) => idOf(i + 1))
    const stored = { a: [{}], b: many, c: [...ids.slice(0, 300).map((b) => ({ list: [{ b }] })), {}] }
    const service = await open(chain, stored, { adapter: create() })
    expect(outcomeOf(await remove(service, `/a/${P1}`))).toBe(204)
    expect(await left(service)).toEqual({ a: [], b: [], c: [301], d: [] })
  })

  test('expects a state of the document itself, and of no other', async () => {
    const service = await open(chain, { a: [{ n: 1 }], b: [{ a: P1 }] }, { adapter: create() })
    const { headers } = await service.send(`GET /a/${P1}`)
    const etag = headers.get('etag') ?? ''
    const wrong = await remove(service, `/a/${P1}`, { headers: { 'if-match': '"other"' } })
    expect(outcomeOf(wrong)).toEqual([412, 'precondition_failed'])
    expect(await left(service)).toMatchObject({ a: [1], b: [1] })
    const caller = { id: 'eve', roles: ['admin'] }
    await service.send(`PATCH /b/${P1}`, { caller, body: { as: [P1] } })
    expect(outcomeOf(await remove(service, `/a/${P1}`, { headers: { 'if-match': etag } }))).toBe(204)
    expect(await left(service)).toMatchObject({ a: [], b: [] })
  })

  test('a reference in the place of which something else is stored keeps nothing', async () => {
    const posts = [{ one: 5, many: P1, o: P1, list: { r: P1 } }]
    const service = await open(restricted, { people: [{}], posts }, { adapter: create() })
    expect(outcomeOf(await remove(service, `/people/${P1}`))).toBe(204)
    expect(await readStored(service, 'posts', idOf(1))).toMatchObject({ one: 5 })
  })
})

test.each(['PATCH', 'PUT'])(
  'a %s cannot find out by guessing what a field that it may not read refers to',
  async (method) => {
    const [hidden, other, mine] = [idOf(1), idOf(2), idOf(3)]
    const service = await open(
      {
        targets: {
          schema: { open: { type: 'boolean' } },
          permissions: { '*': { read: { where: { open: true } } } },
        },
        posts: {
          schema: { title: text, secret: to('targets') },
          permissions: { user: { read: { omit: ['secret'] }, update: true } },
        },
      },
      {
        targets: [{ _id: hidden }, { _id: other }],
        posts: [{ _id: mine, title: 'a', secret: hidden }],
      },
    )
    const answers = await Promise.all(
      [hidden, other, idOf(9)].map((secret) =>
        service.send(`${method} /posts/${mine}`, { caller: ann, body: { secret } }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400])
    const { status } = await service.send(`PATCH /posts/${mine}`, { caller: ann, body: { title: 'b' } })
    expect(status).toBe(200)
  },
)

describe('a default that is a reference', () => {
  const [D, X, known] = [idOf(1), idOf(2), idOf(3)]
  const collections = {
    teams: { schema: { name: text }, permissions: { '*': { read: true } } },
    items: {
      schema: { t: text, team: { ...to('teams'), default: D, nullable: true } },
      permissions: { '*': { read: true, create: { omit: ['team'] } }, user: true },
    },
  }
  const stored = { teams: [{ _id: D }, { _id: X }], items: [{ _id: known, t: '1', team: X }] }
  const cases: readonly (readonly [what: string, line: string, caller: Caller | null, body: Json])[] = [
    ['stands in for what a rule drops', 'POST /items', null, { t: '1', team: X }],
    ['stands in for null', 'POST /items', ann, { t: '1', team: null }],
    ['stands in for null in a PUT', `PUT /items/${known}`, ann, { t: '1', team: null }],
    ['stands in for what is not there', 'POST /items', ann, { t: '1' }],
  ]
  test.each(cases)('%s', async (_, line, caller, body) => {
    const service = await open(collections, stored)
    const answer = await service.send(line, { caller, body })
    expect([200, 201]).toContain(answer.status)
    expect(answer.body.team).toBe(D)
  })
})

test('what lies hidden in an object that is patched is no new reference, and does not show', async () => {
  const [X, withTeam, without] = [idOf(1), idOf(2), idOf(3)]
  const meta = objectOf({ x: { type: 'integer' }, team: to('teams') })
  const service = await open(
    {
      teams: { schema: {}, permissions: { '*': { read: true } } },
      items: { schema: { meta }, permissions: { '*': { read: { omit: ['meta'] }, update: true } } },
    },
    {
      teams: [{ _id: X }],
      items: [
        { _id: withTeam, meta: { x: 1, team: X } },
        { _id: without, meta: { x: 1 } },
      ],
    },
  )
  for (const id of [withTeam, without])
    expect((await service.send(`PATCH /items/${id}`, { body: { meta: { x: 2 } } })).status).toBe(200)
})

test('a path has one fault, whether it is of the text or of what it refers to', async () => {
  const service = await open(
    {
      teams: { schema: {}, permissions: all },
      items: { schema: { ref: to('teams') }, permissions: all },
    },
    {},
  )
  const { body } = await service.send('POST /items', { body: { ref: '\u0000' } })
  expect(body.errors.map(({ path }: { path: string }) => path)).toEqual(['/ref'])
})

test('thousands of references are looked up, not searched for', async () => {
  const targets = Array.from({ length: 3000 }, (_, i) => ({ _id: idOf(i + 1) }))
  const service = await open(
    {
      teams: { schema: {}, permissions: { '*': { read: true } } },
      items: { schema: { many: arrayOf(to('teams')) }, permissions: all },
    },
    { teams: targets },
  )
  const many = targets.map(({ _id }) => _id)
  const created = await service.send('POST /items', { body: { many } })
  expect(created.status).toBe(201)
  const unknown = Array.from({ length: 20_000 }, (_, i) => idOf(10_000 + i))
  const refused = await service.send('POST /items', { body: { many: unknown } })
  expect([refused.status, refused.body.errors.length]).toEqual([400, 50])
})
