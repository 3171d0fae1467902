import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { useCaches } from '../support/caches.js'
import { begin, KEPT_LAWS, type KeptWorld, openKept } from '../support/kept-callers.js'
import { useLastingStorages, useStorages } from '../support/storages.js'

useCaches()

// CONTRACT.md §5, "Claims": what is kept of a caller counts only as long as nothing of it was written.

const storages = useStorages()
const lasting = useLastingStorages()

const opened: KeptWorld[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ handler }) => handler.close()))
})

function open(adapter: StorageAdapter): KeptWorld {
  const world = openKept({ adapter })
  opened.push(world)
  return world
}

/** What is read of a caller where one is asked for after another. */
const WHO = ['list _sessions', 'list users']
const ALL = [...WHO, 'list members', 'list notes']

describe.each(storages)('what a service keeps of a caller, in %s,', (name, create) => {
  test('spares the storage', async () => {
    const world = open(create())
    const { see } = await begin(world)
    const isKept = name !== 'PostgreSQL'
    // PostgreSQL reads the session, its account and the claims by one statement, each time.
    const together = ['list _sessions', 'list notes']
    expect(await see()).toEqual({ seen: ['a'], calls: isKept ? ALL : together })
    const again = isKept ? ['list notes'] : together
    expect(await see()).toEqual({ seen: ['a'], calls: again })
    await world.act('POST /notes', { team: 'a', text: 'another' })
    expect(await see()).toEqual({ seen: ['a', 'a'], calls: again })
  })

  test('spares the storage what a claim is made of, and what that is made of', async () => {
    const world = open(create())
    const { token } = await begin(world)
    const see = () => world.look('GET /letters', token)
    await world.act('POST /members', { user: 'ben', team: 'a' })
    await world.act('POST /letters', { team: 'of ben', from: 'ben' })
    const isKept = name !== 'PostgreSQL'
    // PostgreSQL reads the first claim with the session, and the second one in one further trip.
    const together = ['list _sessions', 'list members', 'list letters']
    const apart = [...WHO, 'list members', 'list members', 'list letters']
    expect(await see()).toEqual({ seen: ['of ben'], calls: isKept ? apart : together })
    const again = isKept ? ['list letters'] : together
    expect(await see()).toEqual({ seen: ['of ben'], calls: again })
    await world.act('POST /notes', { team: 'a', text: 'another' })
    expect(await see()).toEqual({ seen: ['of ben'], calls: again })
    // Without the team, there is nobody to look for.
    const [{ _id }] = (await world.send('GET /members?q[team]=a&sort[createdAt]=1', { token })).body
    await world.act(`DELETE /members/${_id}`)
    const none = ['list _sessions', 'list letters']
    expect(await see()).toEqual({ seen: [], calls: isKept ? ['list members', 'list letters'] : none })
  })

  test.each(Object.entries(KEPT_LAWS))('%s', async (_, law) => {
    await law(open(create()))
  })

  test('a batch reads a claim once, and again behind what may change it', async () => {
    const world = open(create())
    const { token, id } = await begin(world)
    const post = { method: 'POST', path: '/notes', body: { team: 'a', text: 'x' } }
    const join = { method: 'POST', path: '/members', body: { user: id, team: 'c' } }
    const count = async (...operations: readonly object[]) =>
      (await world.batch(operations, token)).filter((call) => call === 'list members').length
    expect(await count(post, post, post, post)).toBe(1)
    // What is only required there does not change what the caller is.
    const by = { ...post, body: { team: 'a', by: id } }
    expect(await count(by, by, by, by)).toBe(1)
    expect(await count(post, join, post, post)).toBe(2)
  })

  test('no claim is read for what a rule without claims shows with all that claims could add', async () => {
    const world = open(create())
    const { look, act } = world
    const { token, id } = await begin(world)
    await act('POST /members', { user: id, team: 'again' })
    const ids: string[] = []
    for (const body of [{ shop: 'open', team: 'x' }, { team: 'a' }, { team: 'x' }])
      ids.push((await act('POST /posts', { text: 'hidden', ...body }))._id)
    const [shown, claimed, hidden] = ids
    const none = '00000000-0000-7000-8000-000000000000'
    const known = await look(`GET /posts/${none}`, token)
    expect(known).toMatchObject({ seen: 404, calls: expect.arrayContaining(['list members']) })
    // Something is written, so that claims are read where they count.
    const calls = async (_id: string | undefined) => {
      await act('POST /members', { user: 'another', team: 'z' })
      const seen = await look(`GET /posts/${_id}`, token)
      return { seen: seen.seen, calls: seen.calls.filter((call) => !WHO.includes(call)) }
    }
    expect(await calls(shown)).toEqual({ seen: ['x'], calls: ['list posts'] })
    expect(await calls(claimed)).toEqual({ seen: ['a'], calls: ['list posts', 'list members'] })
    // What is hidden costs as much as what does not exist.
    for (const _id of [hidden, none])
      expect(await calls(_id)).toEqual({ seen: 404, calls: ['list posts', 'list members'] })
    const { body } = await world.send(`GET /posts/${claimed}`, { token })
    expect(body.text).toBeUndefined()
    // A rule that shows more by a claim counts, whatever the others show.
    await act(`PATCH /users/${id}`, { role: 'member' })
    await act(`PATCH /posts/${shown}`, { team: 'a' })
    expect(await calls(shown)).toEqual({ seen: ['a'], calls: ['list posts', 'list members'] })
    expect((await world.send(`GET /posts/${shown}`, { token })).body.text).toBe('hidden')
  })

  test('no claim is read for a list of which a rule without claims shows all', async () => {
    const world = open(create())
    const { token } = await begin(world)
    const { _id } = await world.act('POST /news', { team: 'x', text: 'hidden' })
    for (const request of ['GET /news', `GET /news/${_id}`]) {
      const { seen, calls } = await world.look(request, token)
      expect(seen).toEqual(['x'])
      expect(calls).not.toContain('list members')
    }
  })
})

describe.each(lasting)('what another service writes, in %s,', (_, create) => {
  test('counts at once', async () => {
    const connect = create()
    const world = open(connect())
    const { see, token, id } = await begin(world)
    const other = open(connect())
    expect((await see()).seen).toEqual(['a'])
    const { _id } = await other.act('POST /members', { user: id, team: 'b' })
    expect((await see()).seen).toEqual(['a', 'b'])
    await other.act(`DELETE /members/${_id}`)
    expect((await see()).seen).toEqual(['a'])
    await other.send('POST /auth/logout', { token })
    expect((await see()).seen).toBe(401)
    expect((await world.send('POST /notes', { token, body: { team: 'a' } })).status).toBe(401)
  })
})

test('a storage that does not tell its state is asked each time', async () => {
  const { state: _, ...adapter } = createMemoryAdapter()
  const { see } = await begin(open(adapter))
  for (const __ of [1, 2]) expect(await see()).toEqual({ seen: ['a'], calls: ALL })
})

test('nothing is kept of a file whose place another one has taken', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'collection-service-state-')), 'data.db')
  const adapter = createSqliteAdapter({ file })
  expect(adapter.state?.([])).toBeUndefined()
  await adapter.open([])
  const before = adapter.state?.([])
  await adapter.close()
  expect(adapter.state?.([])).toBeUndefined()
  await adapter.open([])
  expect(adapter.state?.([])).not.toBe(before)
  await adapter.close()
})
