import { describe, expect, test } from 'vitest'
import { type AnyConfig, createTestService, type SendOptions } from '../support/service.js'

// CONTRACT.md §7, "Discovery"

const TEXT = { type: 'string' }
const schema = { title: TEXT }

const config: AnyConfig = {
  collections: {
    users: {
      schema: { email: { ...TEXT, unique: true }, password: { type: 'hash' }, role: TEXT },
      permissions: { owner: { read: true } },
    },
    open: { schema, permissions: { '*': { read: { pick: [] } }, user: { create: true } } },
    own: { schema, permissions: { owner: { read: true, update: true, delete: true } } },
    staff: { schema, permissions: { editor: true, admin: { read: true } } },
    refused: { schema, permissions: { user: { read: true, create: true }, editor: { create: false } } },
    unseen: { schema, permissions: { '*': { create: true, update: true, delete: true } } },
    shown: { schema, permissions: { '*': { read: { where: { title: 'x' } } }, editor: { delete: true } } },
    nothing: { schema, permissions: {} },
  },
  auth: { roleField: 'role' },
}

const ALL = ['list', 'create', 'read', 'update', 'delete']
const READ = ['list', 'read']

/** Names and operations of the collections of an answer. */
async function ask(sent: SendOptions, options = {}, line = 'GET /') {
  const answer = await createTestService(config, options).send(line, sent)
  expect(answer.status).toBe(200)
  const { collections } = answer.body
  return Object.fromEntries(
    collections.map(({ name, operations }: { name: string; operations: string[] }) => [name, operations]),
  )
}

describe('GET / lists what there is for the caller', () => {
  test.each<[who: string, caller: SendOptions['caller'], expected: object]>([
    ['nobody', null, { open: READ, unseen: ['create'], shown: READ }],
    [
      'a user',
      { id: 'ann' },
      {
        users: READ,
        open: ['list', 'create', 'read'],
        own: ['list', 'read', 'update', 'delete'],
        refused: ['list', 'create', 'read'],
        unseen: ['create'],
        shown: READ,
      },
    ],
    [
      'an editor',
      { id: 'ann', roles: ['editor', 'owner', '*'] },
      {
        users: READ,
        open: ['list', 'create', 'read'],
        own: ['list', 'read', 'update', 'delete'],
        staff: ALL,
        refused: READ,
        unseen: ['create'],
        shown: ['list', 'read', 'delete'],
      },
    ],
  ])('%s', async (_, caller, expected) => {
    const found = await ask({ caller: caller ?? null })
    expect(found).toEqual(expected)
    expect(Object.keys(found)).toEqual(Object.keys(expected))
  })

  test('every operation that is listed is granted, and no other', async () => {
    const service = createTestService(config)
    const ID = '0189abcd-0000-7000-8000-000000000001'
    for (const caller of [null, { id: 'ann' }, { id: 'ann', roles: ['editor'] }]) {
      const found = await ask({ caller })
      for (const name of Object.keys((config as { collections: object }).collections)) {
        const may = async (line: string, body?: object) =>
          [200, 201, 400].includes((await service.send(line, { caller, ...(body ? { body } : {}) })).status)
        expect([name, await may(`GET /${name}`)]).toEqual([name, found[name]?.includes('list') ?? false])
        expect([name, await may(`POST /${name}`, {})]).toEqual([
          name,
          found[name]?.includes('create') ?? false,
        ])
        // The document does not exist, which only those learn who may.
        const { status } = await service.send(`GET /${name}/${ID}`, { caller })
        expect(found[name]?.includes('read') ?? false).toBe(status === 404 && (await may(`GET /${name}`)))
      }
    }
  })

  test('with the account routes, where there are any', async () => {
    const routes = ['register', 'login', 'change-secret', 'logout', 'logout-all', 'me', 'sessions'].map(
      (name) => `/auth/${name}`,
    )
    const service = createTestService(config)
    expect((await service.send('GET /')).body.auth).toEqual(routes)
    for (const route of routes) expect((await service.send(`OPTIONS ${route}`)).status).toBe(204)
    const closed = createTestService({ ...config, auth: { register: false } })
    expect((await closed.send('GET /')).body.auth).toEqual(routes.slice(1))
    expect((await service.send('GET /', { caller: null })).body).not.toHaveProperty('auth')
    const hosted = createTestService(config, { authenticate: () => null })
    expect(Object.keys((await hosted.send('GET /')).body)).toEqual(['collections'])
    const { collections } = config as { collections: { open: object } }
    const bare = createTestService({ collections: { open: collections.open } })
    expect((await bare.send('GET /')).body).toEqual({
      collections: [{ name: 'open', href: '/open', operations: READ }],
    })
  })

  test('a strange account that nobody may open is none', async () => {
    const users = {
      schema: { email: { ...TEXT, unique: true }, password: { type: 'hash' } },
      permissions: { '*': { create: true } },
    }
    const operations = async (auth: object) =>
      (await createTestService({ collections: { users }, auth }).send('GET /')).body.collections
    expect(await operations({})).toEqual([{ name: 'users', href: '/users', operations: ['create'] }])
    expect(await operations({ register: false })).toEqual([])
  })

  test('a user sees the same by a token, and the answer is not to be stored', async () => {
    const service = createTestService(config)
    const { token } = await service.register({ email: 'ann', password: 'secret' })
    const answer = await service.send('GET /', { token })
    expect(answer.body.collections).toContainEqual({ name: 'users', href: '/users', operations: READ })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect((await service.send('GET /')).headers.get('cache-control')).toBe('no-cache')
    expect((await service.send('GET /', { token: 'none' })).body.code).toBe('invalid_token')
  })
})

describe('the root is a route like any other', () => {
  test.each(['', '/api', '/api/v1', '/a%20b', '/api/'])('below the base path %j', async (basePath) => {
    const service = createTestService(config, { basePath })
    const base = basePath.replace(/\/$/, '')
    for (const path of [`${base}/`, ...(base === '' ? [] : [base])]) {
      const get = await service.send(`GET ${path}`)
      expect(get.status, path).toBe(200)
      expect(get.headers.get('content-type')).toBe('application/json')
      for (const { href } of get.body.collections)
        expect((await service.send(`OPTIONS ${href}`)).status).toBe(204)
      for (const href of get.body.auth) expect((await service.send(`OPTIONS ${href}`)).status).toBe(204)
      const head = await service.send(`HEAD ${path}`)
      const headers = {
        ...Object.fromEntries(get.headers),
        'content-length': String(Buffer.byteLength(get.text)),
      }
      expect([head.status, head.text, Object.fromEntries(head.headers)]).toEqual([200, '', headers])
      const options = await service.send(`OPTIONS ${path}?x=1`, { headers: { authorization: 'x' } })
      expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const refused = await service.send(`${method} ${path}`)
        expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
      }
      for (const query of ['q[title]=1', 'limit=1', 'x=1']) {
        const refused = await service.send(`GET ${path}?${query}`)
        expect([refused.status, refused.body.code]).toEqual([400, 'invalid_query'])
      }
      expect((await service.send(`GET ${path}?`)).status).toBe(200)
    }
    for (const path of [`${base}//`, `${base}/x`, `${base}/x/`, `${base}x/`])
      expect((await service.send(`GET /${path.slice(1)}`)).status, path).toBe(404)
    if (base !== '') expect((await service.send('GET /')).status).toBe(404)
  })
})

test.each<[basePath: string, spelled: string, status: number]>([
  ['/api', '/%61pi', 200],
  ['/api', '/%61%70%69', 200],
  ['/api', '/%2561pi', 404],
  ['/api', '/API', 404],
  ['/api', '/api%2F', 404],
  ['/api/v1', '/api%2Fv1', 404],
  ['/a-b', '/a%2db', 200],
  ['/a-b', '/a%2Db', 200],
  ['/a%20b', '/a%20b', 200],
  ['/%61pi', '/api', 200],
  ['/caf%C3%A9', '/caf%c3%a9', 200],
  ['/caf%C3%A9', '/café', 200],
  ['/~me', '/%7Eme', 200],
  ['/100%', '/100%', 200],
])('a base path is compared as it reads when decoded once: %s, %s', async (basePath, spelled, status) => {
  const service = createTestService(config, { basePath })
  expect((await service.send(`GET ${spelled}/open`)).status).toBe(status)
  if (status !== 200) return
  const sent = { body: { title: 'x' }, caller: { id: 'ann' } }
  const { headers } = await service.send(`POST ${spelled}/open`, sent)
  expect(headers.get('location')).toMatch(new RegExp(`^${basePath}/open/`))
  await service.send(`POST ${spelled}/open`, sent)
  const { headers: listed } = await service.send(`GET ${spelled}/open?limit=1`)
  expect(listed.get('link')).toMatch(new RegExp(`^<${basePath}/open\\?`))
})
