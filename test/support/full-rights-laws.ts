import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Config, HookChange, RequestEvent } from '../../src/index.js'
import { readStream } from './event-streams.js'
import { faultsOf, type TestService } from './service.js'
import { until } from './until.js'

/** What holds for full rights, whatever the storage (CONTRACT.md §7, "Full rights", and §9, "Before a write"). Mutants have to break one of these. */

const text = { type: 'string' } as const
const integer = { type: 'integer' } as const
export const asRoot = { system: {} } as const
const asJob = { system: { as: 'job-7' } } as const

export const FULL_RIGHTS_CONFIG = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
        role: text,
        verifiedAt: { type: 'timestamp' },
      },
      permissions: {},
    },
    tickets: {
      schema: {
        title: { type: 'string', required: true, maxLength: 9 },
        number: { ...integer, unique: true },
        status: { type: 'string', default: 'open' },
        code: { type: 'string', immutable: true },
        inCounter: { type: 'reference', collection: 'counters', onDelete: 'restrict' },
      },
      changes: true,
      permissions: {
        '*': { create: { pick: ['title'], set: { status: 'open' } } },
        system: { read: { pick: ['title'] } },
      },
    },
    counters: { schema: { last: integer }, permissions: {} },
  },
  auth: {
    identifier: 'email',
    secret: 'password',
    register: false,
    roleField: 'role',
    verifiedField: 'verifiedAt',
  },
} as const satisfies Config

const account = { email: 'ann@a.b', password: 'secret-1' } as const

/** Opens a service over `FULL_RIGHTS_CONFIG`. */
type Open = (options?: object) => TestService

type Law = readonly [what: string, check: (open: Open) => Promise<void>]

export const FULL_RIGHTS_LAWS: readonly Law[] = [
  [
    'a handler with full rights reads and writes what no rule grants, as its rules would not',
    async (open) => {
      const { send } = open()
      const made = await send('POST /tickets', {
        ...asRoot,
        body: { title: 'a', status: 'closed', number: 4, code: 'x' },
      })
      expect(made).toMatchObject({ status: 201, body: { status: 'closed', number: 4, createdBy: null } })
      const path = `/tickets/${made.body._id}`
      expect((await send(`GET ${path}`)).status).toBe(401)
      expect((await send(`GET ${path}`, asRoot)).body).toEqual(made.body)
      const changed = await send(`PATCH ${path}`, { ...asRoot, body: { status: 'late' } })
      expect(changed.body).toMatchObject({ status: 'late', number: 4 })
      const list = await send('GET /tickets?q[status]=late&sort[number]=-1&total=true', asRoot)
      expect(list.body).toEqual([changed.body])
      expect((await send('GET /tickets/count?q[code]=x', asRoot)).body).toEqual({ total: 1 })
      expect((await send(`DELETE ${path}`, asRoot)).status).toBe(204)
      expect((await send('GET /tickets', asRoot)).body).toEqual([])
    },
  ],
  [
    'it writes in batches and in bulk',
    async (open) => {
      const { send } = open()
      const documents = [
        { title: 'a', number: 1 },
        { title: 'b', number: 2 },
      ]
      const bulk = await send('POST /tickets/bulk', { ...asJob, body: { documents } })
      expect(bulk.body.documents).toMatchObject([{ number: 1, createdBy: 'job-7' }, { number: 2 }])
      const operations = [
        { method: 'POST', path: '/counters', body: { last: 9 } },
        { method: 'PATCH', path: `/tickets/${bulk.body.documents[0]._id}`, body: { number: 3 } },
      ]
      const { body } = await send('POST /_batch', { ...asRoot, body: { operations } })
      expect(body.results).toMatchObject([
        { status: 201, body: { createdBy: null } },
        { body: { number: 3 } },
      ])
    },
  ],
  [
    'it is validated, and keeps references, uniqueness and immutable fields',
    async (open) => {
      const { send } = open()
      const invalid = await send('POST /tickets', { ...asRoot, body: { title: 'far too long', other: 1 } })
      expect(faultsOf(invalid)).toEqual({ '/title': 'too_long', '/other': 'unknown_property' })
      const counter = (await send('POST /counters', { ...asRoot, body: {} })).body._id
      const body = { title: 'a', number: 1, code: 'x', inCounter: counter }
      const { _id } = (await send('POST /tickets', { ...asRoot, body })).body
      expect(await send('POST /tickets', { ...asRoot, body })).toMatchObject({
        status: 409,
        body: { code: 'unique_violation' },
      })
      expect((await send(`DELETE /counters/${counter}`, asRoot)).body).toMatchObject({
        code: 'reference_in_use',
      })
      const lost = await send('POST /tickets', { ...asRoot, body: { title: 'b', inCounter: randomUUID() } })
      expect(faultsOf(lost)).toEqual({ '/inCounter': 'unknown_reference' })
      const other = await send(`PATCH /tickets/${_id}`, { ...asRoot, body: { code: 'y' } })
      expect(faultsOf(other)).toEqual({ '/code': 'immutable' })
      const replaced = await send(`PUT /tickets/${_id}`, { ...asRoot, body: { title: 'c' } })
      expect(replaced.body).toMatchObject({ title: 'c', code: 'x', status: 'open' })
      expect(replaced.body).not.toHaveProperty('number')
    },
  ],
  [
    'it creates accounts though registration is closed, each by itself, never with a chosen _id',
    async (open) => {
      const { send } = open()
      expect((await send('POST /users', { body: account })).status).toBe(403)
      const made = await send('POST /users', {
        ...asJob,
        body: { ...account, role: 'agent', verifiedAt: '2020-01-01T00:00:00Z' },
      })
      expect(made.status).toBe(201)
      expect(made.body).toMatchObject({ email: 'ann@a.b', role: 'agent', createdBy: made.body._id })
      expect(made.body).not.toHaveProperty('password')
      expect(made.body).not.toHaveProperty('verifiedAt')
      expect(made.headers.get('ignored-properties')).toBe('"verifiedAt"')
      expect((await send('GET /users?q[password]=x', asRoot)).status).toBe(400)
      const other = { ...account, email: 'bob@a.b' }
      expect((await send('POST /users', { ...asRoot, body: other })).status).toBe(201)
      const login = await send('POST /auth/login', { body: account })
      expect(login.status).toBe(200)
      const replaced = await send(`PUT /users/${made.body._id}`, { ...asRoot, body: { email: 'eve@a.b' } })
      expect(replaced.body).toMatchObject({ email: 'eve@a.b', role: 'agent' })
      const again = await send('POST /auth/login', { body: { ...account, email: 'eve@a.b' } })
      expect(again.status).toBe(200)
      const chosen = await send(`PUT /users/${randomUUID()}`, {
        ...asRoot,
        headers: { 'if-none-match': '*' },
        body: { ...account, email: 'eva@a.b' },
      })
      expect(chosen).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    },
  ],
  [
    'it has no routes of accounts, and does not look at Authorization',
    async (open) => {
      const { send } = open()
      expect((await send('POST /auth/login', { ...asRoot, body: account })).status).toBe(404)
      expect((await send('GET /counters', { ...asRoot, token: 'wrong' })).status).toBe(200)
    },
  ],
  [
    'it shows nothing that a cache may store, and is named to observers',
    async (open) => {
      const events: RequestEvent[] = []
      const { send } = open({ observe: (event: RequestEvent) => events.push(event) })
      for (const given of [asRoot, asJob])
        expect((await send('GET /counters', given)).headers.get('cache-control')).toBe('no-store')
      await until(() => events.length === 2)
      expect(events.map(({ caller }) => caller)).toEqual(['system', 'system'])
    },
  ],
  [
    'it streams the changes of every document, each by the id that it was given',
    async (open) => {
      const { handler, send } = open()
      const all = handler.system()
      const stream = readStream(await all(new Request('http://a.test/tickets/changes')))
      await stream.until(1)
      const { _id } = (await send('POST /tickets', { ...asJob, body: { title: 'a', number: 7 } })).body
      const events = await stream.until(2)
      expect(events).toMatchObject([{ event: 'reset' }, { event: 'enter', data: { _id, number: 7 } }])
      await stream.close()
    },
  ],
  [
    'it describes everything, and lists every operation',
    async (open) => {
      const { handler, send } = open({ openapi: true })
      const { collections } = (await send('GET /', asRoot)).body
      expect(collections.map(({ name }: { name: string }) => name)).toEqual(['users', 'tickets', 'counters'])
      expect(collections[2].operations).toEqual(['list', 'create', 'read', 'update', 'delete'])
      const answer = await handler.system()(new Request('http://a.test/_openapi.json'))
      const { paths } = await answer.json()
      expect(Object.keys(paths['/counters/{id}'])).toEqual(
        expect.arrayContaining(['get', 'patch', 'put', 'delete']),
      )
      expect(JSON.stringify(paths)).not.toContain('/auth/')
    },
  ],
  [
    'a role, a header, a query or a path named system gives no rights',
    async (open) => {
      const { send } = open()
      await send('POST /tickets', { ...asRoot, body: { title: 'a', number: 1 } })
      const named = { caller: { id: 'system', roles: ['system'] } }
      expect((await send('GET /tickets', named)).body).toEqual([{ _id: expect.any(String), title: 'a' }])
      expect((await send('GET /counters', named)).status).toBe(403)
      const headers = { 'x-system': 'true', authorization: 'system' }
      expect((await send('GET /counters', { headers })).status).toBe(401)
      expect((await send('GET /system')).status).toBe(404)
      expect((await send('GET /counters?system=true')).status).toBe(401)
    },
  ],
]

type Hook = (change: HookChange) => unknown

/** Opens a service with a hook of tickets. */
const hooked =
  (open: Open) =>
  (before: Hook): TestService =>
    open({ hooks: { tickets: { before } } })

const request = (path: string): Request => new Request(`http://a.test${path}`)

/** Numbers tickets by a counter that no caller may read. */
const counting =
  (id: string): Hook =>
  async ({ operation, api }) => {
    if (operation !== 'create') return undefined
    const found = await api.system(request(`/counters/${id}`))
    const last = found.status === 404 ? 0 : (await found.json()).last
    const body = { last: last + 1 }
    const path = `/counters/${id}`
    const counted =
      found.status === 404
        ? { method: 'PUT', path, ifNoneMatch: '*', body }
        : { method: 'PATCH', path, ifMatch: found.headers.get('etag'), system: true, body }
    return { set: { number: last + 1 }, also: [counted] }
  }

/** Another write is faster at a document of which `api.system` has shown that it is there, or absent. */
const raced =
  (isThere: boolean): Law[1] =>
  async (opener) => {
    const id = randomUUID()
    const seen: unknown[] = []
    let meanwhile: (() => Promise<unknown>) | undefined
    const { send } = hooked(opener)(async ({ operation, api }) => {
      if (operation !== 'create') return undefined
      const answer = await api.system(request(`/counters/${id}`))
      seen.push(answer.status === 404 ? null : (await answer.json()).last)
      const act = meanwhile
      meanwhile = undefined
      await act?.()
      return undefined
    })
    const put = { ...asRoot, headers: { 'if-none-match': '*' }, body: { last: 1 } }
    if (isThere) await send(`PUT /counters/${id}`, put)
    meanwhile = () =>
      isThere
        ? send(`PATCH /counters/${id}`, { ...asRoot, body: { last: 2 } })
        : send(`PUT /counters/${id}`, put)
    expect((await send('POST /tickets', { body: { title: 'a' } })).status).toBe(201)
    expect(seen).toEqual(isThere ? [1, 2] : [null, 1])
  }

/** Another write is faster at a document that other reads have shown. */
const unraced =
  (paths: readonly string[]): Law[1] =>
  async (opener) => {
    let calls = 0
    let counter = ''
    const { send } = hooked(opener)(async ({ operation, after, api }) => {
      if (operation !== 'create' || after?.title !== 'asking') return undefined
      calls++
      for (const path of paths) expect((await api.system(request(path))).status).toBe(200)
      await send(`PATCH /counters/${counter}`, { ...asRoot, body: { last: calls } })
      return undefined
    })
    counter = (await send('POST /counters', { ...asRoot, body: {} })).body._id
    await send('POST /tickets', { ...asRoot, body: { title: 'a', inCounter: counter } })
    expect((await send('POST /tickets', { body: { title: 'asking' } })).status).toBe(201)
    expect(calls).toBe(1)
  }

export const FULL_RIGHTS_HOOK_LAWS: readonly Law[] = [
  ['hooks are asked again if another write was faster at a document that was shown', raced(true)],
  ['hooks are asked again if another write was faster at a document that was absent', raced(false)],
  ['hooks require nothing about lists and counts', unraced(['/counters', '/counters/count'])],
  ['hooks require nothing about what is expanded', unraced(['/tickets?expand=inCounter'])],
  [
    'hooks learn that a write has full rights, and who it is made for',
    async (opener) => {
      const open = hooked(opener)
      const told: unknown[] = []
      const { send } = open(({ caller, isSystem }) => void told.push([caller, isSystem]))
      const body = { title: 'a' }
      for (const given of [asRoot, asJob, { caller: null }, { caller: { id: 'job-7', roles: ['system'] } }])
        await send('POST /tickets', { ...given, body })
      expect(told).toEqual([
        [null, true],
        [{ id: 'job-7' }, true],
        [null, false],
        [{ id: 'job-7', roles: ['system'] }, false],
      ])
    },
  ],
  [
    'hooks are not given full rights by what they are told',
    async (opener) => {
      const open = hooked(opener)
      const statuses: number[] = []
      const { send } = open(async ({ api }) => {
        statuses.push(
          (await api(request('/counters'))).status,
          (await api.system(request('/counters'))).status,
        )
      })
      for (const given of [asRoot, asJob, {}]) await send('POST /tickets', { ...given, body: { title: 'a' } })
      expect(statuses).toEqual([401, 200, 403, 200, 401, 200])
    },
  ],
  [
    'hooks read with api.system what the caller may not read, and only read',
    async (opener) => {
      const open = hooked(opener)
      const seen: unknown[] = []
      const { send } = open(async ({ api }) => {
        for (const line of [
          'GET /counters/count',
          'POST /counters',
          'GET /auth/me',
          'GET /tickets/changes',
        ]) {
          const [method = '', path = ''] = line.split(' ')
          const init = method === 'POST' ? { method, body: '{}' } : { method }
          const answer = await api.system(new Request(`http://a.test${path}`, init))
          seen.push([answer.status, answer.status === 200 ? await answer.json() : null])
        }
      })
      await send('POST /counters', { ...asRoot, body: {} })
      expect((await send('POST /tickets', { body: { title: 'a' } })).status).toBe(201)
      expect(seen).toEqual([
        [200, { total: 1 }],
        [405, null],
        [404, null],
        [404, null],
      ])
    },
  ],
  [
    'hooks number by a counter that nobody may read, though many write at once',
    async (opener) => {
      const open = hooked(opener)
      const { send } = open(counting(randomUUID()))
      const sent = Array.from({ length: 8 }, () => send('POST /tickets', { body: { title: 'a' } }))
      expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(Array(8).fill(201))
      const { body } = await send('GET /tickets?sort[number]=1&project=number', asRoot)
      expect(body.map(({ number }: { number: number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    },
  ],
  [
    'hooks require nothing that the write itself has changed',
    async (opener) => {
      const open = hooked(opener)
      const seen: unknown[] = []
      const { send } = open(async ({ operation, before, api }) => {
        if (operation === 'create') return undefined
        const answer = await api.system(request(`/tickets/${before?._id}`))
        seen.push(answer.status === 200 ? (await answer.json()).title : answer.status)
        return undefined
      })
      const { _id } = (await send('POST /tickets', { body: { title: 'a' } })).body
      const path = `/tickets/${_id}`
      const operations = [
        { method: 'PATCH', path, body: { title: 'b' } },
        { method: 'PATCH', path, body: { title: 'c' } },
        { method: 'DELETE', path },
      ]
      const { status } = await send('POST /_batch', { ...asRoot, body: { operations } })
      expect(status).toBe(200)
      expect(seen).toEqual(['a', 'b', 'c'])
    },
  ],
  [
    'hooks require that a document stays absent which the write itself has removed',
    async (opener) => {
      const open = hooked(opener)
      const { send } = open(async ({ after, api }) => {
        expect((await api.system(request(`/counters/${after?.code}`))).status).toBe(404)
        return undefined
      })
      const counter = (await send('POST /counters', { ...asRoot, body: {} })).body._id
      const operations = [
        { method: 'DELETE', path: `/counters/${counter}` },
        { method: 'POST', path: '/tickets', body: { title: 'a', code: counter } },
      ]
      const { body } = await send('POST /_batch', { ...asRoot, body: { operations } })
      expect(body.results).toMatchObject([{ status: 204 }, { status: 201 }])
    },
  ],
  [
    'hooks may change a document with the entity tag that api.system has shown, for the caller',
    async (opener) => {
      const open = hooked(opener)
      const { send } = open(async ({ operation, api }) => {
        if (operation !== 'create') return undefined
        const [counter] = await (await api.system(request('/counters'))).json()
        const path = `/counters/${counter._id}`
        const tag = (await api.system(request(path))).headers.get('etag')
        const also = [
          { method: 'PATCH', path, ifMatch: tag, system: true, body: { last: 5 } },
          { method: 'POST', path: '/counters', system: true, body: { last: 6 } },
        ]
        return { also }
      })
      await send('POST /counters', { ...asRoot, body: {} })
      const made = await send('POST /tickets', { caller: { id: 'ann' }, body: { title: 'a' } })
      expect(made.status).toBe(201)
      const { body } = await send('GET /counters?sort[last]=1', asRoot)
      expect(body).toMatchObject([
        { last: 5, createdBy: null },
        { last: 6, createdBy: 'ann' },
      ])
    },
  ],
  [
    'hooks do not change a document of full rights with the entity tag of api',
    async (opener) => {
      const { send } = hooked(opener)(async ({ operation, after, api }) => {
        if (operation !== 'create' || after?.title !== 'asking') return undefined
        const [ticket] = await (await api.system(request('/tickets'))).json()
        const path = `/tickets/${ticket._id}`
        const tag = (await api(request(path))).headers.get('etag')
        return { also: [{ method: 'PATCH', path, ifMatch: tag, system: true, body: { number: 5 } }] }
      })
      await send('POST /tickets', { ...asRoot, body: { title: 'a' } })
      const caller = { id: 'ann', roles: ['system'] }
      const refused = await send('POST /tickets', { caller, body: { title: 'asking' } })
      expect(refused).toMatchObject({ status: 412, body: { code: 'precondition_failed' } })
    },
  ],
  [
    'hooks must say whether an operation has full rights by true or false',
    async (opener) => {
      const open = hooked(opener)
      const { send, logged } = open(({ operation }) =>
        operation === 'create'
          ? { also: [{ method: 'POST', path: '/counters', system: 'yes', body: {} }] }
          : undefined,
      )
      const { status } = await send('POST /tickets', { mayFail: true, body: { title: 'a' } })
      expect(status).toBe(500)
      expect(String((logged.at(-1)?.[1] as { cause: Error } | undefined)?.cause.cause)).toContain(
        '/0/system must be true or false',
      )
    },
  ],
  [
    'hooks are not asked about what they add with full rights',
    async (opener) => {
      const open = hooked(opener)
      let calls = 0
      const { send } = open(() => {
        calls++
        return { also: [{ method: 'POST', path: '/tickets', system: true, body: { title: 'b' } }] }
      })
      await send('POST /tickets', { ...asRoot, body: { title: 'a' } })
      expect(calls).toBe(1)
      expect((await send('GET /tickets', asRoot)).body).toHaveLength(2)
    },
  ],
]
