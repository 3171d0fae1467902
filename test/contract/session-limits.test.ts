import { describe, expect, test } from 'vitest'
import { issueSession, SESSIONS } from '../../src/core/accounts/auth/sessions.js'
import { everything } from '../../src/core/filter/filter.js'
import type { StorageAdapter, WriteStep } from '../../src/core/storage.js'
import { createTestService, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { ann, configOf, login, outcomeOf } from './support/accounts.js'

// CONTRACT.md §4, "Sessions"

const DAY = 24 * 60 * 60 * 1000
const HOUR = DAY / 24

const opened = closeAfterEach()

/** What an adapter has removed at most by one write. */
function watchRemovals(inner: StorageAdapter) {
  let most = 0
  const adapter: StorageAdapter = {
    ...inner,
    async write(steps, options) {
      const result = await inner.write(steps, options)
      if (result.ok) most = Math.max(most, result.removed)
      return result
    },
  }
  return { adapter, most: () => most }
}

describe.each(useStorages())('in %s', (_, create) => {
  async function open(auth: object, permissions: object = {}) {
    let now = Date.parse('2026-01-01T00:00:00Z')
    const works: Promise<unknown>[] = []
    const { adapter, most } = watchRemovals(create())
    const service = createTestService(configOf({ auth, permissions }), {
      adapter,
      now: () => now,
      background: (work) => void works.push(work),
    })
    opened.push(service)
    const { token, id } = await service.register(ann)
    const count = async (): Promise<number> => adapter.count(SESSIONS, everything, {})
    return {
      service,
      adapter,
      token,
      id,
      most,
      count,
      pass: (milliseconds: number) => {
        now += milliseconds
      },
      signIn: async (): Promise<string> => {
        now += 1
        return (await login(service, ann)).body.token
      },
      async settle() {
        for (let work = works.shift(); work; work = works.shift()) await work
      },
      /** Stores sessions as a release without a limit has. */
      async store(many: number) {
        const stamp = String((await adapter.list('users', ALL))[0]?._stamp)
        for (let left = many; left > 0; left -= 500) {
          const steps = Array.from({ length: Math.min(left, 500) }, (_, i): WriteStep => {
            return issueSession(id, stamp, now - left + i, DAY).step
          })
          await adapter.write(steps, {})
        }
      },
    }
  }
  const statusesOf = async (service: TestService, tokens: readonly string[]): Promise<number[]> => {
    const statuses: number[] = []
    for (const token of tokens) statuses.push((await service.send('GET /auth/me', { token })).status)
    return statuses
  }

  test('a login beyond the limit ends the oldest session, by the write that stores its own', async () => {
    const { service, token, signIn, count } = await open({ sessions: 3 })
    const tokens = [token, await signIn(), await signIn(), await signIn(), await signIn()]
    expect(await statusesOf(service, tokens)).toEqual([401, 401, 200, 200, 200])
    expect(await count()).toBe(3)
    const [, , , , last = ''] = tokens
    expect(await service.list('/auth/sessions', 'isCurrent', { token: last })).toEqual([false, false, true])
  })

  test('one session is the least, and each login ends the one before', async () => {
    const { service, token, signIn, count } = await open({ sessions: 1 })
    const tokens = [token, await signIn(), await signIn()]
    expect(await statusesOf(service, tokens)).toEqual([401, 401, 200])
    expect(await count()).toBe(1)
  })

  test('logins at the same time may leave more, which the next one ends', async () => {
    const { service, token, signIn, settle, count, pass } = await open({ sessions: 2 })
    pass(1)
    await Promise.all(Array.from({ length: 6 }, () => login(service, ann)))
    const last = await signIn()
    await settle()
    expect(await count()).toBe(2)
    expect(await statusesOf(service, [token, last])).toEqual([401, 200])
  })

  test('of another account none ends, and none of a login that fails', async () => {
    const { service, token, signIn } = await open({ sessions: 1 })
    const ben = await service.register({ ...ann, email: 'ben@example.org' })
    expect((await login(service, { ...ann, password: 'wrong' })).status).toBe(401)
    expect(await statusesOf(service, [token, ben.token])).toEqual([200, 200])
    await signIn()
    expect(await statusesOf(service, [ben.token])).toEqual([200])
  })

  test('pages of sessions hold each once, also where many began at the same time', async () => {
    const { service, token, store, signIn } = await open({ sessions: 1000 })
    const seen: unknown[] = []
    await store(3)
    const same = Array.from({ length: 4 }, () => login(service, ann))
    await Promise.all(same)
    await signIn()
    let next: string | undefined = '/auth/sessions?limit=2'
    for (let pages = 0; next !== undefined; pages += 1) {
      expect(pages).toBeLessThan(6)
      const { status, body, headers, text } = await service.send(`GET ${next}`, { token })
      expect([status, headers.get('cache-control'), text.includes(token)]).toEqual([200, 'no-store', false])
      expect(body.length).toBeLessThanOrEqual(2)
      seen.push(...body.map(({ _id }: { _id: string }) => _id))
      next = /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
      const cursor = headers.get('next-cursor')
      expect(next).toBe(cursor === null ? undefined : `/auth/sessions?limit=2&after=${cursor}`)
    }
    expect(seen).toEqual(await service.list('/auth/sessions', '_id', { token }))
    expect(new Set(seen).size).toBe(9)
    // What goes meanwhile is not there, and all others are.
    const first = await service.send('GET /auth/sessions?limit=2', { token })
    await service.send(`DELETE /auth/sessions/${seen[1]}`, { token })
    const after = first.headers.get('next-cursor')
    expect(await service.list(`/auth/sessions?after=${after}`, '_id', { token })).toEqual(seen.slice(2))
    expect(await service.list('/auth/sessions?limit=0', '_id', { token })).toEqual([])
  })

  test.each([
    ['limit=1001', 'limit', 'out_of_range'],
    ['limit=-1', 'limit', 'out_of_range'],
    ['limit=x', 'limit', 'out_of_range'],
    ['limit=1&limit=2', 'limit', 'repeated'],
    ['after=x', 'after', 'malformed'],
    ['after=WzEsMl0', 'after', 'malformed'],
    [`after=${btoa('["2026-01-01",1,"x"]').replaceAll('=', '')}`, 'after', 'malformed'],
    [`after=${btoa('["",-1,"x"]').replaceAll('=', '')}`, 'after', 'malformed'],
    [`after=${btoa('["",1.5,"x"]').replaceAll('=', '')}`, 'after', 'malformed'],
    [`after=${btoa('["",1,"x",1]').replaceAll('=', '')}`, 'after', 'malformed'],
    ['skip=1', 'skip', 'unknown_parameter'],
    ['total=true', 'total', 'unknown_parameter'],
    ['q[user]=x', 'q[user]', 'unknown_parameter'],
  ])('%s is a 400 that names the parameter', async (query, path, code) => {
    const { service, token } = await open({})
    const { status, body } = await service.send(`GET /auth/sessions?${query}`, { token })
    expect([status, body.code, body.errors[0]]).toMatchObject([400, 'invalid_query', { path, code }])
    expect((await service.send(`GET /auth/sessions?${query}`)).status).toBe(401)
  })

  const owned = { owner: { read: true, update: true, delete: true } }
  test.each<[string, number, (service: TestService, token: string, id: string) => Promise<unknown>]>([
    [
      'change-secret',
      1,
      (service, token) =>
        service.send('POST /auth/change-secret', { token, body: { current: 'secret', new: 'another' } }),
    ],
    ['logout-all', 0, (service, token) => service.send('POST /auth/logout-all', { token })],
    [
      'an update of the secret, which keeps the session that made it',
      1,
      (service, token, id) => service.send(`PATCH /users/${id}`, { token, body: { password: 'another' } }),
    ],
    ['a delete', 0, (service, token, id) => service.send(`DELETE /users/${id}`, { token })],
    [
      'a batch',
      0,
      (service, token, id) =>
        service.send('POST /_batch', {
          token,
          body: { operations: [{ method: 'DELETE', path: `/users/${id}` }] },
        }),
    ],
  ])('many sessions end at once by %s, and are removed in slices', async (_, left, end) => {
    const { service, token, id, signIn, store, settle, count, most } = await open({ sessions: 1000 }, owned)
    const other = await signIn()
    await store(3000)
    await end(service, token, id)
    expect(await statusesOf(service, [other])).toEqual([401])
    await settle()
    expect(await count()).toBe(left)
    expect(most()).toBeLessThanOrEqual(201)
    if (left > 0 && _.startsWith('an update')) expect(await statusesOf(service, [token])).toEqual([200])
  })

  test('a login to an account from before there was a limit ends all beyond it, in slices', async () => {
    const { service, signIn, store, settle, count, most, token } = await open({ sessions: 5 })
    await store(3000)
    const last = await signIn()
    await settle()
    expect(await count()).toBe(5)
    expect(await statusesOf(service, [last, token])).toEqual([200, 200])
    expect(most()).toBeLessThanOrEqual(200)
  })

  test('a session of many is found by its name, and one that is not there is a 404', async () => {
    const { service, token, store } = await open({ sessions: 1000 })
    await store(1200)
    const [first] = await service.list('/auth/sessions?limit=1', '_id', { token })
    const last = (await service.send('GET /auth/sessions', { token })).body.at(-1)
    for (const [name, status] of [
      [first, 204],
      [first, 404],
      [last._id, 204],
      ['x', 404],
    ])
      expect((await service.send(`DELETE /auth/sessions/${name}`, { token })).status).toBe(status)
  })

  test('expired sessions go within an hour of requests, without a login, and not by one that is refused', async () => {
    const { service, store, settle, count, pass, most } = await open({ sessions: 1000, sessionDays: 1 })
    await store(450)
    pass(2 * DAY)
    expect(outcomeOf(await service.send('GET /auth/me'))).toEqual([401, 'unauthenticated'])
    await settle()
    expect(await count()).toBe(451)
    expect((await service.send('GET /news')).status).toBe(200)
    await settle()
    expect(await count()).toBe(0)
    expect(most()).toBeLessThanOrEqual(100)
    // Not each request looks.
    await store(1)
    pass(DAY - HOUR)
    await service.send('GET /news')
    await settle()
    expect(await count()).toBe(1)
  })
})

const ALL = { filter: everything, sort: [], skip: 0, limit: null }

test.each([0, 1001, 1.5, '5', null])('auth.sessions: %j is a ConfigError', (sessions) => {
  expect(() => createTestService(configOf({ auth: { sessions } }))).toThrow(
    expect.objectContaining({ faults: [expect.objectContaining({ path: '/auth/sessions' })] }),
  )
})
