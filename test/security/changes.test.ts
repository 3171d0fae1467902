import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { ADMIN, config, useStreams } from '../contract/support/changes.js'
import { useAllStorages } from '../support/storages.js'

// CONTRACT.md §9, "Events", "Resuming", "Hidden changes": what somebody would try who wants more than the list.

const serve = useStreams()

const readable = {
  ...config,
  collections: {
    ...config.collections,
    users: {
      ...config.collections.users,
      changes: true,
      permissions: { user: { read: { pick: ['name'] } }, admin: true },
    },
  },
}

describe.each(useAllStorages())('in %s', (_, create) => {
  test('no stream holds a hash, a stamp, a version or a hidden field, whatever is written', async () => {
    const { open, write, register, send } = await serve({ adapter: create(), config: readable })
    const ann = await register({ name: 'ann', pin: 'first secret' })
    const streams = [
      await open('/users/changes', { token: ann.token }),
      await open('/users/changes', { caller: ADMIN }),
      await open('/users/changes?q[name]="bob"', { token: ann.token }),
    ]
    const bob = await register({ name: 'bob', pin: 'other secret' })
    await write(`PATCH /users/${bob.id}`, { note: 'private', role: 'member' })
    await send('POST /auth/change-secret', {
      token: bob.token,
      body: { current: 'other secret', new: 'third secret' },
    })
    await write(`PATCH /users/${bob.id}`, { name: 'bobby' })
    for (const stream of streams) await stream.until(3)
    for (const { text } of streams) expect(text).not.toMatch(/secret|\$2[aby]\$|_hash|_stamp|_version|"pin"/)
    for (const { text } of [streams[0], streams[2]].flatMap((one) => one ?? []))
      expect(text).not.toMatch(/private|member|"note"|"role"/)
    // Who sees the name alone is told of the name alone; `updatedAt` is not picked.
    expect(streams[0]?.events.map(({ event }) => event)).toEqual(['reset', 'enter', 'change'])
    expect(streams[2]?.events.map(({ event }) => event)).toEqual(['reset', 'enter', 'leave'])
  })
})

const inMemory = () => serve({ adapter: createMemoryAdapter() })

describe('what may not be read may not be asked about', () => {
  test.each([
    ['q[secret]="s"'],
    ['q[nothing]="s"'],
    ['q[secret][$regex]=a'],
    ['q[$or][0][text]="a"&q[$or][1][secret]="s"'],
    ['project=["secret"]'],
    ['project=["_version"]'],
    ['q[_stamp]="s"'],
    ['expand=["text"]'],
    ['sort[text]=1'],
    ['skip=1'],
    ['total=true'],
    ['lasteventid=x'],
    ['lastEventId[x]=x'],
    ['lastEventId[]=x'],
    ['lastEventId=x&lastEventId=x'],
    ['lastEventId=x&last%45ventId=y'],
    ['lastEventId'],
    ['lastEventId=%ff'],
    ['q[lastEventId]=x'],
    ['sort[lastEventId]=1'],
    ['q[text]=a&q[text][$gt]=b&q[text][$gt]=c'],
  ])('%s', async (query) => {
    const { send } = await inMemory()
    const { status, body } = await send(`GET /notes/changes?${query}`, { caller: null })
    expect([status, body.code]).toEqual([400, 'invalid_query'])
  })
})

describe('an id that nobody gave begins anew, and is never a fault', () => {
  test.each([
    ['blanks', '   '],
    ['zero', '0'],
    ['a position of the log', '["log",0,0]'],
    ['a path', '../../etc/passwd'],
    ['SQL', "' OR 1=1 --"],
    ['a long one', 'A'.repeat(8000)],
    ['base64 of another alphabet', '+/'.repeat(280)],
    ['padding', `${'A'.repeat(563)}====`],
    ['bytes beyond ASCII', 'ÿ'.repeat(567)],
  ])('%s', async (_, id) => {
    const { open, write } = await inMemory()
    await write('POST /notes', { text: 'a', status: 'open' })
    const text = encodeURIComponent(id)
    const streams = await Promise.all([
      open('/notes/changes', { caller: null, headers: { 'last-event-id': id } }),
      open(`/notes/changes?lastEventId=${text}`, { caller: null }),
      open(`/notes/changes?after=${text}`, { caller: null }),
    ])
    await write('POST /notes', { text: 'b', status: 'open' })
    for (const stream of streams)
      expect((await stream.until(2)).map(({ event }) => event)).toEqual(['reset', 'enter'])
  })
})

test('the id of a stream that another caller reads leads nowhere, by whichever name', async () => {
  const { open, write, register } = await inMemory()
  const { token } = await register({ name: 'ann', pin: 'first secret' })
  const [of, before] = [await open('/notes/changes', { caller: ADMIN }), 'secret of the admin']
  await write('POST /notes', { text: before, status: 'closed' })
  const [id] = (await of.until(2)).map((event) => event.id ?? '')
  for (const asked of [{ caller: null }, { token }])
    for (const name of ['lastEventId', 'after']) {
      const stream = await open(`/notes/changes?${name}=${id}`, asked)
      expect(stream.events.map(({ event }) => event)).toEqual(['reset'])
      expect(stream.text).not.toContain(before)
    }
})

test.each(['/notes', '/notes/count', `/notes/${'0189abcd-0000-7000-8000-000000000001'}`])(
  'lastEventId belongs to streams alone: %s',
  async (path) => {
    const { send } = await inMemory()
    const { status, body } = await send(`GET ${path}?lastEventId=x`, { caller: ADMIN })
    expect([status, body.code]).toEqual([400, 'invalid_query'])
  },
)

test('a token that is none opens no stream, also on public data', async () => {
  const { ask } = await inMemory()
  for (const token of ['x', 'A'.repeat(43)]) {
    const { status, headers } = await ask('/notes/changes', { token })
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"'])
  }
})

/** Who sees what depends on memberships, of which the callers may make and end their own. */
const claiming = {
  collections: {
    notes: {
      changes: true,
      schema: { text: { type: 'string' }, team: { type: 'string' } },
      permissions: { user: { read: { where: { team: { $in: '$user.teams' } } } }, admin: true },
    },
    members: {
      schema: {
        user: { type: 'string', index: true },
        team: { type: 'string' },
        note: { type: 'string' },
      },
      permissions: { admin: true },
    },
  },
  auth: { claims: { teams: { from: 'members', where: { user: '$user._id' }, take: 'team' } } },
} as const

describe('of claims', () => {
  const start = async () => {
    const service = await serve({ adapter: createMemoryAdapter(), config: claiming })
    const member = (user: string, team: string) => service.write('POST /members', { user, team })
    return { ...service, member }
  }
  const names = (stream: { readonly events: readonly { readonly event: string }[] }) =>
    stream.events.map(({ event }) => event)

  test.each<readonly [what: string, caller: object]>([
    ['a field of that name that the host sends', { id: 'eve', teams: ['red'] }],
    ['an _id that is an object', { id: 'eve', _id: { $ne: 'x' } }],
    ['an _id that is another one', { id: 'eve', _id: 'ann' }],
    ['a role of that name', { id: 'eve', roles: ['teams', 'red'] }],
  ])('%s lets nobody in', async (_, caller) => {
    const { open, write, member } = await start()
    await member('ann', 'red')
    const stream = await open('/notes/changes', { caller: caller as { readonly id: string } })
    await write('POST /notes', { text: 'a', team: 'red' })
    await member('ann', 'blue')
    await write('POST /notes', { text: 'b', team: 'blue' })
    expect(names(stream)).toEqual(['reset'])
  })

  test('the id of an event of a member is no way in for who is none, nor for who was one', async () => {
    const { open, write, member } = await start()
    const { _id } = await member('ann', 'red')
    const ann = await open('/notes/changes', { caller: { id: 'ann' } })
    await write('POST /notes', { text: 'a', team: 'red' })
    const headers = { 'last-event-id': (await ann.until(2))[0]?.id ?? '' }
    await ann.close()
    expect(names(await open('/notes/changes', { caller: { id: 'eve' }, headers }))).toEqual(['reset'])
    await write(`DELETE /members/${_id}`)
    expect(names(await open('/notes/changes', { caller: { id: 'ann' }, headers }))).toEqual(['reset'])
  })

  test('nobody learns of the memberships of others, nor what theirs are made of', async () => {
    const { open, write, member } = await start()
    const first = await member('eve', 'red')
    const stream = await open('/notes/changes', { caller: { id: 'eve' } })
    const other = await member('ann', 'red')
    await write(`PATCH /members/${other._id}`, { team: 'blue' })
    await write(`PATCH /members/${first._id}`, { note: 'watched' })
    const second = await member('eve', 'red')
    await write(`PATCH /members/${second._id}`, { note: 'watched' })
    await write(`DELETE /members/${first._id}`)
    await write('POST /notes', { text: 'a', team: 'blue' })
    expect(names(stream)).toEqual(['reset'])
    expect(stream.text).not.toMatch(/watched|ann|blue/)
  })

  test('what a claim is made of has no stream of its own', async () => {
    const { send } = await start()
    expect((await send('GET /members/changes', { caller: ADMIN })).status).toBe(404)
  })
})
