/** This package: the configuration, and how its routes are asked. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCollectionService, createMemoryAdapter } from '../../../dist/index.js'
import { createPostgresAdapter } from '../../../dist/postgres.js'
import { createSqliteAdapter } from '../../../dist/sqlite.js'
import { createTestHasher } from '../../../dist/testing.js'
import { STATES } from './world.mjs'

const ofMyTeams = { team: { $in: '$user.teams' } }
const required = true

export const config = {
  auth: { claims: { teams: { from: 'memberships', where: { user: '$user._id' }, take: 'team' } } },
  collections: {
    users: {
      schema: {
        email: { type: 'string', format: 'email', unique: true, required },
        password: { type: 'hash', required },
      },
      permissions: { owner: { read: true } },
    },
    teams: { schema: { name: { type: 'string', required } }, permissions: { user: { read: true } } },
    memberships: {
      schema: {
        user: { type: 'reference', collection: 'users', required },
        team: { type: 'reference', collection: 'teams', required },
      },
      permissions: { user: { read: { where: { user: '$user._id' } } } },
    },
    tasks: {
      schema: {
        team: { type: 'reference', collection: 'teams', required },
        title: { type: 'string', required, maxLength: 200 },
        status: { type: 'string', enum: STATES, default: 'open' },
        priority: { type: 'integer', minimum: 0, maximum: 4 },
        due: { type: 'timestamp', index: true },
        assignee: { type: 'reference', collection: 'users' },
        budget: { type: 'integer' },
        notes: { type: 'string' },
      },
      indexes: [
        { fields: ['team', 'status', 'due'] },
        { fields: ['team', 'due'] },
        { fields: ['assignee', 'due'] },
        { fields: ['team', 'createdAt'] },
      ],
      permissions: {
        user: {
          read: { where: ofMyTeams, omit: ['budget'] },
          create: { check: ofMyTeams, omit: ['budget'] },
          update: { where: ofMyTeams, check: ofMyTeams, pick: ['status', 'priority', 'assignee'] },
        },
      },
    },
  },
}

/** Method, path and body of a request. */
export function write({ kind, team, status, me, from, to, text, id, body }) {
  const list = (query) => ['GET', `/tasks?${query}&limit=20`]
  switch (kind) {
    case 'team':
      return list(`q[team]=${team}&q[status]=${status}&sort[due]=1`)
    case 'mine':
      return list(`q[assignee]=${me}&q[due][$gte]=${from}&sort[due]=1`)
    case 'newest':
      return list('sort[createdAt]=-1')
    case 'search':
      return list(`q[team]=${team}&q[title][$regex]=${encodeURIComponent(text)}&sort[due]=1`)
    case 'count':
      return ['GET', `/tasks/count?q[team]=${team}&q[due][$gte]=${from}&q[due][$lt]=${to}`]
    case 'read':
      return ['GET', `/tasks/${id}`]
    case 'patch':
      return ['PATCH', `/tasks/${id}`, body]
    default:
      return ['POST', '/tasks', body]
  }
}

const adapters = {
  memory: () => createMemoryAdapter(),
  sqlite: async () => createSqliteAdapter({ file: join(await mkdtemp(join(tmpdir(), 'bench-')), 'data.db') }),
  postgres: () =>
    createPostgresAdapter({
      connectionString: process.env.DATABASE_URL,
      schema: `bench_real_${process.pid}`,
    }),
}

/** Stores the world, and gives what answers requests, with the tokens and the ids of the people. */
export async function create(way, { people, teams, tasks }) {
  const adapter = await adapters[way]()
  const logger = { info() {}, warn() {}, error: console.error }
  const service = createCollectionService(config, adapter, { hasher: createTestHasher(), logger })
  await service.ready()
  const accounts = []
  for (const { email } of people) {
    const body = JSON.stringify({ email, password: `the secret of ${email}` })
    const headers = { 'content-type': 'application/json' }
    const answer = await service(new Request('http://bench/auth/register', { method: 'POST', headers, body }))
    if (answer.status !== 201) throw new Error(`no account: ${await answer.text()}`)
    accounts.push(await answer.json())
  }
  const ids = accounts.map(({ user }) => user._id)
  const known = new Map(people.map(({ _id }, i) => [_id, ids[i]]))
  const insert = async (name, documents) => {
    for (let i = 0; i < documents.length; i += 500) {
      const steps = documents.slice(i, i + 500).map((document) => {
        const { createdAt = '2026-01-01T00:00:00.000Z' } = document
        return {
          in: name,
          insert: { ...document, createdAt, updatedAt: createdAt, createdBy: null, _version: 1 },
        }
      })
      const { ok } = await adapter.write(steps, {})
      if (!ok) throw new Error('the documents could not be stored')
    }
  }
  const memberships = people.flatMap((person, i) => person.teams.map((team) => ({ user: ids[i], team })))
  await insert('teams', teams)
  await insert(
    'memberships',
    memberships.map((one, i) => ({ _id: `01940000-0004-7000-8000-${String(i).padStart(12, '0')}`, ...one })),
  )
  await insert(
    'tasks',
    tasks.map((task) => ({ ...task, assignee: known.get(task.assignee) })),
  )
  return { handle: service, tokens: accounts.map(({ token }) => token), ids }
}
