import { expect, test } from 'vitest'
import type { Caller, HookChange } from '../../src/index.js'
import { createTestService, faultsOf, type TestService } from '../support/service.js'

// CONTRACT.md §7, "Full rights" and "Identifying callers": nothing that a client or a configuration says reaches them

const text = { type: 'string' } as const
const config = {
  collections: {
    notes: {
      schema: { title: text, secret: text },
      permissions: {
        user: { read: { pick: ['title'] }, create: { pick: ['title'] }, update: { pick: ['title'] } },
      },
      changes: true,
    },
    vaults: { schema: { code: text }, permissions: {} },
  },
} as const

const NOTE = '0189abcd-0000-7000-8000-000000000001'
const documents = {
  notes: [{ _id: NOTE, title: 'a', secret: 'zeta' }],
  vaults: [{ _id: NOTE, code: 'zeta' }],
}

const open = (options: object = {}): TestService =>
  createTestService(config, { documents, authenticate: () => null, ...options } as never)

const request = (path: string, init: RequestInit = {}): Request => new Request(`http://a.test${path}`, init)

test.each<[string, object]>([
  ['a role', { id: 'mallory', roles: ['system', 'System', '*', 'owner'] }],
  ['a field', { id: 'mallory', isSystem: true, system: true, hasFullRights: true, as: 'root' }],
  ['a prototype', Object.create({ isSystem: true }, { id: { value: 'mallory', enumerable: true } })],
])('a caller of the host gets no full rights by %s', async (_, caller) => {
  const { send, handler } = open({ authenticate: () => caller as Caller })
  expect((await send('GET /vaults')).status).toBe(403)
  expect((await send(`GET /vaults/${NOTE}`)).status).toBe(404)
  expect((await send(`GET /notes/${NOTE}`)).body).toEqual({ _id: NOTE, title: 'a' })
  expect((await handler.as(caller as Caller)(request('/vaults'))).status).toBe(403)
})

test.each([
  ['a header', '/vaults', { 'x-system': '1', system: 'true', 'x-as': 'root', prefer: 'system' }],
  ['a query', '/vaults?system=true&as=root', {}],
  ['a token', '/vaults', { authorization: 'Bearer system' }],
  ['a path', '/vaults/system', {}],
  ['a path below another', '/system/vaults', {}],
])('a client gets no full rights by %s', async (_, path, headers) => {
  const { send } = open()
  for (const caller of [undefined, { id: 'mallory' }]) {
    const { status, text } = await send(`GET ${path}`, { headers, ...(caller ? { caller } : {}) })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(text).not.toContain('zeta')
  }
})

test('the operations of a batch of a client have no full rights', async () => {
  const { send } = open()
  const caller = { id: 'mallory' }
  const operations = [{ method: 'PATCH', path: `/notes/${NOTE}`, system: true, body: { secret: 'mine' } }]
  const refused = await send('POST /_batch', { caller, body: { operations } })
  expect(refused.status).toBe(400)
  expect(faultsOf(refused)).toEqual({ '/operations/0/system': 'unknown_property' })
  expect((await send(`GET /notes/${NOTE}`, { system: {} })).body.secret).toBe('zeta')
})

test('the id to which full rights attribute a write has no rights by that', async () => {
  const { send } = open()
  await send('POST /vaults', { system: { as: 'mallory' }, body: { code: 'zeta' } })
  const caller = { id: 'mallory' }
  expect((await send('GET /vaults', { caller })).status).toBe(403)
  const { body } = await send('GET /notes', { caller })
  expect(body).toEqual([{ _id: NOTE, title: 'a' }])
})

test('what a hook is told of a write with full rights gives no rights to whom it is passed on', async () => {
  const told: (Caller | null)[] = []
  const before = ({ caller }: HookChange): void => void told.push(caller)
  const { send, handler } = open({ hooks: { notes: { before } } })
  for (const system of [{}, { as: 'mallory' }]) await send('POST /notes', { system, body: { title: 'b' } })
  for (const caller of told) {
    const response = await handler.as(caller)(request('/vaults'))
    expect(response.status).toBe(caller ? 403 : 401)
  }
})

test('what full rights have read is in no answer to others', async () => {
  const before = async ({ api }: HookChange): Promise<void> => {
    for (const path of ['/notes', `/notes/${NOTE}`, '/notes?q[secret]=zeta', '/notes/count?q[secret]=zeta'])
      for (let i = 0; i < 3; i++) await (await api.system(request(path))).text()
  }
  const { send, handler } = open({ hooks: { notes: { before } } })
  const caller = { id: 'mallory' }
  const read = async (): Promise<unknown[]> => {
    const answers = []
    for (const path of ['/notes', `/notes/${NOTE}`, '/notes?q[secret]=zeta', '/notes/count?q[secret]=zeta']) {
      const { status, headers, text } = await send(`GET ${path}`, { caller })
      answers.push([status, [...headers], text.replace(/"requestId":"[^"]*"/, '')])
    }
    return answers
  }
  const first = await read()
  for (let i = 0; i < 3; i++)
    for (const path of ['/notes', '/notes?q[secret]=zeta'])
      await (await handler.system()(request(path))).text()
  expect((await send(`PATCH /notes/${NOTE}`, { caller, body: { title: 'a' } })).status).toBe(200)
  expect(JSON.stringify(first)).not.toContain('"secret":')
  expect(await read()).toEqual(first)
})

test('a hook that reads with full rights tells nothing of it by the order or the errors of a write', async () => {
  const answersOver = async (vaults: object[]): Promise<string[]> => {
    const before = async ({ api }: HookChange): Promise<void> => {
      for (const path of ['/vaults', `/vaults/${NOTE}`, '/vaults/count']) await api.system(request(path))
    }
    const { send } = open({ documents: { ...documents, vaults }, hooks: { notes: { before } } })
    const caller = { id: 'mallory' }
    const answers: string[] = []
    for (const [line, body] of [
      [`PATCH /notes/${NOTE}`, { title: 'b' }],
      [`PATCH /notes/${NOTE}`, { title: 7 }],
      [`PATCH /notes/${NOTE}`, { secret: 'x' }],
      [`DELETE /notes/${NOTE}`, undefined],
    ] as const) {
      const { status, text } = await send(line, { caller, ...(body ? { body } : {}) })
      answers.push(`${status} ${text.replace(/"(requestId|updatedAt)":"[^"]*"/g, '')}`)
    }
    return answers
  }
  expect(await answersOver([])).toEqual(await answersOver(documents.vaults))
})

test('handlers with full rights do not take the caller of a request', async () => {
  const authenticate = (): never => {
    throw new Error('must not be asked')
  }
  const { handler } = open({ authenticate })
  const response = await handler.system()(request('/vaults', { headers: { authorization: 'Bearer x' } }))
  expect(response.status).toBe(200)
})
