import { describe, expect, test } from 'vitest'
import type { StorageAdapter } from '../../src/index.js'
import type { SendOptions, TestService } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { idOf, readStored } from '../support/stored.js'
import {
  all,
  ann,
  answerOf,
  arrayOf,
  FORBIDDEN,
  idsOf,
  type Json,
  objectOf,
  outcomeOf,
  P1,
  P2,
  P3,
  type Stored,
  shapes,
  snapshot,
  text,
  to,
  useOpen,
} from './support/references.js'

const storages = useStorages()
const open = useOpen()
const IN_USE = [409, 'reference_in_use']

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
  ])('takes with it, hidden or not, %s', async (_, stored, outcome, expected) => {
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

  test.each<[string, Stored, readonly [line: string, body?: Json], { [name: string]: readonly number[] }]>([
    [
      'refers elsewhere',
      { a: [{}, {}], b: [{ a: P1 }, { a: P1 }] },
      [`PATCH /b/${P2}`, { a: P2 }],
      { a: [2], b: [2] },
    ],
    [
      'refers nowhere',
      { a: [{}], b: [{ a: P1 }], c: [{ o: { b: P1 } }] },
      [`PATCH /c/${P1}`, { o: null }],
      { c: [1] },
    ],
    [
      'is of its own collection',
      { a: [{}, { next: P1 }, {}] },
      [`PATCH /a/${P2}`, { next: P3 }],
      { a: [2, 3] },
    ],
    ['still refers to it', { a: [{}], b: [{ a: P1 }] }, [`PATCH /b/${P1}`, { as: [P1] }], {}],
    ['is gone', { a: [{}], b: [{ a: P1 }, {}] }, [`DELETE /b/${P1}`], { b: [2] }],
  ])(
    'takes nothing along that has changed since it was found: one %s',
    async (_, stored, change, expected) => {
      const inner = create()
      const caller = { id: 'eve', roles: ['admin'] }
      let attempts = 0
      const adapter: StorageAdapter = {
        ...inner,
        async write(steps, options) {
          if (!steps.some((step) => 'remove' in step && step.in === 'a')) return inner.write(steps, options)
          attempts += 1
          if (attempts === 1) {
            const [line, body] = change
            expect((await service.send(line, { caller, ...(body ? { body } : {}) })).status).toBeLessThan(300)
          }
          return inner.write(steps, options)
        },
      }
      const service = await open(chain, stored, { adapter })
      expect(outcomeOf(await remove(service, `/a/${P1}`))).toBe(204)
      expect(attempts).toBe(2)
      expect(await left(service)).toEqual({ a: [], b: [], c: [], d: [], ...expected })
    },
  )

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
