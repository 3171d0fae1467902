import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import type { Config, StorageAdapter, StoredDocument } from '../../src/index.js'
import fc from '../support/fast-check.js'
import type { Sent, TestService } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'
import { perRound, playUntilSeen, rounds, seedOf } from '../support/tier.js'

// CONTRACT.md §2, "Match", "Expand"; §5, "No leak"

type Json = { readonly [name: string]: unknown }
type Stored = { readonly [collection: string]: readonly Json[] }

const RUNS: { readonly [storage: string]: number } = {
  memory: rounds(60, 1000),
  SQLite: rounds(6, 100),
  PostgreSQL: rounds(6, 100),
}

const text = { type: 'string' } as const
const seen = { where: { hidden: { $ne: true } }, omit: ['hidden', 'secret'] }
const rights = { user: { read: seen, create: true, update: { check: {} }, delete: true } } as const
const own = {
  hidden: { type: 'boolean' },
  secret: text,
  team: { type: 'reference', collection: 'teams' },
} as const
const project = { type: 'reference', collection: 'projects', match: { team: 'team' } } as const

const config = {
  collections: {
    teams: { schema: { name: text, ...own, team: { ...own.team, onDelete: 'unset' } }, permissions: rights },
    projects: { schema: own, permissions: rights },
    tasks: {
      schema: {
        ...own,
        project,
        others: { type: 'array', items: { ...project, onDelete: 'unset' } },
        about: { type: 'reference', collection: 'tasks', onDelete: 'unset' },
      },
      permissions: rights,
    },
  },
} as unknown as Config

const ids = (from: number): readonly string[] => [0, 1, 2, 3].map((i) => idOf(from + i))
const [TEAMS, PROJECTS, TASKS] = [ids(100), ids(200), ids(300)]
const teamId = fc.constantFrom(...TEAMS.slice(0, 2))
const rarely = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(one, { nil: undefined, freq: 3 })
const tidy = (document: Json): Json =>
  Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined))

/** Agreeing documents, some of them hidden. */
const stores: fc.Arbitrary<Stored> = fc
  .record({
    teams: fc.tuple(
      ...TEAMS.map(() => fc.record({ team: rarely(teamId), secret: fc.constantFrom('a', 'b') })),
    ),
    projects: fc.tuple(
      ...PROJECTS.map(() => fc.record({ team: rarely(teamId), hidden: rarely(fc.constant(true)) })),
    ),
    tasks: fc.tuple(
      ...TASKS.map(() =>
        fc.record({
          project: rarely(fc.nat(3)),
          others: fc.array(fc.nat(3), { maxLength: 3 }),
          team: rarely(teamId),
          about: rarely(fc.constantFrom(...TASKS)),
          hidden: rarely(fc.constant(true)),
        }),
      ),
    ),
  })
  .map(({ teams, projects, tasks }) => ({
    teams: teams.map((one, i) => tidy({ _id: TEAMS[i], name: `t${i}`, ...one })),
    projects: projects.map((one, i) => tidy({ _id: PROJECTS[i], ...one })),
    tasks: tasks.map(({ project, others, team, ...rest }, i) => {
      const at = project === undefined ? team : (projects[project]?.team ?? team)
      const agrees = (place: number): boolean => at !== undefined && projects[place]?.team === at
      const named = project !== undefined && agrees(project) ? PROJECTS[project] : undefined
      const many = others.filter(agrees).map((place) => PROJECTS[place])
      return tidy({ _id: TASKS[i], ...rest, team: at, project: named, others: many })
    }),
  }))

const taskBody = fc
  .record(
    {
      team: fc.option(teamId),
      project: fc.option(fc.constantFrom(...PROJECTS)),
      others: fc.array(fc.constantFrom(...PROJECTS), { maxLength: 2 }),
      about: fc.constantFrom(...TASKS),
    },
    { requiredKeys: [] },
  )
  .map((body): Json => body)
const operation = fc.oneof(
  taskBody.map((body) => ({ method: 'POST', path: '/tasks', body: withoutNulls(body) })),
  fc
    .tuple(fc.constantFrom('PATCH', 'PUT'), fc.constantFrom(...TASKS), taskBody)
    .map(([method, id, body]) => ({
      method,
      path: `/tasks/${id}`,
      body: method === 'PUT' ? withoutNulls(body) : body,
    })),
  fc.tuple(fc.constantFrom(...PROJECTS), fc.option(teamId)).map(([id, team]) => ({
    method: 'PATCH',
    path: `/projects/${id}`,
    body: { team } as Json,
  })),
  fc
    .constantFrom(...TASKS.map((id) => `/tasks/${id}`), ...PROJECTS.map((id) => `/projects/${id}`))
    .map((path) => ({
      method: 'DELETE',
      path,
    })),
)
const withoutNulls = (body: Json): Json =>
  Object.fromEntries(Object.entries(body).filter(([, one]) => one !== null))

type Operation = { readonly method: string; readonly path: string; readonly body?: Json }

const caller = { id: 'ann' }
const ask = ({ send }: TestService, { method, path, ...rest }: Operation): Promise<Sent> =>
  send(`${method} ${path}`, { caller, ...rest })

const readAll = async ({ adapter }: TestService, name: string): Promise<readonly StoredDocument[]> =>
  adapter.list(name, { filter: everything, sort: [], skip: 0, limit: null })

/** The pairs that do not agree, and the references that lead nowhere. */
async function findBroken(service: TestService): Promise<readonly unknown[]> {
  const projects = new Map((await readAll(service, 'projects')).map((one) => [one._id, one]))
  const tasks = await readAll(service, 'tasks')
  return tasks.flatMap(({ _id, team, project: one, others = [], about }) => {
    const named = [one, ...(others as unknown[])].filter((id) => id !== undefined)
    const wrong = named.filter((id) => team === undefined || projects.get(String(id))?.team !== team)
    const isLost = about !== undefined && tasks.every((task) => task._id !== about)
    return [...wrong.map((id) => [_id, id]), ...(isLost ? [[_id, about]] : [])]
  })
}

const open = (stored: Stored, adapter: StorageAdapter): Promise<TestService> =>
  openStored(config, stored, { authenticate: () => null, adapter, now: () => 1_700_000_000_000 })

/** The same for who may not see what is hidden. */
const disguise = (stored: Stored): Stored =>
  Object.fromEntries(
    Object.entries(stored).map(([name, documents]) => [
      name,
      documents.map((one) => ({ ...one, secret: one.secret === 'a' ? 'b' : 'a' })),
    ]),
  )

/** What is random in an answer where something is new. */
const RANDOM: readonly string[] = ['_id', 'etag', 'location', 'requestId']

const comparable = ({ status, headers, text: body }: Sent): unknown => [
  status,
  [...headers].filter(([name]) => !RANDOM.includes(name)),
  body === ''
    ? ''
    : JSON.stringify(JSON.parse(body, (name, value) => (RANDOM.includes(name) ? undefined : value))),
]

const PATHS = [
  'project',
  'others',
  'about',
  'project.team',
  'others.team.team',
  'about.project',
  'about.others.team',
  'team.team.team',
]

/** The paths below a name. */
const below = (paths: readonly string[], name: string): readonly string[] =>
  paths.flatMap((path) => (path.startsWith(`${name}.`) ? [path.slice(name.length + 1)] : []))

/** What an expanded document is: each reference replaced by what a request for its target gives. */
async function expandByHand(
  service: TestService,
  collection: string,
  shown: Json,
  paths: readonly string[],
): Promise<Json> {
  const targets: { readonly [name: string]: string } = {
    project: 'projects',
    others: 'projects',
    team: 'teams',
    about: 'tasks',
  }
  const replace = async (name: string, id: unknown): Promise<unknown> => {
    const target = targets[name] ?? collection
    const { status, body } = await ask(service, { method: 'GET', path: `/${target}/${id}` })
    return status === 200 ? expandByHand(service, target, body, below(paths, name)) : id
  }
  const entries = Object.entries(shown).map(async ([name, value]): Promise<[string, unknown]> => {
    if (!paths.some((path) => path.split('.')[0] === name)) return [name, value]
    if (Array.isArray(value)) return [name, await Promise.all(value.map((id) => replace(name, id)))]
    return [name, await replace(name, value)]
  })
  return Object.fromEntries(await Promise.all(entries))
}

describe.each(useStorages())('in %s', (storage, createAdapter) => {
  const parameters = { numRuns: RUNS[storage] ?? 0, seed: seedOf(5), endOnFailure: true }

  test('whatever is written, every pair agrees, and what is hidden changes no answer', async () => {
    const outcomes = new Set<string>()
    const property = fc.asyncProperty(
      stores,
      fc.array(
        fc.oneof(
          { weight: 3, arbitrary: fc.tuple(operation) },
          { weight: 2, arbitrary: fc.array(operation, { minLength: 2, maxLength: 4 }) },
        ),
        { minLength: 8, maxLength: 8 },
      ),
      async (stored, requests) => {
        const [one, other] = [
          await open(stored, createAdapter()),
          await open(disguise(stored), createAdapter()),
        ]
        expect(await findBroken(one)).toEqual([])
        for (const some of requests) {
          const [first] = some
          const asked: Operation =
            some.length === 1 && first
              ? first
              : { method: 'POST', path: '/_batch', body: { operations: some } }
          const [here, there] = [await ask(one, asked), await ask(other, asked)]
          outcomes.add(`${some.length > 1 ? 'batch ' : ''}${here.status} ${here.body?.code ?? ''}`.trim())
          expect(comparable(here), JSON.stringify(asked)).toEqual(comparable(there))
          expect(await findBroken(one), JSON.stringify(asked)).toEqual([])
        }
        await Promise.all([one.handler.close(), other.handler.close()])
      },
    )
    const wanted = [
      '201',
      '200',
      '204',
      '400 validation_failed',
      '409 reference_in_use',
      'batch 200',
      'batch 409 reference_in_use',
    ]
    await playUntilSeen(
      (part) => fc.assert(property, { ...parameters, seed: parameters.seed + part }),
      // The other storages play few rounds.
      () => (storage === 'memory' ? wanted.filter((outcome) => !outcomes.has(outcome)) : []),
    )
  })

  test('what is expanded is what requests for each document give, whatever is hidden', async () => {
    let deep = 0
    await fc.assert(
      fc.asyncProperty(stores, fc.subarray(PATHS, { minLength: 1 }), async (stored, paths) => {
        const [one, other] = [
          await open(stored, createAdapter()),
          await open(disguise(stored), createAdapter()),
        ]
        const asked: Operation = { method: 'GET', path: `/tasks?expand=${JSON.stringify(paths)}` }
        const [here, there, plain] = [
          await ask(one, asked),
          await ask(other, asked),
          await ask(one, { method: 'GET', path: '/tasks' }),
        ]
        expect(here.text).toBe(there.text)
        const expected = await Promise.all(
          (plain.body as Json[]).map((task) => expandByHand(one, 'tasks', task, paths)),
        )
        expect(here.body).toEqual(expected)
        if (here.text !== plain.text) deep += 1
        await Promise.all([one.handler.close(), other.handler.close()])
      }),
      parameters,
    )
    expect(perRound(deep, parameters.numRuns)).toBeGreaterThan(0)
  })
})
