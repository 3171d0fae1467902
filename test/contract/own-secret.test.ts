import { describe, expect, test } from 'vitest'
import { createTestService, faultsOf, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { ann, configOf, login, outcomeOf } from './support/accounts.js'

// CONTRACT.md §4, "Changing the secret", "Sessions"

const CHANGE = 'POST /auth/change-secret'
const DAY = 24 * 60 * 60 * 1000

const storages = useStorages()
const opened = closeAfterEach()

describe.each(storages)('the own secret, in %s,', (_, create) => {
  async function open(now = Date.now) {
    const service = createTestService(configOf(), { adapter: create(), now })
    opened.push(service)
    return { service, ...(await service.register(ann)) }
  }
  const change = ({ send }: TestService, token: string, current: unknown, next: unknown) =>
    send(CHANGE, { token, body: { current, new: next } })

  test('is changed by who knows it: all sessions end, and one begins', async () => {
    const { service, token } = await open()
    const other = (await login(service, ann)).body.token
    const sent = await change(service, token, ann.password, 'another secret')
    expect([sent.status, sent.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(Object.keys(sent.body)).toEqual(['user', 'token', 'expiresAt'])
    expect(sent.body.user.email).toBe(ann.email)
    for (const old of [token, other])
      expect(outcomeOf(await service.send('GET /auth/me', { token: old }))).toEqual([401, 'invalid_token'])
    expect((await service.send('GET /auth/me', { token: sent.body.token })).status).toBe(200)
    expect(outcomeOf(await login(service, ann))).toEqual([401, 'invalid_credentials'])
    expect((await login(service, { ...ann, password: 'another secret' })).status).toBe(200)
  })

  test('stays for who does not know it, and that counts as a failed login', async () => {
    const { service, token } = await open()
    for (let i = 0; i < 100; i++)
      expect(outcomeOf(await change(service, token, 'wrong', 'another secret'))).toEqual([
        401,
        'invalid_credentials',
      ])
    expect(outcomeOf(await change(service, token, ann.password, 'another secret'))).toEqual([
      429,
      'too_many_attempts',
    ])
    expect(outcomeOf(await login(service, ann))).toEqual([429, 'too_many_attempts'])
  })

  test('is judged before anything else: what is wrong with the new one is at /new', async () => {
    const { service, token } = await open()
    for (const next of ['x', 'ä'.repeat(37), `a secret${'\u0000'}`]) {
      const sent = await change(service, token, 'wrong', next)
      expect([sent.status, Object.keys(faultsOf(sent))]).toEqual([400, ['/new']])
      expect(sent.text).not.toContain(next)
    }
    for (const [body, path] of [
      [{ current: 'x' }, '/new'],
      [{ new: 'another secret' }, '/current'],
      [{ current: 1, new: 'another secret' }, '/current'],
      [{ current: 'x', new: 'another secret', more: 1 }, '/more'],
    ] as const)
      expect(Object.keys(faultsOf(await service.send(CHANGE, { token, body })))).toEqual([path])
  })

  test('is changed by nobody without a session', async () => {
    const { service } = await open()
    const body = { current: ann.password, new: 'another secret' }
    expect(outcomeOf(await service.send(CHANGE, { body }))).toEqual([401, 'unauthenticated'])
  })

  test('of two changes at once, one is the first', async () => {
    const { service, token } = await open()
    const other = (await login(service, ann)).body.token
    const sent = await Promise.all(
      [token, other].map((one, i) => change(service, one, ann.password, `another secret ${i}`)),
    )
    expect(sent.map(({ status }) => status).sort()).toEqual([200, 401])
  })

  test('its sessions are listed by names, and ended one by one', async () => {
    let time = Date.parse('2026-11-20T08:00:00.000Z')
    const { service, token } = await open(() => time)
    time += DAY
    const second = (await login(service, ann)).body
    const { body: stranger } = await service.send('POST /auth/register', {
      body: { ...ann, email: 'b@x.org' },
    })
    const { status, body, text } = await service.send('GET /auth/sessions', { token })
    expect(status).toBe(200)
    expect(body).toEqual([
      {
        _id: expect.stringMatching(/^[0-9a-f]{32}$/),
        createdAt: '2026-11-20T08:00:00.000Z',
        expiresAt: expect.any(String),
        isCurrent: true,
      },
      {
        _id: expect.any(String),
        createdAt: '2026-11-21T08:00:00.000Z',
        expiresAt: second.expiresAt,
        isCurrent: false,
      },
    ])
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))
    expect(text).not.toContain(Buffer.from(digest).toString('hex').slice(0, 32))
    const end = (id: string, by = token) => service.send(`DELETE /auth/sessions/${id}`, { token: by })
    // Whatever is not the caller's is not there.
    expect(outcomeOf(await end(body[0]._id, stranger.token))).toEqual([404, 'not_found'])
    expect(outcomeOf(await end('nothing'))).toEqual([404, 'not_found'])
    expect((await end(body[1]._id)).status).toBe(204)
    expect(outcomeOf(await service.send('GET /auth/me', { token: second.token }))).toEqual([
      401,
      'invalid_token',
    ])
    expect(await service.list('/auth/sessions', '_id', { token })).toEqual([body[0]._id])
    expect((await end(body[0]._id)).status).toBe(204)
    expect(outcomeOf(await end(body[0]._id))).toEqual([401, 'invalid_token'])
  })

  test('its sessions are listed as they began, however long they last', async () => {
    let time = Date.parse('2026-11-20T08:00:00.000Z')
    const adapter = create()
    const days = (sessionDays: number) =>
      createTestService(configOf({ auth: { sessionDays } }), { adapter, now: () => time })
    const [long, short] = [days(30), days(1)]
    opened.push(short)
    await long.register(ann)
    const tokens: string[] = []
    for (const service of [short, long, short]) {
      time += 1000
      tokens.push((await login(service, ann)).body.token)
    }
    const began = await short.list('/auth/sessions', 'createdAt', { token: tokens[0] ?? '' })
    expect(began).toHaveLength(4)
    expect(began).toEqual([...began].sort())
  })

  test('sessions that no longer count are not listed', async () => {
    let time = Date.parse('2026-11-20T08:00:00.000Z')
    const { service } = await open(() => time)
    time += 365 * DAY
    const { body } = await login(service, ann)
    expect(await service.list('/auth/sessions', 'isCurrent', { token: body.token })).toEqual([true])
  })
})
