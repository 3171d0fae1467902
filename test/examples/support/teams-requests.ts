import type { Random } from '../../../src/tools/testing/adapter/fuzz/random.js'
import { PEOPLE } from './teams.js'
import type { Collection, Doc, State } from './teams-oracle.js'

/** One write or read, as an operation of a batch also says it. */
export interface Op {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly collection: Collection
  readonly id?: string
  readonly body?: { readonly [field: string]: unknown }
}

/** What somebody asks for. */
export type Ask =
  | { readonly kind: 'one'; readonly op: Op }
  | { readonly kind: 'batch'; readonly ops: readonly Op[] }
  | { readonly kind: 'list'; readonly collection: Collection; readonly query: string }
  | { readonly kind: 'count'; readonly collection: Collection; readonly query: string }

const COLLECTIONS = ['teams', 'memberships', 'invitations', 'projects', 'tasks', 'comments'] as const

const NAMES = Object.values(PEOPLE)

/** The requests that people may think of, good and bad; most name what exists, and what goes together. */
export function createRequests(random: Random, state: State, email: unknown) {
  const { pick, chance } = random
  const docs = (collection: Collection): readonly Doc[] => [...state[collection].values()]
  const newId = (): string =>
    `0190163d-8694-7000-8000-${random
      .integer(0, 2 ** 47)
      .toString(16)
      .padStart(12, '0')}`
  const any = (collection: Collection): Doc => {
    const found = docs(collection)
    return found.length > 0 ? pick(found) : { _id: newId() }
  }
  const role = (): string => pick(['admin', 'member', 'guest'])
  const teamOr = (likely: unknown): unknown =>
    chance(0.8) && likely !== undefined ? likely : any('teams')._id

  const BODIES: {
    readonly [name in (typeof COLLECTIONS)[number]]: () => { readonly [field: string]: unknown }
  } = {
    teams: () => ({ name: `team ${random.integer(1, 99)}` }),
    memberships() {
      const own = docs('invitations').filter((invitation) => invitation.email === email)
      const invitation = chance(0.7)
        ? own.length > 0 && chance(0.7)
          ? pick(own)
          : any('invitations')
        : undefined
      return {
        team: invitation ? teamOr(invitation.team) : docs('teams').at(chance(0.7) ? -1 : 0)?._id,
        role: chance(0.7) ? (invitation?.role ?? 'admin') : role(),
        name: 'somebody',
        ...(invitation ? { invitation: invitation._id } : {}),
        ...(chance(0.2) ? { user: pick(NAMES).id } : {}),
      }
    },
    invitations: () => ({ team: any('teams')._id, email: pick(NAMES).email, role: role() }),
    projects: () => ({ team: any('teams')._id, title: 'a project', status: pick(['draft', 'open', 'done']) }),
    tasks() {
      const project = any('projects')
      const assignee = chance(0.3) ? { assignee: any('memberships')._id } : {}
      return { project: project._id, team: teamOr(project.team), title: 'a task', ...assignee }
    },
    comments() {
      const task = any('tasks')
      return { task: task._id, team: teamOr(task.team), text: 'a word', isDraft: chance(0.4) }
    },
  }

  const change = (): Op => {
    const collection = pick(COLLECTIONS)
    const body = BODIES[collection]()
    const names = random.sample(Object.keys(body), random.integer(1, 2))
    return {
      method: 'PATCH',
      collection,
      id: any(collection)._id,
      body: chance(0.15) ? body : Object.fromEntries(names.map((name) => [name, body[name]])),
    }
  }
  const write = (): Op => {
    const collection = pick(COLLECTIONS)
    return pick<() => Op>([
      () => ({ method: 'POST', collection, body: BODIES[collection]() }),
      () => ({ method: 'POST', collection, body: BODIES[collection]() }),
      change,
      change,
      () => ({ method: 'PUT', collection, id: newId(), body: BODIES[collection]() }),
      () => ({ method: 'DELETE', collection: chance(0.03) ? 'users' : collection, id: any(collection)._id }),
    ])()
  }

  const found = (): readonly Op[] => {
    const id = newId()
    return [
      { method: 'PUT', collection: 'teams', id, body: BODIES.teams() },
      {
        method: 'POST',
        collection: 'memberships',
        body: {
          team: chance(0.8) ? id : any('teams')._id,
          role: chance(0.9) ? 'admin' : role(),
          name: 'founder',
        },
      },
      ...(chance(0.5)
        ? [{ method: 'POST', collection: 'projects', body: { team: id, title: 'first' } } as const]
        : []),
    ]
  }
  const move = (): readonly Op[] => {
    const project = any('projects')
    const team = any('teams')._id
    const tasks = docs('tasks').filter((task) => task.project === project._id)
    const all = [
      { ...project, as: 'projects' } as const,
      ...tasks.map((task) => ({ ...task, as: 'tasks' }) as const),
    ]
    return all
      .filter(() => chance(0.95))
      .map(({ as, _id }): Op => ({ method: 'PATCH', collection: as, id: _id, body: { team } }))
  }
  const turn = (): readonly Op[] => {
    const membership = any('memberships')
    const to = { role: role() }
    const invitation = membership.invitation
    const ops: Op[] = [{ method: 'PATCH', collection: 'memberships', id: membership._id, body: to }]
    if (typeof invitation === 'string')
      ops.push({ method: 'PATCH', collection: 'invitations', id: invitation, body: to })
    return random.sample(ops, 2)
  }
  const rejoin = (): readonly Op[] => [
    { method: 'DELETE', collection: 'memberships', id: any('memberships')._id },
    { method: 'POST', collection: 'memberships', body: BODIES.memberships() },
  ]
  const mixed = (): readonly Op[] =>
    Array.from({ length: random.integer(1, 3) }, () =>
      chance(0.3)
        ? { method: 'GET', collection: pick(COLLECTIONS), id: any(pick(COLLECTIONS))._id }
        : write(),
    )

  const QUERIES = [
    '',
    '',
    'sort[createdAt]=-1',
    'q[status]=draft',
    'expand=["team"]',
    'q[role]=admin',
    'q[isDraft]=true',
  ]

  return (): Ask => {
    const collection = chance(0.05) ? 'users' : pick(COLLECTIONS)
    const kind = random.integer(1, 20)
    if (kind <= 4) return { kind: 'list', collection, query: pick(QUERIES) }
    if (kind === 5) return { kind: 'count', collection, query: pick(QUERIES.slice(0, 2)) }
    if (kind <= 7) return { kind: 'one', op: { method: 'GET', collection, id: any(collection)._id } }
    if (kind <= 14) return { kind: 'one', op: write() }
    const ops = pick([found, move, turn, rejoin, mixed])()
    return ops.length > 0 ? { kind: 'batch', ops } : { kind: 'one', op: write() }
  }
}
