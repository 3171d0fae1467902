import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { createTestService, faultsOf, type Sent } from '../support/service.js'
import { idOf } from '../support/stored.js'
import { CONFIG, spyOn } from './fixture.js'

// CONTRACT.md §2, "Batch"

/** What somebody would try who takes a batch for a way around the gates. */

type Json = { readonly [name: string]: unknown }

const config = {
  ...CONFIG,
  collections: {
    ...CONFIG.collections,
    users: {
      ...CONFIG.collections.users,
      permissions: {
        ...CONFIG.collections.users.permissions,
        owner: { read: true, update: { pick: ['nick'] }, delete: true },
      },
    },
    posts: {
      ...CONFIG.collections.posts,
      permissions: {
        ...CONFIG.collections.posts.permissions,
        owner: { update: { omit: ['secret', 'owner'] }, delete: true },
      },
    },
    drafts: {
      schema: { text: { type: 'string' }, key: { type: 'string', unique: true } },
      permissions: { owner: { read: true, update: true, delete: true }, user: { create: true } },
    },
  },
}

const credentials = (name: string) => ({ email: `${name}@example.com`, password: `${name}-secret` })

async function createStage() {
  const adapter = spyOn(createMemoryAdapter())
  const service = createTestService(config, { adapter })
  const ann = await service.register(credentials('ann'))
  const ben = await service.register(credentials('ben'))
  const { body: draft } = await service.send('POST /drafts', {
    token: ben.token,
    body: { text: 'of ben', key: 'k' },
  })
  const run = (token: string | undefined, ...operations: readonly Json[]): Promise<Sent> =>
    service.send('POST /_batch', { ...(token ? { token } : {}), body: { operations } })
  return { ...service, adapter, ann, ben, run, draft: `/drafts/${draft._id}` }
}

const get = (path: string, more: Json = {}) => ({ method: 'GET', path, ...more })
const post = (path: string, body: Json) => ({ method: 'POST', path, body })
const patch = (path: string, body: Json, more: Json = {}) => ({ method: 'PATCH', path, body, ...more })

const refusalOf = ({ status, body }: Sent): unknown => [status, body.code, body.operation]

describe('a batch grants nothing that its operations alone are not granted', () => {
  test('to somebody without a token', async () => {
    const { run, draft } = await createStage()
    for (const operation of [
      get(draft),
      patch(draft, {}),
      post('/drafts', {}),
      { method: 'DELETE', path: draft },
    ]) {
      const sent = await run(undefined, operation)
      expect(refusalOf(sent)).toEqual([401, 'unauthenticated', 0])
      expect(sent.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('of a document of somebody else, there or not', async () => {
    const { run, ann, draft } = await createStage()
    for (const path of [draft, `/drafts/${idOf(1)}`]) {
      for (const operation of [get(path), patch(path, { text: 'x' }), { method: 'DELETE', path }]) {
        const { requestId: _, ...problem } = (await run(ann.token, operation)).body
        expect(problem).toMatchObject({ status: 404, code: 'not_found', operation: 0 })
        expect(JSON.stringify(problem)).not.toContain('of ben')
      }
    }
  })

  test('on another caller’s account, or of a role', async () => {
    const { run, ann, ben, send } = await createStage()
    const sent = await run(
      ann.token,
      patch(`/users/${ann.id}`, { nick: 'a', role: 'admin', email: 'x@example.com' }),
    )
    expect(sent.body.results[0].ignored).toEqual(['email', 'role'])
    expect((await send('GET /auth/me', { token: ann.token })).body.role).toBeUndefined()
    expect(refusalOf(await run(ann.token, patch(`/users/${ben.id}`, { nick: 'a' })))).toEqual([
      403,
      'forbidden',
      0,
    ])
    expect(
      refusalOf(await run(ann.token, patch(`/users/${ann.id}`, { password: 'another-secret' }))),
    ).toEqual([200, undefined, undefined])
    expect((await send('POST /auth/login', { body: credentials('ann') })).status).toBe(200)
  })

  test('with a token that is none', async () => {
    const { run } = await createStage()
    expect((await run('x', post('/open', {}))).body).toMatchObject({ status: 401, code: 'invalid_token' })
  })

  test('as another by what it sends', async () => {
    const { run, ann } = await createStage()
    for (const more of [
      { headers: { authorization: 'x' } },
      { caller: 'admin' },
      { token: 'x' },
      { as: 'admin' },
    ]) {
      const sent = await run(ann.token, { ...post('/open', {}), ...more })
      expect([sent.status, Object.values(faultsOf(sent))]).toEqual([400, ['unknown_property']])
    }
  })
})

describe('a batch tells no more than its operations alone', () => {
  test('where it is refused behind a write', async () => {
    const { run, ann, draft } = await createStage()
    const probe = async (...operations: readonly Json[]) => {
      const { requestId: _, ...problem } = (await run(ann.token, ...operations)).body
      return JSON.stringify(problem)
    }
    const there = await probe(post('/drafts', { text: 'mine' }), get(draft))
    const nowhere = await probe(post('/drafts', { text: 'mine' }), get(`/drafts/${idOf(1)}`))
    expect(there).toBe(nowhere)
  })

  test('of a tag that is guessed for a document that may not be read', async () => {
    const { run, ann, draft } = await createStage()
    for (const tag of ['*', '"guess"', 'W/"guess-gzip"'])
      expect(refusalOf(await run(ann.token, get(draft, { ifMatch: tag })))).toEqual([404, 'not_found', 0])
  })

  test('where a condition at its end is not met', async () => {
    const { run, ann, ben, send } = await createStage()
    const mine = await send('POST /drafts', { token: ann.token, body: { key: 'mine' } })
    const path = `/drafts/${mine.body._id}`
    const draftOfBen = (await send('GET /drafts', { token: ben.token })).body[0]._id
    // An exchange with a document of somebody else: its operation is the error, not the value that it would free.
    const exchange = (id: string) =>
      run(ann.token, patch(path, { key: 'k' }), patch(`/drafts/${id}`, { key: 'mine' }))
    const [there, nowhere] = [await exchange(draftOfBen), await exchange(idOf(1))]
    expect(refusalOf(there)).toEqual([404, 'not_found', 1])
    expect({ ...there.body, requestId: '' }).toEqual({ ...nowhere.body, requestId: '' })
    // A later operation that changes nothing of it frees no value.
    const kept = await run(ann.token, patch(path, { key: 'k' }), patch(path, { text: 'x' }))
    expect(refusalOf(kept)).toEqual([409, 'unique_violation', 1])
    expect(JSON.stringify(kept.body)).not.toContain(draftOfBen)
    expect((await send(`GET ${path}`, { token: ann.token })).body.key).toBe('mine')
  })

  test('of a value that is taken: that it is, and nothing else', async () => {
    const { run, ann } = await createStage()
    const { body } = await run(ann.token, post('/open', {}), post('/drafts', { key: 'k' }))
    expect(body).toMatchObject({ code: 'unique_violation', operation: 1 })
    expect(body.errors).toEqual([
      { path: '/operations/1/body/key', code: 'taken', message: expect.any(String) },
    ])
    expect(JSON.stringify(body)).not.toContain('ben')
  })

  test('in the answer to its own writes', async () => {
    const { run, ann } = await createStage()
    const { body } = await run(ann.token, post('/posts', { title: 't', secret: 's', owner: 'o' }))
    expect(body.results[0]).toMatchObject({ status: 201, ignored: ['owner', 'secret'] })
    expect(Object.keys(body.results[0].body)).not.toContain('secret')
  })
})

describe('a batch leaves nothing behind and holds nobody up', () => {
  test('when its last operation is refused', async () => {
    const { run, ann, adapter, list } = await createStage()
    const before = adapter.calls.length
    const many = Array.from({ length: 99 }, (_, i) => post('/open', { name: `${i}` }))
    expect(refusalOf(await run(ann.token, ...many, post('/locked', { x: 'x' })))).toEqual([
      403,
      'forbidden',
      99,
    ])
    expect(await list('/open', '_id')).toEqual([])
    // The writes before it were tried once, and not kept.
    expect(adapter.calls.slice(before).filter((call) => call.startsWith('write'))).toHaveLength(1)
  })

  test('with more operations than bulk takes documents, or none', async () => {
    const { run, ann, adapter } = await createStage()
    const before = adapter.calls.filter((call) => call.startsWith('write')).length
    for (const operations of [Array(101).fill(post('/open', {})), []]) {
      expect((await run(ann.token, ...operations)).status).toBe(400)
    }
    expect(adapter.calls.filter((call) => call.startsWith('write'))).toHaveLength(before)
  })

  test('by faults without number', async () => {
    const { send, ann } = await createStage()
    const raw = `{"operations":[{${Array.from({ length: 15_000 }, (_, i) => `"m${i}":1`).join()}}]}`
    const sent = await send('POST /_batch', {
      token: ann.token,
      raw,
      headers: { 'content-type': 'application/json' },
    })
    expect([sent.status, sent.body.errors.length]).toEqual([400, 50])
  })

  test('by more operations than it takes, however many', async () => {
    const { run, ann } = await createStage()
    const sent = await run(ann.token, ...Array<Json>(8000).fill({ path: '/articlez' }))
    expect(faultsOf(sent)).toEqual({ '/operations': 'too_many' })
    expect(Object.keys(faultsOf(await run(ann.token, get('/'.repeat(100_000)))))).toEqual([
      '/operations/0/path',
    ])
  })

  test('by the length of names', async () => {
    const { send, ann } = await createStage()
    const raw = `{"operations":[{"method":"POST","path":"/open","body":{"${'x'.repeat(20_000)}":{"__proto__":1}}}]}`
    const headers = { 'content-type': 'application/json' }
    const sent = await send('POST /_batch', { token: ann.token, raw, headers })
    expect([sent.status, sent.text.length < 1000]).toEqual([400, true])
  })

  test('or tells what collections there are', async () => {
    const { run } = await createStage()
    expect((await run(undefined, get(`/lockd/${idOf(1)}`))).text).not.toContain('locked')
  })

  test.each(['/_batch', '/auth/login', '/auth/register', '/auth/me', '/users/bulk', '/', '/locked/../users'])(
    'by the path %s inside it',
    async (path) => {
      const { run, ann } = await createStage()
      const body = { operations: [], email: 'x@example.com', password: 'a secret' }
      const sent = await run(ann.token, { method: 'POST', path, body })
      expect([sent.status, Object.keys(faultsOf(sent))]).toEqual([400, ['/operations/0/path']])
    },
  )
})
