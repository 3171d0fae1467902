import { describe, expect, test } from 'vitest'
import { type Caller, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { createTestService, faultsOf, type Sent, type TestService } from '../support/service.js'
import { fieldsOf, idOf, openStored, readStored } from '../support/stored.js'
import { writeCases } from '../support/write-rules.js'

// CONTRACT.md §2, "Order of faults", "Preconditions"

type Json = { readonly [name: string]: unknown }

const NOW = '2026-11-20T08:00:00.000Z'
const ann: Caller = { id: 'ann', roles: [] }
const as = (...roles: string[]): Caller => ({ id: 'eve', roles })

const FRESH = '6fa459ea-ee8a-4ca4-894e-db77e160355e'
const PUT = `PUT /items/${FRESH}`
const absent = { 'if-none-match': '*' }

const outcomeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body?.code])

const UNAUTHENTICATED = [401, 'unauthenticated']
const FORBIDDEN = [403, 'forbidden']
const NOT_FOUND = [404, 'not_found']
const FAILED = [412, 'precondition_failed']
const INVALID = [400, 'validation_failed']

const configOf = (schema: Json, permissions: Json = { '*': true }) => ({
  collections: { items: { schema, permissions } },
})

const open = (config: Json, items: readonly Json[] = [], adapter?: StorageAdapter): Promise<TestService> =>
  openStored(
    config,
    { items },
    { authenticate: () => null, now: () => Date.parse(NOW), ...(adapter ? { adapter } : {}) },
  )

const text = { type: 'string' }

describe('PUT with If-None-Match: * creates', () => {
  const schema = {
    title: { type: 'string', required: true, maxLength: 10 },
    status: { type: 'string', default: 'draft' },
    mail: { type: 'string', trim: true, lowercase: true },
  }

  test('under the _id of the path, with the answer of a POST', async () => {
    const service = await open(configOf(schema))
    const body = { _id: idOf(9), createdBy: 'eve', mail: ' ANN@B.CO ', title: 'one' }
    const put = await service.send(PUT, { caller: ann, headers: absent, body })
    expect(put.status).toBe(201)
    expect(put.text).toBe(
      JSON.stringify({
        _id: FRESH,
        title: 'one',
        status: 'draft',
        mail: 'ann@b.co',
        createdAt: NOW,
        updatedAt: NOW,
        createdBy: 'ann',
      }),
    )
    expect(put.headers.get('location')).toBe(`/items/${FRESH}`)
    const got = await service.send(`GET /items/${FRESH}`, { caller: ann })
    expect(got.text).toBe(put.text)
    expect(put.headers.get('etag')).toBe(got.headers.get('etag'))

    const post = await service.send('POST /items', { caller: ann, body })
    expect([...post.headers.keys()]).toEqual([...put.headers.keys()])
    expect({ ...post.body, _id: FRESH }).toEqual(put.body)
    const { _version: version = 0 } = (await readStored(service, 'items', FRESH)) ?? {}
    expect(Number.isInteger(version) && version > 0 && version < 2 ** 52).toBe(true)
  })

  test('again, after it was deleted, in a version that it never had', async () => {
    const service = await open(configOf(schema))
    const versions: unknown[] = []
    for (let round = 0; round < 20; round++) {
      const body = { title: 'one' }
      expect((await service.send(PUT, { caller: ann, headers: absent, body })).status).toBe(201)
      const first = (await readStored(service, 'items', FRESH))?._version ?? 0
      expect((await service.send(`PATCH /items/${FRESH}`, { caller: ann, body })).status).toBe(200)
      const second = (await readStored(service, 'items', FRESH))?._version
      expect(second).toBe(first + 1)
      versions.push(first, second)
      expect((await service.send(`DELETE /items/${FRESH}`, { caller: ann })).status).toBe(204)
    }
    expect(new Set(versions).size).toBe(40)
  })

  test.each([
    ['version 4', FRESH],
    ['version 7', idOf(7)],
    ['version 1', '2c1b0a4e-5d3a-11ee-8c99-0242ac120002'],
    ['no version', '00000000-0000-0000-0000-000000000000'],
    ['the largest', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  ])('under a UUID of any kind: %s', async (_, id) => {
    const service = await open(configOf({}))
    const { status, body } = await service.send(`PUT /items/${id}/`, { headers: absent, body: {} })
    expect([status, body._id]).toEqual([201, id])
    expect((await service.send(`GET /items/${id}`)).status).toBe(200)
  })

  test('with blanks around the star', async () => {
    const service = await open(configOf({}))
    const { status } = await service.send(PUT, { headers: { 'if-none-match': '  * ' }, body: {} })
    expect(status).toBe(201)
  })

  test('and Location lies below the base path', async () => {
    const service = createTestService(configOf({}), { basePath: '/api', authenticate: () => null })
    const sent = await service.send(`PUT /api/items/${FRESH}`, { headers: absent, body: {} })
    expect([sent.status, sent.headers.get('location')]).toEqual([201, `/api/items/${FRESH}`])
  })

  test('what is created is listed in the place of its _id, and can be changed and deleted', async () => {
    const service = await open(configOf({ title: text }), [{ title: 'one' }])
    const lowest = '00000000-0000-4000-8000-000000000000'
    await service.send(`PUT /items/${lowest}`, { headers: absent, body: { title: 'zero' } })
    expect(await service.list('/items', 'title')).toEqual(['zero', 'one'])
    expect((await service.send(`PATCH /items/${lowest}`, { body: { title: 'new' } })).body.title).toBe('new')
    expect((await service.send(`DELETE /items/${lowest}`)).status).toBe(204)
    expect((await service.send(`PUT /items/${lowest}`, { headers: absent, body: {} })).status).toBe(201)
  })

  test('secrets are hashed, and shown to nobody', async () => {
    const config = configOf({ title: text, pin: { type: 'hash', required: true } })
    const service = await open(config)
    const sent = await service.send(PUT, { headers: absent, body: { title: 'one', pin: 'very secret' } })
    expect(sent.status).toBe(201)
    expect(sent.body).not.toHaveProperty('pin')
    const stored = await readStored(service, 'items', FRESH)
    expect(JSON.stringify(stored)).not.toContain('very secret')
    expect(JSON.stringify(stored)).toContain('$2')
  })

  test('a caller who may not read it gets its _id and nothing else', async () => {
    const service = await open(configOf({ title: text }, { user: { create: true } }))
    const sent = await service.send(PUT, { caller: ann, headers: absent, body: { title: 'one' } })
    expect([sent.status, sent.body]).toEqual([201, { _id: FRESH }])
    expect(await fieldsOf(service, 'items', FRESH)).toEqual({ title: 'one' })
  })
})

describe('the rules of create hold, not those of update', () => {
  test.each(writeCases.map((one) => [one.rule, one] as const))('%s', async (_, one) => {
    const { permissions, caller, body, expected } = one
    const schema = {
      a: text,
      b: text,
      n: { type: 'integer', maximum: 10 },
      team: text,
      at: { type: 'timestamp' },
    }
    const service = await open(configOf(schema, permissions))
    const { status } = await service.send(PUT, { caller, headers: absent, body })
    expect(status).toBe(typeof expected === 'number' ? expected : 201)
    expect(await fieldsOf(service, 'items', FRESH)).toEqual(typeof expected === 'number' ? {} : expected)
  })

  test('who may update but not create is refused, whether or not the _id exists', async () => {
    const permissions = { '*': { read: true, update: true }, maker: { create: true } }
    for (const id of [idOf(1), FRESH]) {
      const service = await open(configOf({ title: text }, permissions), [{ title: 'one' }])
      const sent = (caller: Caller | null) =>
        service.send(`PUT /items/${id}`, { caller, headers: absent, body: { title: 'two' } })
      expect(outcomeOf(await sent(null))).toEqual(UNAUTHENTICATED)
      expect(outcomeOf(await sent(ann))).toEqual(FORBIDDEN)
      expect(outcomeOf(await sent(as('maker')))).toEqual(id === FRESH ? 201 : FAILED)
    }
  })

  test('a body is not read where nobody may create', async () => {
    const service = await open(configOf({}, { maker: { create: true } }))
    for (const caller of [null, ann]) {
      const raw = new ReadableStream({
        pull() {
          throw new Error('the body was read')
        },
      })
      const sent = await service.send(PUT, { caller, headers: absent, raw })
      expect(outcomeOf(sent)).toEqual(caller ? FORBIDDEN : UNAUTHENTICATED)
    }
  })
})

describe('an _id that exists is a 412', () => {
  const schema = {
    title: { type: 'string', maxLength: 5 },
    team: text,
    slug: { type: 'string', unique: true },
  }

  test.each<[string, Json, Caller | null]>([
    ['to a caller who may read and write it', { '*': true }, null],
    ['to a caller who may read nothing', { user: { create: true } }, ann],
    ['to whom it is hidden by where', { user: { create: true, read: { where: { team: 'x' } } } }, ann],
    ['to a caller who may only create', { '*': { create: true } }, null],
  ])('%s', async (_, permissions, caller) => {
    const service = await open(configOf(schema, permissions), [{ title: 'one', team: 'y' }])
    const before = await readStored(service, 'items', idOf(1))
    for (const body of [{ title: 'two' }, { title: 'too long' }, {}]) {
      const sent = await service.send(`PUT /items/${idOf(1)}`, { caller, headers: absent, body })
      expect(outcomeOf(sent)).toEqual(FAILED)
      expect(sent.headers.get('etag')).toBeNull()
      expect(sent.text).not.toContain('one')
    }
    expect(await readStored(service, 'items', idOf(1))).toEqual(before)
  })

  test('so a create whose outcome is unknown can be repeated', async () => {
    const memory = createMemoryAdapter()
    let isLost = false
    const adapter: StorageAdapter = {
      ...memory,
      async write(...args) {
        const result = await memory.write(...args)
        if (isLost) throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' })
        return result
      },
    }
    const service = await open(configOf(schema), [], adapter)
    const request = { headers: absent, body: { title: 'one', slug: 'one' }, mayFail: true }
    isLost = true
    expect((await service.send(PUT, request)).status).toBe(500)
    isLost = false
    expect(outcomeOf(await service.send(PUT, request))).toEqual(FAILED)
    expect(await service.list('/items', 'slug')).toEqual(['one'])
  })

  test('of two at once one is made', async () => {
    for (const slugs of [
      ['one', 'two'],
      ['one', 'one'],
    ]) {
      const service = await open(configOf(schema))
      const sent = await Promise.all(
        slugs.map((slug) => service.send(PUT, { headers: absent, body: { slug } })),
      )
      expect(sent.map(outcomeOf)).toEqual([201, FAILED])
      expect(await service.list('/items', 'slug')).toEqual(['one'])
    }
  })

  test('also where storage names another index that the later of two breaks', async () => {
    const memory = createMemoryAdapter()
    const adapter: StorageAdapter = {
      ...memory,
      async write(...args) {
        const result = await memory.write(...args)
        return result.ok || result.reason !== 'unique' ? result : { ...result, fields: ['slug'] }
      },
    }
    const service = await open(configOf(schema), [], adapter)
    const send = () => service.send(PUT, { headers: absent, body: { slug: 'one' } })
    expect((await Promise.all([send(), send()])).map(outcomeOf)).toEqual([201, FAILED])
  })

  test('a PUT that creates and a POST of the same unique value: the value decides', async () => {
    const service = await open(configOf(schema), [{ slug: 'one' }])
    const sent = await service.send(PUT, { headers: absent, body: { slug: 'one' } })
    expect(outcomeOf(sent)).toEqual([409, 'unique_violation'])
    expect(faultsOf(sent)).toEqual({ '/slug': 'taken' })
    expect(await readStored(service, 'items', FRESH)).toBeUndefined()
  })
})

describe('faults come in their order', () => {
  const schema = { a: { type: 'string', maxLength: 3 }, slug: { type: 'string', unique: true }, team: text }
  const permissions = { user: { read: true }, writer: { read: true, create: { check: { team: 'x' } } } }
  const writer = as('writer')
  const everything = { a: 'too long', slug: 'one' }
  const image = { 'content-type': 'image/png' }

  test.each<[string, Caller | null, string, { body?: unknown; raw?: string; headers?: Json }, unknown]>([
    ['nobody', null, `${FRESH}?x=1`, { raw: '{', headers: image }, UNAUTHENTICATED],
    ['nobody, and the _id exists', null, `${idOf(1)}?x=1`, { raw: '{', headers: image }, UNAUTHENTICATED],
    ['nobody, and no _id', null, 'nonsense?x=1', { raw: '{', headers: image }, UNAUTHENTICATED],
    ['no rule', ann, `${FRESH}?x=1`, { raw: '{', headers: image }, FORBIDDEN],
    ['no rule, and the _id exists', ann, `${idOf(1)}?x=1`, { raw: '{', headers: image }, FORBIDDEN],
    ['query', writer, `${idOf(1)}?x=1`, { raw: '{', headers: image }, [400, 'invalid_query']],
    ['media type', writer, idOf(1), { raw: '{', headers: image }, [415, 'unsupported_media_type']],
    [
      'size',
      writer,
      idOf(1),
      { raw: `{"a":"${'x'.repeat(2000)}"`, headers: { 'content-type': 'application/json' } },
      [413, 'body_too_large'],
    ],
    [
      'JSON',
      writer,
      idOf(1),
      { raw: '{', headers: { 'content-type': 'application/json' } },
      [400, 'invalid_json'],
    ],
    ['no _id', writer, 'nonsense', { body: everything, headers: { 'if-match': '"x"' } }, NOT_FOUND],
    ['precondition', writer, idOf(1), { body: everything }, FAILED],
    ['validation', writer, FRESH, { body: everything }, INVALID],
    ['check', writer, FRESH, { body: { slug: 'one' } }, FORBIDDEN],
    ['conflict', writer, FRESH, { body: { slug: 'one', team: 'x' } }, [409, 'unique_violation']],
  ])('%s', async (_, caller, id, { headers = {}, ...sent }, expected) => {
    const config = { ...configOf(schema, permissions), limits: { bodyBytes: 1000 } }
    const service = await open(config, [{ slug: 'one', team: 'y' }])
    const answer = await service.send(`PUT /items/${id}`, {
      caller,
      headers: { ...absent, ...(headers as { [name: string]: string }) },
      ...sent,
    })
    expect(outcomeOf(answer)).toEqual(expected)
  })

  test.each([
    ['without hyphens', FRESH.replaceAll('-', '')],
    ['in braces', `{${FRESH}}`],
    ['a name', 'first'],
    ['too long', `${FRESH}0`],
    ['a prototype', '__proto__'],
  ])('an _id that no document can have is a 404: %s', async (_, id) => {
    const service = await open(configOf({}))
    expect(outcomeOf(await service.send(`PUT /items/${id}`, { headers: absent, body: {} }))).toEqual(
      NOT_FOUND,
    )
    expect((await service.send('GET /items/count')).body).toEqual({ total: 0 })
  })

  test('count is no _id', async () => {
    const service = await open(configOf({}))
    const sent = await service.send('PUT /items/count', { headers: absent, body: {} })
    expect(outcomeOf(sent)).toEqual([405, 'method_not_allowed'])
  })
})

describe('what else a request may expect', () => {
  const config = configOf({ a: text })
  const etagOf = ({ headers }: Sent): string => headers.get('etag') ?? 'none'

  test.each<[string, (etag: string) => { readonly [name: string]: string }]>([
    ['If-Match with a tag beside it', (etag) => ({ ...absent, 'if-match': etag })],
    ['If-Match with another beside it', () => ({ ...absent, 'if-match': '"other"' })],
    ['If-Match with a star beside it', () => ({ ...absent, 'if-match': '*' })],
  ])('never holds, whether or not the _id exists: %s', async (_, headersOf) => {
    const service = await open(config, [{ a: '1' }])
    const headers = headersOf(etagOf(await service.send(`GET /items/${idOf(1)}`)))
    for (const id of [idOf(1), FRESH]) {
      const sent = await service.send(`PUT /items/${id}`, { headers, body: { a: '2' } })
      expect(outcomeOf(sent)).toEqual(FAILED)
    }
    expect(await service.list('/items', 'a')).toEqual(['1'])
  })

  test.each<[string, (etag: string) => string, boolean]>([
    ['the tag', (etag) => etag, false],
    ['the tag as a weak one', (etag) => `W/${etag}`, false],
    ['another', () => '"other"', true],
    ['a star among tags', () => '"other", *', false],
    ['two stars', () => '*, *', false],
    ['a tag without quotes', () => 'other', false],
    ['nothing', () => '', false],
  ])('If-None-Match of an update is a condition: %s', async (_, write, holds) => {
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      const service = await open(config, [{ a: '1' }])
      const headers = { 'if-none-match': write(etagOf(await service.send(`GET /items/${idOf(1)}`))) }
      const sent = await service.send(`${method} /items/${idOf(1)}`, { headers, body: { a: '2' } })
      expect(outcomeOf(sent)).toEqual(holds ? (method === 'DELETE' ? 204 : 200) : FAILED)
      expect(outcomeOf(await service.send(`${method} /items/${FRESH}`, { headers, body: {} }))).toEqual(
        NOT_FOUND,
      )
    }
  })

  test.each(['PATCH', 'DELETE'])('a star on %s creates nothing', async (method) => {
    const service = await open(config, [{ a: '1' }])
    const send = (id: string) => service.send(`${method} /items/${id}`, { headers: absent, body: { a: '2' } })
    expect(outcomeOf(await send(idOf(1)))).toEqual(FAILED)
    expect(outcomeOf(await send(FRESH))).toEqual(NOT_FOUND)
    expect(await service.list('/items', 'a')).toEqual(['1'])
  })

  test('a PUT without it creates nothing', async () => {
    const service = await open(config)
    for (const headers of [{}, { 'if-match': '*' }]) {
      expect(outcomeOf(await service.send(PUT, { headers, body: {} }))).toEqual(NOT_FOUND)
    }
  })
})

describe('accounts get their _id from the service', () => {
  const users = {
    schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } },
    permissions: { user: { read: true }, '*': { create: true }, admin: true },
  }
  const body = { email: 'ann', password: 'secret' }
  const line = `PUT /users/${FRESH}`

  test('nobody creates one under another', async () => {
    const service = createTestService({ collections: { users } })
    const { token, id } = await service.register(body)
    const other = { email: 'bob', password: 'secret' }
    for (const who of [{}, { token }, { caller: as('admin') }]) {
      expect(outcomeOf(await service.send(line, { ...who, headers: absent, body: other }))).toEqual(FORBIDDEN)
      expect(
        outcomeOf(await service.send(`PUT /users/${id}`, { ...who, headers: absent, body: other })),
      ).toEqual(FORBIDDEN)
    }
    expect(await service.list('/users', 'email', { token })).toEqual(['ann'])
  })

  test('nobody signed in and no grant is a 401 first', async () => {
    const service = createTestService({ collections: { users: { ...users, permissions: {} } } })
    expect(outcomeOf(await service.send(line, { headers: absent, body }))).toEqual(UNAUTHENTICATED)
  })

  test('where the host keeps the accounts, too', async () => {
    const service = createTestService({ collections: { users } }, { authenticate: () => null })
    const sent = await service.send(line, { headers: absent, body: { nick: 'ann' } })
    expect(outcomeOf(sent)).toEqual([403, 'forbidden'])
  })
})
