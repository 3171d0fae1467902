import { expect, test, vi } from 'vitest'
import { told } from '../support/event-streams.js'
import { useStorages } from '../support/storages.js'
import { config, useStreams } from './support/changes.js'
import { CLEARED, cookieOf, DEAD, join, NAME, withCookie } from './support/cookies.js'

// CONTRACT.md §4, "Sessions in cookies", §9, "Events", "Standing"

const serve = useStreams()

const APP = 'https://app.example'
const OTHER = 'https://other.example'
const CONFIG = { ...config, auth: { ...config.auth, cookie: { origins: [APP] } } }
const CORS = { cors: { origins: [APP, OTHER] } }
const ann = { name: 'ann', pin: 'secret' }

test.each(useStorages())('in %s, a stream of a session in a cookie ends with it', async (_, create) => {
  const service = await serve({ adapter: create(), config: CONFIG, options: CORS })
  const { open, write, send } = service
  const { token, id } = await join(service, ann)
  await write(`PATCH /users/${id}`, { role: 'editor' })
  const stream = await open('/notes/changes', { headers: withCookie(token) })
  expect(stream.response.headers.get('cache-control')).toBe('private, no-store, no-transform')
  expect(stream.response.headers.get('vary')).toContain('Cookie')
  const { _id } = await write('POST /notes', { text: 'a', team: 'red' })
  const [, seen] = told(await stream.until(2))
  expect(seen).toEqual(['enter', expect.objectContaining({ _id, text: 'a', team: 'red' })])
  expect(cookieOf(await send('POST /auth/logout', { headers: withCookie(token) }))).toBe(CLEARED)
  await write('POST /notes', { text: 'b', status: 'open' })
  await stream.ended
  expect(stream.events.map(({ event }) => event)).toEqual(['reset', 'enter', 'end'])
})

test('it ends when the session expires', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let now = Date.now()
  const [[, create] = expect.fail()] = useStorages()
  const service = await serve({ adapter: create(), config: CONFIG, options: { ...CORS, now: () => now } })
  const { token } = await join(service, ann)
  const stream = await service.open('/notes/changes', { headers: withCookie(token) })
  now += 40 * 86_400_000
  await vi.advanceTimersByTimeAsync(30_000)
  await stream.ended
  expect(stream.events.map(({ event }) => event)).toEqual(['reset', 'end'])
})

test('none begins with a cookie that is no session, and no page of another origin reads one', async () => {
  const [[, create] = expect.fail()] = useStorages()
  const service = await serve({ adapter: create(), config: CONFIG, options: CORS })
  const { token } = await join(service, ann)
  const dead = await service.ask('/notes/changes', { headers: withCookie(DEAD) })
  expect([dead.status, dead.headers.get('set-cookie')]).toEqual([401, CLEARED])
  const readable = async (origin: string) => {
    const headers = { cookie: `${NAME}=${token}`, 'sec-fetch-site': 'cross-site', origin }
    const { response } = await service.open('/notes/changes', { headers })
    return ['origin', 'credentials'].map((name) => response.headers.get(`access-control-allow-${name}`))
  }
  expect(await readable(APP)).toEqual([APP, 'true'])
  // Browsers hide a response to a request with credentials from pages that may not send them.
  expect(await readable(OTHER)).toEqual([OTHER, null])
  expect(await readable('https://evil.example')).toEqual([null, null])
})
