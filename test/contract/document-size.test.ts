import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { MIB, useSmallerBounds } from '../support/bounds.js'
import { createTestService, type Sent } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { fieldsOf, idOf, LONG_AGO, openStored } from '../support/stored.js'

// CONTRACT.md §1, "Limits", §2, "Update", §6, "Scheduling"

type Json = { readonly [name: string]: unknown }

const LIMIT = 1000
const TOO_LARGE = [413, 'document_too_large']
const ONE = `/items/${idOf(1)}`
const text = { type: 'string' }
const WRITER: Caller = { id: 'ann', roles: ['writer'] }

const schema = {
  a: text,
  j: { type: 'json' },
  slug: { type: 'string', unique: true },
  secret: { type: 'json' },
}
const read = { omit: ['secret'] }

const configOf = (writer: Json = { read, create: true, update: true }, admin: unknown = true) => ({
  collections: { items: { schema, permissions: { writer, admin } } },
  limits: { documentBytes: LIMIT },
})

const storages = useStorages()
const opened = closeAfterEach()

const open = async (config: Json, items: readonly Json[] = [], adapter = storages[0]?.[1]()) => {
  const options = {
    authenticate: () => null,
    now: () => Date.parse(LONG_AGO),
    ...(adapter ? { adapter } : {}),
  }
  const service = await openStored(config, { items }, options)
  opened.push(service)
  const send = (line: string, body?: unknown, headers: { [name: string]: string } = {}) =>
    service.send(line, { body, headers, caller: WRITER })
  return { ...service, send, sendAs: service.send }
}

const outcomeOf = ({ status, body }: Sent): unknown => (status < 400 ? status : [status, body?.code])
const bytesOf = (value: unknown): number =>
  Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))

const NEW_ID = '0190163d-8694-4000-8000-00000000abcd'

/** The ways in which a document can come to hold a body. */
const WAYS: readonly (readonly [
  string,
  (body: Json) => Parameters<Awaited<ReturnType<typeof open>>['send']>,
])[] = [
  ['POST', (body) => ['POST /items', body]],
  ['bulk', (body) => ['POST /items/bulk', { documents: [{}, body] }]],
  ['PUT that creates', (body) => [`PUT /items/${NEW_ID}`, body, { 'if-none-match': '*' }]],
  ['PATCH', (body) => [`PATCH ${ONE}`, body]],
  ['PUT', (body) => [`PUT ${ONE}`, body]],
]

describe.each(storages)('in %s', (_, create) => {
  test.each(WAYS)('a document has limits.documentBytes at most, by %s', async (_way, request) => {
    const { send } = await open(configOf(), [{}], create())
    const small = await send(...request({ a: '' }))
    const answered = small.body.documents?.[1] ?? small.body
    // Two bytes a character.
    const room = (LIMIT - bytesOf(answered)) / 2
    for (const [what, body] of [
      ['one byte more', { a: `${'é'.repeat(Math.floor(room))}ab` }],
      ['much more', { a: 'x'.repeat(LIMIT) }],
      ['a long list', { j: Array(LIMIT).fill(0) }],
    ] as const) {
      const service = await open(configOf(), [{}], create())
      expect(outcomeOf(await service.send(...request(body))), what).toEqual(TOO_LARGE)
      expect(await fieldsOf(service, 'items', idOf(1))).toEqual({})
      expect(await service.list('/items', '_id', { caller: WRITER })).toEqual([idOf(1)])
    }
    const service = await open(configOf(), [{}], create())
    const exact = { a: `${'é'.repeat(Math.floor(room))}${Number.isInteger(room) ? '' : 'a'}` }
    const { status, body } = await service.send(...request(exact))
    expect(status).toBeLessThan(300)
    expect(bytesOf(body.documents?.[1] ?? body)).toBe(LIMIT)
  })
})

describe('what its writer may not read', () => {
  test.each(WAYS)('counts as far as the body gives it, by %s', async (_, request) => {
    const { send } = await open(configOf(), [{ secret: 'x'.repeat(5 * LIMIT) }])
    expect(outcomeOf(await send(...request({ secret: 'x'.repeat(LIMIT) })))).toEqual(TOO_LARGE)
    expect((await send(...request({ secret: 'x'.repeat(LIMIT / 2) }))).status).toBeLessThan(300)
  })

  test.each(WAYS)('counts as far as the rule sets it, by %s', async (_, request) => {
    const rule = { set: { secret: 'x'.repeat(LIMIT) } }
    const { send } = await open(configOf({ read, create: rule, update: rule }), [{}])
    expect(outcomeOf(await send(...request({ a: '1' })))).toEqual(TOO_LARGE)
  })

  test.each(['PATCH', 'PUT'])('does not count where it is stored: %s', async (method) => {
    const answers: unknown[] = []
    for (const secret of [{ b: 'x'.repeat(5 * LIMIT) }, { b: 1 }, null]) {
      const { send } = await open(configOf(), [{ a: '1', ...(secret ? { secret } : {}) }])
      const given = [
        { a: 'x'.repeat(LIMIT / 2) },
        { secret: { c: 'x'.repeat(LIMIT / 2) } },
        { a: 'x'.repeat(LIMIT) },
      ]
      const sent: Sent[] = []
      for (const body of given) sent.push(await send(`${method} ${ONE}`, body))
      expect(sent.map(outcomeOf)).toEqual([200, method === 'PUT' ? 200 : TOO_LARGE, TOO_LARGE])
      answers.push(sent.map(({ text }) => text.replace(/"requestId":"[^"]*"/, '')))
    }
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1)
  })

  test('a secret that is hashed counts in clear', async () => {
    const users = {
      schema: { email: { type: 'string', unique: true }, password: { type: 'hash' }, bio: text },
      permissions: { '*': { create: { pick: ['bio'] } }, owner: { read: true, update: true } },
    }
    const { send } = createTestService({ collections: { users }, limits: { documentBytes: 400 } })
    const register = (bio: string) =>
      send('POST /auth/register', { body: { email: 'a@b.co', password: 'correct horse', bio } })
    expect(outcomeOf(await register('x'.repeat(400)))).toEqual(TOO_LARGE)
    const { body } = await register('')
    const room = 400 - bytesOf(body.user) - bytesOf({ password: 'correct horse' }) + 1
    const { _id } = body.user
    const update = (bio: string) =>
      send(`PATCH /users/${_id}`, { token: body.token, body: { bio, password: 'correct horse' } })
    expect(outcomeOf(await update('x'.repeat(room + 1)))).toEqual(TOO_LARGE)
    expect(outcomeOf(await update('x'.repeat(room)))).toBe(200)
  })
})

test.each<[string, string, Json, unknown]>([
  ['a smaller one', 'PATCH', { a: 'x'.repeat(LIMIT) }, 200],
  ['one as large', 'PATCH', { a: 'y'.repeat(2 * LIMIT) }, 200],
  ['one as large', 'PUT', { a: 'y'.repeat(2 * LIMIT) }, 200],
  ['a larger one', 'PATCH', { slug: 'x' }, TOO_LARGE],
  ['a larger one', 'PUT', { a: 'y'.repeat(2 * LIMIT + 1) }, TOO_LARGE],
  ['nothing', 'PATCH', {}, 200],
])('a document that is too large already may become %s by %s', async (_, method, body, expected) => {
  const { send } = await open(configOf(), [{ a: 'x'.repeat(2 * LIMIT) }])
  expect(outcomeOf(await send(`${method} ${ONE}`, body))).toEqual(expected)
})

describe('the size is judged', () => {
  const large = 'x'.repeat(LIMIT)

  test.each<[string, Json, unknown]>([
    ['after validation', { a: 5, j: large }, [400, 'validation_failed']],
    ['after the check', { j: large, a: 'bad' }, [403, 'forbidden']],
    ['before uniqueness', { j: large, slug: 'taken' }, TOO_LARGE],
  ])('%s', async (_, body, expected) => {
    const rule = { check: { a: { $ne: 'bad' } } }
    for (const [, request] of WAYS) {
      const { send } = await open(configOf({ read, create: rule, update: rule }), [{}, { slug: 'taken' }])
      expect(outcomeOf(await send(...request(body)))).toEqual(expected)
    }
  })

  test('on the rule that runs, and no other is tried', async () => {
    const both: Caller = { id: 'ann', roles: ['writer', 'clerk'] }
    const permissions = (first: Json) => ({
      writer: { read: true, create: first, update: first },
      clerk: { create: { pick: ['a'] }, update: { pick: ['a'] } },
    })
    for (const [first, expected] of [
      [{ check: { a: 'other' } }, 200],
      [{ check: { a: '1' } }, TOO_LARGE],
    ] as const) {
      const config = {
        collections: { items: { schema, permissions: permissions(first) } },
        limits: { documentBytes: LIMIT },
      }
      const { sendAs } = await open(config, [{}])
      const answer = await sendAs(`PATCH ${ONE}`, { caller: both, body: { a: '1', j: large } })
      expect(outcomeOf(answer)).toEqual(expected)
    }
  })

  test('document by document in a bulk, which says where', async () => {
    const { send } = await open(configOf())
    const documents = [{ a: '1' }, { a: large }]
    const answer = await send('POST /items/bulk', { documents })
    expect(answer.body.errors.map(({ path }: { path: string }) => path)).toEqual(['/documents/1'])
    const many = Array(50).fill({ a: 'x'.repeat(LIMIT / 2) })
    expect((await send('POST /items/bulk', { documents: many })).status).toBe(201)
  })
})

describe('what one write stores has 16 MiB together', () => {
  useSmallerBounds()
  const config = {
    ...configOf(),
    limits: { documentBytes: 20 * MIB, bodyBytes: 20 * MIB },
  }

  test.each(['PATCH', 'PUT'])('what is hidden included: %s', async (method) => {
    const service = await open(config, [{ secret: { old: 'x'.repeat(15 * MIB) } }])
    const add = (bytes: number) => service.send(`${method} ${ONE}`, { a: 'y'.repeat(bytes) })
    expect(outcomeOf(await add(2 * MIB))).toEqual(TOO_LARGE)
    expect(await fieldsOf(service, 'items', idOf(1))).not.toHaveProperty('a')
    expect(outcomeOf(await add(MIB / 2))).toBe(200)
  })

  test('all of a bulk', async () => {
    const { send } = await open(config)
    const halves = (bytes: number) => ({ documents: Array(2).fill({ a: 'x'.repeat(bytes) }) })
    expect(outcomeOf(await send('POST /items/bulk', halves(8 * MIB)))).toEqual(TOO_LARGE)
    expect(outcomeOf(await send('POST /items/bulk', halves(8 * MIB - 1000)))).toBe(201)
    expect(outcomeOf(await send('POST /items', { a: 'x'.repeat(17 * MIB) }))).toEqual(TOO_LARGE)
  })
})
