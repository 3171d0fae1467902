import { describe, expect, test } from 'vitest'
import { useStorages } from '../support/storages.js'
import { idOf } from '../support/stored.js'
import { useStreams } from './support/changes.js'

// CONTRACT.md §9, "What events tell", "Standing": how much of a write is hidden changes no event

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
  /** The events of one write, live and on coming back, with so much hidden in it. */
  async function eventsOf(
    [count, characters]: (typeof HIDDEN)[number],
    operationsOf: (user: string) => readonly object[],
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
    await write('POST /_batch', { operations: [...operationsOf(id), ...hidden] })
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

  test('of a write that changes the standing', async () => {
    const all = []
    for (const hidden of HIDDEN)
      all.push(
        await eventsOf(hidden, () => [
          patch(`/notes/${NOTE}`, { text: 'y' }),
          put(`/members/${NEW}`, { user: 'a', team: 'green' }),
          patch(`/notes/${LAST}`, { text: 'y' }),
        ]),
      )
    expect(all[0]).toEqual([
      [
        ['reset', undefined],
        ['reset', undefined],
        ['change', 'last'],
      ],
      [['reset', undefined]],
    ])
    for (const one of all) expect(one).toEqual(all[0])
  })

  test('of a write that changes what a claim asks for, and leaves what it gives', async () => {
    const all = []
    for (const hidden of HIDDEN)
      all.push(
        await eventsOf(hidden, (user) => [
          patch(`/notes/${NOTE}`, { text: 'y' }),
          { method: 'DELETE', path: `/members/${MEMBER}` },
          put(`/members/${NEXT}`, { user: 'b', team: 'red' }),
          patch(`/users/${user}`, { org: 'b' }),
        ]),
      )
    expect(all[0]).toEqual([
      [
        ['reset', undefined],
        ['change', 'y'],
        ['change', 'last'],
      ],
      [
        ['change', 'y'],
        ['change', 'last'],
      ],
    ])
    for (const one of all) expect(one).toEqual(all[0])
  })
})
