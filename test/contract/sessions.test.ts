import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { createTestService } from '../support/service.js'
import { ann, configOf, login, outcomeOf, register, watchWrites } from './support/accounts.js'

const DAY = 24 * 60 * 60 * 1000

describe('a signed-in user', () => {
  test('is the creator of what is created, and its owner', async () => {
    const service = createTestService(configOf())
    const [first, second] = [
      await service.register(ann),
      await service.register({ ...ann, email: 'b@x.org' }),
    ]
    const created = await service.send('POST /notes', { body: { text: 'mine' }, token: first.token })
    expect(created.body.createdBy).toBe(first.id)
    expect(await service.list('/notes', 'text', { token: first.token })).toEqual(['mine'])
    expect(await service.list('/notes', 'text', { token: second.token })).toEqual([])
    const foreign = await service.send(`GET /notes/${created.body._id}`, { token: second.token })
    expect(foreign.status).toBe(404)
  })
})

describe('logout', () => {
  test('ends this session at once and no other', async () => {
    const service = createTestService(configOf())
    const { token } = await service.register(ann)
    const { body: other } = await login(service, ann)
    const answer = await service.send('POST /auth/logout', { token })
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(outcomeOf(await service.send('GET /auth/me', { token }))).toEqual([401, 'invalid_token'])
    expect(outcomeOf(await service.send('POST /auth/logout', { token }))).toEqual([401, 'invalid_token'])
    expect((await service.send('GET /auth/me', { token: other.token })).status).toBe(200)
  })
  test.each(['POST /auth/logout', 'GET /auth/me'])('%s without a token is a 401', async (line) => {
    const service = createTestService(configOf())
    expect(outcomeOf(await service.send(line))).toEqual([401, 'unauthenticated'])
  })
})

describe('sessions', () => {
  test('a token is random, and only its SHA-256 is stored', async () => {
    const { adapter, written } = watchWrites()
    const service = createTestService(configOf(), { adapter })
    const { token } = await service.register(ann)
    const { body } = await login(service, ann)
    const all = written.join('\n')
    expect(all).not.toContain(token)
    expect(all).not.toContain(body.token)
    expect(all).not.toContain('secret"')
    for (const issued of [token, body.token]) {
      expect(Buffer.from(issued, 'base64url')).toHaveLength(32)
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(issued))
      expect(all).toContain(Buffer.from(digest).toString('hex'))
    }
  })

  test('they survive a restart and are shared by all services on the same storage', async () => {
    const adapter = createMemoryAdapter()
    const first = createTestService(configOf(), { adapter })
    const { token, id } = await first.register(ann)
    const second = createTestService(configOf(), { adapter })
    expect((await second.send('GET /auth/me', { token })).body._id).toBe(id)
    expect((await second.send('POST /auth/logout', { token })).status).toBe(204)
    expect((await first.send('GET /auth/me', { token })).status).toBe(401)
    expect((await login(second, ann)).status).toBe(200)
  })

  test.each<[string, object, number]>([
    ['30 days by default', {}, 30],
    ['sessionDays', { sessionDays: 2 }, 2],
    ['a part of a day', { sessionDays: 0.5 }, 0.5],
  ])('one lives %s', async (_, auth, days) => {
    const start = Date.parse('2026-01-01T00:00:00Z')
    let now = start
    const service = createTestService(configOf({ auth }), { now: () => now })
    const { body } = await register(service, ann)
    expect(body.expiresAt).toBe(new Date(start + days * DAY).toISOString())
    const status = async (): Promise<number> =>
      (await service.send('GET /auth/me', { token: body.token })).status
    now = start + days * DAY - 1
    expect(await status()).toBe(200)
    now = start + days * DAY
    expect(await status()).toBe(401)
    // Who signs in again has another whole period.
    const { body: renewed } = await login(service, ann)
    expect(renewed.expiresAt).toBe(new Date(now + days * DAY).toISOString())
  })

  const nobody = 'A'.repeat(43)
  test.each<[string, string]>([
    ['a token that nobody has', `Bearer ${nobody}`],
    ['a token cut short', `Bearer ${nobody.slice(1)}`],
    ['a token that goes on', `Bearer ${nobody}A`],
    ['other characters', `Bearer ${'*'.repeat(43)}`],
    ['no token', 'Bearer'],
    ['two tokens', `Bearer ${nobody} ${nobody}`],
    ['a very long one', `Bearer ${'A'.repeat(5000)}`],
    ['a JSON web token', 'Bearer eyJhbGciOiJub25lIn0.e30.'],
  ])('%s is a 401 on public data too', async (_, authorization) => {
    const service = createTestService(configOf())
    await service.register(ann)
    for (const line of ['GET /news', 'GET /news/count', 'GET /auth/me', 'POST /auth/logout', 'POST /notes']) {
      const answer = await service.send(line, { headers: { authorization } })
      expect(outcomeOf(answer), line).toEqual([401, 'invalid_token'])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    }
  })

  test('the scheme is of any case, and spaces may follow it', async () => {
    const service = createTestService(configOf())
    const { token } = await service.register(ann)
    for (const authorization of [`bearer ${token}`, `BEARER ${token}`, `Bearer   ${token}`]) {
      expect((await service.send('GET /auth/me', { headers: { authorization } })).status).toBe(200)
    }
  })

  test('a token is exact', async () => {
    const service = createTestService(configOf())
    const { token } = await service.register(ann)
    const changed = (token.startsWith('A') ? 'B' : 'A') + token.slice(1)
    for (const wrong of [changed, token.toLowerCase(), token.toUpperCase()]) {
      expect((await service.send('GET /auth/me', { token: wrong })).status).toBe(401)
    }
  })

  test('a token of a user of another storage is none', async () => {
    const { token } = await createTestService(configOf()).register(ann)
    expect((await createTestService(configOf()).send('GET /news', { token })).status).toBe(401)
  })
})
