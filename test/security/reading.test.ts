import { beforeAll, describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import type { SendOptions } from '../support/service.js'
import {
  ANN,
  AS_ADMIN,
  AS_ANN,
  type Attacked,
  attack,
  BEN,
  type Case,
  FORBIDDEN,
  INVALID_QUERY,
  logIn,
  NOT_FOUND,
  P1,
  UNAUTHENTICATED,
  ZOE,
} from './fixture.js'

// CONTRACT.md §3.2, §3.9, §5, "Reading"

let service: Attacked
let zoe: string
beforeAll(async () => {
  service = await attack()
  zoe = await logIn(service, 'zoe')
})

const HIDDEN: readonly Case<[query: string]>[] = [
  ['a filter by it', 'q[secret]="zeta"'],
  ['a pattern on it', 'q[secret][$regex]=^z'],
  ['a range of it', 'q[secret][$gte]="m"'],
  ['$ne', 'q[secret][$ne]="x"'],
  ['$in', 'q[secret][$in]=["zeta"]'],
  ['$exists', 'q[secret][$exists]=true'],
  ['a sort by it', 'sort[secret]=1&project=["_id"]&limit=1'],
  ['a sort by it after another', 'sort[title]=1&sort[secret]=1'],
  ['a path below it, filtered', 'q[secret.x]=1'],
  ['a path below it, sorted', 'sort[secret.x]=1'],
  ['a path below it, projected', 'project=["secret.x"]'],
  ['a projection of it', 'project=["secret"]'],
  ['a filter by it beside one that matches nothing', 'q[title]="nope"&q[secret]="zeta"'],
  ['a filter by it on an empty page', 'limit=0&q[secret]="zeta"'],
]

describe.each<Case<[options: SendOptions]>>([
  ['nobody', {}],
  ['a signed-in caller', { caller: AS_ANN }],
  ['a caller of an unknown role', { caller: { id: ANN, roles: ['editor', 'Admin', '*', 'owner'] } }],
])('a field hidden from %s', (_who, options) => {
  test.each(HIDDEN)('is refused before storage is asked: %s', async (_what, query) => {
    await service.refuse(`GET /posts?${query}`, INVALID_QUERY, options)
    await service.refuse(`GET /posts/count?${query}`, INVALID_QUERY, options)
    await service.refuse(`GET /posts/aggregate?${query}`, INVALID_QUERY, options)
  })

  test.each([
    ['as a key', 'by[secret]=value'],
    ['as a key, between edges', 'by[secret]=["m"]'],
    ['as a second key', 'by[title]=value&by[secret]=value'],
    ['as a measure', 'min=["secret"]'],
    ['as a sum', 'sum=["secret"]'],
    ['in the order', 'by[secret]=value&sort[secret]=1'],
    ['in the order, as a measure', 'max=["secret"]&sort[$max.secret]=1'],
    ['on an empty page', 'by[secret]=value&limit=0&total=true'],
  ])('groups nothing: %s', async (_what, query) => {
    const hidden = await service.refuse(`GET /posts/aggregate?${query}`, INVALID_QUERY, options)
    const unknown = await service.refuse(
      `GET /posts/aggregate?${query.replaceAll('secret', 'zzzzzz')}`,
      INVALID_QUERY,
      options,
    )
    const strip = ({ text }: { text: string }): string => text.replace(/"requestId":"[^"]*"/, '')
    expect(strip(unknown).replaceAll('zzzzzz', 'secret')).toBe(strip(hidden))
  })

  test.each(HIDDEN)('is answered like one that does not exist: %s', async (_what, query) => {
    const hidden = await service.refuse(`GET /posts?${query}`, INVALID_QUERY, options)
    const unknown = await service.refuse(
      `GET /posts?${query.replaceAll('secret', 'zzzzzz')}`,
      INVALID_QUERY,
      options,
    )
    const strip = ({ text }: { text: string }): string => text.replace(/"requestId":"[^"]*"/, '')
    expect(strip(unknown).replaceAll('zzzzzz', 'secret')).toBe(strip(hidden))
    expect(Object.fromEntries([...unknown.headers])).toEqual(Object.fromEntries([...hidden.headers]))
  })

  test.each(['q[secre]=1', 'sort[secrett]=1', 'project=["Secret"]', 'q[ownr]=1', 'q[passwor]=1'])(
    'is never suggested for a misspelt name: %s',
    async (query) => {
      const { body } = await service.refuse(`GET /posts?${query}`, INVALID_QUERY, options)
      expect(JSON.stringify(body)).not.toMatch(/"(secret|owner|password)\\?"/)
    },
  )

  test('is absent from every answer', async () => {
    const { body } = await service.send('GET /posts', options)
    const names = new Set(body.flatMap((document: object) => Object.keys(document)))
    expect([...names].sort()).toEqual(['_id', 'createdAt', 'createdBy', 'score', 'title', 'updatedAt'])
    const one = await service.send(`GET /posts/${P1}`, options)
    expect(one.body).toEqual(body[0])
    expect(one.text).not.toContain('zeta')
  })
})

test('an admin may ask for what others may not', async () => {
  expect(await service.list('/posts?q[secret][$regex]=^z', 'secret', { token: zoe })).toEqual(['zeta'])
})

describe('a hash', () => {
  test.each([
    'q[password]="x"',
    'q[password][$exists]=true',
    'sort[password]=1',
    'project=["password"]',
    'q[_hashes.password]="x"',
    'q[password.x]=1',
  ])('is unknown to the admin too: %s', async (query) => {
    await service.refuse(`GET /users?${query}`, INVALID_QUERY, { caller: AS_ADMIN })
  })

  test('is in no answer that an admin gets', async () => {
    const answers = await Promise.all(
      ['/users', `/users/${ANN}`, '/users?project=["email"]', '/auth/me'].map((path) =>
        service.send(`GET ${path}`, { token: zoe }),
      ),
    )
    for (const { status, text } of answers) {
      expect(status).toBe(200)
      expect(text).toContain('@example.com')
      expect(text).not.toMatch(/password|_hashes|_version|\$2/)
    }
  })

  test('is neither echoed nor listed where everyone may do everything', async () => {
    const created = await service.send('POST /open', { body: { name: 'x', pin: '123456' } })
    expect(created.status).toBe(201)
    expect(Object.keys(created.body)).toEqual(['_id', 'name', 'createdAt', 'updatedAt', 'createdBy'])
    const { text } = await service.send('GET /open')
    expect(text).not.toMatch(/pin|123456|\$2|_hashes|_version/)
    expect(await service.dump()).toMatch(/"_hashes":\{"pin":"\$2[aby]\$/)
    await service.refuse('GET /open?q[pin]="123456"', INVALID_QUERY)
  })
})

test('a creation shows its writer only what the writer may read', async () => {
  const { status, body } = await service.send('POST /posts', {
    caller: AS_ANN,
    body: { title: 'mine', secret: 's', owner: BEN },
  })
  expect(status).toBe(201)
  expect(Object.keys(body)).toEqual(['_id', 'title', 'createdAt', 'updatedAt', 'createdBy'])
})

test.each<Case<[headers: { [name: string]: string }]>>([
  ['X-Role', { 'x-role': 'admin', 'x-roles': 'admin' }],
  ['X-User-Id', { 'x-user-id': ZOE, 'x-forwarded-user': ZOE }],
  ['Auth-Key', { 'auth-key': 'x', 'x-api-key': 'x' }],
  ['Cookie', { cookie: `token=${ZOE}; session=${ZOE}` }],
  ['a header named like a field of somebody', { g: '{"id":1}' }],
])('a header gives nobody rights: %s', async (_what, headers) => {
  await service.refuse('GET /users', UNAUTHENTICATED, { headers })
  await service.refuse('GET /posts?q[secret]="zeta"', INVALID_QUERY, { headers })
  expect((await service.send('GET /posts', { headers })).text).not.toContain('zeta')
})

test.each(['constructor', '__proto__', 'toString', '*', 'user', 'owner', 'nosuch', 'Admin', ''])(
  'a role named %j has no rights of its own',
  async (role) => {
    const caller = { id: ANN, roles: [role] }
    await service.refuse('GET /locked', FORBIDDEN, { caller })
    await service.refuse('POST /locked', FORBIDDEN, { caller, body: { x: 'y' } })
    expect((await service.send(`GET /users/${ZOE}`, { caller })).body).toEqual({ _id: ZOE, nick: 'zoe' })
  },
)

test('two roles are not the one whose name they spell', async () => {
  const { send } = await attack(
    {
      collections: {
        notes: {
          schema: { a: { type: 'string' }, b: { type: 'string' } },
          permissions: {
            a: { read: { pick: ['a'] } },
            b: { read: { pick: ['b'] } },
            'a\nb': { read: { pick: [] } },
            admin: true,
          },
        },
      },
    },
    { documents: { notes: [{ _id: P1, a: '1', b: '2' }] } },
  )
  const read = async (...roles: string[]) => (await send('GET /notes', { caller: { id: ANN, roles } })).body
  expect(await read('a', 'b')).toEqual([{ _id: P1, a: '1', b: '2' }])
  expect(await read('a\nb')).toEqual([{ _id: P1 }])
})

describe('own documents', () => {
  const A1 = '01900000-0000-7000-8000-0000000000a1'
  const A2 = '01900000-0000-7000-8000-0000000000a2'
  const B1 = '01900000-0000-7000-8000-0000000000b1'
  const config = {
    collections: {
      notes: {
        schema: { title: { type: 'string' }, code: { type: 'string', unique: true } },
        permissions: { user: { create: true }, owner: { read: true }, admin: true },
      },
    },
  }
  const mine = [
    { _id: A1, title: 'one', createdBy: ANN, createdAt: '2026-01-01', updatedAt: '2026-01-01' },
    { _id: A2, title: 'two', createdBy: ANN, createdAt: '2026-01-01', updatedAt: '2026-01-01' },
  ]
  const theirs = { _id: B1, title: 'a'.repeat(20000), code: 'taken', createdBy: BEN }
  const options = { caller: AS_ANN }
  let notes: Attacked
  beforeAll(async () => {
    notes = await attack(config, { documents: { notes: [...mine, theirs] } })
  })

  test.each<Case<[query: string, ids: readonly string[]]>>([
    ['without a query', '', [A1, A2]],
    ['by the id of another', `q[_id]="${B1}"`, []],
    ['by another creator', `q[createdBy]="${BEN}"`, []],
    ['by any creator but oneself', `q[createdBy][$ne]="${ANN}"`, []],
    ['by all ids', `q[_id][$in]=["${A1}","${B1}"]`, [A1]],
    ['by what is missing', 'q[title]=null', []],
    ['by a value of another', 'q[code]="taken"', []],
    ['by what no other has', 'q[code][$exists]=false', [A1, A2]],
    ['from behind', 'sort[title]=-1&limit=1', [A2]],
    ['past the end', 'skip=2', []],
  ])('are all that one gets: %s', async (_what, query, ids) => {
    expect(await notes.list(`/notes?${query}`, '_id', options)).toEqual(ids)
    if (/sort|skip/.test(query)) return
    expect((await notes.send(`GET /notes/count?${query}`, options)).body).toEqual({ total: ids.length })
  })

  test('of another are answered like none at all', async () => {
    const unknown = await notes.refuse(`GET /notes/${P1}`, NOT_FOUND, options)
    const foreign = await notes.refuse(`GET /notes/${B1}`, NOT_FOUND, options)
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' })
    await notes.refuse(`GET /notes/${B1}`, UNAUTHENTICATED)
    await notes.refuse(`GET /notes/${P1}`, UNAUTHENTICATED)
  })

  test('of another change no byte of any answer', async () => {
    const without = await attack(config, { documents: { notes: mine } })
    const paths = [
      '/notes?q[title][$regex]=(a%2B)%2B$',
      '/notes?sort[title]=-1&sort[updatedAt]=1&project=["title"]',
      '/notes/count',
      `/notes/${A1}?project=["title"]`,
      '/notes?q[code][$ne]="taken"&project=["code"]',
      `/notes?q[_id]="${B1}"`,
    ]
    for (const path of paths) {
      const [seen, expected] = [
        await notes.send(`GET ${path}`, options),
        await without.send(`GET ${path}`, options),
      ]
      expect(seen.status).toBe(200)
      expect(seen.text).toBe(expected.text)
      expect([...seen.headers]).toEqual([...expected.headers])
    }
  })

  test('show in a conflict only that a value is taken', async () => {
    const { text, body } = await notes.refuse(
      'POST /notes',
      { status: 409, code: 'unique_violation' },
      { ...options, body: { title: 'x', code: 'taken' } },
    )
    expect(body.errors).toEqual([{ path: '/code', code: expect.any(String), message: expect.any(String) }])
    expect(text).not.toMatch(new RegExp(`${BEN}|${B1}|aaaa|"taken"[^,}]*\\$`))
  })

  test('belong to nobody where nobody was signed in', async () => {
    const open = await attack(
      {
        collections: {
          notes: {
            ...config.collections.notes,
            permissions: { '*': { create: true }, owner: { read: true } },
          },
        },
      },
      {},
    )
    expect((await open.send('POST /notes', { body: { title: 'x' } })).status).toBe(201)
    for (const id of ['', 'null', 'undefined']) {
      expect(await open.list('/notes', '_id', { caller: { id } })).toEqual([])
    }
  })

  test('stay apart in 50 requests at once on a slow storage', async () => {
    const fast = createMemoryAdapter({ documents: { notes: [...mine, theirs] } })
    const turns = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
    }
    let call = 0
    const slow = await attack(config, {
      adapter: {
        ...fast,
        async list(collection, query) {
          await turns((call++ * 7) % 5)
          const documents = await fast.list(collection, query)
          await turns((call * 3) % 4)
          return documents
        },
      },
    })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        slow.list('/notes', '_id', { caller: { id: i % 2 === 0 ? ANN : BEN } }),
      ),
    )
    for (const [i, ids] of answers.entries()) expect(ids).toEqual(i % 2 === 0 ? [A1, A2] : [B1])
  })
})
