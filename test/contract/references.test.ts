import { describe, expect, test } from 'vitest'
import {
  type Caller,
  ConfigError,
  type ConfigFault,
  createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
} from '../../src/index.js'
import { type AnyConfig, faultsOf } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { fieldsOf, idOf } from '../support/stored.js'
import {
  all,
  ann,
  answerOf,
  arrayOf,
  INVALID,
  idsOf,
  type Json,
  NOBODY,
  objectOf,
  outcomeOf,
  P1,
  P2,
  P3,
  shapes,
  snapshot,
  text,
  to,
  useOpen,
} from './support/references.js'

const storages = useStorages()
const open = useOpen()

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
      [`q[author]=${P1.toUpperCase()}`, [1, 3]],
      [`q[author][$in]=${P1}&q[author][$in]=${P2.toUpperCase()}`, [1, 2, 3]],
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
    for (const query of ['q[author][$gt]=null', 'q[author]=["x"]', 'q[author][$in]=[x]', 'sort[also]=1']) {
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
