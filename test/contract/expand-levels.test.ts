import { describe, expect, test } from 'vitest'
import { stepsTaken } from '../../src/core/slices.js'
import type { ListQuery, StorageAdapter } from '../../src/core/storage.js'
import { scale, useSmallerBounds } from '../support/bounds.js'
import { createTestService, faultsOf } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { idOf, isOfStart } from '../support/stored.js'
import {
  arrayOf,
  type Json,
  objectOf,
  outcomeOf,
  type Stored,
  text,
  to,
  useOpen,
} from './support/references.js'

// CONTRACT.md §2, "Expand"

const storages = useStorages()
const open = useOpen()

const read = { '*': { read: true } }
const teams = {
  schema: { name: text, lead: to('people'), members: arrayOf(to('people')) },
  permissions: read,
}
const projects = {
  schema: { title: text, team: to('teams'), o: objectOf({ team: to('teams') }), secret: to('people') },
  permissions: { '*': { read: { omit: ['secret'] } }, admin: { read: true } },
}
const people = {
  schema: { name: text, hidden: { type: 'boolean' }, friend: to('people') },
  permissions: { '*': { read: { where: { hidden: { $ne: true } }, omit: ['hidden'] } } },
}
const tasks = {
  schema: {
    title: text,
    project: to('projects'),
    projects: arrayOf(to('projects')),
    teams: arrayOf(to('teams')),
  },
  permissions: read,
}
const collections = { people, teams, projects, tasks }

const [P1, P2, P3] = [idOf(1), idOf(2), idOf(3)]
const [T1, T2] = [idOf(11), idOf(12)]
const [J1, J2] = [idOf(21), idOf(22)]
const K1 = idOf(31)
const stored: Stored = {
  people: [
    { _id: P1, name: 'ann', friend: P3 },
    { _id: P2, name: 'hid', hidden: true },
    { _id: P3, name: 'bob' },
  ],
  teams: [
    { _id: T1, name: 'one', lead: P1, members: [P1, P2, P3] },
    { _id: T2, name: 'two', lead: P2 },
  ],
  projects: [
    { _id: J1, title: 'j', team: T1, o: { team: T2 }, secret: P1 },
    { _id: J2, title: 'k', team: T2 },
  ],
  tasks: [{ _id: K1, project: J1, projects: [J1, J2, idOf(99), J1], teams: [T1, T2] }],
}

/** A document of an answer, with its own fields alone. */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const { createdAt, updatedAt, createdBy, ...own } = value as Json
  return Object.fromEntries(Object.entries(own).map(([name, inner]) => [name, plain(inner)]))
}

const ann = { _id: P1, name: 'ann', friend: P3 }
const bob = { _id: P3, name: 'bob' }
const one = { _id: T1, name: 'one', lead: P1, members: [P1, P2, P3] }
const two = { _id: T2, name: 'two', lead: P2 }
const j1 = { _id: J1, title: 'j', team: T1, o: { team: T2 } }

describe.each(storages)('expand over several references, in %s,', (_, create) => {
  test.each<[expand: readonly string[], expected: Json]>([
    [['project.team'], { project: { ...j1, team: one } }],
    [['project', 'project.team'], { project: { ...j1, team: one } }],
    [['project.team.lead'], { project: { ...j1, team: { ...one, lead: ann } } }],
    [['project.team.members'], { project: { ...j1, team: { ...one, members: [ann, P2, bob] } } }],
    [['project.o.team.lead', 'project.team'], { project: { ...j1, team: one, o: { team: two } } }],
    [['teams.lead.friend'], { teams: [{ ...one, lead: { ...ann, friend: bob } }, two] }],
    [
      ['projects.team.lead'],
      {
        projects: [
          { ...j1, team: { ...one, lead: ann } },
          { _id: J2, title: 'k', team: two },
          idOf(99),
          { ...j1, team: { ...one, lead: ann } },
        ],
      },
    ],
  ])('%j', async (expand, expected) => {
    const service = await open(collections, stored, { adapter: create() as StorageAdapter })
    const query = `expand=${JSON.stringify(expand)}`
    const sent = await service.send(`GET /tasks/${K1}?${query}`)
    expect(plain(sent.body)).toEqual(plain({ ...stored.tasks?.[0], ...expected }))
    for (const path of [`/tasks?${query}`, `/tasks?limit=1&${query}`, `/tasks?limit=2000&${query}`])
      expect((await service.send(`GET ${path}`)).text, path).toBe(`[${sent.text}]`)
  })

  test('asks once for each level and collection', async () => {
    const many = Array.from({ length: 300 }, (_, i) => i)
    const asked: string[] = []
    const adapter = create() as StorageAdapter
    const watched: StorageAdapter = Object.create(adapter, {
      list: {
        value: (name: string, query: ListQuery) => {
          if (!isOfStart(query)) asked.push(name)
          return adapter.list(name, query)
        },
      },
    })
    const service = await open(
      collections,
      {
        people: many.map((i) => ({ _id: idOf(1000 + i), name: `p${i}` })),
        teams: many.map((i) => ({
          _id: idOf(2000 + i),
          lead: idOf(1000 + i),
          members: [idOf(1000), idOf(1000 + i)],
        })),
        projects: many.map((i) => ({ _id: idOf(3000 + i), team: idOf(2000 + i) })),
        tasks: many.map((i) => ({ project: idOf(3000 + i), teams: [idOf(2000 + i)] })),
      },
      { adapter: watched },
    )
    asked.length = 0
    const query = 'expand=["project.team.lead","project.team.members","teams.lead"]'
    const { body } = await service.send(`GET /tasks?limit=1000&${query}`)
    expect(body.at(-1).project.team.lead.name).toBe('p299')
    expect(body.at(-1).teams[0].lead.name).toBe('p299')
    // Teams and their people are needed on two levels; what is known is not asked for again.
    expect(asked).toEqual(['tasks', 'projects', 'teams', 'people'])
  })

  describe('in smaller sizes,', () => {
    useSmallerBounds()

    test('holds no more than it must of large documents', async () => {
      const name = 'x'.repeat(scale(1_500_000))
      const service = await open(
        collections,
        {
          people: [{ _id: P1, name: 'ann' }],
          teams: [0, 1, 2, 3, 4].map((i) => ({ _id: idOf(50 + i), name, lead: P1 })),
          projects: [],
          tasks: [{ _id: K1, teams: [0, 1, 2, 3, 4, 0].map((i) => idOf(50 + i)) }],
        },
        { adapter: create() as StorageAdapter },
      )
      const { body } = await service.send(`GET /tasks/${K1}?expand=["teams.lead"]`)
      expect(
        body.teams.map((team: { name: string; lead: { name: string } }) => [
          team.name.length,
          team.lead.name,
        ]),
      ).toEqual(Array.from({ length: 6 }, () => [scale(1_500_000), 'ann']))
    })
  })
})

describe('expand over several references', () => {
  test.each<[expand: string, code: string]>([
    ['project.nothing', 'unknown_field'],
    ['project.title', 'wrong_type'],
    ['project.secret', 'unknown_field'],
    ['project.team.lead.friend', 'out_of_range'],
    ['project.o', 'wrong_type'],
    ['project.', 'unknown_field'],
    ['.project', 'unknown_field'],
    ['createdBy', 'wrong_type'],
  ])('refuses %s: %s', async (expand, code) => {
    const service = await open(collections, stored)
    const sent = await service.send(`GET /tasks?expand=["${expand}"]`)
    expect([sent.status, faultsOf(sent)]).toEqual([400, { expand: code }])
  })

  test('depends on who asks on each level, whichever caller came first', async () => {
    const service = await open(collections, stored)
    const ask = (roles: readonly string[]) =>
      service.send(`GET /tasks?expand=["project.secret"]`, { caller: { id: 'x', roles: [...roles] } })
    for (const [roles, status] of [
      [['admin'], 200],
      [[], 400],
      [['admin'], 200],
      [[], 400],
    ] as const)
      expect((await ask(roles)).status).toBe(status)
    const closed = await open(
      { ...collections, teams: { ...teams, permissions: { admin: { read: true } } } },
      stored,
    )
    expect((await closed.send('GET /tasks?expand=["project.team"]')).body[0].project.team).toBe(T1)
    expect((await closed.send('GET /tasks?expand=["project.team.lead"]')).status).toBe(400)
  })

  test('counts what is under an array level by level', async () => {
    const names = async (expanded: number): Promise<unknown> => {
      const service = createTestService(
        { collections, limits: { expanded } },
        {
          authenticate: () => null,
          documents: {
            people: [
              { _id: P1, name: 'ann' },
              { _id: P3, name: 'bob' },
            ],
            teams: [
              { _id: T1, lead: P1, members: [P1, P3] },
              { _id: T2, lead: P3, members: [P3] },
            ],
            projects: [],
            tasks: [{ _id: K1, teams: [T1, T2] }],
          },
        },
      )
      const { body } = await service.send(`GET /tasks/${K1}?expand=["teams.lead","teams.members"]`)
      const nameOf = (one: { name?: string } | string): unknown => (typeof one === 'string' ? '-' : one.name)
      return body.teams.map((team: { lead: never; members: never[] } | string) =>
        typeof team === 'string' ? '-' : [nameOf(team.lead), ...team.members.map(nameOf)].join(' '),
      )
    }
    expect(await names(1)).toEqual(['- - -', '-'])
    expect(await names(2)).toEqual(['- - -', '- -'])
    expect(await names(4)).toEqual(['ann ann -', '- -'])
    expect(await names(6)).toEqual(['ann ann bob', 'bob -'])
    expect(await names(7)).toEqual(['ann ann bob', 'bob bob'])
  })

  test('takes createdBy for a reference where the service keeps the accounts', async () => {
    const service = createTestService({
      collections: {
        users: {
          schema: {
            email: { type: 'string', unique: true, lowercase: true },
            password: { type: 'hash' },
            boss: to('users'),
          },
          permissions: { '*': { read: { omit: ['createdBy'] } } },
        },
        notes: {
          schema: { text, about: to('notes') },
          permissions: { user: true, '*': { read: { omit: ['createdBy'] } } },
        },
      },
    })
    const { token, id } = await service.register({ email: 'ann@x.test', password: 'long enough' })
    const created = await service.send('POST /notes', { body: { text: 'x' }, token })
    await service.send('POST /notes', { body: { about: created.body._id }, token })
    const asked = async (expand: string, options = { token }) =>
      service.send(`GET /notes?sort[createdAt]=-1&expand=["${expand}"]`, options)
    expect((await asked('createdBy')).body[0].createdBy).toMatchObject({ _id: id, email: 'ann@x.test' })
    expect((await asked('about.createdBy')).body[0].about.createdBy).toMatchObject({ _id: id })
    expect((await asked('createdBy.boss')).body[0].createdBy).toMatchObject({ _id: id })
    expect(outcomeOf(await asked('createdBy', {} as never))).toEqual([400, 'invalid_query'])
  })
})

test('what a short name puts into many documents is put there in slices', async () => {
  const [roots, names, leaves] = [300, ['r0', 'r1', 'r2'], 100]
  const ids = (count: number, from: number): string[] =>
    Array.from({ length: count }, (_, i) => idOf(from + i))
  const few = ids(leaves, 1000)
  const collections = {
    leaves: { schema: { name: text }, permissions: read },
    hubs: { schema: { refs: arrayOf(to('leaves')) }, permissions: read },
    items: { schema: Object.fromEntries(names.map((name) => [name, to('hubs')])), permissions: read },
  }
  const { send } = createTestService(
    { collections },
    {
      documents: {
        leaves: few.map((_id) => ({ _id, name: 'x' })),
        hubs: [{ _id: P1, refs: few }],
        items: ids(roots, 5000).map((_id) => ({
          _id,
          ...Object.fromEntries(names.map((name) => [name, P1])),
        })),
      },
    },
  )
  const before = stepsTaken()
  const { status, body } = await send(
    `GET /items?limit=${roots}&expand=${JSON.stringify(names.map((name) => `${name}.refs`))}`,
  )
  expect([status, body.length]).toEqual([200, roots])
  for (const item of body) for (const name of names) expect(item[name].refs).toHaveLength(leaves)
  // One for each of what stands there is the least that can be true.
  expect(stepsTaken() - before).toBeGreaterThan(5 * roots * names.length * leaves)
})

test.each(['.', 'a.', 'team.'])('a name of %j again and again leads nowhere', async (part) => {
  const { send } = createTestService({ collections })
  const answer = await send(`GET /tasks?expand=${JSON.stringify([part.repeat(1500)])}`)
  expect([answer.status, Object.keys(faultsOf(answer))]).toEqual([400, ['expand']])
})
