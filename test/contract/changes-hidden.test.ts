import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { useStorages } from '../support/storages.js'
import { idOf } from '../support/stored.js'
import { ADMIN, type StreamingService, useStreams } from './support/changes.js'

// CONTRACT.md §9, "Hidden changes", "Standing": how much of what is written is hidden changes no event

const text = { type: 'string' } as const

const config = {
  collections: {
    notes: {
      changes: true,
      schema: { text, team: text },
      permissions: { user: { read: { where: { team: { $in: '$user.teams' } } } }, admin: true },
    },
    members: { schema: { user: { ...text, index: true }, team: text }, permissions: { admin: true } },
    users: {
      schema: {
        name: { type: 'string', unique: true, required: true },
        pin: { type: 'hash', required: true },
        org: text,
      },
      permissions: { admin: true },
    },
  },
  auth: { claims: { teams: { from: 'members', where: { user: '$user.org' }, take: 'team' } } },
  limits: { bulk: 1000, bodyBytes: 4 * 1024 * 1024, documentBytes: 2 * 1024 * 1024 },
} as const

const serve = useStreams()

test('what is written without an end holds up no event', async () => {
  const memory = createMemoryAdapter()
  let isBusy = false
  let serial = 100_000
  const fill = async (): Promise<void> => {
    const inserts = Array.from({ length: 600 }, () => ({ _id: idOf(++serial), _version: 1, team: 'blue' }))
    await memory.write(
      inserts.map((insert) => ({ in: 'notes', insert })),
      {},
    )
  }
  const adapter: StorageAdapter = {
    ...memory,
    async changes(after, query) {
      if (isBusy && after !== null) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        await fill()
      }
      return (await memory.changes?.(after, query)) ?? expect.fail()
    },
  }
  const { open, send, handler } = await serve({ adapter, config, options: { authenticate: () => null } })
  await handler.ready()
  await send('POST /members', { caller: ADMIN, body: { user: 'a', team: 'red' } })
  const caller = { id: 'ann', org: 'a' }
  const stream = await open('/notes/changes', { caller })
  isBusy = true
  await fill()
  await send('POST /notes', { caller: ADMIN, body: { text: 'seen', team: 'red' } })
  expect((await stream.until(2)).map(({ event }) => event)).toEqual(['reset', 'enter'])
  // Nor whom it lets begin.
  await open('/notes/changes', { caller })
  isBusy = false
})

test('a stream begins behind what is written by then, however late its process looks', async () => {
  const memory = createMemoryAdapter()
  let look = (): void => {}
  let looking = Promise.resolve()
  const adapter: StorageAdapter = {
    ...memory,
    async changes(after, query) {
      const page = (await memory.changes?.(after, query)) ?? expect.fail()
      if (query.wait) await looking
      return page
    },
  }
  const { open, send } = await serve({ adapter, config, options: { authenticate: () => null } })
  await send('POST /members', { caller: ADMIN, body: { user: 'a', team: 'red' } })
  const write = (text: string) => send('POST /notes', { caller: ADMIN, body: { text, team: 'red' } })
  const caller = { id: 'ann', org: 'a' }
  const first = await open('/notes/changes', { caller })
  await write('one')
  await first.until(2)
  looking = new Promise((resolve) => {
    look = resolve
  })
  await write('two')
  const late = await open('/notes/changes', { caller })
  look()
  looking = Promise.resolve()
  await write('three')
  const textsOf = async (stream: typeof late, count: number) =>
    (await stream.until(count)).map(({ event, data }) => data.text ?? event)
  expect(await textsOf(late, 2)).toEqual(['reset', 'three'])
  expect(await textsOf(first, 4)).toEqual(['reset', 'one', 'two', 'three'])
})

test.each(
  useStorages().flatMap(([name, create]) =>
    ['before it begins', 'before it goes on'].map((when) => [name, when, create] as const),
  ),
)('in %s, a stream tells nothing of what its caller could not see %s', async (_, when, create) => {
  // Without what keeps an account, or reads it together with its session: each reading is a moment of its own.
  const { state: _state, readLinked: _linked, ...inner } = create()
  let left = Number.POSITIVE_INFINITY
  let act = async (): Promise<void> => {}
  const adapter: StorageAdapter = {
    ...inner,
    async list(collection, query) {
      if (collection === 'users' && left-- === 0) await act()
      return inner.list(collection, query)
    },
  }
  const read = { where: { team: '$user.org' } }
  const service = await serve({
    adapter,
    config: {
      ...config,
      collections: {
        ...config.collections,
        notes: { ...config.collections.notes, permissions: { user: { read }, admin: true } },
      },
    },
  })
  const { send, open, write, register } = service
  const { token, id } = await register({ name: 'ann', pin: 'secret' })
  const change = (path: string, body: object) => send(`PATCH ${path}`, { caller: ADMIN, body })
  await write(`PATCH /users/${id}`, { org: 'red' })
  const note = `/notes/${(await write('POST /notes', { text: 'x', team: 'red' }))._id}`
  act = async () => {
    await change(`/users/${id}`, { org: 'blue' })
    expect((await send(`GET ${note}`, { token })).status).toBe(404)
    await change(note, { text: 'hidden' })
    await change(note, { text: 'shown' })
    await change(`/users/${id}`, { org: 'red' })
  }
  const first = await open('/notes/changes', { token })
  const headers = { 'last-event-id': first.events[0]?.id ?? '' }
  // Before each time that the account is read.
  for (let call = 0; ; call++) {
    left = call
    const stream = await open('/notes/changes', {
      token,
      ...(when === 'before it goes on' ? { headers } : {}),
    })
    if (left >= 0) return expect(call).toBeGreaterThan(1)
    await write(`PATCH ${note}`, { text: `last ${call}` })
    expect(stream.text).not.toContain('hidden')
    await stream.close()
  }
})

/** The hidden documents in a write, and the characters of each: few, more than a page has, and larger. */
const HIDDEN = [
  [5, 1],
  [600, 1],
  [2, 900_000],
] as const

const put = (path: string, body: object) => ({ method: 'PUT', path, ifNoneMatch: '*', body })
const patch = (path: string, body: object) => ({ method: 'PATCH', path, body })

/** The log has a write in the order of its ids: these are before what is hidden, and behind it. */
const [NOTE, MEMBER, NEXT, NEW, LAST] = [1, 5, 6, 50_000, 90_000].map(idOf) as [
  string,
  string,
  string,
  string,
  string,
]
const FIRST_HIDDEN = 100

describe.each(useStorages())('in %s', (_, create) => {
  /** The events of what is written, live and on coming back, with so much hidden in it. */
  async function eventsOf(
    [count, characters]: (typeof HIDDEN)[number],
    change: (service: StreamingService, user: string, hidden: readonly object[]) => Promise<unknown>,
  ) {
    const service = await serve({ adapter: create(), config })
    const { open, write, register } = service
    const { token, id } = await register({ name: 'ann', pin: 'secret' })
    await write(`PATCH /users/${id}`, { org: 'a' })
    const notes = [NOTE, LAST].map((one) => put(`/notes/${one}`, { text: 'x', team: 'red' }))
    const member = put(`/members/${MEMBER}`, { user: 'a', team: 'red' })
    await write('POST /_batch', { operations: [...notes, member] })
    const stream = await open('/notes/changes', { token })
    const hidden = Array.from({ length: count }, (_, i) =>
      put(`/notes/${idOf(FIRST_HIDDEN + i)}`, { text: 'y'.repeat(characters), team: 'blue' }),
    )
    await change(service, id, hidden)
    await write(`PATCH /notes/${NOTE}`, { text: 'last' })
    const isLast = ({ data }: { readonly data: { readonly text?: string } }) => data.text === 'last'
    let length = 1
    while (!stream.events.some(isLast)) await stream.until(++length)
    const headers = { 'last-event-id': stream.events[0]?.id ?? '' }
    const again = await open('/notes/changes', { token, headers })
    if (again.events[0]?.event !== 'reset')
      for (length = 0; !again.events.some(isLast); ) await again.until(++length)
    return [stream, again].map(({ events }) => events.map(({ event, data }) => [event, data.text]))
  }

  const inOneWrite =
    (operationsOf: (user: string) => readonly object[]) =>
    ({ write }: StreamingService, user: string, hidden: readonly object[]) =>
      write('POST /_batch', { operations: [...operationsOf(user), ...hidden] })

  /** How much is hidden, and how large it is, changes nothing of the events, live and on coming back. */
  async function expectAlike(
    change: Parameters<typeof eventsOf>[1],
    [live, resumed]: readonly (readonly (readonly [event: string, text?: string])[])[],
  ) {
    const expected = [live, resumed].map((events) => events?.map(([event, text]) => [event, text]))
    for (const hidden of HIDDEN) expect(await eventsOf(hidden, change)).toEqual(expected)
  }

  test('of writes that come together, of which one changes the standing, and one changes it back', () =>
    expectAlike(
      ({ together }, _, hidden) =>
        together([
          [`PATCH /notes/${NOTE}`, { text: 'y' }],
          ['POST /_batch', { operations: hidden }],
          [`DELETE /members/${MEMBER}`],
          ['POST /members', { user: 'a', team: 'red' }],
          [`PATCH /notes/${LAST}`, { text: 'z' }],
        ]),
      [[['reset'], ['reset'], ['change', 'last']], [['reset']]],
    ))

  test('of a write that changes the standing', () =>
    expectAlike(
      inOneWrite(() => [
        patch(`/notes/${NOTE}`, { text: 'y' }),
        put(`/members/${NEW}`, { user: 'a', team: 'green' }),
        patch(`/notes/${LAST}`, { text: 'y' }),
      ]),
      [[['reset'], ['reset'], ['change', 'last']], [['reset']]],
    ))

  test('of a write that changes what a claim asks for, and leaves what it gives', () =>
    expectAlike(
      inOneWrite((user) => [
        patch(`/notes/${NOTE}`, { text: 'y' }),
        { method: 'DELETE', path: `/members/${MEMBER}` },
        put(`/members/${NEXT}`, { user: 'b', team: 'red' }),
        patch(`/users/${user}`, { org: 'b' }),
      ]),
      [
        [['reset'], ['change', 'y'], ['change', 'last']],
        [
          ['change', 'y'],
          ['change', 'last'],
        ],
      ],
    ))
})
