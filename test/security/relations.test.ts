import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import { createTestService, faultsOf, type SendOptions, type Sent } from '../support/service.js'
import { idOf, openStored } from '../support/stored.js'
import { spyOn } from './fixture.js'

// CONTRACT.md §2, "References", "Match", "Expand"; §5, "No leak"

/** What somebody would try who wants to learn of documents by what refers to them, or is referred to. */

type Json = { readonly [name: string]: unknown }

const text = { type: 'string' }
const to = (collection: string, more: Json = {}): Json => ({ type: 'reference', collection, ...more })
const match = { match: { team: 'team' } }
const read = { where: { hidden: { $ne: true } }, omit: ['hidden'] }
const rights = { read, create: true, update: { check: {} }, delete: true }
const hidden = { type: 'boolean' }

const collections = {
  teams: { schema: { name: text, hidden, lead: to('people') }, permissions: { user: rights } },
  people: {
    schema: { name: text, hidden, secret: text },
    permissions: { user: { ...rights, read: { ...read, omit: ['hidden', 'secret'] } } },
  },
  projects: { schema: { team: to('teams'), hidden }, permissions: { user: rights } },
  tasks: {
    schema: {
      title: text,
      hidden,
      team: to('teams'),
      project: to('projects', match),
      others: { type: 'array', items: to('projects', match) },
      secret: to('projects', { ...match, onDelete: 'unset' }),
      about: to('people', { onDelete: 'unset' }),
    },
    permissions: {
      user: { ...rights, read: { ...read, omit: ['hidden', 'secret', 'about'] } },
      timeless: { ...rights, read: { ...read, omit: ['hidden', 'secret', 'about', 'updatedAt'] } },
    },
  },
}

const [A, B, GONE] = [idOf(11), idOf(12), idOf(99)]
const [SEEN, AGREES, DISAGREES] = [idOf(21), idOf(22), idOf(23)]
const [T1, T2] = [idOf(31), idOf(32)]
const P1 = idOf(41)

const stored = {
  teams: [
    { _id: A, name: 'a', lead: P1 },
    { _id: B, name: 'b' },
  ],
  people: [{ _id: P1, name: 'p' }],
  projects: [
    { _id: SEEN, team: A },
    { _id: AGREES, team: A, hidden: true },
    { _id: DISAGREES, team: B, hidden: true },
  ],
  tasks: [{ _id: T1, team: A, title: 'x' }],
}

const now = (): number => Date.UTC(2026, 0, 1)

type Stored = { readonly [name: string]: readonly Json[] }

async function open(more: Stored = {}, of: Json = collections) {
  const adapter = spyOn(createMemoryAdapter())
  const service = await openStored(
    { collections: of },
    { ...stored, ...more },
    { adapter, authenticate: () => null, now },
  )
  adapter.calls.length = 0
  /** The answer but for its request, and what the storage was asked for it. */
  const probe = async (line: string, options: SendOptions = {}): Promise<readonly unknown[]> => {
    adapter.calls.length = 0
    const sent = await service.send(line, { caller: { id: 'ann' }, ...options })
    return [plain(sent), [...adapter.calls]]
  }
  return { ...service, adapter, probe }
}

/** An answer but for what is random in it. */
const plain = ({ status, headers, text }: Sent): unknown => [
  status,
  [...headers].filter(([name]) => name !== 'location' && name !== 'etag'),
  text.replace(/"requestId":"[^"]*"/, '').replace(/"_id":"[^"]*",/, ''),
]

const batch = (...operations: readonly Json[]): SendOptions => ({ body: { operations } })
const post = (body: Json): Json => ({ method: 'POST', path: '/tasks', body })

describe('who is not seen is not told by what would have to agree with them', () => {
  type Row = readonly [what: string, line: string, bodyOf: (id: string) => SendOptions, status?: number]
  const bodies: readonly Row[] = [
    ['a create', 'POST /tasks', (id) => ({ body: { team: A, project: id } })],
    ['a create without the value', 'POST /tasks', (id) => ({ body: { project: id } })],
    ['an update', `PATCH /tasks/${T1}`, (id) => ({ body: { project: id } })],
    ['an update of what is hidden', `PATCH /tasks/${T1}`, (id) => ({ body: { secret: id } })],
    ['an update of both sides', `PUT /tasks/${T1}`, (id) => ({ body: { team: B, project: id } })],
    ['elements', `PATCH /tasks/${T1}`, (id) => ({ body: { others: [SEEN, id, SEEN] } })],
    ['a bulk', 'POST /tasks/bulk', (id) => ({ body: { documents: [{ team: A, others: [id] }] } })],
    ['a batch', 'POST /_batch', (id) => batch(post({ team: A, project: id }))],
    [
      'a batch that would mend it',
      'POST /_batch',
      (id) =>
        batch(post({ team: B, project: id }), {
          method: 'PATCH',
          path: `/projects/${id}`,
          body: { team: B },
        }),
      // A rejected operation is the error, whatever conditions are not met before it.
      404,
    ],
  ]

  test.each(bodies.map(([what, ...row]) => ({ what, row })))(
    '$what',
    async ({ row: [line, bodyOf, status = 400] }) => {
      const answers: unknown[] = []
      for (const id of [GONE, AGREES, DISAGREES].flatMap((one) => [one, one.toUpperCase()])) {
        const { probe } = await open()
        answers.push(await probe(line, bodyOf(id)))
      }
      expect((answers[0] as [[number]])[0][0]).toBe(status)
      for (const answer of answers) expect(answer).toEqual(answers[0])
    },
  )

  test('a refusal names places, and nothing of what lies there', async () => {
    const { send } = await open({ tasks: [{ _id: T1, team: A, secret: AGREES, others: [SEEN, AGREES] }] })
    const sent = await send(`PATCH /tasks/${T1}`, { body: { team: B }, caller: { id: 'ann' } })
    expect(Object.values(faultsOf(sent))).toEqual([
      'unknown_reference',
      'unknown_reference',
      'unknown_reference',
    ])
    for (const value of [A, SEEN, AGREES, '"a"']) expect(sent.text).not.toContain(value)
    const target = await send(`PATCH /projects/${SEEN}`, { body: { team: B }, caller: { id: 'ann' } })
    expect([target.status, target.body.code, target.body.errors]).toEqual([
      409,
      'reference_in_use',
      undefined,
    ])
    for (const value of [A, T1]) expect(target.text).not.toContain(value)
  })

  test.each([
    ['of something else', 'PATCH', { title: 'y' }],
    ['of nothing', 'PATCH', {}],
    ['of another reference', 'PATCH', { project: SEEN }],
    ['of the reference', 'PATCH', { secret: SEEN }],
    ['of both', 'PATCH', { title: 'y', others: [SEEN] }],
  ])('an update %s costs the same, whatever hidden references there are', async (_, method, body) => {
    const answers: unknown[] = []
    for (const secret of [undefined, SEEN, AGREES, GONE]) {
      const { probe } = await open({
        tasks: [{ _id: T1, title: 'x', team: A, ...(secret ? { secret } : {}) }],
      })
      answers.push(await probe(`${method} /tasks/${T1}`, { body }))
    }
    expect((answers[0] as [[number]])[0][0]).toBe(200)
    for (const answer of answers) expect(answer).toEqual(answers[0])
  })

  test.each<[what: string, held: Json, body: Json]>([
    ['a reference', { team: B, secret: SEEN }, { secret: SEEN }],
    ['a value that references agree on', { key: 'k', by: P1 }, { key: 'k' }],
  ])('a right guess of %s that may not be read counts as a change', async (_, held, body) => {
    const answers: unknown[] = []
    const hiding = {
      ...collections,
      tasks: {
        schema: {
          ...collections.tasks.schema,
          key: text,
          by: to('people', { match: { key: 'name' } }),
        },
        permissions: {
          user: { ...rights, read: { ...read, omit: ['hidden', 'secret', 'key', 'by'] } },
        },
      },
    }
    // What was stored before references had to agree.
    for (const other of [{}, { secret: undefined, key: 'other' }]) {
      const task = JSON.parse(JSON.stringify({ _id: T1, ...held, ...other }))
      const { probe } = await open({ tasks: [task] }, hiding)
      answers.push(await probe(`PATCH /tasks/${T1}`, { body }))
    }
    expect((answers[0] as [[number]])[0][0]).toBe(400)
    expect(answers[1]).toEqual(answers[0])
  })

  test('a delete is answered alike, with every kind of reference to its target', async () => {
    const answers: unknown[] = []
    for (const about of [undefined, P1]) {
      const { probe } = await open({
        teams: [],
        tasks: [{ _id: T1, hidden: true, ...(about ? { about } : {}) }, { _id: T2 }],
      })
      const [answer] = await probe(`DELETE /people/${P1}`)
      answers.push(answer, (await probe('GET /tasks'))[0])
    }
    expect((answers[0] as [number])[0]).toBe(204)
    expect(answers.slice(2)).toEqual(answers.slice(0, 2))
  })
})

describe('a reference that was taken away', () => {
  const others = {
    teams: [],
    tasks: [
      { _id: T1, title: 'x', about: P1 },
      { _id: T2, title: 'y' },
    ],
  }

  test('is not seen in a document whose reader sees neither it nor the time', async () => {
    const { send } = await open(others)
    const caller = { id: 'ann', roles: ['timeless'] }
    // Who is no `user` in these rights sees no times.
    const { tasks } = collections
    const only = {
      ...collections,
      tasks: { ...tasks, permissions: { timeless: tasks.permissions.timeless } },
    }
    const service = await open(others, only)
    const tagsOf = async () =>
      Promise.all(
        [T1, T2].map(async (id) => (await service.send(`GET /tasks/${id}`, { caller })).headers.get('etag')),
      )
    const before = await tagsOf()
    expect((await service.send(`DELETE /people/${P1}`, { caller })).status).toBe(204)
    expect(await tagsOf()).toEqual(before)
    const list = await service.send('GET /tasks', { caller })
    expect(list.text).not.toContain(P1)
    expect((await send('GET /tasks', { caller })).status).toBe(200)
  })

  test('is told by the time of its document alone, and in no other document', async () => {
    const { send } = await open(others)
    const seenOf = async (id: string) => {
      const { body, headers } = await send(`GET /tasks/${id}`, { caller: { id: 'ann' } })
      const { updatedAt, ...fields } = body
      return { fields, updatedAt, etag: headers.get('etag') }
    }
    const [one, other] = [await seenOf(T1), await seenOf(T2)]
    expect((await send(`DELETE /people/${P1}`, { caller: { id: 'ann' } })).status).toBe(204)
    expect(await seenOf(T2)).toEqual(other)
    const { fields, updatedAt } = await seenOf(T1)
    expect(fields).toEqual(one.fields)
    expect(updatedAt).not.toBe(one.updatedAt)
  })
})

describe('an expand shows nothing that its reader may not read', () => {
  test.each([
    [
      'on the first level',
      { tasks: [{ _id: T1, project: GONE, others: [GONE, SEEN] }] },
      ['project', 'others'],
    ],
    [
      'on the second level',
      { projects: [{ _id: SEEN, team: GONE }], tasks: [{ _id: T1, project: SEEN }] },
      ['project.team'],
    ],
    [
      'on the third level',
      { teams: [{ _id: A, lead: GONE }], tasks: [{ _id: T1, project: SEEN }] },
      ['project.team.lead'],
    ],
  ])('%s, and costs what it costs where there is nothing', async (_, more: Stored, paths) => {
    const line = `GET /tasks?expand=${JSON.stringify(paths)}`
    const nothing = await (await open(more)).probe(line)
    for (const name of ['projects', 'teams', 'people']) {
      const known = more[name] ?? stored[name as keyof typeof stored]
      const { probe } = await open({ ...more, [name]: [...known, { _id: GONE, name: 'hid', hidden: true }] })
      expect(await probe(line)).toEqual(nothing)
    }
  })

  test('hidden fields are left out on each level', async () => {
    const { send } = await open({
      people: [{ _id: P1, name: 'p', secret: 'hid' }],
      tasks: [{ _id: T1, project: SEEN }],
    })
    const { text: answer, body } = await send('GET /tasks?expand=["project.team.lead"]', {
      caller: { id: 'ann' },
    })
    expect(body[0].project.team.lead.name).toBe('p')
    expect(answer).not.toMatch(/hid|secret/)
  })

  test.each([
    'q[project.team]="x"',
    'q[project.team][$exists]=true',
    'q[project.team.lead.secret][$regex]="h"',
    'sort[project.team]=1',
    'project=["project.team"]',
    'q[createdBy.name]="x"',
    'sort[createdBy.name]=1',
    'expand=["project.team.lead.secret"]',
    'expand=["project.hidden"]',
    'expand=["secret"]',
    'expand=["secret.team"]',
    'expand=["createdBy"]',
    'expand=["project.team"]&q[project.team.name]="a"',
  ])('no query goes through a reference, nor an expand through what is hidden: %s', async (query) => {
    const { probe } = await open()
    const [[status], calls] = (await probe(`GET /tasks?${query}`)) as [[number], unknown]
    expect([status, calls]).toEqual([400, []])
  })

  test('what may not be read of a collection is not named by an expand into it', async () => {
    const { send } = await open()
    const asked = async (path: string) => {
      const sent = await send(`GET /tasks?expand=["project.${path}"]`, { caller: { id: 'ann' } })
      return [sent.status, faultsOf(sent)]
    }
    expect(await asked('hidden')).toEqual(await asked('nothing'))
  })
})

describe('who created a document', () => {
  const users = {
    schema: {
      email: { type: 'string', unique: true, lowercase: true },
      password: { type: 'hash' },
      phone: text,
    },
    permissions: { owner: { read: true }, admin: { read: { pick: ['email', 'createdBy'] } } },
  }
  const notes = {
    schema: { text },
    permissions: { '*': { read: { omit: ['createdBy'] } }, user: true, admin: { read: true } },
  }

  test('is expanded through the gate of users, for every caller', async () => {
    const service = createTestService({ collections: { users, notes }, auth: { identifier: 'email' } })
    const [ann, bob] = [
      await service.register({ email: 'ann@x.test', password: 'long enough' }),
      await service.register({ email: 'bob@x.test', password: 'long enough' }),
    ]
    await service.send('POST /notes', { token: ann.token, body: { text: 'x' } })
    const seenBy = async (options: SendOptions) =>
      (await service.send('GET /notes?expand=["createdBy"]', options)).body
    expect((await seenBy({ token: ann.token }))[0].createdBy).toMatchObject({
      _id: ann.id,
      email: 'ann@x.test',
    })
    expect((await seenBy({ token: bob.token }))[0].createdBy).toBe(ann.id)
    const [shown] = await seenBy({ caller: { id: bob.id, roles: ['admin'] } })
    expect(shown.createdBy).toEqual({ _id: ann.id, email: 'ann@x.test', createdBy: ann.id })
    expect((await seenBy({})).code).toBe('invalid_query')
    for (const query of [
      'q[createdBy.email]="ann@x.test"',
      'sort[createdBy.email]=1',
      'expand=["createdBy.email"]',
      'expand=["createdBy.password"]',
    ])
      expect([query, (await service.send(`GET /notes?${query}`, { token: ann.token })).status]).toEqual([
        query,
        400,
      ])
    expect(JSON.stringify(await seenBy({ token: ann.token }))).not.toMatch(/\$2|password|_stamp/)
  })

  test('who created themselves are expanded three times, and no further', async () => {
    const service = createTestService({ collections: { users, notes } })
    const { token, id } = await service.register({ email: 'ann@x.test', password: 'long enough' })
    await service.send('POST /notes', { token, body: { text: 'x' } })
    const ask = (path: string) => service.send(`GET /notes?expand=["${path}"]`, { token })
    const { body } = await ask('createdBy.createdBy.createdBy')
    expect(body[0].createdBy.createdBy.createdBy).toMatchObject({ _id: id, createdBy: id })
    expect((await ask('createdBy.createdBy.createdBy.createdBy')).status).toBe(400)
  })
})

describe('an expand that grows', () => {
  const nodes = {
    schema: { next: to('nodes'), all: { type: 'array', items: to('nodes') } },
    permissions: { user: { read: true } },
  }
  const COUNT = 1000
  const ids = Array.from({ length: COUNT }, (_, i) => idOf(i + 1))
  const ring = ids.map((_id, i) => ({
    _id,
    next: ids[(i + 1) % COUNT],
    all: [_id, ids[(i + 1) % COUNT], _id],
  }))

  const openRing = async () => {
    const adapter = spyOn(createMemoryAdapter())
    const config = { collections: { nodes }, limits: { expanded: 7 } }
    const service = await openStored(config, { nodes: ring }, { adapter, authenticate: () => null })
    adapter.calls.length = 0
    const ask = (paths: readonly string[], query = 'limit=1000') =>
      service.send(`GET /nodes?${query}&expand=${JSON.stringify(paths)}`, { caller: { id: 'ann' } })
    return { ask, adapter }
  }

  /** How many documents stand in a document. */
  const countIn = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 0
      : Object.values(value).reduce(
          (sum: number, one) => sum + countIn(one),
          Object.hasOwn(value, '_id') ? 1 : 0,
        )

  test('over three levels of 1,000 documents asks for each collection once a level at most', async () => {
    const { ask, adapter } = await openRing()
    const { body } = await ask(['next.next.next'])
    expect(body).toHaveLength(COUNT)
    expect(body[0].next.next.next).toEqual(expect.objectContaining({ _id: ids[3], next: ids[4] }))
    expect(adapter.calls.length).toBeLessThanOrEqual(4)
  })

  test('in a circle stops at the third level, and under an array at limits.expanded', async () => {
    const { ask } = await openRing()
    const { body } = await ask(['all.all.all', 'all.next.all', 'all.all.next', 'next.next.next'], 'limit=20')
    // The document itself, three in place of `next`, seven under `all`.
    for (const one of body) expect(countIn(one)).toBe(1 + 3 + 7)
  })

  test('names each place once, however often it is asked for', async () => {
    const { ask } = await openRing()
    const [once, often] = [
      await ask(['next.next'], 'limit=5'),
      await ask(['next.next', 'next', 'next.next'], 'limit=5'),
    ]
    expect(often.text).toBe(once.text)
  })
})
