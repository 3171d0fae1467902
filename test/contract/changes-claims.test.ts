import { describe, expect, test, vi } from 'vitest'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { type SeenEvent, told } from '../support/event-streams.js'
import { useStorages } from '../support/storages.js'
import { ADMIN, useStreams } from './support/changes.js'

// CONTRACT.md §9, "The log", "Standing", "Resuming"; §5, "Claims"

const text = { type: 'string' } as const

const config = {
  collections: {
    notes: {
      changes: true,
      schema: { text, team: text },
      permissions: {
        user: { read: { where: { team: { $in: '$user.teams' } } } },
        outsider: { read: { where: { team: { $nin: '$user.teams' } } } },
        admin: true,
      },
    },
    members: {
      schema: { user: { ...text, index: true }, team: text, note: text, until: { type: 'timestamp' } },
      permissions: { admin: true },
    },
    users: {
      schema: {
        name: { type: 'string', unique: true, required: true },
        pin: { type: 'hash', required: true },
        role: text,
        org: text,
      },
      permissions: { admin: true },
    },
  },
  auth: {
    roleField: 'role',
    claims: { teams: { from: 'members', where: { user: '$user._id' }, take: 'team' } },
  },
} as const

const serve = useStreams()

const namesOf = (events: readonly SeenEvent[]): readonly string[] => events.map(({ event }) => event)

type Serving = Awaited<ReturnType<typeof serve>>

/** Writes members straight into a team, all in one step where there are several. */
const join = ({ write }: Pick<Serving, 'write'>, user: string, team: string) =>
  write('POST /members', { user, team })

describe.each(useStorages())('in %s', (_, create) => {
  test('a member who is added begins anew and is told, and one who is removed is told no more', async () => {
    const service = await serve({ adapter: create(), config })
    const { open, write, register } = service
    const { token, id } = await register({ name: 'ann', pin: 'secret' })
    const streams = [
      await open('/notes/changes', { token }),
      await open('/notes/changes', { caller: { id } }),
    ]
    const { _id } = await write('POST /notes', { text: 'a', team: 'red' })
    await join(service, 'somebody', 'red')
    const member = await join(service, id, 'red')
    await write(`PATCH /notes/${_id}`, { text: 'b' })
    await write(`DELETE /members/${member._id}`)
    await write(`PATCH /notes/${_id}`, { text: 'c' })
    await join(service, id, 'red')
    await write(`DELETE /notes/${_id}`)
    for (const stream of streams) {
      const events = await stream.until(6)
      expect(namesOf(events)).toEqual(['reset', 'reset', 'change', 'reset', 'reset', 'leave'])
      expect(events[2]?.data.text).toBe('b')
    }
  })

  test('a claim that changes resets a stream, even if a rule without claims shows as much', async () => {
    const permissions = { ...config.collections.notes.permissions, '*': { read: true } }
    const notes = { ...config.collections.notes, permissions }
    const service = await serve({
      adapter: create(),
      config: { ...config, collections: { ...config.collections, notes } },
    })
    const stream = await service.open('/notes/changes', { caller: { id: 'ann' } })
    await join(service, 'ann', 'red')
    for (const text of ['a', 'b']) await service.write('POST /notes', { text, team: 'blue' })
    expect(namesOf(await stream.until(3)).slice(0, 3)).toEqual(['reset', 'reset', 'enter'])
  })

  test('what leaves the values of a claim as they are is not told', async () => {
    const service = await serve({ adapter: create(), config })
    const { open, write } = service
    const stream = await open('/notes/changes', { caller: { id: 'ann' } })
    const first = await join(service, 'ann', 'red')
    const second = await join(service, 'ann', 'red')
    await write(`PATCH /members/${first._id}`, { note: 'x' })
    await write(`DELETE /members/${first._id}`)
    await write('POST /members', { user: 'ann' })
    const operations = [
      { method: 'DELETE', path: `/members/${second._id}` },
      { method: 'POST', path: '/members', body: { user: 'ann', team: 'red' } },
    ]
    await write('POST /_batch', { operations })
    await write('POST /notes', { text: 'a', team: 'red' })
    expect(namesOf(await stream.until(3))).toEqual(['reset', 'reset', 'enter'])
  })

  test('a stream goes on where the claims are what they were, and never were others', async () => {
    const service = await serve({ adapter: create(), config })
    const { open, write } = service
    const member = await join(service, 'ann', 'red')
    const stream = await open('/notes/changes', { caller: { id: 'ann' } })
    await stream.close()
    const again = async () =>
      namesOf(
        (await open('/notes/changes', { caller: { id: 'ann' }, headers: { 'last-event-id': id } })).events,
      )
    const id = stream.events[0]?.id ?? ''
    await write('POST /notes', { text: 'a', team: 'red' })
    await write(`DELETE /members/${(await join(service, 'bob', 'red'))._id}`)
    await write(`DELETE /members/${(await join(service, 'ann', 'red'))._id}`)
    expect(await again()).toEqual(['enter'])
    await write(`PATCH /members/${member._id}`, { team: 'blue' })
    expect(await again()).toEqual(['reset'])
    await write(`PATCH /members/${member._id}`, { team: 'red' })
    expect(await again()).toEqual(['reset'])
  })
})

type ReadLog = NonNullable<StorageAdapter['changes']>
type LogPage = Awaited<ReturnType<ReadLog>>

/** A memory whose log is told in another way. */
function withLog(
  tell: (page: LogPage, query: Parameters<ReadLog>[1]) => LogPage | Promise<LogPage>,
): StorageAdapter {
  const memory = createMemoryAdapter()
  return {
    ...memory,
    async changes(after, query) {
      const page = await memory.changes?.(after, query)
      if (!page) throw new Error('there is a log')
      return tell(page, query)
    },
  }
}

/** A memory whose log can be held back, and read in pages of so many changes. */
function holdLog(most = Number.POSITIVE_INFINITY) {
  const memory = createMemoryAdapter()
  let held: Promise<void> | undefined
  let release = (): void => {}
  const adapter: StorageAdapter = {
    ...memory,
    async changes(after, query) {
      const read = () => memory.changes?.(after, { ...query, limit: Math.min(most, query.limit) })
      let page = await read()
      while (held && after !== null && query.wait !== undefined) {
        await held
        page = await read()
      }
      if (!page) throw new Error('there is a log')
      return page
    },
  }
  return {
    adapter,
    /** What is written within `write` is read of the log when it is over. */
    async hold(write: () => Promise<void>): Promise<void> {
      held = new Promise((resolve) => {
        release = resolve
      })
      await write()
      held = undefined
      release()
    },
  }
}

describe('of what comes together', () => {
  const start = async (most?: number) => {
    const { adapter, hold } = holdLog(most)
    const service = await serve({ adapter, config })
    const send = async (line: string, body?: object): Promise<string> => {
      const asked = { caller: ADMIN, ...(body ? { body } : {}) }
      return String((await service.send(line, asked)).body?._id)
    }
    return { ...service, hold, send }
  }

  test.each([[undefined], [1], [2]])('a brief change begins anew, in pages of %s', async (most) => {
    const { hold, send, open, write } = await start(most)
    await send('POST /members', { user: 'ann', team: 'red' })
    const [ann, bob] = [
      await open('/notes/changes', { caller: { id: 'ann' } }),
      await open('/notes/changes', { caller: { id: 'bob' } }),
    ]
    await hold(async () => {
      const id = await send('POST /members', { user: 'ann', team: 'blue' })
      await send(`DELETE /members/${id}`)
    })
    await ann.until(2)
    await write('POST /notes', { team: 'red' })
    expect(namesOf(await ann.until(3))).toEqual(['reset', 'reset', 'enter'])
    expect(namesOf(bob.events)).toEqual(['reset'])
  })

  test.each([[undefined], [1], [2], [3]])(
    'what never was so behind a write is not told, in pages of %s',
    async (most) => {
      const { hold, send, open, write } = await start(most)
      const first = await send('POST /members', { user: 'ann', team: 'red' })
      const stream = await open('/notes/changes', { caller: { id: 'ann' } })
      await hold(async () => {
        // In the order of _id, the old one goes before the new one comes.
        const operations = [
          { method: 'DELETE', path: `/members/${first}` },
          { method: 'POST', path: '/members', body: { user: 'ann', team: 'red' } },
          { method: 'POST', path: '/members', body: { user: 'bob', team: 'red' } },
        ]
        await send('POST /_batch', { operations })
        const other = await send('POST /members', { user: 'ann', team: 'red' })
        await send('POST /notes', { text: 'a', team: 'red' })
        await send(`DELETE /members/${other}`)
      })
      await write('POST /notes', { text: 'b', team: 'red' })
      expect(namesOf(await stream.until(3))).toEqual(['reset', 'enter', 'enter'])
    },
  )

  test('a right that is gone is gone for all that was not told before', async () => {
    const { hold, send, open, write } = await start(1)
    const member = await send('POST /members', { user: 'ann', team: 'red' })
    const stream = await open('/notes/changes', { caller: { id: 'ann' } })
    await hold(async () => {
      await send('POST /notes', { text: 'a', team: 'red' })
      await send(`DELETE /members/${member}`)
    })
    await write('POST /notes', { text: 'b', team: 'red' })
    for (const { event } of stream.events) expect(event).toBe('reset')
    expect(stream.events.length).toBeGreaterThan(1)
  })

  test('of more than 1,000 documents the oldest count: those beyond come and go untold', async () => {
    const { adapter, send, open, write, hold } = await start()
    const member = (n: number, team: string) => ({
      in: 'members',
      insert: {
        _id: `0190163d-8694-7000-8000-${String(n).padStart(12, '0')}`,
        _version: 1,
        user: 'ann',
        team,
        createdAt: new Date(n).toISOString(),
      },
    })
    const remove = (n: number) => send(`DELETE /members/${member(n, '').insert._id}`)
    await adapter.write(
      Array.from({ length: 1300 }, (_, n) => member(n, n < 1000 ? 'red' : 'blue')),
      {},
    )
    const caller = { id: 'ann' }
    const stream = await open('/notes/changes', { caller })
    await send('POST /members', { user: 'ann', team: 'green' })
    await hold(async () => {
      for (const n of [1299, 1250]) await remove(n)
      await send('POST /members', { user: 'ann', team: 'green' })
    })
    await write('POST /notes', { team: 'red' })
    await write('POST /notes', { team: 'blue' })
    expect(namesOf(await stream.until(2))).toEqual(['reset', 'enter'])
    // Now one more of them counts.
    await remove(10)
    await write('POST /notes', { team: 'blue' })
    expect(namesOf(await stream.until(4))).toEqual(['reset', 'enter', 'reset', 'enter'])
    await hold(async () => {
      const oldest = member(5, 'white')
      const { version, ...document } = { version: 1, ...oldest.insert, _version: 2 }
      await adapter.write([{ in: 'members', replace: document, version }], {})
      await adapter.write(
        [{ in: 'members', replace: { ...document, team: 'red', _version: 3 }, version: 2 }],
        {},
      )
    })
    expect(namesOf(await stream.until(5)).at(-1)).toBe('reset')
  })
})

describe.each(useStorages())('a field of the caller that a claim asks for, in %s,', (_, create) => {
  const begin = async () => {
    const claims = { teams: { from: 'members', where: { user: '$user.org' }, take: 'team' } }
    const service = await serve({
      adapter: create(),
      config: { ...config, auth: { ...config.auth, claims } },
    })
    const { token, id } = await service.register({ name: 'ann', pin: 'secret' })
    const open = (last?: string) =>
      service.open('/notes/changes', { token, headers: last === undefined ? {} : { 'last-event-id': last } })
    for (const [org, team] of Object.entries({ acme: 'red', beta: 'red', gamma: 'blue' }))
      await join(service, org, team)
    return {
      open,
      join: (org: string, team: string) => join(service, org, team),
      quit: ({ _id }: { readonly [name: string]: unknown }) => service.write(`DELETE /members/${_id}`),
      note: (team: string) => service.write('POST /notes', { team }),
      move: (org: string | null) => service.write(`PATCH /users/${id}`, { org }),
    }
  }

  test('counts by what the claim gives alone', async () => {
    const { open, move, note, join } = await begin()
    const stream = await open()
    await note('red')
    await move('acme')
    await note('red')
    // Nothing is told of that.
    await move('beta')
    await note('red')
    await join('acme', 'green')
    await join('beta', 'green')
    await note('green')
    await move('acme')
    await note('green')
    const [reset, enter] = ['reset', 'enter']
    expect(namesOf(await stream.until(7))).toEqual([reset, reset, enter, enter, reset, enter, enter])
    await move(null)
    expect(namesOf(await stream.until(8)).at(-1)).toBe(reset)
  })

  test('counts in the same way for who comes back', async () => {
    const { open, move, note, join } = await begin()
    await move('acme')
    const stream = await open()
    await stream.close()
    const last = stream.events[0]?.id
    await note('red')
    await move('beta')
    await note('red')
    const again = await open(last)
    expect(namesOf(await again.until(2))).toEqual(['enter', 'enter'])
    await join('acme', 'green')
    await note('red')
    await join('beta', 'green')
    await note('green')
    expect(namesOf(await again.until(5)).slice(2)).toEqual(['enter', 'reset', 'enter'])
    await again.close()
    // Another standing, though briefly; and what was joined meanwhile is the same for either.
    const late = again.events.at(-1)?.id
    await move('gamma')
    await move('acme')
    expect(namesOf(await (await open(late)).until(1))).toEqual(['reset'])
    expect(namesOf(await (await open(last)).until(1))).toEqual(['reset'])
  })

  test.each([
    ['was asked for', 'acme', 'reset'],
    ['was not asked for yet', 'beta', 'enter'],
  ])('tells who comes back of what was briefly another one, where it %s', async (_, org, event) => {
    const { open, move, note, join, quit } = await begin()
    await move('acme')
    const stream = await open()
    await stream.close()
    await quit(await join(org, 'green'))
    await move('beta')
    await note('red')
    expect(namesOf(await (await open(stream.events[0]?.id)).until(1))).toEqual([event])
  })

  test.each([
    ['by way of another one', 2, 'enter'],
    ['seven times', 7, 'enter'],
    // Each is judged for itself.
    ['more often than is followed', 8, 'reset'],
  ])('may have changed %s', async (_, moves, event) => {
    const { open, move, note, join, quit } = await begin()
    await move('acme')
    const stream = await open()
    await stream.close()
    for (let i = 0; i < moves; i++) {
      await move(i % 2 === 0 ? 'beta' : 'acme')
      await quit(await join(i % 2 === 0 ? 'acme' : 'beta', 'green'))
    }
    await note('red')
    expect(namesOf(await (await open(stream.events[0]?.id)).until(1))).toEqual([event])
  })
})

describe('what a claim asks for is followed', () => {
  const claims = { teams: { from: 'members', where: { user: '$user.org' }, take: 'team' } }
  const byOrg = { ...config, auth: { ...config.auth, claims } }

  test('where the host says that its caller has another field, with the same claims', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { notes, members } = config.collections
    let org = 'acme'
    const service = await serve({
      adapter: createMemoryAdapter(),
      config: { collections: { notes, members }, auth: { claims } },
      options: { authenticate: () => ({ id: 'ann', org }) },
    })
    await join(service, 'acme', 'red')
    const { _id } = await join(service, 'beta', 'red')
    const stream = await service.open('/notes/changes')
    org = 'beta'
    await vi.advanceTimersByTimeAsync(30_000)
    await service.quiet()
    await service.write(`DELETE /members/${_id}`)
    await service.write('POST /notes', { team: 'red' })
    expect(namesOf(stream.events)).toEqual(['reset', 'reset'])
  })

  test('where the log does not tell of the change any more', async () => {
    let isGap = false
    const adapter = withLog((page) => {
      const isLost = isGap && page.changes.length > 0
      if (isLost) isGap = false
      return isLost ? { ...page, changes: [], gap: true } : page
    })
    const service = await serve({ adapter, config: byOrg })
    const { token, id } = await service.register({ name: 'ann', pin: 'secret' })
    await join(service, 'acme', 'red')
    await join(service, 'beta', 'red')
    await service.write(`PATCH /users/${id}`, { org: 'acme' })
    const stream = await service.open('/notes/changes', { token })
    isGap = true
    await service.write(`PATCH /users/${id}`, { org: 'beta' })
    expect(namesOf(await stream.until(2))).toEqual(['reset', 'reset'])
    await join(service, 'acme', 'green')
    await service.write('POST /notes', { team: 'red' })
    await join(service, 'beta', 'blue')
    await service.write('POST /notes', { team: 'blue' })
    expect(namesOf(await stream.until(5)).slice(2)).toEqual(['enter', 'reset', 'enter'])
  })
})

test('who comes back and begins anew is told nothing by a claim that was lost meanwhile', async () => {
  let meanwhile: (() => Promise<unknown>) | undefined
  let looks = 0
  const adapter = withLog(async (page, { wait }) => {
    // Who comes back does not wait for changes; nor does the reader, which first takes what is there.
    const act = wait === undefined && looks-- === 0 ? meanwhile : undefined
    if (act) meanwhile = undefined
    await act?.()
    return page
  })
  const service = await serve({ adapter, config })
  const { open, write } = service
  const caller = { id: 'ann' }
  await open('/notes/changes', { caller: { id: 'bob' } })
  const { _id } = await join(service, 'ann', 'red')
  const stream = await open('/notes/changes', { caller })
  await stream.close()
  const brief = await join(service, 'ann', 'green')
  await write(`DELETE /members/${brief._id}`)
  meanwhile = () => write(`DELETE /members/${_id}`)
  looks = 1
  const headers = { 'last-event-id': stream.events[0]?.id ?? '' }
  const again = await open('/notes/changes', { caller, headers })
  expect(meanwhile).toBeUndefined()
  await write('POST /notes', { team: 'red' })
  expect(namesOf(again.events)).toEqual(['reset'])
})

test('a claim of nobody in particular is followed for the anonymous', async () => {
  const open = {
    ...config,
    collections: {
      ...config.collections,
      notes: {
        ...config.collections.notes,
        permissions: { '*': { read: { where: { team: { $in: '$user.open' } } } }, admin: true },
      },
    },
    auth: { ...config.auth, claims: { open: { from: 'members', where: { note: 'open' }, take: 'team' } } },
  }
  const { open: ask, write } = await serve({ adapter: createMemoryAdapter(), config: open })
  const stream = await ask('/notes/changes', { caller: null })
  const { _id } = await write('POST /members', { note: 'closed', team: 'red' })
  await write(`PATCH /members/${_id}`, { note: 'open' })
  await write('POST /notes', { team: 'red' })
  expect(told(stream.events).map(([name]) => name)).toEqual(['reset', 'reset', 'enter'])
})

test('a claim with $now is as of each change, and gives a reset every minute and on coming back', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let now = Date.parse('2026-01-01T00:00:00Z')
  const where = { user: '$user._id', until: { $gt: '$now' } }
  const timed = {
    ...config,
    auth: { ...config.auth, claims: { teams: { from: 'members', where, take: 'team' } } },
  }
  const { open, write } = await serve({
    adapter: createMemoryAdapter(),
    config: timed,
    options: { now: () => now },
  })
  const caller = { id: 'ann' }
  const stream = await open('/notes/changes', { caller })
  await write('POST /members', { user: 'ann', team: 'old', until: '2025-01-01T00:00:00Z' })
  await write('POST /members', { user: 'ann', team: 'red', until: '2026-01-01T00:00:30Z' })
  await write('POST /members', { user: 'ann', team: 'red', until: '2026-01-01T00:00:20Z' })
  await write('POST /notes', { team: 'red' })
  await write('POST /notes', { team: 'old' })
  expect(namesOf(await stream.until(3))).toEqual(['reset', 'reset', 'enter'])
  now += 31_000
  await write('POST /notes', { team: 'red' })
  expect(stream.events.length).toBe(3)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(namesOf(await stream.until(4)).at(-1)).toBe('reset')
  const headers = { 'last-event-id': stream.events[2]?.id ?? '' }
  expect(namesOf((await open('/notes/changes', { caller, headers })).events)).toEqual(['reset'])
})

test('a change that nobody has logged is found after 30 seconds, and so is one behind a gap', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let isMissed = false
  const adapter = withLog((page) =>
    isMissed ? { ...page, changes: page.changes.filter((change) => change.in !== 'members') } : page,
  )
  const service = await serve({ adapter, config })
  const stream = await service.open('/notes/changes', { caller: { id: 'ann' } })
  isMissed = true
  await join(service, 'ann', 'red')
  expect(stream.events.length).toBe(1)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(namesOf(await stream.until(2))).toEqual(['reset', 'reset'])
  await service.write('POST /notes', { team: 'red' })
  expect(namesOf(await stream.until(3)).at(-1)).toBe('enter')
})

test('of those who listen, only they are asked about whom a membership concerns', async () => {
  const memory = createMemoryAdapter()
  let reads = 0
  const adapter: StorageAdapter = {
    ...memory,
    list(name, query) {
      if (name === 'members') reads += 1
      return memory.list(name, query)
    },
  }
  const service = await serve({ adapter, config })
  const { open, write } = service
  const streams = await Promise.all(
    Array.from({ length: 300 }, (_, i) => open('/notes/changes', { caller: { id: `user ${i}` } })),
  )
  reads = 0
  for (let i = 0; i < 5; i++) await join(service, 'stranger', 'red')
  expect(reads).toBe(0)
  for (const i of [1, 2, 3, 4]) await join(service, `user ${i}`, 'red')
  expect(reads).toBeLessThan(20)
  reads = 0
  // Who is told of something is not read about either, while nobody's memberships change.
  await write('POST /notes', { team: 'red' })
  // The one is the writer's.
  expect(reads).toBeLessThan(2)
  for (const [i, stream] of streams.entries())
    expect(namesOf(stream.events)).toEqual([1, 2, 3, 4].includes(i) ? ['reset', 'reset', 'enter'] : ['reset'])
})
