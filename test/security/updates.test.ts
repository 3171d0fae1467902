import { describe, expect, test } from 'vitest'
import { createTestService } from '../support/service.js'
import { CONFIG } from './fixture.js'

// CONTRACT.md §2, "Update", "Concurrency"

/** Posts that their owners may change, and accounts that may change themselves. */
const config = {
  ...CONFIG,
  collections: {
    ...CONFIG.collections,
    users: {
      ...CONFIG.collections.users,
      permissions: {
        ...CONFIG.collections.users.permissions,
        owner: { read: true, update: true, delete: true },
      },
    },
    posts: {
      ...CONFIG.collections.posts,
      permissions: {
        ...CONFIG.collections.posts.permissions,
        owner: { read: { omit: ['secret', 'owner'] }, update: { omit: ['secret', 'owner'] }, delete: true },
      },
    },
  },
}

const credentials = (name: string) => ({ email: `${name}@example.com`, password: `${name}-secret` })

async function createStage() {
  const service = createTestService(config)
  const ann = await service.register(credentials('ann'))
  const ben = await service.register(credentials('ben'))
  const { body } = await service.send('POST /posts', { token: ann.token, body: { title: 'one', score: 0 } })
  return { ...service, ann, ben, post: `/posts/${body._id}` }
}

describe('an update', () => {
  test.each<[what: string, body: object]>([
    ['a role', { role: 'admin' }],
    ['roles', { nick: 'n', role: ['admin'] }],
    ['an id', { _id: '01900000-0000-7000-8000-0000000000ff', nick: 'n' }],
    ['a creator and times', { createdBy: 'x', createdAt: 'x', updatedAt: 'x', nick: 'n' }],
  ])('takes %s from nobody', async (_, body) => {
    const { send, ann } = await createStage()
    for (const method of ['PATCH', 'PUT']) {
      const sent = method === 'PUT' ? { ...credentials('ann'), ...body } : body
      const { status } = await send(`${method} /users/${ann.id}`, { token: ann.token, body: sent })
      expect(status).toBe(200)
    }
    // A new secret keeps the session that brought it in.
    const { body: me } = await send('GET /auth/me', { token: ann.token })
    expect(me).toMatchObject({ _id: ann.id, createdBy: ann.id, email: 'ann@example.com' })
    expect(me.role).toBeUndefined()
    expect(me.createdAt).toMatch(/^20\d\d-/)
  })

  test.each<[what: string, raw: string]>([
    ['a prototype', '{"__proto__":{"admin":true}}'],
    ['a prototype within', '{"tags":[{"__proto__":1}]}'],
    ['a constructor', '{"constructor":{"prototype":{"p":1}}}'],
    ['an operator as a name', '{"$set":{"secret":"x"}}'],
    ['an operator as a value', '{"title":{"$ne":1}}'],
    ['a dotted name', '{"a.b":1}'],
    ['an internal name', '{"_version":9}'],
    ['another internal name', '{"_hashes":{"password":"x"}}'],
    ['an array', '[{"title":"x"}]'],
  ])('with %s is a 400 and changes nothing', async (_, raw) => {
    const { send, post, ann } = await createStage()
    const before = (await send(`GET ${post}`)).text
    for (const method of ['PATCH', 'PUT']) {
      const { status } = await send(`${method} ${post}`, { token: ann.token, raw })
      expect(status).toBe(400)
    }
    expect((await send(`GET ${post}`)).text).toBe(before)
  })

  test('of what one does not own is refused, and of what one cannot see does not exist', async () => {
    const { send, post, ann, ben } = await createStage()
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      const body = method === 'DELETE' ? {} : { body: { title: 'mine' } }
      expect((await send(`${method} ${post}`, { token: ben.token, ...body })).status).toBe(403)
      expect((await send(`${method} ${post}`, body)).status).toBe(401)
      const hidden = await send(`${method} /locked/${ann.id}`, { token: ben.token, ...body })
      const none = await send(`${method} /locked/01900000-0000-7000-8000-0000000000ff`, {
        token: ben.token,
        ...body,
      })
      expect([hidden.status, hidden.body.code]).toEqual([404, 'not_found'])
      expect({ ...hidden.body, requestId: '' }).toEqual({ ...none.body, requestId: '' })
    }
    expect((await send(`GET ${post}`)).body.title).toBe('one')
  })

  test('to a taken value fails, and the value given up by nobody stays protected', async () => {
    const { send, ann } = await createStage()
    const taken = await send(`PATCH /users/${ann.id}`, {
      token: ann.token,
      body: { email: 'ben@example.com' },
    })
    expect([taken.status, taken.body.code]).toEqual([409, 'unique_violation'])
    expect(taken.text).not.toContain('example.com')
    const again = await send('POST /auth/register', { body: credentials('ann') })
    expect(again.status).toBe(409)
  })

  test('shows nothing that its caller may not read', async () => {
    const { send, post, ann } = await createStage()
    const admin = { caller: { id: 'zoe', roles: ['admin'] } }
    await send(`PATCH ${post}`, { ...admin, body: { secret: 'zeta', owner: 'zoe' } })
    const answer = await send(`PATCH ${post}`, { token: ann.token, body: { title: 'two', secret: 'mine' } })
    expect(answer.status).toBe(200)
    expect(answer.text).not.toMatch(/zeta|zoe|mine/)
    expect((await send(`GET ${post}`, admin)).body).toMatchObject({
      title: 'two',
      secret: 'zeta',
      owner: 'zoe',
    })
  })
})

describe('a write that asks to lose nothing', () => {
  const strict = { prefer: 'handling=strict' }

  test('tells nothing of what its caller may not read', async () => {
    const told = new Set<string>()
    for (const secret of ['zeta', 'guess', null]) {
      const { send, post, ann } = await createStage()
      const admin = { caller: { id: 'zoe', roles: ['admin'] } }
      expect((await send(`PATCH ${post}`, { ...admin, body: { secret } })).status).toBe(200)
      const before = (await send(`GET ${post}`, admin)).text
      for (const method of ['PATCH', 'PUT'])
        for (const body of [
          { secret: 'guess' },
          { title: 'two', secret: 'guess' },
          { secret: null, _id: 'x' },
        ]) {
          const sent = await send(`${method} ${post}`, { token: ann.token, headers: strict, body })
          expect(sent.status).toBe(400)
          told.add(JSON.stringify([method, body, { ...sent.body, requestId: '' }]))
          expect((await send(`GET ${post}`, admin)).text).toBe(before)
        }
    }
    expect(told.size).toBe(6)
  })

  test('is no way around a rule: what may not be written is not written, however it is asked', async () => {
    const { send, post, ann, ben } = await createStage()
    const before = (await send(`GET ${post}`)).text
    for (const prefer of [
      'handling=strict',
      'handling=lenient',
      'return=representation',
      '"',
      'x'.repeat(5000),
    ]) {
      const headers = { prefer }
      const body = { title: 'mine' }
      expect((await send(`PATCH ${post}`, { token: ben.token, headers, body })).status).toBe(403)
      expect((await send(`PATCH ${post}`, { headers, body })).status).toBe(401)
      expect((await send(`PATCH /locked/${ann.id}`, { token: ben.token, headers, body })).status).toBe(404)
    }
    expect((await send(`GET ${post}`)).text).toBe(before)
  })
})

test('fifty increments of one counter at once: as many count as were acknowledged', async () => {
  const { send, post, ann } = await createStage()
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const { body, headers } = await send(`GET ${post}`, { token: ann.token })
      const etag = headers.get('etag') ?? ''
      const options = { token: ann.token, headers: { 'if-match': etag }, body: { score: body.score + 1 } }
      return (await send(`PATCH ${post}`, options)).status
    }),
  )
  const acknowledged = statuses.filter((status) => status === 200).length
  expect(acknowledged).toBeGreaterThan(0)
  expect(statuses.filter((status) => status !== 200 && status !== 412)).toEqual([])
  expect((await send(`GET ${post}`)).body.score).toBe(acknowledged)
})

test('a demoted user has the rights of before in no request after', async () => {
  const { send, ann } = await createStage()
  const admin = { caller: { id: 'zoe', roles: ['admin'] } }
  await send(`PATCH /users/${ann.id}`, { ...admin, body: { role: 'admin' } })
  expect((await send('GET /posts?q[secret]="x"', { token: ann.token })).status).toBe(200)
  await send(`PATCH /users/${ann.id}`, { ...admin, body: { role: null } })
  expect((await send('GET /posts?q[secret]="x"', { token: ann.token })).status).toBe(400)
})
