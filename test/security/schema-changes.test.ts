import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  type ConfigError,
  createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
} from '../../src/index.js'
import {
  type MigrateDocument,
  type MigrationResult,
  migrateCollections,
} from '../../src/tools/migrate/index.js'
import { readStream } from '../support/event-streams.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useAllStorages, useLastingStorages } from '../support/storages.js'
import { idOf, openStored, readStored } from '../support/stored.js'

// CONTRACT.md §1, "Stored names", "Migrations", §7, "Earlier configurations", "Migrating"

const opened = closeAfterEach()
const text = { type: 'string' } as const

type Json = { readonly [name: string]: unknown }

describe.each(useAllStorages())('in %s', (_, create) => {
  test('no answer, cursor, event or description has a stored name', async () => {
    const config = {
      collections: {
        users: {
          stored: 'zzstored_users',
          schema: {
            mail: { ...text, unique: true, required: true, stored: 'zzstored_mail' },
            password: { type: 'hash', required: true, stored: 'zzstored_password' },
          },
          permissions: { '*': { read: true, create: true } },
        },
        notes: {
          stored: 'zzstored_notes',
          schema: {
            code: { ...text, unique: true, maxLength: 9, stored: 'zzstored_code' },
            n: { type: 'integer', stored: 'zzstored_n', maximum: 9 },
            place: {
              type: 'object',
              stored: 'zzstored_place',
              properties: { city: { ...text, stored: 'zzstored_city' } },
            },
            author: { type: 'reference', collection: 'users', stored: 'zzstored_author' },
          },
          permissions: { '*': true },
          changes: true,
        },
      },
    } as const
    const service = createTestService(config, { adapter: create(), openapi: true })
    opened.push(service)
    const { token, id: author } = await service.register({
      mail: 'ann@example.com',
      password: 'correct horse',
    })
    const stream = readStream(await service.handler(new Request('http://service.test/notes/changes')))
    const place = { city: 'Ulm' }
    const requests: readonly (readonly [line: string, body?: Json])[] = [
      ['POST /auth/register', { mail: 'ann@example.com', password: 'correct horse' }],
      ['POST /auth/login', { mail: 'ann@example.com', password: 'x' }],
      ['POST /notes', { code: 'a', n: 1, place, author }],
      ['POST /notes', { code: 'a', n: 2 }],
      ['POST /notes', { code: 'c', n: 3, place }],
      ['POST /notes', { n: 99, place: { city: 5, town: 'x' }, author: idOf(9) }],
      ['POST /notes/bulk', { documents: [{ code: 'd' }, { code: 'd' }] }],
      ['POST /_batch', { operations: [{ method: 'POST', path: '/notes', body: { code: 'a' } }] }],
      ['GET /notes?limit=1&sort[code]=1'],
      ['GET /notes?limit=1&sort[place.city]=desc&expand=author'],
      ['GET /notes?q[place][city]=Ulm&project=place'],
      ['GET /notes?q[cod]=a'],
      ['GET /notes?sort[place.town]=1'],
      ['GET /notes/count?q[n][$gt]=many'],
      ['GET /notes/aggregate?by[code]=value&sum=n'],
      ['GET /note'],
      ['GET /_openapi.json'],
      ['GET /'],
      [`DELETE /users/${author}`],
    ]
    for (const [line, body] of requests) {
      const { headers, text: answer } = await service.send(line, { token, ...(body ? { body } : {}) })
      // A cursor may be no plain text.
      const cursors = [...headers].flatMap(([, value]) => value.match(/[\w-]{20,}/g) ?? [])
      const shown = [
        answer,
        ...[...headers].flat(),
        ...cursors.map((one) => atob(one.replaceAll(/[-_]/g, 'A').slice(0, one.length - (one.length % 4)))),
      ]
      expect(
        shown.filter((one) => /zzstored_/i.test(one)),
        line,
      ).toEqual([])
    }
    await stream.until(3)
    await stream.close()
    expect(stream.text).not.toContain('zzstored_')
    expect(stream.text).toContain('Ulm')
  })
})

const CONFIG = {
  collections: {
    notes: {
      stored: 'posts',
      schema: {
        headline: { ...text, stored: 'title' },
        pin: { type: 'hash', stored: 'code' },
        address: { type: 'object', properties: { city: { ...text, stored: 'town' } } },
      },
      permissions: { '*': true },
      additionalProperties: true,
    },
    logs: { schema: { note: text }, permissions: { '*': true } },
  },
  migrations: ['m1'],
} as const

const { migrations: _, ...EARLIER } = CONFIG

const everyDocument = async (adapter: StorageAdapter, name: string): Promise<readonly Json[]> =>
  adapter.list(name, { filter: everything, sort: [], skip: 0, limit: null })

/** What a function returns that tries to write past its rights. */
const WRITES: readonly (readonly [what: string, result: MigrationResult])[] = [
  ...['_id', '_version', 'createdAt', 'updatedAt', 'createdBy', '_hashes', '_:headline', '_', 'code'].map(
    (name): readonly [string, MigrationResult] => [`sets ${name}`, { set: { [name]: 'taken' } }],
  ),
  ...['_hashes', 'createdBy', 'updatedAt', 'code'].map((name): readonly [string, MigrationResult] => [
    `removes ${name}`,
    { set: { [name]: null } },
  ]),
  ['sets a prototype', { set: JSON.parse('{ "__proto__": { "polluted": true } }') }],
  ['sets a declared name', { set: { headline: 'taken' } }],
  ['sets a declared name of a secret', { set: { pin: 'taken' } }],
  ['sets a prototype inside', { set: { address: JSON.parse('{ "__proto__": { "polluted": true } }') } }],
  ['sets a declared name inside', { set: { address: { city: 'taken' } } }],
  ['sets an undeclared name inside', { set: { address: { _hashes: 'taken' } } }],
  ...[
    'notes',
    'Posts',
    'log',
    '_sessions',
    '_schema',
    '_ledgers',
    '__proto__',
    'constructor',
    'toString',
    '',
  ].map((name): readonly [string, MigrationResult] => [
    `makes a document in ${JSON.stringify(name)}`,
    { also: [{ in: name, document: { note: 'taken' } }] },
  ]),
  ...(
    [
      { _id: idOf(2) },
      { _id: 'no-uuid' },
      { _id: null },
      { _version: 1 },
      { _hashes: { pin: 'taken' } },
      { '_:note': 'taken' },
      { createdAt: 'soon' },
      { createdBy: 5 },
      JSON.parse('{ "__proto__": { "polluted": true } }'),
      { constructor: 'taken' },
    ] as const
  ).map((document): readonly [string, MigrationResult] => [
    `makes ${JSON.stringify(document)}`,
    { also: [{ in: 'logs', document }] },
  ]),
  ['makes one in its own collection under an _id', { also: [{ in: 'posts', document: { _id: idOf(9) } }] }],
  ['makes one with a declared name', { also: [{ in: 'posts', document: { headline: 'taken' } }] }],
  ['makes one with a hash', { also: [{ in: 'posts', document: { _hashes: { code: 'taken' } } }] }],
  ['makes two under one _id', { also: [idOf(9), idOf(9)].map((_id) => ({ in: 'logs', document: { _id } })) }],
  [
    'makes two under one _id in other letters',
    { also: [idOf(10), idOf(10).toUpperCase()].map((_id) => ({ in: 'logs', document: { _id } })) },
  ],
]

test.each(WRITES)('a migration that %s is a failure, and changes nothing', async (_what, result) => {
  const service = await openStored(EARLIER, {
    posts: [{ title: 'told', _hashes: { code: 'hash' }, address: { town: 'Ulm' } }],
    logs: [{ note: 'x' }, { note: 'y' }],
  })
  const { adapter } = service
  const read = () => Promise.all(['posts', 'logs'].map((name) => everyDocument(adapter, name)))
  const before = await read()
  await service.handler.close()
  const m1 = { collections: { posts: (() => result) as MigrateDocument } }
  const { steps } = await migrateCollections(CONFIG, adapter, { migrations: { m1 } })
  expect(steps).toMatchObject([{ name: 'm1', done: 0, failed: 1, ids: [idOf(1)] }])
  expect(await read()).toEqual(before)
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test('what a function does to the document that it is given changes nothing', async () => {
  const service = await openStored(EARLIER, {
    posts: [{ title: 'told', _hashes: { code: 'hash' }, address: { town: 'Ulm' } }],
  })
  const before = await readStored(service, 'posts', idOf(1))
  await service.handler.close()
  const posts: MigrateDocument = (document) => {
    const open = document as { [name: string]: unknown }
    expect(Object.keys(document)).not.toContain('_hashes')
    expect(Reflect.set(open, 'title', 'taken')).toBe(false)
    expect(Reflect.set(open.address as object, 'town', 'taken')).toBe(false)
    return { set: {} }
  }
  const { steps } = await migrateCollections(CONFIG, service.adapter, {
    migrations: { m1: { collections: { posts } } },
  })
  expect(steps).toMatchObject([{ name: 'm1', done: 0, failed: 0 }])
  expect(await readStored(service, 'posts', idOf(1))).toEqual(before)
})

const SECRET = 'zeta-4711'

/** What only those who run the service are told. */
const TOLD = new RegExp(`${SECRET}|"m1|headline|posts|migrat|${idOf(1)}`)

test.each([
  ['a migration that fails', CONFIG, () => Promise.reject(new Error(`no: ${SECRET}`))],
  ['a migration that is not finished', CONFIG, undefined],
  [
    'a value of another type',
    {
      collections: {
        notes: { ...EARLIER.collections.notes, schema: { headline: { type: 'number', stored: 'title' } } },
      },
    },
    undefined,
  ],
  [
    'a missing value',
    {
      collections: {
        notes: {
          ...EARLIER.collections.notes,
          schema: { more: { ...text, required: true, fill: SECRET } },
        },
      },
    },
    undefined,
  ],
] as const)(
  '%s tells callers no more than that the storage is not available',
  async (_what, config, posts) => {
    const adapter = createMemoryAdapter()
    const first = await openStored(EARLIER, { posts: [{ title: SECRET }] }, { adapter })
    await first.handler.close()
    const service = createTestService(config, {
      adapter,
      holdsOthers: true,
      openapi: true,
      ...(posts ? { migrate: true, migrations: { m1: { collections: { posts } } } } : {}),
    })
    opened.push(service)
    const thrown = await service.handler.ready().then(
      () => undefined,
      (cause: unknown) => cause as ConfigError,
    )
    expect(thrown?.name).toBe('ConfigError')
    const details = new Set<string>()
    for (const line of [
      'GET /notes',
      `GET /notes/${idOf(1)}`,
      'POST /notes',
      'POST /_batch',
      `DELETE /notes/${idOf(1)}`,
    ]) {
      const sent = { mayFail: true, ...(line.startsWith('POST') ? { body: {} } : {}) }
      const { status, body, text: answer } = await service.send(line, sent)
      expect([status, body.code], line).toEqual([503, 'storage_unavailable'])
      expect(Object.keys(body).sort()).toEqual(['code', 'detail', 'requestId', 'status', 'title'])
      expect(answer).not.toMatch(TOLD)
      details.add(body.detail)
    }
    expect(details.size).toBe(1)
    const health = await service.handler(new Request('http://service.test/_health/ready'))
    expect([health.status, await health.text()]).toEqual([503, '{"status":"failing"}'])
  },
)

const STORED = (schema: Json, more: Json = {}): Json => ({ collections: { notes: { schema, ...more } } })

test.each<readonly [what: string, config: Json]>([
  [
    'two fields that differ by case',
    STORED({ a: { ...text, stored: 'title' }, b: { ...text, stored: 'Title' } }),
  ],
  ['a field and a stored name that differ by case', STORED({ a: text, b: { ...text, stored: 'A' } })],
  [
    'two inside an object',
    STORED({ o: { type: 'object', properties: { a: text, b: { ...text, stored: 'A' } } } }),
  ],
  ['a system field', STORED({ a: { ...text, stored: 'createdAt' } })],
  ['a system field in other letters', STORED({ a: { ...text, stored: 'CREATEDBY' } })],
  ['the _id', STORED({ a: { ...text, stored: '_id' } })],
  ['the hashes', STORED({ a: { ...text, stored: '_hashes' } })],
  ['a hidden name', STORED({ a: { ...text, stored: '_:b' } })],
  ['a prototype', STORED({ a: { ...text, stored: '__proto__' } })],
  ['a path', STORED({ a: { ...text, stored: 'o.b' } })],
  ['two collections', { collections: { a: { schema: {} }, b: { schema: {}, stored: 'a' } } }],
  [
    'two collections that differ by case',
    { collections: { a: { schema: {} }, b: { schema: {}, stored: 'A' } } },
  ],
  ['the sessions', STORED({}, { stored: '_sessions' })],
  ['the record', STORED({}, { stored: '_schema' })],
  ['two migrations that differ by case', { ...STORED({}), migrations: ['m1', 'M1'] }],
  ['a migration with a path', { ...STORED({}), migrations: ['../m1'] }],
  ['a migration with a name of objects', { ...STORED({}), migrations: ['__proto__'] }],
])('no configuration has the stored names of %s', (_what, config) => {
  expect(() => createCollectionService(config, createMemoryAdapter())).toThrow(
    expect.objectContaining({ name: 'ConfigError' }),
  )
})

test.each(['constructor', 'toString', 'valueOf'])(
  'a migration with the name %s of every object is not finished without its code',
  async (name) => {
    const adapter = createMemoryAdapter()
    const first = await openStored(EARLIER, { posts: [{ title: 'x' }] }, { adapter })
    await first.handler.close()
    const config = { ...CONFIG, migrations: [name] }
    await expect(migrateCollections(config, adapter)).rejects.toMatchObject({
      name: 'ConfigError',
      faults: [{ path: '/migrations/0' }],
    })
  },
)

describe.each(useLastingStorages())('what is erased in %s', (_, create) => {
  test.each([false, true])(
    'is in no answer, before its run and after it, additionalProperties: %s',
    async (additionalProperties) => {
      const connect = create()
      const configOf = (schema: object, settings: object = {}) => ({
        collections: {
          notes: { schema, permissions: { '*': true }, changes: true, additionalProperties, ...settings },
        },
      })
      const start = (config: object) => {
        const service = createTestService(config as never, {
          adapter: connect(),
          openapi: true,
          holdsOthers: true,
        })
        opened.push(service)
        return service
      }
      const earlier = start(configOf({ a: text, zz: text }))
      const { _id } = (await earlier.send('POST /notes', { body: { a: 'x', zz: 'hush-7312' } })).body
      await earlier.handler.close()
      const config = configOf({ a: text }, { erase: ['zz'] })
      const attack = async (): Promise<void> => {
        const { send, handler } = start(config)
        const stream = readStream(await handler(new Request('http://service.test/notes/changes')))
        const seen: string[] = []
        for (const line of [
          'GET /notes',
          `GET /notes/${_id}`,
          'GET /notes?project=zz',
          'GET /notes?q[zz][$gte]=hush',
          'GET /notes?q[zz][$exists]=true',
          'GET /notes?q[zz][$regex]=^h',
          'GET /notes?sort[zz]=1',
          'GET /notes/count?q[zz][$gte]=hush',
          'GET /notes/aggregate?by[zz]=value',
          'GET /_openapi.json',
        ] as const)
          seen.push((await send(line, { mayFail: true })).text)
        // Neither shown, nor to be found by what is written in its place.
        for (const [line, body] of [
          [`PATCH /notes/${_id}`, { a: 'y' }],
          [`PATCH /notes/${_id}`, { zz: 'hush-0' }],
          [`PUT /notes/${_id}`, { a: 'z' }],
          ['POST /notes', { zz: 'hush-0' }],
        ] as const)
          seen.push((await send(line, { body, mayFail: true })).text)
        await stream.until(3)
        await stream.close()
        seen.push(stream.text)
        expect(seen.join('\n')).not.toContain('hush-7312')
        await handler.close()
      }
      await attack()
      const adapter = connect()
      await migrateCollections(config, adapter, { erase: true })
      const stored = await adapter.list('notes', { filter: everything, sort: [], skip: 0, limit: null })
      expect(JSON.stringify(stored)).not.toContain('hush')
      await adapter.close()
      await attack()
    },
  )
})
